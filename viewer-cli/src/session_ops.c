// SPDX-License-Identifier: MIT
// The operators of one session in `ortscope summary`: the heaviest types and where the nodes run,
// or every node in JSON. Nothing is shown where nothing was recorded.
#include "analysis/fusion.h"
#include "common/text.h"
#include "op_view.h"

#include <stdio.h>
#include <string.h>

#define TYPE_ROWS   8
#define BAR_COLUMNS 10

static cm_status make_table(const an_summary *s, const an_session *n, an_op_by by,
                            an_op_table **out)
{
    an_op_choice choice = {.by = by, .sort = AN_SORT_SELF, .has_session = true, .session = n->id};
    return an_ops_table(s->ops, &choice, out);
}

// -------------------------------------------------------------------------------------------- text

static const char *time_remark(const an_op_row *row)
{
    return an_op_time_of(&row->sums) == AN_TIME_EXECUTION ? "" : ", submission time";
}

static void write_type(vw_io *io, vw_table *t, const an_op_table *types, const an_op_row *row)
{
    cm_out out;
    char text[32];
    cm_out_init_memory(&out);
    cm_format_ns(text, sizeof text, (double)row->sums.self_ns);
    vw_table_text(t, text);
    vw_table_cell(t, "%.1f %%", an_op_share(types, row) * 100);
    vw_draw_share(&out, io->unicode, an_op_share(types, row), BAR_COLUMNS);
    vw_table_text(t, cm_out_string(&out));
    cm_format_count(text, sizeof text, row->sums.calls);
    vw_table_text(t, text);
    cm_format_ns(text, sizeof text, an_op_mean_ns(row));
    vw_table_text(t, text);
    cm_out_clear(&out);
    vw_op_type_name(&out, row->op_type, row->domain);
    cm_out_text(&out, time_remark(row));
    vw_table_text(t, cm_out_string(&out));
    cm_out_deinit(&out);
}

static void write_types(vw_io *io, const an_op_table *types)
{
    static const vw_table_column columns[] = {{"self", true, 0}, {"share", true, 0},
                                              {"", false, 0},    {"calls", true, 0},
                                              {"mean", true, 0}, {"operator", false, 60}};
    vw_table t;
    char text[32];
    cm_out_char(&io->out, '\n');
    vw_table_begin(&t, io, "  ", columns, sizeof columns / sizeof *columns);
    vw_table_style(&t, 2, VW_MARK);
    for (size_t i = 0; i < types->row_count && i < TYPE_ROWS; i++)
        write_type(io, &t, types, &types->rows[i]);
    vw_table_end(&t);
    if (types->row_count > TYPE_ROWS) {
        uint64_t rest = 0;
        for (size_t i = TYPE_ROWS; i < types->row_count; i++)
            rest += types->rows[i].sums.self_ns;
        cm_format_ns(text, sizeof text, (double)rest);
        cm_out_printf(&io->out, "  and %zu more types with %s; `ortscope ops` shows them all\n",
                      types->row_count - TYPE_ROWS, text);
    }
}

// "executed nodes by provider: 226 CPU (98.2 % of the time), 3 DML (1.8 %, submission time)". The
// file has a node from its first execution on: one that no run came to (the other branch of an If)
// is not in it.
static void write_provider_line(vw_io *io, const an_op_table *providers)
{
    char count[32];
    cm_out_text(&io->out, "  executed nodes by provider:");
    for (size_t i = 0; i < providers->row_count && i < 8; i++) {
        const an_op_row *row = &providers->rows[i];
        cm_format_count(count, sizeof count, row->nodes);
        cm_out_printf(&io->out, "%s %s ", i ? "," : "", count);
        cm_text_clean(&io->out, row->provider[0] ? vw_provider_name(row->provider).text : "unknown",
                      0);
        cm_out_printf(&io->out, " (%.1f %%%s%s)", an_op_share(providers, row) * 100,
                      i ? "" : " of the time", time_remark(row));
    }
    cm_out_char(&io->out, '\n');
}

// The same provider with the same number once more: it uses several devices.
static bool is_repeated(const an_summary *s, size_t device)
{
    const an_device *d = &s->devices[device];
    for (size_t i = 0; i < device; i++)
        if (s->devices[i].session == d->session && s->devices[i].nodes == d->nodes &&
            strcmp(s->devices[i].provider, d->provider) == 0)
            return true;
    return false;
}

