// SPDX-License-Identifier: MIT
// What recording every operator costs, with a real model: the same session alone and recorded, a
// second one made and run with the shim (ONNX Runtime 1.25 and later), and others with ORT's own
// profiler on, run by run in turn within one process. Prints key=value lines.
//
//   bench_ops DLL MODEL HOOK THREADS DIMS time          DIMS of the one input: 1,3,48,192
//   bench_ops DLL MODEL HOOK THREADS DIMS alloc         the same with allocations instead
//   bench_ops DLL MODEL HOOK THREADS DIMS etw           and with somebody who listens by ETW
//   bench_ops DLL MODEL HOOK THREADS DIMS count WHAT RUNS
//                                                      so many runs, for cachegrind; WHAT
//                                                      is plain, armed, shim, profiler, stats,
//                                                      all or etw
#include "bench_etw.h"
#include "bench_hook.h"
#include "bench_ort.h"
#include "common/os.h"
#include "tracelogging/hook_contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <windows.h>

// What differs by little is measured in as many rounds as fit into the time, and at least these.
#define ROUNDS      96
#define ROUNDS_MOST 480
#define ROUNDS_NS   60000000000u
// A state whose cost is many times as high is measured in every fifth of the first rounds: no
// divisor of six, so that whoever comes next is another each time.
#define SELDOM     5
#define ROUND_RUNS 20
#define WARM_RUNS  10
#define COUNT_WARM 3 // counted, not timed: after two runs nothing of ours is new
#define CALM_RUNS  2 // before each round: what the round before left in the caches is not measured

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

enum { ALONE, ARMED, AGAIN, PROFILER, SHIMMED, STATES_MAX };

// What was measured of one state, round by round; a name of NULL ends the list.
typedef struct state {
    const char *name;
    int every; // so many of the first rounds it was measured; 0: in all of them
    double us[ROUNDS_MOST][ROUND_RUNS];
} state;

static int g_rounds; // that were measured

// Sorted: the run that is `percent` of the way through a round.
static double of_round(const state *s, int round, int percent)
{
    return s->us[round][ROUND_RUNS * percent / 100];
}

static double median_of_rounds(const state *s, const state *reference, int percent)
{
    double values[ROUNDS_MOST];
    size_t count = 0;
    for (int r = 0; r < (s->every ? ROUNDS : g_rounds); r += s->every ? s->every : 1) {
        values[count] = of_round(s, r, percent);
        if (reference)
            values[count] /= of_round(reference, r, percent);
        count++;
    }
    qsort(values, count, sizeof *values, bench_by_value);
    return values[count / 2];
}

// Each round is compared with the round of the state alone beside it, so that a machine that is
// slower for a while is so for both; the median of the rounds counts.
static void tell(state *states)
{
    for (state *s = states; s->name; s++)
        for (int r = 0; r < g_rounds; r++)
            qsort(s->us[r], ROUND_RUNS, sizeof s->us[r][0], bench_by_value);
    for (const state *s = states; s->name; s++)
        for (int percent = 10; percent <= 50; percent += 40)
            printf("%s_%s_p%d=%.4f\n", s->name, s == &states[ALONE] ? "us" : "ratio", percent,
                   median_of_rounds(s, s == &states[ALONE] ? NULL : &states[ALONE], percent));
}

#define SHIM   (ORT_HOOK_OPS | ORT_HOOK_OPS_SHIM)
#define LISTEN (1u << 31) // a flag of ours: armed, and a session listens to everything
#define ETW    (ORT_HOOK_OPS | LISTEN)

static void arm(uint32_t flags)
{
    bench_hook_arm(flags & ~LISTEN);
    if (flags & LISTEN)
        bench_etw_listen();
}

// One round of runs, recorded if there are flags (hook_contract.h). The ring holds a whole round:
// it is emptied at the end, since a target's own threads never do it.
static void measure_round(bench *b, OrtSession *session, uint32_t flags, double *times)
{
    if (flags) {
        arm(flags);
        run_us(b, session); // first sight of every kernel and arena
    }
    for (int i = 0; i < CALM_RUNS; i++)
        run_us(b, session);
    for (int i = 0; i < ROUND_RUNS; i++)
        times[i] = run_us(b, session);
    if (flags) {
        bench_hook_drain();
        bench_hook_disarm();
    }
}

static void run_times(bench *b, OrtSession *session, int runs)
{
    for (int i = 0; i < runs; i++)
        run_us(b, session);
}

static void warm_up(bench *b, OrtSession *session)
{
    run_times(b, session, WARM_RUNS);
}

// A session of its own each time: its profiler keeps every event in memory, and the more there are
// the slower it gets.
static void measure_profiler(bench *b, const wchar_t *model, int threads, double *times)
{
    OrtSession *session = open_session(b, model, threads, true);
    warm_up(b, session);
    measure_round(b, session, 0, times);
    b->ort.calls.ReleaseSession(session);
}

