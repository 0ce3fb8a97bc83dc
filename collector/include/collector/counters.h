// SPDX-License-Identifier: MIT
// Counters of the followed processes and of the machine, read on threads of this process while a
// capture goes on (Windows). Targets are never touched: everything is asked of the system.
//
// One thread uses it, the one that owns the capture; sampling happens on others.
#pragma once

#include "collector/capture.h"

#include <stdbool.h>

typedef struct co_counters co_counters;

enum {
    CO_COUNTERS_PROCESS = 1, // the followed processes by their handles, the cores, the memory
    CO_COUNTERS_SYSTEM = 2,  // one answer about all processes: threads, context switches
    CO_COUNTERS_PDH = 4,     // Windows' performance counters: cores, GPUs, NPUs, energy, heat
    CO_COUNTERS_NVML = 8,    // NVIDIA's devices, by its own library
    CO_COUNTERS_ALL = 15
};

#define CO_COUNTERS_HZ       50
#define CO_COUNTERS_HZ_MAX   1000
#define CO_COUNTERS_OVERHEAD 0.01

typedef struct co_counters_options {
    unsigned sources; // CO_COUNTERS_*; 0: none
    double hz;
    double max_overhead; // share of one core that sampling may take
} co_counters_options;

// NULL where no source is wanted or there is no memory; all other functions take that.
co_counters *co_counters_start(const co_counters_options *options);

// `process` is a HANDLE with query rights; it is duplicated.
void co_counters_follow(co_counters *c, uint32_t target_id, uint32_t pid, void *process);
void co_counters_unfollow(co_counters *c, uint32_t target_id);

// Samples a second from now on, 1 to CO_COUNTERS_HZ_MAX; each source follows after its present
// interval.
void co_counters_rate(co_counters *c, double hz);

// Hands what was sampled meanwhile to the capture.
void co_counters_drain(co_counters *c, co_capture *capture);

// A last round of each source, then their end. A source that does not come back in time is left
// behind: the capture goes on without it.
void co_counters_stop(co_counters *c, co_capture *capture);
