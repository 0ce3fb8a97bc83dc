// SPDX-License-Identifier: MIT
// The events of one run. ORT makes a profiler for each run that has profiling on and calls it at
// the begin and the end of every event, on the thread that the event happens on.
//
// What an event is comes only with its end, but how deep it lies is wanted for the kernels inside
// it, which end before. It follows from the order: on the run's own thread the first event is the
// run, the next the execution of the graph, then kernels; a kernel that has events inside (If,
// Loop, Scan) executes a graph again. On other threads the first is a kernel.
#include "shim.h"

enum { ROLE_RUN, ROLE_GRAPH, ROLE_KERNEL };
enum { FLAG_AMBIGUOUS = 2 };

typedef struct profiler {
    OrtEpProfilerImpl impl;
    hk_shim_run run;
    uint32_t serial; // addresses are reused at once, numbers are not
    uint32_t thread; // of the run
    uint8_t flags;   // of its operators
} profiler;

// ------------------------------------------------------------------------------------ begin and
// end

static hk_shim_frame *top_of(hk_thread *t, uint32_t epoch)
{
    while (t->shim_depth && t->shim[t->shim_depth - 1].epoch != epoch)
        t->shim_depth--; // from before we left
    return t->shim_depth ? &t->shim[t->shim_depth - 1] : NULL;
}

static uint8_t role_of(const profiler *p, const hk_shim_frame *parent)
{
    if (!parent || parent->serial != p->serial)
        return GetCurrentThreadId() == p->thread ? ROLE_RUN : ROLE_KERNEL;
    return parent->role == ROLE_GRAPH ? ROLE_KERNEL : ROLE_GRAPH;
}

static OrtStatus *start_event(OrtEpProfilerImpl *impl, uint64_t id)
{
    const profiler *p = (const profiler *)impl;
    uint32_t epoch;
    hk_thread *t = hk_enter(&epoch);
    if (!t)
        return NULL;
    const hk_shim_frame *parent = top_of(t, epoch);
    if (epoch == p->run.epoch && t->shim_depth < HK_SHIM_DEPTH_MAX)
        t->shim[t->shim_depth++] = (hk_shim_frame){
            .id = id,
            .epoch = epoch,
            .serial = p->serial,
            .role = role_of(p, parent),
            .depth = parent ? (uint8_t)(parent->depth + (parent->role == ROLE_KERNEL)) : (uint8_t)0,
            .begin = hk_ticks()};
    hk_leave(t);
    return NULL;
}

// Takes the event's frame off, with any above it that never ended; NULL if it has none.
static const hk_shim_frame *pop(hk_thread *t, const profiler *p, uint64_t id)
{
    for (uint32_t i = t->shim_depth; i-- > 0;) {
        const hk_shim_frame *f = &t->shim[i];
        if (f->serial != p->serial || f->id != id)
            continue;
        t->shim_depth = i;
        return f;
    }
    return NULL;
}

static bool is_kernel(const profiler *p, const OrtProfilingEvent *event)
{
    int category = 0;
    OrtStatus *status = EP_CALL(p->run.module, ProfilingEvent_GetCategory)(event, &category);
    if (status)
        ORT_CALL(p->run.module, ReleaseStatus)(status);
    return !status && category == ORT_EVENT_NODE;
}

static void emit_op(hk_thread *t, const profiler *p, const hk_shim_frame *f, uint32_t kernel,
                    uint64_t end)
{
    tl_Op fixed = {.duration_ticks = end - f->begin,
                   .kernel = kernel,
                   .session = p->run.session->id,
                   .run = p->run.run,
                   .depth = f->depth,
                   .flags = p->flags};
    hk_emit(t, p->run.epoch, TL_EVENT_Op, end, &fixed, sizeof fixed, NULL, 0);
}

static OrtStatus *stop_event(OrtEpProfilerImpl *impl, uint64_t id, const OrtProfilingEvent *event)
{
    uint64_t end = hk_ticks();
    const profiler *p = (const profiler *)impl;
    uint32_t epoch;
    hk_thread *t = hk_enter_to_lock(&epoch);
    if (!t)
        return NULL;
    DWORD error = GetLastError();
    const hk_shim_frame *f = epoch == p->run.epoch ? pop(t, p, id) : NULL;
    uint32_t kernel = f && is_kernel(p, event) ? hk_shim_kernel(t, &p->run, event) : 0;
    if (kernel)
        emit_op(t, p, f, kernel, end);
    SetLastError(error);
    hk_leave(t);
    return NULL;
}

// ----------------------------------------------------------------------------------------- one run

// Which run this is; false if its operators are not to be recorded. RunAsync runs on a thread of
// ORT's: there it is the session's only one under way, or nobody knows.
static bool find_run(hk_thread *t, uint32_t epoch, const hk_shim_ep *ep, profiler *p)
{
    p->run.epoch = epoch;
    p->run.module = ep->module;
    if (!ep->module)
        return false; // the spare one
    if (t->run.epoch == epoch) {
        p->run.session = t->run.session;
        p->run.run = t->run.run;
        p->run.inputs = t->run.inputs;
        return !t->run.skips_ops;
    }
    OrtSession *session = atomic_load(&ep->session);
    p->run.session = session ? hk_session_find(session) : NULL;
    if (!p->run.session || !atomic_load(&p->run.session->flying))
        return false; // it began before we came
    p->run.run = hk_session_sole_run(p->run.session);
    p->flags = p->run.run ? 0 : FLAG_AMBIGUOUS;
    p->run.inputs = p->run.run ? hk_session_inputs_of(p->run.session, p->run.run, 0) : 0;
    return !p->run.run || !hk_run_skips_ops(p->run.run);
}

static void release(OrtEpProfilerImpl *impl)
{
    if (!RtlDllShutdownInProgress())
        hk_free(impl);
}

static OrtStatus *start_profiling(OrtEpProfilerImpl *impl, int64_t offset_ns)
{
    (void)impl;
    (void)offset_ns;
    return NULL;
}

static OrtStatus *end_profiling(OrtEpProfilerImpl *impl, OrtProfilingEventsContainer *events)
{
    (void)impl;
    (void)events; // for events of the provider's own
    return NULL;
}

OrtStatus *hk_shim_create_profiler(OrtEp *ep, OrtEpProfilerImpl **out)
{
    static _Atomic uint32_t serial;
    profiler found = {.impl = {.version = SHIM_VERSION,
                               .Release = release,
                               .StartProfiling = start_profiling,
                               .StartEvent = start_event,
                               .StopEvent = stop_event,
                               .EndProfiling = end_profiling},
                      .serial = atomic_fetch_add(&serial, 1),
                      .thread = GetCurrentThreadId()};
    uint32_t epoch;
    *out = NULL; // none: ORT does without
    hk_thread *t = (g_hk.flags & ORT_HOOK_OPS_SHIM) ? hk_enter_to_lock(&epoch) : NULL;
    if (!t)
        return NULL;
    DWORD error = GetLastError();
    profiler *p = find_run(t, epoch, (const hk_shim_ep *)ep, &found) ? hk_alloc(sizeof *p) : NULL;
    if (p) {
        *p = found;
        *out = &p->impl;
    }
    SetLastError(error);
    hk_leave(t);
    return NULL;
}
