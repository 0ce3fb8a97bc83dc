// SPDX-License-Identifier: MIT
// `ortscope timeline FILE --run N`: one inference, operator by operator.
#include "commands.h"
#include "run_timeline.h"

#include <stddef.h>

#define FEWEST_COLUMNS 10
#define MOST_COLUMNS   400

typedef struct timeline_args {
    bool json;
    vw_number run, session, top, width;
} timeline_args;

// 0: as many as there is room for.
static size_t choose_columns(const timeline_args *a)
{
    int64_t wanted = a->width.count;
    if (!a->width.given)
        return 0;
    return (size_t)(wanted < FEWEST_COLUMNS ? FEWEST_COLUMNS
                    : wanted > MOST_COLUMNS ? MOST_COLUMNS
                                            : wanted);
}

static int run_timeline(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)operand_count;
    const timeline_args *a = args;
    vw_timeline t = {0};
    if (!a->run.given)
        return vw_failure(cm_fail(CM_USAGE, "Which run? Add --run N; `ortscope runs --slowest 5` "
                                            "shows the slowest ones."));
    cm_status status =
        vw_timeline_read(&t, operands[0], a->session.given, a->session.count, a->run.count);
    if (status == CM_OK) {
        size_t hidden = vw_timeline_show_longest(&t, (size_t)a->top.count);
        if (a->json)
            vw_timeline_json(io, &t, hidden);
        else
            vw_timeline_text(io, &t, operands[0], choose_columns(a), hidden);
    }
    vw_timeline_deinit(&t);
    return status == CM_OK ? 0 : vw_failure(status);
}

static const vw_option timeline_options[] = {
    {"run", 0, VW_COUNT, offsetof(timeline_args, run), "N", "the run, as `ortscope runs` counts"},
    {"session", 0, VW_COUNT, offsetof(timeline_args, session), "N",
     "the session, where several have such a run"},
    {"top", 0, VW_COUNT, offsetof(timeline_args, top), "K", "only the K longest operators"},
    {"width", 0, VW_COUNT, offsetof(timeline_args, width), "COLUMNS", "columns for the whole run"},
    {"json", 0, VW_FLAG, offsetof(timeline_args, json), NULL, "print one JSON document"},
};

const vw_command vw_command_timeline = {
    .name = "timeline",
    .one_line = "Draws one run as bars, operator by operator.",
    .usage = "FILE --run N [options]",
    .details =
        "Operators stand in the order of their begin, thread by thread, the run's own first;\n"
        "those that run inside Loop, If or Scan are indented. Begins are since that of the\n"
        "run. A bar shows where in the run the operator lies; a short one takes part of a\n"
        "column at least. A recording made with --alloc all also shows what each operator\n"
        "allocated, and in the last line what the run had of its own, on the same axis. One with\n"
        "context switches shows in the first line what the run's thread did. Of operators on\n"
        "threads of a pool it is not always known which run they belong to: how many of these lie\n"
        "in the run's time is told (\"ambiguous\" in JSON), they are not drawn. --ops slow leaves\n"
        "such out of the file: how many in the whole recording is told, too (\"left_out\").",
    .examples = "ortscope timeline trace.ortl --run 7\n"
                "ortscope timeline trace.ortl --session 2 --run 7 --top 20",
    .options = timeline_options,
    .option_count = sizeof timeline_options / sizeof *timeline_options,
    .args_size = sizeof(timeline_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run_timeline,
};
