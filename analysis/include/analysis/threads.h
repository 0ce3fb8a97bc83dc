// SPDX-License-Identifier: MIT
// Where the processors' time went, thread by thread: from switches between threads (sched, ready),
// and, apart from that, from samples of the profile. All threads of the machine that rows tell of.
//
// on_cpu, ready, preempted, waiting, unknown: as in join.h, from a thread's start, or the first
// switch that was recorded, to the last one. NAN where no switch names the thread; ready is NAN
// where the file has no `ready` rows. sampled: its samples by the profile's interval, NAN where the
// file does not tell that; those that struck in an interrupt count for the thread below.
#pragma once

#include "analysis/source.h"

typedef struct an_thread_times {
    int64_t thread, process; // process 0: not known
    int64_t pid;             // -1: not known
    bool followed;
    const char *program, *name; // "": not known; borrowed
    double on_cpu_ns, ready_ns, preempted_ns, waiting_ns, unknown_ns;
    uint64_t switches; // how often it lost or left its processor
    uint64_t samples;
    double sampled_ns;
} an_thread_times;

typedef struct an_threads an_threads;

// NULL, with CM_OK, if the file has neither switches nor samples.
cm_status an_threads_read(const an_source *source, an_threads **out);
void an_threads_destroy(an_threads *t); // NULL is fine

// Those with the most processor time first, switches before samples; without the idle ones.
size_t an_threads_count(const an_threads *t);
const an_thread_times *an_threads_get(const an_threads *t, size_t at);
const an_thread_times *an_threads_idle(const an_threads *t); // of all processors together

double an_threads_interval_ns(const an_threads *t); // of the profile, the last one; NAN: not told
bool an_threads_has_switches(const an_threads *t);
bool an_threads_has_samples(const an_threads *t);
uint64_t an_threads_left_out(const an_threads *t); // rows, for want of room
