// SPDX-License-Identifier: MIT
// Which shapes an execution had: the run tells the session's inputs, and these together with the
// kernel tell the kernel's own inputs and outputs.
#include "analysis/flops.h"
#include "analysis_util.h"
#include "ops_internal.h"

#include <math.h>
#include <stdlib.h>

enum { NOT_KNOWN = -1, CALL_WITH_BINDING = 1 };

cm_status an_ops_add_kernel_shapes(an_ops *o, const tm_block *b)
{
    for (size_t row = 0; row < b->row_count && o->kernel_shape_count < AN_MAX_KERNEL_SHAPES;
         row++) {
        an_kernel_shape *shapes = an_grow(o->kernel_shapes, &o->kernel_shape_capacity,
                                          o->kernel_shape_count, sizeof *shapes);
        if (!shapes)
            return an_no_memory();
        o->kernel_shapes = shapes;
        shapes[o->kernel_shape_count++] =
            (an_kernel_shape){.kernel = b->columns[TM_kernel_shape_kernel][row],
                              .run_inputs = b->columns[TM_kernel_shape_run_inputs][row],
                              .inputs = b->columns[TM_kernel_shape_inputs][row],
                              .outputs = b->columns[TM_kernel_shape_outputs][row],
                              .flops = NAN};
        o->shapes_ready = false;
    }
    return CM_OK;
}

// Inputs that were bound before we came have the number 0, in rows of kernel_shape too, whichever
// binding it was. In a run without binding it means that they were lost, and may be any.
static int64_t inputs_of_row(const tm_block *b, size_t row)
{
    int64_t inputs = b->columns[TM_run_inputs][row];
    bool told = inputs > 0 || (inputs == 0 && b->columns[TM_run_call][row] == CALL_WITH_BINDING);
    return told ? inputs : NOT_KNOWN;
}

// Several bindings, of several batch sizes perhaps, have the number 0 in common: only what came out
// tells them apart.
static cm_status add_bound_outputs(an_ops *o, int64_t session, int64_t outputs)
{
    size_t now = outputs > 0 ? (size_t)outputs : 0, before;
    bool any = cm_map_find(&o->bound_outputs, session, &before);
    if (any && before == now)
        return CM_OK;
    return cm_map_put(&o->bound_outputs, session, any ? 0 : now) ? CM_OK : an_no_memory();
}

cm_status an_ops_add_run_inputs(an_ops *o, const tm_block *b)
{
    for (size_t row = 0; row < b->row_count; row++) {
        int64_t session = b->columns[TM_run_session][row], inputs = inputs_of_row(b, row);
        bool succeeded = b->columns[TM_run_status][row] == 0; // else nothing came out
        if (inputs == 0 && succeeded)
            CM_TRY(add_bound_outputs(o, session, b->columns[TM_run_outputs][row]));
        CM_TRY(an_run_ranges_add(&o->inputs_of_runs, session, b->columns[TM_run_run][row], inputs));
    }
    return CM_OK;
}

static int by_kernel_and_inputs(const void *a, const void *b)
{
    const an_kernel_shape *x = a, *y = b;
    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    return (x->run_inputs > y->run_inputs) - (x->run_inputs < y->run_inputs);
}

void an_ops_prepare_flops(an_ops *o)
{
    o->shapes_ready = true;
    an_run_ranges_finish(&o->inputs_of_runs);
    if (o->kernel_shape_count)
        qsort(o->kernel_shapes, o->kernel_shape_count, sizeof *o->kernel_shapes,
              by_kernel_and_inputs);
    for (size_t i = 0; i < o->kernel_shape_count; i++) {
        an_kernel_shape *s = &o->kernel_shapes[i];
        size_t at;
        s->flops = NAN;
        if (cm_map_find(&o->kernel_by_id, s->kernel, &at))
            s->flops = an_flops(o->kernels[at].op_type, an_shapes_find(&o->shapes, s->inputs),
                                an_shapes_find(&o->shapes, s->outputs));
    }
}

// Whether the inputs with the number 0 were the same in all runs that have it.
static bool bound_the_same(const an_ops *o, int64_t session)
{
    size_t outputs;
    return cm_map_find(&o->bound_outputs, session, &outputs) && outputs > 0;
}

static int64_t inputs_of_run(an_ops *o, int64_t session, int64_t run)
{
    if (run == o->inputs_run && session == o->inputs_session)
        return o->inputs_id;
    const an_run_range *found = an_run_ranges_find(&o->inputs_of_runs, session, run);
    o->inputs_session = session;
    o->inputs_run = run;
    o->inputs_id = found ? found->value : NOT_KNOWN;
    if (o->inputs_id == 0 && !bound_the_same(o, session))
        o->inputs_id = NOT_KNOWN;
    return o->inputs_id;
}

// Two different answers for one question are no answer.
static double look_up(const an_ops *o, int64_t kernel, int64_t run_inputs)
{
    size_t low = 0, high = o->kernel_shape_count;
    an_kernel_shape wanted = {.kernel = kernel, .run_inputs = run_inputs};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_kernel_and_inputs(&o->kernel_shapes[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == o->kernel_shape_count || by_kernel_and_inputs(&o->kernel_shapes[low], &wanted) != 0)
        return NAN;
    double flops = o->kernel_shapes[low].flops;
    while (++low < o->kernel_shape_count &&
           by_kernel_and_inputs(&o->kernel_shapes[low], &wanted) == 0)
        if (!(o->kernel_shapes[low].flops >= flops && o->kernel_shapes[low].flops <= flops))
            return NAN;
    return flops;
}

double an_ops_flops_of(an_ops *o, an_op_cell *cell, int64_t session, int64_t run)
{
    int64_t inputs = run > 0 ? inputs_of_run(o, session, run) : NOT_KNOWN;
    if (inputs == NOT_KNOWN)
        return NAN;
    if (inputs != cell->flops_inputs) {
        cell->flops_inputs = inputs;
        cell->flops_each = look_up(o, o->kernels[cell->kernel].id, inputs);
    }
    return cell->flops_each;
}
