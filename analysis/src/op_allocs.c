// SPDX-License-Identifier: MIT
// What operators allocate: rows of kind alloc into the sums of the kernels that were under way.
#include "analysis_util.h"
#include "ops_internal.h"

enum { ACTION_RELEASED = 1, FLAG_LOADING = 1, FLAG_FAILED = 4 };

void an_ops_add_allocs(an_ops *o, const tm_block *b)
{
    for (size_t row = 0; row < b->row_count; row++) {
        int64_t bytes = b->columns[TM_alloc_bytes][row];
        if (b->columns[TM_alloc_action][row] == ACTION_RELEASED ||
            b->columns[TM_alloc_flags][row] & (FLAG_LOADING | FLAG_FAILED))
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
