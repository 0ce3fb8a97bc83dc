// SPDX-License-Identifier: MIT
// One execution of a kernel: the hottest path of all. See hook.h for what must not happen here.
#include "etw.h"
#include "op.h"
#include "shapes.h"
#include "tracelogging/channel_inline.h"

enum { FLAG_LOADING = 1, FLAG_AMBIGUOUS = 2, FLAG_FAILED = 4 };

// ----------------------------------------------------------------------------------- which run

// Of a kernel that can't tell: perhaps the only session that runs, if there is one. A run from
// before we came could be under way beside it, so the run stays unknown and nothing is remembered.
static bool guess_session(hk_op_frame *f)
{
    bool may_record;
    const hk_session *s = hk_session_sole_in_flight(&may_record);
    f->session = s ? s->id : 0;
    return may_record;
}

// On a thread that is not inside a run hook: an inter-op thread, or the pool of RunAsync. False if
// the operator is not to be recorded: it belongs to a run that began before we came, or to one that
// is not sampled. Where its run is not known it is recorded while a sampled one is under way, which
// it may be missing in otherwise.
static __attribute__((noinline)) bool assign_elsewhere(const hk_thread *t, hk_kernel *k,
                                                       hk_op_frame *f)
{
    f->session = f->run = 0;
    f->run_inputs = HK_SET_UNTOLD;
    f->owner = NULL;
    if (t->inside & HK_INSIDE_LOADING) {
        f->flags = FLAG_LOADING;
        return true;
    }
    f->flags = FLAG_AMBIGUOUS;
    hk_session *s = atomic_load_explicit(&k->session, memory_order_acquire);
    // Its place may be another session's by now, and runs of one that is hidden another's.
    if (!s || s->id != atomic_load_explicit(&k->session_id, memory_order_relaxed) ||
        (!s->address && !atomic_load_explicit(&s->flying, memory_order_relaxed))) {
        bool certain;
        s = hk_kernel_find_owner(k, &certain);
        if (!s)
            return !certain && guess_session(f);
    }
    f->session = s->id;
    f->owner = s;
    f->run = hk_session_sole_run(s);
    if (!f->run)
        return hk_session_may_record(s);
    f->flags = 0;
    f->run_inputs = hk_session_inputs_of(s, f->run, HK_SET_UNTOLD);
    return !hk_run_skips_ops(f->run);
}

static inline bool assign_here(const hk_thread *t, hk_kernel *k, hk_op_frame *f)
{
    f->session = t->run.session_id;
    f->run = t->run.run;
    f->run_inputs = t->run.inputs;
    f->flags = 0;
    if (__builtin_expect(atomic_load_explicit(&k->session, memory_order_relaxed) != t->run.session,
                         0))
        hk_kernel_learn_owner(k, t->run.session);
    return true;
}

// No run, or a mark of loading, which may be one that nobody took away.
static __attribute__((noinline)) bool assign_unusual(hk_thread *t, uint32_t epoch, hk_kernel *k,
                                                     hk_op_frame *f)
{
    return hk_is_loading(t, epoch) || t->run.epoch != epoch ? assign_elsewhere(t, k, f)
                                                            : assign_here(t, k, f);
}

static inline bool assign(hk_thread *t, uint32_t epoch, hk_kernel *k, hk_op_frame *f)
{
    if (__builtin_expect(t->run.epoch != epoch || (t->inside & HK_INSIDE_LOADING), 0))
        return assign_unusual(t, epoch, k, f);
    return assign_here(t, k, f);
}

// ---------------------------------------------------------------------------------- first sight

static void tell_kernel(hk_thread *t, uint32_t epoch, hk_kernel *k, const void *context,
                        hk_op_frame *f, uint32_t set)
{
    uint32_t unannounced = 0;
    if (!atomic_load(&k->announced) &&
        atomic_compare_exchange_strong(&k->announced, &unannounced, 1) &&
        !hk_kernel_announce(t, epoch, k, atomic_load(&k->session))) {
        atomic_store(&k->announced, 0); // dropped: once more with the next execution
    } else if (f->flags & FLAG_LOADING) {
        atomic_store(&k->set, 0);
    } else if (!k->vtable->module->runtime) {
        hk_kernel_note_set(k, set);
    } else {
        f->run_inputs = set;
        f->tells_shapes = true;
        f->lost_shapes = !hk_op_shapes_before(t, epoch, k, context, f);
    }
}

