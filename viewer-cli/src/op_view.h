// SPDX-License-Identifier: MIT
// How operators are shown, in `ops`, `summary` and `timeline` alike.
#pragma once

#include "analysis/flow.h"
#include "analysis/helpers.h"
#include "analysis/ops.h"
#include "analysis/summary.h"
#include "bar.h"
#include "common/json.h"
#include "output.h"
#include "table.h"

// "CPUExecutionProvider" as "CPU"; "-" where it is not known. At most 63 bytes.
typedef struct vw_short_name {
    char text[64];
} vw_short_name;
vw_short_name vw_provider_name(const char *provider);

// "1.500 MB", of anything that is not NAN and not below 0.
vw_short_name vw_byte_text(double bytes);

// The type with its domain where that is not ONNX's own: "Conv", "Conv (nchwc)", "Gelu
// (microsoft)".
void vw_op_type_name(cm_out *out, const char *op_type, const char *domain);

// Which runs have operators where not all have: "slower than 50.00 ms"; false where all have.
bool vw_ops_kept(const an_ops *ops, char *out, size_t capacity);

// "60 executions of operators: which run they belong to is not known"; `where` comes before the
// colon. Why it is not known is not said: runs in parallel are but one of the reasons.
typedef struct vw_runless_name {
    char text[128];
} vw_runless_name;
vw_runless_name vw_runless_ops(uint64_t count, const char *where);

// Type, where that is from, and domain (an_op_type).
void vw_json_op_type(cm_json *j, const char *op_type, const char *domain);
void vw_json_domain(cm_json *j, const char *domain, const char *op_type);

// ---------------------------------------------------------------------------------- `ortscope ops`

#define VW_VARIABLE_DATA 20 // of the most variable operators, in JSON
#define VW_VARIABLE_TEXT 5

typedef struct vw_ops {
    const an_ops *ops;
    const an_op_table *table;
    an_op_choice choice;
    an_op_runs runs;
    double run_time_ns; // NAN: not known
    size_t limit;       // rows to show, SIZE_MAX = all
    const an_flow *flow;
    an_variable_op variable[VW_VARIABLE_DATA];
    size_t variable_count;
    const char *path;
    an_helpers helpers;
} vw_ops;

const char *vw_op_by_name(an_op_by by);       // "node", "type", ...
const char *vw_op_sort_name(an_op_sort sort); // "self", "total", ...

void vw_ops_text(vw_io *io, const vw_ops *v);
void vw_ops_json(vw_io *io, const vw_ops *v);
void vw_ops_csv(vw_io *io, const vw_ops *v);
// Parts of the first two: how operators follow each other, and which vary most.
void vw_ops_flow_text(vw_io *io, const vw_ops *v);
void vw_ops_flow_json(cm_json *j, const vw_ops *v);

// The key "fusion": what the optimiser made of the operators of a table; NULL: of none.
void vw_fusion_json(cm_json *j, const an_op_table *table);

// ------------------------------------------------------------------------------- in the summary

void vw_session_ops_text(vw_io *io, const an_summary *s, const an_session *n);
// Executions that belong to no session's operators, if there are any.
void vw_untold_ops_text(vw_io *io, const an_summary *s);
// The keys "placement", "ops" (at most so many), "fusion", "ops_notes" and "ops_runs" of a session.
void vw_session_ops_json(cm_json *j, const an_summary *s, const an_session *n, size_t most);
