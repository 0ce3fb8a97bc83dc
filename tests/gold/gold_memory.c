// SPDX-License-Identifier: MIT
// Timelines with memory, loading and ORT's own events for the gold tests.
#include "gold_maker.h"

#define CPU "CPUExecutionProvider"
#define KIB ((int64_t)1024)
#define MIB ((int64_t)1024 * 1024)

static void load(int64_t id, int64_t time, int64_t duration, const char *model)
{
    ROW(session, id, 1, time, duration, 0, 0, text(model), -1, 0, 0, 0, 0, text(CPU), 0, 100);
}

static void phases(int64_t id, int64_t begin_ns, int64_t read, int64_t optimise, int64_t kernels)
{
    ROW(phase, id, begin_ns, read, 1, 1);
    ROW(phase, id, begin_ns + read, optimise, 2, 1);
    ROW(phase, id, begin_ns + read + optimise, kernels, 3, 1);
}

// The state of an arena after a run.
static void state(int64_t arena, int64_t of_session, int64_t number, int64_t time, int64_t held,
                  int64_t in_use, int64_t extensions)
{
    ROW(memory, arena, of_session, number, time, held, in_use, in_use + MIB, 512 * KIB, 0,
        100 + 12 * number, 3, extensions, 0, 1);
}

// Session 1: steady, with everything that can be known.
static void steady_runs(void)
{
    for (int64_t i = 1; i <= 60; i++) {
        int64_t at = 600 * MS + i * 5 * MS, noise = random_below(3) * 256;
        run(1, i, at, 2 * MS + random_below(100 * US), 0, 0);
        ROW(run_memory, 1, i, at + 2 * MS, 1200 * KIB + (i == 1 ? MIB : 0), 1196 * KIB, 800 * KIB,
            18 * MIB + noise, 12, 11, i == 4 ? 8 * MIB : 0);
        state(1, 1, i, at + 2 * MS, i < 4 ? 16 * MIB : 24 * MIB, 18 * MIB + noise, i < 4 ? 4 : 5);
    }
}

// Session 2 leaks a KiB a run; nobody counted what its runs allocate.
static void leaking_runs(void)
{
    for (int64_t i = 1; i <= 300; i++) {
        int64_t at = 1000 * MS + i * MS;
        run(2, i, at, 200 * US + random_below(50 * US), 0, 0);
        state(2, 2, i, at + 300 * US, 8 * MIB, 2 * MIB + i * KIB + random_below(6 * KIB), 3);
    }
}

// Session 3 is session 1 again, in an arena that still grows; 4 has run a few times only, and only
// the hook has counted.
static void young_runs(void)
{
    for (int64_t i = 1; i <= 40; i++) {
        int64_t at = 2000 * MS + i * MS;
        run(3, i, at, 2 * MS, 0, 0);
        state(3, 3, i, at + 2 * MS, i < 30 ? 4 * MIB : 8 * MIB, 3 * MIB, i < 30 ? 2 : 3);
    }
    for (int64_t i = 1; i <= 5; i++) {
        run(4, i, 3000 * MS + i * MS, 150 * US, 0, 0);
        ROW(run_memory, 4, i, 3000 * MS + i * MS, 640, 640, 640, i * 100, 1, 1, 0);
    }
}

// Run 61 of session 1, allocation by allocation: two operators, the second with one inside it.
static void detailed_run(void)
{
    const int64_t at = 950 * MS;
    ROW(kernel, 1, 1, 1, at, text("conv"), text("Conv"), 0, 11, text(CPU), 0, 1, 0);
    ROW(kernel, 2, 1, 1, at, text("loop"), text("Loop"), 0, 11, text(CPU), 0, 1, 0);
    ROW(kernel, 3, 1, 1, at, text("loop/add"), text("Add"), 0, 11, text(CPU), 0, 1, 0);
    // allocator, time, thread, action, address, bytes, kernel, session, run, flags
    ROW(alloc, 1, at + 50 * US, 101, 0, 0x1000, 64 * KIB, 0, 1, 61, 0);
    ROW(alloc, 1, at + 150 * US, 101, 0, 0x20000, 400 * KIB, 1, 1, 61, 0);
    ROW(alloc, 1, at + 350 * US, 101, 1, 0x20000, 400 * KIB, 1, 1, 61, 0);
    ROW(alloc, 1, at + 450 * US, 101, 0, 0x20000, 200 * KIB, 3, 1, 61, 0);
    ROW(alloc, 1, at + 550 * US, 101, 1, 0x20000, 0, 3, 1, 61, 0); // size not known
    ROW(alloc, 1, at + 650 * US, 101, 0, 0x20000, 200 * KIB, 3, 1, 61, 0);
    ROW(alloc, 1, at + 750 * US, 101, 0, 0x90000, 32 * KIB, 2, 1, 61, 0);
    ROW(alloc, 1, at + 760 * US, 101, 0, 0, 1 << 30, 2, 1, 61, 4);   // failed
    ROW(alloc, 1, at + 770 * US, 101, 1, 0xabcd, 5000, 2, 1, 61, 0); // from before the run
    ROW(alloc, 1, at + 780 * US, 101, 1, 0x20000, 200 * KIB, 2, 1, 61, 0);
    ROW(alloc, 1, at + 950 * US, 101, 1, 0x1000, 64 * KIB, 0, 1, 61, 0);
    ROW(op, 1, 1, 61, 101, at + 100 * US, 280 * US, 0, 0);
    ROW(op, 3, 1, 61, 101, at + 440 * US, 100 * US, 1, 0);
    ROW(op, 3, 1, 61, 101, at + 640 * US, 100 * US, 1, 0);
    ROW(op, 2, 1, 61, 101, at + 400 * US, 500 * US, 0, 0);
    run(1, 61, at, 1000 * US, 0, 0);
}

