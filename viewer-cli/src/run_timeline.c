// SPDX-License-Identifier: MIT
// Finding a run and its operators in a file (see run_timeline.h). Several looks at the file: the
// run, its operators, their names, its allocations, what its thread did. Memory is that of the
// operators of one run.
#include "run_timeline.h"

#include "timeline_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CANDIDATES 16
#define MAX_INSIDE     1000 // executions inside an operator before one of its allocations

enum { FLAG_AMBIGUOUS = 2, FLAG_FAILED = 4 }; // of op rows

static cm_status no_memory(void)
{
    return cm_fail(CM_NO_MEMORY, "There is not enough memory for the operators of this run.");
}

// Room for one more item.
static void *grow(void *items, size_t *capacity, size_t count, size_t item_size)
{
    if (count < *capacity)
        return items;
    size_t wanted = *capacity ? *capacity * 2 : 64;
    void *grown = realloc(items, wanted * item_size);
    if (grown)
        *capacity = wanted;
    return grown;
}

void vw_timeline_deinit(vw_timeline *t)
{
    free(t->ops);
    free(t->kernels);
    cm_map_deinit(&t->kernel_by_id);
    vw_run_allocs_deinit(&t->allocs);
    vw_run_lane_deinit(&t->lane);
    tm_reader_close(t->reader);
    memset(t, 0, sizeof *t);
}

// ---------------------------------------------------------------------------------------- the run

typedef struct candidates {
    int64_t sessions[MAX_CANDIDATES];
    size_t count;
} candidates;

static void add_candidate(candidates *c, int64_t session)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->sessions[i] == session)
            return;
    if (c->count < MAX_CANDIDATES)
        c->sessions[c->count++] = session;
}

static void take_run(vw_timeline *t, const tm_block *b, size_t row)
{
    int64_t duration = b->columns[TM_run_duration][row];
    t->session = b->columns[TM_run_session][row];
    t->run = b->columns[TM_run_run][row];
    t->thread = b->columns[TM_run_thread][row];
    t->begin_ns = b->columns[TM_run_begin][row];
    t->duration_ns = duration > 0 ? duration : 0;
    t->status = b->columns[TM_run_status][row];
    t->in_flight = b->columns[TM_run_in_flight][row];
}

static cm_status tell_candidates(const char *path, const candidates *c, int64_t run,
                                 bool has_session, int64_t session)
{
    char list[MAX_CANDIDATES * 22] = "";
    for (size_t i = 0; i < c->count; i++) {
        size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, "%s%lld", i ? ", " : "", (long long)c->sessions[i]);
    }
    if (c->count > 1)
        return cm_fail(CM_USAGE, "Sessions %s%s all have a run %lld: add --session N.", list,
                       c->count == MAX_CANDIDATES ? " and others" : "", (long long)run);
    if (has_session)
        return cm_fail(CM_FAILED,
                       "\"%s\" has no run %lld of session %lld; `ortscope runs` lists "
                       "those that it has.",
                       path, (long long)run, (long long)session);
    return cm_fail(CM_FAILED, "\"%s\" has no run %lld; `ortscope runs` lists those that it has.",
                   path, (long long)run);
}

static cm_status find_run(vw_timeline *t, const char *path, bool has_session, int64_t session,
                          int64_t run)
{
    candidates c = {.count = 0};
    tm_reader *reader;
    tm_block b;
    CM_TRY(vw_open_timeline(path, &reader));
    tm_reader_only(reader, TM_BIT(run));
    cm_status status;
    while ((status = tm_reader_next(reader, &b)) == CM_OK) {
        for (size_t row = 0; row < b.row_count; row++) {
            int64_t of = b.columns[TM_run_session][row];
            if (b.columns[TM_run_run][row] != run || (has_session && of != session))
                continue;
            if (c.count == 0)
                take_run(t, &b, row);
            add_candidate(&c, of);
        }
    }
    tm_reader_close(reader);
    if (status != CM_END)
        return status;
    return c.count == 1 ? CM_OK : tell_candidates(path, &c, run, has_session, session);
}

// ---------------------------------------------------------------------------------- its operators

static cm_status kernel_place(vw_timeline *t, int64_t id, size_t *out)
{
    if (cm_map_find(&t->kernel_by_id, id, out))
        return CM_OK;
    vw_timeline_kernel *kernels =
        grow(t->kernels, &t->kernel_capacity, t->kernel_count, sizeof *kernels);
    if (!kernels)
        return no_memory();
    t->kernels = kernels;
    if (!cm_map_put(&t->kernel_by_id, id, t->kernel_count))
        return no_memory();
    kernels[t->kernel_count] = (vw_timeline_kernel){.id = id};
    *out = t->kernel_count++;
    return CM_OK;
}

