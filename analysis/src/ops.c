// SPDX-License-Identifier: MIT
// Rows into sums per kernel (see analysis/ops.h). Kernel rows may come after executions that refer
// to them, or never. Must never keep anything per execution.
#include "analysis_util.h"
#include "ops_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLAG_LOADING = 1, FLAG_AMBIGUOUS = 2, FLAG_FAILED = 4 }; // of op rows

cm_status an_ops_create(const an_op_options *options, an_ops **out)
{
    an_ops *o = calloc(1, sizeof *o);
    if (!o)
        return an_no_memory();
    if (options)
        o->options = *options;
    an_nesting_init(&o->nesting);
    an_shapes_init(&o->shapes);
    an_run_ranges_init(&o->runs_with_ops);
    an_run_ranges_init(&o->inputs_of_runs);
    o->noted_run = o->inputs_run = AN_NO_RUN;
    *out = o;
    return CM_OK;
}

void an_ops_destroy(an_ops *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->text_count; i++)
        free(o->texts[i]);
    for (size_t i = 0; i < o->cell_count; i++)
        free(o->cells[i].batches);
    free(o->texts);
    free(o->kernels);
    free(o->cells);
    free(o->order);
    free(o->by_session);
    free(o->creations);
    free(o->kernel_shapes);
    cm_map_deinit(&o->kernel_by_id);
    cm_map_deinit(&o->cell_by_key);
    cm_map_deinit(&o->text_by_id);
    cm_map_deinit(&o->type_by_class);
    cm_map_deinit(&o->bound_outputs);
    an_nesting_deinit(&o->nesting);
    an_shapes_deinit(&o->shapes);
    an_run_ranges_deinit(&o->runs_with_ops);
    an_run_ranges_deinit(&o->inputs_of_runs);
    free(o);
}

// --------------------------------------------------------------------------------- find or add

static cm_status add_cell(an_ops *o, size_t kernel, size_t thread)
{
    an_op_cell *cells = an_grow(o->cells, &o->cell_capacity, o->cell_count, sizeof *cells);
    if (!cells)
        return an_no_memory();
    o->cells = cells;
    cells[o->cell_count++] = (an_op_cell){.kernel = kernel,
                                          .thread = thread,
                                          .last_run = AN_NO_RUN,
                                          .flops_inputs = -1,
                                          .flops_each = NAN};
    return CM_OK;
}

// *out is AN_MAX_KERNELS when there is no room for another one.
static cm_status add_missing_kernel(an_ops *o, int64_t id, size_t *out)
{
    *out = AN_MAX_KERNELS;
    if (o->kernel_count == AN_MAX_KERNELS)
        return CM_OK;
    an_kernel *kernels = an_grow(o->kernels, &o->kernel_capacity, o->kernel_count, sizeof *kernels);
    if (!kernels)
        return an_no_memory();
    o->kernels = kernels;
    if (!o->options.threads)
        CM_TRY(add_cell(o, o->kernel_count, AN_NEST_THREADS));
    if (!cm_map_put(&o->kernel_by_id, id, o->kernel_count))
        return an_no_memory();
    kernels[o->kernel_count] =
        (an_kernel){.id = id, .node = "", .op_type = "", .domain = "", .provider = ""};
    *out = o->kernel_count++;
    return CM_OK;
}

static inline cm_status get_kernel(an_ops *o, int64_t id, size_t *out)
{
    return an_ops_find_kernel(o, id, &o->next_kernel, out) ? CM_OK : add_missing_kernel(o, id, out);
}

static int64_t cell_key(size_t kernel, size_t thread)
{
    return (int64_t)(kernel * (AN_NEST_THREADS + 1) + thread);
}

// *out is NULL when there is no room for another one.
static cm_status get_cell(an_ops *o, size_t kernel, size_t thread, an_op_cell **out)
{
    size_t at = kernel;
    *out = NULL;
    if (kernel == AN_MAX_KERNELS)
        return CM_OK;
    if (o->options.threads && !cm_map_find(&o->cell_by_key, cell_key(kernel, thread), &at)) {
        if (o->cell_count == AN_MAX_KERNELS)
            return CM_OK;
        at = o->cell_count;
        CM_TRY(add_cell(o, kernel, thread));
        if (!cm_map_put(&o->cell_by_key, cell_key(kernel, thread), at))
            return an_no_memory();
    }
    *out = &o->cells[at];
    return CM_OK;
}

an_op_cell *an_ops_find_cell(const an_ops *o, int64_t kernel, int64_t thread)
{
    size_t at, of_thread = AN_NEST_THREADS;
    if (!cm_map_find(&o->kernel_by_id, kernel, &at))
        return NULL;
    if (!o->options.threads)
        return &o->cells[at];
    (void)cm_map_find(&o->nesting.thread_by_id, thread, &of_thread);
    return cm_map_find(&o->cell_by_key, cell_key(at, of_thread), &at) ? &o->cells[at] : NULL;
}

