// SPDX-License-Identifier: MIT
#include "op_rows.h"

#include <stdlib.h>

static int compare_ids(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_identity(const void *a, const void *b)
{
    const da_kernel *x = ((const da_op_row *)a)->first, *y = ((const da_op_row *)b)->first;
    int order = compare_ids(x->op_type, y->op_type);
    if (order == 0 && x->op_type == 0)
        order = compare_ids(x->kernel_class, y->kernel_class);
    order = order ? order : compare_ids(x->domain, y->domain);
    return order ? order : compare_ids(x->provider, y->provider);
}

static int by_self(const void *a, const void *b)
{
    const da_op_row *x = a, *y = b;
    if (x->self_ns != y->self_ns)
        return x->self_ns > y->self_ns ? -1 : 1;
    return compare_ids(x->first->id, y->first->id);
}

static void add(da_op_row *into, const da_op_row *from)
{
    into->nodes += from->nodes;
    into->calls += from->calls;
    into->failed += from->failed;
    into->total_ns += from->total_ns;
    into->self_ns += from->self_ns;
    into->max_ns = from->max_ns > into->max_ns ? from->max_ns : into->max_ns;
    into->submitted += from->submitted;
}

bool da_op_rows_gather(const da_live *l, const da_span *q, da_op_rows *out)
{
    *out = (da_op_rows){.items = malloc((l->kernel_count + 1) * sizeof *out->items)};
    if (!out->items)
        return false;
    for (size_t i = 0; i < l->kernel_count; i++) {
        const da_kernel *k = &l->kernels[i];
        if (!k->calls || (q->has_session && k->session != q->session))
            continue;
        uint64_t nodes = k->folded ? k->folded : 1, submitted = k->submits ? k->calls : 0;
        out->items[out->count++] = (da_op_row){k,           nodes,      k->calls,  k->failed,
                                               k->total_ns, k->self_ns, k->max_ns, submitted};
        out->calls += k->calls;
        out->self_ns += k->self_ns;
        out->submitted += submitted;
    }
    if (!q->by_node && out->count) {
        size_t kept = 0;
        qsort(out->items, out->count, sizeof *out->items, by_identity);
        for (size_t i = 1; i < out->count; i++) {
            if (by_identity(&out->items[kept], &out->items[i]) == 0)
                add(&out->items[kept], &out->items[i]);
            else
                out->items[++kept] = out->items[i];
        }
        out->count = kept + 1;
    }
    qsort(out->items, out->count, sizeof *out->items, by_self);
    return true;
}

void da_op_rows_free(da_op_rows *rows)
{
    free(rows->items);
    rows->items = NULL;
}
