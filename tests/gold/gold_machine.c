// SPDX-License-Identifier: MIT
// A timeline with the machine around the runs: switches between threads, faults, a disk, counters
// and energy. Five runs of 2 ms on thread 100, one every 3 ms from 100 ms on: undisturbed;
// preempted by chrome.exe and waiting; with a page from disk; with an operator on another thread;
// after the last switch.
#include "gold_maker.h"

enum { APP = 1, CHROME = 2, IDLE = 3 };
enum { READY = 1, RUNNING = 2, WAITS = 5 };
enum { QUEUE = 15, USER_REQUEST = 6, PREEMPTED = 32 };

static void switched(int64_t us, int64_t cpu, int64_t to, int64_t to_process, int64_t from,
                     int64_t from_process, int64_t state, int64_t reason)
{
    ROW(sched, 100 * MS + us * US, cpu, to, to_process, from, from_process, 8, 8, state, reason, 0,
        0);
}

static void switches(void)
{
    switched(-1000, 0, 100, APP, 0, IDLE, RUNNING, 0);
    switched(2500, 0, 0, IDLE, 100, APP, WAITS, USER_REQUEST); // between the runs
    ROW(ready, 100 * MS + 2990 * US, 1, 100, APP, 55, CHROME, 1, 0, 0);
    switched(3010, 0, 100, APP, 0, IDLE, RUNNING, 0);
    switched(3500, 0, 55, CHROME, 100, APP, READY, PREEMPTED);
    switched(4000, 0, 100, APP, 55, CHROME, WAITS, QUEUE);
    switched(4400, 0, 0, IDLE, 100, APP, WAITS, QUEUE);
    ROW(ready, 100 * MS + 4700 * US, 1, 100, APP, 101, APP, 1, 0, 0);
    switched(4800, 1, 100, APP, 0, IDLE, RUNNING, 0);
    switched(9200, 0, 101, APP, 0, IDLE, RUNNING, 0);
    switched(9800, 0, 0, IDLE, 101, APP, WAITS, QUEUE);
    switched(12500, 1, 0, IDLE, 100, APP, WAITS, USER_REQUEST);
}

static void operators(void)
{
    ROW(shape, 7, 1, 0, 2, -1);
    ROW(tensor, 7, 0, text("a"), 1, 1, text("64,64"));
    ROW(tensor, 7, 1, text("b"), 1, 1, text("64,64"));
    ROW(shape, 8, 1, 1, 1, -1);
    ROW(tensor, 8, 0, text("c"), 1, 1, text("64,64"));
    ROW(kernel, 1, 1, 1, 60 * MS, text("mul"), text("MatMul"), text(""), 13,
        text("CPUExecutionProvider"), text(""), 1, 0);
    ROW(kernel_shape, 1, 61 * MS, 7, 8, 1, 0, 0, 0);
    for (int64_t i = 0; i < 5; i++)
        ROW(op, 1, 1, i + 1, i == 3 ? 101 : 100, 100 * MS + i * 3 * MS + 400 * US, 600 * US, 0, 0);
}

static void counter(int64_t id, const char *source, const char *name, const char *unit,
                    int64_t per_unit, int64_t total, int64_t about, int64_t number)
{
    ROW(counter, id, 90 * MS, text(source), text(name), text(unit), per_unit, total, about,
        about == 1 ? 1 : 0, number, text(about == 4 ? "NVIDIA GeForce RTX 4090" : ""));
}

static void counters(void)
{
    ROW(sampling, 90 * MS, text("pdh"), 100000, 0);
    counter(1, "process", "cpu_user", "s", 1000000, 1, 1, -1);
    counter(2, "pdh", "performance", "%", 10, 0, 0, -1);
    counter(3, "pdh", "frequency", "MHz", 1, 0, 0, -1);
    counter(4, "nvml", "gpu_utilization", "%", 1, 0, 4, 0);
    counter(5, "nvml", "energy", "J", 1000, 1, 4, 0);
    ROW(sample, 1, 90 * MS, 500000, 1);
    ROW(sample, 1, 120 * MS, 530000, 1);
    counter(6, "process", "cpu_kernel", "s", 1000000, 1, 1, -1);
    ROW(sample, 6, 90 * MS, 100000, 1);
    ROW(sample, 6, 120 * MS, 103000, 1);
    ROW(sample, 2, 90 * MS, 873, 1);
    ROW(sample, 3, 90 * MS, 3000, 1);
    ROW(sample, 4, 90 * MS, 12, 1);
    ROW(sample, 5, 90 * MS, 1000000, 1);
    ROW(sample, 5, 120 * MS, 1002000, 1);
}

void make_machine(void)
{
    begin("machine.ortl");
    process_and_module();
    session(1, 30 * MS, "mul.onnx", "CPUExecutionProvider");
    input_shape(1, 1, -1, "64,64");
    ROW(bystander, CHROME, 50, 4, 0, text("C:\\Program Files\\Google\\chrome.exe"));
    ROW(bystander, IDLE, 0, 0, 0, text("Idle"));
    ROW(thread, APP, 100, 0, 4, text("main"));
    operators();
    for (int64_t i = 0; i < 5; i++)
        ROW(run, 1, i + 1, 100, 100 * MS + i * 3 * MS, 2 * MS, 0, 0, 1, 1, 0);
    switches();
    counters();
    ROW(fault, 100 * MS + 6100 * US, 1, 100, APP, 1, 4096, 0, 0);
    ROW(fault, 100 * MS + 6200 * US, 1, 100, APP, 6, 8192, 300 * US, 4096);
    ROW(disk, 100 * MS + 6210 * US, 280 * US, 100, APP, 0, 0, 4096, 512);
    ROW(profiling, 90 * MS, 0, 1 * MS);
    for (int64_t i = 0; i < 12; i++)
        ROW(profile, 100 * MS + i * MS, i % 2, i % 4 == 3 ? 55 : 100, i % 4 == 3 ? CHROME : APP,
            4096, 1, 0);
    ROW(process_end, 1, 130 * MS, 0, 0);
    end();
}
