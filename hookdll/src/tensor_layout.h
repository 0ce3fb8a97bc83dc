// SPDX-License-Identifier: MIT
// Where a runtime before 1.24 keeps type and shape inside a tensor. Its public way to ask
// (GetTensorTypeAndShape) allocates three times, too much for every run. So, once per module, we
// make a few tensors of known shapes through the public API, look where those shapes lie, and use
// the places found only if they explain every one of them. A value is read that way only if its
// type pointer is the one that the samples had; every shape set that is sent was read through the
// public API, and if the two ever disagree the short way is given up for that module.
#pragma once

#include "ort_abi.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_LAYOUT_TYPES 24u

typedef enum hk_layout_state {
    HK_LAYOUT_UNKNOWN,
    HK_LAYOUT_USABLE,
    HK_LAYOUT_UNUSABLE
} hk_layout_state;

typedef struct hk_tensor_layout {
    _Atomic uint32_t state;             // hk_layout_state
    uint64_t tensor_type;               // third word of an OrtValue that holds a tensor
    uint32_t rank_at, dims_at, type_at; // offsets in the tensor
    _Atomic uint32_t type_count;
    struct {
        uint64_t pointer;
        int element_type;
    } types[HK_LAYOUT_TYPES]; // element types met so far
} hk_tensor_layout;

struct hk_module;
struct hk_tensor;

// Looks into sample tensors; sets `state`. Not under the loader's lock: it calls ORT.
void hk_layout_find(struct hk_module *m);

// Remembers which element type a type pointer stands for.
void hk_layout_learn(hk_tensor_layout *layout, const OrtValue *value, int element_type);

// True if the short way could be taken.
static inline bool hk_layout_read(const hk_tensor_layout *layout, const OrtValue *value,
                                  int *element_type, const int64_t **dims, size_t *rank)
{
    const uint64_t *words = (const uint64_t *)value;  // tensor, its owner's block, type
    if (words[2] != layout->tensor_type || !words[0]) // an optional output may have no tensor
        return false;
    const uint8_t *tensor = (const uint8_t *)(uintptr_t)words[0];
    uint64_t type = *(const uint64_t *)(tensor + layout->type_at);
    uint32_t count = atomic_load_explicit(&layout->type_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++) {
        if (layout->types[i].pointer != type)
            continue;
        *element_type = layout->types[i].element_type;
        *rank = *(const size_t *)(tensor + layout->rank_at);
        *dims = *(const int64_t *const *)(tensor + layout->dims_at);
        return true;
    }
    return false;
}
