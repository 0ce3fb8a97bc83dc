// SPDX-License-Identifier: MIT
// view_maker ortl FILE OPERATORS       a timeline as a capture of a service writes it
// view_maker ort-json FILE OPERATORS   the same work as ONNX Runtime's own profiler writes it
//
// Two threads run a session each, of a model with as many nodes as the tests' classifier, 2 ms a
// run, four times that for one in 512. The timeline is flushed four times a second and has what
// `run` records by default: runs, operators, memory, arenas, counters, the machine. The JSON has
// the keys, their order and the length of a line that ONNX Runtime 1.30 gives this model. The same
// numbers in every invocation.
#include "../tests/timeline_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES    229
#define WORKERS  2
#define US       INT64_C(1000)
#define MS       INT64_C(1000000)
#define COUNTERS 24

static const struct {
    const char *name, *domain;
    int64_t typical_ns;
} types[] = {
    {"Conv", "com.microsoft.nchwc", 12200},
    {"ReorderOutput", "com.microsoft.nchwc", 3900},
    {"Add", "", 8800},
    {"Clip", "", 12500},
    {"Mul", "", 11300},
    {"Div", "", 10900},
    {"ReorderInput", "com.microsoft.nchwc", 4500},
    {"GlobalAveragePool", "", 5700},
};
#define TYPES (sizeof types / sizeof *types)

static uint64_t g_random = 88172645463325252u;

static uint64_t random_bits(void)
{
    g_random ^= g_random << 13;
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    return g_random;
}

// Around the typical time of its type; one in 512 is ten times slower.
static int64_t duration_of(int node)
{
    int64_t typical = types[(size_t)node % TYPES].typical_ns * (60 + node % 7 * 15) / 100;
    uint64_t bits = random_bits();
    int64_t noise = (int64_t)(bits & 1023) + (int64_t)(bits >> 10 & 1023) - 1023;
    int64_t duration = typical + typical * noise / 8192;
    return (bits >> 20 & 511) == 0 ? duration * 10 : duration;
}

// ---------------------------------------------------------------------------------------- timeline

static tm_writer *g_writer;

typedef struct worker {
    int64_t session, thread, run, at_ns;
} worker;

static void describe_session(const worker *w)
{
    char name[48];
    ROW(session, w->session, 1, w->session * MS, 80 * MS, 0, 0, TEXT("C:\\app\\cls.onnx"), -1, 0,
        TEXT("cls"), TEXT("paddle"), TEXT("intra_op_threads=1"), TEXT("CPUExecutionProvider"), 0,
        w->thread);
    ROW(allocator, w->session, w->session, 1, 90 * MS, 2, 2, TEXT("Cpu"), TEXT("BFCArena"));
    ROW(shape, w->session, w->session, 0, 1, 1);
    ROW(tensor, w->session, 0, TEXT("x"), 1, 1, TEXT("1,3,48,192"));
    for (int node = 0; node < NODES; node++) {
        size_t type = (size_t)node % TYPES;
        snprintf(name, sizeof name, "p2o.%s.%d", types[type].name, node / (int)TYPES);
        ROW(kernel, (w->session - 1) * NODES + node + 1, w->session, 1, 100 * MS, TEXT(name),
            TEXT(types[type].name), TEXT(types[type].domain), 1, TEXT("CPUExecutionProvider"),
            TEXT("onnxruntime::Kernel"), 2, 0);
    }
}

static void describe(const worker *workers)
{
    static const char *const names[] = {"cpu_user",    "cpu_kernel",       "context_switches",
                                        "hard_faults", "threads",          "handles",
                                        "working_set", "peak_working_set", "private",
                                        "page_faults", "io_reads",         "io_writes"};
    ROW(process, 1, 4242, 0, 0, 0, TEXT("C:\\app\\service.exe"), 0);
    ROW(module, 1, 1, 0, TEXT("C:\\app\\onnxruntime.dll"), TEXT("1.30.0"), 0, 30, 0);
    ROW(fact, 0, TEXT("processor"), -1, TEXT("name"), TEXT("Example CPU"), 0);
    for (int i = 0; i < WORKERS; i++)
        describe_session(&workers[i]);
    for (int64_t i = 0; i < COUNTERS; i++) // of the process, then of a thread
        ROW(counter, i + 1, 0, TEXT("system"), TEXT(names[i % 12]), TEXT(i % 12 < 2 ? "s" : "1"),
            i % 12 < 2 ? 1000000 : 1, i % 12 < 4, i < 12 ? 1 : 2, 1, i < 12 ? -1 : 9000, 0);
}

