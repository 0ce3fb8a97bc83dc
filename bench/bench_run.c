// SPDX-License-Identifier: MIT
// What recording a run costs, with the real onnxruntime.dll and a model so small that the cost of
// Run itself hides little. Prints key=value lines.
//
//   bench_run DLL MODEL HOOK time                  plain and armed blocks in turn, one process
//   bench_run DLL MODEL HOOK count plain|armed     a region for callgrind, see bench/run
//   bench_run DLL MODEL HOOK memory                what arming adds to this process
#include "bench_hook.h"
#include "bench_ort.h"
#include "common/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <callgrind.h>

#include <windows.h>

#include <psapi.h>

#define BLOCKS     40   // pairs of blocks
#define BLOCK_RUNS 2000 // their records fit one ring
#define COUNT_RUNS 1000
#define THREADS    8

typedef struct bench {
    bench_ort ort;
    OrtSession *session;
    OrtValue *inputs[2];
} bench;

static void open_session(bench *b, const wchar_t *model)
{
    static float x[4] = {1, 2, 3, 4}, s[3] = {1, 1, 1};
    static const int64_t x_dims[2] = {1, 4}, s_dims[2] = {1, 3};
    OrtEnv *env;
    OrtSessionOptions *options;
    OrtMemoryInfo *cpu;
    bench_must(&b->ort, b->ort.calls.CreateEnv(3, "bench", &env), "CreateEnv");
    bench_must(&b->ort, b->ort.calls.CreateSessionOptions(&options), "CreateSessionOptions");
    bench_must(&b->ort, b->ort.calls.SetIntraOpNumThreads(options, 1), "SetIntraOpNumThreads");
    bench_must(&b->ort, b->ort.calls.CreateSession(env, model, options, &b->session),
               "CreateSession");
    bench_must(&b->ort, b->ort.calls.CreateCpuMemoryInfo(1, 0, &cpu), "CreateCpuMemoryInfo");
    bench_must(&b->ort,
               b->ort.calls.CreateTensorWithDataAsOrtValue(cpu, x, sizeof x, x_dims, 2, ORT_FLOAT,
                                                           &b->inputs[0]),
               "CreateTensor");
    bench_must(&b->ort,
               b->ort.calls.CreateTensorWithDataAsOrtValue(cpu, s, sizeof s, s_dims, 2, ORT_FLOAT,
                                                           &b->inputs[1]),
               "CreateTensor");
}

// One input and one output would be the common case; this model has two inputs and one of its two
// outputs is asked for.
static void run_once(bench *b)
{
    static const char *const input_names[] = {"X", "S"};
    static const char *const output_names[] = {"Z"};
    OrtValue *output = NULL;
    bench_must(&b->ort,
               b->ort.calls.Run(b->session, NULL, input_names, (const OrtValue *const *)b->inputs,
                                2, output_names, 1, &output),
               "Run");
    b->ort.calls.ReleaseValue(output);
}

static double block_ns(bench *b)
{
    uint64_t begin = cm_monotonic_ns();
    for (int i = 0; i < BLOCK_RUNS; i++)
        run_once(b);
    return (double)(cm_monotonic_ns() - begin) / BLOCK_RUNS;
}

static int measure_time(bench *b)
{
    static double plain[BLOCKS], armed[BLOCKS], arm_ms[BLOCKS];
    uint64_t records = 0;
    for (int i = 0; i < 4; i++)
        block_ns(b);
    for (int i = 0; i < BLOCKS; i++) {
        plain[i] = block_ns(b);
        arm_ms[i] = bench_hook_arm(0);
        for (int warm = 0; warm < 100; warm++)
            run_once(b);
        bench_hook_drain();
        armed[i] = block_ns(b);
        records += bench_hook_drain();
        bench_hook_disarm();
    }
    qsort(plain, BLOCKS, sizeof *plain, bench_by_value);
    qsort(armed, BLOCKS, sizeof *armed, bench_by_value);
    qsort(arm_ms, BLOCKS, sizeof *arm_ms, bench_by_value);
    printf("plain_ns_p10=%.1f\nplain_ns_p50=%.1f\n", plain[BLOCKS / 10], plain[BLOCKS / 2]);
    printf("armed_ns_p10=%.1f\narmed_ns_p50=%.1f\n", armed[BLOCKS / 10], armed[BLOCKS / 2]);
    printf("arm_ms_p50=%.2f\n", arm_ms[BLOCKS / 2]);
    printf("records=%llu\n", (unsigned long long)records);
    return records >= (uint64_t)BLOCKS * BLOCK_RUNS ? 0 : 1;
}

static int measure_count(bench *b)
{
    for (int i = 0; i < 100; i++)
        run_once(b);
    CALLGRIND_TOGGLE_COLLECT;
    for (int i = 0; i < COUNT_RUNS; i++)
        run_once(b);
    CALLGRIND_TOGGLE_COLLECT;
    printf("count_runs=%d\n", COUNT_RUNS);
    return 0;
}

static DWORD WINAPI run_block(void *context)
{
    block_ns(context);
    return 0;
}

static void run_threads(bench *b)
{
    HANDLE threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        threads[i] = CreateThread(NULL, 0, run_block, b, 0, NULL);
    WaitForMultipleObjects(THREADS, threads, TRUE, INFINITE);
    for (int i = 0; i < THREADS; i++)
        CloseHandle(threads[i]);
}

static double working_set_mb(void)
{
    PROCESS_MEMORY_COUNTERS counters = {.cb = sizeof counters};
    GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters);
    return (double)counters.WorkingSetSize / 1e6;
}

// The consumer's own buffers are in this process too and count as ours.
static int measure_memory(bench *b)
{
    run_threads(b);
    double before = working_set_mb();
    bench_hook_leave_memory();
    bench_hook_arm(0);
    double armed = working_set_mb();
    run_threads(b);
    double used = working_set_mb();
    printf("memory_armed_mb=%.2f\nmemory_used_mb=%.2f\n", armed - before, used - before);
    bench_hook_disarm();
    return 0;
}

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    static bench b;
    if (argc < 5) {
        fprintf(stderr, "usage: bench_run DLL MODEL HOOK time|memory|count plain|armed\n");
        return 2;
    }
    bool count = wcscmp(argv[4], L"count") == 0;
    bench_ort_load(&b.ort, argv[1]);
    printf("ort=%s\n", b.ort.version);
    bench_hook_load(argv[3]);
    // Armed while there is no other thread, and never disarmed: callgrind can't follow a thread
    // that is suspended.
    if (count && argc > 5 && wcscmp(argv[5], L"armed") == 0)
        bench_hook_arm(0);
    open_session(&b, argv[2]);
    if (count)
        return measure_count(&b);
    return wcscmp(argv[4], L"time") == 0 ? measure_time(&b) : measure_memory(&b);
}
