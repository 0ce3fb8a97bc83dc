// SPDX-License-Identifier: MIT
// What the file says is missing from it, and whether that may be something about a session.
#pragma once

#include "analysis/summary.h"

// One row of a lost block.
cm_status an_losses_add(an_summary *s, const tm_reader *r, const tm_block *b, size_t row);

// Events of the session's process may be missing: then a row that is not there says nothing.
bool an_losses_of(const an_summary *s, const an_session *n);
