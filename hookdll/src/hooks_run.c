// SPDX-License-Identifier: MIT
// Run, RunWithBinding, RunAsync: the hot path. See hook.h for what must not happen here.
#include "etw.h"
#include "shapes.h"
#include "shim.h"
#include "tracelogging/channel_inline.h"

enum { CALL_RUN = 0, CALL_BINDING = 1, CALL_ASYNC = 2 };

typedef struct run_frame {
    hk_thread *t;
    hk_session *s;
    uint64_t entered; // for measuring ourselves now and then, else 0
    uint64_t begin;
    uint32_t epoch;
    uint32_t run;
    uint32_t inputs;
    uint16_t in_flight;
    uint8_t call;
    uint32_t inside;                // HK_INSIDE_CREATE of the call around us
    struct hk_run_options *options; // the program's, counted by the shim
    hk_run_note outer;              // the run around us
    hk_run_memory memory;
} run_frame;

// Which runs also measure what we cost: 16th, 32nd, 64th, ... and every 1024th.
static inline bool measures_itself(uint32_t run)
{
    return run >= 16 && ((run & (run - 1)) == 0 || (run & 1023) == 0);
}

// False: call ORT and record nothing. Otherwise the caller may read shapes, then calls run_go().
static inline bool run_enter(run_frame *f, hk_module *m, OrtSession *session, uint8_t call)
{
    f->t = hk_enter(&f->epoch);
    if (!f->t)
        return false;
    f->s = hk_session_of(f->t, f->epoch, m, session);
    if (__builtin_expect(!f->s, 0)) {
        atomic_fetch_add(&g_hk.section->dropped, 1);
        hk_leave(f->t);
        return false;
    }
    f->call = call;
    f->run = atomic_fetch_add_explicit(&f->s->runs, 1, memory_order_relaxed) + 1;
    f->entered = measures_itself(f->run) ? hk_ticks() : 0;
    uint32_t in_flight = hk_session_run_begins(f->s, f->run);
    f->in_flight = in_flight > UINT16_MAX ? UINT16_MAX : (uint16_t)in_flight;
    return true;
}

// What to give ORT as run options, and the end of their use.
static inline const OrtRunOptions *options_begin(run_frame *f, hk_module *m,
                                                 const OrtRunOptions *given)
{
    f->options = NULL;
    if (__builtin_expect(!(g_hk.flags & ORT_HOOK_OPS_SHIM), 1))
        return given;
    return hk_shim_run_begins(f->t, f->epoch, m, f->s, f->run, given, &f->options);
}

static inline void options_end(const run_frame *f, hk_module *m)
{
    if (__builtin_expect(f->options != NULL, 0))
        hk_shim_run_ends(m, f->options);
}

static inline void run_go(run_frame *f)
{
    hk_session_run_given(f->s, f->run, f->inputs);
    hk_leave(f->t);
    f->begin = hk_ticks();
}

// The run of this thread from here on: operators on it belong to it.
static inline void run_note(run_frame *f)
{
    hk_thread *t = f->t;
    f->outer = t->run;
    t->alloc_mark = 0;
    f->inside = t->inside & HK_INSIDE_CREATE;
    t->inside &= ~HK_INSIDE_LOADING;
    t->op_ticks = 0;
    t->run = (hk_run_note){.session = f->s,
                           .epoch = f->epoch,
                           .session_id = f->s->id,
                           .run = f->run,
                           .inputs = f->inputs,
                           .skips_ops = hk_run_skips_ops(f->run),
                           .measures = f->entered != 0};
}

// After ORT has returned, armed or not.
static inline void run_unnote(run_frame *f)
{
    f->memory = f->t->run.memory;
    f->t->run = f->outer;
    f->t->inside |= f->inside;
    f->t->alloc_mark = 0;
}

// Kernels of this run that left by an exception.
static inline void run_unwind(run_frame *f, uint64_t end)
{
    if (__builtin_expect(f->t->op_depth != 0, 0))
        hk_ops_unwind(f->t, f->epoch, (uintptr_t)f, end);
}

