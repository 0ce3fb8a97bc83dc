// SPDX-License-Identifier: MIT
// Runs: each call kind, with NULL and own run options, with outputs that ORT makes, that are
// given, or that are bound, and each way in which a run can fail.
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <windows.h>

#define ASYNC_BURST 4

typedef enum run_kind {
    PLAIN,
    OWN_OPTIONS,
    PREALLOCATED,
    BOUND,
    BOUND_TO_DEVICE,
    ASYNC,
    FAULTY,
    FAULTY_ASYNC,
    TERMINATED,
    UNBOUND,
    RUN_KINDS
} run_kind;

// Logs a finished run and adds its outputs to the hash. `status` is consumed.
static void finish(drv_worker *worker, drv_session *session, drv_call call, const char *inputs,
                   OrtStatus *status, const char *const *out_names, OrtValue *const *outputs,
                   size_t out_count)
{
    char *message = NULL, *described = NULL;
    int code = drv_status(worker->runtime, status, &message);
    if (code == 0) {
        described = drv_describe(worker->runtime, out_names, outputs, out_count);
        drv_hash_values(worker, outputs, out_count);
    }
    drv_log_run(session->log, call, code, inputs, described, message);
    free(message);
    free(described);
}

static void plain_run(drv_worker *worker, drv_session *session, drv_feed *feed,
                      const OrtRunOptions *options)
{
    drv_runtime *runtime = worker->runtime;
    char *inputs = drv_describe(runtime, feed->in_names, feed->in, feed->in_count);
    OrtStatus *status =
        runtime->ort.Run(session->ort, options, feed->in_names, (const OrtValue *const *)feed->in,
                         feed->in_count, feed->out_names, feed->out_count, feed->out);
    finish(worker, session, DRV_RUN, inputs, status, feed->out_names, feed->out, feed->out_count);
    free(inputs);
}

static void run_with_options(drv_worker *worker, drv_session *session, drv_feed *feed,
                             bool terminate)
{
    drv_runtime *runtime = worker->runtime;
    OrtRunOptions *options = NULL;
    drv_must(runtime, runtime->ort.CreateRunOptions(&options), "CreateRunOptions");
    drv_must(runtime, runtime->ort.RunOptionsSetRunTag(options, "driver"), "RunOptionsSetRunTag");
    if (terminate)
        drv_must(runtime, runtime->ort.RunOptionsSetTerminate(options), "RunOptionsSetTerminate");
    plain_run(worker, session, feed, options);
    runtime->ort.ReleaseRunOptions(options);
}

// ---------------------------------------------------------------------------------------- binding

static void bind_feed(drv_runtime *runtime, OrtIoBinding *binding, drv_feed *feed)
{
    for (size_t i = 0; i < feed->in_count; i++)
        drv_must(runtime, runtime->ort.BindInput(binding, feed->in_names[i], feed->in[i]),
                 "BindInput");
    for (size_t i = 0; i < feed->out_count; i++) {
        OrtStatus *status =
            feed->out[i]
                ? runtime->ort.BindOutput(binding, feed->out_names[i], feed->out[i])
                : runtime->ort.BindOutputToDevice(binding, feed->out_names[i], runtime->cpu);
        drv_must(runtime, status, "BindOutput");
    }
}

static void run_binding(drv_worker *worker, drv_session *session, OrtIoBinding *binding,
                        drv_feed *feed)
{
    drv_runtime *runtime = worker->runtime;
    char *inputs = drv_describe(runtime, feed->in_names, feed->in, feed->in_count);
    OrtStatus *status = runtime->ort.RunWithBinding(session->ort, NULL, binding);
    OrtValue **outputs = NULL;
    size_t count = 0;
    if (!status)
        drv_must(runtime,
                 runtime->ort.GetBoundOutputValues(binding, runtime->allocator, &outputs, &count),
                 "GetBoundOutputValues");
    finish(worker, session, DRV_BINDING, inputs, status, feed->out_names, outputs, count);
    for (size_t i = 0; i < count; i++)
        runtime->ort.ReleaseValue(outputs[i]);
    if (outputs)
        drv_must(runtime, runtime->ort.AllocatorFree(runtime->allocator, outputs), "AllocatorFree");
    free(inputs);
}

// Two runs on one binding: the second after it was cleared and bound anew with another shape.
static void bound_runs(drv_worker *worker, drv_session *session, bool to_device)
{
    drv_runtime *runtime = worker->runtime;
    OrtIoBinding *binding = NULL;
    drv_must(runtime, runtime->ort.CreateIoBinding(session->ort, &binding), "CreateIoBinding");
    for (int i = 0; i < 2; i++) {
        drv_feed feed;
        drv_feed_build(worker, session->model, DRV_SOUND, &feed);
        if (!to_device)
            drv_feed_preallocate(worker, &feed);
        bind_feed(runtime, binding, &feed);
        run_binding(worker, session, binding, &feed);
        runtime->ort.ClearBoundInputs(binding);
        runtime->ort.ClearBoundOutputs(binding);
        drv_feed_free(runtime, &feed);
    }
    runtime->ort.ReleaseIoBinding(binding);
}

