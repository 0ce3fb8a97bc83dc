// SPDX-License-Identifier: MIT
// Sets of inputs and outputs: names, types and shapes, never contents. A set is sent once and then
// referred to by number. Each run takes a fingerprint of what it was given and looks it up in the
// session's small cache; only a set not seen before is read in full and described.
#pragma once

#include "sessions.h"

#define HK_RANK_MAX 32u

typedef struct hk_tensor {
    int onnx_type;
    int element_type;
    size_t rank;
    const int64_t *dims; // ORT's own, or `buffer`
    int64_t buffer[HK_RANK_MAX];
} hk_tensor;

enum { HK_INPUTS = 0, HK_OUTPUTS = 1 };

// The number of the set that these values form, 0 if it can't be told.
uint32_t hk_shapes_of(hk_thread *t, uint32_t epoch, hk_module *m, hk_session *s, int direction,
                      const char *const *names, const OrtValue *const *values, size_t count);

// The same for a kernel: members without names. Outside of Run, so once per kernel and set only.
// *sent becomes false if the set had to be described and that was dropped.
uint32_t hk_shapes_of_kernel(hk_thread *t, uint32_t epoch, hk_module *m, int direction,
                             const OrtValue *const *values, size_t count, bool *sent);

// The same for a binding's inputs, as BindInput saw them, and its outputs after a run.
uint32_t hk_binding_inputs(hk_thread *t, uint32_t epoch, hk_session *s,
                           const OrtIoBinding *binding);
uint32_t hk_binding_outputs(hk_thread *t, uint32_t epoch, hk_module *m, hk_session *s,
                            const OrtIoBinding *binding);
void hk_bindings_clear(void);

// --------------------------------------------- what bindings.c and op_shapes.c share with shapes.c

void hk_tensor_read(hk_module *m, const OrtValue *value, hk_tensor *out);
// For what is sent: by the public API, which also checks the short way.
void hk_tensor_read_checked(hk_module *m, const OrtValue *value, hk_tensor *out);

// A set's fingerprint: begin with the number of members, add each in order.
uint64_t hk_fingerprint_begin(size_t count);
uint64_t hk_fingerprint_add(uint64_t hash, const char *name, const hk_tensor *tensor);

uint32_t hk_shapes_lookup(hk_session *s, int direction, uint64_t fingerprint); // 0: not seen yet

typedef struct hk_named_tensor {
    hk_text name;
    const hk_tensor *tensor;
} hk_named_tensor;
typedef hk_named_tensor hk_named_tensor_fn(void *context, size_t index);

// A set of a kernel's that is not made of values: looked up, and sent if it is new.
uint32_t hk_shapes_of_members(hk_thread *t, uint32_t epoch, int direction, size_t count,
                              hk_named_tensor_fn *get, void *context, bool *sent);
void hk_kernel_shapes_clear(void);

// Gives the set a number and sends it, unless another thread was quicker.
uint32_t hk_shapes_send(hk_thread *t, uint32_t epoch, hk_session *s, int direction,
                        uint64_t fingerprint, size_t count, hk_named_tensor_fn *get, void *context);
