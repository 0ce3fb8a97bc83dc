// SPDX-License-Identifier: MIT
// Writes the timelines that the gold tests read, the same bytes every time, into the current
// directory. Numbers come from a fixed generator; change one and `scripts/bless` shows what it
// moves.
#include "gold_maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tm_writer *g_writer;
static uint64_t g_random = 88172645463325252u;

int64_t random_below(int64_t limit)
{
    g_random ^= g_random << 13;
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    return (int64_t)(g_random >> 11) % limit;
}

void check(cm_status status)
{
    if (status != CM_OK) {
        fprintf(stderr, "gold_maker: %s\n", cm_error_text(status));
        exit(1);
    }
}

void begin(const char *path)
{
    tm_header header = {.ortscope_version = "0.1.0",
                        .start_utc_ns = 1767323045678901234u,
                        .os = "Windows 10.0.19045",
                        .cpu = "Example CPU @ 3.00GHz",
                        .cpu_count = 8};
    check(tm_writer_create(path, &header, &g_writer));
}

void end(void)
{
    check(tm_writer_close(g_writer));
}

int64_t text(const char *s)
{
    return tm_writer_string(g_writer, s, strlen(s));
}

void process_and_module(void)
{
    ROW(process, 1, 4242, 0, 0, 0, text("C:\\Program Files\\nodejs\\node.exe"), 0);
    ROW(clock, 0, 1000, 2000, 1767323045678901234);
    ROW(overhead, 1, 40 * MS, 118);
    ROW(module, 1, 1, 30 * MS,
        text("C:\\app\\node_modules\\onnxruntime-node\\bin\\onnxruntime.dll"), text("1.23.2"),
        text("ORT Build Info: git-branch=rel-1.23.2"), 41, 0);
    ROW(env, 1, 45 * MS, 0, 0, text("onnxruntime-node"), 100);
}

void session(int64_t id, int64_t time, const char *model, const char *providers)
{
    ROW(session, id, 1, time, 12345678, 0, 0, text(model), -1, 0, text("main_graph"),
        text("pytorch 2.4"), text("intra_op_num_threads=4\ngraph_optimization_level=99"),
        text(providers), 0, 100);
}

void input_shape(int64_t shape, int64_t of_session, int64_t batch, const char *dims)
{
    ROW(shape, shape, of_session, 0, 1, batch);
    ROW(tensor, shape, 0, text("x"), 1, 1, text(dims));
}

void run(int64_t of_session, int64_t number, int64_t begin_ns, int64_t duration, int64_t status,
         int64_t inputs)
{
    ROW(run, of_session, number, 100 + number % 4, begin_ns, duration, 0, status, 1 + number % 3,
        inputs, 3);
}

// Session 1: a classifier with two batch sizes, a slow first run, a tail and failures.
static void classifier_runs(void)
{
    int64_t at = 100 * MS;
    for (int64_t i = 1; i <= 4000; i++) {
        bool large = i % 5 == 0, failed = i == 17 || i == 1800 || i == 1801;
        int64_t duration = (large ? 6400 : 1150) * US + random_below(large ? 900 * US : 260 * US);
        if (i == 1)
            duration = 21 * MS + 400 * US;
        if (i % 307 == 0)
            duration += 15 * MS + random_below(9 * MS);
        if (failed) {
            duration = 40 * US;
            ROW(log, 1, at + duration, 2, 1, i, 2,
                text("Got invalid dimensions for input: x for the following indices\n index: 2 "
                     "Got: 47 "
                     "Expected: 48\n Please fix either the inputs/outputs or the model."));
        }
        run(1, i, at, duration, failed ? 2 : 0, large ? 2 : 1);
        at += duration + 100 * US;
        if (i % 500 == 0)
            check(tm_writer_flush(g_writer));
    }
}

