// SPDX-License-Identifier: MIT
// Which of our events go to ETW how, and when what has gathered is written. Nothing here runs while
// nobody listens, but for the journal. While somebody does, an event costs what ETW costs (hundreds
// of nanoseconds), and still no lock of ours and no wait.
#include "etw.h"

// At least this often (about 0.1 s) the recording gets a pair of clock readings, as long as there
// are events at all.
#define CLOCK_TICKS ((uint64_t)1 << 28)

tl_provider g_hk_etw;
HANDLE g_hk_etw_wake;

static _Atomic uint32_t g_changed, g_state_wanted;
static _Atomic uint64_t g_clock; // ticks of the last Clock event, 0: one is due
static _Atomic uint64_t g_failed_told;

// On any thread, perhaps under ETW's locks.
static void on_changed(void *context, bool state_wanted)
{
    (void)context;
    atomic_store(&g_clock, 0);
    if (state_wanted)
        atomic_store(&g_state_wanted, 1);
    atomic_store(&g_changed, 1);
    SetEvent(g_hk_etw_wake);
}

// ----------------------------------------------------------------------------------------- threads

static __attribute__((noinline)) tl_etw_thread *make_state(hk_thread *t)
{
    tl_etw_thread *state = RtlDllShutdownInProgress() ? NULL : hk_alloc(sizeof *state);
    if (state) {
        state->id = GetCurrentThreadId();
        atomic_store_explicit(&t->etw, state, memory_order_release);
    } else {
        atomic_fetch_add(&g_hk_etw.failed, 1);
    }
    return state;
}

static inline tl_etw_thread *state_of(hk_thread *t)
{
    tl_etw_thread *state = atomic_load_explicit(&t->etw, memory_order_relaxed);
    return state ? state : make_state(t);
}

void hk_etw_thread_begins(hk_thread *t)
{
    tl_etw_thread *state = atomic_load(&t->etw);
    if (!state)
        return;
    memset(state->sequence, 0, sizeof state->sequence);
    state->id = GetCurrentThreadId();
}

static void flush(tl_etw_thread *writer, tl_etw_thread *owner)
{
    for (int batch = 0; batch < TL_BATCH_COUNT; batch++)
        tl_etw_flush(&g_hk_etw, writer, owner, batch);
}

void hk_etw_thread_ends(hk_thread *t)
{
    tl_etw_thread *state = atomic_load(&t->etw);
    if (state)
        flush(state, state);
}

static void flush_everybody(tl_etw_thread *writer)
{
    for (hk_thread *t = atomic_load(&g_hk.threads); t; t = t->next) {
        tl_etw_thread *owner = atomic_load_explicit(&t->etw, memory_order_acquire);
        if (owner)
            flush(writer, owner);
    }
}

// What other threads have of this run: they are done with it, but may have nothing else to do.
static void flush_run(tl_etw_thread *writer, uint64_t key)
{
    for (hk_thread *t = atomic_load(&g_hk.threads); t; t = t->next) {
        tl_etw_thread *owner = atomic_load_explicit(&t->etw, memory_order_acquire);
        for (int batch = 0; owner && batch < TL_BATCH_COUNT; batch++) {
            tl_etw_batch *b = atomic_load_explicit(&owner->batches[batch], memory_order_acquire);
            if (b && atomic_load_explicit(&b->count, memory_order_relaxed) &&
                atomic_load_explicit(&b->key, memory_order_relaxed) == key)
                tl_etw_flush(&g_hk_etw, writer, owner, batch);
        }
    }
}

// ----------------------------------------------------------------------------------------- writing

static void write_clock(tl_etw_thread *writer)
{
    uint64_t best = UINT64_MAX, ticks = 0;
    tl_Clock fixed = {0};
    LARGE_INTEGER count;
    for (int i = 0; i < 3; i++) {
        uint64_t before = hk_ticks();
        QueryPerformanceCounter(&count);
        uint64_t took = hk_ticks() - before;
        if (took >= best)
            continue;
        best = took;
        ticks = before + took / 2;
        fixed.qpc = (uint64_t)count.QuadPart;
    }
    QueryPerformanceFrequency(&count);
    fixed.qpc_frequency = (uint64_t)count.QuadPart;
    const tl_etw_part part = {&fixed, sizeof fixed};
    tl_etw_write(&g_hk_etw, writer, TL_EVENT_Clock, writer->id, ticks, &part, 1);
}

