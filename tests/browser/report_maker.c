// SPDX-License-Identifier: MIT
// report_maker FILE [hostile|wide]: a timeline for the page: 1200 runs of a model with some slow
// ones, a second session with other threads and a Loop, memory, counters, a failed run. With
// `hostile`, every name in it is a piece of HTML or script that must stay a name.
#include "../timeline_rows.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NODES 60
#define RUNS  1200

static tm_writer *g_writer;
static bool g_hostile;

static const char *const attacks[] = {
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "\"><svg onload=window.hacked=1>",
    "<!--<script>",
    "' onmouseover='window.hacked=1",
    "javascript:window.hacked=1",
    "</style><style>*{display:none}</style>",
    "\xE2\x80\xA8window.hacked=1\xE2\x80\xA9",
    "{{constructor.constructor('window.hacked=1')()}}",
    "\\u003cscript\\u003ewindow.hacked=1",
};

// The name, or an attack in its place: each with a number, so that names stay different.
static int64_t name(const char *plain, int number)
{
    char out[200];
    size_t count = sizeof attacks / sizeof *attacks;
    if (!g_hostile)
        snprintf(out, sizeof out, "%s", plain);
    else
        snprintf(out, sizeof out, "%s %d", attacks[(size_t)number % count], number);
    return TEXT(out);
}

static void describe(void)
{
    static const char *const types[] = {"Conv", "Relu", "Add", "MatMul", "Softmax", "Concat"};
    char node[64];
    ROW(process, 1, 4242, 0, 0, 0, name("C:\\app\\reader.exe", 0), 0);
    ROW(module, 1, 1, 0, name("C:\\app\\onnxruntime.dll", 1), TEXT("1.20.1"), 0, 1, 0);
    for (int64_t session = 1; session <= 2; session++) {
        ROW(session, session, 1, session * 1000000, 40000000, 0, 0,
            name(session == 1 ? "C:\\models\\detect.onnx" : "C:\\models\\loop.onnx", (int)session),
            -1, 0, name("graph", 3), 0, 0, name("CPUExecutionProvider", 4), 0, 100);
        ROW(shape, session, session, 0, 1, 1);
        ROW(tensor, session, 0, name("images", 5), 1, 1, TEXT("1,3,224,224"));
        for (int n = 0; n < NODES; n++) {
            snprintf(node, sizeof node, "block%d/%s_%d", n / 6, types[n % 6], n);
            ROW(kernel, session * 1000 + n, session, 1, 2000, name(node, n),
                name(types[n % 6], n % 6), n % 12 == 0 ? TEXT("com.microsoft.nchwc") : 0, 13,
                name("CPUExecutionProvider", 4), 0, 1, 0);
        }
    }
    ROW(log, 1, 5000000, 3, 1, 0, 0,
        name("Some nodes were not assigned to the preferred provider.", 6));
    ROW(allocator, 1, 1, 1, 1000, 2, 2, name("Cpu", 7), name("BFCArena", 8));
}