static void make_basic(void)
{
    begin("basic.ortl");
    process_and_module();
    session(1, 50 * MS, "C:\\app\\models\\ch_ppocr_mobile_v2.0_cls_infer.onnx",
            "DmlExecutionProvider,CPUExecutionProvider");
    input_shape(1, 1, 1, "1,3,48,192");
    input_shape(2, 1, 8, "8,3,48,192");
    ROW(shape, 3, 1, 1, 1, 1);
    ROW(tensor, 3, 0, text("softmax_0.tmp_0"), 1, 1, text("1,2"));
    classifier_runs();
    session(2, 10000 * MS, "models/silero_vad.onnx", "CPUExecutionProvider");
    ROW(shape, 4, 2, 0, 3, 1);
    ROW(tensor, 4, 0, text("input"), 1, 1, text("1,512"));
    ROW(tensor, 4, 1, text("state"), 1, 1, text("2,1,128"));
    ROW(tensor, 4, 2, text("sr"), 1, 7, 0);
    for (int64_t i = 1; i <= 40; i++)
        run(2, i, 10100 * MS + i * 32 * MS, 310 * US + random_below(90 * US), 0, 4);
    ROW(session, 3, 1, 11500 * MS, 3 * MS, 0, 3, text("models/gone.onnx"), -1, 0, 0, 0, 0, 0,
        text("Load model from models/gone.onnx failed. File doesn't exist"), 100);
    ROW(session_end, 2, 11600 * MS, 100);
    ROW(lost, 1, 11650 * MS, 0, 12);
    ROW(lost, 1, 11700 * MS, 1, 3);
    ROW(mark, 11800 * MS, text("end of warm-up"));
    ROW(process_end, 1, 12000 * MS, 0, 0);
    end();
}

// A program that never touched ONNX Runtime, and crashed.
static void make_no_ort(void)
{
    begin("no_ort.ortl");
    ROW(process, 1, 77, 0, 0, 0, text("C:\\Windows\\System32\\notepad.exe"), 0);
    ROW(process_end, 1, 1500 * MS, 0, 0xc0000005);
    end();
}

// Attached to a process with a child; a session from before; a model given as bytes; one run only.
static void make_attached(void)
{
    begin("attached.ortl");
    ROW(process, 1, 500, 0, 0, 1, text("C:\\Python\\python.exe"), 0);
    ROW(process, 2, 501, 1, 5 * MS, 2, text("C:\\Python\\real\\python.exe"), 0);
    ROW(module, 1, 2, 6 * MS, text("C:\\Python\\onnxruntime_pybind11_state.pyd"), text("1.20.1"), 0,
        40, 1);
    ROW(module, 2, 2, 7 * MS, text("D:\\other\\onnxruntime.dll"), text("1.15.0"), 0, 38, 0);
    ROW(session, 1, 1, 10 * MS, 0, 7, 0, 0, -1, 0, 0, 0, 0, text("CPUExecutionProvider"), 0, 9);
    ROW(session, 2, 2, 11 * MS, 2 * MS, 1, 0, 0, 582663, 1234567890123456789, text("torch_jit"), 0,
        0, text("CPUExecutionProvider"), 0, 9);
    for (int64_t i = 1; i <= 5; i++)
        run(1, i, 20 * MS + i * 10 * MS, 1 * MS + i * 100 * US, 0, 0);
    run(2, 1, 200 * MS, 777 * US, 0, 0);
    ROW(log, 2, 210 * MS, 3, 0, 0, 0,
        text("one function of ONNX Runtime could not be intercepted"));
    ROW(process_end, 2, 300 * MS, 1, -1);
    ROW(process_end, 1, 300 * MS, 1, -1);
    end();
}

