// SPDX-License-Identifier: MIT
// What counters tell of devices and of energy, for a summary.
//
// - utilization, power: means over the time in which they were known, and the greatest value.
// - joules: by a running total of the meter itself (last less first), else its mean power by the
//   time in which that was known. All that the meter saw while we recorded, idle time too, whoever
//   used it. Meters are not added up: some contain others.
#pragma once

#include "analysis/counters.h"

#define AN_MAX_DEVICES  64
#define AN_MAX_METERS   64
#define AN_MAX_ZONES    64
#define AN_MAX_GPU_USES 256

typedef struct an_accelerator {
    const char *source, *name; // borrowed from the counters
    int64_t number;
    bool is_npu;
    const an_counter *utilization, *memory, *memory_total, *power, *energy, *temperature, *throttle;
} an_accelerator; // NULL where there is no such counter or it was never known

typedef struct an_meter {
    const char *source, *name;
    double joules, seconds;
    bool integrated; // from its power: it has no running total
} an_meter;

// Those with any value; how many were written.
size_t an_accelerators(const an_counters *c, an_accelerator *out, size_t capacity);
size_t an_meters(const an_counters *c, an_meter *out, size_t capacity);

// A thermal zone of the machine; NULL as above.
typedef struct an_zone {
    const char *source, *name;
    const an_counter *temperature, *limit, *throttle;
} an_zone;
size_t an_zones(const an_counters *c, an_zone *out, size_t capacity);

// What the graphics kernel told of one process; NULL as above.
typedef struct an_gpu_use {
    int64_t process;
    const an_counter *packets, *queued, *engine; // engine: the time that engines had its packets
} an_gpu_use;
size_t an_gpu_uses(const an_counters *c, an_gpu_use *out, size_t capacity);

// A counter of single measurements (of an NPU, by its provider): each sample is one, and holds for
// no time.
bool an_is_measurement(const an_counter *c);

// Which limits an NVIDIA device ran into, by bit of its throttle reasons; NULL: none or idle.
const char *an_throttle_name(unsigned bit);
#define AN_THROTTLE_BITS 9u

// The largest and smallest raw value in units, and the mean; NAN for NULL.
double an_counter_max(const an_counter *c);
double an_counter_min(const an_counter *c);
double an_counter_mean_or_nan(const an_counter *c);
