// SPDX-License-Identifier: MIT
// `ortscope ops --json` and `--csv`. Keys and columns are a promise to other programs: always all
// there, units in the names, null (or an empty field) for what is not known or what the grouping
// does not tell.
#include "common/text.h"
#include "op_view.h"

#include <math.h>
#include <stdlib.h>

static double us(double ns)
{
    return ns / 1000.0;
}

// NAN for 0: there is no session, kernel or thread 0.
static double id_or_none(int64_t id, bool told)
{
    return told ? (double)id : (double)NAN;
}

typedef enum field_kind { TEXT, NUMBER } field_kind;

typedef struct field {
    const char *name;
    field_kind kind;
    const char *text; // NULL: not known
    double number;    // NAN: not known
    int decimals;
} field;

#define MAX_FIELDS 28

// One row as names and values, the same for both formats. They borrow from the row and `type`.
static size_t fields_of(const vw_ops *v, const an_op_row *r, an_op_type *type, field *out)
{
    const an_op_sums *s = &r->sums;
    an_op_by by = v->choice.by;
    an_op_type_split(r->op_type, r->domain, type);
    const field fields[] = {
        {"node", TEXT, r->node, 0, 0},
        {"op_type", TEXT, type->type, 0, 0},
        {"domain", TEXT, type->domain, 0, 0},
        {"provider", TEXT, r->provider, 0, 0},
        {"session", NUMBER, NULL, id_or_none(r->session, by == AN_BY_NODE), 0},
        {"thread", NUMBER, NULL, id_or_none(r->thread, by == AN_BY_THREAD), 0},
        {"nodes", NUMBER, NULL, (double)r->nodes, 0},
        {"calls", NUMBER, NULL, (double)s->calls, 0},
        {"failed", NUMBER, NULL, (double)s->failed, 0},
        {"ambiguous", NUMBER, NULL, (double)s->ambiguous, 0},
        {"total_us", NUMBER, NULL, us((double)s->total_ns), 3},
        {"self_us", NUMBER, NULL, us((double)s->self_ns), 3},
        {"mean_us", NUMBER, NULL, us(an_op_mean_ns(r)), 3},
        {"p50_us", NUMBER, NULL, us(an_op_percentile_ns(r, 500000)), 3},
        {"p95_us", NUMBER, NULL, us(an_op_percentile_ns(r, 950000)), 3},
        {"p99_us", NUMBER, NULL, us(an_op_percentile_ns(r, 990000)), 3},
        {"max_us", NUMBER, NULL, us((double)s->max_ns), 3},
        {"share", NUMBER, NULL, an_op_share(v->table, r), 6},
        {"share_of_run_time", NUMBER, NULL, (double)s->self_ns / v->run_time_ns, 6},
        {"flops_per_call", NUMBER, NULL, an_op_flops(r) / (double)s->calls, 0},
        {"gflops_per_s", NUMBER, NULL, an_op_gflops_per_s(r), 3},
        {"allocated_bytes_per_call", NUMBER, NULL, an_op_bytes_per_call(v->table, r), 1},
        {"allocations_per_call", NUMBER, NULL, an_op_allocations_per_call(v->table, r), 3},
        {"time", TEXT, an_op_time_name(an_op_time_of(s)), 0, 0},
        {"loading_calls", NUMBER, NULL, (double)s->loading_calls, 0},
        {"loading_us", NUMBER, NULL, us((double)s->loading_ns), 3},
        {"variation", NUMBER, NULL, an_op_variation(r), 6},
        {"op_type_source", TEXT, type->source, 0, 0},
    };
    _Static_assert(sizeof fields / sizeof *fields <= MAX_FIELDS, "they must fit");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        out[i] = fields[i];
    return sizeof fields / sizeof *fields;
}

static size_t shown_rows(const vw_ops *v)
{
    return v->table->row_count < v->limit ? v->table->row_count : v->limit;
}

// -------------------------------------------------------------------------------------------- JSON

