// SPDX-License-Identifier: MIT
// Which run an allocation or a release belongs to, and counting it there: what allocators inside of
// ORT (alloc_hook.c) and the C API's own one (hooks_alloc.c) share.
#pragma once

#include "alloc.h"

enum { HK_ALLOC_ALLOCATED = 0, HK_ALLOC_RELEASED = 1, HK_ALLOC_RESERVED = 2 }; // action
enum { HK_ALLOC_LOADING = 1, HK_ALLOC_AMBIGUOUS = 2, HK_ALLOC_FAILED = 4 };    // flags

typedef struct hk_alloc_owner {
    uint32_t session, run;
    uint8_t flags;
    uint32_t tag;
    hk_run_memory *mine; // the run of this thread
    hk_session *other;   // a run on another thread
} hk_alloc_owner;

// Stands for a run among those whose memory is there at the same time; never 0.
static inline uint32_t hk_alloc_tag(uint32_t session, uint32_t run)
{
    return ((run * 0x9e3779b1u ^ session * 0x85ebca6bu) >> 8) | 1u;
}

// The run of this thread.
static inline void hk_alloc_owner_here(hk_thread *t, hk_alloc_owner *o)
{
    o->session = t->run.session_id;
    o->run = t->run.run;
    o->flags = 0;
    o->tag = hk_alloc_tag(o->session, o->run);
    o->mine = &t->run.memory;
    o->other = NULL;
}

// Where there is no run, or a mark of loading, which may be one that nobody took away.
void hk_alloc_find_owner_elsewhere(hk_thread *t, uint32_t epoch, hk_arena *a, bool allocates,
                                   uint32_t tag, hk_alloc_owner *o);

// `a` is NULL for what is no arena, `tag` that of released memory.
static inline void hk_alloc_find_owner(hk_thread *t, uint32_t epoch, hk_arena *a, bool allocates,
                                       uint32_t tag, hk_alloc_owner *o)
{
    if (__builtin_expect(t->run.epoch != epoch || (t->inside & HK_INSIDE_LOADING), 0))
        hk_alloc_find_owner_elsewhere(t, epoch, a, allocates, tag, o);
    else
        hk_alloc_owner_here(t, o);
}

// Of a run that has memory whose release can't be told from others: more than any run has, so that
// it stays.
#define HK_PEAK_UNKNOWN ((uint64_t)INT64_MAX)

void hk_alloc_count_other(hk_session_memory *m, uint64_t bytes);
// The table of addresses has no room for it: what the run holds at once is no longer known.
void hk_alloc_count_unnoted(const hk_alloc_owner *o, uint64_t bytes);

static inline void hk_alloc_count(const hk_alloc_owner *o, uint64_t bytes)
{
    hk_run_memory *m = o->mine;
    if (__builtin_expect(m != NULL, 1)) {
        m->allocations++;
        m->allocated_bytes += bytes;
        m->own_bytes += bytes;
        // It may be below 0: this thread also releases what others allocated for the run.
        if ((int64_t)m->own_bytes > (int64_t)m->peak_bytes)
            m->peak_bytes = m->own_bytes;
    } else if (o->other) {
        hk_alloc_count_other(&o->other->memory, bytes);
    }
}

// What an arena took from the system to make an allocation.
static inline void hk_alloc_count_growth(const hk_alloc_owner *o, uint64_t bytes)
{
    if (o->mine)
        o->mine->grown_bytes += bytes;
    else if (o->other)
        atomic_fetch_add_explicit(&o->other->memory.grown_bytes, bytes, memory_order_relaxed);
}

// `note` is what was known of the memory.
static inline void hk_alloc_count_release(const hk_alloc_owner *o, uint64_t note)
{
    uint64_t bytes = hk_address_bytes(note);
    if (__builtin_expect(o->mine != NULL, 1)) {
        o->mine->frees++;
        o->mine->freed_bytes += bytes;
        o->mine->own_bytes -= hk_address_tag(note) == o->tag ? bytes : 0;
    } else if (o->other) {
        hk_session_memory *m = &o->other->memory;
        atomic_fetch_add_explicit(&m->frees, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&m->freed_bytes, bytes, memory_order_relaxed);
        atomic_fetch_sub_explicit(&m->own_bytes, bytes, memory_order_relaxed);
    }
}

static inline bool hk_alloc_tells_all(void)
{
    return g_hk.flags & ORT_HOOK_ALLOC_ALL;
}

// One Alloc event. `memory` is NULL where it failed; `stack` is the caller's frame.
void hk_alloc_emit(hk_thread *t, uint32_t epoch, const hk_alloc_owner *o, const void *memory,
                   uint64_t bytes, uint32_t allocator, uint8_t action, uintptr_t stack);
