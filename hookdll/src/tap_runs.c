// SPDX-License-Identifier: MIT
// Sessions and runs of programs that have ONNX Runtime inside and do not use its C API: Python's
// extension module, a program that linked it statically. Nothing but ORT's own events tells of
// them.
//
// EvaluationStart and EvaluationStop come on the thread that runs the session, from the same depth
// of the stack. Since 1.23 they say which session; before, a run belongs to the module's only
// session if we have seen all of its sessions come, else to one that stands for those not known. A
// run whose inputs are refused ends without a word: an error is told instead. Shapes are not known.
#include "phases.h"
#include "tap.h"

#define UNKNOWN_SESSION                                                                            \
    "This runtime does not tell which session runs: these runs may be those of several sessions."

enum { CALL_EVENTS = 3, STATUS_FAIL = 1, SAME_FRAME_BYTES = 1024 };
enum { ATTEMPTS = 16 }; // to get hold of a session while others make room

// ---------------------------------------------------------------------------------------- sessions

void hk_tap_session_begins(hk_thread *t, uint32_t epoch, uintptr_t stack)
{
    hk_creation_begins(t, epoch, stack);
    t->load = (hk_load_note){.optimising = t->tap.creation_start};
}

static char *copy_of(hk_tap_text text)
{
    char *copy = text.len && text.len < HK_TEXT_MAX ? hk_alloc(text.len + 1) : NULL;
    if (copy)
        memcpy(copy, text.bytes, text.len);
    return copy;
}

static void copy_cut(char *to, size_t capacity, hk_tap_text text)
{
    size_t len = text.len < capacity - 1 ? text.len : capacity - 1;
    if (len)
        memcpy(to, text.bytes, len);
    to[len] = 0;
}

// NULL only if there are more sessions than we track.
static hk_session *take_up_and_hold(hk_thread *t, uint32_t epoch, hk_module *m, uint32_t ort_id)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        hk_session *s = hk_session_take_up_hidden(t, epoch, m, ort_id, HK_SOURCE_EVENTS);
        if (!s || hk_session_hold(s, m, ort_id))
            return s;
    }
    return NULL;
}

void hk_tap_session_created(hk_thread *t, uint32_t epoch, hk_tap_provider *p, const hk_tap_event *e,
                            uint64_t now)
{
    hk_module *m = p->module;
    t->inside &= ~HK_INSIDE_TAP;
    if (!e->session)
        return;
    // A runtime that was unloaded and loaded again counts from the beginning.
    hk_session *stale = hk_session_find_hidden(m, e->session);
    if (stale)
        hk_session_hidden_ends(t, epoch, (hk_session_ref){stale, stale->id});
    hk_tap_note note = t->tap;
    t->tap = (hk_tap_note){0};
    hk_session *s = take_up_and_hold(t, epoch, m, e->session);
    if (!s)
        return;
    uint64_t begin = note.model_start ? note.model_start : note.creation_start;
    s->created_ticks = now;
    s->facts.load_ticks = begin ? now - begin : 0;
    s->model = copy_of(e->model);
    s->providers = copy_of(e->providers);
    copy_cut(s->graph, sizeof s->graph, e->graph);
    copy_cut(s->producer, sizeof s->producer, e->producer);
    hk_session_announce(t, epoch, s);
    hk_phases_emit(
        t, epoch, s->id,
        &(hk_session_origin){.source = HK_SOURCE_EVENTS, .begin = note.model_start, .end = now},
        false);
    hk_session_let_go(s);
}

static hk_session *only_session(hk_tap_provider *p)
{
    uint32_t changes = atomic_load_explicit(&g_hk_hidden_changes, memory_order_acquire);
    if (atomic_load_explicit(&p->sole_as_of, memory_order_acquire) != changes) {
        atomic_store(&p->sole, hk_session_sole_hidden(p->module));
        atomic_store(&p->sole_as_of, changes);
    }
    return atomic_load_explicit(&p->sole, memory_order_acquire);
}

static void announce(hk_thread *t, uint32_t epoch, hk_session *s)
{
    static const hk_tap_text unknown = {UNKNOWN_SESSION, sizeof UNKNOWN_SESSION - 1};
    if (!s->ort_id) {
        copy_cut(s->message, sizeof s->message, unknown);
        hk_emit_log(t, epoch, TL_LEVEL_WARNING, s->id, 0, 0, (hk_text){unknown.bytes, unknown.len});
    }
    hk_session_announce(t, epoch, s);
}

static hk_session *find_or_take_up(hk_thread *t, uint32_t epoch, hk_tap_provider *p,
                                   uint32_t ort_session)
{
    hk_module *m = p->module;
    hk_session *s = ort_session       ? hk_session_find_hidden(m, ort_session)
                    : p->came_with_us ? only_session(p)
                                      : NULL;
    return s ? s
             : hk_session_take_up_hidden(t, epoch, m, ort_session,
                                         ort_session || !p->came_with_us ? HK_SOURCE_BEFORE_ATTACH
                                                                         : HK_SOURCE_EVENTS);
}

// Held. NULL only if there are more sessions than we track.
static hk_session *session_that_runs(hk_thread *t, uint32_t epoch, hk_tap_provider *p,
                                     uint32_t ort_session)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        hk_session *s = find_or_take_up(t, epoch, p, ort_session);
        if (!s)
            return NULL;
        if (!hk_session_hold(s, p->module, ort_session)) {
            // It may have been found by two threads at once, and the older answer have been noted.
            atomic_fetch_sub(&p->sole_as_of, 1);
            continue;
        }
        if (!atomic_load_explicit(&s->announced, memory_order_relaxed))
            announce(t, epoch, s);
        return s;
    }
    return NULL;
}

