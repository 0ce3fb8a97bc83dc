// SPDX-License-Identifier: MIT
// What a run took, and the state of a session's arenas: asked of the arena itself, by the virtual
// function that ORT's own AllocatorGetStats ends in. The answer is a row of numbers whose length
// tells its layout; it must make sense, or the module's arenas are not asked again.
#include "alloc.h"
#include "alloc_owner.h"
#include "op.h"

#define STATE_EVERY_MS 50u
#define UNWRITTEN      0x5a5a5a5aa5a5a5a5 // a number that no statistic has

enum {
    WORDS_MAX = 32,
    WORDS_OLD = 9,
    WORDS_REQUESTED = 10, // with the bytes as they were asked for, since 1.28
    SOURCE_ARENA = 2,
};

// ------------------------------------------------------------------------------------- the state

static bool ask(const hk_arena *a, int64_t words[WORDS_MAX], unsigned *count)
{
    void *self = (void *)atomic_load(&a->self);
    const hk_alloc_class *c = a->alloc_class;
    uintptr_t vtable = 0;
    // Its class may be a copy of one of ours: then its functions are not ours to call.
    if (!hk_copy_living((uint64_t)(uintptr_t)self, &vtable, sizeof vtable) ||
        vtable != atomic_load(&c->address))
        return false;
    void *function = hk_slot_get((void **)vtable + c->module->found.slots.stats);
    if (!hk_scan_in_code(&c->module->scan, (uint64_t)(uintptr_t)function))
        return false;
    for (unsigned i = 0; i < WORDS_MAX; i++)
        words[i] = UNWRITTEN;
    ((hk_arena_stats_fn *)(uintptr_t)function)(self, words);
    *count = 0;
    for (unsigned i = 0; i < WORDS_MAX; i++)
        if (words[i] != UNWRITTEN)
            *count = i + 1;
    return true;
}

static uint64_t limit_of(int64_t word)
{
    return word <= 0 || word >= INT64_MAX >> 1 ? 0 : (uint64_t)word;
}

// False if the numbers are not what they should be.
static bool read_state(const int64_t *words, unsigned count, tl_Memory *out)
{
    if (count != WORDS_OLD && count != WORDS_REQUESTED)
        return false;
    const int64_t *rest = words + (count == WORDS_REQUESTED ? 6 : 5); // after the bytes in use
    for (unsigned i = 0; i + 1 < count; i++)                          // all but the limit
        if (words[i] < 0 || words[i] >> 56)
            return false;
    if (words[4] > rest[0] || words[4] > rest[1] || rest[2] > rest[1])
        return false;
    out->allocations = (uint64_t)words[0];
    out->reserves = (uint64_t)words[1];
    out->extensions = (uint64_t)words[2];
    out->shrinks = (uint64_t)words[3];
    out->in_use_bytes = (uint64_t)words[4];
    out->held_bytes = (uint64_t)rest[0];
    out->peak_bytes = (uint64_t)rest[1];
    out->largest_bytes = (uint64_t)rest[2];
    out->limit_bytes = limit_of(rest[3]);
    return true;
}

static void tell_state(hk_thread *t, uint32_t epoch, const hk_arena *a, const hk_session *s,
                       uint32_t run)
{
    hk_alloc_module *m = a->alloc_class->module;
    int64_t words[WORDS_MAX];
    unsigned count;
    bool shared = atomic_load(&a->is_shared);
    tl_Memory fixed = {.allocator = a->id,
                       .session = shared ? 0 : s->id,
                       .run = shared ? 0 : run,
                       .source = SOURCE_ARENA};
    if (atomic_load(&m->distrusted) || !ask(a, words, &count))
        return;
    if (read_state(words, count, &fixed))
        hk_emit(t, epoch, TL_EVENT_Memory, hk_ticks(), &fixed, sizeof fixed, NULL, 0);
    else if (!atomic_exchange(&m->distrusted, 1))
        hk_emit_log(t, epoch, TL_LEVEL_WARNING, s->id, run, count,
                    hk_text_of("The state of arenas is not recorded: this runtime tells it in a "
                               "way that is not known."));
}

void hk_alloc_tell_state(hk_thread *t, uint32_t epoch, hk_session *s, uint32_t run)
{
    DWORD error = GetLastError();
    for (uint32_t i = 0; i < HK_SESSION_ARENAS; i++) {
        hk_arena *a = hk_arena_hold(atomic_load(&s->memory.arenas[i]));
        if (!a)
            continue;
        tell_state(t, epoch, a, s, run);
        hk_arena_let_go(a);
    }
    SetLastError(error);
}

// -------------------------------------------------------------------------------- sessions' lives

void hk_alloc_session_created(hk_thread *t, uint32_t epoch, hk_session *s)
{
    for (uint32_t i = 0; i < t->load.arena_count; i++) {
        hk_arena *a = hk_arena_at(t->load.arenas[i]);
        if (a)
            hk_arena_claim(t, epoch, a, s);
    }
    t->load.arena_count = 0;
    hk_alloc_tell_state(t, epoch, s, 0);
}