static void tell_failure(const run_frame *f, hk_thread *t, const hk_module *m,
                         const OrtStatus *status, uint64_t end)
{
    hk_session_note_failure(f->s, f->run, end);
    hk_emit_log(t, f->epoch, TL_LEVEL_ERROR, f->s->id, f->run, hk_status_code(m, status),
                hk_status_message(m, status));
}

static void emit_overhead(const run_frame *f, hk_thread *t, uint64_t end)
{
    uint64_t now = hk_ticks();
    tl_Overhead fixed = {.ticks_per_run = (f->begin - f->entered) + (now - end) + t->op_ticks};
    hk_emit(t, f->epoch, TL_EVENT_Overhead, now, &fixed, sizeof fixed, NULL, 0);
}

static __attribute__((noinline)) void tell_etw(const run_frame *f, hk_thread *t, uint8_t status,
                                               uint64_t end, uint32_t outputs)
{
    const tl_Run fixed = {.duration_ticks = end - f->begin,
                          .session = f->s->id,
                          .run = f->run,
                          .inputs = f->inputs,
                          .outputs = outputs,
                          .in_flight = f->in_flight,
                          .call = f->call,
                          .status = status};
    hk_etw_run(t, end, &fixed);
}

// `t` is the thread that the run ended on.
static inline void run_end(run_frame *f, hk_thread *t, const hk_module *m, const OrtStatus *status,
                           uint64_t end, uint32_t outputs)
{
    bool sole =
        f->in_flight == 1 && atomic_load_explicit(&f->s->runs, memory_order_relaxed) == f->run;
    hk_session_run_ends(f->s, f->run);
    if (hk_etw_is_on())
        tell_etw(f, t, (uint8_t)hk_status_code(m, status), end, outputs);
    tl_producer *p = hk_producer(t, f->epoch);
    tl_Run *payload = tl_producer_begin_inline(p, sizeof *payload);
    if (__builtin_expect(payload != NULL, 1)) {
        payload->duration_ticks = end - f->begin;
        payload->session = f->s->id;
        payload->run = f->run;
        payload->inputs = f->inputs;
        payload->outputs = outputs;
        payload->in_flight = f->in_flight;
        payload->call = f->call;
        payload->status = (uint8_t)hk_status_code(m, status);
        tl_producer_end_inline(p, TL_EVENT_Run, end, sizeof *payload);
    }
    if (g_hk.flags & ORT_HOOK_ALLOC_STATS)
        hk_alloc_run_ends(t, f->epoch, f->s, f->run, sole, &f->memory);
    if (__builtin_expect(status != NULL, 0))
        tell_failure(f, t, m, status, end);
    if (__builtin_expect(f->entered != 0, 0))
        emit_overhead(f, t, end);
    hk_leave(t);
}

HK_HOOK(Run, OrtStatus *,
        (OrtSession * session, const OrtRunOptions *run_options, const char *const *input_names,
         const OrtValue *const *inputs, size_t input_len, const char *const *output_names,
         size_t output_names_len, OrtValue **outputs),
        (session, run_options, input_names, inputs, input_len, output_names, output_names_len,
         outputs))
{
    run_frame f;
    if (!run_enter(&f, m, session, CALL_RUN))
        return HK_ORIG(m, Run)(session, run_options, input_names, inputs, input_len, output_names,
                               output_names_len, outputs);
    f.inputs = hk_shapes_of(f.t, f.epoch, m, f.s, HK_INPUTS, input_names, inputs, input_len);
    run_note(&f);
    run_options = options_begin(&f, m, run_options);
    run_go(&f);
    OrtStatus *status = HK_ORIG(m, Run)(session, run_options, input_names, inputs, input_len,
                                        output_names, output_names_len, outputs);
    uint64_t end = hk_ticks();
    run_unnote(&f);
    options_end(&f, m);
    if (hk_reenter(f.t, f.epoch)) {
        run_unwind(&f, end);
        uint32_t set = status ? 0
                              : hk_shapes_of(f.t, f.epoch, m, f.s, HK_OUTPUTS, output_names,
                                             (const OrtValue *const *)outputs, output_names_len);
        run_end(&f, f.t, m, status, end, set);
    }
    return status;
}

