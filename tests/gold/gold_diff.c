// SPDX-License-Identifier: MIT
// Pairs of timelines for `diff`: the same program before and after a change. Each model is changed
// in another way, and so are runtime, machine, options and inputs.
#include "gold_maker.h"

#include <stdbool.h>

#define CPU "CPUExecutionProvider"

// Around `typical` with a tail to the right, by `noise` parts of a thousand.
static int64_t noisy(int64_t typical, int64_t noise)
{
    int64_t sum = 0;
    for (int i = 0; i < 4; i++)
        sum += random_below(typical * noise / 1000 + 1);
    return typical + sum / 2 + (random_below(50) == 0 ? typical / 3 : 0);
}

static void model(int64_t id, const char *path, int64_t load, const char *options)
{
    ROW(session, id, 1, 50 * MS + id, load, 0, 0, text(path), -1, 0, text("main_graph"),
        text("pytorch 2.4"), text(options), text(CPU), 0, 100);
}

// One run with its three operators and its memory.
static int64_t run_with_ops(int64_t id, int64_t number, int64_t at, int64_t conv_us, int64_t peak)
{
    int64_t now = at + 5 * US;
    const int64_t times[] = {noisy(conv_us * US, 60), noisy(200 * US, 60), noisy(90 * US, 60)};
    for (int64_t i = 0; i < 3; i++) {
        ROW(op, id * 10 + i, id, number, 101, now, times[i], 0, 0);
        now += times[i] + 2 * US;
    }
    if (number == 1)
        now += 9 * MS; // warming up
    ROW(run, id, number, 101, at, now - at, 0, 0, 1, id, 0);
    ROW(run_memory, id, number, now, peak, peak, peak, 1000000, 3, 3, 0);
    return now;
}

static void kernels(int64_t id, const char *third)
{
    const char *const types[] = {"Conv", "MatMul", third};
    const char *const nodes[] = {"/conv1", "/fc", third};
    for (int64_t i = 0; i < 3; i++)
        ROW(kernel, id * 10 + i, id, 1, 60 * MS, text(nodes[i]), text(types[i]), text(""), 13,
            text(CPU), text(""), 1, 0);
}

static void make_side(const char *path, bool after)
{
    tm_header header = {.ortscope_version = "0.1.0",
                        .start_utc_ns = 1767323045678901234u,
                        .os = "Windows 10.0.19045",
                        .cpu = "Example CPU @ 3.00GHz",
                        .cpu_count = after ? 4 : 8};
    check(tm_writer_create(path, &header, &g_writer));
    ROW(process, 1, 4242, 0, 0, 0, text("C:\\app\\app.exe"), 0);
    ROW(module, 1, 1, 30 * MS, text("C:\\app\\onnxruntime.dll"), text(after ? "1.30.0" : "1.23.2"),
        text(""), 41, 0);
    ROW(fact, 0, text("memory"), -1, text("bytes"), 0, 17179869184);
    ROW(fact, 0, text("gpu"), 0, text("driver"), text(after ? "32.0.15" : "31.0.24"), 0);
    ROW(fact, 0, text("power"), -1, text("plan"), text(after ? "Power saver" : "Balanced"), 0);
    model(1, after ? "D:\\ci\\models\\slower.onnx" : "C:\\work\\models\\slower.onnx", 30 * MS,
          after ? "intra_op_num_threads=2\nenable_cpu_mem_arena=1" : "intra_op_num_threads=4");
    model(2, "models/same.onnx", 20 * MS, "");
    model(3, "models/few.onnx", 20 * MS, "");
    model(4, after ? "models/added.onnx" : "models/dropped.onnx", 20 * MS, "");
    model(5, after ? "models/another.onnx" : "models/gone.onnx", 20 * MS, "");
    for (int64_t i = 1; i <= 5; i++)
        input_shape(i, i, 1, i == 3 && after ? "1,3,64,64" : "1,3,32,32");
    kernels(1, after ? "FusedRelu" : "Relu");
    kernels(2, "Relu");
    int64_t at = 100 * MS;
    for (int64_t i = 1; i <= 400; i++) {
        at = run_with_ops(1, i, at, after ? 900 : 700, after ? 3000000 : 2000000) + 50 * US;
        at = run_with_ops(2, i, at, 700, 2000000) + 50 * US;
        if (i <= 6)
            run(3, i, at, noisy((after ? 3 : 2) * MS, 60), 0, 3);
        if (i <= 12)
            run(4, i, at, MS, 0, 4);
        if (i <= 2)
            run(5, i, at, MS, 0, 5);
        at += 6 * MS;
    }
    ROW(process_end, 1, at, 0, 0);
    end();
}

void make_diff(void)
{
    make_side("diff_old.ortl", false);
    make_side("diff_new.ortl", true);
}
