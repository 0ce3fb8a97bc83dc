// SPDX-License-Identifier: MIT
// What each thread of the machine does, from switches between threads: the stream of sched_stream.h
// into pieces of time, each with a thread and its state.
//
// A piece is told when it ends, since only then it is known whether it is whole: where the rows
// contradict each other (a switch was lost), the piece is unknown. So are the time before a
// thread's first row and that after its last one: nothing is guessed.
#pragma once

#include "analysis/join.h"
#include "common/map.h"
#include "sched_stream.h"

#define AN_MAX_SCHED_THREADS 262144 // told apart; rows of others are left out
#define AN_MAX_SCHED_CPUS    4096

typedef struct an_sched_thread {
    int64_t thread, process; // process 0: not known
    int64_t since_ns, cpu;
    an_doing doing; // since then
    int64_t detail; // an_piece
    bool gone;      // it has ended: nothing is told of it
} an_sched_thread;

typedef struct an_sched_states {
    an_sched_thread *threads;
    size_t count, capacity;
    cm_map by_number; // thread -> place of the last one with that number
    size_t *running;  // by processor: place + 1, 0: not known
    int64_t first_ns; // of all rows, INT64_MAX: there is none
    int64_t last_ns;
    uint64_t left_out; // rows, for want of room
    void *context;
    // `place`: of the thread in `threads`.
    void (*piece)(void *context, size_t place, const an_piece *piece);
} an_sched_states;

cm_status an_sched_states_init(an_sched_states *s);
void an_sched_states_deinit(an_sched_states *s);

// Tells of a thread that started at `time`: before that there is nothing to know. Before all rows.
cm_status an_sched_states_started(an_sched_states *s, int64_t thread, int64_t process,
                                  int64_t time);

cm_status an_sched_states_add(an_sched_states *s, const an_sched_row *row);
void an_sched_states_finish(an_sched_states *s); // what is open is unknown
