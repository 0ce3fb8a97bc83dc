// SPDX-License-Identifier: MIT
// What operators cost so far: kernels, added up by type or by node.
#include "analysis/ops.h"
#include "op_rows.h"
#include "view_keys.h"

// Whether times are those of executions or of submissions, in the words of `ortscope ops`.
static void key_time(cm_json *j, uint64_t calls, uint64_t submitted)
{
    an_op_sums sums = {.calls = calls, .submitted = submitted};
    da_key_text(j, "time", an_op_time_name(an_op_time_of(&sums)));
}

static void write_row(cm_json *j, const da_live *l, const da_op_row *r, const da_op_rows *all,
                      bool by_node)
{
    const da_kernel *k = r->first;
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_text(j, "node", by_node ? da_text(l, k->node) : NULL);
    da_key_op_type(j, da_text(l, k->op_type), da_text(l, k->kernel_class), da_text(l, k->domain));
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
    key_time(j, r->calls, r->submitted);
    cm_json_end(j);
}

static cm_status write_ops(cm_json *j, const da_live *l, uint32_t capture, const da_span *q)
{
    da_op_rows rows;
    if (q->has_session && !da_session_find(l, q->session))
        return cm_fail(CM_NOT_FOUND, "There is no session %lld.", (long long)q->session);
    if (!da_op_rows_gather(l, q, &rows))
        return cm_fail(CM_NO_MEMORY, "There is not enough memory for the operators.");
    size_t shown = rows.count < q->limit ? rows.count : q->limit;
    da_begin_document(j, capture);
    da_key_text(j, "by", q->by_node ? "node" : "type");
    da_key_id(j, "session", q->has_session ? q->session : 0);
    da_key_uint(j, "calls", rows.calls);
    da_key_number(j, "self_us", da_us((double)rows.self_ns), 3);
    key_time(j, rows.calls, rows.submitted);
    da_key_array(j, "ops");
    for (size_t i = 0; i < shown; i++)
        write_row(j, l, &rows.items[i], &rows, q->by_node);
    cm_json_end(j);
    da_key_uint(j, "more", rows.count - shown);
    cm_json_end(j);
    da_op_rows_free(&rows);
    return CM_OK;
}

cm_status da_view_ops(cm_json *j, da_live *l, uint32_t capture, const da_span *q)
{
    da_lock(l);
    cm_status status = write_ops(j, l, capture, q);
    da_unlock(l);
    return status;
}