static cm_status take_op(vw_timeline *t, const tm_block *b, size_t row)
{
    if (t->op_count == VW_TIMELINE_MAX_OPS) {
        t->ops_left_out++;
        return CM_OK;
    }
    vw_timeline_op *ops = grow(t->ops, &t->op_capacity, t->op_count, sizeof *ops);
    if (!ops)
        return no_memory();
    t->ops = ops;
    size_t kernel;
    CM_TRY(kernel_place(t, b->columns[TM_op_kernel][row], &kernel));
    int64_t duration = b->columns[TM_op_duration][row], depth = b->columns[TM_op_depth][row];
    ops[t->op_count++] =
        (vw_timeline_op){.kernel = kernel,
                         .thread = b->columns[TM_op_thread][row],
                         .begin_ns = b->columns[TM_op_begin][row],
                         .duration_ns = duration > 0 ? duration : 0,
                         .depth = depth < 0    ? 0
                                  : depth > 64 ? 64
                                               : depth,
                         .failed = (b->columns[TM_op_flags][row] & FLAG_FAILED) != 0,
                         .own_thread = b->columns[TM_op_thread][row] == t->thread,
                         .shown = true};
    return CM_OK;
}

static uint64_t distance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

// Whether nobody knows which run it belongs to, and the time allows for this one.
static bool may_be_of_run(const vw_timeline *t, const tm_block *b, size_t row)
{
    int64_t begin = b->columns[TM_op_begin][row], duration = b->columns[TM_op_duration][row];
    uint64_t since = (uint64_t)begin - (uint64_t)t->begin_ns, whole = (uint64_t)t->duration_ns;
    return (b->columns[TM_op_flags][row] & FLAG_AMBIGUOUS) && begin >= t->begin_ns &&
           duration >= 0 && since <= whole && (uint64_t)duration <= whole - since;
}

// A row of op: one of the run, or of another one that may be the nearest.
static cm_status look_at_op(vw_timeline *t, const tm_block *b, size_t row)
{
    int64_t run = b->columns[TM_op_run][row];
    if (b->columns[TM_op_session][row] != t->session)
        return CM_OK;
    t->ambiguous += run == 0 && may_be_of_run(t, b, row);
    if (run <= 0)
        return CM_OK;
    if (run == t->run)
        return take_op(t, b, row);
    if (t->nearest == 0 || distance(run, t->run) < distance(t->nearest, t->run))
        t->nearest = run;
    return CM_OK;
}

static cm_status look_at_ops(vw_timeline *t, const tm_block *b)
{
    t->any_ops = true;
    for (size_t row = 0; row < b->row_count; row++)
        CM_TRY(look_at_op(t, b, row));
    return CM_OK;
}

static void look_at_choices(vw_timeline *t, const tm_block *b)
{
    for (size_t row = 0; row < b->row_count; row++) {
        int64_t left_out = b->columns[TM_op_choice_left_out][row];
        t->not_in_file = left_out > 0 ? (uint64_t)left_out : 0;
    }
}

static cm_status read_ops(vw_timeline *t, const char *path)
{
    tm_reader *reader;
    tm_block b;
    CM_TRY(vw_open_timeline(path, &reader));
    tm_reader_only(reader, TM_BIT(op) | TM_BIT(op_choice));
    cm_status status;
    while ((status = tm_reader_next(reader, &b)) == CM_OK) {
        if (b.kind == TM_KIND_op_choice)
            look_at_choices(t, &b);
        else if ((status = look_at_ops(t, &b)) != CM_OK)
            break;
    }
    if (status == CM_END)
        vw_warn_of_damage(path, tm_reader_damage(reader));
    tm_reader_close(reader);
    return status == CM_END ? CM_OK : status;
}

static cm_status read_kernels(vw_timeline *t, const char *path)
{
    tm_block b;
    CM_TRY(vw_open_timeline(path, &t->reader));
    tm_reader_only(t->reader, TM_BIT(kernel));
    cm_status status;
    while ((status = tm_reader_next(t->reader, &b)) == CM_OK) {
        for (size_t row = 0; row < b.row_count; row++) {
            size_t at;
            if (!cm_map_find(&t->kernel_by_id, b.columns[TM_kernel_kernel][row], &at))
                continue;
            vw_timeline_kernel *k = &t->kernels[at];
            k->node = b.columns[TM_kernel_node][row];
            k->op_type = b.columns[TM_kernel_op_type][row];
            k->domain = b.columns[TM_kernel_domain][row];
            k->provider = b.columns[TM_kernel_provider][row];
            if (!tm_reader_string(t->reader, k->op_type)[0])
                k->by_class = an_op_type_by_class(
                    tm_reader_string(t->reader, b.columns[TM_kernel_kernel_class][row]));
            k->submits = b.columns[TM_kernel_submits][row] == 1;
        }
    }
    return status == CM_END ? CM_OK : status;
}

