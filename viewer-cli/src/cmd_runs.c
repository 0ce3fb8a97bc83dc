// SPDX-License-Identifier: MIT
// `ortscope runs FILE`: one line per run, filtered. Reads the file twice: shapes and messages may
// stand behind the runs that they belong to. What the machine did around the runs is looked up for
// a portion of them at a time, so that memory does not depend on their number.
#include "commands.h"
#include "outlier_view.h"
#include "run_list.h"
#include "timeline_input.h"
#include "warmup_option.h"

#include <stddef.h>
#include <stdlib.h>

#define TERMINAL_LIMIT 50
#define MAX_SLOWEST    1000000

typedef struct runs_args {
    bool json, csv, failed;
    const char *warmup, *outliers;
    vw_number session, from, to, limit, slowest;
} runs_args;

// ---------------------------------------------------------------------------------- which runs

// Which runs --warmup leaves out.
typedef struct left_out {
    an_warmup warmup;
    cm_map ends;
} left_out;

static bool is_left_out(const left_out *l, const vw_run *run)
{
    size_t end;
    if (l->warmup.choice == AN_WARMUP_RUNS)
        return run->run > 0 && run->run <= l->warmup.runs;
    return cm_map_find(&l->ends, run->session, &end) && run->run > 0 && (uint64_t)run->run <= end;
}

static bool matches(const runs_args *a, const vw_run *run)
{
    double begin_s = (double)run->begin_ns / 1e9;
    return (!a->session.given || run->session == a->session.count) &&
           (!a->failed || run->status != 0) && (!a->from.given || begin_s >= a->from.seconds) &&
           (!a->to.given || begin_s < a->to.seconds);
}

static vw_run row_to_run(const tm_block *b, size_t row)
{
    vw_run run = {.session = b->columns[TM_run_session][row],
                  .run = b->columns[TM_run_run][row],
                  .thread = b->columns[TM_run_thread][row],
                  .begin_ns = b->columns[TM_run_begin][row],
                  .duration_ns = b->columns[TM_run_duration][row],
                  .call = b->columns[TM_run_call][row],
                  .status = b->columns[TM_run_status][row],
                  .in_flight = b->columns[TM_run_in_flight][row],
                  .inputs = b->columns[TM_run_inputs][row],
                  .outputs = b->columns[TM_run_outputs][row]};
    return run;
}

// ------------------------------------------------------------------------------------- the slowest

// A heap with the fastest of the slowest on top.
typedef struct slowest {
    vw_run *runs;
    size_t count, wanted;
} slowest;

static bool is_slower(const vw_run *a, const vw_run *b)
{
    if (a->duration_ns != b->duration_ns)
        return a->duration_ns > b->duration_ns;
    return a->begin_ns < b->begin_ns; // of two equal ones the earlier
}

static void sift_down(slowest *s, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < s->count; child++)
            if (is_slower(&s->runs[least], &s->runs[child]))
                least = child;
        if (least == at)
            return;
        vw_run run = s->runs[at];
        s->runs[at] = s->runs[least];
        s->runs[least] = run;
        at = least;
    }
}

static void sift_up(slowest *s, size_t at)
{
    while (at > 0 && is_slower(&s->runs[(at - 1) / 2], &s->runs[at])) {
        vw_run run = s->runs[at];
        s->runs[at] = s->runs[(at - 1) / 2];
        s->runs[(at - 1) / 2] = run;
        at = (at - 1) / 2;
    }
}

static void add_slow(slowest *s, const vw_run *run)
{
    if (s->count < s->wanted) {
        s->runs[s->count++] = *run;
        sift_up(s, s->count - 1);
    } else if (s->wanted && is_slower(run, &s->runs[0])) {
        s->runs[0] = *run;
        sift_down(s, 0);
    }
}

static int slowest_first(const void *a, const void *b)
{
    return is_slower(a, b) ? -1 : is_slower(b, a) ? 1 : 0;
}

// ------------------------------------------------------------------------------------- reading

static cm_status read_facts(const char *path, vw_run_facts *facts)
{
    tm_reader *reader;
    tm_block block;
    CM_TRY(vw_open_timeline(path, &reader));
    tm_reader_only(reader, TM_BIT(shape) | TM_BIT(tensor) | TM_BIT(log));
    cm_status status;
    while ((status = tm_reader_next(reader, &block)) == CM_OK) {
        status = vw_run_facts_add(facts, reader, &block);
        if (status != CM_OK)
            break;
    }
    tm_reader_close(reader);
    return status == CM_END ? CM_OK : status;
}

typedef struct listing {
    const runs_args *args;
    left_out left_out;
    vw_run_printer printer;
    vw_run *portion; // to be printed, at most AN_JOIN_MAX_RUNS
    size_t portion_count;
    const char *path;
    cm_status status; // of the first portion that failed
    slowest slowest;
    uint64_t limit; // 0: none
    uint64_t printed, more;
} listing;

