// SPDX-License-Identifier: MIT
// What ops.c gathers and op_table.c puts into tables.
#pragma once

#include "analysis/ops.h"
#include "analysis/shapes.h"
#include "op_nesting.h"
#include "run_ranges.h"

#define AN_MAX_KERNEL_SHAPES (1024 * 1024)
#define AN_MAX_CREATIONS     (64 * 1024)
#define AN_NO_RUN            INT64_MIN

typedef struct an_kernel {
    int64_t id;
    int64_t session; // of its own row, else of its first execution
    const char *node, *op_type, *domain, *provider;
    bool declared, submits;
    bool loaded; // was executed inside the creation of a session that had no number yet ...
    int64_t loading_thread, loading_time_ns; // ... here and then
} an_kernel;

// One kernel, or one kernel on one thread.
typedef struct an_op_cell {
    size_t kernel;
    size_t thread; // place in nesting.threads, AN_NEST_THREADS if threads are not kept apart
    int64_t last_run;
    bool repeats;         // several times in one run
    int64_t flops_inputs; // the session's inputs of the last execution with ...
    double flops_each;    // ... these FLOPs
    an_op_sums sums;
    an_op_batches *batches; // NULL: none are kept, or none were executed in a run
} an_op_cell;

// What a kernel was given when the session was given run_inputs.
typedef struct an_kernel_shape {
    int64_t kernel, run_inputs, inputs, outputs;
    double flops;
} an_kernel_shape;

// A session that was created, and where and when.
typedef struct an_creation {
    int64_t session, thread, begin_ns, end_ns;
} an_creation;

typedef struct an_op_order {
    size_t row;
    int64_t end_ns, depth;
} an_op_order;

struct an_ops {
    an_op_options options;
    an_kernel *kernels;
    size_t kernel_count, kernel_capacity;
    cm_map kernel_by_id;
    size_t next_kernel; // where the next one that is asked for probably is
    an_op_cell *cells;
    size_t cell_count, cell_capacity;
    cm_map cell_by_key; // only with threads; else cells and kernels have the same places
    size_t *by_session; // the cells in order of their sessions, once finished
    char **texts;       // copies of the strings that kernels use
    size_t text_count, text_capacity;
    cm_map text_by_id, type_by_class; // places in texts
    an_nesting nesting;
    an_op_order *order; // scratch for blocks whose rows are not in order
    size_t order_capacity;
    uint64_t block_number;
    uint64_t untold;
    size_t batch_count; // cells with batches
    an_op_kept kept;
    int64_t kept_value;
    uint64_t left_out; // executions that runs which were kept may lack
    an_creation *creations;
    size_t creation_count, creation_capacity;

    an_run_ranges runs_with_ops;
    bool runs_ready;                  // can be asked for a run
    int64_t noted_session, noted_run; // the last one that was noted

    an_shapes shapes;               // from here on: only with flops
    an_kernel_shape *kernel_shapes; // by kernel and run_inputs once sorted
    size_t kernel_shape_count, kernel_shape_capacity;
    bool shapes_ready;
    an_run_ranges inputs_of_runs;
    cm_map bound_outputs; // of each session's runs with inputs bound before we came; 0: different
    int64_t inputs_session, inputs_run, inputs_id; // the last answer
};

// In op_texts.c. "" where there is none; a type by the class where the graph tells none.
cm_status an_ops_copy_text(an_ops *o, const tm_reader *reader, int64_t id, const char **out);
cm_status an_ops_copy_type(an_ops *o, const tm_reader *reader, int64_t op_type, int64_t class_id,
                           const char **out);

// In op_answers.c.
void an_ops_add_choice(an_ops *o, const tm_block *block);

// In op_loading.c.
cm_status an_ops_add_creations(an_ops *o, const tm_block *block);
void an_ops_assign_loading(an_ops *o);

// In op_batches.c.
cm_status an_ops_add_to_batches(an_ops *o, an_op_cell *cell, const tm_block *block, size_t row,
                                uint64_t self_ns);

// In op_allocs.c.
void an_ops_add_allocs(an_ops *o, const tm_block *block);

// In op_shapes.c.
cm_status an_ops_add_kernel_shapes(an_ops *o, const tm_block *block);
cm_status an_ops_add_run_inputs(an_ops *o, const tm_block *block);
void an_ops_prepare_flops(an_ops *o);
// NAN if they are not known.
double an_ops_flops_of(an_ops *o, an_op_cell *cell, int64_t session, int64_t run);

// In ops.c. NULL if it has none of its own.
an_op_cell *an_ops_find_cell(const an_ops *o, int64_t kernel, int64_t thread);

// The place of a kernel. *next is where it probably is, 0 at first: kernels have their places by
// their first executions, and mostly run in that order again.
static inline bool an_ops_find_kernel(const an_ops *o, int64_t id, size_t *next, size_t *out)
{
    bool found = *next < o->kernel_count && o->kernels[*next].id == id;
    if (found)
        *out = *next;
    else
        found = cm_map_find(&o->kernel_by_id, id, out);
    if (found)
        *next = *out + 1;
    return found;
}