// The rows of one run; how many operators it had.
static int64_t write_run(worker *w)
{
    int64_t begin = w->at_ns, at = begin + 4 * US, slow = random_bits() >> 40 & 511 ? 1 : 4;
    w->run++;
    for (int node = 0; node < NODES; node++) {
        int64_t duration = duration_of(node) * slow;
        ROW(op, (w->session - 1) * NODES + node + 1, w->session, w->run, w->thread, at, duration, 0,
            0);
        at += duration + 90;
    }
    at += 3 * US;
    ROW(run, w->session, w->run, w->thread, begin, at - begin, 0, 0, 1, w->session, 0);
    ROW(run_memory, w->session, w->run, at, 565800, 565736, 565800, 549600, 2, 1, 0);
    if (w->run % 2)
        ROW(memory, w->session, w->session, w->run, at, 3159000, 549600, 1115000, 524288, 0,
            w->run * 2, 1, 4, 0, 2);
    w->at_ns = at + 300 * US + (int64_t)(random_bits() & 0xffff);
    return NODES;
}

// 20 ms apart, those that changed.
static void write_samples(int64_t from_ns, int64_t to_ns)
{
    for (int64_t at = from_ns; at < to_ns; at += 20 * MS)
        for (int64_t i = 0; i < COUNTERS; i++)
            if (i % 3 != 2 || at % (100 * MS) == 0)
                ROW(sample, i + 1, at, at / (i % 12 < 2 ? 1500 : 1000000) + i, 1);
}

static int make_timeline(const char *path, int64_t operators)
{
    const tm_header header = {"0.1.0", 1790000000000000000u, "Windows 10.0.19045", "Example CPU",
                              4};
    worker workers[WORKERS];
    if (tm_writer_create(path, &header, &g_writer) != CM_OK)
        return 1;
    for (int i = 0; i < WORKERS; i++)
        workers[i] = (worker){i + 1, 9000 + i * 4, 0, 150 * MS + i * 700 * US};
    describe(workers);
    for (int64_t flush_ns = 250 * MS, done = 0; done < operators; flush_ns += 250 * MS) {
        for (int i = 0; i < WORKERS; i++)
            while (workers[i].at_ns < flush_ns && done < operators)
                done += write_run(&workers[i]);
        write_samples(flush_ns - 250 * MS, flush_ns);
        ROW(clock, flush_ns, flush_ns * 3, flush_ns / 100, 1790000000000000000 + flush_ns);
        if (tm_writer_flush(g_writer) != CM_OK)
            return 1;
    }
    return tm_writer_close(g_writer) == CM_OK ? 0 : 1;
}

// ------------------------------------------------------------------------------------ ORT's
// profile

static int64_t profile_run(FILE *f, int64_t at_ns)
{
    int64_t begin = at_ns;
    for (int node = 0; node < NODES; node++) {
        const char *type = types[(size_t)node % TYPES].name;
        int64_t duration = duration_of(node);
        fprintf(
            f,
            "{\"cat\" : \"Node\",\"pid\" :488,\"tid\" :564,\"dur\" :%" PRId64 ",\"ts\" :%" PRId64
            ",\"ph\" : \"X\",\"name\" :\"p2o.%s.%d_nchwc_kernel_time\",\"args\" : "
            "{\"mem_in_use_peak\" : \"2242312\",\"op_name\" : \"%s\",\"mem_arena_held_delta\" : "
            "\"0\",\"thread_scheduling_stats\" : \"\",\"provider\" : \"CPUExecutionProvider\","
            "\"mem_bytes_requested_in_use\" : \"604168\",\"mem_requested_in_use_delta\" : "
            "\"294912\",\"activation_size\" : \"294912\",\"mem_bytes_in_use\" : \"604168\","
            "\"input_type_shape\" : [{\"float\":[1,8,12,96]},{\"float\":[8,8,1,1]}],"
            "\"node_index\" : \"%d\",\"parameter_size\" : \"288\",\"output_size\" : \"294912\","
            "\"output_type_shape\" : [{\"float\":[1,8,12,96]}],\"mem_in_use_delta\" : "
            "\"294912\",\"mem_arena_held\" : \"3159816\"}},\n",
            duration / US, at_ns / US, type, node / (int)TYPES, type, node);
        at_ns += duration + 10 * US; // what the profiler itself adds
    }
    fprintf(f,
            "{\"cat\" : \"Session\",\"pid\" :488,\"tid\" :564,\"dur\" :%" PRId64 ",\"ts\" :%" PRId64
            ",\"ph\" : \"X\",\"name\" :\"SequentialExecutor::Execute\",\"args\" : {}},\n",
            (at_ns - begin) / US, begin / US);
    return at_ns;
}

static int make_profile(const char *path, int64_t operators)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return 1;
    fprintf(f, "[\n");
    int64_t at_ns = 100 * MS;
    for (int64_t done = 0; done < operators; done += NODES)
        at_ns = profile_run(f, at_ns) + 300 * US;
    fprintf(f,
            "{\"cat\" : \"Session\",\"pid\" :488,\"tid\" :564,\"dur\" :%" PRId64
            ",\"ts\" :1,\"ph\" : \"X\",\"name\" :\"session\",\"args\" : {}}\n]\n",
            at_ns / US);
    return fclose(f) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    int64_t operators = argc == 4 ? atoll(argv[3]) : 0;
    if (operators < 1)
        return 2;
    if (strcmp(argv[1], "ortl") == 0)
        return make_timeline(argv[2], operators);
    return strcmp(argv[1], "ort-json") == 0 ? make_profile(argv[2], operators) : 2;
}
