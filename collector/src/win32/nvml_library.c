// SPDX-License-Identifier: MIT
// nvml.dll, loaded only when its counters are wanted: from the system, where drivers put it today,
// or from the folder of older ones.
#include "libraries.h"
#include "nvml.h"

#include <stdlib.h>

typedef struct nvml_source {
    co_nvml_api api;
    co_nvml_state *state;
    void *library;
} nvml_source;

static const co_function functions[] = {
    {"nvmlInit_v2", offsetof(co_nvml_api, init), true},
    {"nvmlShutdown", offsetof(co_nvml_api, shutdown), true},
    {"nvmlDeviceGetCount_v2", offsetof(co_nvml_api, device_count), true},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(co_nvml_api, device), true},
    {"nvmlDeviceGetName", offsetof(co_nvml_api, name), false},
    {"nvmlDeviceGetUtilizationRates", offsetof(co_nvml_api, utilization), false},
    {"nvmlDeviceGetMemoryInfo", offsetof(co_nvml_api, memory), false},
    {"nvmlDeviceGetPowerUsage", offsetof(co_nvml_api, power), false},
    {"nvmlDeviceGetTotalEnergyConsumption", offsetof(co_nvml_api, energy), false},
    {"nvmlDeviceGetTemperature", offsetof(co_nvml_api, temperature), false},
    {"nvmlDeviceGetClockInfo", offsetof(co_nvml_api, clock), false},
    {"nvmlDeviceGetCurrentClocksThrottleReasons", offsetof(co_nvml_api, throttle_reasons), false},
    {"nvmlDeviceGetProcessUtilization", offsetof(co_nvml_api, process_utilization), false},
    {"nvmlDeviceGetComputeRunningProcesses_v3", offsetof(co_nvml_api, processes), false},
};

static void close_source(void *source)
{
    nvml_source *s = source;
    if (s->state)
        co_nvml_close(s->state);
    co_library_close(s->library);
    free(s);
}

static void *open_source(const co_source_env *env)
{
    nvml_source *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->library = co_library_open(L"nvml.dll", L"NVIDIA Corporation\\NVSMI");
    if (s->library &&
        co_library_functions(s->library, functions, sizeof functions / sizeof *functions, &s->api))
        s->state = co_nvml_open(&s->api, env);
    if (s->state)
        return s;
    close_source(s);
    return NULL;
}

static bool sample(void *source, uint64_t ticks)
{
    nvml_source *s = source;
    return co_nvml_sample(s->state, ticks);
}

// The driver renews its own numbers less often than that.
const co_source co_nvml_source = {
    .name = "nvml", .max_hz = 10, .open = open_source, .sample = sample, .close = close_source};
