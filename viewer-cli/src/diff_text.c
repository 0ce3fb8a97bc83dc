// SPDX-License-Identifier: MIT
// `ortscope diff` for people: what differs, each model with its numbers, conditions, the verdict.
#include "common/text.h"
#include "diff_view.h"
#include "next_command.h"
#include "op_view.h"
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FULL_GROUPS 8
#define NOTE_LINES  12
#define TYPE_ROWS   8
#define NODE_ROWS   8
#define LINE_WIDTH  78

static vw_style style_of(an_change_verdict verdict)
{
    return verdict == AN_WORSE          ? VW_BAD
           : verdict == AN_BETTER       ? VW_GOOD
           : verdict == AN_INCONCLUSIVE ? VW_WARN
                                        : VW_BOLD;
}

// In tables only what stands out is coloured.
static vw_style cell_style(an_change_verdict verdict)
{
    return verdict == AN_WORSE ? VW_BAD : verdict == AN_BETTER ? VW_GOOD : VW_PLAIN;
}

static void write_notes(vw_io *io, const vw_diff *v, const an_diff_group *g)
{
    size_t shown = 0;
    for (size_t i = 0; i < v->diff->note_count; i++) {
        const an_diff_note *n = &v->diff->notes[i];
        if (n->group != g || shown++ >= NOTE_LINES)
            continue;
        cm_out_text(&io->out, g ? "  " : "");
        cm_text_clean(&io->out, n->what, 40);
        cm_out_text(&io->out, ": ");
        cm_text_clean(&io->out, n->texts[0][0] ? n->texts[0] : "not known", 60);
        cm_out_text(&io->out, io->unicode ? " \u2192 " : " -> ");
        cm_text_clean(&io->out, n->texts[1][0] ? n->texts[1] : "not known", 60);
        cm_out_char(&io->out, '\n');
    }
    if (shown > NOTE_LINES)
        cm_out_printf(&io->out, "%sand %zu more differences; --json has them all\n", g ? "  " : "",
                      shown - NOTE_LINES);
}

static void write_metrics(vw_io *io, const an_diff_group *g)
{
    static const vw_table_column columns[] = {
        {"", false, 0},      {"old", true, 0},           {"new", true, 0},
        {"change", true, 0}, {"95 % interval", true, 0}, {"", false, 0}};
    vw_table t;
    cm_out_char(&io->out, '\n');
    vw_table_begin(&t, io, "  ", columns, sizeof columns / sizeof *columns);
    for (int m = AN_METRIC_P50; m < AN_METRIC_COUNT; m++) {
        const an_change *c = &g->changes[m];
        if (!an_known(c->old_value.value) && !an_known(c->new_value.value))
            continue;
        vw_table_text(&t, vw_metric_title((an_metric)m).text);
        vw_table_text(&t, vw_value_words(c->old_value.value, an_metric_unit((an_metric)m)).text);
        vw_table_text(&t, vw_value_words(c->new_value.value, an_metric_unit((an_metric)m)).text);
        vw_table_text(&t, vw_change_words((an_metric)m, c).text);
        vw_table_text(&t, vw_change_interval_words((an_metric)m, c).text);
        vw_table_next_style(&t, cell_style(c->verdict));
        vw_table_text(&t, vw_change_verdict_words(c));
    }
    vw_table_end(&t);
}

// --------------------------------------------------------------------------------------- operators

static void op_cells(vw_table *t, const an_diff_op *op)
{
    const an_change *c = &op->change;
    cm_out name;
    cm_out_init_memory(&name);
    for (int side = 0; side < 2; side++)
        vw_table_text(t, op->here[side] ? vw_value_words(op->self_ns[side], AN_UNIT_NS).text : "-");
    vw_table_text(t, vw_percent_words(c->ratio.value - 1).text);
    vw_table_text(t, vw_interval_words(vw_part_of(c->ratio)).text);
    vw_table_next_style(t, op->here[0] && op->here[1] ? cell_style(c->verdict) : VW_PLAIN);
    vw_table_text(t, op->here[0] && op->here[1] ? vw_change_verdict_words(c)
                     : op->here[0]              ? "gone"
                                                : "new");
    if (op->identity.node[0]) {
        cm_text_clean(&name, op->identity.node, 30);
        cm_out_text(&name, ", ");
    }
    vw_op_type_name(&name, op->identity.op_type, op->identity.domain);
    vw_table_text(t, cm_out_string(&name));
    cm_out_deinit(&name);
}

