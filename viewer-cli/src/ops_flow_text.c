// SPDX-License-Identifier: MIT
// Below the table of `ortscope ops`: how the operators of each session's runs follow each other,
// and which vary most. Lines that would say nothing are left out.
#include "analysis/fusion.h"
#include "common/text.h"
#include "op_view.h"

#define SESSIONS   8
#define HEAVIEST   3
#define PAIRS      4
#define WORTH_TIME 1.5 // p99 by p50 from which an operator is shown

static void percent(cm_out *out, const char *before, double share, const char *after)
{
    cm_out_printf(out, "%s%.1f %%%s", before, share * 100, after);
}

static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void ns_text(cm_out *out, double ns, const char *after)
{
    char text[32];
    cm_format_ns(text, sizeof text, ns);
    cm_out_printf(out, "%s%s", text, after);
}

static void count_text(cm_out *out, uint64_t count, const char *one, const char *many)
{
    char text[32];
    cm_format_count(text, sizeof text, count);
    cm_out_printf(out, "%s %s", text, count == 1 ? one : many);
}

static double per_run(const an_flow_session *s, uint64_t value)
{
    return (double)value / (double)s->runs;
}

// ---------------------------------------------------------------------------------- one session

static void write_head(vw_io *io, const an_ops *ops, const an_flow_session *s)
{
    cm_out *out = &io->out;
    cm_out_char(out, '\n');
    vw_style_on(io, VW_BOLD);
    cm_out_printf(out, "Session %lld", (long long)s->session);
    vw_style_off(io, VW_BOLD);
    cm_out_text(out, ": ");
    count_text(out, s->runs, "run", "runs");
    cm_out_text(out, an_ops_left_out(ops) ? " with operators, " : " with all operators, ");
    ns_text(out, (double)s->run_ns, "");
    if (s->left_out) {
        cm_out_text(out, "; ");
        count_text(out, s->left_out, "run", "runs");
        cm_out_text(out, " left out");
    }
    cm_out_char(out, '\n');
}

static void write_in_flight(cm_out *out, const an_flow_session *s)
{
    percent(out, "  in flight: one operator ", share_of(s->one_ns, s->run_ns), "");
    if (s->several_ns) {
        percent(out, ", several ", share_of(s->several_ns, s->run_ns), "");
        cm_out_printf(out, " (at most %llu)", (unsigned long long)s->most);
    }
    percent(out, ", none ", share_of(s->none_ns, s->run_ns), " of the time\n");
}

static void write_path(cm_out *out, const an_flow_session *s)
{
    cm_out_text(out, "  critical path: ");
    ns_text(out, per_run(s, s->path_ns), " a run");
    percent(out, " (", share_of(s->path_ns, s->run_ns), ")");
    cm_out_printf(out, ", by the %s\n", an_flow_basis());
    for (size_t i = 0; i < s->path_kept && i < HEAVIEST; i++) {
        const an_path_op *p = &s->path[i];
        cm_out_text(out, i ? ", " : "    heaviest in it: ");
        cm_text_clean(out, p->node[0] ? p->node : p->op_type, 30);
        percent(out, " ", share_of(p->path_ns, s->path_ns), "");
    }
    if (s->path_kept)
        cm_out_char(out, '\n');
}

static void write_pool(cm_out *out, const an_flow_session *s)
{
    if (s->pool_count == 0)
        return;
    cm_out_text(out, "  inter-op threads: ");
    cm_out_printf(out, "%zu, idle ", s->pool_count);
    ns_text(out, an_flow_pool_idle_ns(s), "");
    percent(out, " (", an_flow_pool_idle_share(s), " of the time of the runs)\n");
}

static void write_providers(cm_out *out, const an_flow_session *s)
{
    uint64_t copies = s->copies_to_host + s->copies_from_host;
    if (s->changes) {
        cm_out_printf(out, "  changes of provider: %.3g a run", per_run(s, s->changes));
        for (size_t i = 0; i < s->transition_count && i < HEAVIEST; i++) {
            cm_out_text(out, i ? ", " : " (");
            cm_text_clean(out, vw_provider_name(s->transitions[i].from).text, 0);
            cm_out_text(out, " to ");
            cm_text_clean(out, vw_provider_name(s->transitions[i].to).text, 0);
            cm_out_printf(out, " %.3g", per_run(s, s->transitions[i].count));
        }
        cm_out_text(out, "), ");
        ns_text(out, per_run(s, s->change_gap_ns), " between\n");
    }
    if (copies) {
        cm_out_printf(out, "  copies between providers: %.3g to the host, %.3g from it, ",
                      per_run(s, s->copies_to_host), per_run(s, s->copies_from_host));
        ns_text(out, per_run(s, an_flow_copy_ns(s)), " a run\n");
    }
}

