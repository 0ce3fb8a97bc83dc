// SPDX-License-Identifier: MIT
// What every source of counters looks like to the threads that ask them. A source is opened, asked
// and closed on one thread of its own, so that a slow one holds up nobody.
#pragma once

#include "series.h"
#include "snapshot.h"

#define CO_FOLLOWED_MAX 256u

typedef struct co_source_env {
    co_readings *out;
    atomic_uint *last_id;
    void *context;
    // The processes that are followed now. Returns how many were written.
    size_t (*followed)(void *context, co_followed *out, size_t capacity);
} co_source_env;

typedef struct co_source {
    const char *name;
    double max_hz; // more often makes no sense; 0: no limit
    // Its state, or NULL where there is nothing to ask; a remark may say why. `env` outlives it.
    void *(*open)(const co_source_env *env);
    // One round; false: it has ended, for good.
    bool (*sample)(void *state, uint64_t ticks);
    void (*close)(void *state);
} co_source;

// Windows only.
extern const co_source co_process_source;  // win32/process_source.c
extern const co_source co_snapshot_source; // win32/snapshot_source.c
extern const co_source co_pdh_source;      // win32/pdh_library.c
extern const co_source co_nvml_source;     // win32/nvml_library.c
