// SPDX-License-Identifier: MIT
// Which kernels there are, and what their tensors are called.
#include "live_state.h"

#include <stdlib.h>

static bool grow(da_live *l)
{
    size_t capacity = l->kernel_capacity ? l->kernel_capacity * 2 : 256;
    da_kernel *larger =
        capacity > DA_KERNELS ? NULL : realloc(l->kernels, capacity * sizeof *larger);
    if (!larger)
        return false;
    l->kernels = larger;
    l->kernel_capacity = capacity;
    return true;
}

bool da_kernel_place(da_live *l, int64_t id, size_t *out)
{
    if (cm_map_find(&l->kernel_by_id, id, out))
        return true;
    if (!l->free_kernel && l->kernel_count == l->kernel_capacity && !grow(l) &&
        (!da_kernels_reclaim(l) || !l->free_kernel))
        return false;
    size_t at = l->free_kernel ? l->free_kernel - 1 : l->kernel_count;
    if (!cm_map_put(&l->kernel_by_id, id, at))
        return false;
    if (l->free_kernel) {
        l->free_kernel = l->kernels[at].last_tensor;
        l->kernels_free--;
    } else {
        l->kernel_count++;
    }
    l->kernels[at] = (da_kernel){.id = id, .used = true};
    *out = at;
    return true;
}

void da_on_kernel(da_live *l, const int64_t *row)
{
    size_t at;
    if (!da_kernel_place(l, row[TM_kernel_kernel], &at)) {
        l->no_room++;
        return;
    }
    da_kernel *k = &l->kernels[at];
    if (k->folded)
        return; // told again, after its session
    bool is_new = !k->told;
    k->told = true;
    k->session = row[TM_kernel_session];
    k->node = row[TM_kernel_node];
    k->op_type = row[TM_kernel_op_type];
    k->kernel_class = row[TM_kernel_kernel_class];
    k->domain = row[TM_kernel_domain];
    k->provider = row[TM_kernel_provider];
    k->submits = row[TM_kernel_submits] == 1;
    da_session *s = da_session_find(l, k->session);
    if (s && is_new)
        s->kernels++;
}

static bool add_tensor(da_live *l, const da_tensor *tensor)
{
    if (l->tensors.len / sizeof *tensor >= DA_TENSORS)
        return false;
    cm_buf_append(&l->tensors, tensor, sizeof *tensor);
    return !l->tensors.failed;
}

void da_on_kernel_tensor(da_live *l, const int64_t *row)
{
    size_t at;
    if (l->tensors.len / sizeof(da_tensor) >= DA_TENSORS)
        da_kernels_reclaim(l);
    if (!da_kernel_place(l, row[TM_kernel_tensor_kernel], &at))
        return;
    da_kernel *k = &l->kernels[at];
    if (k->folded)
        return;
    const da_tensor tensor = {.name = row[TM_kernel_tensor_name],
                              .index = (uint32_t)row[TM_kernel_tensor_index],
                              .before = k->last_tensor,
                              .made = row[TM_kernel_tensor_direction] == 1};
    if (add_tensor(l, &tensor))
        k->last_tensor = (uint32_t)(l->tensors.len / sizeof tensor);
    else
        k->tensors_missing = true;
}
