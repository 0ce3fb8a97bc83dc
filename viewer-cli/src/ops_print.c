// SPDX-License-Identifier: MIT
// A table of operators as text, JSON or CSV (see op_view.h). All three show the same numbers.
#include "common/text.h"
#include "next_command.h"
#include "op_view.h"

#define BAR_COLUMNS 10

static size_t shown_rows(const vw_ops *v)
{
    return v->table->row_count < v->limit ? v->table->row_count : v->limit;
}

// -------------------------------------------------------------------------------------------- text

static void count_text(cm_out *out, uint64_t count, const char *one, const char *many)
{
    char number[32];
    cm_format_count(number, sizeof number, count);
    cm_out_printf(out, "%s %s", number, count == 1 ? one : many);
}

static void write_head(vw_io *io, const vw_ops *v)
{
    cm_out *out = &io->out;
    const an_op_sums *all = &v->table->all;
    char time[32], kept[64];
    vw_style_on(io, VW_BOLD);
    count_text(out, all->calls, "execution", "executions");
    vw_style_off(io, VW_BOLD);
    if (v->choice.has_session)
        cm_out_printf(out, " in session %lld", (long long)v->choice.session);
    if (all->ambiguous == 0) {
        cm_out_text(out, " in ");
        count_text(out, v->runs.with_ops, "run", "runs");
    }
    if (all->ambiguous == 0 && v->runs.with_ops < v->runs.runs) {
        cm_format_count(time, sizeof time, v->runs.runs);
        bool chosen = vw_ops_kept(v->ops, kept, sizeof kept);
        cm_out_printf(out, " (of %s%s%s)", time, chosen ? ": " : "", chosen ? kept : "");
    }
    cm_format_ns(time, sizeof time, (double)all->self_ns);
    cm_out_printf(out, ", %s", time);
    if (an_known(v->run_time_ns))
        cm_out_printf(out, ", %.1f %% of the time of these runs",
                      (double)all->self_ns / v->run_time_ns * 100);
    cm_out_char(out, '\n');
    if (all->loading_calls) {
        cm_format_ns(time, sizeof time, (double)all->loading_ns);
        cm_out_text(out, "not counted: ");
        count_text(out, all->loading_calls, "execution", "executions");
        cm_out_printf(out, " while loading, %s\n", time);
    }
    if (all->failed) {
        vw_style_on(io, VW_BAD);
        count_text(out, all->failed, "execution failed", "executions failed");
        vw_style_off(io, VW_BAD);
        cm_out_char(out, '\n');
    }
    if (all->ambiguous)
        cm_out_printf(out, "%s\n", vw_runless_ops(all->ambiguous, "").text);
    if (an_ops_left_out(v->ops))
        cm_out_printf(out, "%s\n", vw_runless_ops(an_ops_left_out(v->ops), " left out").text);
}

typedef enum column {
    C_SELF,
    C_SHARE,
    C_BAR,
    C_TOTAL,
    C_CALLS,
    C_FAILED,
    C_MEAN,
    C_P50,
    C_P95,
    C_MAX,
    C_VARIATION,
    C_GFLOPS,
    C_BYTES,
    C_NODES,
    C_SESSION,
    C_THREAD,
    C_NODE,
    C_TYPE,
    C_PROVIDER,
    C_TIMES // of threads: whether they are those of submissions
} column;

typedef struct layout {
    column columns[VW_TABLE_MAX_COLUMNS];
    vw_table_column titles[VW_TABLE_MAX_COLUMNS];
    size_t count;
} layout;

static void add_column(layout *l, bool wanted, column c, const char *title, bool right,
                       size_t max_width)
{
    if (!wanted || l->count == VW_TABLE_MAX_COLUMNS)
        return;
    l->columns[l->count] = c;
    l->titles[l->count++] = (vw_table_column){title, right, max_width};
}

