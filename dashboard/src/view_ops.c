// SPDX-License-Identifier: MIT
// What operators cost so far: kernels, added up by type or by node.
#include "view_keys.h"

#include <stdlib.h>
#include <string.h>

typedef struct op_row {
    const da_kernel *first; // who it is
    uint64_t nodes, calls, failed, total_ns, self_ns, max_ns;
} op_row;

typedef struct op_rows {
    op_row *items;
    size_t count;
    uint64_t calls, self_ns;
} op_rows;

static int compare_ids(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_identity(const void *a, const void *b)
{
    const da_kernel *x = ((const op_row *)a)->first, *y = ((const op_row *)b)->first;
    int order = compare_ids(x->op_type, y->op_type);
    order = order ? order : compare_ids(x->domain, y->domain);
    return order ? order : compare_ids(x->provider, y->provider);
}

static int by_self(const void *a, const void *b)
{
    const op_row *x = a, *y = b;
    if (x->self_ns != y->self_ns)
        return x->self_ns > y->self_ns ? -1 : 1;
    return compare_ids(x->first->id, y->first->id);
}

static void add(op_row *into, const op_row *from)
{
    into->nodes += from->nodes;
    into->calls += from->calls;
    into->failed += from->failed;
    into->total_ns += from->total_ns;
    into->self_ns += from->self_ns;
    into->max_ns = from->max_ns > into->max_ns ? from->max_ns : into->max_ns;
}

static bool gather(const da_live *l, const da_span *q, op_rows *out)
{
    *out = (op_rows){.items = malloc((l->kernel_count + 1) * sizeof *out->items)};
    if (!out->items)
        return false;
    for (size_t i = 0; i < l->kernel_count; i++) {
        const da_kernel *k = &l->kernels[i];
        if (!k->calls || (q->has_session && k->session != q->session))
            continue;
        out->items[out->count++] =
            (op_row){k, 1, k->calls, k->failed, k->total_ns, k->self_ns, k->max_ns};
        out->calls += k->calls;
        out->self_ns += k->self_ns;
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

static void write_row(cm_json *j, const da_live *l, const op_row *r, const op_rows *all,
                      bool by_node)
{
    const da_kernel *k = r->first;
    const char *type = da_text(l, k->op_type), *domain = da_text(l, k->domain);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_text(j, "node", by_node ? da_text(l, k->node) : NULL);
    da_key_text(j, "op_type", type);
    da_key_text(j, "domain", domain ? domain : type ? "ai.onnx" : NULL);
    da_key_text(j, "provider", da_text(l, k->provider));
    da_key_id(j, "session", by_node ? k->session : 0);
    da_key_uint(j, "nodes", r->nodes);
    da_key_uint(j, "calls", r->calls);
    da_key_uint(j, "failed", r->failed);
    da_key_number(j, "total_us", da_us((double)r->total_ns), 3);
    da_key_number(j, "self_us", da_us((double)r->self_ns), 3);
    da_key_number(j, "mean_us", da_us((double)r->total_ns) / (double)r->calls, 3);
    da_key_number(j, "max_us", da_us((double)r->max_ns), 3);
    da_key_number(j, "share", all->self_ns ? (double)r->self_ns / (double)all->self_ns : 0, 6);
    cm_json_end(j);
}

static cm_status write_ops(cm_json *j, const da_live *l, uint32_t capture, const da_span *q)
{
    op_rows rows;
    if (q->has_session && !da_session_find(l, q->session))
        return cm_fail(CM_NOT_FOUND, "There is no session %lld.", (long long)q->session);
    if (!gather(l, q, &rows))
        return cm_fail(CM_NO_MEMORY, "There is not enough memory for the operators.");
    size_t shown = rows.count < q->limit ? rows.count : q->limit;
    da_begin_document(j, capture);
    da_key_text(j, "by", q->by_node ? "node" : "type");
    da_key_id(j, "session", q->has_session ? q->session : 0);
    da_key_uint(j, "calls", rows.calls);
    da_key_number(j, "self_us", da_us((double)rows.self_ns), 3);
    da_key_array(j, "ops");
    for (size_t i = 0; i < shown; i++)
        write_row(j, l, &rows.items[i], &rows, q->by_node);
    cm_json_end(j);
    da_key_uint(j, "more", rows.count - shown);
    cm_json_end(j);
    free(rows.items);
    return CM_OK;
}

cm_status da_view_ops(cm_json *j, da_live *l, uint32_t capture, const da_span *q)
{
    da_lock(l);
    cm_status status = write_ops(j, l, capture, q);
    da_unlock(l);
    return status;
}