// "assigned nodes by provider: 226 CPU, 3 OpenVINO", as ORT itself told it (1.27 and later).
static void write_assigned(vw_io *io, const an_summary *s, const an_session *n)
{
    const char *separator = "\n  assigned nodes by provider: ";
    char count[32];
    for (size_t i = 0; i < s->device_count; i++) {
        const an_device *d = &s->devices[i];
        if (d->session != n->id || d->nodes < 0 || !d->provider[0] || is_repeated(s, i))
            continue;
        cm_format_count(count, sizeof count, (uint64_t)d->nodes);
        cm_out_printf(&io->out, "%s%s ", separator, count);
        cm_text_clean(&io->out, vw_provider_name(d->provider).text, 30);
        separator = ", ";
    }
    if (separator[0] == ',')
        cm_out_char(&io->out, '\n');
}

// "of these: 47 in blocked layout (30.9 %), 57 to change the layout (13.0 %)"
static void write_fusion(vw_io *io, const an_op_table *types)
{
    static const char *const names[] = {
        [AN_KIND_FUSED] = "fused",
        [AN_KIND_BLOCKED] = "in blocked layout",
        [AN_KIND_REORDER] = "to change the layout",
        [AN_KIND_COPY_TO_HOST] = "to copy to the host",
        [AN_KIND_COPY_FROM_HOST] = "to copy from it",
    };
    an_fusion f = an_fusion_of(types);
    const char *separator = "  of these:";
    for (int kind = AN_KIND_FUSED; kind < AN_KIND_COUNT; kind++) {
        if (f.kinds[kind].nodes == 0)
            continue;
        cm_out_printf(&io->out, "%s %llu %s (%.1f %%)", separator,
                      (unsigned long long)f.kinds[kind].nodes, names[kind],
                      an_fusion_share(&f, (an_op_kind)kind) * 100);
        separator = ",";
    }
    if (separator[0] == ',')
        cm_out_char(&io->out, '\n');
}

static void write_remarks(vw_io *io, const an_op_sums *all)
{
    char count[32], time[32];
    if (all->failed) {
        cm_format_count(count, sizeof count, all->failed);
        cm_out_text(&io->out, "  ");
        vw_style_on(io, VW_BAD);
        cm_out_printf(&io->out, "%s execution%s of operators failed", count,
                      all->failed == 1 ? "" : "s");
        vw_style_off(io, VW_BAD);
        cm_out_char(&io->out, '\n');
    }
    if (all->ambiguous)
        cm_out_printf(&io->out, "  %s\n", vw_runless_ops(all->ambiguous, "").text);
    if (all->loading_calls) {
        cm_format_count(count, sizeof count, all->loading_calls);
        cm_format_ns(time, sizeof time, (double)all->loading_ns);
        cm_out_printf(&io->out, "  not counted: %s execution%s while loading, %s\n", count,
                      all->loading_calls == 1 ? "" : "s", time);
    }
}

// "operators of 12 of 4,000 runs kept: slower than 50.00 ms"; false where those of all were.
static bool kept_text(const an_summary *s, const an_session *n, char *out, size_t capacity)
{
    char kept[64], some[32], all[32];
    if (n->runs == 0 || !vw_ops_kept(s->ops, kept, sizeof kept))
        return false;
    cm_format_count(some, sizeof some, an_ops_runs_of(s->ops, n->id));
    cm_format_count(all, sizeof all, n->runs);
    snprintf(out, capacity, "operators of %s of %s runs kept: %s", some, all, kept);
    return true;
}

static void write_kept(vw_io *io, const an_summary *s, const an_session *n)
{
    char text[192];
    if (kept_text(s, n, text, sizeof text))
        cm_out_printf(&io->out, "\n  %s\n", text);
}

void vw_session_ops_text(vw_io *io, const an_summary *s, const an_session *n)
{
    an_op_table *types = NULL, *providers = NULL;
    write_kept(io, s, n);
    if (make_table(s, n, AN_BY_TYPE, &types) == CM_OK && types->row_count > 0 &&
        make_table(s, n, AN_BY_PROVIDER, &providers) == CM_OK) {
        write_types(io, types);
        write_provider_line(io, providers);
        write_fusion(io, types);
        write_remarks(io, &types->all);
    }
    if (!types || types->all.calls == 0)
        write_assigned(io, s, n);
    an_op_table_destroy(types);
    an_op_table_destroy(providers);
}

