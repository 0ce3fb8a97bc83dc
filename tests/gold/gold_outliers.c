// SPDX-License-Identifier: MIT
// A timeline with slow runs that have different causes: usual ones take 2 ms on thread 100, one
// every 5 ms, with three operators each.
#include "gold_maker.h"

enum { APP = 1, CHROME = 2, IDLE = 3 };
enum { READY = 1, RUNNING = 2, WAITS = 5 };
enum { EXECUTIVE = 0, PAGE_IN = 2, USER_REQUEST = 6, PREEMPTED = 32 };
enum { USUAL, FIRST, AFTER_PAUSE, PREEMPTION, HARD_FAULT, DISK, OPERATOR, GROWTH, NOTHING, KINDS };

static int64_t g_now, g_run, g_inputs = 1;

static void switched(int64_t time, int64_t to, int64_t to_process, int64_t from,
                     int64_t from_process, int64_t state, int64_t reason)
{
    ROW(sched, time, 0, to, to_process, from, from_process, 8, 8, state, reason, 0, 0);
}

// The thread is not on its processor for `length`.
static void stopped(int kind, int64_t time, int64_t length)
{
    if (kind == PREEMPTION) {
        switched(time, 55, CHROME, 100, APP, READY, PREEMPTED);
        switched(time + length, 100, APP, 55, CHROME, WAITS, USER_REQUEST);
    } else if (kind == HARD_FAULT || kind == DISK) {
        switched(time, 0, IDLE, 100, APP, WAITS, kind == DISK ? EXECUTIVE : PAGE_IN);
        switched(time + length, 100, APP, 0, IDLE, RUNNING, 0);
    }
    if (kind == HARD_FAULT)
        ROW(fault, time, 0, 100, APP, 6, 65536, length, 65536);
    if (kind == DISK)
        ROW(disk, time, length, 100, APP, 0, 0, 65536, 0);
}

static void operators(int kind, int64_t begin, int64_t extra)
{
    int64_t time = begin;
    for (int64_t k = 1; k <= 3; k++) {
        int64_t length = 600 * US;
        if (kind != OPERATOR)
            length += extra / 3;
        else if (k == 2)
            length += extra;
        ROW(op, k, 1, g_run, 100, time, length, 0, 0);
        time += length;
    }
}

static void one_run(int kind, int64_t extra)
{
    g_now += kind == AFTER_PAUSE ? 500 * MS + g_run * 10 * MS : 3 * MS;
    g_run++;
    int64_t duration = 2 * MS + random_below(200) * US + extra, inputs = 1;
    if (kind == GROWTH) {
        inputs = ++g_inputs;
        input_shape(inputs, 1, 64, "64,3,224,224");
    }
    switched(g_now - 10 * US, 100, APP, 0, IDLE, RUNNING, 0);
    stopped(kind, g_now + 700 * US, extra);
    ROW(run, 1, g_run, 100, g_now, duration, 0, 0, 1, inputs, 0);
    operators(kind, g_now + 50 * US, extra);
    if (kind == FIRST || kind == GROWTH)
        ROW(run_memory, 1, g_run, g_now + duration, 4 * 1048576, 0, 4 * 1048576, 0, 2, 0,
            16 * 1048576);
    g_now += duration;
    switched(g_now + 10 * US, 0, IDLE, 100, APP, WAITS, USER_REQUEST);
}

void make_outliers(void)
{
    static const struct {
        int kind;
        int64_t extra_ms;
    } slow[] = {{AFTER_PAUSE, 6}, {PREEMPTION, 15}, {AFTER_PAUSE, 7}, {HARD_FAULT, 9},
                {AFTER_PAUSE, 5}, {PREEMPTION, 31}, {OPERATOR, 12},   {AFTER_PAUSE, 8},
                {DISK, 20},       {GROWTH, 40},     {NOTHING, 11}};
    begin("outliers.ortl");
    process_and_module();
    ROW(bystander, CHROME, 55, 4, 0, text("C:\\Program Files\\Google\\chrome.exe"));
    ROW(bystander, IDLE, 0, 0, 0, text("Idle"));
    session(1, 50 * MS, "models\\resnet50.onnx", "CPUExecutionProvider");
    input_shape(1, 1, 1, "1,3,224,224");
    static const char *const nodes[] = {"conv1", "conv2", "softmax"};
    for (int64_t k = 1; k <= 3; k++)
        ROW(kernel, k, 1, 1, 60 * MS, text(nodes[k - 1]), text(k < 3 ? "Conv" : "Softmax"),
            text(""), 13, text("CPUExecutionProvider"), text(""), 1, 0);
    g_now = 100 * MS;
    one_run(FIRST, 18 * MS);
    for (int i = 0; i < 60; i++)
        one_run(USUAL, 0);
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        one_run(slow[i].kind, slow[i].extra_ms * MS);
        for (int k = 0; k < 15; k++)
            one_run(USUAL, 0);
    }
    end();
}
