// SPDX-License-Identifier: MIT
// The rows of sched and ready of a file as one stream in order of time. The two kinds stand in
// blocks of their own, so each is read by a reader of its own, and what is a little out of order
// within a kind is put right by a window of AN_SCHED_WINDOW rows: memory does not depend on their
// number.
#pragma once

#include "analysis/source.h"

#include <stdbool.h>

#define AN_SCHED_WINDOW 8192

typedef struct an_sched_row {
    int64_t time;
    uint64_t number; // in the file, for those of the same time
    bool is_ready;   // then only new_thread and new_process count: who is ready
    int64_t cpu, new_thread, new_process, old_thread, old_process, state, reason;
} an_sched_row;

typedef struct an_sched_queue {
    tm_reader *reader;
    tm_block block;
    size_t at; // row in the block
    bool ended;
    an_sched_row *heap; // the earliest on top
    size_t count;
    uint64_t number;
} an_sched_queue;

typedef struct an_sched_stream {
    an_sched_queue queues[2]; // sched, ready
    int64_t last_ns;          // no row is given out before it
    uint64_t late;            // rows that came later than the window allows: moved to last_ns
} an_sched_stream;

cm_status an_sched_stream_open(an_sched_stream *s, const an_source *source);
void an_sched_stream_close(an_sched_stream *s);

// CM_END after the last one.
cm_status an_sched_stream_next(an_sched_stream *s, an_sched_row *out);
