// SPDX-License-Identifier: MIT
// odd_memory RUNTIME.dll MODEL RUNS [run|async|inter|shared [PAUSE_MS]]: the environment's arena
// may hold one megabyte, and every second run asks for more: ORT throws an exception through its
// allocators and tells a failure. It runs on this thread, by RunAsync, or on two inter-op threads.
// shared: none asks for more; every second run is that of another session, which keeps its outputs.
#include "odd_ort.h"

#include <stdio.h>
#include <windows.h>

#define ARENA_BYTES (1u << 20)

// Sessions use the environment's arena instead of one of their own.
static void limit_memory(const odd_ort *ort, const OrtMemoryInfo *cpu)
{
    OrtArenaCfg *arena = NULL;
    if (ort->call.CreateArenaCfg(ARENA_BYTES, -1, -1, -1, &arena) ||
        ort->call.CreateAndRegisterAllocator(ort->env, cpu, arena) ||
        ort->call.AddSessionConfigEntry(ort->options, "session.use_env_allocators", "1"))
        ExitProcess(8);
    ort->call.ReleaseArenaCfg(arena);
}

typedef struct result {
    HANDLE done;
    OrtStatus *status;
} result;

static void async_done(void *user_data, OrtValue **outputs, size_t count, OrtStatus *status)
{
    (void)outputs;
    (void)count;
    result *r = user_data;
    r->status = status;
    SetEvent(r->done);
}

static OrtStatus *run(const odd_ort *ort, OrtSession *session, bool async, const OrtValue *in,
                      OrtValue **out)
{
    const char *names[] = {"N", "zeros"};
    if (!async)
        return ort->call.Run(session, NULL, &names[0], &in, 1, &names[1], 1, out);
    result r = {.done = CreateEventW(NULL, FALSE, FALSE, NULL)};
    if (ort->call.RunAsync(session, NULL, &names[0], &in, 1, &names[1], 1, out, async_done, &r))
        ExitProcess(8);
    WaitForSingleObject(r.done, INFINITE);
    CloseHandle(r.done);
    return r.status;
}

static void set_threads(const odd_ort *ort, const wchar_t *mode)
{
    if ((wcscmp(mode, L"async") == 0 && ort->call.SetIntraOpNumThreads(ort->options, 2)) ||
        (wcscmp(mode, L"inter") == 0 && (ort->call.SetSessionExecutionMode(ort->options, 1) ||
                                         ort->call.SetInterOpNumThreads(ort->options, 2))))
        ExitProcess(8);
}

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    if (argc < 4)
        return 2;
    odd_ort ort = {0};
    OrtMemoryInfo *cpu = NULL;
    OrtValue *in = NULL;
    int64_t wanted = 0, one = 1;
    int good = 0, failed = 0;
    const wchar_t *mode = argc > 4 ? argv[4] : L"run";
    odd_load(&ort, argv[1], argv[2]);
    set_threads(&ort, mode);
    if (ort.call.CreateCpuMemoryInfo(1, 0, &cpu) ||
        ort.call.CreateTensorWithDataAsOrtValue(cpu, &wanted, sizeof wanted, &one, 1, ORT_INT64,
                                                &in))
        return 8;
    limit_memory(&ort, cpu);
    OrtSession *session = odd_session(&ort),
               *keeping = wcscmp(mode, L"shared") == 0 ? odd_session(&ort) : NULL;
    for (long i = 0; i < wcstol(argv[3], NULL, 10); i++) {
        OrtValue *out = NULL;
        bool keeps = keeping && i % 2;
        if (keeping)
            Sleep(12); // the state of arenas is told now and then
        wanted = i % 2 || keeping ? 100 : ARENA_BYTES;
        OrtStatus *status =
            run(&ort, keeps ? keeping : session, wcscmp(mode, L"async") == 0, in, &out);
        good += !status;
        failed += status != NULL;
        if (status)
            ort.call.ReleaseStatus(status);
        else if (!keeps)
            ort.call.ReleaseValue(out);
        Sleep(argc > 5 ? (DWORD)wcstoul(argv[5], NULL, 10) : 0);
    }
    ort.call.ReleaseValue(in);
    ort.call.ReleaseMemoryInfo(cpu);
    ort.call.ReleaseSession(session);
    if (keeping)
        ort.call.ReleaseSession(keeping);
    ort.call.ReleaseSessionOptions(ort.options);
    ort.call.ReleaseEnv(ort.env);
    printf("{\"good\": %d, \"failed\": %d}\n", good, failed);
    return 0;
}
