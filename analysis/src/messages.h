// SPDX-License-Identifier: MIT
// What ORT and the hook had to say: log rows, and those of ORT's own events that a user needs. Used
// by summary.c only.
#pragma once

#include "analysis/summary.h"

void an_messages_deinit(an_summary *s);

// One row of a log or ort_event block.
cm_status an_messages_add_log(an_summary *s, const tm_reader *r, const tm_block *b, size_t row);
cm_status an_messages_add_event(an_summary *s, const tm_reader *r, const tm_block *b, size_t row);

// Drops what events repeat of messages that came by the C API.
void an_messages_finish(an_summary *s);
