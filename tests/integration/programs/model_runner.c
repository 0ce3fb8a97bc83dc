// SPDX-License-Identifier: MIT
// Runs real models on fixed inputs through the C API and says what it did as one line of JSON; with
// --profile ORT itself writes down every operator that it executed.
//
//   model_runner --dll FILE [--runs N] [--threads N] [--inter N] [--streams FILE] [--async]
//       [--keep] [--workers N] [--sessions N [--rounds N]] [--envs N] [--profile PREFIX]
//       [--policy N] [--log LEVEL] [--run-options own|shared] [--pid-file FILE] [--go-file FILE]
//       [--stop-file FILE [--progress PREFIX]] [--vary N] [--policy-last] [--entries N]
//       --model FILE --input NAME=float:DIMS|NAME=int64:DIMS:VALUE ... --output NAME ...
//       [--model ...]
//
// --inter N: nodes run in parallel on N threads of their own, as far as they are in different
// streams: --streams names the file that tells ORT which are, and which ORT writes if it is not
// there. --entries N: as many in the session's options, long ones first, then --profile.
// --workers: threads that use each session at the same time, N runs each. --sessions N: every
// worker makes, runs and releases N sessions of its own instead, the models in turn; --rounds: all
// of that N times, with new workers. After each round it takes its own memory's measure: private
// bytes, and what is in use in heaps that are neither the process's nor the C library's. --envs N:
// everything N times, each time in an environment of its own. --policy: ORT chooses the providers,
// with
// --policy-last only for the last model. --log: ORT's messages from that
// level on go to stderr. --run-options: each thread, or all together, run with an object instead of
// NULL. --keep: outputs are never released. --stop-file: each worker runs one model, the models in
// turn, until that file appears; --progress: worker W adds a byte to the file PREFIXW after each
// run. --vary N: the first dimension of the inputs is as given in a worker's first run, then twice,
// up to N times that, then as given again. Sessions that are shared exist before the PID file is
// written; the runs begin when the go file appears.
#include "ort_calls.h"
#include "runner_inputs.h"
#include "runner_system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

enum { MODELS = 4, TENSORS = 4, WORKERS = 16, ROUNDS = 32 };

typedef struct model {
    const wchar_t *path;
    size_t input_count, output_count;
    runner_tensor inputs[TENSORS];
    char outputs[TENSORS][64];
    OrtSession *session;
} model;

static struct {
    const wchar_t *dll, *profile, *pid_file, *go_file, *stop_file, *run_options, *streams,
        *progress;
    int runs, threads, inter, workers, sessions, rounds, envs, policy, log, vary, entries;
    bool async, keep, policy_last;
    size_t model_count;
    model models[MODELS];
} g = {.runs = 1,
       .threads = 1,
       .workers = 1,
       .rounds = 1,
       .envs = 1,
       .policy = -1,
       .log = -1,
       .vary = 1};

#define SEED 0xcbf29ce484222325u // of the outputs' hash

static ort_calls ort;
static OrtEnv *g_env;
static OrtMemoryInfo *g_cpu;
static OrtRunOptions *g_shared;

static void die(const char *what, OrtStatus *status)
{
    fprintf(stderr, "model_runner: %s%s%s\n", what, status ? ": " : "",
            status ? ort.GetErrorMessage(status) : "");
    fflush(stderr);
    ExitProcess(99);
}

static void must(OrtStatus *status, const char *what)
{
    if (status)
        die(what, status);
}

// ---------------------------------------------------------------------------------- arguments

static void read_input(model *m, const wchar_t *text)
{
    if (m->input_count == TENSORS ||
        !runner_read_input(&m->inputs[m->input_count++], text, (size_t)g.vary))
        die("--input is NAME=TYPE:DIMS[:VALUE]", NULL);
}