// `shimmed` NULL: this runtime is too old for it. `again` is the state alone once more: what it
// differs by is how exact the others are.
static int measure_time(bench *b, const wchar_t *model, int threads, OrtSession *plain,
                        OrtSession *shimmed)
{
    static state states[STATES_MAX + 1] = {[ALONE] = {.name = "alone"},
                                           [ARMED] = {.name = "armed"},
                                           [AGAIN] = {.name = "again"},
                                           [PROFILER] = {.name = "profiler", .every = SELDOM},
                                           [SHIMMED] = {.name = "shim", .every = SELDOM}};
    // Each comes first, in the middle, last, and after each other one equally often.
    static const uint8_t turns[6][3] = {{ALONE, ARMED, AGAIN}, {AGAIN, ARMED, ALONE},
                                        {ARMED, AGAIN, ALONE}, {ALONE, AGAIN, ARMED},
                                        {AGAIN, ALONE, ARMED}, {ARMED, ALONE, AGAIN}};
    uint64_t spent_ns = 0;
    warm_up(b, plain);
    if (shimmed)
        warm_up(b, shimmed);
    else
        states[SHIMMED].name = NULL;
    for (int r = 0; r < ROUNDS_MOST && (r < ROUNDS || spent_ns < ROUNDS_NS); r++) {
        uint64_t begin = cm_monotonic_ns();
        for (int i = 0; i < 3; i++)
            measure_round(b, plain, turns[r % 6][i] == ARMED ? ORT_HOOK_OPS : 0,
                          states[turns[r % 6][i]].us[r]);
        spent_ns += cm_monotonic_ns() - begin;
        g_rounds++;
        if (r >= ROUNDS || r % SELDOM != 0)
            continue;
        measure_profiler(b, model, threads, states[PROFILER].us[r]);
        if (shimmed)
            measure_round(b, shimmed, SHIM, states[SHIMMED].us[r]);
    }
    printf("rounds=%d\n", g_rounds);
    tell(states);
    return 0;
}

static int measure_etw(bench *b, OrtSession *session)
{
    static state states[STATES_MAX + 1] = {{.name = "alone"}, {.name = "armed"}, {.name = "etw"}};
    warm_up(b, session);
    for (int r = 0; r < ROUNDS; r++, g_rounds++) {
        measure_round(b, session, 0, states[0].us[r]);
        measure_round(b, session, ORT_HOOK_OPS, states[1].us[r]);
        measure_round(b, session, ETW, states[2].us[r]);
    }
    tell(states);
    // What one inference writes, away from the beginning.
    arm(ETW);
    warm_up(b, session);
    bench_etw_written before = bench_etw_count();
    for (int i = 0; i < ROUND_RUNS; i++) {
        bench_hook_drain();
        run_us(b, session);
    }
    bench_etw_written after = bench_etw_count();
    printf("events_per_run=%.1f\nbytes_per_run=%.0f\n",
           (double)(after.events - before.events) / ROUND_RUNS,
           (double)(after.bytes - before.bytes) / ROUND_RUNS);
    bench_hook_disarm();
    return 0;
}

#define STATS ORT_HOOK_ALLOC_STATS
#define ALL   (ORT_HOOK_ALLOC_STATS | ORT_HOOK_ALLOC_ALL)

static int measure_alloc(bench *b, OrtSession *session)
{
    static state states[STATES_MAX + 1] = {{.name = "alone"}, {.name = "stats"}, {.name = "all"}};
    warm_up(b, session);
    for (int r = 0; r < ROUNDS; r++, g_rounds++) {
        measure_round(b, session, 0, states[0].us[r]);
        measure_round(b, session, STATS, states[1].us[r]);
        measure_round(b, session, ALL, states[2].us[r]);
    }
    tell(states);
    return 0;
}

static uint32_t flags_of(const wchar_t *word)
{
    return wcscmp(word, L"armed") == 0   ? ORT_HOOK_OPS
           : wcscmp(word, L"shim") == 0  ? SHIM
           : wcscmp(word, L"stats") == 0 ? STATS
           : wcscmp(word, L"all") == 0   ? ALL
           : wcscmp(word, L"etw") == 0   ? ETW
                                         : 0;
}

static int measure_count(bench *b, OrtSession *session, int runs)
{
    run_times(b, session, COUNT_WARM + runs);
    printf("count_runs=%d\n", runs);
    return 0;
}

static OrtSession *open_shimmed(bench *b, const wchar_t *model, int threads)
{
    if (b->ort.minor < 25)
        return NULL;
    bench_hook_arm(SHIM);
    OrtSession *session = open_session(b, model, threads, false);
    bench_hook_disarm();
    return session;
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
    const wchar_t *count = wcscmp(argv[6], L"count") == 0 && argc > 8 ? argv[7] : NULL;
    bench_ort_load(&b.ort, argv[1]);
    b.input_name = (io_name_fn *)b.ort.table[36];
    b.output_name = (io_name_fn *)b.ort.table[37];
    bench_hook_load(argv[3]);
    bench_etw_install();
    // As in bench_run.c: armed while there is no other thread.
    if (count && flags_of(count))
        arm(flags_of(count));
    bench_must(&b.ort, b.ort.calls.CreateEnv(3, "bench", &b.env), "CreateEnv");
    bool profiler = count && wcscmp(count, L"profiler") == 0;
    OrtSession *plain = open_session(&b, argv[2], threads, profiler);
    make_input(&b, plain, argv[5]);
    if (wcscmp(argv[6], L"alloc") == 0)
        return measure_alloc(&b, plain);
    if (wcscmp(argv[6], L"etw") == 0)
        return measure_etw(&b, plain);
    if (count)
        return measure_count(&b, plain, (int)wcstol(argv[8], NULL, 10));
    return measure_time(&b, argv[2], threads, plain, open_shimmed(&b, argv[2], threads));
}