// ------------------------------------------------------------------------------------ rows

static cm_status add_kernel(an_ops *o, const tm_reader *reader, const tm_block *b, size_t row)
{
    size_t at;
    CM_TRY(get_kernel(o, b->columns[TM_kernel_kernel][row], &at));
    if (at == AN_MAX_KERNELS)
        return CM_OK;
    an_kernel *k = &o->kernels[at];
    if (b->columns[TM_kernel_session][row] != 0)
        k->session = b->columns[TM_kernel_session][row];
    k->declared = true;
    k->submits = b->columns[TM_kernel_submits][row] == 1;
    CM_TRY(an_ops_copy_text(o, reader, b->columns[TM_kernel_node][row], &k->node));
    CM_TRY(an_ops_copy_type(o, reader, b->columns[TM_kernel_op_type][row],
                            b->columns[TM_kernel_kernel_class][row], &k->op_type));
    CM_TRY(an_ops_copy_text(o, reader, b->columns[TM_kernel_domain][row], &k->domain));
    return an_ops_copy_text(o, reader, b->columns[TM_kernel_provider][row], &k->provider);
}

static cm_status note_run(an_ops *o, int64_t session, int64_t run)
{
    if (!o->options.runs || run <= 0 || (session == o->noted_session && run == o->noted_run))
        return CM_OK;
    o->noted_session = session;
    o->noted_run = run;
    o->runs_ready = false;
    return an_run_ranges_add(&o->runs_with_ops, session, run, 0);
}

static int64_t end_of(const tm_block *b, size_t row)
{
    int64_t duration = b->columns[TM_op_duration][row];
    return an_add_clamped(b->columns[TM_op_begin][row], duration > 0 ? duration : 0);
}

static void add_to_sums(an_op_sums *s, int64_t flags, uint64_t total_ns, uint64_t self_ns)
{
    if (flags & FLAG_LOADING) {
        s->loading_calls++;
        s->loading_ns = an_add_saturating(s->loading_ns, self_ns);
        return;
    }
    s->calls++;
    s->failed += (flags & FLAG_FAILED) != 0;
    s->ambiguous += (flags & FLAG_AMBIGUOUS) != 0;
    s->total_ns = an_add_saturating(s->total_ns, total_ns);
    s->self_ns = an_add_saturating(s->self_ns, self_ns);
    s->max_ns = total_ns > s->max_ns ? total_ns : s->max_ns;
    s->squares += (double)total_ns * (double)total_ns;
}

// One execution of a kernel, its place on its thread known.
static cm_status add_execution(an_ops *o, const tm_block *b, size_t row, size_t thread,
                               uint64_t total_ns, uint64_t self_ns)
{
    int64_t session = b->columns[TM_op_session][row], run = b->columns[TM_op_run][row];
    int64_t flags = b->columns[TM_op_flags][row];
    size_t kernel;
    an_op_cell *cell;
    CM_TRY(get_kernel(o, b->columns[TM_op_kernel][row], &kernel));
    CM_TRY(get_cell(o, kernel, thread, &cell));
    if (!cell) {
        o->untold++;
        return CM_OK;
    }
    if (session != 0 && o->kernels[kernel].session == 0)
        o->kernels[kernel].session = session;
    add_to_sums(&cell->sums, flags, total_ns, self_ns);
    if (flags & FLAG_LOADING) {
        an_kernel *k = &o->kernels[kernel];
        if (k->session == 0) {
            k->loaded = true;
            k->loading_thread = b->columns[TM_op_thread][row];
            k->loading_time_ns = end_of(b, row);
        }
        return CM_OK;
    }
    if (o->options.batches)
        CM_TRY(an_ops_add_to_batches(o, cell, b, row, self_ns));
    cell->repeats = cell->repeats || (run > 0 && run == cell->last_run);
    cell->last_run = run;
    double flops = o->options.flops ? an_ops_flops_of(o, cell, session, run) : (double)NAN;
    if (!__builtin_isnan(flops)) {
        cell->sums.flops += flops;
        cell->sums.flops_calls++;
    }
    return note_run(o, session, run);
}

static cm_status add_op(an_ops *o, const tm_block *b, size_t row)
{
    int64_t begin = b->columns[TM_op_begin][row], depth = b->columns[TM_op_depth][row];
    int64_t end = end_of(b, row);
    uint64_t total_ns = (uint64_t)end - (uint64_t)begin, self_ns = total_ns;
    size_t thread;
    CM_TRY(an_nesting_thread(&o->nesting, b->columns[TM_op_thread][row], &thread));
    if (depth != 0 || an_nesting_any(&o->nesting, thread))
        CM_TRY(an_nesting_end(&o->nesting, thread, depth, begin, end, &self_ns));
    return add_execution(o, b, row, thread, total_ns, self_ns);
}

// ---------------------------------------------------------------------------- order of op rows

