// SPDX-License-Identifier: MIT
// Operators: what each kernel cost in all, and the newest executions of each session.
#include "live_state.h"

#include <stdlib.h>
#include <string.h>

enum { OP_LOADING = 1, OP_FAILED = 4 };

// How far back a run is looked for that an execution belongs to.
#define LOOK_BACK 64u

static bool kernel_place(da_live *l, int64_t id, size_t *out)
{
    if (cm_map_find(&l->kernel_by_id, id, out))
        return true;
    if (l->kernel_count == l->kernel_capacity) {
        size_t capacity = l->kernel_capacity ? l->kernel_capacity * 2 : 256;
        da_kernel *larger =
            capacity > DA_KERNELS ? NULL : realloc(l->kernels, capacity * sizeof *larger);
        if (!larger)
            return false;
        l->kernels = larger;
        l->kernel_capacity = capacity;
    }
    if (!cm_map_put(&l->kernel_by_id, id, l->kernel_count))
        return false;
    *out = l->kernel_count;
    l->kernels[l->kernel_count++] = (da_kernel){.id = id};
    return true;
}

void da_on_kernel(da_live *l, const int64_t *row)
{
    size_t at;
    if (!kernel_place(l, row[TM_kernel_kernel], &at)) {
        l->no_room++;
        return;
    }
    da_kernel *k = &l->kernels[at];
    bool is_new = !k->told;
    k->told = true;
    k->session = row[TM_kernel_session];
    k->node = row[TM_kernel_node];
    k->op_type = row[TM_kernel_op_type];
    k->domain = row[TM_kernel_domain];
    k->provider = row[TM_kernel_provider];
    k->submits = row[TM_kernel_submits] == 1;
    da_session *s = da_session_find(l, k->session);
    if (s && is_new)
        s->kernels++;
}

void da_on_kernel_tensor(da_live *l, const int64_t *row)
{
    size_t at, place = l->tensors.len / sizeof(da_tensor);
    if (place >= DA_TENSORS || !kernel_place(l, row[TM_kernel_tensor_kernel], &at)) {
        l->tensors_missing = true;
        return;
    }
    da_kernel *k = &l->kernels[at];
    const da_tensor tensor = {.name = row[TM_kernel_tensor_name],
                              .index = (uint32_t)row[TM_kernel_tensor_index],
                              .before = k->last_tensor,
                              .made = row[TM_kernel_tensor_direction] == 1};
    cm_buf_append(&l->tensors, &tensor, sizeof tensor);
    if (l->tensors.failed)
        l->tensors_missing = true;
    else
        k->last_tensor = (uint32_t)place + 1;
}

// --------------------------------------------------------------------------------------- nesting

static da_thread *thread_of(da_live *l, int64_t thread)
{
    size_t longest_ago = 0;
    for (size_t i = 0; i < l->thread_count; i++) {
        if (l->threads[i].thread == thread)
            return &l->threads[i];
        if (l->threads[i].used_ns < l->threads[longest_ago].used_ns)
            longest_ago = i;
    }
    size_t place = l->thread_count < DA_THREADS ? l->thread_count++ : longest_ago;
    l->threads[place] = (da_thread){.thread = thread};
    return &l->threads[place];
}

// The executions of a thread come in order of their end: those inside one come before it.
static int64_t self_time(da_live *l, int64_t thread, int64_t depth, int64_t end_ns,
                         int64_t duration_ns)
{
    if (depth < 0 || depth > (int64_t)DA_DEPTH)
        return duration_ns;
    da_thread *t = thread_of(l, thread);
    int64_t inside = t->inside_ns[depth + 1];
    t->used_ns = end_ns;
    t->inside_ns[depth + 1] = 0;
    if (depth > 0 && duration_ns < INT64_MAX - t->inside_ns[depth])
        t->inside_ns[depth] += duration_ns;
    return inside < duration_ns ? duration_ns - inside : 0;
}

// ------------------------------------------------------------------------------------ executions

static void count_for_run(da_session *s, int64_t run)
{
    size_t back = s->recent.count < LOOK_BACK ? s->recent.count : LOOK_BACK;
    for (size_t i = 1; i <= back; i++) {
        da_run *r = da_ring_at(&s->recent, s->recent.count - i);
        if (r->run == run) {
            r->ops++;
            return;
        }
    }
    if (s->early_run != run) {
        s->early_run = run;
        s->early_ops = 0;
    }
    s->early_ops++;
}

static void keep(da_live *l, const int64_t *row, size_t kernel)
{
    da_session *s = da_session_find(l, row[TM_op_session]);
    if (!s || row[TM_op_run] <= 0)
        return;
    da_op *op = da_ring_add(&s->ops);
    if (!op)
        return;
    int64_t depth = row[TM_op_depth];
    *op = (da_op){.kernel = (uint32_t)kernel,
                  .depth = (uint8_t)(depth < 0     ? 0
                                     : depth > 255 ? 255
                                                   : depth),
                  .flags = (uint8_t)row[TM_op_flags],
                  .run = row[TM_op_run],
                  .thread = row[TM_op_thread],
                  .begin_ns = row[TM_op_begin],
                  .duration_ns = row[TM_op_duration] > 0 ? row[TM_op_duration] : 0};
    s->ops_seen++;
    count_for_run(s, op->run);
}

void da_on_op(da_live *l, const int64_t *row)
{
    size_t at;
    if (!kernel_place(l, row[TM_op_kernel], &at)) {
        l->no_room++;
        return;
    }
    int64_t begin = row[TM_op_begin] > 0 ? row[TM_op_begin] : 0;
    int64_t duration = row[TM_op_duration] > 0 ? row[TM_op_duration] : 0;
    if (duration > INT64_MAX - begin)
        duration = INT64_MAX - begin;
    int64_t self = self_time(l, row[TM_op_thread], row[TM_op_depth], begin + duration, duration);
    if (row[TM_op_flags] & OP_LOADING)
        return;
    da_kernel *k = &l->kernels[at];
    if (!k->told)
        k->session = row[TM_op_session];
    k->calls++;
    k->failed += (row[TM_op_flags] & OP_FAILED) != 0;
    k->total_ns += (uint64_t)duration;
    k->self_ns += (uint64_t)self;
    if ((uint64_t)duration > k->max_ns)
        k->max_ns = (uint64_t)duration;
    keep(l, row, at);
}