static void read_value(const wchar_t *name, const wchar_t *value)
{
    model *m = g.model_count ? &g.models[g.model_count - 1] : NULL;
    const struct {
        const wchar_t *name;
        int *number;
        const wchar_t **text;
    } plain[] = {{L"--dll", NULL, &g.dll},           {L"--profile", NULL, &g.profile},
                 {L"--pid-file", NULL, &g.pid_file}, {L"--go-file", NULL, &g.go_file},
                 {L"--runs", &g.runs, NULL},         {L"--threads", &g.threads, NULL},
                 {L"--inter", &g.inter, NULL},       {L"--workers", &g.workers, NULL},
                 {L"--sessions", &g.sessions, NULL}, {L"--rounds", &g.rounds, NULL},
                 {L"--envs", &g.envs, NULL},         {L"--policy", &g.policy, NULL},
                 {L"--log", &g.log, NULL},           {L"--run-options", NULL, &g.run_options},
                 {L"--streams", NULL, &g.streams},   {L"--stop-file", NULL, &g.stop_file},
                 {L"--progress", NULL, &g.progress}, {L"--vary", &g.vary, NULL},
                 {L"--entries", &g.entries, NULL}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (wcscmp(name, plain[i].name) != 0)
            continue;
        if (plain[i].number)
            *plain[i].number = _wtoi(value);
        else
            *plain[i].text = value;
        return;
    }
    if (wcscmp(name, L"--model") == 0 && g.model_count < MODELS)
        g.models[g.model_count++].path = value;
    else if (m && wcscmp(name, L"--input") == 0)
        read_input(m, value);
    else if (m && wcscmp(name, L"--output") == 0 && m->output_count < TENSORS)
        snprintf(m->outputs[m->output_count++], 64, "%ls", value);
    else
        die("the head of model_runner.c tells how to use it", NULL);
}

// ---------------------------------------------------------------------------------- ORT

static void load(void)
{
    typedef struct api_base {
        const ort_slot *(*GetApi)(uint32_t version);
        const char *(*GetVersionString)(void);
    } api_base;
    HMODULE module = LoadLibraryExW(g.dll, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
    if (!module)
        die("cannot load the runtime", NULL);
    FARPROC entry = GetProcAddress(module, "OrtGetApiBase");
    if (!entry)
        entry = GetProcAddress(module, ORT_HIDDEN_EXPORT);
    if (!entry)
        die("this is no runtime", NULL);
    const api_base *(*get_base)(void) = (const api_base *(*)(void))(ort_slot)entry;
    int minor = atoi(get_base()->GetVersionString() + 2);
    const ort_slot *table = get_base()->GetApi((uint32_t)minor);
#define X(slot, since, result, name, parameters)                                                   \
    ort.name = minor >= since ? (result(*) parameters)table[slot] : NULL;
    ORT_CALLS(X)
#undef X
    must(ort.CreateCpuMemoryInfo(1, 0, &g_cpu), "CreateCpuMemoryInfo");
}

static OrtSession *create(const model *m)
{
    OrtSessionOptions *options = NULL;
    OrtSession *session = NULL;
    must(ort.CreateSessionOptions(&options), "CreateSessionOptions");
    must(ort.SetIntraOpNumThreads(options, g.threads), "SetIntraOpNumThreads");
    if (g.inter) {
        must(ort.SetSessionExecutionMode(options, 1), "SetSessionExecutionMode");
        must(ort.SetInterOpNumThreads(options, g.inter), "SetInterOpNumThreads");
    }
    if (g.streams) {
        char path[512];
        snprintf(path, sizeof path, "%ls", g.streams);
        must(ort.AddSessionConfigEntry(options, "session.node_partition_config_file", path),
             "AddSessionConfigEntry");
    }
    for (int i = 0; i < g.entries; i++) {
        char key[32], value[1000];
        snprintf(key, sizeof key, "ortscope_test.%d", i);
        snprintf(value, sizeof value, "%0*d", 999 / (i + 1), i);
        must(ort.AddSessionConfigEntry(options, key, value), "AddSessionConfigEntry");
    }
    if (g.profile) {
        wchar_t prefix[512]; // ORT adds the second: files of several models would have one name
        if (g.model_count > 1)
            swprintf(prefix, 512, L"%ls-%d", g.profile, (int)(m - g.models));
        else
            swprintf(prefix, 512, L"%ls", g.profile);
        must(ort.EnableProfiling(options, prefix), "EnableProfiling");
    }
    if (g.policy >= 0 && (!g.policy_last || m == &g.models[g.model_count - 1]))
        must(ort.SessionOptionsSetEpSelectionPolicy(options, g.policy), "SetEpSelectionPolicy");
    must(ort.CreateSession(g_env, m->path, options, &session), "CreateSession");
    ort.ReleaseSessionOptions(options);
    return session;
}

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const uint8_t *)data)[i]) * 0x100000001b3u;
    return hash;
}

