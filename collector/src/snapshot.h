// SPDX-License-Identifier: MIT
// What NtQuerySystemInformation tells of all processes and their threads in one answer, and the
// counters made from it. Portable: the bytes come from wherever.
//
// A field that is 0 for every process of the machine is one that this system does not tell.
#pragma once

#include "common/map.h"
#include "series.h"

typedef struct co_followed {
    uint32_t id; // in the timeline
    uint32_t pid;
} co_followed;

// A process that is not followed, known by its number alone.
typedef struct co_other {
    uint32_t pid;
    uint64_t created;
    uint64_t first_100ns; // of processor time, when seen first
    bool shown;
} co_other;

typedef struct co_thread_switches {
    uint64_t created;
    uint32_t last; // as the system told it
} co_thread_switches;

typedef struct co_process_switches {
    uint32_t process; // in the timeline
    int64_t total;    // of all its threads, ended ones too, since it was seen first
} co_process_switches;

typedef struct co_snapshot {
    co_series series;
    uint32_t own_pid;   // the others' list leaves it out
    bool process_times; // tell the processes' times too: nobody else does it right
    cm_map other_by_pid, thread_by_id;
    co_other *others;
    size_t other_count, other_capacity;
    co_thread_switches *threads;
    size_t thread_count, thread_capacity;
    co_process_switches *switches;
    size_t switch_count, switch_capacity;
} co_snapshot;

void co_snapshot_init(co_snapshot *s, atomic_uint *last_id, co_readings *out);
void co_snapshot_deinit(co_snapshot *s);

// One round of counters from an answer of `len` bytes.
void co_snapshot_add(co_snapshot *s, const void *answer, size_t len, uint64_t ticks,
                     const co_followed *followed, size_t followed_count);