static void write_ops(vw_io *io, const an_diff_ops *ops, const char *title, size_t rows,
                      bool only_changed)
{
    const vw_table_column columns[] = {{"old", true, 0},    {"new", true, 0},
                                       {"change", true, 0}, {"95 % interval", true, 0},
                                       {"", false, 0},      {title, false, 48}};
    vw_table t;
    size_t shown = 0;
    vw_table_begin(&t, io, "  ", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < ops->count; i++) {
        const an_diff_op *op = &ops->items[i];
        bool changed = op->change.verdict == AN_WORSE || op->change.verdict == AN_BETTER ||
                       !op->here[0] || !op->here[1];
        if (only_changed && !changed)
            continue;
        if (shown++ == 0)
            cm_out_char(&io->out, '\n');
        if (shown <= rows)
            op_cells(&t, op);
    }
    vw_table_end(&t);
    if (shown > rows)
        cm_out_printf(&io->out, "  and %zu more\n", shown - rows);
}

static void write_runs(vw_io *io, const an_diff_group *g)
{
    char counts[2][32], failed[2][32];
    for (int side = 0; side < 2; side++) {
        const an_diff_part *p = &g->parts[side];
        uint64_t good = p->runs - p->failed_runs;
        cm_format_count(counts[side], sizeof counts[side],
                        good > p->warmup_runs ? good - p->warmup_runs : 0);
        cm_format_count(failed[side], sizeof failed[side], p->failed_runs);
    }
    cm_out_printf(&io->out, "  %s and %s runs", counts[0], counts[1]);
    if (g->parts[0].warmup_runs || g->parts[1].warmup_runs)
        cm_out_printf(&io->out, " after %llu and %llu of warming up",
                      (unsigned long long)g->parts[0].warmup_runs,
                      (unsigned long long)g->parts[1].warmup_runs);
    if (g->parts[0].failed_runs || g->parts[1].failed_runs)
        cm_out_printf(&io->out, "; %s and %s failed", failed[0], failed[1]);
    cm_out_char(&io->out, '\n');
}

static void write_title(vw_io *io, const an_diff_group *g)
{
    cm_out_char(&io->out, '\n');
    vw_style_on(io, VW_BOLD);
    cm_text_clean(&io->out, g->name, 50);
    vw_style_off(io, VW_BOLD);
    cm_out_text(&io->out, "  ");
    vw_styled(io, style_of(g->verdict), an_change_verdict_name(g->verdict));
    cm_out_text(&io->out, "\n  ");
    vw_headline(&io->out, g);
    cm_out_char(&io->out, '\n');
}

static void write_group(vw_io *io, const vw_diff *v, const an_diff_group *g)
{
    write_title(io, g);
    write_runs(io, g);
    write_notes(io, v, g);
    write_metrics(io, g);
    write_ops(io, &g->types, "operators, a run", TYPE_ROWS, false);
    write_ops(io, &g->nodes, "nodes that changed", NODE_ROWS, true);
}

// --------------------------------------------------------------------------------------------- end

static void write_alone(vw_io *io, const an_diff *d)
{
    for (size_t i = d->matched_count; i < d->group_count; i++) {
        const an_diff_group *g = &d->groups[i];
        int side = g->parts[1].session_count ? 1 : 0;
        char runs[32];
        cm_format_count(runs, sizeof runs, g->parts[side].runs);
        cm_out_printf(&io->out, "%sonly in %s: ", i == d->matched_count ? "\n" : "",
                      side ? "NEW" : "OLD");
        cm_text_clean(&io->out, g->name, 60);
        cm_out_printf(&io->out, ", %s run%s\n", runs, g->parts[side].runs == 1 ? "" : "s");
    }
}

static void write_meters(vw_io *io, const an_diff *d)
{
    for (size_t i = 0; i < d->meter_count; i++) {
        const an_change *c = &d->meters[i].change;
        cm_out_text(&io->out, i ? "" : "\n");
        cm_out_text(&io->out, "energy of ");
        cm_text_clean(&io->out, d->meters[i].name, 40);
        cm_out_printf(&io->out, ": %s %s %s a run, %s\n",
                      vw_value_words(c->old_value.value, AN_UNIT_JOULES).text,
                      io->unicode ? "\u2192" : "->",
                      vw_value_words(c->new_value.value, AN_UNIT_JOULES).text,
                      vw_percent_words(c->ratio.value - 1).text);
    }
}

