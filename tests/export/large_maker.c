// SPDX-License-Identifier: MIT
// large_maker FILE OPERATORS: a timeline as a long capture writes it. Four threads run two sessions
// at once; a flush has the runs before the operators and one thread after the other, so that rows
// are out of order as in real files; every eighth run has operators on a second thread.
#include "../timeline_rows.h"

#include <stdio.h>
#include <stdlib.h>

#define NODES   50
#define THREADS 4

static tm_writer *g_writer;

static void describe(void)
{
    char name[32];
    ROW(process, 1, 4242, 0, 0, 0, TEXT("C:\\app\\node.exe"), 0);
    ROW(module, 1, 1, 0, TEXT("onnxruntime.dll"), TEXT("1.20.1"), 0, 1, 0);
    for (int64_t session = 1; session <= 2; session++) {
        ROW(session, session, 1, session * 1000, 500, 0, 0, TEXT("large.onnx"), -1, 0, 0, 0, 0,
            TEXT("CPUExecutionProvider"), 0, 100);
        for (int64_t node = 0; node < NODES; node++) {
            snprintf(name, sizeof name, "block%d/conv", (int)node);
            ROW(kernel, session * 1000 + node, session, 1, 2000, TEXT(name),
                TEXT(node % 3 ? "Conv" : "Relu"), 0, 13, TEXT("CPUExecutionProvider"), 0, 1, 0);
        }
    }
}

// One run on each thread: rows of runs first.
static void flush_of_runs(int64_t round)
{
    int64_t length = 100 + NODES * 1000;
    for (int64_t t = 0; t < THREADS; t++)
        ROW(run, 1 + t % 2, round * 2 + t / 2 + 1, 100 + t, 10000 + round * 60000 + t * 7, length,
            0, 0, 2, 0, 0);
    for (int64_t t = 0; t < THREADS; t++) {
        for (int64_t node = 0; node < NODES; node++) {
            bool elsewhere = round % 8 == 0 && node % 10 == 9;
            ROW(op, (1 + t % 2) * 1000 + node, 1 + t % 2, round * 2 + t / 2 + 1,
                elsewhere ? 200 + t : 100 + t, 10000 + round * 60000 + t * 7 + 50 + node * 1000,
                900 + node, 0, 0);
        }
    }
}

int main(int argc, char **argv)
{
    tm_header header = {.ortscope_version = "0.1.0", .os = "Windows", .cpu = "CPU", .cpu_count = 4};
    int64_t operators = argc == 3 ? atoll(argv[2]) : 0;
    if (operators < 1 || tm_writer_create(argv[1], &header, &g_writer) != CM_OK)
        return 2;
    describe();
    for (int64_t round = 0; round * THREADS * NODES < operators; round++) {
        flush_of_runs(round);
        if (round % 500 == 499 && tm_writer_flush(g_writer) != CM_OK)
            return 1;
    }
    return tm_writer_close(g_writer) == CM_OK ? 0 : 1;
}
