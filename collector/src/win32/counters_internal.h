// SPDX-License-Identifier: MIT
// What the sampling threads share.
#pragma once

#include "collector/counters.h"
#include "pace.h"
#include "source.h"

#include <windows.h>

#define CO_SOURCES_MAX 4u

#ifndef CREATE_WAITABLE_TIMER_HIGH_RESOLUTION // mingw-w64 10 lacks it
#define CREATE_WAITABLE_TIMER_HIGH_RESOLUTION 0x2
#endif

typedef struct co_live_target {
    co_followed followed;
    HANDLE process;
    bool ended; // the process source takes its last values, then lets go of it
} co_live_target;

typedef struct co_runner {
    co_counters *owner;
    const co_source *source;
    co_source_env env;
    co_readings readings; // of its own thread
    co_pace pace;
    double hz; // that the pace was made for
    atomic_uint rounds;
    atomic_uint share_ppm; // of a core, at its present pace
    HANDLE thread;
} co_runner;

struct co_counters {
    co_counters_options options;
    HANDLE stop;
    atomic_uint last_id;
    _Atomic double wished_hz;
    co_runner runners[CO_SOURCES_MAX];
    unsigned runner_count;
    SRWLOCK lock; // of all below
    co_readings ready;
    co_live_target *targets;
    size_t target_count, target_capacity;
};

NTSYSAPI LONG NTAPI NtQuerySystemInformation(int information, void *out, ULONG len, ULONG *out_len);

// Where GetProcessTimes can't be trusted; the snapshot tells the times then.
bool co_process_times_are_wrong(void);

// Once all threads have ended.
void co_counters_free(co_counters *c);

// A copy of the list for the process source; each target that has ended is handed out once more,
// then co_counters_release() closes its handle.
size_t co_counters_targets(co_counters *c, co_live_target *out, size_t capacity);
void co_counters_release(co_counters *c, uint32_t target_id);