// ---------------------------------------------------------------------------------- order and self

static int by_thread_and_begin(const void *a, const void *b)
{
    const vw_timeline_op *x = a, *y = b;
    if (x->thread != y->thread) {
        if (x->own_thread || y->own_thread)
            return x->own_thread ? -1 : 1;
        return x->thread < y->thread ? -1 : 1;
    }
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return (x->duration_ns < y->duration_ns) - (x->duration_ns > y->duration_ns);
}

// In order of begin, what lies inside an operator follows it.
static void find_self_times(vw_timeline *t)
{
    vw_timeline_op *open[66] = {NULL}; // the last one of each depth
    for (size_t i = 0; i < t->op_count; i++) {
        vw_timeline_op *op = &t->ops[i];
        vw_timeline_op *parent = op->depth > 0 ? open[op->depth - 1] : NULL;
        op->self_ns = op->duration_ns;
        open[op->depth] = op;
        if (!parent || parent->thread != op->thread)
            continue;
        uint64_t since = (uint64_t)op->begin_ns - (uint64_t)parent->begin_ns;
        if (since <= (uint64_t)parent->duration_ns)
            parent->self_ns -=
                op->duration_ns < parent->self_ns ? op->duration_ns : parent->self_ns;
    }
}

// The operators of a thread stand together, in order of begin: the place of the last one that had
// begun there and then, SIZE_MAX if there is none.
static size_t last_begun(const vw_timeline *t, int64_t thread, int64_t time_ns)
{
    const vw_timeline_op wanted = {.thread = thread,
                                   .own_thread = thread == t->thread,
                                   .begin_ns = time_ns,
                                   .depth = INT64_MAX};
    size_t low = 0, high = t->op_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_thread_and_begin(&t->ops[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && t->ops[low - 1].thread == thread ? low - 1 : SIZE_MAX;
}

// Allocations name their kernel; which of its executions it was, the time tells.
static void assign_allocs(vw_timeline *t)
{
    for (size_t i = 0; i < t->allocs.count; i++) {
        const vw_alloc *a = &t->allocs.items[i];
        size_t kernel, at;
        if (a->released || !cm_map_find(&t->kernel_by_id, a->kernel, &kernel))
            continue;
        at = last_begun(t, a->thread, a->time_ns);
        for (size_t steps = 0; at < t->op_count && steps < MAX_INSIDE; at--, steps++) {
            vw_timeline_op *op = &t->ops[at];
            if (op->thread != a->thread)
                break;
            if (op->kernel != kernel)
                continue; // inside it, and over
            if ((uint64_t)a->time_ns - (uint64_t)op->begin_ns > (uint64_t)op->duration_ns)
                break;
            op->allocations++;
            op->allocated_bytes += (double)a->bytes;
            break;
        }
    }
}

cm_status vw_timeline_read(vw_timeline *t, const char *path, bool has_session, int64_t session,
                           int64_t run)
{
    CM_TRY(find_run(t, path, has_session, session, run));
    CM_TRY(read_ops(t, path));
    CM_TRY(read_kernels(t, path));
    CM_TRY(vw_run_allocs_read(&t->allocs, path, t->session, t->run));
    CM_TRY(vw_run_lane_read(
        &t->lane, path,
        &(an_join_run){t->session, t->run, t->thread, t->begin_ns, t->duration_ns, t->in_flight}));
    if (t->op_count)
        qsort(t->ops, t->op_count, sizeof *t->ops, by_thread_and_begin);
    find_self_times(t);
    assign_allocs(t);
    return CM_OK;
}

static int longest_first(const void *a, const void *b)
{
    const vw_timeline_op *const *x = a, *const *y = b;
    if ((*x)->duration_ns != (*y)->duration_ns)
        return (*x)->duration_ns > (*y)->duration_ns ? -1 : 1;
    return (*x > *y) - (*x < *y);
}

size_t vw_timeline_show_longest(vw_timeline *t, size_t count)
{
    if (count == 0 || count >= t->op_count)
        return 0;
    vw_timeline_op **order = malloc(t->op_count * sizeof(vw_timeline_op *));
    if (!order)
        return 0; // shows all
    for (size_t i = 0; i < t->op_count; i++)
        order[i] = &t->ops[i];
    qsort(order, t->op_count, sizeof *order, longest_first);
    for (size_t i = count; i < t->op_count; i++)
        order[i]->shown = false;
    free(order);
    return t->op_count - count;
}