void vw_untold_ops_text(vw_io *io, const an_summary *s)
{
    char count[32];
    uint64_t untold = an_ops_untold(s->ops);
    if (untold == 0)
        return;
    cm_format_count(count, sizeof count, untold);
    cm_out_char(&io->out, '\n');
    vw_style_on(io, VW_WARN);
    cm_out_printf(&io->out, "Not shown: %s execution%s of operators", count,
                  untold == 1 ? "" : "s");
    vw_style_off(io, VW_WARN);
    cm_out_printf(&io->out, ". There are more than %d different ones.\n", AN_MAX_KERNELS);
}

// -------------------------------------------------------------------------------------------- JSON

static void json_op(cm_json *j, const an_op_table *nodes, const an_op_row *row)
{
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_text(j, "node", row->node);
    vw_json_op_type(j, row->op_type, row->domain);
    cm_json_key_text(j, "provider", row->provider);
    cm_json_key_uint(j, "calls", row->sums.calls);
    cm_json_key_number(j, "total_us", (double)row->sums.total_ns / 1e3, 3);
    cm_json_key_number(j, "self_us", (double)row->sums.self_ns / 1e3, 3);
    cm_json_key_number(j, "mean_us", an_op_mean_ns(row) / 1e3, 3);
    cm_json_key_number(j, "share", an_op_share(nodes, row), 6);
    cm_json_key_number(j, "variation", an_op_variation(row), 6);
    cm_json_key_text(j, "time", an_op_time_name(an_op_time_of(&row->sums)));
    cm_json_end(j);
}

static void json_note(cm_json *j, uint64_t count, const char *one, const char *many)
{
    char number[32], note[160];
    if (count == 0)
        return;
    cm_format_count(number, sizeof number, count);
    snprintf(note, sizeof note, "%s %s", number, count == 1 ? one : many);
    cm_json_string(j, note);
}

// What the numbers in "ops" do not say by themselves.
static void json_notes(cm_json *j, const an_summary *s, const an_session *n,
                       const an_op_table *nodes, size_t most)
{
    char text[192];
    if (kept_text(s, n, text, sizeof text))
        cm_json_string(j, text);
    uint64_t submitting = 0, more = nodes->row_count > most ? nodes->row_count - most : 0;
    for (size_t i = 0; i < nodes->row_count; i++)
        submitting += nodes->rows[i].sums.submitted > 0;
    json_note(j, more, "more operator is left out; `ortscope ops --by node --json` lists all",
              "more operators are left out; `ortscope ops --by node --json` lists all");
    json_note(j, submitting,
              "operator has the time of its submission to a device (submission time)",
              "operators have the time of their submission to a device (submission time)");
    json_note(j, nodes->all.loading_calls, "execution while loading is not counted",
              "executions while loading are not counted");
    if (nodes->all.ambiguous)
        cm_json_string(j, vw_runless_ops(nodes->all.ambiguous, "").text);
    json_note(j, nodes->all.failed, "execution failed", "executions failed");
    json_note(j, an_ops_untold(s->ops), "execution is in no session: too many different operators",
              "executions are in no session: too many different operators");
}

static void json_placement(cm_json *j, const an_summary *s, const an_session *n)
{
    an_op_table *providers = NULL;
    bool made = make_table(s, n, AN_BY_PROVIDER, &providers) == CM_OK;
    cm_json_key(j, "placement");
    cm_json_begin_array(j, made && providers->row_count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; made && i < providers->row_count; i++) {
        const an_op_row *row = &providers->rows[i];
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "provider", row->provider);
        cm_json_key_uint(j, "nodes", row->nodes);
        cm_json_key_number(j, "share", an_op_share(providers, row), 6);
        cm_json_key_text(j, "time", an_op_time_name(an_op_time_of(&row->sums)));
        cm_json_end(j);
    }
    cm_json_end(j);
    an_op_table_destroy(providers);
}

void vw_session_ops_json(cm_json *j, const an_summary *s, const an_session *n, size_t most)
{
    an_op_table *nodes = NULL;
    bool made = make_table(s, n, AN_BY_NODE, &nodes) == CM_OK;
    json_placement(j, s, n);
    cm_json_key(j, "ops");
    cm_json_begin_array(j, made && nodes->row_count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; made && i < nodes->row_count && i < most; i++)
        json_op(j, nodes, &nodes->rows[i]);
    cm_json_end(j);
    vw_fusion_json(j, made ? nodes : NULL);
    cm_json_key(j, "ops_notes");
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    if (made)
        json_notes(j, s, n, nodes, most);
    cm_json_end(j);
    cm_json_key_uint(j, "ops_runs", an_ops_runs_of(s->ops, n->id));
    an_op_table_destroy(nodes);
}
