// SPDX-License-Identifier: MIT
// What operators cost so far: kernels, added up by type or by node, largest self time first.
#pragma once

#include "live_state.h"
#include "view.h"

typedef struct da_op_row {
    const da_kernel *first; // who it is
    uint64_t nodes, calls, failed, total_ns, self_ns, max_ns;
    uint64_t submitted; // calls whose time is that of the submission
} da_op_row;

typedef struct da_op_rows {
    da_op_row *items;
    size_t count;
    uint64_t calls, self_ns, submitted;
} da_op_rows;

// Of q: session and by_node. False: no memory. Free it.
bool da_op_rows_gather(const da_live *l, const da_span *q, da_op_rows *out);
void da_op_rows_free(da_op_rows *rows);