static void write_process_memory(vw_io *io, const an_diff *d)
{
    const an_change *c = &d->process_memory;
    if (!an_known(c->old_value.value) || !an_known(c->new_value.value))
        return;
    cm_out_printf(
        &io->out, "%smemory of the process: %s %s %s at most, %s\n", d->meter_count ? "" : "\n",
        vw_value_words(c->old_value.value, AN_UNIT_BYTES).text, io->unicode ? "\u2192" : "->",
        vw_value_words(c->new_value.value, AN_UNIT_BYTES).text,
        vw_percent_words(c->ratio.value - 1).text);
}

// Where it can't be missed: with the verdict.
static void write_caveats(vw_io *io, const an_diff *d)
{
    const an_diff_note *n;
    size_t at = 0, column = LINE_WIDTH;
    bool any = false;
    while ((n = vw_next_caveat(d, &at)) != NULL) {
        size_t width = strlen(n->what) + 2;
        if (!any)
            vw_styled(io, VW_WARN, "Caution: what changed may come from what else differs:");
        else
            cm_out_char(&io->out, ',');
        bool wraps = column + width > LINE_WIDTH;
        cm_out_text(&io->out, wraps ? "\n  " : " ");
        cm_text_clean(&io->out, n->what, 40);
        column = wraps ? width + 2 : column + width;
        any = true;
    }
    cm_out_text(&io->out, any ? "\n" : "");
}

static void write_findings(vw_io *io, const vw_diff *v)
{
    for (size_t i = 0; i < v->finding_count; i++) {
        const vw_diff_finding *f = &v->findings[i];
        cm_out_text(&io->out, i ? "" : "\n");
        vw_style style = f->result == AN_GATE_MET      ? VW_BAD
                         : f->result == AN_GATE_UNSURE ? VW_WARN
                                                       : VW_PLAIN;
        vw_style_on(io, style);
        vw_finding_words(&io->out, f);
        vw_style_off(io, style);
        cm_out_char(&io->out, '\n');
    }
}

static void write_verdict(vw_io *io, const an_diff *d)
{
    size_t counts[4] = {0};
    for (size_t i = 0; i < d->matched_count; i++)
        counts[d->groups[i].verdict]++;
    cm_out_char(&io->out, '\n');
    if (d->matched_count == 0) {
        vw_styled(io, VW_WARN, "Nothing to compare: the recordings have no model in common.\n");
        return;
    }
    vw_styled(io, style_of(d->verdict), an_change_verdict_name(d->verdict));
    static const an_change_verdict order[] = {AN_WORSE, AN_INCONCLUSIVE, AN_BETTER, AN_SAME};
    const char *separator = ": ";
    for (size_t i = 0; i < 4 && d->matched_count > 1; i++) {
        if (!counts[order[i]])
            continue;
        cm_out_printf(&io->out, "%s%zu %s", separator, counts[order[i]],
                      an_change_verdict_name(order[i]));
        separator = ", ";
    }
    cm_out_char(&io->out, '\n');
}

void vw_diff_text(vw_io *io, const vw_diff *v)
{
    const an_diff *d = v->diff;
    vw_fit_lines(io);
    for (int side = 0; side < 2; side++) {
        cm_out_text(&io->out, side ? "NEW  " : "OLD  ");
        cm_text_clean(&io->out, v->paths[side], 70);
        cm_out_char(&io->out, '\n');
    }
    write_notes(io, v, NULL);
    for (size_t i = 0; i < d->matched_count; i++) {
        if (i < FULL_GROUPS)
            write_group(io, v, &d->groups[i]);
        else
            write_title(io, &d->groups[i]);
    }
    write_alone(io, d);
    write_meters(io, d);
    write_process_memory(io, d);
    write_findings(io, v);
    write_verdict(io, d);
    write_caveats(io, d);
    if (d->matched_count && d->verdict == AN_WORSE)
        vw_next_command(io, "where the time goes now", "ops", v->paths[1], "--by node");
    else if (d->matched_count == 0)
        vw_next_command(io, "which models it has", "summary", v->paths[1], "%s", "");
    else
        vw_next_command(io, "what the time varies by", "runs", v->paths[1], "--slowest 5");
}
