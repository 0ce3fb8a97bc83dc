// SPDX-License-Identifier: MIT
// One allocation, one release. See hook.h for what must not happen here, and alloc.h.
#include "alloc.h"
#include "alloc_owner.h"
#include "etw.h"
#include "tracelogging/channel_inline.h"

#define UNOWNED_MAX 64u // allocations for which the telling of an arena waits for its session

hk_addresses g_hk_addresses;
static _Atomic uint32_t g_plain_unnoted; // an allocation without an arena found no room there

// -------------------------------------------------------------------------- inside of what we are

// The mark of a call: where its frame is, and in the lowest bit whether its allocator is an arena.
// A mark below our own frame was left by a call that threw. NULL: we are not armed.
static inline hk_thread *mark_begin(uintptr_t stack, bool is_arena, uintptr_t *outer)
{
    if (!(atomic_load_explicit(&g_hk.epoch, memory_order_acquire) & 1))
        return NULL;
    hk_thread *t = hk_thread_get();
    if (__builtin_expect((uintptr_t)t <= HK_THREAD_ENDED, 0) && (t || !(t = hk_thread_slow())))
        return NULL;
    *outer = t->alloc_mark > stack + 1 ? t->alloc_mark : 0;
    if (!*outer)
        t->alloc_grown = 0; // of a call that threw
    t->alloc_mark = stack | is_arena;
    return t;
}

static inline void mark_end(hk_thread *t, uintptr_t outer)
{
    if (t)
        t->alloc_mark = outer;
}

// ----------------------------------------------------------------------------------------- arenas

// The arena that was called; NULL if the allocator is none.
static inline hk_arena *arena_of(hk_thread *t, uint32_t epoch, const hk_alloc_class *c,
                                 const void *self)
{
    if (!c->is_arena)
        return NULL;
    hk_arena *a = hk_arena_find(self);
    if (__builtin_expect(!a || a->alloc_class != c, 0))
        a = hk_arena_take_up(self, c, hk_is_loading(t, epoch));
    return a;
}

// ----------------------------------------------------------------------------------------- telling

// The kernel under way on this thread.
static inline uint32_t kernel_of(const hk_thread *t, uint32_t epoch, uintptr_t stack)
{
    if (!t->op_depth)
        return 0;
    const hk_op_frame *f = &t->ops[t->op_depth - 1];
    return f->epoch == epoch && f->stack > stack ? f->kernel : 0;
}

void hk_alloc_emit(hk_thread *t, uint32_t epoch, const hk_alloc_owner *o, const void *memory,
                   uint64_t bytes, uint32_t allocator, uint8_t action, uintptr_t stack)
{
    const tl_Alloc fixed = {.address = (uint64_t)(uintptr_t)memory,
                            .bytes = bytes,
                            .allocator = allocator,
                            .kernel = kernel_of(t, epoch, stack),
                            .session = o->session,
                            .run = o->run,
                            .action = action,
                            .flags = (uint8_t)(o->flags | (memory ? 0 : HK_ALLOC_FAILED))};
    uint64_t now = hk_ticks();
    if (hk_etw_wants(TL_EVENT_Alloc))
        hk_etw_gather(t, TL_EVENT_Alloc, hk_etw_key(o->session, o->run), now, &fixed, sizeof fixed);
    tl_producer *p = hk_producer(t, epoch);
    tl_Alloc *payload = tl_producer_begin_inline(p, sizeof *payload);
    if (__builtin_expect(payload == NULL, 0))
        return;
    *payload = fixed;
    tl_producer_end_inline(p, TL_EVENT_Alloc, now, sizeof *payload);
}

static inline uint32_t number_of(hk_thread *t, uint32_t epoch, hk_alloc_class *c, const void *self,
                                 const hk_arena *a)
{
    return a ? a->id : c->is_arena ? 0 : hk_alloc_class_id(t, epoch, c, self);
}

// ------------------------------------------------------------------------------------- one call

static __attribute__((noinline)) void note_load(hk_thread *t, const hk_arena *a)
{
    hk_load_note *load = &t->load;
    uint64_t handle = hk_arena_handle(a);
    for (uint32_t i = 0; i < load->arena_count; i++)
        if (load->arenas[i] == handle)
            return;
    if (load->arena_count < HK_LOAD_ARENAS)
        load->arenas[load->arena_count++] = handle;
}