// Text that wants to do things to a terminal, to JSON and to CSV.
static void make_hostile(void)
{
    begin("hostile.ortl");
    ROW(process, 1, 13, 0, 0, 0, text("C:\\\x1b[31m\x07 evil\x1b]0;title\x07.exe"), 0);
    ROW(module, 1, 1, 1 * MS, text("a\xff\xfe,\"quoted\"\n.dll"), text("1.\x1b[2J"), 0, 1, 0);
    ROW(session, 1, 1, 2 * MS, 1 * MS, 0, 0,
        text("\xe6\xa8\xa1\xe5\x9e\x8b \xe2\x80\xae"
             "exe.xnno,\"=cmd()\"\r\n"),
        -1, 0, 0, 0, 0, text(",CPUExecutionProvider,,\x1b[0m"), 0, 1);
    ROW(shape, 1, 1, 0, 2, 1);
    ROW(tensor, 1, 0, text("\x1b]8;;http://x\x07name"), 1, 99, text("1,\x1b[31m"));
    run(1, 1, 3 * MS, 1 * MS, 0, 1);
    run(1, 2, 5 * MS, 1 * MS, 250, 1);
    ROW(log, 1, 6 * MS, 2, 1, 2, 250, text("bad\x1b[5m\nthing"));
    end();
}

// More sessions than fit on a screen.
static void make_many(void)
{
    begin("many.ortl");
    process_and_module();
    for (int64_t id = 1; id <= 30; id++) {
        char model[64];
        snprintf(model, sizeof model, "models/model_%02d.onnx", (int)id);
        session(id, id * MS, model, "CPUExecutionProvider");
        for (int64_t i = 1; i <= id; i++)
            run(id, i, 100 * MS + i * 10 * MS + id, id * 100 * US, i % 13 == 0 ? 6 : 0, 0);
    }
    ROW(process_end, 1, 600 * MS, 2, 1);
    end();
}

// Sessions that nothing declares, runs before their shape, negative and absurd numbers.
static void make_odd(void)
{
    begin("odd.ortl");
    run(9, 1, 10 * MS, 2 * MS, 0, 5);
    run(9, 2, 5 * MS, 4 * MS, 0, 5);
    run(9, 3, 20 * MS, -5, 0, 5);
    run(9, 4, INT64_MAX - 10, INT64_MAX, 0, 6);
    check(tm_writer_flush(g_writer));
    ROW(tensor, 5, 0, text("x"), 1, 1, text("4,4"));
    check(tm_writer_flush(g_writer));
    ROW(shape, 5, 9, 0, 1, 4);
    ROW(lost, 1, 30 * MS, 77, 5);
    ROW(lost, 1, 30 * MS, 0, -5);
    end();
}

// A copy of `from` without its last `drop` bytes, or with the byte there changed. Counted from the
// end: the header grows whenever a kind of row is added.
static void copy_damaged(const char *from, const char *to, long drop, bool flip)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    if (!in || !out) {
        fprintf(stderr, "gold_maker: could not copy %s\n", from);
        exit(1);
    }
    fseek(in, 0, SEEK_END);
    long size = ftell(in), keep = size - drop;
    rewind(in);
    for (long i = 0; i < size; i++) {
        int c = fgetc(in);
        if (flip && i == keep)
            c ^= 0x55;
        if (flip || i < keep)
            fputc(c, out);
    }
    fclose(in);
    fclose(out);
}

static void make_text_file(void)
{
    FILE *out = fopen("text.txt", "wb");
    if (!out)
        exit(1);
    fputs("This is not a timeline, but it is longer than the header of one would have to be.\n",
          out);
    fclose(out);
}

int main(void)
{
    make_text_file();
    make_basic();
    make_no_ort();
    make_attached();
    make_hostile();
    make_many();
    make_odd();
    make_ops();
    make_slow_ops();
    make_class_ops();
    make_odd_ops();
    make_edges();
    make_memory();
    make_odd_memory();
    make_overlapping_memory();
    make_never_run();
    make_shared_memory();
    make_counters();
    make_diff();
    make_generation();
    make_machine();
    make_outliers();
    make_recording();
    make_fleet();
    make_slow_crowded();
    copy_damaged("basic.ortl", "cut.ortl", 24000, false);
    copy_damaged("basic.ortl", "flipped.ortl", 24000, true);
    copy_damaged("no_ort.ortl", "stump.ortl", 1400, false);
    return 0;
}
