// SPDX-License-Identifier: MIT
// What recording every operator costs, with a real model: the same session alone and recorded, and
// a second session with ORT's own profiler on, run by run in turn within one process. Prints
// key=value lines.
//
//   bench_ops DLL MODEL HOOK THREADS DIMS time          DIMS of the one input: 1,3,48,192
//   bench_ops DLL MODEL HOOK THREADS DIMS count plain|armed     a region for callgrind
#include "bench_hook.h"
#include "bench_ort.h"
#include "common/os.h"
#include "tracelogging/hook_contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <callgrind.h>

#include <windows.h>

#define ROUNDS     8 // of each state
#define ROUND_RUNS 40
#define WARM_RUNS  10
#define COUNT_RUNS 20

typedef OrtStatus *io_name_fn(const OrtSession *, size_t, OrtAllocator *, char **);

typedef struct bench {
    bench_ort ort;
    io_name_fn *input_name, *output_name;
    OrtEnv *env;
    OrtValue *input;
    char *in, *out;
} bench;

static OrtSession *open_session(bench *b, const wchar_t *model, int threads, bool profiler)
{
    OrtSessionOptions *options;
    OrtSession *session;
    bench_must(&b->ort, b->ort.calls.CreateSessionOptions(&options), "CreateSessionOptions");
    bench_must(&b->ort, b->ort.calls.SetIntraOpNumThreads(options, threads),
               "SetIntraOpNumThreads");
    if (profiler)
        bench_must(&b->ort, b->ort.calls.EnableProfiling(options, L"bench_ops_profile"),
                   "EnableProfiling");
    bench_must(&b->ort, b->ort.calls.CreateSession(b->env, model, options, &session),
               "CreateSession");
    b->ort.calls.ReleaseSessionOptions(options);
    return session;
}

static void make_input(bench *b, const OrtSession *session, const wchar_t *dims_text)
{
    int64_t dims[8];
    size_t rank = 0, count = 1;
    OrtAllocator *allocator;
    OrtMemoryInfo *cpu;
    for (const wchar_t *p = dims_text; *p && rank < 8; rank++) {
        wchar_t *end;
        dims[rank] = wcstol(p, &end, 10);
        count *= (size_t)dims[rank];
        p = *end ? end + 1 : end;
    }
    float *data = calloc(count, sizeof *data);
    bench_must(&b->ort, b->ort.calls.GetAllocatorWithDefaultOptions(&allocator), "allocator");
    bench_must(&b->ort, b->ort.calls.CreateCpuMemoryInfo(1, 0, &cpu), "CreateCpuMemoryInfo");
    bench_must(&b->ort,
               b->ort.calls.CreateTensorWithDataAsOrtValue(cpu, data, count * sizeof *data, dims,
                                                           rank, ORT_FLOAT, &b->input),
               "CreateTensor");
    bench_must(&b->ort, b->input_name(session, 0, allocator, &b->in), "input name");
    bench_must(&b->ort, b->output_name(session, 0, allocator, &b->out), "output name");
}

static double run_us(bench *b, OrtSession *session)
{
    OrtValue *output = NULL;
    uint64_t begin = cm_monotonic_ns();
    bench_must(&b->ort,
               b->ort.calls.Run(session, NULL, (const char *const *)&b->in,
                                (const OrtValue *const *)&b->input, 1, (const char *const *)&b->out,
                                1, &output),
               "Run");
    double us = (double)(cm_monotonic_ns() - begin) / 1e3;
    b->ort.calls.ReleaseValue(output);
    return us;
}

static void tell(const char *state, double *times)
{
    size_t n = (size_t)ROUNDS * ROUND_RUNS;
    qsort(times, n, sizeof *times, bench_by_value);
    printf("%s_us_p10=%.1f\n%s_us_p50=%.1f\n", state, times[n / 10], state, times[n / 2]);
}

static int measure_time(bench *b, OrtSession *plain, OrtSession *profiled)
{
    static double alone[ROUNDS * ROUND_RUNS], armed[ROUNDS * ROUND_RUNS],
        profiler[ROUNDS * ROUND_RUNS];
    for (int i = 0; i < WARM_RUNS; i++) {
        run_us(b, plain);
        run_us(b, profiled);
    }
    for (int r = 0, n = 0; r < ROUNDS; r++, n += ROUND_RUNS) {
        for (int i = 0; i < ROUND_RUNS; i++)
            alone[n + i] = run_us(b, plain);
        bench_hook_arm(ORT_HOOK_OPS);
        run_us(b, plain); // first sight of every kernel
        for (int i = 0; i < ROUND_RUNS; i++) {
            bench_hook_drain();
            armed[n + i] = run_us(b, plain);
        }
        bench_hook_disarm();
        for (int i = 0; i < ROUND_RUNS; i++)
            profiler[n + i] = run_us(b, profiled);
    }
    tell("alone", alone);
    tell("armed", armed);
    tell("profiler", profiler);
    return 0;
}

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    static bench b;
    if (argc < 7) {
        fprintf(stderr, "usage: see the head of bench_ops.c\n");
        return 2;
    }
    int threads = (int)wcstol(argv[4], NULL, 10);
    bool count = wcscmp(argv[6], L"count") == 0;
    bench_ort_load(&b.ort, argv[1]);
    b.input_name = (io_name_fn *)b.ort.table[36];
    b.output_name = (io_name_fn *)b.ort.table[37];
    bench_hook_load(argv[3]);
    // As in bench_run.c: armed while there is no other thread.
    if (count && argc > 7 && wcscmp(argv[7], L"armed") == 0)
        bench_hook_arm(ORT_HOOK_OPS);
    bench_must(&b.ort, b.ort.calls.CreateEnv(3, "bench", &b.env), "CreateEnv");
    OrtSession *plain = open_session(&b, argv[2], threads, false);
    make_input(&b, plain, argv[5]);
    if (!count)
        return measure_time(&b, plain, open_session(&b, argv[2], threads, true));
    for (int i = 0; i < WARM_RUNS; i++)
        run_us(&b, plain);
    CALLGRIND_TOGGLE_COLLECT;
    for (int i = 0; i < COUNT_RUNS; i++)
        run_us(&b, plain);
    CALLGRIND_TOGGLE_COLLECT;
    printf("count_runs=%d\n", COUNT_RUNS);
    return 0;
}
