// SPDX-License-Identifier: MIT
// `ortscope report FILE`: a recording as one page. What the page holds is decided in report/; here
// are the options, the readings of the files and the name of the output.
#include "commands.h"
#include "export/export_output.h"
#include "report/report.h"
#include "timeline_input.h"
#include "warmup_option.h"

#include "common/text.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct report_args {
    const char *output, *compare;
    bool quiet;
} report_args;

// ------------------------------------------------------------------------------------ the
// recording

static cm_status read_report(vw_rp_report *r, tm_reader *reader, const an_summary_options *options,
                             an_summary **out)
{
    an_source source = vw_source_of(r->path);
    CM_TRY(an_summarize_with(reader, options, out));
    CM_TRY(an_summary_join(*out, &source));
    r->summary = *out;
    r->header = tm_reader_header(reader);
    CM_TRY(vw_rp_latency_read(&r->latency, *out, &source));
    CM_TRY(vw_rp_runs_read(&r->runs, &r->latency, *out, &source));
    CM_TRY(vw_rp_memory_read(&r->memory, &r->latency, &source, (*out)->end_ns));
    return vw_rp_counters_read(&r->counters, *out, &source);
}

static cm_status read_other(const char *path, tm_reader **reader, an_summary **out)
{
    CM_TRY(vw_open_timeline(path, reader));
    return an_summarize_with(*reader, &an_diff_summary_options, out);
}

// ---------------------------------------------------------------------------------------- the page

// "trace.html" beside "trace.ortl".
static cm_status name_output(const char *input, char *out, size_t capacity)
{
    size_t len = strlen(input);
    if (len > 5 && strcmp(input + len - 5, ".ortl") == 0)
        len -= 5;
    if (len + sizeof ".html" > capacity)
        return cm_fail(CM_USAGE, "The name of the output would be too long; give one with -o.");
    snprintf(out, capacity, "%.*s.html", (int)len, input);
    return CM_OK;
}

static cm_status write_page(vw_io *io, const report_args *a, vw_rp_report *r, uint64_t *out_bytes,
                            char *name, size_t capacity)
{
    bool to_stdout = a->output && strcmp(a->output, "-") == 0;
    if (a->output)
        snprintf(name, capacity, "%s", a->output);
    else
        CM_TRY(name_output(r->path, name, capacity));
    if (!to_stdout)
        CM_TRY(vw_ex_refuse_recording(name));
    vw_ex_output output;
    vw_ex_output_init(&output, io, to_stdout ? NULL : name, ".html", 0, false);
    cm_status status = vw_ex_output_open(&output);
    bool opened = status == CM_OK;
    if (opened) {
        vw_rp_page(&output.out, io, r);
        status = vw_ex_output_close(&output);
    }
    *out_bytes = output.total_bytes;
    vw_ex_output_deinit(&output, status == CM_OK || !opened);
    return status;
}

static void tell(const report_args *a, const char *name, uint64_t bytes)
{
    char size[32];
    cm_format_bytes(size, sizeof size, bytes);
    if (!a->quiet && !(a->output && strcmp(a->output, "-") == 0))
        vw_message("wrote %s (%s): open it in any browser.", name, size);
}

static cm_status report(vw_io *io, const report_args *a, vw_rp_report *r)
{
    tm_reader *readers[2] = {NULL, NULL};
    an_summary *summaries[2] = {NULL, NULL}; // the other one first: it is the old one
    an_diff *diff = NULL;
    an_diff_options options = {.margin = AN_DIFF_MARGIN, .warmup = {AN_WARMUP_AUTO, 0}};
    vw_diff view = {0};
    char name[1024];
    uint64_t bytes = 0;
    cm_status status = vw_open_timeline(r->path, &readers[1]);
    if (status == CM_OK)
        status =
            read_report(r, readers[1], a->compare ? &an_diff_summary_options : NULL, &summaries[1]);
    if (status == CM_OK && a->compare)
        status = read_other(a->compare, &readers[0], &summaries[0]);
    if (status == CM_OK && a->compare)
        status = an_diff_make(summaries[0], tm_reader_header(readers[0]), summaries[1],
                              tm_reader_header(readers[1]), &options, &diff);
    if (diff) {
        view = (vw_diff){.diff = diff, .paths = {a->compare, r->path}};
        r->diff = &view;
    }
    if (status == CM_OK)
        status = write_page(io, a, r, &bytes, name, sizeof name);
    if (status == CM_OK) {
        tell(a, name, bytes);
        vw_warn_of_damage(r->path, summaries[1]->damage);
        if (a->compare)
            vw_warn_of_damage(a->compare, summaries[0]->damage);
    }
    an_diff_destroy(diff);
    for (int i = 0; i < 2; i++) {
        an_summary_destroy(summaries[i]);
        tm_reader_close(readers[i]);
    }
    return status;
}

static int run_report(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)operand_count;
    vw_rp_report *r = calloc(1, sizeof *r);
    cm_status status = CM_OK;
    if (!r) {
        status = cm_fail(CM_NO_MEMORY, "There is not enough memory for the report.");
    } else {
        r->path = operands[0];
        status = report(io, args, r);
        vw_rp_latency_deinit(&r->latency);
        vw_rp_runs_deinit(&r->runs);
        vw_rp_counters_deinit(&r->counters);
        free(r);
    }
    return vw_ex_exit_code(io, status);
}

static const vw_option report_options[] = {
    {"output", 'o', VW_TEXT, offsetof(report_args, output), "FILE",
     "the page; - is standard output (FILE.html)"},
    {"compare", 0, VW_TEXT, offsetof(report_args, compare), "OTHER",
     "an earlier recording to compare with"},
    {"quiet", 'q', VW_FLAG, offsetof(report_args, quiet), NULL, "do not say what was written"},
};

const vw_command vw_command_report = {
    .name = "report",
    .one_line = "Makes one page of a recording, to look at and to send.",
    .usage = "[options] FILE",
    .details =
        "The page needs no network and no other file: it opens in any browser, in light and dark,\n"
        "and prints. It shows the numbers of `ortscope summary`, latencies as a histogram and "
        "over\n"
        "time, the operators, some inferences operator by operator, memory, counters and energy;\n"
        "with --compare also what `ortscope diff OTHER FILE` says.\n"
        "Long recordings make no larger page: series keep the least and the greatest of each\n"
        "stretch of time, inferences are chosen (the first, the median, the slowest and others),\n"
        "and the page says what it leaves out.",
    .examples = "ortscope report trace.ortl  # makes trace.html\n"
                "ortscope report new.ortl --compare old.ortl -o report.html",
    .options = report_options,
    .option_count = sizeof report_options / sizeof *report_options,
    .args_size = sizeof(report_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run_report,
};
