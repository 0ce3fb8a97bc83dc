// SPDX-License-Identifier: MIT
// odd_memory RUNTIME.dll MODEL RUNS: the environment's arena may hold one megabyte, and every
// second run asks for more: ORT throws an exception through its allocators and tells a failure.
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

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    if (argc < 4)
        return 2;
    odd_ort ort = {0};
    OrtMemoryInfo *cpu = NULL;
    OrtValue *in = NULL;
    int64_t wanted = 0, one = 1;
    const char *names[] = {"N", "zeros"};
    int good = 0, failed = 0;
    odd_load(&ort, argv[1], argv[2]);
    if (ort.call.CreateCpuMemoryInfo(1, 0, &cpu) ||
        ort.call.CreateTensorWithDataAsOrtValue(cpu, &wanted, sizeof wanted, &one, 1, ORT_INT64,
                                                &in))
        return 8;
    limit_memory(&ort, cpu);
    OrtSession *session = odd_session(&ort);
    for (long i = 0; i < wcstol(argv[3], NULL, 10); i++) {
        OrtValue *out = NULL;
        wanted = i % 2 ? 100 : ARENA_BYTES;
        OrtStatus *status = ort.call.Run(session, NULL, &names[0], (const OrtValue *const *)&in, 1,
                                         &names[1], 1, &out);
        good += !status;
        failed += status != NULL;
        if (status)
            ort.call.ReleaseStatus(status);
        else
            ort.call.ReleaseValue(out);
    }
    ort.call.ReleaseValue(in);
    ort.call.ReleaseMemoryInfo(cpu);
    ort.call.ReleaseSession(session);
    ort.call.ReleaseSessionOptions(ort.options);
    ort.call.ReleaseEnv(ort.env);
    printf("{\"good\": %d, \"failed\": %d}\n", good, failed);
    return 0;
}
