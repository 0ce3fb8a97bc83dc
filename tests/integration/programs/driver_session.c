// SPDX-License-Identifier: MIT
// Sessions: every way to make one, with every kind of option, and the ways that fail. The keys of
// the options are those that ortscope writes into a timeline.
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

typedef struct option_log {
    drv_runtime *runtime;
    OrtSessionOptions *options;
    drv_text set, providers, refused;
} option_log;

// Each setter must succeed and is noted as "key=value".
static void noted(option_log *log, OrtStatus *status, const char *key, const char *value)
{
    drv_must(log->runtime, status, key);
    drv_text_add(&log->set, "%s=%s\n", key, value);
}

#define SET_INT(log, call, key, number)                                                            \
    noted(log, (log)->runtime->ort.call((log)->options, number), key, #number)
#define SET_FLAG(log, call, key, value)                                                            \
    noted(log, (log)->runtime->ort.call((log)->options), key, value)
#define SET_TEXT(log, call, key, text)                                                             \
    noted(log, (log)->runtime->ort.call((log)->options, text), key, text)

static void config(option_log *log, const char *key, const char *value)
{
    noted(log, log->runtime->ort.AddSessionConfigEntry(log->options, key, value), key, value);
}

static void provider_result(option_log *log, OrtStatus *status, const char *name)
{
    int code = drv_status(log->runtime, status, NULL);
    drv_text_add(code ? &log->refused : &log->providers, "%s\n", name);
}

static void append_by_name(option_log *log, const char *name)
{
    const char *keys[] = {"first", "second"}, *values[] = {"1", "2"};
    provider_result(log,
                    log->runtime->ort.SessionOptionsAppendExecutionProvider(log->options, name,
                                                                            keys, values, 2),
                    name);
}

// The CPU provider comes through an export of its own, past the API table.
static void append_cpu(option_log *log)
{
    OrtStatus *(*append)(OrtSessionOptions *, int) =
        (OrtStatus * (*)(OrtSessionOptions *, int))(ort_slot)GetProcAddress(
            log->runtime->module, "OrtSessionOptionsAppendExecutionProvider_CPU");
    if (append)
        provider_result(log, append(log->options, 1), "CPUExecutionProvider");
}

static void clone(option_log *log)
{
    OrtSessionOptions *copy = NULL;
    drv_must(log->runtime, log->runtime->ort.CloneSessionOptions(log->options, &copy),
             "CloneSessionOptions");
    log->runtime->ort.ReleaseSessionOptions(log->options);
    log->options = copy;
}

static void apply_set(option_log *log, int set)
{
    switch (set) {
    case DRV_OPTIONS_TWO_THREADS:
        SET_INT(log, SetIntraOpNumThreads, "intra_op_threads", 2);
        SET_INT(log, SetSessionGraphOptimizationLevel, "graph_optimization_level", 99);
        break;
    case DRV_OPTIONS_ONE_THREAD:
        SET_INT(log, SetIntraOpNumThreads, "intra_op_threads", 1);
        SET_INT(log, SetInterOpNumThreads, "inter_op_threads", 1);
        SET_FLAG(log, DisableMemPattern, "mem_pattern", "off");
        SET_FLAG(log, DisableCpuMemArena, "cpu_mem_arena", "off");
        break;
    case 3:
        SET_INT(log, SetSessionExecutionMode, "execution_mode", 1);
        SET_INT(log, SetInterOpNumThreads, "inter_op_threads", 2);
        SET_INT(log, SetIntraOpNumThreads, "intra_op_threads", 1);
        SET_INT(log, SetSessionGraphOptimizationLevel, "graph_optimization_level", 0);
        SET_FLAG(log, DisableMemPattern, "mem_pattern", "off");
        break;
    case 4:
        append_by_name(log, "NoSuchProvider");
        append_cpu(log);
        SET_TEXT(log, SetSessionLogId, "log_id", "set-four");
        SET_INT(log, SetSessionLogSeverityLevel, "log_severity", 4);
        SET_INT(log, SetIntraOpNumThreads, "intra_op_threads", 1);
        clone(log);
        SET_INT(log, SetSessionGraphOptimizationLevel, "graph_optimization_level", 1);
        break;
    case 5:
        append_by_name(log, "XNNPACK");
        noted(log, log->runtime->ort.EnableProfiling(log->options, L"unwanted"), "profiling",
              "unwanted");
        SET_FLAG(log, DisableProfiling, "profiling", "off");
        SET_INT(log, SetIntraOpNumThreads, "intra_op_threads", 3);
        SET_INT(log, SetIntraOpNumThreads, "intra_op_threads", 2);
        SET_FLAG(log, DisableCpuMemArena, "cpu_mem_arena", "off");
        SET_FLAG(log, EnableCpuMemArena, "cpu_mem_arena", "on");
        config(log, "session.disable_prepacking", "1");
        break;
    default:
        SET_FLAG(log, DisablePerSessionThreads, "per_session_threads", "off");
        break;
    }
}

OrtSessionOptions *drv_options(drv_runtime *runtime, int set, drv_session_log *entry)
{
    entry->null_options = set == DRV_OPTIONS_NULL;
    if (set == DRV_OPTIONS_NULL)
        return NULL;
    option_log log = {.runtime = runtime};
    drv_must(runtime, runtime->ort.CreateSessionOptions(&log.options), "CreateSessionOptions");
    apply_set(&log, set);
    config(&log, "session.intra_op.allow_spinning", "0");
    config(&log, "session.inter_op.allow_spinning", "0");
    config(&log, "ortscope.test_id", entry->id);
    entry->options = log.set.data;
    entry->providers = log.providers.data;
    entry->refused = log.refused.data;
    return log.options;
}

// ------------------------------------------------------------------------------------- creation

static OrtStatus *create_prepacked(drv_runtime *runtime, drv_source source, const drv_file *file,
                                   const OrtSessionOptions *options, drv_session *out)
{
    drv_must(runtime, runtime->ort.CreatePrepackedWeightsContainer(&out->prepacked), "prepacked");
    if (source == DRV_PATH_PREPACKED)
        return runtime->ort.CreateSessionWithPrepackedWeightsContainer(
            runtime->env, file->path, options, out->prepacked, &out->ort);
    return runtime->ort.CreateSessionFromArrayWithPrepackedWeightsContainer(
        runtime->env, file->bytes, file->size, options, out->prepacked, &out->ort);
}

static OrtStatus *create_in_editor(drv_runtime *runtime, drv_source source, const drv_file *file,
                                   const OrtSessionOptions *options, drv_session *out)
{
    OrtStatus *status =
        source == DRV_EDITOR_PATH
            ? runtime->ort.CreateModelEditorSession(runtime->env, file->path, options, &out->ort)
            : runtime->ort.CreateModelEditorSessionFromArray(runtime->env, file->bytes, file->size,
                                                             options, &out->ort);
    if (!status)
        status = runtime->ort.FinalizeModelEditorSession(out->ort, options, NULL);
    return status;
}

static OrtStatus *create(drv_runtime *runtime, drv_source source, const drv_file *file,
                         const OrtSessionOptions *options, drv_session *out)
{
    switch (source) {
    case DRV_PATH:
        return runtime->ort.CreateSession(runtime->env, file->path, options, &out->ort);
    case DRV_BYTES:
        return runtime->ort.CreateSessionFromArray(runtime->env, file->bytes, file->size, options,
                                                   &out->ort);
    case DRV_PATH_PREPACKED:
    case DRV_BYTES_PREPACKED:
        return create_prepacked(runtime, source, file, options, out);
    case DRV_EDITOR_MODEL:
        return drv_editor_create(runtime, options, file != NULL, &out->ort);
    default:
        return create_in_editor(runtime, source, file, options, out);
    }
}

static bool by_path(drv_source source)
{
    return source == DRV_PATH || source == DRV_PATH_PREPACKED || source == DRV_EDITOR_PATH;
}

static bool create_and_log(drv_runtime *runtime, const char *id, drv_source source,
                           const drv_file *file, int option_set, drv_session *out)
{
    drv_session_log *log = drv_log_session(runtime, id, source);
    OrtSessionOptions *options = drv_options(runtime, option_set, log);
    *out = (drv_session){.log = log};
    log->status = drv_status(runtime, create(runtime, source, file, options, out), &log->message);
    if (source != DRV_EDITOR_MODEL && by_path(source))
        log->model = drv_utf8(file->path);
    else if (source != DRV_EDITOR_MODEL)
        log->model_bytes = file->size;
    if (options)
        runtime->ort.ReleaseSessionOptions(options);
    if (log->status && (out->ort || out->prepacked))
        drv_session_release(runtime, out);
    return log->status == 0;
}

bool drv_session_create(drv_runtime *runtime, const char *id, drv_source source, drv_model model,
                        int option_set, drv_session *out)
{
    // A built model has no file; its broken variant is asked for by any file.
    const drv_file *file = model < DRV_FILES ? &g_drv_files[model] : NULL;
    bool made = create_and_log(runtime, id, source, file, option_set, out);
    out->model = model;
    return made;
}

void drv_session_create_missing(drv_runtime *runtime, const char *id, drv_source source)
{
    // Not ASCII: the path must come out of ortscope as it went in.
    drv_file missing = {.path = L"C:\\no-such-folder\\mod\u00e8le-\u65e5\u672c.onnx"};
    drv_session session;
    if (create_and_log(runtime, id, source, &missing, DRV_OPTIONS_NULL, &session))
        drv_die("a missing model was loaded");
}

void drv_session_create_empty(drv_runtime *runtime, const char *id)
{
    char nothing = 0;
    drv_file empty = {.bytes = &nothing};
    drv_session session;
    if (create_and_log(runtime, id, DRV_BYTES, &empty, DRV_OPTIONS_TWO_THREADS, &session))
        drv_session_release(runtime, &session); // an empty protobuf may pass
}

void drv_session_release(drv_runtime *runtime, drv_session *session)
{
    bool early = drv_early();
    runtime->ort.ReleaseSession(session->ort);
    // The container must outlive its sessions.
    if (session->prepacked)
        runtime->ort.ReleasePrepackedWeightsContainer(session->prepacked);
    session->log->released = session->ort != NULL;
    session->log->released_early = early;
    session->ort = NULL;
    session->prepacked = NULL;
}