// Inputs other than last time. What takes little comes first: they may be others every time.
static __attribute__((noinline)) void first_sight(hk_thread *t, uint32_t epoch, hk_kernel *k,
                                                  const void *context, hk_op_frame *f, uint32_t set)
{
    if (atomic_load_explicit(&k->announced, memory_order_relaxed)) {
        if (hk_kernel_is_described(k, set)) {
            hk_kernel_note_set(k, set);
            return;
        }
        if (hk_kernel_waits(k))
            return;
    }
    if (RtlDllShutdownInProgress())
        return;
    DWORD error = GetLastError();
    tell_kernel(t, epoch, k, context, f, set);
    SetLastError(error);
}

// ------------------------------------------------------------------------------- begin and end

#define SURPRISES 64u // so often one that came unexpected is expected next time

// A session's kernels come in the same order in every run, mostly: each tells which came after it,
// so that this one can be fetched while ORT is between the two. Where the order is another each
// time (pools) nobody learns much, since threads would take the line from each other.
static __attribute__((noinline)) hk_kernel *find_unexpected(hk_op_frame *f, const hk_vtable *v,
                                                            const void *self, uint32_t epoch)
{
    hk_kernel *k = hk_kernel_find(self, epoch);
    if (!k || k->vtable != v)
        k = RtlDllShutdownInProgress() ? NULL : hk_kernel_take_up(self, v, epoch);
    if (k && f->last && (!f->expected || ++f->surprises % SURPRISES == 0))
        atomic_store_explicit(&f->last->after, k, memory_order_relaxed);
    return k;
}

// Entries are never given back to the heap, so that one which was another's meanwhile can be asked.
static inline hk_kernel *find(hk_op_frame *f, const hk_vtable *v, const void *self, uint32_t epoch)
{
    hk_kernel *k = f->expected;
    if (__builtin_expect(!k, 0) ||
        __builtin_expect(atomic_load_explicit(&k->self, memory_order_acquire) != (uintptr_t)self,
                         0) ||
        __builtin_expect(k->epoch != epoch, 0) || __builtin_expect(k->vtable != v, 0)) {
        k = find_unexpected(f, v, self, epoch);
        if (!k)
            return NULL;
    }
    f->last = k;
    f->expected = atomic_load_explicit(&k->after, memory_order_relaxed);
    return k;
}

// NULL: record nothing.
static inline hk_op_frame *op_begin(hk_thread *t, uint32_t epoch, const hk_vtable *v, void *self,
                                    const void *context, uintptr_t stack)
{
    uint64_t entered = __builtin_expect(t->run.measures, 0) ? hk_ticks() : 0;
    if (__builtin_expect(t->op_depth != 0, 0) && t->ops[t->op_depth - 1].stack <= stack)
        hk_ops_unwind(t, epoch, stack + 1, 0);
    if (__builtin_expect(t->run.skips_ops | (t->op_depth == HK_OP_DEPTH_MAX), 0))
        return NULL;
    hk_op_frame *f = &t->ops[t->op_depth];
    hk_kernel *k = find(f, v, self, epoch);
    if (__builtin_expect(!k, 0) || __builtin_expect(!assign(t, epoch, k, f), 0))
        return NULL;
    f->stack = stack;
    f->entered = entered;
    f->epoch = epoch;
    f->kernel = k->id;
    f->tells_shapes = false;
    uint32_t told = atomic_load_explicit(&k->set, memory_order_relaxed);
    uint32_t set = f->run_inputs;
    if (__builtin_expect(set == HK_SET_UNTOLD, 0))
        set = told == HK_SET_UNTOLD ? 0 : told;
    if (__builtin_expect(told != set, 0) &&
        atomic_load_explicit(&k->set_before, memory_order_relaxed) != set)
        first_sight(t, epoch, k, context, f, set);
    t->op_depth++;
    return f;
}

static __attribute__((noinline)) void tell_etw(hk_thread *t, const hk_op_frame *f, uint64_t end)
{
    const tl_Op fixed = {.duration_ticks = end - f->begin,
                         .kernel = f->kernel,
                         .session = f->session,
                         .run = f->run,
                         .depth = (uint8_t)t->op_depth,
                         .flags = f->flags};
    hk_etw_gather(t, TL_EVENT_Op, hk_etw_key(f->session, f->run), end, &fixed, sizeof fixed);
}

