// SPDX-License-Identifier: MIT
// Shapes as ORT's profiler writes them: [{"float":[1,3,48,192]},{"int64":[]}]. Portable.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_SHIM_RANK_MAX 32u

typedef struct hk_shim_tensor {
    int element_type; // ONNXTensorElementDataType, 0: a word that we don't know
    size_t rank;
    int64_t dims[HK_SHIM_RANK_MAX];
} hk_shim_tensor;

// How many tensors the text has, up to `max`; -1 if it is not of this form.
int hk_shim_count(const char *text, int max);

// Reads the tensor at `index` of a text that hk_shim_count() accepted with more than `index`.
void hk_shim_read(const char *text, int index, hk_shim_tensor *out);

// A number, perhaps negative, and nothing else; false if it is something else or does not fit.
bool hk_shim_number(const char *text, int64_t *out);