// A reader places an event between the clock readings around it.
static inline void keep_clock(tl_etw_thread *writer)
{
    uint64_t now = hk_ticks(), last = atomic_load_explicit(&g_clock, memory_order_relaxed);
    if (__builtin_expect(now - last < CLOCK_TICKS, 1))
        return;
    if (atomic_compare_exchange_strong(&g_clock, &last, now))
        write_clock(writer);
}

static void write_event(tl_etw_thread *state, tl_event event, uint64_t ticks,
                        const tl_etw_part *parts, unsigned count)
{
    keep_clock(state);
    tl_etw_write(&g_hk_etw, state, event, state->id, ticks, parts, count);
}

static void tell_number(hk_thread *t, uint32_t epoch, uint64_t number, uint32_t code,
                        const char *what)
{
    char sentence[256], digits[24];
    hk_text text = hk_text_of_number((int64_t)number, digits), rest = hk_text_of(what);
    if (text.len + rest.len > sizeof sentence)
        return;
    memcpy(sentence, text.bytes, text.len);
    memcpy(sentence + text.len, rest.bytes, rest.len);
    hk_emit_log(t, epoch, TL_LEVEL_WARNING, 0, 0, code, (hk_text){sentence, text.len + rest.len});
}

// A remark in the timeline (and, when there is room again, in the recording) of events that ETW did
// not take, once there are `at_least` that were not told of.
static void tell_failures(hk_thread *t, uint32_t epoch, uint64_t at_least)
{
    uint64_t told = atomic_load_explicit(&g_failed_told, memory_order_relaxed);
    uint64_t failed = atomic_load_explicit(&g_hk_etw.failed, memory_order_relaxed);
    if (__builtin_expect(failed - told < at_least, 1) ||
        !atomic_compare_exchange_strong(&g_failed_told, &told, failed))
        return;
    tell_number(t, epoch, failed - told, atomic_load(&g_hk_etw.last_failure),
                " events were not taken by event tracing (`code` says why; 8: its buffers were "
                "full). Use more or larger buffers.");
}

__attribute__((noinline)) void hk_etw_gather(hk_thread *t, tl_event event, uint64_t key,
                                             uint64_t ticks, const void *fixed, size_t fixed_bytes)
{
    DWORD error = GetLastError();
    tl_etw_thread *state = state_of(t);
    if (state) {
        _Atomic(tl_etw_batch *) *batch = &state->batches[tl_etw_batch_of(event)];
        if (!atomic_load_explicit(batch, memory_order_relaxed) && !RtlDllShutdownInProgress())
            atomic_store_explicit(batch, hk_alloc(sizeof(tl_etw_batch)), memory_order_release);
        tl_etw_gather(&g_hk_etw, state, event, key, ticks, fixed, (uint32_t)fixed_bytes);
    }
    SetLastError(error);
}

__attribute__((noinline)) void hk_etw_run(hk_thread *t, uint64_t ticks, const tl_Run *run)
{
    DWORD error = GetLastError();
    tl_etw_thread *state = state_of(t);
    if (state) {
        const tl_etw_part part = {run, sizeof *run};
        flush(state, state);
        flush_run(state, hk_etw_key(run->session, run->run));
        if (hk_etw_wants(TL_EVENT_Run))
            write_event(state, TL_EVENT_Run, ticks, &part, 1);
        // The program may end before the watcher tells; now and then is enough.
        tell_failures(t, atomic_load(&g_hk.epoch), atomic_load(&g_failed_told) * 2 + 1);
    }
    SetLastError(error);
}

// What is gathered came before these.
static bool ends_batches(tl_event event)
{
    return event == TL_EVENT_Session || event == TL_EVENT_SessionEnd || event == TL_EVENT_Log ||
           event == TL_EVENT_ModuleEnd;
}

