// SPDX-License-Identifier: MIT
// Per-thread state: made on a thread's first event, reused for another thread after its end, never
// freed, so that the disarming side may look at any of it at any time.
#include "etw.h"

bool hk_threads_init(void)
{
    g_hk.tls = TlsAlloc();
    return g_hk.tls != TLS_OUT_OF_INDEXES;
}

static hk_thread *take_unused(void)
{
    for (hk_thread *t = atomic_load(&g_hk.threads); t; t = t->next) {
        uint32_t unused = 0;
        if (atomic_load_explicit(&t->in_use, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(&t->in_use, &unused, 1))
            return t;
    }
    return NULL;
}

// A state that no thread has; NULL if memory is short.
static hk_thread *take_state(void)
{
    hk_thread *t = take_unused();
    if (!t && (t = hk_alloc_for_good(sizeof *t)) != NULL) {
        atomic_store(&t->in_use, 1);
        hk_thread *first = atomic_load(&g_hk.threads);
        do
            t->next = first;
        while (!atomic_compare_exchange_weak(&g_hk.threads, &first, t));
    }
    if (t) {
        t->epoch = 0;
        t->inside = 0;
        t->op_depth = 0;
        t->tap_depth = 0;
        t->alloc_mark = 0;
        t->shim_depth = 0;
        t->shim_ep = NULL;
        t->run = (hk_run_note){0};
        t->load = (hk_load_note){0};
        hk_etw_thread_begins(t);
    }
    return t;
}

hk_thread *hk_thread_slow(void)
{
    if (RtlDllShutdownInProgress()) // the heap's lock may be held by a thread that was killed
        return NULL;
    DWORD error = GetLastError();
    hk_thread *t = take_state();
    if (t)
        TlsSetValue(g_hk.tls, t);
    SetLastError(error);
    return t;
}

// The exit code of the thread that ended last, for the watcher (lifecycle.c).
static void note_exit(void)
{
    HANDLE self = NULL;
    DuplicateHandle(GetCurrentProcess(), GetCurrentThread(), GetCurrentProcess(), &self, 0, FALSE,
                    DUPLICATE_SAME_ACCESS);
    HANDLE former = InterlockedExchangePointer(&g_hk.last_ended, self);
    if (former)
        CloseHandle(former);
}

// Its ring and itself are free for others.
static void give_back(hk_thread *t)
{
    uint32_t now = atomic_load(&g_hk.epoch);
    atomic_store(&t->busy, 1);
    if ((now & 1) && atomic_load(&g_hk.epoch) == now) {
        if (t->op_depth) // kernels that threw, and no other came after them
            hk_ops_unwind(t, now, UINTPTR_MAX, 0);
        if (hk_etw_is_on())
            hk_etw_thread_ends(t);
        if (t->epoch == now)
            tl_producer_release(&t->producer);
    }
    hk_leave(t);
    t->epoch = 0;
    atomic_store(&t->in_use, 0);
}

void hk_thread_end(void)
{
    if (atomic_load(&g_hk.epoch) & 1)
        note_exit();
    hk_thread *t = hk_thread_get();
    TlsSetValue(g_hk.tls, (void *)(uintptr_t)HK_THREAD_ENDED);
    if ((uintptr_t)t > HK_THREAD_ENDED)
        give_back(t);
}

hk_thread *hk_enter_to_release(uint32_t *epoch)
{
    if ((uintptr_t)hk_thread_get() != HK_THREAD_ENDED)
        return hk_enter_to_lock(epoch);
    *epoch = atomic_load(&g_hk.epoch);
    hk_thread *t = (*epoch & 1) && !RtlDllShutdownInProgress() ? take_state() : NULL;
    if (!t || hk_reenter(t, *epoch))
        return t;
    give_back(t);
    return NULL;
}

void hk_leave_release(hk_thread *t)
{
    if ((uintptr_t)hk_thread_get() == HK_THREAD_ENDED)
        give_back(t);
    else
        hk_leave(t);
}

// Our code never blocks for long, so this ends soon. A thread that was killed inside it would keep
// us here for ever: after two seconds the channel is left mapped instead (lifecycle.c).
bool hk_threads_wait_idle(void)
{
    FlushProcessWriteBuffers();
    ULONGLONG begin = GetTickCount64();
    for (unsigned round = 0; GetTickCount64() - begin < 2000; round++) {
        bool idle = true;
        for (hk_thread *t = atomic_load(&g_hk.threads); t; t = t->next)
            idle = idle && atomic_load(&t->busy) == 0;
        if (idle)
            return true;
        Sleep(round < 20 ? 0 : 1);
    }
    return false;
}