// Looks up what the machine did around the runs of the portion, and prints them.
static cm_status print_portion(listing *l)
{
    an_join *join = NULL;
    an_source source = vw_source_of(l->path);
    cm_status status = an_join_create(&join);
    for (size_t i = 0; status == CM_OK && i < l->portion_count; i++) {
        const vw_run *r = &l->portion[i];
        const an_join_run run = {r->session,  r->run,         r->thread,
                                 r->begin_ns, r->duration_ns, r->in_flight};
        if (!an_join_add(join, &run))
            status = cm_fail(CM_NO_MEMORY, "There is not enough memory for so many runs.");
    }
    if (status == CM_OK)
        status = an_join_read(join, &source);
    if (status == CM_OK)
        vw_run_printer_portion(&l->printer, l->portion, l->portion_count, join);
    l->portion_count = 0;
    an_join_destroy(join);
    return status;
}

static void print_run(listing *l, const vw_run *run)
{
    if (l->status != CM_OK)
        return;
    l->portion[l->portion_count++] = *run;
    l->printed++;
    if (l->portion_count == AN_JOIN_MAX_RUNS)
        l->status = print_portion(l);
}

static void take_run(listing *l, const vw_run *run)
{
    if (!matches(l->args, run) || is_left_out(&l->left_out, run))
        return;
    if (l->args->slowest.given) {
        add_slow(&l->slowest, run);
    } else if (l->limit && l->printed >= l->limit) {
        l->more++;
    } else {
        print_run(l, run);
    }
}

static cm_status read_runs(const char *path, listing *l)
{
    tm_reader *reader;
    tm_block block;
    CM_TRY(vw_open_timeline(path, &reader));
    tm_reader_only(reader, TM_BIT(run));
    cm_status status;
    while ((status = tm_reader_next(reader, &block)) == CM_OK) {
        for (size_t row = 0; row < block.row_count; row++) {
            vw_run run = row_to_run(&block, row);
            take_run(l, &run);
        }
        if (cm_out_failed(&l->printer.io->out) || l->status != CM_OK)
            break;
    }
    qsort(l->slowest.runs, l->slowest.count, sizeof *l->slowest.runs, slowest_first);
    for (size_t i = 0; i < l->slowest.count; i++)
        print_run(l, &l->slowest.runs[i]);
    if (l->status == CM_OK)
        l->status = print_portion(l);
    vw_run_printer_end(&l->printer, path, l->more);
    cm_out_flush(&l->printer.io->out);
    if (status == CM_END)
        vw_warn_of_damage(path, tm_reader_damage(reader));
    tm_reader_close(reader);
    return status == CM_END || l->status != CM_OK ? l->status : status;
}

// ---------------------------------------------------------------------------------- outliers

static cm_status list_outliers(vw_io *io, const runs_args *a, const char *path,
                               vw_run_format format, uint64_t limit)
{
    an_outlier_options options = {.has_session = a->session.given, .session = a->session.count};
    an_source source = vw_source_of(path);
    tm_reader *reader = NULL;
    an_summary *summary = NULL;
    an_outliers *outliers = NULL;
    CM_TRY(vw_read_factor(a->outliers, &options.factor));
    if (a->session.given)
        CM_TRY(vw_need_session(path, a->session.count));
    CM_TRY(vw_open_timeline(path, &reader));
    cm_status status = an_summarize(reader, &summary);
    if (status == CM_OK)
        status = an_outliers_find(&source, summary, &options, &outliers);
    if (status == CM_OK) {
        vw_outliers_list(io, outliers, path, format, limit);
        cm_out_flush(&io->out);
        vw_warn_of_damage(path, summary->damage);
        if (outliers->count == 0 && format == VW_RUNS_TEXT)
            vw_message("No run took more than %g times the usual time.", options.factor);
    }
    an_outliers_destroy(outliers);
    an_summary_destroy(summary);
    tm_reader_close(reader);
    return status;
}

static cm_status check_args(const runs_args *a)
{
    if (a->outliers && (a->failed || a->slowest.given || a->from.given || a->to.given || a->warmup))
        return cm_fail(CM_USAGE, "--outliers goes with --session, --limit, --json and --csv only.");
    if (a->json && a->csv)
        return cm_fail(CM_USAGE, "--json and --csv exclude each other.");
    if (a->slowest.given && a->limit.given)
        return cm_fail(CM_USAGE,
                       "--slowest already says how many runs to show; leave --limit out.");
    if (a->slowest.count > MAX_SLOWEST)
        return cm_fail(CM_USAGE, "--slowest can be at most %d.", MAX_SLOWEST);
    return CM_OK;
}

