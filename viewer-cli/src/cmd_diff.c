// SPDX-License-Identifier: MIT
// `ortscope diff OLD NEW`: compares two recordings and holds conditions against the difference.
#include "commands.h"
#include "diff_view.h"
#include "timeline_input.h"
#include "warmup_option.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_REGRESSION = 10, EXIT_UNSURE = 11 };

typedef struct diff_args {
    bool json, markdown;
    const char *warmup, *margin;
    vw_list fail_if;
} diff_args;

typedef struct side {
    tm_reader *reader;
    an_summary *summary;
} side;

static cm_status read_side(const char *path, side *s)
{
    CM_TRY(vw_open_timeline(path, &s->reader));
    return an_summarize_with(s->reader, &an_diff_summary_options, &s->summary);
}

static cm_status read_margin(const char *text, double *out)
{
    *out = AN_DIFF_MARGIN;
    if (!text)
        return CM_OK;
    char *end;
    double value = strtod(text, &end);
    size_t len = (size_t)(end - text);
    if (len == 0 || strspn(text, "0123456789.") != len || strcmp(end, "%") != 0 || !(value > 0) ||
        value > 100)
        return cm_fail(CM_USAGE, "--margin takes percents, \"2%%\" for example, not \"%s\".", text);
    *out = value / 100;
    return CM_OK;
}

typedef struct findings {
    vw_diff_finding *items;
    size_t count;
    bool failed;
} findings;

static void keep_finding(void *context, const an_gate_finding *f)
{
    findings *all = context;
    vw_diff_finding *items = realloc(all->items, (all->count + 1) * sizeof *items);
    all->failed = all->failed || !items;
    if (!items)
        return;
    all->items = items;
    items[all->count++] = (vw_diff_finding){f->gate, f->subject, f->value, f->result};
}

static void print(vw_io *io, const diff_args *a, const vw_diff *v)
{
    if (a->json)
        vw_diff_json(io, v);
    else if (a->markdown)
        vw_diff_markdown(io, v);
    else
        vw_diff_text(io, v);
    cm_out_flush(&io->out);
}

static cm_status show(vw_io *io, const diff_args *a, const an_gate *gates, const an_diff *diff,
                      char **paths, int *out_code)
{
    findings all = {0};
    an_gate_result worst = AN_GATE_OK;
    for (size_t i = 0; i < a->fail_if.count; i++) {
        an_gate_result result = an_gate_check(&gates[i], diff, keep_finding, &all);
        worst = result > worst ? result : worst;
    }
    *out_code = worst == AN_GATE_MET ? EXIT_REGRESSION : worst == AN_GATE_UNSURE ? EXIT_UNSURE : 0;
    vw_diff v = {diff, {paths[0], paths[1]}, all.items, all.count, worst, *out_code};
    print(io, a, &v);
    free(all.items);
    return all.failed ? cm_fail(CM_NO_MEMORY, "There is not enough memory for the conditions.")
                      : CM_OK;
}

static cm_status read_args(const diff_args *a, an_diff_options *options, an_gate *gates)
{
    if (a->json && a->markdown)
        return cm_fail(CM_USAGE, "--json and --markdown exclude each other.");
    for (size_t i = 0; i < a->fail_if.count; i++)
        CM_TRY(an_gate_parse(a->fail_if.texts[i], &gates[i]));
    CM_TRY(read_margin(a->margin, &options->margin));
    return vw_read_warmup(a->warmup ? a->warmup : "auto", &options->warmup);
}

static int run_diff(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)operand_count;
    const diff_args *a = args;
    an_gate gates[VW_LIST_MOST];
    an_diff_options options;
    side sides[2] = {{0}, {0}};
    an_diff *diff = NULL;
    int code = 0;
    cm_status status = read_args(a, &options, gates);
    for (int i = 0; i < 2 && status == CM_OK; i++)
        status = read_side(operands[i], &sides[i]);
    if (status == CM_OK)
        status = an_diff_make(sides[0].summary, tm_reader_header(sides[0].reader), sides[1].summary,
                              tm_reader_header(sides[1].reader), &options, &diff);
    if (status == CM_OK)
        status = show(io, a, gates, diff, operands, &code);
    for (int i = 0; i < 2 && status == CM_OK; i++)
        vw_warn_of_damage(operands[i], sides[i].summary->damage);
    an_diff_destroy(diff);
    for (int i = 0; i < 2; i++) {
        an_summary_destroy(sides[i].summary);
        tm_reader_close(sides[i].reader);
    }
    return status == CM_OK ? code : vw_failure(status);
}

static const vw_option diff_options[] = {
    {"fail-if", 0, VW_LIST, offsetof(diff_args, fail_if), "COND",
     "exit with 10 if COND holds, 11 if that can't be told"},
    {"warmup", 0, VW_TEXT, offsetof(diff_args, warmup), "N|auto",
     "leave out the first N runs of each session (auto)"},
    {"margin", 0, VW_TEXT, offsetof(diff_args, margin), "P%",
     "differences within it count as the same (2%)"},
    {"json", 0, VW_FLAG, offsetof(diff_args, json), NULL, "print one JSON document"},
    {"markdown", 0, VW_FLAG, offsetof(diff_args, markdown), NULL,
     "print a comment for a pull request"},
};

const vw_command vw_command_diff = {
    .name = "diff",
    .one_line = "Compares two recordings: better, worse, same or inconclusive.",
    .usage = "[options] OLD NEW",
    .details =
        "Sessions are matched by model, operators by name and type. Every change has an interval\n"
        "in which it lies with 95 % confidence. Better or worse: the interval excludes no change;\n"
        "same: it lies within the margin; inconclusive: neither, more runs would tell. That one\n"
        "run is like the next widens the intervals; what differs from one start of a program to\n"
        "the next is not in them.\n"
        "\n"
        "COND is METRIC>LIMIT or METRIC<LIMIT and may be given several times:\n"
        "  --fail-if 'p99>5%'          it grew by more than 5 %\n"
        "  --fail-if 'p99>+2ms'        it grew by more than 2 ms\n"
        "  --fail-if 'p99>20ms'        it is over 20 ms in NEW\n"
        "  --fail-if 'throughput<5%'   it fell by more than 5 %\n"
        "Metrics: latency (the typical run), p50, p90, p95, p99, p99.9, mean, max, throughput,\n"
        "load, memory_peak, memory_growth (bytes a run), joules (a run), op:NAME (self time a run\n"
        "of a node or of all nodes of a type). Units: ns us ms s, B kB MB GB, /s, mJ J.\n"
        "Exit code 10: for some model the whole interval is beyond the limit. 11: for none, but\n"
        "somewhere the limit lies inside the interval, or nothing could be compared. Else 0.",
    .examples = "ortscope diff old.ortl new.ortl\n"
                "ortscope diff old.ortl new.ortl --fail-if 'p99>5%' --fail-if 'memory_peak>10%'\n"
                "ortscope diff old.ortl new.ortl --markdown > comment.md",
    .options = diff_options,
    .option_count = sizeof diff_options / sizeof *diff_options,
    .args_size = sizeof(diff_args),
    .min_operands = 2,
    .max_operands = 2,
    .run = run_diff,
};