// The same numbers every time.
static uint32_t random_number(void)
{
    static uint32_t state = 7;
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static int64_t run_of_detect(int64_t run, int64_t begin)
{
    int64_t at = begin + 4000;
    bool slow = run % 173 == 100, first = run == 1;
    for (int n = 0; n < NODES; n++) {
        int64_t took = 8000 + (n % 6) * 3000 + (int64_t)(random_number() % 2500);
        if (first)
            took *= 4;
        if (slow && n == 18)
            took *= 600;
        ROW(op, 1000 + n, 1, run, 100, at, took, 0, 0);
        at += took + 150;
    }
    ROW(run, 1, run, 100, begin, at + 3000 - begin, 0, 0, 1, 1, 0);
    ROW(memory, 1, 1, run, at + 3000, 8000000 + run / 400 * 1000000, 3000000 + run % 7 * 1000,
        6000000, 1000000, 0, run * 3, 0, 1 + run / 400, 0, 2);
    ROW(run_memory, 1, run, at + 3000, 900000, 900000, 850000, 3000000, 3, 3, 0);
    ROW(overhead, 1, at + 3000, 900 + run % 50);
    return at + 3000;
}

// A Loop around five operators, and two on another thread.
static void run_of_loop(int64_t run, int64_t begin)
{
    ROW(op, 2000, 2, run, 101, begin + 1000, 300000, 0, 0);
    for (int n = 1; n <= 5; n++)
        ROW(op, 2000 + n, 2, run, 101, begin + 1000 + n * 50000, 40000, 1, 0);
    ROW(op, 2010, 2, run, 202, begin + 20000, 90000, 0, 0);
    ROW(op, 2011, 2, run, 202, begin + 120000, 60000, 0, 0);
    ROW(run, 2, run, 101, begin, 310000, 0, run == 9 ? 2 : 0, 1, 2, 0);
}

static void counters(int64_t end)
{
    ROW(sampling, 0, TEXT("process"), 20000, 0);
    ROW(counter, 1, 0, TEXT("process"), TEXT("cpu_user"), TEXT("s"), 1000000, 1, 1, 1, -1, 0);
    ROW(counter, 2, 0, TEXT("process"), TEXT("cpu_kernel"), TEXT("s"), 1000000, 1, 1, 1, -1, 0);
    ROW(counter, 3, 0, TEXT("process"), TEXT("working_set"), TEXT("B"), 1, 0, 1, 1, -1, 0);
    ROW(counter, 4, 0, TEXT("nvml"), TEXT("power"), TEXT("W"), 1000, 0, 4, 0, 0, name("GPU", 9));
    ROW(counter, 5, 0, TEXT("nvml"), TEXT("gpu_utilization"), TEXT("%"), 1, 0, 4, 0, 0,
        name("GPU", 9));
    for (int64_t time = 0, i = 0; time < end; time += 20000000, i++) {
        ROW(sample, 1, time, i * 15000, 1);
        ROW(sample, 2, time, i * 1000, 1);
        ROW(sample, 3, time, 90000000 + i % 9 * 1000000, 1);
        ROW(sample, 4, time, 20000 + i % 5 * 4000, 1);
        ROW(sample, 5, time, 40 + i % 30, 1);
    }
}

static int64_t wide(void)
{
    enum { WIDE_SESSIONS = 20, WIDE_NODES = 800, WIDE_RUNS = 60 };
    char node[200];
    int64_t time = 1000000;
    ROW(process, 1, 4242, 0, 0, 0, TEXT("C:\\app\\reader.exe"), 0);
    ROW(module, 1, 1, 0, TEXT("onnxruntime.dll"), TEXT("1.20.1"), 0, 1, 0);
    for (int64_t session = 1; session <= WIDE_SESSIONS; session++) {
        snprintf(node, sizeof node, "C:\\models\\model_%d.onnx", (int)session);
        ROW(session, session, 1, session * 1000, 40000000, 0, 0, TEXT(node), -1, 0, 0, 0, 0,
            TEXT("CPUExecutionProvider"), 0, 100);
        for (int64_t n = 0; n < WIDE_NODES; n++) {
            snprintf(node, sizeof node,
                     "/model/encoder/layers.%d/self_attention/query_key_value/%s/%d_%d",
                     (int)n / 16,
                     "MatMul_token_with_a_name_as_exporters_make_them_and_then_some_more_that_"
                     "makes_it_longer",
                     (int)session, (int)n);
            ROW(kernel, session * 1000 + n, session, 1, 2000, TEXT(node), TEXT("MatMul"), 0, 13,
                TEXT("CPUExecutionProvider"), 0, 1, 0);
        }
        for (int64_t run = 1; run <= WIDE_RUNS; run++) {
            int64_t begin = time;
            for (int64_t n = 0; n < WIDE_NODES; n++, time += 1000)
                ROW(op, session * 1000 + n, session, run, 100, time, 900, 0, 0);
            time += run % 10 == 0 ? 4000000 : (int64_t)(random_number() % 50000);
            ROW(run, session, run, 100, begin, time - begin, 0, 0, 1, 0, 0);
        }
    }
    return time;
}

int main(int argc, char **argv)
{
    tm_header header = {.ortscope_version = "0.1.0",
                        .start_utc_ns = 1790000000000000000,
                        .os = "Windows 10.0.22631",
                        .cpu = "A processor",
                        .cpu_count = 8};
    g_hostile = argc == 3 && strcmp(argv[2], "hostile") == 0;
    if (argc < 2 || tm_writer_create(argv[1], &header, &g_writer) != CM_OK)
        return 2;
    if (argc == 3 && strcmp(argv[2], "wide") == 0) {
        counters(wide());
        return tm_writer_close(g_writer) == CM_OK ? 0 : 1;
    }
    describe();
    int64_t time = 100000000;
    for (int64_t run = 1; run <= RUNS; run++) {
        if (run % 50 == 0)
            run_of_loop(run / 50, time + 10000);
        time = run_of_detect(run, time) + 400000 + (run % 300 == 0 ? 250000000 : 0);
    }
    counters(time);
    ROW(process_end, 1, time, 0, 0);
    return tm_writer_close(g_writer) == CM_OK ? 0 : 1;
}
