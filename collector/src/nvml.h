// SPDX-License-Identifier: MIT
// NVIDIA's management library (nvml.dll) as a table of functions, so that the code that asks it is
// the same with the real library, with a pretended one in a test, and on any system.
#pragma once

#include "source.h"

#include <stddef.h>
#include <stdint.h>

// Documented values of nvml.h.
enum {
    CO_NVML_SUCCESS = 0,
    CO_NVML_UNINITIALIZED = 1,
    CO_NVML_NOT_SUPPORTED = 3,
    CO_NVML_NO_PERMISSION = 4,
    CO_NVML_NOT_FOUND = 6,
    CO_NVML_FUNCTION_NOT_FOUND = 13,
    CO_NVML_GPU_IS_LOST = 15,
    CO_NVML_RESET_REQUIRED = 16,
};

typedef struct co_nvml_utilization {
    unsigned gpu, memory; // percent
} co_nvml_utilization;

typedef struct co_nvml_memory {
    uint64_t total, free, used;
} co_nvml_memory;

typedef struct co_nvml_process_sample {
    unsigned pid;
    uint64_t time_us;
    unsigned sm, memory, encoder, decoder; // percent
} co_nvml_process_sample;
_Static_assert(sizeof(co_nvml_process_sample) == 32, "nvmlProcessUtilizationSample_t");

typedef struct co_nvml_process {
    unsigned pid;
    uint64_t used; // all bits: not available (Windows' own driver model)
    unsigned gpu_instance, compute_instance;
} co_nvml_process;
_Static_assert(sizeof(co_nvml_process) == 24, "nvmlProcessInfo_t");

// All but the first four may be missing in an old driver.
typedef struct co_nvml_api {
    int (*init)(void);
    int (*shutdown)(void);
    int (*device_count)(unsigned *count);
    int (*device)(unsigned index, void **device);
    int (*name)(void *device, char *name, unsigned capacity);
    int (*utilization)(void *device, co_nvml_utilization *out);
    int (*memory)(void *device, co_nvml_memory *out);
    int (*power)(void *device, unsigned *milliwatts);
    int (*energy)(void *device, unsigned long long *millijoules);
    int (*temperature)(void *device, int sensor, unsigned *celsius);
    int (*clock)(void *device, int type, unsigned *mhz);
    int (*throttle_reasons)(void *device, unsigned long long *bits);
    int (*process_utilization)(void *device, co_nvml_process_sample *samples, unsigned *count,
                               unsigned long long since_us);
    int (*processes)(void *device, unsigned *count, co_nvml_process *processes);
} co_nvml_api;

typedef struct co_nvml_state co_nvml_state;

// NULL (with a remark) if it does not start or has no device.
co_nvml_state *co_nvml_open(const co_nvml_api *api, const co_source_env *env);
// False once the last device has gone.
bool co_nvml_sample(co_nvml_state *s, uint64_t ticks);
void co_nvml_close(co_nvml_state *s);
