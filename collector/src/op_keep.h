// SPDX-License-Identifier: MIT
// `--ops slow`: which operators get into the file. Whether a run was slow is known when it has
// ended, so its operators wait here for its row. That is done here and not in the hook because the
// operators of one run come from several threads, through rings that are read one after the other:
// here they are together, and the target does no more than with `--ops all`.
#pragma once

#include "collector/capture.h"
#include "common/map.h"
#include "keep_sessions.h"
#include "pending.h"

typedef struct co_ended_run {
    int64_t session, run;
    int64_t end, duration; // ticks
} co_ended_run;

// All zero: nothing waits.
typedef struct co_op_keep {
    co_op_choice choice;
    co_rows held;   // op rows whose run has not ended as far as we know, oldest first
    size_t in_time; // as many of them have their times in nanoseconds
    co_ended_run *ended;
    size_t ended_count, ended_capacity;
    // What was decided since a while, and in the while before: an operator may be read after its
    // run's row, but not long after.
    cm_map decided, decided_before;
    int64_t decided_from, known_from; // since when each of the two is there, in nanoseconds
    unsigned flushes;
    bool ending;       // nothing more will come
    uint64_t left_out; // operators of which no run is known, or not any more whether it was slow
    co_keep_sessions sessions;
} co_op_keep;

void co_op_keep_deinit(co_op_keep *k);

// True if op rows have to wait.
bool co_op_keep_waits(const co_op_keep *k);

// Rows that find no memory are counted in `pending`.
void co_op_keep_hold(co_op_keep *k, co_pending *pending, const int64_t *op);
void co_op_keep_run_ended(co_op_keep *k, co_pending *pending, co_ended_run run);
void co_op_keep_session_ended(co_op_keep *k, int64_t session);

// From here on nothing waits: the next write is the last one. A run that has not ended by then is
// slow if it has taken that long already.
void co_op_keep_end(co_op_keep *k);

// At a flush: writes the operators of slow runs and forgets those of fast ones.
void co_op_keep_write(co_op_keep *k, co_pending *pending, const co_clock *clock, tm_writer *writer);