static void emit_batched(hk_thread *t, tl_event event, uint64_t ticks, const tl_etw_part *fixed)
{
    uint64_t key = 0;
    if (event == TL_EVENT_Op) {
        const tl_Op *op = fixed->bytes;
        key = hk_etw_key(op->session, op->run);
    } else {
        const tl_Alloc *alloc = fixed->bytes;
        key = hk_etw_key(alloc->session, alloc->run);
    }
    hk_etw_gather(t, event, key, ticks, fixed->bytes, fixed->len);
}

__attribute__((noinline)) void hk_etw_emit(hk_thread *t, tl_event event, uint64_t ticks,
                                           const tl_etw_part *parts, unsigned count)
{
    DWORD error = GetLastError();
    if (hk_journal_keeps(event))
        hk_journal_note(event, GetCurrentThreadId(), ticks, parts, count);
    tl_etw_thread *state = hk_etw_is_on() ? state_of(t) : NULL;
    if (state && event == TL_EVENT_Run) {
        hk_etw_run(t, ticks, parts[0].bytes);
    } else if (state) {
        if (ends_batches(event))
            flush(state, state);
        if (!hk_etw_wants(event))
            ;
        else if (tl_etw_batch_of(event) != TL_BATCH_NONE)
            emit_batched(t, event, ticks, parts);
        else
            write_event(state, event, ticks, parts, count);
    }
    SetLastError(error);
}

// ------------------------------------------------------------------------------------- the watcher

static void tell_again(void *context, tl_event event, uint32_t thread, uint64_t ticks,
                       const tl_etw_part *payload)
{
    if (hk_etw_wants(event))
        tl_etw_write(&g_hk_etw, context, event, thread, ticks, payload, 1);
}

static void serve(hk_thread *t, uint32_t epoch)
{
    // With nobody listening any more too: what has gathered must not reach the next listener.
    bool changed = atomic_exchange(&g_changed, 0);
    tl_etw_thread *state = hk_etw_is_on() || changed ? state_of(t) : NULL;
    if (state)
        flush_everybody(state);
    if (state && hk_etw_is_on()) {
        write_clock(state);
        if (atomic_exchange(&g_state_wanted, 0)) {
            uint32_t missed = hk_journal_walk(tell_again, state);
            if (missed)
                tell_number(t, epoch, missed, 0,
                            " facts were too many to be told to event tracing again.");
        }
    }
    tell_failures(t, epoch, 1);
}

void hk_etw_serve(void)
{
    uint32_t epoch;
    if (!hk_etw_is_on() && !atomic_load(&g_changed) &&
        atomic_load(&g_hk_etw.failed) == g_failed_told)
        return;
    hk_thread *t = hk_enter_to_lock(&epoch);
    if (!t)
        return;
    serve(t, epoch);
    hk_leave(t);
}

// ------------------------------------------------------------------------------------ arm, disarm

void hk_etw_arm(void)
{
    g_hk_etw.changed = on_changed;
    atomic_store(&g_hk_etw.failed, 0);
    atomic_store(&g_failed_told, 0);
    tl_provider_open_hook(&g_hk_etw, tl_etw_system());
}

// Writes what is left; on this thread nothing else does.
static void write_rest(void)
{
    static tl_etw_thread none;
    hk_thread *t = hk_thread_get();
    tl_etw_thread *writer = (uintptr_t)t > HK_THREAD_ENDED ? atomic_load(&t->etw) : NULL;
    if (!writer) {
        writer = &none;
        memset(&none, 0, sizeof none);
        none.id = GetCurrentThreadId();
    }
    flush_everybody(writer);
    write_clock(writer);
}

void hk_etw_disarm(bool idle)
{
    if (idle && hk_etw_is_on())
        write_rest();
    tl_provider_close(&g_hk_etw);
    if (idle)
        hk_journal_clear();
}

void hk_etw_process_ends(void)
{
    uint32_t epoch;
    if (hk_etw_is_on())
        write_rest();
    hk_thread *t = hk_enter(&epoch);
    if (t) {
        tell_failures(t, epoch, 1);
        hk_leave(t);
    }
}