static void ort_event(int64_t of_session, int64_t time, int64_t level, const char *name,
                      const char *fields)
{
    ROW(ort_event, 1, time, of_session, of_session, 100, level, text(name), text(fields));
}

void make_memory(void)
{
    begin("memory.ortl");
    process_and_module();
    load(1, 50 * MS, 412 * MS, "models/detector.onnx");
    load(2, 465 * MS, 31 * MS, "models/tagger.onnx");
    load(3, 1900 * MS, 96 * MS, "models/detector.onnx");
    load(4, 2900 * MS, 101 * MS, "models/detector.onnx");
    phases(1, 51 * MS, 102 * MS, 150 * MS, 155 * MS);
    ROW(phase, 2, 466 * MS, 12 * MS, 1, 3);
    ROW(allocator, 1, 1, 1, 60 * MS, 2, 2, text("Cpu"), text("onnxruntime::BFCArena"));
    ort_event(1, 52 * MS, 4, "SessionCreationStart", "sessionId=1");
    ort_event(1, 460 * MS, 4, "EpDeviceUsage",
              "sessionId=1\nexecutionProviderType=" CPU "\nhardwareDeviceType=CPU");
    ort_event(
        1, 460 * MS, 4, "EpDeviceUsage",
        "sessionId=1\nexecutionProviderType=OpenVINOExecutionProvider\nhardwareDeviceType=NPU\n"
        "hardwareVendorId=32902\nhardwareVendor=Intel\nassignedNodeCount=3");
    steady_runs();
    detailed_run();
    leaking_runs();
    young_runs();
    ort_event(2, 1500 * MS, 2, "RuntimeError",
              "schemaVersion=0\nerrorCode=1\nerrorMessage=Non-zero status code\nin node "
              "tagger\nfile=sequential_executor.cc\nline=505");
    ROW(process_end, 1, 3500 * MS, 0, 0);
    end();
}

// The environment's arenas 1 and 8: session 3 had the first one alone and is gone when 1 has it,
// then 1 shares it with 2; 4 has the other one, with 2 in the end, and 9 of its own.
void make_shared_memory(void)
{
    begin("shared_memory.ortl");
    process_and_module();
    for (int64_t id = 1; id <= 4; id++)
        load(id, id * 20 * MS, 10 * MS, "models/detector.onnx");
    ROW(session_end, 3, 405 * MS, 1);
    for (int64_t i = 1; i <= 80; i++) {
        int64_t at = 200 * MS + i * 10 * MS, first = i <= 20 ? 3 : i <= 50 ? 1 : 0;
        for (int64_t id = 1; id <= 4; id++) {
            if (id < 4 && id != (first ? first : 1) && (first || id == 3))
                continue;
            run(id, i, at + id * MS, 900 * US, 0, 0);
            if (id != 4)
                ROW(run_memory, id, i, at + id * MS + 900 * US, 640 * KIB, 640 * KIB, 320 * KIB,
                    first ? 4 * MIB + i * KIB : -1, 6, 6, 0);
        }
        state(1, first, first ? i : 0, at + 4 * MS, (first ? 8 : i) * MIB,
              first ? 4 * MIB + i * KIB : (i - 1) * MIB, 2);
        state(8, first ? 4 : 0, first ? i : 0, at + 5 * MS, 16 * MIB, 5 * MIB, 2);
        state(9, 4, i, at + 6 * MS, 2 * MIB, MIB, 1);
    }
    ROW(process_end, 1, 1100 * MS, 0, 0);
    end();
}

