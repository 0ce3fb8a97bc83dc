// SPDX-License-Identifier: MIT
// The sets of tensors of a timeline (its rows of kinds shape and tensor), found by their id. Copies
// what it needs: it may outlive the reader.
#pragma once

#include "common/map.h"
#include "common/out.h"
#include "timeline/timeline.h"

#define AN_MAX_TENSORS 1024 // of one set; what a damaged file claims beyond that is not kept

typedef struct an_tensor {
    int64_t index;
    int64_t onnx_type;
    int64_t element_type;
    char *name; // never NULL
    char *dims; // "1,3,48,192", "" for a scalar
} an_tensor;

typedef struct an_shape {
    int64_t id;
    int64_t session;
    int64_t direction; // 0 inputs, 1 outputs, -1: only tensors of it were seen
    int64_t batch;     // -1: none or not known
    int64_t tensors_announced;
    an_tensor *tensors; // those that were seen, in order of index
    size_t tensor_count;
} an_shape;

typedef struct an_shapes {
    an_shape *items;
    size_t count;
    size_t capacity;
    cm_map by_id;
} an_shapes;

void an_shapes_init(an_shapes *s);
void an_shapes_deinit(an_shapes *s);

// Takes in a block of kind shape or tensor; other kinds are left alone.
cm_status an_shapes_add(an_shapes *s, const tm_reader *reader, const tm_block *block);

// NULL if there is none. Borrowed until the next an_shapes_add.
const an_shape *an_shapes_find(const an_shapes *s, int64_t id);

// For people: "x 1x3x48x192 float32, state 2x1x64 float32".
void an_shape_text(cm_out *out, const an_shape *shape);
