// SPDX-License-Identifier: MIT
// What operators allocate: rows of kind alloc into the sums of the kernels that were under way.
#include "analysis_util.h"
#include "ops_internal.h"

enum { ACTION_RELEASED = 1, FLAG_LOADING = 1, FLAG_FAILED = 4 };

// Where only slow runs kept their operators, allocations of all runs are there nevertheless (of
// runs that sampling passes over they name no kernel): those of fast runs would count for calls
// that nobody counts. If it is not known which runs these are, nothing counts.
static bool counts(const an_ops *o, int64_t session, int64_t run)
{
    if (o->kept != AN_KEPT_LONGER && o->kept != AN_KEPT_SLOWEST)
        return true;
    return o->runs_with_ops.complete && an_run_ranges_find(&o->runs_with_ops, session, run);
}

void an_ops_add_allocs(an_ops *o, const tm_block *b)
{
    if (!o->runs_ready)
        an_run_ranges_finish(&o->runs_with_ops); // all op rows were added
    o->runs_ready = true;
    for (size_t row = 0; row < b->row_count; row++) {
        int64_t bytes = b->columns[TM_alloc_bytes][row];
        if (b->columns[TM_alloc_action][row] == ACTION_RELEASED ||
            b->columns[TM_alloc_flags][row] & (FLAG_LOADING | FLAG_FAILED) ||
            !counts(o, b->columns[TM_alloc_session][row], b->columns[TM_alloc_run][row]))
            continue;
        an_op_cell *cell =
            an_ops_find_cell(o, b->columns[TM_alloc_kernel][row], b->columns[TM_alloc_thread][row]);
        if (!cell)
            continue; // of no operator
        cell->sums.allocations++;
        cell->sums.allocated_bytes =
            an_add_saturating(cell->sums.allocated_bytes, bytes > 0 ? (uint64_t)bytes : 0);
    }
}