static void unbound_run(drv_worker *worker, drv_session *session)
{
    drv_runtime *runtime = worker->runtime;
    OrtIoBinding *binding = NULL;
    drv_feed feed;
    drv_feed_build(worker, session->model, DRV_SOUND, &feed);
    drv_must(runtime, runtime->ort.CreateIoBinding(session->ort, &binding), "CreateIoBinding");
    drv_must(runtime, runtime->ort.BindOutputToDevice(binding, feed.out_names[0], runtime->cpu),
             "BindOutputToDevice");
    size_t in_count = feed.in_count;
    feed.in_count = 0;
    run_binding(worker, session, binding, &feed);
    feed.in_count = in_count;
    runtime->ort.ReleaseIoBinding(binding);
    drv_feed_free(runtime, &feed);
}

// ------------------------------------------------------------------------------------------ async

typedef struct async_job {
    drv_feed feed;
    OrtStatus *status;
    HANDLE done;
    bool refused;
} async_job;

static void async_done(void *user_data, OrtValue **outputs, size_t count, OrtStatus *status)
{
    async_job *job = user_data;
    if (!status && (outputs != job->feed.out || count != job->feed.out_count))
        drv_die("RunAsync called back with other outputs than it was given");
    job->status = status;
    SetEvent(job->done);
}

static void async_start(drv_worker *worker, drv_session *session, drv_fault fault, async_job *job)
{
    drv_runtime *runtime = worker->runtime;
    drv_feed *feed = &job->feed;
    drv_feed_build(worker, session->model, fault, feed);
    if (fault == DRV_SOUND && drv_below(&worker->random, 2))
        drv_feed_preallocate(worker, feed);
    job->done = CreateEventW(NULL, TRUE, FALSE, NULL);
    OrtStatus *status = runtime->ort.RunAsync(
        session->ort, NULL, feed->in_names, (const OrtValue *const *)feed->in, feed->in_count,
        feed->out_names, feed->out_count, feed->out, async_done, job);
    job->refused = status != NULL;
    if (job->refused)
        job->status = status;
}

static void async_runs(drv_worker *worker, drv_session *session, drv_fault fault)
{
    async_job jobs[ASYNC_BURST];
    int count = 1 + drv_below(&worker->random, ASYNC_BURST);
    memset(jobs, 0, sizeof jobs);
    for (int i = 0; i < count; i++)
        async_start(worker, session, fault, &jobs[i]);
    for (int i = 0; i < count; i++) {
        async_job *job = &jobs[i];
        if (!job->refused && WaitForSingleObject(job->done, 60000) != WAIT_OBJECT_0)
            drv_die("RunAsync never called back");
        CloseHandle(job->done);
        char *inputs =
            drv_describe(worker->runtime, job->feed.in_names, job->feed.in, job->feed.in_count);
        finish(worker, session, DRV_ASYNC, inputs, job->status, job->feed.out_names, job->feed.out,
               job->feed.out_count);
        free(inputs);
        drv_feed_free(worker->runtime, &job->feed);
    }
}

// ----------------------------------------------------------------------------------- one of many

static run_kind choose(drv_worker *worker)
{
    static const unsigned char weights[RUN_KINDS] = {
        [PLAIN] = 6, [OWN_OPTIONS] = 3, [PREALLOCATED] = 3, [BOUND] = 2,      [BOUND_TO_DEVICE] = 2,
        [ASYNC] = 2, [FAULTY] = 4,      [FAULTY_ASYNC] = 1, [TERMINATED] = 1, [UNBOUND] = 1};
    int ticket = drv_below(&worker->random, 25);
    int kind = 0;
    while (ticket >= weights[kind])
        ticket -= weights[kind++];
    // Before 1.16 there is no RunAsync: the same lot is drawn, something else done.
    if (worker->runtime->minor < 16 && (kind == ASYNC || kind == FAULTY_ASYNC))
        return PLAIN;
    return (run_kind)kind;
}

static void run_feed(drv_worker *worker, drv_session *session, run_kind kind)
{
    drv_fault fault =
        kind == FAULTY ? (drv_fault)(1 + drv_below(&worker->random, DRV_FAULTS - 1)) : DRV_SOUND;
    drv_feed feed;
    drv_feed_build(worker, session->model, fault, &feed);
    if (kind == PREALLOCATED)
        drv_feed_preallocate(worker, &feed);
    if (kind == OWN_OPTIONS || kind == TERMINATED)
        run_with_options(worker, session, &feed, kind == TERMINATED);
    else
        plain_run(worker, session, &feed, NULL);
    drv_feed_free(worker->runtime, &feed);
}

void drv_run_some(drv_worker *worker, drv_session *session)
{
    static const drv_fault async_faults[] = {DRV_BAD_TYPE, DRV_BAD_OUTPUT_NAME, DRV_OUT_OF_RANGE};
    run_kind kind = choose(worker);
    switch (kind) {
    case BOUND:
    case BOUND_TO_DEVICE:
        bound_runs(worker, session, kind == BOUND_TO_DEVICE);
        break;
    case ASYNC:
        async_runs(worker, session, DRV_SOUND);
        break;
    case FAULTY_ASYNC:
        async_runs(worker, session, async_faults[drv_below(&worker->random, 3)]);
        break;
    case UNBOUND:
        unbound_run(worker, session);
        break;
    default:
        run_feed(worker, session, kind);
        break;
    }
}

void drv_run_once(drv_worker *worker, drv_session *session)
{
    run_feed(worker, session, PLAIN);
}
