// SPDX-License-Identifier: MIT
// A timeline with counters: a busy process, a GPU that tells its energy, an NPU, a meter that tells
// only its power, a source that was slowed down, and a counter that nobody ever knew.
#include "gold_maker.h"

enum { MACHINE, PROCESS, THREAD, CORE, DEVICE };

static void counter(int64_t id, const char *source, const char *name, const char *unit,
                    int64_t per_unit, int64_t total, int64_t about, int64_t number,
                    const char *subject)
{
    ROW(counter, id, 20 * MS, text(source), text(name), text(unit), per_unit, total, about,
        about == PROCESS ? 1 : 0, number, text(subject));
}

static void sample(int64_t id, int64_t time_ms, int64_t value)
{
    ROW(sample, id, time_ms * MS, value, 1);
}

static void process_counters(void)
{
    counter(1, "process", "cpu_user", "s", 1000000, 1, PROCESS, -1, "");
    counter(2, "process", "cpu_kernel", "s", 1000000, 1, PROCESS, -1, "");
    counter(3, "process", "peak_working_set", "B", 1, 0, PROCESS, -1, "");
    counter(4, "process", "page_faults", "1", 1, 1, PROCESS, -1, "");
    sample(1, 20, 50000);
    sample(2, 20, 10000);
    sample(3, 20, 40000000);
    ROW(sample, 4, 20 * MS, 0, 0);
    sample(1, 500, 750000);
    sample(2, 500, 30000);
    sample(3, 900, 178356224);
    sample(1, 1000, 1430000);
}

static void device_counters(void)
{
    counter(5, "nvml", "gpu_utilization", "%", 1, 0, DEVICE, 0, "NVIDIA GeForce RTX 4090");
    counter(6, "nvml", "memory_used", "B", 1, 0, DEVICE, 0, "NVIDIA GeForce RTX 4090");
    counter(7, "nvml", "power", "W", 1000, 0, DEVICE, 0, "NVIDIA GeForce RTX 4090");
    counter(8, "nvml", "energy", "J", 1000, 1, DEVICE, 0, "NVIDIA GeForce RTX 4090");
    counter(9, "pdh", "npu_utilization", "%", 100, 0, DEVICE, 1, "luid_0x0_0x14f1d_phys_0");
    counter(10, "pdh", "power", "W", 1000, 0, MACHINE, -1, "RAPL_Package0_PKG");
    sample(5, 100, 20);
    sample(5, 600, 80); // for 0.5 s each
    sample(6, 100, 4000000000);
    sample(7, 100, 120500);
    sample(8, 100, 9000000);
    sample(8, 1100, 9120500);
    sample(9, 100, 1234);
    ROW(sample, 9, 300 * MS, 0, 0); // it has gone
    sample(10, 100, 15000);
    ROW(sampling, 20 * MS, text("pdh"), 100000, 0);
    ROW(sampling, 400 * MS, text("pdh"), 250000, 1);
}

void make_counters(void)
{
    begin("counters.ortl");
    process_and_module();
    session(1, 30 * MS, "cls.onnx", "CUDAExecutionProvider,CPUExecutionProvider");
    process_counters();
    device_counters();
    for (int64_t i = 0; i < 241; i++)
        run(1, i + 1, 100 * MS + i * 4 * MS, 2 * MS, 0, 0);
    ROW(process_end, 1, 1100 * MS, 0, 0);
    end();
}
