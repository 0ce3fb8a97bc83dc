// SPDX-License-Identifier: MIT
// odd_compile RUNTIME.dll MODEL OTHER TIMES: compiles the model OTHER into memory again and again
// (ORT makes a session for that which nobody sees) while another thread runs MODEL.
#include "odd_ort.h"

#include <stdio.h>
#include <windows.h>

// Slots of the table that GetCompileApi gives (1.22 and later; the level 1.23)
enum { RELEASE_OPTIONS, CREATE_OPTIONS, INPUT_PATH, OUTPUT_BUFFER = 6, COMPILE = 8, LEVEL = 11 };
enum { BASIC_OPTIMISATIONS = 1 };

typedef struct OrtCompilation OrtCompilation;

static odd_ort ort;
static volatile LONG g_stop, g_runs;

static DWORD WINAPI run_for_ever(void *session)
{
    for (; !g_stop; InterlockedIncrement(&g_runs))
        odd_run(&ort, session);
    return 0;
}

static OrtStatus *compile(const ort_slot *table, OrtAllocator *allocator, const wchar_t *model)
{
    OrtCompilation *c = NULL;
    void *bytes = NULL;
    size_t count = 0;
    OrtStatus *status =
        ((OrtStatus * (*)(const OrtEnv *, const OrtSessionOptions *, OrtCompilation **))
             table[CREATE_OPTIONS])(ort.env, ort.options, &c);
    if (!status)
        status = ((OrtStatus * (*)(OrtCompilation *, const wchar_t *)) table[INPUT_PATH])(c, model);
    if (!status)
        status = ((OrtStatus * (*)(OrtCompilation *, OrtAllocator *, void **, size_t *))
                      table[OUTPUT_BUFFER])(c, allocator, &bytes, &count);
    if (!status)
        status = ((OrtStatus * (*)(OrtCompilation *, int)) table[LEVEL])(c, BASIC_OPTIMISATIONS);
    if (!status)
        status =
            ((OrtStatus * (*)(const OrtEnv *, const OrtCompilation *)) table[COMPILE])(ort.env, c);
    if (bytes)
        ort.call.AllocatorFree(allocator, bytes);
    ((void (*)(OrtCompilation *))table[RELEASE_OPTIONS])(c);
    return status;
}

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    OrtAllocator *allocator = NULL;
    if (argc < 5)
        return 2;
    odd_load(&ort, argv[1], argv[2]);
    OrtSession *session = odd_session(&ort);
    if (!ort.call.GetCompileApi || ort.call.GetAllocatorWithDefaultOptions(&allocator))
        return 8;
    const ort_slot *table = ort.call.GetCompileApi();
    HANDLE thread = CreateThread(NULL, 0, run_for_ever, session, 0, NULL);
    int compiled = 0;
    for (long left = wcstol(argv[4], NULL, 10); left > 0; left--) {
        LONG before = g_runs;
        OrtStatus *status = compile(table, allocator, argv[3]);
        if (status) {
            fprintf(stderr, "%s\n", ort.call.GetErrorMessage(status));
            return 8;
        }
        compiled++;
        while (g_runs == before)
            Sleep(1);
    }
    g_stop = 1;
    WaitForSingleObject(thread, INFINITE);
    ort.call.ReleaseSession(session);
    ort.call.ReleaseSessionOptions(ort.options);
    ort.call.ReleaseEnv(ort.env);
    printf("{\"compiled\": %d, \"runs\": %ld}\n", compiled, g_runs);
    return 0;
}
