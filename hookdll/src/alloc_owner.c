// SPDX-License-Identifier: MIT
// See alloc_owner.h: what is not on every allocation's way.
#include "alloc_owner.h"

// The session of an arena, NULL: not known. One that several sessions use, or that no run's own
// thread has used yet, is the session's of the kernel that allocates; without operators nobody
// knows. It is not guessed: a run from before we came may be the one that allocates.
static hk_session *session_of(const hk_thread *t, uint32_t epoch, const hk_arena *a, bool shared)
{
    hk_session *s = atomic_load_explicit(&a->session, memory_order_acquire);
    if (s && !shared && s->id == atomic_load_explicit(&a->session_id, memory_order_relaxed))
        return s;
    const hk_op_frame *f = t->op_depth ? &t->ops[t->op_depth - 1] : NULL;
    bool inside = f && f->epoch == epoch && f->stack > (uintptr_t)__builtin_frame_address(0);
    return inside ? f->owner : NULL;
}

// On a thread that is not inside a run hook: a pool's, or one that loads, or the program's own.
// There a release belongs to a run only if that run allocated the memory (`tag`): the program may
// release something at any time.
void hk_alloc_find_owner_elsewhere(hk_thread *t, uint32_t epoch, hk_arena *a, bool allocates,
                                   uint32_t tag, hk_alloc_owner *o)
{
    *o = (hk_alloc_owner){0};
    if (hk_is_loading(t, epoch)) {
        o->flags = HK_ALLOC_LOADING;
        return;
    }
    if (t->run.epoch == epoch)
        hk_alloc_owner_here(t, o);
    if (t->run.epoch == epoch || !a)
        return;
    bool shared = atomic_load_explicit(&a->is_shared, memory_order_relaxed);
    hk_session *s = session_of(t, epoch, a, shared);
    if (s)
        o->session = s->id;
    else if (!shared)
        o->session = atomic_load_explicit(&a->session_id, memory_order_relaxed);
    if (!s || !atomic_load_explicit(&s->flying, memory_order_relaxed))
        return;
    uint32_t run = hk_session_sole_run(s);
    o->tag = run ? hk_alloc_tag(o->session, run) : 0;
    if (!allocates && (!run || tag != o->tag))
        return;
    o->run = run;
    o->flags = run ? 0 : HK_ALLOC_AMBIGUOUS;
    o->other = s;
}

void hk_alloc_count_other(hk_session_memory *m, uint64_t bytes)
{
    atomic_fetch_add_explicit(&m->allocations, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->allocated_bytes, bytes, memory_order_relaxed);
    uint64_t own = atomic_fetch_add_explicit(&m->own_bytes, bytes, memory_order_relaxed) + bytes;
    uint64_t peak = atomic_load_explicit(&m->peak_bytes, memory_order_relaxed);
    while (own > peak && (int64_t)own > 0 &&
           !atomic_compare_exchange_weak_explicit(&m->peak_bytes, &peak, own, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
}

void hk_alloc_count_unnoted(const hk_alloc_owner *o, uint64_t bytes)
{
    if (o->mine) {
        o->mine->allocations++;
        o->mine->allocated_bytes += bytes;
        o->mine->peak_bytes = HK_PEAK_UNKNOWN;
    } else if (o->other) {
        hk_session_memory *m = &o->other->memory;
        atomic_fetch_add_explicit(&m->allocations, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&m->allocated_bytes, bytes, memory_order_relaxed);
        atomic_store_explicit(&m->peak_bytes, HK_PEAK_UNKNOWN, memory_order_relaxed);
    }
}
