// SPDX-License-Identifier: MIT
// How one session takes in its runs. Used by summary.c only.
#pragma once

#include "analysis/summary.h"

// The session of that id, made if there is none yet; NULL: no memory.
an_session *an_summary_session(an_summary *s, int64_t id);

void an_session_init(an_session *s, int64_t id, size_t series_most);
void an_session_deinit(an_session *s);

// One row of a run block.
cm_status an_session_add_run(an_summary *summary, an_session *s, const tm_block *b, size_t row);

// Puts the last runs in order, merges what came before its shape was known, sorts the tables.
cm_status an_session_finish(const an_summary *summary, an_session *s);
cm_status an_session_add_run_memory(an_summary *summary, an_session *s, const tm_block *b,
                                    size_t row);

// The row of a batch size, or of a shape, made if need be; NULL: there is no room.
an_batch *an_session_batch(an_session *s, int64_t size);
an_shape_use *an_session_shape_use(an_summary *summary, an_session *s, int64_t shape);

// In batches.c: what a run was given (0: not told by this row) and its memory (-1).
cm_status an_session_join(an_summary *summary, an_session *s, int64_t run, int64_t inputs,
                          int64_t peak);
