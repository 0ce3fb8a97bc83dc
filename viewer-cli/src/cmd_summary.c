// SPDX-License-Identifier: MIT
// `ortscope summary FILE`: reads a timeline and shows it in one of three ways.
#include "commands.h"
#include "outlier_view.h"
#include "summary_view.h"
#include "timeline_input.h"
#include "warmup_option.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct summary_args {
    bool json, csv, all;
    vw_number session;
    const char *carbon, *warmup, *outliers;
} summary_args;

// NAN if it is not given.
static cm_status read_carbon(const char *text, double *out)
{
    char *end = NULL;
    double grams = text ? strtod(text, &end) : (double)NAN;
    if (text &&
        (end == text || *end || strspn(text, "0123456789.") != strlen(text) || !(grams <= 1e6)))
        return cm_fail(CM_USAGE,
                       "--carbon-intensity takes grams of CO2 for a kilowatt hour, 380 for "
                       "example, not \"%s\".",
                       text);
    *out = grams;
    return CM_OK;
}

static cm_status find_session(const an_summary *s, int64_t id, const char *path)
{
    size_t at;
    if (cm_map_find(&s->session_by_id, id, &at))
        return CM_OK;
    return vw_no_session(path, id);
}

static cm_status summarize(const char *path, const summary_args *a, tm_reader *reader,
                           an_summary **out)
{
    double factor = 0;
    an_warmup warmup = {AN_WARMUP_RUNS, 0};
    cm_map ends;
    cm_map_init(&ends);
    cm_status status = a->warmup ? vw_read_warmup(a->warmup, &warmup) : CM_OK;
    if (status == CM_OK && a->outliers)
        status = vw_read_factor(a->outliers, &factor);
    if (status == CM_OK)
        status = vw_find_warmup(path, warmup, &ends);
    an_summary_options options = {
        .warmup_runs = warmup.runs, .warmup_ends = &ends, .outlier_factor = factor};
    if (status == CM_OK)
        status = an_summarize_with(reader, &options, out);
    cm_map_deinit(&ends);
    return status;
}

static int run_summary(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)operand_count;
    const summary_args *a = args;
    const char *path = operands[0];
    vw_summary_choice choice = {.has_session = a->session.given,
                                .session = a->session.count,
                                .all = a->all,
                                .grams_per_kwh = (double)NAN,
                                .path = path};
    tm_reader *reader = NULL;
    an_summary *summary = NULL;
    if (a->json && a->csv)
        return vw_failure(cm_fail(CM_USAGE, "--json and --csv exclude each other."));
    if ((a->json || a->csv) && (choice.has_session || choice.all))
        return vw_failure(cm_fail(CM_USAGE, "--session and --all are about the text; --json and "
                                            "--csv always tell of all sessions."));
    cm_status status = read_carbon(a->carbon, &choice.grams_per_kwh);
    if (status == CM_OK)
        status = vw_open_timeline(path, &reader);
    if (status == CM_OK)
        status = summarize(path, a, reader, &summary);
    an_source source = vw_source_of(path);
    if (status == CM_OK)
        status = an_summary_join(summary, &source);
    if (status == CM_OK && choice.has_session)
        status = find_session(summary, choice.session, path);
    if (status == CM_OK) {
        if (a->json)
            vw_summary_json(io, summary, choice.grams_per_kwh);
        else if (a->csv)
            vw_summary_csv(io, summary);
        else
            vw_summary_text(io, summary, tm_reader_header(reader), &choice);
        cm_out_flush(&io->out);
        vw_warn_of_damage(path, summary->damage);
    }
    an_summary_destroy(summary);
    tm_reader_close(reader);
    return status == CM_OK ? 0 : vw_failure(status);
}

static const vw_option summary_options[] = {
    {"json", 0, VW_FLAG, offsetof(summary_args, json), NULL, "print one JSON document"},
    {"csv", 0, VW_FLAG, offsetof(summary_args, csv), NULL, "print one CSV row per session"},
    {"session", 0, VW_COUNT, offsetof(summary_args, session), "N", "show only this session"},
    {"all", 0, VW_FLAG, offsetof(summary_args, all), NULL, "show every session in full"},
    {"warmup", 0, VW_TEXT, offsetof(summary_args, warmup), "N|auto", VW_WARMUP_HELP},
    {"outliers", 0, VW_TEXT, offsetof(summary_args, outliers), "X", VW_OUTLIERS_HELP},
    {"carbon-intensity", 0, VW_TEXT, offsetof(summary_args, carbon), "G",
     "grams of CO2 for a kilowatt hour, to tell what the energy meant"},
};

const vw_command vw_command_summary = {
    .name = "summary",
    .one_line = "Shows what happened in a recording, on one screen.",
    .usage = "[options] FILE",
    .details =
        "Latencies are those of successful runs, the first one among them; it is also shown "
        "apart,\n"
        "since it usually pays for warming up. Percentiles are nearest-rank and exact to 0.1 %.\n"
        "Jitter is the mean absolute difference between the latencies of consecutive runs;\n"
        "throughput is successful runs by the time from the first begin to the last end. The "
        "batch\n"
        "size is assumed to be the first dimension of the first input.\n"
        "Memory: held is what the session's arenas have from the system; the peak is the most\n"
        "that tensors had of it at once, what else was held then is unused; between runs is what\n"
        "they have after the last run. Arenas that several sessions share are told apart, below\n"
        "the sessions. Samples per MB: the batch size by the memory that a\n"
        "typical run of that size has at once, weights not counted. Growth is judged over the\n"
        "later half of the runs: use grows if the 95 % interval of its slope lies above 0; if it\n"
        "has slowed down to less than half, or the arenas are still being extended, they are\n"
        "warming up.\n"
        "Outliers are runs over 3 times the median after warming up, of runs with the same "
        "inputs.\n"
        "Their causes are what the recording has evidence for: `ortscope help runs`.",
    .examples = "ortscope summary trace.ortl\n"
                "ortscope summary trace.ortl --session 2 --warmup auto\n"
                "ortscope summary trace.ortl --json > summary.json\n"
                "ortscope summary trace.ortl --color always | less -R",
    .options = summary_options,
    .option_count = sizeof summary_options / sizeof *summary_options,
    .args_size = sizeof(summary_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run_summary,
};