// -------------------------------------------------------------------------------------------- runs

static void tell_run(hk_thread *t, uint32_t epoch, const hk_tap_run *r, uint32_t status,
                     uint64_t end)
{
    tl_Run fixed = {.duration_ticks = end - r->begin,
                    .session = r->session_id,
                    .run = r->run,
                    .in_flight = r->in_flight,
                    .call = CALL_EVENTS,
                    .status = (uint8_t)status};
    hk_emit(t, epoch, TL_EVENT_Run, end, &fixed, sizeof fixed, NULL, 0);
}

// The innermost run is over. Its session's memory stays, whatever became of it.
static hk_tap_run *end_run(hk_thread *t, uint32_t epoch, uint32_t status, uint64_t now)
{
    if (!t->tap_depth || --t->tap_depth >= HK_TAP_DEPTH)
        return NULL;
    hk_tap_run *r = &t->tap_runs[t->tap_depth];
    if (r->epoch != epoch)
        return NULL;
    uint32_t kernels = t->op_depth;
    if (kernels)
        hk_ops_unwind(t, epoch, r->stack, now);
    if (!status && (t->run.failed || t->op_depth < kernels))
        status = STATUS_FAIL;
    t->run = r->outer;
    if (r->session->id == r->session_id) {
        hk_session_run_ends(r->session, r->run);
        if (status)
            hk_session_note_failure(r->session, r->run, now);
    }
    tell_run(t, epoch, r, status, now);
    return r;
}

// Runs further up the stack that can't be there any more.
static void drop_gone(hk_thread *t, uint32_t epoch, uintptr_t stack, uint64_t now)
{
    while (t->tap_depth &&
           (t->tap_depth > HK_TAP_DEPTH || t->tap_runs[t->tap_depth - 1].epoch != epoch ||
            t->tap_runs[t->tap_depth - 1].stack <= stack))
        end_run(t, epoch, STATUS_FAIL, now);
}

void hk_tap_run_begins(hk_thread *t, uint32_t epoch, hk_tap_provider *p, uint32_t ort_session,
                       uintptr_t stack, uint64_t now)
{
    if (t->tap_depth)
        drop_gone(t, epoch, stack, now);
    t->inside &= ~HK_INSIDE_TAP;
    hk_session *s = session_that_runs(t, epoch, p, ort_session);
    if (!s) {
        atomic_fetch_add(&g_hk.section->dropped, 1);
        return;
    }
    if (t->tap_depth++ >= HK_TAP_DEPTH) {
        hk_session_let_go(s);
        return;
    }
    hk_tap_run *r = &t->tap_runs[t->tap_depth - 1];
    *r = (hk_tap_run){.session = s,
                      .session_id = s->id,
                      .stack = stack,
                      .begin = now,
                      .epoch = epoch,
                      .outer = t->run};
    r->run = atomic_fetch_add_explicit(&s->runs, 1, memory_order_relaxed) + 1;
    uint32_t in_flight = hk_session_run_begins(s, r->run);
    r->in_flight = in_flight > UINT16_MAX ? UINT16_MAX : (uint16_t)in_flight;
    t->run = (hk_run_note){.session = s,
                           .epoch = epoch,
                           .session_id = s->id,
                           .run = r->run,
                           .skips_ops = hk_run_skips_ops(r->run)};
    hk_session_let_go(s); // it runs
}

// Not if it is the end of a run that was told as failed already, or that began before we came. Runs
// inside of the one that ends can't be there any more.
void hk_tap_run_ends(hk_thread *t, uint32_t epoch, uintptr_t stack, uint64_t now)
{
    if (t->tap_depth > HK_TAP_DEPTH) {
        if (stack + SAME_FRAME_BYTES <= t->tap_runs[HK_TAP_DEPTH - 1].stack) {
            t->tap_depth--; // one that is not recorded
            return;
        }
        t->tap_depth = HK_TAP_DEPTH;
    }
    while (t->tap_depth && t->tap_runs[t->tap_depth - 1].stack + SAME_FRAME_BYTES < stack)
        end_run(t, epoch, STATUS_FAIL, now);
    if (t->tap_depth && stack + SAME_FRAME_BYTES > t->tap_runs[t->tap_depth - 1].stack)
        end_run(t, epoch, 0, now);
}

// An error inside of a kernel (a Loop, an If) is told again when that kernel has failed for it. Not
// if the kernel is the one that the run was begun in.
static bool is_inside_kernel(const hk_thread *t, uint32_t epoch, uintptr_t stack)
{
    const hk_op_frame *f = t->op_depth ? &t->ops[t->op_depth - 1] : NULL;
    bool inside = f && f->epoch == epoch && f->stack > stack;
    return inside && t->tap_depth && t->tap_depth <= HK_TAP_DEPTH &&
           f->stack < t->tap_runs[t->tap_depth - 1].stack;
}

void hk_tap_run_fails(hk_thread *t, uint32_t epoch, const hk_tap_event *e, uintptr_t stack,
                      uint64_t now)
{
    if (t->op_depth)
        hk_ops_unwind(t, epoch, stack, now);
    if (is_inside_kernel(t, epoch, stack))
        return;
    uint32_t code = e->code ? e->code : STATUS_FAIL;
    const hk_tap_run *r = end_run(t, epoch, code, now);
    if (r)
        hk_emit_log(t, epoch, TL_LEVEL_ERROR, r->session_id, r->run, code,
                    (hk_text){e->message.bytes, e->message.len});
}