// All outputs of these models are float tensors.
static uint64_t take_output(uint64_t hash, OrtValue *value)
{
    OrtShapeInfo *info = NULL;
    size_t rank = 0, count = 1;
    int64_t dims[16];
    void *data = NULL;
    must(ort.GetTensorTypeAndShape(value, &info), "GetTensorTypeAndShape");
    must(ort.GetDimensionsCount(info, &rank), "GetDimensionsCount");
    must(ort.GetDimensions(info, dims, rank), "GetDimensions");
    for (size_t i = 0; i < rank; i++)
        count *= (size_t)dims[i];
    ort.ReleaseTensorTypeAndShapeInfo(info);
    must(ort.GetTensorMutableData(value, &data), "GetTensorMutableData");
    hash = hash_bytes(hash, data, count * sizeof(float));
    if (!g.keep)
        ort.ReleaseValue(value);
    return hash;
}

typedef struct async_result {
    HANDLE done;
    OrtStatus *status;
} async_result;

static void async_done(void *user_data, OrtValue **outputs, size_t count, OrtStatus *status)
{
    (void)outputs;
    (void)count;
    async_result *result = user_data;
    result->status = status;
    SetEvent(result->done);
}

static uint64_t run_once(const model *m, OrtSession *session, const OrtRunOptions *run_options,
                         uint64_t hash, uint64_t number)
{
    size_t times = 1 + (size_t)(number % (uint64_t)g.vary);
    const char *inputs[TENSORS], *outputs[TENSORS];
    OrtValue *in[TENSORS], *out[TENSORS] = {0};
    for (size_t i = 0; i < m->input_count; i++) {
        runner_tensor varied = m->inputs[i], *t = &varied;
        inputs[i] = m->inputs[i].name;
        t->dims[0] *= (int64_t)times;
        t->count *= times;
        must(ort.CreateTensorWithDataAsOrtValue(g_cpu, t->data,
                                                t->count * (t->type == ORT_INT64 ? 8 : 4), t->dims,
                                                t->rank, t->type, &in[i]),
             "CreateTensorWithDataAsOrtValue");
    }
    for (size_t i = 0; i < m->output_count; i++)
        outputs[i] = m->outputs[i];
    const OrtValue *const *values = (const OrtValue *const *)in;
    if (g.async) {
        async_result result = {.done = CreateEventW(NULL, FALSE, FALSE, NULL)};
        must(ort.RunAsync(session, run_options, inputs, values, m->input_count, outputs,
                          m->output_count, out, async_done, &result),
             "RunAsync");
        WaitForSingleObject(result.done, INFINITE);
        CloseHandle(result.done);
        must(result.status, "RunAsync");
    } else {
        must(ort.Run(session, run_options, inputs, values, m->input_count, outputs, m->output_count,
                     out),
             "Run");
    }
    for (size_t i = 0; i < m->output_count; i++)
        hash = take_output(hash, out[i]);
    for (size_t i = 0; i < m->input_count; i++)
        ort.ReleaseValue(in[i]);
    return hash;
}

// ---------------------------------------------------------------------------------- workers

typedef struct worker {
    size_t number;
    uint64_t hash, runs;
} worker;

static runner_memory g_memory[ROUNDS];

// Until the stop file is there; what comes out must always be the same.
static void run_until_stopped(worker *w, const OrtRunOptions *options)
{
    const model *m = &g.models[w->number % g.model_count];
    FILE *progress = runner_open_progress(g.progress, w->number);
    while (GetFileAttributesW(g.stop_file) == INVALID_FILE_ATTRIBUTES) {
        uint64_t hash = run_once(m, m->session, options, SEED, w->runs);
        if (w->runs++ && hash != w->hash && g.vary == 1)
            die("the outputs differ from run to run", NULL);
        w->hash = hash;
        if (progress)
            fputc('.', progress), fflush(progress);
    }
    if (progress)
        fclose(progress);
}