static void write_fusion(cm_out *out, const an_ops *ops, const an_flow_session *s)
{
    static const struct {
        an_op_kind kind;
        const char *name;
    } shown[] = {{AN_KIND_FUSED, "fused"},
                 {AN_KIND_BLOCKED, "blocked layout"},
                 {AN_KIND_REORDER, "changes of layout"},
                 {AN_KIND_PLAIN, "plain"}};
    an_op_table *types = NULL;
    an_op_choice choice = {.by = AN_BY_TYPE, .has_session = true, .session = s->session};
    if (an_ops_table(ops, &choice, &types) != CM_OK)
        return;
    an_fusion f = an_fusion_of(types);
    an_op_table_destroy(types);
    if (f.all.nodes == 0)
        return;
    const char *separator = "  operators: ";
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const an_kind_sums *k = &f.kinds[shown[i].kind];
        if (k->nodes == 0)
            continue;
        cm_out_printf(out, "%s%llu %s", separator, (unsigned long long)k->nodes, shown[i].name);
        percent(out, " ", an_fusion_share(&f, shown[i].kind), "");
        separator = ", ";
    }
    cm_out_char(out, '\n');
}

static void write_unfused(cm_out *out, const an_flow_session *s)
{
    for (size_t i = 0; i < s->unfused_count && i < PAIRS; i++) {
        const an_unfused *u = &s->unfused[i];
        cm_out_text(out, i ? "    " : "  not joined: ");
        vw_op_type_name(out, u->first, u->first_domain);
        cm_out_text(out, " before ");
        vw_op_type_name(out, u->second, u->second_domain);
        cm_out_text(out, ", ");
        count_text(out, u->pairs, "pair", "pairs");
        cm_out_text(out, "; the second takes ");
        ns_text(out, per_run(s, u->second_ns), " a run");
        percent(out, " (", share_of(u->second_ns, s->busy_ns), ")\n");
    }
    if (s->unfused_count > PAIRS)
        cm_out_printf(out, "    and %zu more; `--json` has them\n", s->unfused_count - PAIRS);
}

static void write_session(vw_io *io, const an_ops *ops, const an_flow_session *s)
{
    write_head(io, ops, s);
    write_in_flight(&io->out, s);
    write_path(&io->out, s);
    write_pool(&io->out, s);
    write_providers(&io->out, s);
    write_fusion(&io->out, ops, s);
    write_unfused(&io->out, s);
}

// ---------------------------------------------------------------------------------- most variable

static void write_variable(vw_io *io, const vw_ops *v)
{
    static const vw_table_column columns[] = {{"p99/p50", true, 0},    {"p50", true, 0},
                                              {"p99", true, 0},        {"calls", true, 0},
                                              {"operator", false, 40}, {"node", false, 60}};
    vw_table t;
    char text[32];
    size_t shown = 0;
    while (shown < v->variable_count && shown < VW_VARIABLE_TEXT &&
           v->variable[shown].ratio >= WORTH_TIME)
        shown++;
    if (shown == 0)
        return;
    cm_out_text(&io->out, "\nMost variable\n");
    vw_table_begin(&t, io, "  ", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        const an_variable_op *o = &v->variable[i];
        cm_out name;
        vw_table_cell(&t, "%.2f", o->ratio);
        cm_format_ns(text, sizeof text, o->p50_ns);
        vw_table_text(&t, text);
        cm_format_ns(text, sizeof text, o->p99_ns);
        vw_table_text(&t, text);
        cm_format_count(text, sizeof text, o->row->sums.calls);
        vw_table_text(&t, text);
        cm_out_init_memory(&name);
        vw_op_type_name(&name, o->row->op_type, o->row->domain);
        vw_table_text(&t, cm_out_string(&name));
        cm_out_deinit(&name);
        vw_table_text(&t, o->row->node[0] ? o->row->node : "(no name)");
    }
    vw_table_end(&t);
}

// "3 other threads worked meanwhile (intra-op, or the program's own), idle at least 61.2 %"
static void write_helpers(cm_out *out, const an_helpers *h)
{
    cm_out_char(out, '\n');
    count_text(out, h->count, "other thread", "other threads");
    percent(out, " worked meanwhile (intra-op, or the program's own), idle at least ",
            an_helpers_idle_share(h), "\n");
}

// What is not in the file counts as time without any operator.
static void write_missing(vw_io *io, uint64_t count, const char *one, const char *many,
                          const char *why)
{
    vw_style_on(io, VW_WARN);
    cm_out_char(&io->out, '\n');
    count_text(&io->out, count, one, many);
    cm_out_text(&io->out, why);
    vw_style_off(io, VW_WARN);
    cm_out_char(&io->out, '\n');
}

void vw_ops_flow_text(vw_io *io, const vw_ops *v)
{
    size_t shown = 0, more = 0;
    write_variable(io, v);
    for (size_t i = 0; i < an_flow_count(v->flow); i++) {
        const an_flow_session *s = an_flow_get(v->flow, i);
        if (s->runs == 0)
            continue;
        if (shown < SESSIONS) {
            write_session(io, v->ops, s);
            shown++;
        } else {
            more++;
        }
    }
    if (more)
        cm_out_printf(&io->out, "\n%zu more session%s; `--session N` shows one\n", more,
                      more == 1 ? "" : "s");
    if (shown && v->helpers.count)
        write_helpers(&io->out, &v->helpers);
    if (shown && an_flow_lost(v->flow))
        write_missing(io, an_flow_lost(v->flow), "event was", "events were",
                      " lost: operators among them count as time without any");
    if (shown && an_ops_left_out(v->ops))
        write_missing(io, an_ops_left_out(v->ops), "execution was", "executions were",
                      " left out: they count as time without any");
}
