// SPDX-License-Identifier: MIT
// Memory in a summary: of each session, and arenas that are no session's own. Used by summary.c
// only.
#pragma once

#include "analysis/summary.h"

cm_status an_summary_add_memory(an_summary *s, const tm_reader *r, const tm_block *b, size_t row);
cm_status an_summary_add_run_memory(an_summary *s, const tm_reader *r, const tm_block *b,
                                    size_t row);
cm_status an_summary_add_session_end(an_summary *s, const tm_reader *r, const tm_block *b,
                                     size_t row);

// After the last row and an_session_finish.
void an_summary_leave_shared(const an_summary *s, an_session *n);