static DWORD WINAPI work(void *parameter)
{
    worker *w = parameter;
    OrtRunOptions *options = g_shared;
    if (g.run_options && !g_shared)
        must(ort.CreateRunOptions(&options), "CreateRunOptions");
    for (int i = 0; i < g.sessions; i++) {
        const model *m = &g.models[(w->number + (size_t)i) % g.model_count];
        OrtSession *session = create(m);
        for (int r = 0; r < g.runs; r++, w->runs++)
            w->hash = run_once(m, session, options, w->hash, w->runs);
        ort.ReleaseSession(session);
    }
    if (g.stop_file)
        run_until_stopped(w, options);
    for (int r = 0; r < g.runs && !g.sessions && !g.stop_file; r++)
        for (size_t i = 0; i < g.model_count; i++, w->runs++)
            w->hash = run_once(&g.models[i], g.models[i].session, options, w->hash, w->runs);
    if (options && !g_shared)
        ort.ReleaseRunOptions(options);
    return 0;
}

static void report(const worker *workers)
{
    uint64_t hash = 0, runs = 0;
    for (int i = 0; i < g.workers; i++) {
        hash = hash_bytes(hash, &workers[i].hash, sizeof workers[i].hash);
        runs += workers[i].runs;
    }
    printf("{\"program\": \"model_runner\", \"pid\": %lu, \"runs\": %llu, \"output_hash\": "
           "\"%016llx\", \"memory\": [",
           GetCurrentProcessId(), (unsigned long long)runs, (unsigned long long)hash);
    for (int i = 0; i < g.rounds && g.rounds > 1; i++)
        printf("%s[%zu, %zu]", i ? ", " : "", g_memory[i].private_bytes,
               g_memory[i].other_heaps_bytes);
    printf("]}\n");
}

static void run_workers(worker *workers)
{
    HANDLE threads[WORKERS];
    for (int i = 0; i < g.workers; i++)
        threads[i] = CreateThread(NULL, 0, work, &workers[i], 0, NULL);
    WaitForMultipleObjects((DWORD)g.workers, threads, TRUE, INFINITE);
    for (int i = 0; i < g.workers; i++)
        CloseHandle(threads[i]);
}

static void open_env(void)
{
    must(g.log >= 0 ? ort.CreateEnvWithCustomLogger(runner_log, NULL, g.log, "model_runner", &g_env)
                    : ort.CreateEnv(3, "model_runner", &g_env),
         "CreateEnv");
    if (g.run_options && wcscmp(g.run_options, L"shared") == 0)
        must(ort.CreateRunOptions(&g_shared), "CreateRunOptions");
}

static void run_all(worker *workers)
{
    for (size_t i = 0; i < g.model_count && !g.sessions; i++)
        g.models[i].session = create(&g.models[i]);
    if (!runner_await_go(g.pid_file, g.go_file))
        die("cannot write the PID file", NULL);
    for (int i = 0; i < g.rounds; i++) {
        run_workers(workers);
        if (g.rounds > 1)
            g_memory[i] = runner_measure();
    }
    for (size_t i = 0; i < g.model_count && !g.sessions; i++)
        ort.ReleaseSession(g.models[i].session);
}

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    static worker workers[WORKERS];
    for (int i = 1; i < argc; i++) {
        if (wcscmp(argv[i], L"--async") == 0)
            g.async = true;
        else if (wcscmp(argv[i], L"--keep") == 0)
            g.keep = true;
        else if (wcscmp(argv[i], L"--policy-last") == 0)
            g.policy_last = true;
        else if (i + 1 < argc)
            read_value(argv[i], argv[i + 1]), i++;
    }
    if (!g.dll || !g.model_count || g.workers < 1 || g.workers > WORKERS || g.rounds > ROUNDS)
        die("the head of model_runner.c tells how to use it", NULL);
    load();
    for (int i = 0; i < g.workers; i++)
        workers[i] = (worker){.number = (size_t)i, .hash = SEED};
    for (int i = 0; i < g.envs; i++) {
        open_env();
        run_all(workers);
        if (g_shared)
            ort.ReleaseRunOptions(g_shared);
        ort.ReleaseEnv(g_env);
    }
    report(workers);
    return 0;
}