// Whether the rows of each thread come in the order of their ends, inner ones first.
static cm_status is_ordered(an_ops *o, const tm_block *b, bool *out)
{
    o->block_number++;
    *out = true;
    for (size_t row = 0; row < b->row_count; row++) {
        size_t at;
        CM_TRY(an_nesting_thread(&o->nesting, b->columns[TM_op_thread][row], &at));
        if (at == AN_NEST_THREADS)
            continue; // no nesting to be wrong about
        an_nest_thread *t = &o->nesting.threads[at];
        int64_t end = end_of(b, row), depth = b->columns[TM_op_depth][row];
        if (t->seen_in_block == o->block_number &&
            (end < t->last_end_ns || (end == t->last_end_ns && depth > t->last_depth))) {
            *out = false;
            return CM_OK;
        }
        t->seen_in_block = o->block_number;
        t->last_end_ns = end;
        t->last_depth = depth;
    }
    return CM_OK;
}

static int by_end(const void *a, const void *b)
{
    const an_op_order *x = a, *y = b;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth > y->depth ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static cm_status add_unordered_ops(an_ops *o, const tm_block *b)
{
    if (b->row_count > o->order_capacity) {
        an_op_order *order = realloc(o->order, b->row_count * sizeof *order);
        if (!order)
            return an_no_memory();
        o->order = order;
        o->order_capacity = b->row_count;
    }
    for (size_t row = 0; row < b->row_count; row++)
        o->order[row] = (an_op_order){row, end_of(b, row), b->columns[TM_op_depth][row]};
    qsort(o->order, b->row_count, sizeof *o->order, by_end);
    for (size_t i = 0; i < b->row_count; i++)
        CM_TRY(add_op(o, b, o->order[i].row));
    return CM_OK;
}

static cm_status add_ops(an_ops *o, const tm_block *b)
{
    bool ordered;
    if (o->options.flops && !o->shapes_ready)
        an_ops_prepare_flops(o);
    CM_TRY(is_ordered(o, b, &ordered));
    if (!ordered)
        return add_unordered_ops(o, b);
    for (size_t row = 0; row < b->row_count; row++)
        CM_TRY(add_op(o, b, row));
    return CM_OK;
}

cm_status an_ops_add(an_ops *o, const tm_reader *reader, const tm_block *b)
{
    switch (b->kind) {
    case TM_KIND_kernel:
        for (size_t row = 0; row < b->row_count; row++)
            CM_TRY(add_kernel(o, reader, b, row));
        return CM_OK;
    case TM_KIND_op:
        return add_ops(o, b);
    case TM_KIND_op_choice:
        an_ops_add_choice(o, b);
        return CM_OK;
    case TM_KIND_session:
        return an_ops_add_creations(o, b);
    case TM_KIND_alloc:
        if (o->options.allocs)
            an_ops_add_allocs(o, b);
        return CM_OK;
    case TM_KIND_kernel_shape:
        return o->options.flops ? an_ops_add_kernel_shapes(o, b) : CM_OK;
    case TM_KIND_run:
        return o->options.flops ? an_ops_add_run_inputs(o, b) : CM_OK;
    default: // takes only shapes and tensors
        return o->options.flops ? an_shapes_add(&o->shapes, reader, b) : CM_OK;
    }
}

typedef struct session_cell {
    int64_t session;
    size_t cell;
} session_cell;

static int compare_session_cells(const void *a, const void *b)
{
    const session_cell *x = a, *y = b;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    return (x->cell > y->cell) - (x->cell < y->cell);
}

static cm_status order_by_session(an_ops *o)
{
    session_cell *pairs = malloc((o->cell_count + 1) * sizeof *pairs);
    o->by_session = malloc((o->cell_count + 1) * sizeof *o->by_session);
    if (!pairs || !o->by_session) {
        free(pairs);
        return an_no_memory();
    }
    for (size_t i = 0; i < o->cell_count; i++)
        pairs[i] = (session_cell){o->kernels[o->cells[i].kernel].session, i};
    if (o->cell_count)
        qsort(pairs, o->cell_count, sizeof *pairs, compare_session_cells);
    for (size_t i = 0; i < o->cell_count; i++)
        o->by_session[i] = pairs[i].cell;
    free(pairs);
    return CM_OK;
}

cm_status an_ops_finish(an_ops *o)
{
    an_run_ranges_finish(&o->runs_with_ops);
    an_ops_assign_loading(o);
    for (size_t i = 0; i < o->cell_count; i++) {
        an_op_cell *cell = &o->cells[i];
        const an_kernel *k = &o->kernels[cell->kernel];
        if (cell->repeats || k->submits)
            cell->sums.flops_calls = 0;
        cell->sums.submitted = k->submits ? cell->sums.calls : 0;
    }
    return order_by_session(o);
}

bool an_ops_any(const an_ops *o)
{
    return o->block_number > 0;
}

uint64_t an_ops_untold(const an_ops *o)
{
    return o->untold;
}