void hk_alloc_session_released(hk_thread *t, uint32_t epoch, hk_session *s)
{
    hk_alloc_tell_state(t, epoch, s, 0);
}

void hk_alloc_session_gone(hk_session *s)
{
    for (uint32_t i = 0; i < HK_SESSION_ARENAS; i++) {
        hk_arena *a = hk_arena_at(atomic_exchange(&s->memory.arenas[i], 0));
        hk_session *mine = s;
        if (a)
            atomic_compare_exchange_strong(&a->session, &mine, NULL);
    }
}

// -------------------------------------------------------------------------------------- one run

// What the session holds, if every allocation of its arenas was seen; else -1.
static int64_t live_bytes(const hk_session *s)
{
    int64_t sum = 0;
    bool any = false;
    for (uint32_t i = 0; i < HK_SESSION_ARENAS; i++) {
        const hk_arena *a =
            hk_arena_at(atomic_load_explicit(&s->memory.arenas[i], memory_order_relaxed));
        if (!a)
            continue;
        if (atomic_load_explicit(&a->is_incomplete, memory_order_relaxed))
            return -1;
        sum += atomic_load_explicit(&a->live_bytes, memory_order_relaxed);
        any = true;
    }
    return any && sum >= 0 ? sum : -1;
}

static void emit_run_memory(hk_thread *t, uint32_t epoch, const hk_session *s, uint32_t run,
                            const hk_run_memory *m)
{
    tl_RunMemory fixed = {.allocated_bytes = m->allocated_bytes,
                          .freed_bytes = m->freed_bytes,
                          .peak_bytes =
                              m->peak_bytes < HK_PEAK_UNKNOWN ? m->peak_bytes : UINT64_MAX,
                          .live_bytes = live_bytes(s),
                          .session = s->id,
                          .run = run,
                          .allocations = m->allocations,
                          .frees = m->frees,
                          .grown_bytes = m->grown_bytes};
    hk_emit(t, epoch, TL_EVENT_RunMemory, hk_ticks(), &fixed, sizeof fixed, NULL, 0);
}

static bool is_empty(const hk_run_memory *m)
{
    return !(m->allocations | m->frees | m->grown_bytes);
}

// What other threads allocated in the session's runs since this was last asked.
static __attribute__((noinline)) void take_others(hk_session_memory *from, hk_run_memory *to)
{
    uint64_t own = atomic_exchange(&from->own_bytes, 0);
    to->allocated_bytes = atomic_exchange(&from->allocated_bytes, 0);
    to->freed_bytes = atomic_exchange(&from->freed_bytes, 0);
    to->grown_bytes = atomic_exchange(&from->grown_bytes, 0);
    to->own_bytes = (int64_t)own > 0 ? own : 0;
    to->peak_bytes = atomic_exchange(&from->peak_bytes, 0);
    to->allocations = atomic_exchange(&from->allocations, 0);
    to->frees = atomic_exchange(&from->frees, 0);
}

static void add(hk_run_memory *to, const hk_run_memory *more)
{
    to->allocated_bytes += more->allocated_bytes;
    to->freed_bytes += more->freed_bytes;
    to->grown_bytes += more->grown_bytes;
    bool known = to->peak_bytes < HK_PEAK_UNKNOWN && more->peak_bytes < HK_PEAK_UNKNOWN;
    to->peak_bytes = known ? to->peak_bytes + more->peak_bytes : HK_PEAK_UNKNOWN; // at most
    to->allocations += more->allocations;
    to->frees += more->frees;
}

static bool others_allocated(const hk_session_memory *m)
{
    return atomic_load_explicit(&m->allocations, memory_order_relaxed) |
           atomic_load_explicit(&m->frees, memory_order_relaxed) |
           (atomic_load_explicit(&m->grown_bytes, memory_order_relaxed) != 0);
}

// The first run's end, then at most every so often, by one of several threads.
static bool state_is_due(hk_session_memory *m)
{
    uint64_t told = atomic_load_explicit(&m->told_ms, memory_order_relaxed), now = GetTickCount64();
    return (!told || now - told >= STATE_EVERY_MS) &&
           atomic_compare_exchange_strong(&m->told_ms, &told, now);
}

void hk_alloc_run_ends(hk_thread *t, uint32_t epoch, hk_session *s, uint32_t run, bool sole,
                       const hk_run_memory *memory)
{
    hk_run_memory mine = *memory;
    if (__builtin_expect(others_allocated(&s->memory), 0)) {
        hk_run_memory others;
        take_others(&s->memory, &others);
        if (sole)
            add(&mine, &others);
        else
            emit_run_memory(t, epoch, s, 0, &others); // of several runs, whose is not known
    }
    if (!is_empty(&mine))
        emit_run_memory(t, epoch, s, run, &mine);
    if (state_is_due(&s->memory))
        hk_alloc_tell_state(t, epoch, s, run);
}
