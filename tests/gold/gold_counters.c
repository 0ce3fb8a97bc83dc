// SPDX-License-Identifier: MIT
// A timeline with counters and facts about the machine: a busy process, a GPU that tells its
// energy, an NPU, a meter that tells only its power, a source that was slowed down, a counter that
// nobody ever knew; what the graphics kernel and the QNN provider told by event tracing.
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
    counter(11, "nvml", "throttle_reasons", "bits", 1, 0, DEVICE, 0, "NVIDIA GeForce RTX 4090");
    counter(12, "pdh", "temperature", "degC", 100, 0, MACHINE, -1, "\\_TZ.TZ00");
    counter(13, "pdh", "passive_limit", "%", 100, 0, MACHINE, -1, "\\_TZ.TZ00");
    counter(14, "pdh", "temperature", "degC", 100, 0, MACHINE, -1, "\\_TZ.TZ01");
    sample(11, 100, 1); // idle
    sample(11, 300, 4);
    sample(11, 500, 36);
    sample(12, 100, 9425);
    sample(13, 100, 10000);
    sample(13, 700, 6000);
    sample(14, 100, 4505);
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
    ROW(sampling, 400 * MS, text("pdh"), 1000000, 1);
}

static void event_counters(void)
{
    counter(15, "etw", "gpu_packets", "1", 1, 1, PROCESS, -1, "");
    counter(16, "etw", "gpu_packet_time", "s", 1000000000, 1, PROCESS, -1, "");
    counter(17, "etw", "gpu_engine_time", "s", 1000000000, 1, PROCESS, -1, "");
    counter(18, "qnn", "qnn", "s", 1000000000, 0, DEVICE, -1, "execute: Accelerator time");
    counter(19, "qnn", "qnn", "cycles", 1, 0, DEVICE, -1, "node: Conv\x1b[31m_1");
    counter(20, "qnn", "qnn", "B", 0, 0, DEVICE, -1, "execute: no sense"); // per_unit
    sample(15, 200, 3);
    sample(16, 200, 9 * MS);
    sample(17, 200, 4 * MS);
    sample(15, 900, 241);
    sample(16, 900, 700 * MS);
    sample(17, 900, 450 * MS);
    sample(18, 200, 3100000);
    sample(18, 300, 3100000); // each is one, also where it is the same
    sample(18, 400, 4000000);
    sample(19, 200, 6000);
    sample(20, 200, 1);
}

static void fact(const char *about, int64_t number, const char *name, const char *value)
{
    ROW(fact, 0, text(about), number, text(name), text(value), 0);
}

static void number_fact(const char *about, int64_t number, const char *name, int64_t value)
{
    ROW(fact, 0, text(about), number, text(name), 0, value);
}

static void machine(void)
{
    fact("machine", -1, "manufacturer", "LENOVO");
    fact("machine", -1, "model", "21N1\x1b[31mCTO1WW");
    fact("os", -1, "name", "Windows 11 Pro");
    fact("os", -1, "version", "10.0.26100");
    number_fact("os", -1, "revision", 3775);
    fact("processor", -1, "name", "Intel(R) Core(TM) Ultra 7 258V");
    number_fact("processor", -1, "cores", 8);
    number_fact("processor", -1, "performance_cores", 4);
    number_fact("processor", -1, "efficiency_cores", 4);
    number_fact("processor", -1, "threads", 12);
    number_fact("processor", -1, "steady_ticks", 1);
    fact("processor", -1, "instructions", "avx avx2 avx_vnni");
    number_fact("cache", 0, "level", 3);
    fact("cache", 0, "holds", "both");
    number_fact("cache", 0, "bytes", 12582912);
    number_fact("memory", -1, "bytes", 34359738368);
    fact("gpu", 0, "name", "NVIDIA GeForce RTX 4090");
    fact("gpu", 0, "driver", "31.0.15.3623");
    number_fact("gpu", 0, "memory_bytes", 25757220864);
    fact("npu", 0, "name", "Intel(R) AI Boost");
    fact("npu", 0, "adapter", "luid_0x0_0x14f1d_phys_0");
    fact("power", -1, "plan", "Balanced");
    fact("power", -1, "source", "battery");
    number_fact("power", -1, "battery_percent", 81);
    number_fact("gpu", INT64_MAX, "memory_bytes", 1); // a file may claim anything
}

void make_counters(void)
{
    begin("counters.ortl");
    process_and_module();
    machine();
    session(1, 30 * MS, "cls.onnx", "CUDAExecutionProvider,CPUExecutionProvider");
    process_counters();
    device_counters();
    event_counters();
    for (int64_t i = 0; i < 241; i++)
        run(1, i + 1, 100 * MS + i * 4 * MS, 2 * MS, 0, 0);
    ROW(process_end, 1, 1100 * MS, 0, 0);
    end();
}
