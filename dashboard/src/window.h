// SPDX-License-Identifier: MIT
// The newest runs of a session as one figure each.
#pragma once

#include "live_state.h"

typedef struct da_window {
    uint64_t runs, failed; // latencies and throughput are of the others
    int64_t in_flight_max;
    double throughput_per_s;
    double min_ns, mean_ns, p50_ns, p90_ns, p95_ns, p99_ns, max_ns; // 0 without any
} da_window;

// Of the runs that ended in the last window_s seconds of the capture's time, at most DA_RUNS.
da_window da_window_of(const da_live *l, const da_session *s, double window_s);

// The throughput alone, which costs far less.
double da_window_throughput(const da_live *l, const da_session *s, double window_s);

// The durations of those that did not fail, unsorted; returns how many. `out` has room for DA_RUNS.
size_t da_window_durations(const da_live *l, const da_session *s, double window_s, int64_t *out);