static int run_runs(vw_io *io, const void *args, int operand_count, char **operands)
{
    (void)operand_count;
    const runs_args *a = args;
    vw_run_facts facts;
    listing l = {.args = a,
                 .left_out.warmup = {AN_WARMUP_RUNS, 0},
                 .path = operands[0],
                 .slowest.wanted = (size_t)a->slowest.count};
    vw_run_format format = a->json ? VW_RUNS_JSON : a->csv ? VW_RUNS_CSV : VW_RUNS_TEXT;
    cm_status status = check_args(a);
    if (status != CM_OK)
        return vw_failure(status);
    l.limit = a->limit.given                              ? (uint64_t)a->limit.count
              : io->is_terminal && format == VW_RUNS_TEXT ? TERMINAL_LIMIT
                                                          : 0;
    if (a->outliers) {
        status = list_outliers(io, a, operands[0], format, l.limit);
        return status == CM_OK ? 0 : vw_failure(status);
    }
    vw_run_facts_init(&facts);
    l.slowest.runs = malloc((l.slowest.wanted + 1) * sizeof *l.slowest.runs);
    l.portion = malloc(AN_JOIN_MAX_RUNS * sizeof *l.portion);
    if (!l.slowest.runs || !l.portion)
        status = cm_fail(CM_NO_MEMORY, "There is not enough memory for so many runs.");
    if (status == CM_OK && a->warmup)
        status = vw_read_warmup(a->warmup, &l.left_out.warmup);
    if (status == CM_OK && a->session.given)
        status = vw_need_session(operands[0], a->session.count);
    if (status == CM_OK)
        status = vw_find_warmup(operands[0], l.left_out.warmup, &l.left_out.ends);
    if (status == CM_OK)
        status = read_facts(operands[0], &facts);
    if (status == CM_OK) {
        vw_run_printer_begin(&l.printer, io, &facts, format, a->failed);
        status = read_runs(operands[0], &l);
    }
    if (status == CM_OK && l.printed == 0 && format == VW_RUNS_TEXT)
        vw_message("No runs match.");
    free(l.slowest.runs);
    cm_map_deinit(&l.left_out.ends);
    free(l.portion);
    vw_run_facts_deinit(&facts);
    return status == CM_OK ? 0 : vw_failure(status);
}

static const vw_option runs_options[] = {
    {"session", 0, VW_COUNT, offsetof(runs_args, session), "N", "only runs of this session"},
    {"from", 0, VW_DURATION, offsetof(runs_args, from), "TIME",
     "only runs that began at or after this second"},
    {"to", 0, VW_DURATION, offsetof(runs_args, to), "TIME", "only runs that began before it"},
    {"failed", 0, VW_FLAG, offsetof(runs_args, failed), NULL,
     "only failed runs, with ORT's message"},
    {"slowest", 0, VW_COUNT, offsetof(runs_args, slowest), "N",
     "only the N slowest, slowest first"},
    {"outliers", 0, VW_FACTOR, offsetof(runs_args, outliers), "[X]",
     "only those over X times the usual time (3), and why"},
    {"warmup", 0, VW_TEXT, offsetof(runs_args, warmup), "N|auto", VW_WARMUP_HELP},
    {"limit", 0, VW_COUNT, offsetof(runs_args, limit), "N",
     "at most N runs, 0 = all (50 on a terminal, else all)"},
    {"json", 0, VW_FLAG, offsetof(runs_args, json), NULL, "print one JSON document"},
    {"csv", 0, VW_FLAG, offsetof(runs_args, csv), NULL, "print CSV"},
};

const vw_command vw_command_runs = {
    .name = "runs",
    .one_line = "Lists the runs (inferences) of a recording.",
    .usage = "[options] FILE",
    .details =
        "Runs come in the order of the file, which is nearly that in which they ended. Times "
        "are\nsince the start of the recording: seconds, or with a unit (250ms, 2m). The gap is "
        "the time\n"
        "since the session's run before. Where the recording tells: how much of its time the "
        "run's\n"
        "thread was on a processor, ready but without one, or preempted and by whom; page faults\n"
        "(of the whole process, where only counters tell).\n"
        "\n"
        "--outliers: runs that took more than X times the median of those with the same inputs "
        "after\n"
        "warming up, and the first. Each cause has its share of the time above the median; what "
        "the\n"
        "recording has no evidence for is unexplained. Times of threads, page faults that read,\n"
        "disks, clocks and operators are measured, less what usual runs have of them. What is "
        "left\n"
        "is shared by circumstances that nobody timed: first run, new inputs, growth of the "
        "arena,\n"
        "other page faults, 200 ms or more idle before, another session; those only if most runs\n"
        "that have them are slow.",
    .examples = "ortscope runs trace.ortl --slowest 10\n"
                "ortscope runs trace.ortl --outliers  # with what made them slow\n"
                "ortscope runs trace.ortl --failed  # with ONNX Runtime's messages\n"
                "ortscope runs trace.ortl --session 1 --from 1.5 --to 2s\n"
                "ortscope runs trace.ortl --csv > runs.csv",
    .options = runs_options,
    .option_count = sizeof runs_options / sizeof *runs_options,
    .args_size = sizeof(runs_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run_runs,
};
