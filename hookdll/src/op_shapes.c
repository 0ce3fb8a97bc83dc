// SPDX-License-Identifier: MIT
// What a kernel is given and gives: types and shapes, never contents.
#include "op.h"
#include "shapes.h"

void hk_op_shapes_clear(void) {}

void hk_op_shapes_before(hk_thread *t, uint32_t epoch, const hk_kernel *k, const void *context,
                         hk_op_frame *f)
{
    (void)t;
    (void)epoch;
    (void)k;
    (void)context;
    (void)f;
}

void hk_op_shapes_after(hk_thread *t, uint32_t epoch, const hk_kernel *k, const void *context,
                        const hk_op_frame *f)
{
    (void)t;
    (void)epoch;
    (void)k;
    (void)context;
    (void)f;
}
