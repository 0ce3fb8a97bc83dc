// SPDX-License-Identifier: MIT
// What the QNN provider measures on the NPU (QNNProfilingEvent of ORT's own events), as counters
// with their units: one lane for each kind of measurement and thing measured.
#pragma once

#include "readings.h"

#define CO_QNN_EVENT    "QNNProfilingEvent"
#define CO_QNN_FIRST_ID (1u << 30) // counters of the sampling threads are numbered from 1

typedef struct co_qnn_value {
    char name[32];                  // "execute", "node"
    char subject[CO_SUBJECT_BYTES]; // "Accelerator (execute) time", or a node's name
    const char *unit;
    int64_t per_unit, value;
} co_qnn_value;

// False if the fields (key=value, one a line) hold no number with a unit.
bool co_qnn_parse(const char *fields, size_t len, co_qnn_value *out);
