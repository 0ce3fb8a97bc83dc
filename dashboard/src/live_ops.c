// SPDX-License-Identifier: MIT
// Operators: what each kernel cost in all, and the newest executions of each session.
#include "live_state.h"

#include <stdlib.h>

enum { OP_LOADING = 1, OP_FAILED = 4 };

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

// Runs are numbered one after the other, so the newest DA_RUNS have a place each.
static da_run_ops *place_of(const da_session *s, int64_t run)
{
    return &s->run_ops[(uint64_t)run % DA_RUNS];
}

static void count_for_run(da_session *s, int64_t run)
{
    if (!s->run_ops && !(s->run_ops = calloc(DA_RUNS, sizeof *s->run_ops)))
        return;
    da_run_ops *of_run = place_of(s, run);
    if (of_run->run < run)
        *of_run = (da_run_ops){.run = run};
    of_run->count += of_run->run == run;
}

uint64_t da_run_op_count(const da_session *s, int64_t run)
{
    const da_run_ops *of_run = s->run_ops ? place_of(s, run) : NULL;
    return of_run && of_run->run == run ? of_run->count : 0;
}

// The place of one more; which run lacks one from then on is noted.
static da_op *add_op(da_session *s, int64_t run)
{
    const da_op *oldest =
        s->ops.count == s->ops.capacity && s->ops.count ? da_ring_at(&s->ops, 0) : NULL;
    int64_t gone = oldest ? oldest->run : 0;
    size_t before = s->ops.count;
    da_op *op = da_ring_add(&s->ops);
    if (!op)
        gone = run;
    else if (s->ops.count > before)
        return op;
    s->ops_gone = gone > s->ops_gone ? gone : s->ops_gone;
    return op;
}

static void keep(da_live *l, const int64_t *row, size_t kernel)
{
    da_session *s = da_session_find(l, row[TM_op_session]);
    if (!s || row[TM_op_run] <= 0)
        return;
    count_for_run(s, row[TM_op_run]);
    da_op *op = s->ops_gone < INT64_MAX ? add_op(s, row[TM_op_run]) : NULL;
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
}

void da_on_op(da_live *l, const int64_t *row)
{
    size_t at;
    if (!da_kernel_place(l, row[TM_op_kernel], &at)) {
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
    if (!k->told && !k->folded)
        k->session = row[TM_op_session];
    k->calls++;
    k->failed += (row[TM_op_flags] & OP_FAILED) != 0;
    k->total_ns += (uint64_t)duration;
    k->self_ns += (uint64_t)self;
    if ((uint64_t)duration > k->max_ns)
        k->max_ns = (uint64_t)duration;
    keep(l, row, at);
}
