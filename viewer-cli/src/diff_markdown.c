// SPDX-License-Identifier: MIT
// `ortscope diff --markdown`: a comment for a pull request. What comes from recordings is made
// harmless: it can neither end a cell nor become a link, a mention or HTML.
#include "common/text.h"
#include "diff_view.h"

#include <string.h>

#define OP_ROWS 12

// Foreign text in a line or a cell, as code.
static void code(cm_out *out, const char *text, size_t width)
{
    cm_out clean;
    cm_out_init_memory(&clean);
    cm_text_clean(&clean, text, width);
    cm_out_char(out, '`');
    for (const char *p = cm_out_string(&clean); *p; p++)
        cm_out_char(out, *p == '`' || *p == '|' ? '\'' : *p);
    cm_out_char(out, '`');
    cm_out_deinit(&clean);
}

static void write_notes(cm_out *out, const vw_diff *v, const an_diff_group *g)
{
    for (size_t i = 0; i < v->diff->note_count; i++) {
        const an_diff_note *n = &v->diff->notes[i];
        if (n->group != g)
            continue;
        cm_out_text(out, "- ");
        code(out, n->what, 60);
        cm_out_text(out, ": ");
        code(out, n->texts[0][0] ? n->texts[0] : "not known", 80);
        cm_out_text(out, " \u2192 ");
        code(out, n->texts[1][0] ? n->texts[1] : "not known", 80);
        cm_out_char(out, '\n');
    }
}

static void write_metrics(cm_out *out, const an_diff_group *g)
{
    cm_out_text(out, "\n| | old | new | change | 95 % interval | |\n"
                     "|---|--:|--:|--:|--:|---|\n");
    for (int m = AN_METRIC_P50; m < AN_METRIC_COUNT; m++) {
        const an_change *c = &g->changes[m];
        an_unit unit = an_metric_unit((an_metric)m);
        if (!an_known(c->old_value.value) && !an_known(c->new_value.value))
            continue;
        bool loud = c->verdict == AN_WORSE || c->verdict == AN_BETTER;
        cm_out_printf(
            out, "| %s | %s | %s | %s | %s | %s%s%s |\n", vw_metric_title((an_metric)m).text,
            vw_value_words(c->old_value.value, unit).text,
            vw_value_words(c->new_value.value, unit).text, vw_change_words((an_metric)m, c).text,
            vw_change_interval_words((an_metric)m, c).text, loud ? "**" : "",
            vw_change_verdict_words(c), loud ? "**" : "");
    }
}

static void write_ops(cm_out *out, const an_diff_group *g)
{
    size_t rows = 0;
    for (size_t i = 0; i < g->nodes.count && rows < OP_ROWS; i++) {
        const an_diff_op *op = &g->nodes.items[i];
        const char *word = !op->here[0]   ? "new"
                           : !op->here[1] ? "gone"
                                          : vw_change_verdict_words(&op->change);
        if (op->here[0] && op->here[1] && op->change.verdict != AN_WORSE &&
            op->change.verdict != AN_BETTER)
            continue;
        if (rows++ == 0)
            cm_out_text(out, "\n<details><summary>Operators that changed</summary>\n\n"
                             "| operator | old | new | change | |\n|---|--:|--:|--:|---|\n");
        cm_out_text(out, "| ");
        code(out, op->identity.node[0] ? op->identity.node : op->identity.op_type, 60);
        for (int side = 0; side < 2; side++)
            cm_out_printf(out, " | %s",
                          op->here[side] ? vw_value_words(op->self_ns[side], AN_UNIT_NS).text
                                         : "-");
        cm_out_printf(out, " | %s | %s |\n", vw_percent_words(op->change.ratio.value - 1).text,
                      word);
    }
    if (rows)
        cm_out_text(out, "\n</details>\n");
}

static void write_group(cm_out *out, const vw_diff *v, const an_diff_group *g)
{
    cm_out_text(out, "\n#### ");
    code(out, g->name, 80);
    cm_out_printf(out, ": %s\n\n", an_change_verdict_name(g->verdict));
    vw_headline(out, g);
    cm_out_printf(out, "; %zu and %zu runs.\n", g->parts[0].latency_count,
                  g->parts[1].latency_count);
    bool any = false;
    for (size_t i = 0; i < v->diff->note_count; i++)
        any = any || v->diff->notes[i].group == g;
    if (any) {
        cm_out_text(out, "\nNot the same:\n");
        write_notes(out, v, g);
    }
    write_metrics(out, g);
    write_ops(out, g);
}

static void write_findings(cm_out *out, const vw_diff *v)
{
    static const char *const marks[] = {"\u2705", "\u2753", "\u274c"};
    cm_out line;
    cm_out_init_memory(&line);
    for (size_t i = 0; i < v->finding_count; i++) {
        cm_out_clear(&line);
        vw_finding_words(&line, &v->findings[i]);
        cm_out_printf(out, "- %s ", marks[v->findings[i].result]);
        code(out, cm_out_string(&line), 0);
        cm_out_char(out, '\n');
    }
    cm_out_text(out, v->finding_count ? "\n" : "");
    cm_out_deinit(&line);
}

static void write_caveats(cm_out *out, const an_diff *d)
{
    const an_diff_note *n;
    size_t at = 0;
    bool any = false;
    for (; (n = vw_next_caveat(d, &at)) != NULL; any = true) {
        cm_out_text(out,
                    any ? ", " : "**Caution:** what changed may come from what else differs: ");
        code(out, n->what, 40);
    }
    cm_out_text(out, any ? ".\n\n" : "");
}

static void write_process_memory(cm_out *out, const an_diff *d)
{
    const an_change *c = &d->process_memory;
    if (an_known(c->old_value.value) && an_known(c->new_value.value))
        cm_out_printf(out, "%s- memory of the process: %s \u2192 %s at most, %s\n",
                      d->meter_count ? "" : "\n",
                      vw_value_words(c->old_value.value, AN_UNIT_BYTES).text,
                      vw_value_words(c->new_value.value, AN_UNIT_BYTES).text,
                      vw_percent_words(c->ratio.value - 1).text);
}

void vw_diff_markdown(vw_io *io, const vw_diff *v)
{
    const an_diff *d = v->diff;
    cm_out *out = &io->out;
    cm_out_printf(out, "### ortscope: %s\n\n",
                  d->matched_count ? an_change_verdict_name(d->verdict) : "nothing to compare");
    write_findings(out, v);
    write_caveats(out, d);
    write_notes(out, v, NULL);
    for (size_t i = 0; i < d->matched_count; i++)
        write_group(out, v, &d->groups[i]);
    for (size_t i = d->matched_count; i < d->group_count; i++) {
        cm_out_printf(out, "%s- only in %s: ", i == d->matched_count ? "\n" : "",
                      d->groups[i].parts[1].session_count ? "new" : "old");
        code(out, d->groups[i].name, 80);
        cm_out_char(out, '\n');
    }
    for (size_t i = 0; i < d->meter_count; i++) {
        const an_change *c = &d->meters[i].change;
        cm_out_text(out, i ? "- energy of " : "\n- energy of ");
        code(out, d->meters[i].name, 40);
        cm_out_printf(out, ": %s \u2192 %s a run, %s\n",
                      vw_value_words(c->old_value.value, AN_UNIT_JOULES).text,
                      vw_value_words(c->new_value.value, AN_UNIT_JOULES).text,
                      vw_percent_words(c->ratio.value - 1).text);
    }
    write_process_memory(out, d);
}
