// SPDX-License-Identifier: MIT
// A timeline that has something for every metric of docs/fleet.md, of a process that still runs,
// with names that want to break out of a format, and rows that claim the same thing twice.
#include "gold_maker.h"

#define CPU "CPUExecutionProvider"
#define DML "DmlExecutionProvider"
#define MIB ((int64_t)1024 * 1024)
#define GPU "NVIDIA \"GeForce\"\\RTX\n4090 \xff\xfe"

enum { MACHINE, PROCESS, THREAD, CORE, DEVICE };

static int64_t g_counter;

static void level(const char *source, const char *name, int64_t per_unit, int64_t total,
                  int64_t about, int64_t number, const char *subject, int64_t first, int64_t last)
{
    int64_t process = about != PROCESS ? 0 : number;
    ROW(counter, ++g_counter, 20 * MS, text(source), text(name), text("unit"), per_unit, total,
        about, process, about == PROCESS ? -1 : number, text(subject));
    ROW(sample, g_counter, 20 * MS, first, 1);
    ROW(sample, g_counter, 900 * MS, last, 1);
}

static void of_processes(void)
{
    for (int64_t id = 1; id <= 2; id++) {
        level("process", "cpu_user", 1000000, 1, PROCESS, id, "", 50000, 1430000 * id);
        level("process", "cpu_kernel", 1000000, 1, PROCESS, id, "", 10000, 30000);
        level("process", "working_set", 1, 0, PROCESS, id, "", 40000000, 178356224 * id);
        level("process", "private", 1, 0, PROCESS, id, "", 30000000, 150000000);
        level("system", "threads", 1, 0, PROCESS, id, "", 9, 11);
    }
    for (int64_t core = 0; core < 4; core++) {
        level("process", "cpu_user", 1000000, 1, CORE, core, "", 1000000, 1500000 + core);
        level("process", "cpu_kernel", 1000000, 1, CORE, core, "", 500000, 600000);
    }
}

static void of_devices(void)
{
    level("process", "memory_available", 1, 0, MACHINE, -1, "", 9000000000, 8000000000);
    level("process", "memory_committed", 1, 0, MACHINE, -1, "", 20000000000, 21000000000);
    level("pdh", "power", 1000, 0, MACHINE, -1, "RAPL_Package0_PKG", 9000, 15250);
    level("pdh", "power", 1000, 0, MACHINE, -1, "RAPL_Package0_DRAM", 1000, 2000);
    level("pdh", "energy", 1000, 1, MACHINE, -1, "RAPL_Package0_PKG", 100000, 115250);
    level("pdh", "temperature", 100, 0, MACHINE, -1, "\\_TZ.TZ00", 9000, 9425);
    level("nvml", "gpu_utilization", 1, 0, DEVICE, 0, GPU, 20, 80);
    level("pdh", "gpu_utilization", 100, 0, DEVICE, 0, "luid_0x0_0x1", 2100, 8150);
    level("pdh", "gpu_utilization", 100, 0, DEVICE, 0, "luid_0x0_0x1", 1, 2); // again
    level("pdh", "npu_utilization", 100, 0, DEVICE, 1, "luid_0x0_0x2", 0, 3333);
    level("nvml", "memory_used", 1, 0, DEVICE, 0, GPU, 1000000000, 4000000000);
    level("pdh", "memory_dedicated", 1, 0, DEVICE, 1, "luid_0x0_0x2", 1000000, 2000000);
    level("nvml", "power", 1000, 0, DEVICE, 0, GPU, 100000, 120500);
    level("nvml", "energy", 1000, 1, DEVICE, 0, GPU, 9000000, 9120500);
    level("nvml", "temperature", 1, 0, DEVICE, 0, GPU, 50, 61);
}

static void operators(int64_t id, int64_t number, int64_t at)
{
    for (int64_t kernel = 1; kernel <= 3; kernel++)
        ROW(op, id * 10 + kernel, id, number, 100, at + kernel * 100 * US, 90 * US, 0,
            number == 7 && kernel == 3 ? 4 : 0);
}

static void runs_of(int64_t id, const char *model)
{
    session(id, 30 * MS, model, DML "," CPU);
    for (int64_t kernel = 1; kernel <= 3; kernel++)
        ROW(kernel, id * 10 + kernel, id, 1, 31 * MS, text("node"), text("Conv"), text("ai.onnx"),
            13, text(kernel < 3 ? DML : CPU), text(""), 1, 0);
    // Each to a bound of the histogram, above it by a nanosecond, and failed.
    static const int64_t bounds[] = {1, 2, 5};
    int64_t number = 0;
    for (int64_t power = 10 * US; power <= 10 * MS; power *= 10)
        for (size_t i = 0; i < 3; i++)
            for (int64_t more = 0; more < 2; more++) {
                int64_t at = 100 * MS + number * 10 * MS;
                number++;
                run(id, number, at, bounds[i] * power + more, 0, 0);
                operators(id, number, at);
            }
    run(id, number + 1, 800 * MS, 1 * MS, 2, 0);
    ROW(memory, id, id, number, 810 * MS, 24 * MIB, 18 * MIB, 20 * MIB, MIB, 0, 100, 3, 5, 0, 1);
}

void make_fleet(void)
{
    begin("fleet.ortl");
    process_and_module();
    ROW(process, 2, 4242, 1, 10 * MS, 2, text("C:\\app\\child \"quoted\" {x}.exe"), 0);
    ROW(process, 3, 4242, 1, 10 * MS, 2, text("C:\\app\\child \"quoted\" {x}.exe"), 0); // again
    runs_of(1, "C:\\models\\cls.onnx");
    runs_of(2, "C:\\models\\a\"b\\c{d=\"e\"}\n# TYPE x counter\nx 1\n\xc3\x28\xff.onnx");
    of_processes();
    of_devices();
    ROW(lost, 1, 500 * MS, 0, 3);
    end();
}
