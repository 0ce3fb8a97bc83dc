// SPDX-License-Identifier: MIT
// What the machine did around the runs of each session: the sums of join.h over all of its runs.
// Shares are of the time of the runs of which switches tell; means are over the runs of which there
// is something to tell. NAN and 0 runs: nobody told.
#pragma once

#include "analysis/join.h"

typedef struct an_mean {
    double sum;
    uint64_t runs;
} an_mean;

typedef struct an_around_session {
    int64_t session;
    uint64_t runs;
    uint64_t covered;                                                 // runs of which switches tell
    double time_ns;                                                   // of those
    double on_cpu_ns, ready_ns, preempted_ns, waiting_ns, unknown_ns; // of those; ready may be NAN
    an_slices preempted_by, waits;                                    // keys as in an_joined
    an_mean switches, page_faults, hard_faults, disk_transfers, disk_ns;
    an_fault_source fault_source;
    an_mean clock_percent, clock_mhz, gpu_percent, npu_percent, process_cpu;
    an_mean gap_ns; // not known for more runs than AN_JOIN_MAX_RUNS
} an_around_session;

typedef struct an_around an_around;

// NULL, with CM_OK, if the file has nothing that could be joined.
cm_status an_around_read(const an_source *source, an_around **out);
void an_around_destroy(an_around *m); // NULL is fine

const an_around_session *an_around_of(const an_around *m, int64_t session); // NULL: no runs
const char *an_around_process_name(const an_around *m, int64_t process);

double an_mean_of(an_mean mean);                                  // NAN: no runs
double an_around_share(const an_around_session *s, double of_ns); // NAN: not covered
