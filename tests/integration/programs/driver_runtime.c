// SPDX-License-Identifier: MIT
// Loading a runtime by path, binding its calls by slot number, its environments and statuses.
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

typedef struct api_base {
    const ort_slot *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
} api_base;

#define DRV_QUIET 4 // ORT's logging level "fatal": failures are expected here

static void bind_calls(drv_runtime *runtime, const ort_slot *table)
{
#define X(slot, since, result, name, parameters)                                                   \
    runtime->ort.name = runtime->minor >= since ? (result(*) parameters)table[slot] : NULL;
    ORT_CALLS(X)
    if (runtime->ort.GetModelEditorApi) {
        table = runtime->ort.GetModelEditorApi();
        ORT_EDITOR_CALLS(X)
    }
#undef X
}

drv_runtime *drv_runtime_load(const wchar_t *path)
{
    drv_runtime *runtime = drv_allocate(sizeof *runtime);
    wcsncpy(runtime->path, path, sizeof runtime->path / sizeof *runtime->path - 1);
    HMODULE module = LoadLibraryExW(path, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
    if (!module)
        drv_die("cannot load %ls, error %lu", path, GetLastError());
    runtime->module = module;
    FARPROC entry = GetProcAddress(module, "OrtGetApiBase");
    if (!entry)
        entry = GetProcAddress(module, ORT_HIDDEN_EXPORT);
    if (!entry)
        drv_die("%ls is no ONNX Runtime", path);
    const api_base *(*get_base)(void) = (const api_base *(*)(void))(ort_slot)entry;
    snprintf(runtime->version, sizeof runtime->version, "%s", get_base()->GetVersionString());
    runtime->minor = atoi(runtime->version + 2);
    bind_calls(runtime, get_base()->GetApi((uint32_t)runtime->minor));
    drv_must(runtime, runtime->ort.GetAllocatorWithDefaultOptions(&runtime->allocator),
             "GetAllocatorWithDefaultOptions");
    drv_must(runtime, runtime->ort.CreateCpuMemoryInfo(1, 0, &runtime->cpu), "CreateCpuMemoryInfo");
    return runtime;
}

void drv_runtime_unload(drv_runtime *runtime)
{
    runtime->ort.ReleaseMemoryInfo(runtime->cpu);
    runtime->cpu = NULL;
    if (!FreeLibrary(runtime->module))
        drv_die("FreeLibrary failed, error %lu", GetLastError());
}

int drv_status(drv_runtime *runtime, OrtStatus *status, char **out_message)
{
    if (out_message)
        *out_message = NULL;
    if (!status)
        return 0;
    int code = runtime->ort.GetErrorCode(status);
    if (out_message)
        *out_message = drv_copy(runtime->ort.GetErrorMessage(status));
    runtime->ort.ReleaseStatus(status);
    return code;
}

void drv_must(drv_runtime *runtime, OrtStatus *status, const char *what)
{
    if (status)
        drv_die("%s failed with ORT %s: %s", what, runtime->version,
                runtime->ort.GetErrorMessage(status));
}

static void ignore_log(void *param, int severity, const char *category, const char *log_id,
                       const char *location, const char *message)
{
    (void)severity, (void)category, (void)log_id, (void)location, (void)message;
    InterlockedIncrement((LONG *)param);
}

static OrtThreadingOptions *pools(drv_runtime *runtime)
{
    OrtThreadingOptions *threading = NULL;
    drv_must(runtime, runtime->ort.CreateThreadingOptions(&threading), "CreateThreadingOptions");
    drv_must(runtime, runtime->ort.SetGlobalIntraOpNumThreads(threading, 2), "SetGlobalIntraOp");
    drv_must(runtime, runtime->ort.SetGlobalInterOpNumThreads(threading, 1), "SetGlobalInterOp");
    drv_must(runtime, runtime->ort.SetGlobalSpinControl(threading, 0), "SetGlobalSpinControl");
    return threading;
}

OrtEnv *drv_env_create(drv_runtime *runtime, drv_env_how how, const char *log_id)
{
    static LONG log_lines;
    static const char *const names[] = {"CreateEnv",
                                        "CreateEnvWithCustomLogger",
                                        "CreateEnvWithGlobalThreadPools",
                                        "CreateEnvWithCustomLoggerAndGlobalThreadPools",
                                        "CreateEnvWithOptions",
                                        "CreateEnvWithOptions"};
    const ort_calls *ort = &runtime->ort;
    bool with_pools = how == DRV_ENV_POOLS || how == DRV_ENV_LOGGER_POOLS;
    OrtThreadingOptions *threading = with_pools ? pools(runtime) : NULL;
    ort_env_options options = {
        .version = (uint32_t)runtime->minor, .severity = DRV_QUIET, .log_id = log_id};
    OrtEnv *env = NULL;
    OrtStatus *status = NULL;
    switch (how) {
    case DRV_ENV_PLAIN:
        status = ort->CreateEnv(DRV_QUIET, log_id, &env);
        break;
    case DRV_ENV_LOGGER:
        status = ort->CreateEnvWithCustomLogger(ignore_log, &log_lines, DRV_QUIET, log_id, &env);
        break;
    case DRV_ENV_POOLS:
        status = ort->CreateEnvWithGlobalThreadPools(DRV_QUIET, log_id, threading, &env);
        break;
    case DRV_ENV_LOGGER_POOLS:
        status = ort->CreateEnvWithCustomLoggerAndGlobalThreadPools(
            ignore_log, &log_lines, DRV_QUIET, log_id, threading, &env);
        break;
    case DRV_ENV_OPTIONS:
        status = ort->CreateEnvWithOptions(&options, &env);
        break;
    case DRV_ENV_OPTIONS_NULL:
        status = ort->CreateEnvWithOptions(NULL, &env);
        break;
    }
    char *message = NULL;
    int code = drv_status(runtime, status, &message);
    drv_log_env(runtime, names[how], how == DRV_ENV_OPTIONS_NULL ? "" : log_id, code, message);
    free(message);
    if (threading)
        ort->ReleaseThreadingOptions(threading);
    return code ? NULL : env;
}

void drv_env_release(drv_runtime *runtime, OrtEnv *env)
{
    bool early = drv_early();
    runtime->ort.ReleaseEnv(env);
    drv_take(&runtime->lock);
    runtime->env_releases++;
    runtime->env_releases_early += early;
    drv_give(&runtime->lock);
}