// Which session an arena belongs to, where that is news.
static inline void learn(hk_thread *t, uint32_t epoch, hk_arena *a, const hk_alloc_owner *o)
{
    if (o->mine) {
        if (__builtin_expect(atomic_load_explicit(&a->session, memory_order_relaxed) !=
                                     t->run.session ||
                                 !atomic_load_explicit(&a->announced, memory_order_relaxed),
                             0))
            hk_arena_claim(t, epoch, a, t->run.session);
    } else if (o->flags & HK_ALLOC_LOADING) {
        note_load(t, a); // told when its session is known
    } else if (o->other) {
        if (__builtin_expect(atomic_load_explicit(&a->session, memory_order_relaxed) != o->other ||
                                 !atomic_load_explicit(&a->announced, memory_order_relaxed),
                             0))
            hk_arena_claim(t, epoch, a, o->other);
    } else if (!atomic_load_explicit(&a->announced, memory_order_relaxed) &&
               atomic_fetch_add_explicit(&a->unowned, 1, memory_order_relaxed) >= UNOWNED_MAX) {
        hk_arena_announce(t, epoch, a);
    }
}

static __attribute__((noinline)) void count_unnoted(const hk_alloc_class *c, hk_arena *a,
                                                    const hk_alloc_owner *o, uint64_t bytes)
{
    if (a)
        atomic_store(&a->is_incomplete, 1);
    else if (!c->is_arena)
        atomic_store(&g_plain_unnoted, 1);
    hk_alloc_count_unnoted(o, bytes);
}

static inline void record_allocation(hk_thread *t, uint32_t epoch, hk_alloc_class *c,
                                     const void *self, const void *memory, uint64_t bytes,
                                     uint8_t action, uintptr_t stack)
{
    hk_alloc_owner o;
    hk_arena *a = arena_of(t, epoch, c, self);
    hk_alloc_find_owner(t, epoch, a, true, 0, &o);
    if (memory) {
        bool noted = hk_addresses_put(&g_hk_addresses, memory, hk_address_note(bytes, o.tag));
        if (a)
            atomic_fetch_add_explicit(&a->live_bytes, (int64_t)bytes, memory_order_relaxed);
        if (__builtin_expect(noted, 1))
            hk_alloc_count(&o, bytes);
        else
            count_unnoted(c, a, &o, bytes);
    }
    if (__builtin_expect(t->alloc_grown != 0, 0))
        hk_alloc_count_growth(&o, t->alloc_grown);
    if (a)
        learn(t, epoch, a, &o);
    if (hk_alloc_tells_all())
        hk_alloc_emit(t, epoch, &o, memory, bytes, number_of(t, epoch, c, self, a), action, stack);
}

static inline void after_allocation(hk_alloc_class *c, const void *self, const void *memory,
                                    uint64_t bytes, uint8_t action, uintptr_t outer,
                                    uintptr_t stack)
{
    uint32_t epoch;
    hk_thread *t = bytes ? hk_enter(&epoch) : NULL;
    if (__builtin_expect(!t, 0))
        return;
    uint64_t entered = t->run.measures ? hk_ticks() : 0;
    if (!outer)
        record_allocation(t, epoch, c, self, memory, bytes, action, stack);
    else if ((outer & 1) && memory)
        t->alloc_grown += bytes; // counted where the arena's own allocation is
    if (__builtin_expect(entered != 0, 0))
        t->op_ticks += hk_ticks() - entered;
    hk_leave(t);
}

void *hk_alloc_alloc(void *self, size_t bytes, hk_alloc_class *c)
{
    uintptr_t stack = (uintptr_t)__builtin_frame_address(0), outer = 0;
    hk_thread *t = mark_begin(stack, c->is_arena, &outer);
    void *memory = c->alloc(self, bytes);
    mark_end(t, outer);
    if (t)
        after_allocation(c, self, memory, bytes, HK_ALLOC_ALLOCATED, outer, stack);
    return memory;
}

