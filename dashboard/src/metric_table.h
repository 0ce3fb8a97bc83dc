// SPDX-License-Identifier: MIT
// Which metrics there are, and where the value of each comes from.
#pragma once

#include "metric_list.h"

typedef enum da_figure {
    BUILD,
    PUSHES,
    FAILED_PUSHES,
    REJECTED_POINTS,
    RECORDING,
    LOST,
    DROPPED,
    FILE_BYTES,
    OVERHEAD,
    RUNTIME,
    RUNS,
    FAILED_RUNS,
    DURATIONS,
    IN_FLIGHT,
    LOAD_TIME,
    HELD,
    IN_USE,
    OP_CALLS,
    OP_FAILURES,
    OP_TIME,
    COUNTER, // of the machine or a process: the two names below
} da_figure;

typedef struct da_metric_entry {
    da_metric metric;
    da_figure figure;
    // COUNTER: as in docs/counters.md; `also` is added where it is known. Values are divided.
    int64_t about;
    const char *counter, *also;
    double per;
} da_metric_entry;

extern const da_metric_entry da_metric_entries[];
extern const size_t da_metric_entry_count;
