// SPDX-License-Identifier: MIT
// What operators took in groups of runs (see an_op_batches). Rows may come in any order; groups are
// made wider when a run's number does not fit.
#include "analysis_util.h"
#include "ops_internal.h"

#include <stdlib.h>

static void put_neighbours_together(an_op_batches *b)
{
    for (size_t i = 0; i < AN_OP_BATCHES; i++) {
        bool kept = i < AN_OP_BATCHES / 2;
        b->self_ns[i] = kept ? b->self_ns[2 * i] + b->self_ns[2 * i + 1] : 0;
        b->calls[i] = kept ? b->calls[2 * i] + b->calls[2 * i + 1] : 0;
    }
    b->runs_each *= 2;
}

void an_op_batches_widen(an_op_batches *b, int64_t runs_each)
{
    while (b->runs_each < runs_each)
        put_neighbours_together(b);
}

cm_status an_ops_add_to_batches(an_ops *o, an_op_cell *cell, const tm_block *block, size_t row,
                                uint64_t self_ns)
{
    int64_t run = block->columns[TM_op_run][row];
    if (run <= 0 || run > INT64_MAX / 4)
        return CM_OK;
    if (!cell->batches) {
        if (o->batch_count == AN_OP_BATCHES_MOST)
            return CM_OK;
        cell->batches = calloc(1, sizeof *cell->batches);
        if (!cell->batches)
            return an_no_memory();
        cell->batches->runs_each = 1;
        o->batch_count++;
    }
    an_op_batches *b = cell->batches;
    while ((run - 1) / b->runs_each >= AN_OP_BATCHES)
        put_neighbours_together(b);
    size_t at = (size_t)((run - 1) / b->runs_each);
    b->self_ns[at] += (double)self_ns;
    b->calls[at]++;
    b->inside = b->inside || block->columns[TM_op_depth][row] > 0;
    return CM_OK;
}

const an_op_batches *an_ops_next_batches(const an_ops *o, int64_t session, size_t *at,
                                         an_op_identity *out)
{
    while (*at < o->cell_count) {
        const an_op_cell *cell = &o->cells[(*at)++];
        const an_kernel *k = &o->kernels[cell->kernel];
        if (!cell->batches || k->session != session)
            continue;
        *out = (an_op_identity){k->node, k->op_type, k->domain, k->provider};
        return cell->batches;
    }
    return NULL;
}