static void json_row(cm_json *j, const vw_ops *v, const an_op_row *row)
{
    field fields[MAX_FIELDS];
    an_op_type type;
    size_t count = fields_of(v, row, &type, fields);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    for (size_t i = 0; i < count; i++) {
        if (fields[i].kind == TEXT)
            cm_json_key_text(j, fields[i].name, fields[i].text);
        else
            cm_json_key_number(j, fields[i].name, fields[i].number, fields[i].decimals);
    }
    cm_json_end(j);
}

static void json_head(cm_json *j, const vw_ops *v)
{
    const an_op_sums *all = &v->table->all;
    cm_json_key_text(j, "by", vw_op_by_name(v->choice.by));
    cm_json_key_text(j, "sort", vw_op_sort_name(v->choice.sort));
    cm_json_key_number(j, "session", id_or_none(v->choice.session, v->choice.has_session), 0);
    cm_json_key_text(j, "filter", v->choice.filter);
    cm_json_key(j, "runs");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    char kept[64];
    cm_json_key_uint(j, "count", v->runs.runs);
    cm_json_key_text(j, "kept", vw_ops_kept(v->ops, kept, sizeof kept) ? kept : "");
    cm_json_key_uint(j, "with_ops", v->runs.with_ops);
    cm_json_key_number(j, "with_ops_us", us((double)v->runs.with_ops_ns), 3);
    cm_json_end(j);
    cm_json_key(j, "all");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_uint(j, "calls", all->calls);
    cm_json_key_uint(j, "failed", all->failed);
    cm_json_key_uint(j, "ambiguous", all->ambiguous);
    cm_json_key_uint(j, "left_out", an_ops_left_out(v->ops));
    cm_json_key_uint(j, "not_told_apart", an_ops_untold(v->ops));
    cm_json_key_number(j, "self_us", us((double)all->self_ns), 3);
    cm_json_key_number(j, "share_of_run_time", (double)all->self_ns / v->run_time_ns, 6);
    cm_json_key_text(j, "time", an_op_time_name(an_op_time_of(all)));
    cm_json_key_uint(j, "loading_calls", all->loading_calls);
    cm_json_key_number(j, "loading_us", us((double)all->loading_ns), 3);
    cm_json_end(j);
}

void vw_ops_json(vw_io *io, const vw_ops *v)
{
    cm_json json, *j = &json;
    cm_json_init(j, &io->out);
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key(j, "schema_version");
    cm_json_int(j, 1);
    json_head(j, v);
    cm_json_key(j, "ops");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < shown_rows(v); i++)
        json_row(j, v, &v->table->rows[i]);
    cm_json_end(j);
    cm_json_key_uint(j, "more", v->table->row_count - shown_rows(v));
    vw_ops_flow_json(j, v);
    cm_json_end(j);
}

// --------------------------------------------------------------------------------------------- CSV

static void csv_row(cm_out *out, const vw_ops *v, const an_op_row *row)
{
    field fields[MAX_FIELDS];
    an_op_type type;
    size_t count = fields_of(v, row, &type, fields);
    for (size_t i = 0; i < count; i++) {
        char number[360] = "";
        if (fields[i].kind == NUMBER && an_known(fields[i].number))
            cm_format_number(number, sizeof number, fields[i].number, fields[i].decimals);
        cm_csv_text(out, fields[i].kind == TEXT ? fields[i].text : number, i == 0);
    }
    cm_out_char(out, '\n');
}

void vw_ops_csv(vw_io *io, const vw_ops *v)
{
    static const an_op_row none = {.node = "", .op_type = "", .domain = "", .provider = ""};
    field fields[MAX_FIELDS];
    an_op_type type;
    size_t count = fields_of(v, &none, &type, fields);
    for (size_t i = 0; i < count; i++)
        cm_csv_text(&io->out, fields[i].name, i == 0);
    cm_out_char(&io->out, '\n');
    for (size_t i = 0; i < shown_rows(v); i++)
        csv_row(&io->out, v, &v->table->rows[i]);
}
