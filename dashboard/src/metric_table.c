// SPDX-License-Identifier: MIT
#include "metric_table.h"

#include "view_keys.h"

#define OURS(name, unit, type, decimals, figure, help)                                             \
    {                                                                                              \
        {name, unit, DA_METRIC_##type, decimals, help}, figure, 0, NULL, NULL, 1                   \
    }
#define COUNTED(name, unit, type, decimals, about, counter, also, per, help)                       \
    {                                                                                              \
        {name, unit, DA_METRIC_##type, decimals, help}, COUNTER, about, counter, also, per         \
    }

const da_metric_entry da_metric_entries[] = {
    OURS("build_info", "", GAUGE, 0, BUILD, "The ortscope that tells this; always 1."),
    OURS("recording", "", GAUGE, 0, RECORDING, "1 while the capture goes on."),
    OURS("lost_events", "{event}", COUNTER, 0, LOST, "Events that are missing in the recording."),
    OURS("dropped_rows", "{row}", COUNTER, 0, DROPPED,
         "Rows that are missing in the live figures only."),
    OURS("recording_file", "By", GAUGE, 0, FILE_BYTES, "Size of the recording."),
    OURS("run_overhead", "s", GAUGE, 9, OVERHEAD, "What recording a run costs, as measured."),
    OURS("runtime_info", "", GAUGE, 0, RUNTIME, "An ONNX Runtime in a process; always 1."),
    OURS("runs", "{run}", COUNTER, 0, RUNS, "Runs of the session."),
    OURS("failed_runs", "{run}", COUNTER, 0, FAILED_RUNS, "Runs that ended with an error."),
    OURS("run_duration", "s", HISTOGRAM, 9, DURATIONS,
         "How long runs of the session took that did not fail."),
    OURS("runs_in_flight", "{run}", GAUGE, 0, IN_FLIGHT,
         "Runs under way when the newest one began, itself included."),
    OURS("session_load", "s", GAUGE, 9, LOAD_TIME, "How long creating the session took."),
    OURS("arena_held", "By", GAUGE, 0, HELD, "What the session's arenas hold."),
    OURS("arena_in_use", "By", GAUGE, 0, IN_USE, "What of it is in use."),
    OURS("operator_executions", "{execution}", COUNTER, 0, OP_CALLS,
         "Recorded executions of operators, by provider."),
    OURS("operator_failures", "{execution}", COUNTER, 0, OP_FAILURES, "Those of them that failed."),
    OURS("operator_time", "s", COUNTER, 9, OP_TIME,
         "Time in recorded operators, without those inside them; "
         "of providers that only hand work to a device that of the submission."),
    COUNTED("process_cpu", "s", COUNTER, 6, DA_PROCESS, "cpu_user", "cpu_kernel", 1,
            "Processor time of the process."),
    COUNTED("process_working_set", "By", GAUGE, 0, DA_PROCESS, "working_set", NULL, 1,
            "Memory of the process in RAM."),
    COUNTED("process_private_memory", "By", GAUGE, 0, DA_PROCESS, "private", NULL, 1,
            "Memory committed for the process alone."),
    COUNTED("process_threads", "{thread}", GAUGE, 0, DA_PROCESS, "threads", NULL, 1,
            "Threads of the process."),
    COUNTED("core_cpu", "s", COUNTER, 6, DA_CORE, "cpu_user", "cpu_kernel", 1,
            "Time in which the core was busy."),
    COUNTED("machine_memory_available", "By", GAUGE, 0, DA_MACHINE, "memory_available", NULL, 1,
            "Memory that programs may still have."),
    COUNTED("machine_memory_committed", "By", GAUGE, 0, DA_MACHINE, "memory_committed", NULL, 1,
            "Memory promised to all programs."),
    COUNTED("machine_power", "W", GAUGE, 3, DA_MACHINE, "power", NULL, 1,
            "Power by an energy meter of the machine."),
    COUNTED("machine_energy", "J", COUNTER, 3, DA_MACHINE, "energy", NULL, 1,
            "Energy by an energy meter of the machine."),
    COUNTED("machine_temperature", "Cel", GAUGE, 2, DA_MACHINE, "temperature", NULL, 1,
            "Temperature of a thermal zone."),
    COUNTED("gpu_utilization", "1", GAUGE, 4, DA_DEVICE, "gpu_utilization", NULL, 100,
            "How busy the GPU is, 0 to 1."),
    COUNTED("npu_utilization", "1", GAUGE, 4, DA_DEVICE, "npu_utilization", NULL, 100,
            "How busy the NPU is, 0 to 1."),
    COUNTED("device_memory_used", "By", GAUGE, 0, DA_DEVICE, "memory_used", NULL, 1,
            "Memory of the device in use, by NVML."),
    COUNTED("device_memory_dedicated", "By", GAUGE, 0, DA_DEVICE, "memory_dedicated", NULL, 1,
            "Memory of the device in use, by Windows."),
    COUNTED("device_power", "W", GAUGE, 3, DA_DEVICE, "power", NULL, 1, "Power of the device."),
    COUNTED("device_energy", "J", COUNTER, 3, DA_DEVICE, "energy", NULL, 1,
            "Energy of the device."),
    COUNTED("device_temperature", "Cel", GAUGE, 2, DA_DEVICE, "temperature", NULL, 1,
            "Temperature of the device."),
    OURS("otlp_pushes", "{push}", COUNTER, 0, PUSHES,
         "Pushes to an OTLP receiver, failed ones too."),
    OURS("otlp_failed_pushes", "{push}", COUNTER, 0, FAILED_PUSHES, "Pushes that failed."),
    OURS("otlp_rejected_points", "{point}", COUNTER, 0, REJECTED_POINTS,
         "Points that the receiver did not take, as it said."),
};
const size_t da_metric_entry_count = sizeof da_metric_entries / sizeof *da_metric_entries;
