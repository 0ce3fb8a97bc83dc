// SPDX-License-Identifier: MIT
// What the QNN provider measures on the NPU (QNNProfilingEvent of ORT's own events), as counters
// with their units: one lane for each kind of measurement and thing measured.
#pragma once

#include "readings.h"

#define CO_QNN_EVENT    "QNNProfilingEvent"
#define CO_QNN_FIRST_ID (1u << 30) // counters of the sampling threads are numbered from 1
#define CO_QNN_LANES    16384u     // at most; recordings number those of ORT's own events behind

typedef struct co_qnn_value {
    char name[32];                  // "execute", "node"
    char subject[CO_SUBJECT_BYTES]; // "Accelerator (execute) time", or a node's name
    const char *unit;
    int64_t per_unit, value;
} co_qnn_value;

// False if the fields (key=value, one a line) hold no number with a unit.
bool co_qnn_parse(const char *fields, size_t len, co_qnn_value *out);

// The lane of a measurement, as a counter.
co_counter co_qnn_lane(const co_qnn_value *v, uint32_t process);
