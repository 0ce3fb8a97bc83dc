// SPDX-License-Identifier: MIT
// Loads a runtime, binds its calls, creates sessions and runs them, as plainly as possible.
#include "odd_ort.h"

#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

typedef struct api_base {
    const ort_slot *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
} api_base;

#define ONLY_FATAL 4 // logging level

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(9);
}

static void must(const odd_ort *ort, OrtStatus *status)
{
    if (status)
        die(ort->call.GetErrorMessage(status));
}

void odd_load(odd_ort *ort, const wchar_t *dll, const wchar_t *model)
{
    HMODULE module = LoadLibraryExW(dll, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
    if (!module)
        die("the runtime does not load");
    FARPROC entry = GetProcAddress(module, "OrtGetApiBase");
    if (!entry)
        entry = GetProcAddress(module, ORT_HIDDEN_EXPORT);
    const api_base *(*get_base)(void) = (const api_base *(*)(void))(ort_slot)entry;
    const api_base *base = get_base ? get_base() : NULL;
    if (!base)
        die("this is no ONNX Runtime");
    int minor = atoi(base->GetVersionString() + 2);
    const ort_slot *table = base->GetApi((uint32_t)minor);
#define X(slot, since, result, name, parameters)                                                   \
    ort->call.name = minor >= since ? (result(*) parameters)table[slot] : NULL;
    ORT_CALLS(X)
#undef X
    ort->model = model;
    must(ort, ort->call.CreateEnv(ONLY_FATAL, "odd", &ort->env));
    must(ort, ort->call.CreateSessionOptions(&ort->options));
    must(ort, ort->call.SetIntraOpNumThreads(ort->options, 1));
    must(ort, ort->call.SetSessionGraphOptimizationLevel(ort->options, 0));
}

OrtSession *odd_session(const odd_ort *ort)
{
    OrtSession *session = NULL;
    must(ort, ort->call.CreateSession(ort->env, ort->model, ort->options, &session));
    return session;
}

bool odd_run(const odd_ort *ort, OrtSession *session)
{
    const char *names[] = {"out"};
    OrtValue *values[] = {NULL};
    int has_value = 1;
    must(ort, ort->call.Run(session, NULL, NULL, NULL, 0, names, 1, values));
    must(ort, ort->call.HasValue(values[0], &has_value));
    ort->call.ReleaseValue(values[0]);
    return has_value != 0;
}