// Rows that no honest capture has.
void make_odd_memory(void)
{
    begin("odd_memory.ortl");
    load(1, 1 * MS, -5, "m");
    for (int64_t i = 0; i < 30; i++) {
        ROW(memory, 1, 1, i, i, INT64_MAX, INT64_MAX, INT64_MAX, -1, -1, -1, -1, INT64_MIN, 0, 77);
        ROW(run_memory, 1, i + 1, i, INT64_MAX, -1, INT64_MAX, INT64_MAX, INT64_MAX, -1, -1);
        ROW(alloc, 1, INT64_MIN, 5, i % 3, 0, INT64_MAX, 1, 1, 1, 0);
    }
    ROW(memory, 1, 2, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    ROW(phase, 1, INT64_MAX, INT64_MAX, 1, 9);
    ROW(phase, 1, INT64_MAX, INT64_MAX, 1, -9);
    ROW(phase, 1, 0, 5, 4, 1);
    ROW(phase, 0, 0, 5, 1, 1);
    ort_event(1, 1, 77, "\x1b[31mRuntimeError", "=\n\n=x\nerrorMessage=\x1b[2J\"bad\"\n");
    ort_event(1, 1, 3, "EpDeviceUsage", "hardwareDeviceType=\x1b]0;x\x07");
    ROW(op, 1, 1, 1, 5, 1 * MS, 1 * MS, 0, 0);
    run(1, 1, 1 * MS, 3 * MS, 0, 0);
    end();
}

// Session 1 overlaps with itself: what its runs allocated has no run, but for one part. Session 2
// is in another process, of which events were lost: run 3 may have had a row.
void make_overlapping_memory(void)
{
    begin("overlapping_memory.ortl");
    process_and_module();
    ROW(process, 2, 4300, 4242, 1 * MS, 2, text("worker.exe"), 0);
    ROW(module, 2, 2, 31 * MS, text("C:\\app\\onnxruntime.dll"), text("1.23.2"), 0, 41, 0);
    load(1, 50 * MS, 20 * MS, "models/detector.onnx");
    ROW(session, 2, 2, 60 * MS, 20 * MS, 0, 0, text("models/tagger.onnx"), -1, 0, 0, 0, 0,
        text(CPU), 0, 100);
    input_shape(1, 1, 8, "8,3,48,192");
    for (int64_t i = 1; i <= 24; i++) {
        run(1, i, 100 * MS + i * MS, 3 * MS, 0, 1);
        ROW(run_memory, 1, 0, 103 * MS + i * MS, 600 * KIB, 590 * KIB, 300 * KIB, 9 * MIB, 7, 6, 0);
    }
    ROW(run_memory, 1, 2, 105 * MS, 12 * KIB, 12 * KIB, 12 * KIB, 9 * MIB, 3, 3, 0);
    for (int64_t i = 1; i <= 24; i++) {
        run(2, i, 200 * MS + i * MS, 400 * US, 0, 0);
        if (i != 3)
            ROW(run_memory, 2, i, 201 * MS + i * MS, 40 * KIB, 40 * KIB, 40 * KIB, MIB, 2, 2, 0);
    }
    ROW(lost, 2, 300 * MS, 0, 5);
    ROW(process_end, 1, 350 * MS, 0, 0);
    end();
}

// Session 1 was loaded and never run, and ORT told where its nodes would go; 2 told nothing. Of
// session 3 ORT assigned five nodes, of which the other branch of the If was never executed.
void make_never_run(void)
{
    begin("never_run.ortl");
    process_and_module();
    load(1, 50 * MS, 20 * MS, "models/detector.onnx");
    load(2, 70 * MS, 20 * MS, "models/tagger.onnx");
    load(3, 90 * MS, 20 * MS, "models/chooser.onnx");
    ort_event(1, 60 * MS, 4, "EpDeviceUsage",
              "executionProviderType=" CPU "\nhardwareDeviceType=CPU\nassignedNodeCount=1226");
    ort_event(1, 60 * MS, 4, "EpDeviceUsage",
              "executionProviderType=OpenVINOExecutionProvider\nhardwareDeviceType=NPU\n"
              "hardwareVendor=Intel\nassignedNodeCount=3");
    ort_event(1, 60 * MS, 4, "EpDeviceUsage",
              "executionProviderType=OpenVINOExecutionProvider\nhardwareDeviceType=GPU\n"
              "hardwareVendor=Intel\nassignedNodeCount=3");
    ort_event(3, 100 * MS, 4, "EpDeviceUsage",
              "executionProviderType=" CPU "\nhardwareDeviceType=CPU\nassignedNodeCount=5");
    ROW(kernel, 1, 3, 1, 120 * MS, text("choose"), text("If"), 0, 11, text(CPU), 0, 1, 0);
    ROW(kernel, 2, 3, 1, 120 * MS, text("choose/add"), text("Add"), 0, 11, text(CPU), 0, 1, 0);
    for (int64_t i = 1; i <= 3; i++) {
        int64_t at = 120 * MS + i * MS;
        ROW(op, 2, 3, i, 101, at + 200 * US, 100 * US, 1, 0);
        ROW(op, 1, 3, i, 101, at + 100 * US, 300 * US, 0, 0);
        run(3, i, at, 500 * US, 0, 0);
    }
    ROW(process_end, 1, 350 * MS, 0, 0);
    end();
}