static inline void emit_op(hk_thread *t, uint32_t epoch, const hk_op_frame *f, uint64_t end)
{
    if (hk_etw_wants(TL_EVENT_Op))
        tell_etw(t, f, end);
    tl_producer *p = hk_producer(t, epoch);
    tl_Op *payload = tl_producer_begin_inline(p, sizeof *payload);
    if (__builtin_expect(payload == NULL, 0))
        return;
    payload->duration_ticks = end - f->begin;
    payload->kernel = f->kernel;
    payload->session = f->session;
    payload->run = f->run;
    payload->depth = (uint8_t)t->op_depth;
    payload->flags = f->flags;
    tl_producer_end_inline(p, TL_EVENT_Op, end, sizeof *payload);
    __builtin_prefetch((const uint8_t *)payload + HK_CACHE_LINE, 1); // where the next one will be
}

// When a kernel ended that threw, nobody knows. Its run has failed for it, which may be long ago.
// The session may be gone, since it ends its threads; its place keeps what it was until it is used.
static uint64_t latest_end(const hk_op_frame *f)
{
    const hk_session *s = f->owner;
    uint64_t end =
        s && s->facts.session == f->session ? hk_session_failed_at(s, f->run, f->begin) : 0;
    return end ? end : hk_ticks();
}

void hk_ops_unwind(hk_thread *t, uint32_t epoch, uintptr_t stack, uint64_t end)
{
    while (t->op_depth && t->ops[t->op_depth - 1].stack < stack) {
        hk_op_frame *f = &t->ops[--t->op_depth];
        f->flags |= FLAG_FAILED;
        if (t->alloc_mark < f->stack)
            t->alloc_mark = 0; // it was inside
        if (f->epoch == epoch)
            emit_op(t, epoch, f, end ? end : latest_end(f));
    }
}

static __attribute__((noinline)) void tell_shapes(hk_thread *t, uint32_t epoch, const void *self,
                                                  const void *context, const hk_op_frame *f)
{
    DWORD error = GetLastError();
    hk_kernel *k = hk_kernel_find(self, epoch);
    bool told = k && !(f->flags & FLAG_FAILED) && hk_op_shapes_after(t, epoch, k, context, f) &&
                !f->lost_shapes;
    if (told)
        hk_kernel_described(k, f->run_inputs);
    else if (k)
        hk_kernel_undescribed(k);
    SetLastError(error);
}

// The first word of a Status is NULL when all is well.
static inline bool has_failed(const void *status)
{
    return *(const uintptr_t *)status != 0;
}

// Perhaps for one inside of it that threw.
static __attribute__((noinline)) void note_failure(hk_thread *t, uint32_t epoch, hk_op_frame *f,
                                                   uint64_t end)
{
    hk_ops_unwind(t, epoch, f->stack, end);
    f->flags |= FLAG_FAILED;
    t->run.failed = true;
}

void *hk_op_compute(void *self, void *status, void *context, const hk_vtable *v)
{
    uint32_t epoch;
    hk_thread *t = hk_enter(&epoch);
    if (__builtin_expect(!t, 0))
        return v->compute(self, status, context);
    hk_op_frame *f = op_begin(t, epoch, v, self, context, (uintptr_t)__builtin_frame_address(0));
    hk_leave(t);
    if (__builtin_expect(!f, 0))
        return v->compute(self, status, context);
    f->begin = hk_ticks();
    void *result = v->compute(self, status, context);
    uint64_t end = hk_ticks();
    if (__builtin_expect(!hk_reenter(t, epoch), 0)) {
        t->op_depth = (uint32_t)(f - t->ops);
        return result;
    }
    if (__builtin_expect(has_failed(status), 0))
        note_failure(t, epoch, f, end);
    t->op_depth = (uint32_t)(f - t->ops);
    emit_op(t, epoch, f, end);
    if (__builtin_expect(f->tells_shapes, 0))
        tell_shapes(t, epoch, self, context, f);
    __builtin_prefetch(f->expected);
    if (__builtin_expect(f->entered != 0, 0))
        t->op_ticks += f->begin - f->entered + (hk_ticks() - end);
    hk_leave(t);
    return result;
}

void *hk_op_destroy(void *self, unsigned flags, const hk_vtable *v)
{
    uint32_t epoch;
    hk_thread *t = hk_enter_to_release(&epoch);
    if (t) {
        hk_session_ref owner;
        tl_KernelEnd end = {.kernel = hk_kernel_retire(self, epoch, &owner)};
        if (end.kernel)
            hk_emit(t, epoch, TL_EVENT_KernelEnd, hk_ticks(), &end, sizeof end, NULL, 0);
        hk_session_hidden_ends(t, epoch, owner);
        hk_leave_release(t);
    }
    return v->destroy(self, flags);
}

void hk_ops_clear(void)
{
    hk_kernels_clear();
    hk_kernel_shapes_clear();
}