void *hk_alloc_reserve(void *self, size_t bytes, hk_alloc_class *c)
{
    uintptr_t stack = (uintptr_t)__builtin_frame_address(0), outer = 0;
    hk_thread *t = mark_begin(stack, c->is_arena, &outer);
    void *memory = c->reserve(self, bytes);
    mark_end(t, outer);
    if (t)
        after_allocation(c, self, memory, bytes,
                         c->is_arena ? HK_ALLOC_RESERVED : HK_ALLOC_ALLOCATED, outer, stack);
    return memory;
}

void *hk_alloc_on_stream(void *self, size_t bytes, void *stream, hk_alloc_class *c)
{
    uintptr_t stack = (uintptr_t)__builtin_frame_address(0), outer = 0;
    hk_thread *t = mark_begin(stack, c->is_arena, &outer);
    void *memory = c->on_stream(self, bytes, stream);
    mark_end(t, outer);
    if (t)
        after_allocation(c, self, memory, bytes, HK_ALLOC_ALLOCATED, outer, stack);
    return memory;
}

static inline void record_release(hk_thread *t, uint32_t epoch, hk_alloc_class *c, const void *self,
                                  const void *memory, uintptr_t stack)
{
    hk_alloc_owner o;
    hk_arena *a = arena_of(t, epoch, c, self);
    uint64_t note = hk_addresses_take(&g_hk_addresses, memory), bytes = hk_address_bytes(note);
    if (__builtin_expect(!note, 0) && !c->is_arena && hk_arenas_any() &&
        !atomic_load_explicit(&g_plain_unnoted, memory_order_relaxed))
        return; // nobody was given it: an arena shrinks, by a function that does not lead to us
    hk_alloc_find_owner(t, epoch, a, false, hk_address_tag(note), &o);
    if (a)
        atomic_fetch_sub_explicit(&a->live_bytes, (int64_t)bytes, memory_order_relaxed);
    hk_alloc_count_release(&o, note);
    if (hk_alloc_tells_all())
        hk_alloc_emit(t, epoch, &o, memory, bytes, number_of(t, epoch, c, self, a),
                      HK_ALLOC_RELEASED, stack);
}

// On a thread that is ending.
static __attribute__((noinline)) void last_release(hk_alloc_class *c, const void *self,
                                                   const void *memory, uintptr_t stack)
{
    uint32_t epoch;
    hk_thread *t = hk_enter_to_release(&epoch);
    if (!t)
        return;
    record_release(t, epoch, c, self, memory, stack);
    hk_leave_release(t);
}

// Before the memory is given back: after that it may be another thread's.
static inline void before_release(hk_alloc_class *c, const void *self, const void *memory,
                                  uintptr_t stack)
{
    uint32_t epoch;
    hk_thread *t = hk_enter(&epoch);
    if (__builtin_expect(!t, 0))
        return;
    uint64_t entered = t->run.measures ? hk_ticks() : 0;
    record_release(t, epoch, c, self, memory, stack);
    if (__builtin_expect(entered != 0, 0))
        t->op_ticks += hk_ticks() - entered;
    hk_leave(t);
}

void hk_alloc_free(void *self, void *memory, hk_alloc_class *c)
{
    uintptr_t stack = (uintptr_t)__builtin_frame_address(0), outer = 0;
    hk_thread *t = mark_begin(stack, c->is_arena, &outer);
    if (t && memory && !outer)
        before_release(c, self, memory, stack);
    else if (!t && memory && c->is_arena)
        last_release(c, self, memory, stack);
    c->free(self, memory);
    mark_end(t, outer);
}

// Of an arena. What it gives back to the system inside is not the program's.
void *hk_alloc_destroy(void *self, unsigned flags, hk_alloc_class *c)
{
    uintptr_t outer = 0;
    uint32_t epoch;
    hk_thread *t = hk_enter_to_release(&epoch);
    if (t) {
        hk_arena_retire(t, epoch, self);
        hk_leave_release(t);
    }
    t = mark_begin((uintptr_t)__builtin_frame_address(0), true, &outer);
    void *result = c->destroy(self, flags);
    mark_end(t, outer);
    return result;
}

void hk_alloc_clear(void)
{
    hk_arenas_clear();
    hk_alloc_classes_clear();
    hk_addresses_clear(&g_hk_addresses);
    atomic_store(&g_plain_unnoted, 0);
}