static layout choose_columns(const vw_ops *v)
{
    layout l = {.count = 0};
    an_op_by by = v->choice.by;
    bool any_flops = false, nested = false, sessions = false;
    for (size_t i = 0; i < shown_rows(v); i++) {
        const an_op_row *row = &v->table->rows[i];
        any_flops = any_flops || an_known(an_op_gflops_per_s(row));
        sessions = sessions || row->session != v->table->rows[0].session;
        nested = nested || row->sums.total_ns != row->sums.self_ns;
    }
    add_column(&l, true, C_SELF, "self", true, 0);
    add_column(&l, true, C_SHARE, "share", true, 0);
    add_column(&l, true, C_BAR, "", false, 0);
    add_column(&l, nested || v->choice.sort == AN_SORT_TOTAL, C_TOTAL, "total", true, 0);
    add_column(&l, true, C_CALLS, "calls", true, 0);
    add_column(&l, v->table->all.failed > 0, C_FAILED, "failed", true, 0);
    add_column(&l, true, C_MEAN, "mean", true, 0);
    add_column(&l, true, C_P50, "p50", true, 0);
    add_column(&l, true, C_P95, "p95", true, 0);
    add_column(&l, v->choice.sort == AN_SORT_MAX, C_MAX, "max", true, 0);
    add_column(&l, v->choice.sort == AN_SORT_VARIATION, C_VARIATION, "variation", true, 0);
    add_column(&l, any_flops, C_GFLOPS, "GFLOP/s", true, 0);
    add_column(&l, v->table->all.allocations > 0, C_BYTES, "bytes/call", true, 0);
    add_column(&l, by == AN_BY_TYPE || by == AN_BY_PROVIDER, C_NODES, "nodes", true, 0);
    add_column(&l, sessions, C_SESSION, "session", true, 0);
    add_column(&l, by == AN_BY_THREAD, C_THREAD, "thread", true, 0);
    add_column(&l, by == AN_BY_TYPE || by == AN_BY_NODE, C_TYPE, "operator", false, 40);
    add_column(&l, by == AN_BY_NODE, C_NODE, "node", false, 100);
    add_column(&l, by != AN_BY_THREAD, C_PROVIDER, "provider", false, 0);
    add_column(&l, by == AN_BY_THREAD && v->table->all.submitted > 0, C_TIMES, "times", false, 0);
    return l;
}

// What gives way first where all columns together are too wide, and how the others look.
static void dress_columns(vw_table *t, const layout *l, an_op_sort sort)
{
    static const struct {
        column column;
        int rank;
    } ranks[] = {{C_P50, 10}, {C_TOTAL, 9},   {C_NODES, 8}, {C_GFLOPS, 7},  {C_FAILED, 6},
                 {C_P95, 5},  {C_SESSION, 4}, {C_BYTES, 2}, {C_PROVIDER, 1}};
    for (size_t i = 0; i < l->count; i++)
        for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
            if (l->columns[i] == ranks[r].column &&
                !(sort == AN_SORT_TOTAL && l->columns[i] == C_TOTAL))
                vw_table_may_leave_out(t, i, ranks[r].rank);
    for (size_t i = 0; i < l->count; i++)
        if (l->columns[i] == C_BAR)
            vw_table_style(t, i, VW_MARK);
}

static void ns_cell(vw_table *t, double ns)
{
    char text[32] = "-";
    if (an_known(ns))
        cm_format_ns(text, sizeof text, ns);
    vw_table_text(t, text);
}

static void count_cell(vw_table *t, uint64_t count)
{
    char text[32];
    cm_format_count(text, sizeof text, count);
    vw_table_text(t, text);
}

static void text_cell(vw_io *io, vw_table *t, const vw_ops *v, const an_op_row *row, column c)
{
    cm_out out;
    double share = an_op_share(v->table, row), gflops = an_op_gflops_per_s(row);
    double variation = an_op_variation(row);
    an_op_time time = an_op_time_of(&row->sums);
    cm_out_init_memory(&out);
    if (c == C_BAR)
        vw_draw_share(&out, io->unicode, share, BAR_COLUMNS);
    else if (c == C_TYPE)
        vw_op_type_name(&out, row->op_type, row->domain);
    else if (c == C_SHARE && an_known(share))
        cm_out_printf(&out, "%.1f %%", share * 100);
    else if (c == C_VARIATION && an_known(variation))
        cm_out_printf(&out, "%.1f %%", variation * 100);
    else if (c == C_GFLOPS && an_known(gflops))
        cm_out_printf(&out, gflops < 10 ? "%.2f" : "%.1f", gflops);
    else if (c == C_PROVIDER)
        cm_out_printf(&out, "%s%s", vw_provider_name(row->provider).text,
                      time == AN_TIME_EXECUTION ? "" : ", submits");
    else if (c == C_TIMES)
        cm_out_text(&out, time == AN_TIME_SUBMISSION ? "submission time"
                          : time == AN_TIME_MIXED    ? "partly submission time"
                                                     : "");
    else
        cm_out_text(&out, "-");
    vw_table_text(t, cm_out_string(&out));
    cm_out_deinit(&out);
}

