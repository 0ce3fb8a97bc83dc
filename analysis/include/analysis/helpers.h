// SPDX-License-Identifier: MIT
// Threads that work while runs are under way without executing operators themselves: those of the
// intra-op pool, which take parts of an operator, and whatever else the program has. Counters of
// processor time are all that tells of them, and these do not say what a thread worked for.
//
// - helpers: threads of a process with runs that have such counters, began no run and executed no
//   operator, and used AN_HELPER_SHARE of the runs' time or more.
// - cpu: the most that a thread can have used from the first begin of a run to the last end. Time
//   between runs is in it, and a pool that spins uses time while it waits.
// - idle: the time that runs of the process cover, less cpu: a thread has idled at least so long.
#pragma once

#include "analysis/ops.h"
#include "analysis/source.h"

#define AN_HELPER_SHARE 0.01
#define AN_MAX_HELPERS  4096

typedef struct an_helper {
    int64_t process, thread;
    double cpu_ns, idle_ns; // at most, at least
    double runs_ns;         // that runs of its process cover
} an_helper;

typedef struct an_helpers {
    an_helper *items; // those with the most processor time first
    size_t count, capacity;
    bool known; // there were counters of threads at all
} an_helpers;

// `ops`: finished, of the same file. Reads the file four times, by kinds other than op.
cm_status an_helpers_read(const an_source *source, const an_ops *ops, an_helpers *out);
void an_helpers_deinit(an_helpers *h);

double an_helpers_idle_ns(const an_helpers *h);    // of all of them; NAN: there are none
double an_helpers_idle_share(const an_helpers *h); // of the runs' time, for each of them
