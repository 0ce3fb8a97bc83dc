// SPDX-License-Identifier: MIT
// The events also go to Windows' event tracing (ETW) while a session there listens to the provider
// Ortscope. How it holds together:
//
//   tracelogging/etw.h  the provider: registering, who wants what, writing, batches (portable)
//   etw.c               which of our events go how; when batches are written; what the watcher does
//   etw_journal.c       what a listener who comes late has to be told again
//
// The provider is registered while we are armed. ETW calls back on any thread, perhaps under its
// locks: there only flags are set, all else is the watcher's (lifecycle.c). With nobody listening,
// an operator, a run and an allocation cost one load and one branch more.
#pragma once

#include "emit.h"
#include "tracelogging/etw.h"

extern tl_provider g_hk_etw;

static inline bool hk_etw_is_on(void)
{
    return __builtin_expect(tl_provider_wanted(&g_hk_etw) != 0, 0);
}

static inline bool hk_etw_wants(tl_event event)
{
    return __builtin_expect(tl_provider_wants(&g_hk_etw, event), 0);
}

// Before the hooks are armed; after all threads have left them (`idle`), or one is stuck there.
void hk_etw_arm(void);
void hk_etw_disarm(bool idle);
void hk_etw_process_ends(void); // the other threads are dead

// The watcher: something has changed (the event was set), or some time has passed.
extern HANDLE g_hk_etw_wake; // ours, for ever
void hk_etw_serve(void);

// This thread's state belongs to a new thread; its thread ends.
void hk_etw_thread_begins(hk_thread *t);
void hk_etw_thread_ends(hk_thread *t);

// An event of fixed size, from the hot paths. `key`: the run that it belongs to.
void hk_etw_gather(hk_thread *t, tl_event event, uint64_t key, uint64_t ticks, const void *fixed,
                   size_t fixed_bytes);
void hk_etw_run(hk_thread *t, uint64_t ticks, const tl_Run *run);

static inline uint64_t hk_etw_key(uint32_t session, uint32_t run)
{
    return (uint64_t)session << 32 | run;
}

// What hk_emit emits: the payload in parts, the first one holds the fixed fields.
void hk_etw_emit(hk_thread *t, tl_event event, uint64_t ticks, const tl_etw_part *parts,
                 unsigned count);

// etw_journal.c -----------------------------------------------------------------------------------

// Events that say who somebody is, or that he is gone.
#define HK_JOURNAL_EVENTS                                                                          \
    (1u << TL_EVENT_Module | 1u << TL_EVENT_ModuleEnd | 1u << TL_EVENT_Session |                   \
     1u << TL_EVENT_SessionEnd | 1u << TL_EVENT_Phase | 1u << TL_EVENT_ShapeSet |                  \
     1u << TL_EVENT_Tensor | 1u << TL_EVENT_Kernel | 1u << TL_EVENT_KernelShapes |                 \
     1u << TL_EVENT_KernelEnd | 1u << TL_EVENT_Allocator | 1u << TL_EVENT_KernelNames)

static inline bool hk_journal_keeps(tl_event event)
{
    _Static_assert(TL_EVENT_COUNT <= 32, "a bit for each event");
    return HK_JOURNAL_EVENTS >> event & 1;
}

// Keeps a copy, or forgets whom the event says to be gone. Takes a lock.
void hk_journal_note(tl_event event, uint32_t thread, uint64_t ticks, const tl_etw_part *parts,
                     unsigned count);

// The allocator is gone; no event tells so.
void hk_journal_forget_allocator(uint32_t id);

typedef void hk_journal_fn(void *context, tl_event event, uint32_t thread, uint64_t ticks,
                           const tl_etw_part *payload);
// All that is kept, so that what is referred to comes first; not under one lock for long. Returns
// how many events found no room since the journal was cleared.
uint32_t hk_journal_walk(hk_journal_fn *fn, void *context);
void hk_journal_clear(void);