static void write_cell(vw_io *io, vw_table *t, const vw_ops *v, const an_op_row *row, column c)
{
    switch (c) {
    case C_SELF:
        ns_cell(t, (double)row->sums.self_ns);
        break;
    case C_TOTAL:
        ns_cell(t, (double)row->sums.total_ns);
        break;
    case C_CALLS:
        count_cell(t, row->sums.calls);
        break;
    case C_FAILED:
        vw_table_next_style(t, row->sums.failed ? VW_BAD : VW_PLAIN);
        count_cell(t, row->sums.failed);
        break;
    case C_MEAN:
        ns_cell(t, an_op_mean_ns(row));
        break;
    case C_P50:
        ns_cell(t, an_op_percentile_ns(row, 500000));
        break;
    case C_P95:
        ns_cell(t, an_op_percentile_ns(row, 950000));
        break;
    case C_MAX:
        ns_cell(t, (double)row->sums.max_ns);
        break;
    case C_BYTES:
        vw_table_text(t, vw_byte_text(an_op_bytes_per_call(v->table, row)).text);
        break;
    case C_NODES:
        count_cell(t, row->nodes);
        break;
    case C_SESSION:
        vw_table_cell(t, "%lld", (long long)row->session);
        break;
    case C_THREAD:
        vw_table_cell(t, "%lld", (long long)row->thread);
        break;
    case C_NODE:
        vw_table_text(t, row->node[0] ? row->node : "(no name)");
        break;
    case C_SHARE:
    case C_BAR:
    case C_VARIATION:
    case C_GFLOPS:
    case C_TYPE:
    case C_PROVIDER:
    case C_TIMES:
        text_cell(io, t, v, row, c);
        break;
    }
}

static void write_foot(vw_io *io, const vw_ops *v)
{
    size_t more = v->table->row_count - shown_rows(v);
    uint64_t untold = an_ops_untold(v->ops);
    if (more) {
        count_text(&io->out, more, "more row", "more rows");
        cm_out_text(&io->out, "; `--limit 0` shows all\n");
    }
    if (untold) {
        count_text(&io->out, untold, "execution", "executions");
        cm_out_text(&io->out, " of further operators are not in this table: there are too many\n");
    }
}

void vw_ops_text(vw_io *io, const vw_ops *v)
{
    vw_table t;
    if (v->table->row_count == 0) {
        if (an_ops_any(v->ops) && (v->choice.filter || v->choice.has_session))
            vw_message("No operators match.");
        else if (v->table->all.loading_calls)
            vw_message("Operators were executed only while sessions were loading.");
        else
            vw_message("No operators were recorded; record with `ortscope run --ops all` or "
                       "`ortscope attach --ops all`.");
        return;
    }
    layout l = choose_columns(v);
    vw_fit_lines(io);
    write_head(io, v);
    cm_out_char(&io->out, '\n');
    vw_table_begin(&t, io, "", l.titles, l.count);
    dress_columns(&t, &l, v->choice.sort);
    for (size_t i = 0; i < shown_rows(v); i++)
        for (size_t c = 0; c < l.count; c++)
            write_cell(io, &t, v, &v->table->rows[i], l.columns[c]);
    vw_table_end(&t);
    write_foot(io, v);
    if (!v->choice.filter)
        vw_ops_flow_text(io, v);
    if (v->choice.by == AN_BY_NODE)
        vw_next_command(io, "as a flame graph", "export", v->path, "--format speedscope");
    else
        vw_next_command(io, "which of them", "ops", v->path, "--by node");
}