HK_HOOK(RunWithBinding, OrtStatus *,
        (OrtSession * session, const OrtRunOptions *run_options, const OrtIoBinding *binding),
        (session, run_options, binding))
{
    run_frame f;
    if (!run_enter(&f, m, session, CALL_BINDING))
        return HK_ORIG(m, RunWithBinding)(session, run_options, binding);
    f.inputs = hk_binding_inputs(f.t, f.epoch, f.s, binding);
    run_note(&f);
    run_options = options_begin(&f, m, run_options);
    run_go(&f);
    OrtStatus *status = HK_ORIG(m, RunWithBinding)(session, run_options, binding);
    uint64_t end = hk_ticks();
    run_unnote(&f);
    options_end(&f, m);
    if (hk_reenter(f.t, f.epoch)) {
        run_unwind(&f, end);
        uint32_t set = status ? 0 : hk_binding_outputs(f.t, f.epoch, m, f.s, binding);
        run_end(&f, f.t, m, status, end, set);
    }
    return status;
}

// ---------------------------------------------------------------------------------------- RunAsync

typedef struct async_run {
    run_frame frame;
    hk_module *module;
    const char *const *output_names;
    OrtRunAsyncCallback *callback;
    void *user_data;
} async_run;

// Runs on a thread of the session's pool. The program may do anything with the outputs and the
// status once its own callback has them, so we are done with both before.
static void async_done(void *user_data, OrtValue **outputs, size_t num_outputs, OrtStatus *status)
{
    uint64_t end = hk_ticks();
    async_run run = *(async_run *)user_data;
    hk_free(user_data);
    options_end(&run.frame, run.module);
    uint32_t epoch;
    hk_thread *t = hk_enter(&epoch);
    if (t && epoch == run.frame.epoch) {
        // ORT caught above our frames what a kernel of this run threw.
        if (__builtin_expect(t->op_depth != 0, 0))
            hk_ops_unwind(t, epoch, (uintptr_t)__builtin_frame_address(0), end);
        t->alloc_mark = 0;
        uint32_t set =
            status ? 0
                   : hk_shapes_of(t, epoch, run.module, run.frame.s, HK_OUTPUTS, run.output_names,
                                  (const OrtValue *const *)outputs, num_outputs);
        run_end(&run.frame, t, run.module, status, end, set);
    } else if (t) {
        hk_leave(t);
    }
    run.callback(run.user_data, outputs, num_outputs, status);
}

HK_HOOK(RunAsync, OrtStatus *,
        (OrtSession * session, const OrtRunOptions *run_options, const char *const *input_names,
         const OrtValue *const *inputs, size_t input_len, const char *const *output_names,
         size_t output_names_len, OrtValue **outputs, OrtRunAsyncCallback *callback,
         void *user_data),
        (session, run_options, input_names, inputs, input_len, output_names, output_names_len,
         outputs, callback, user_data))
{
    run_frame f;
    async_run *run = callback && !RtlDllShutdownInProgress() ? hk_alloc(sizeof *run) : NULL;
    if (!run || !run_enter(&f, m, session, CALL_ASYNC)) {
        hk_free(run);
        return HK_ORIG(m, RunAsync)(session, run_options, input_names, inputs, input_len,
                                    output_names, output_names_len, outputs, callback, user_data);
    }
    f.memory = (hk_run_memory){0};
    f.entered = 0; // begin and end lie on different threads: no measure of ours
    f.inputs = hk_shapes_of(f.t, f.epoch, m, f.s, HK_INPUTS, input_names, inputs, input_len);
    run_options = options_begin(&f, m, run_options);
    run_go(&f);
    *run = (async_run){f, m, output_names, callback, user_data};
    OrtStatus *status =
        HK_ORIG(m, RunAsync)(session, run_options, input_names, inputs, input_len, output_names,
                             output_names_len, outputs, async_done, run);
    // A call that fails here never calls back.
    if (status) {
        uint64_t end = hk_ticks();
        hk_free(run);
        options_end(&f, m);
        if (hk_reenter(f.t, f.epoch))
            run_end(&f, f.t, m, status, end, 0);
    }
    return status;
}
