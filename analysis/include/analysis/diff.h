// SPDX-License-Identifier: MIT
// Two recordings side by side: what changed, and how sure that is.
//
// - Sessions are matched by model; all sessions of one model in a recording count as one (path or
//   name, else hash, else graph; two that are left over on either side alone are matched too).
//   Operators are matched by name, type and domain, of the session with the most runs.
// - Runs that count are successful and not part of warming up (an_warmup).
// - Each number has an interval (intervals.h). The intervals of all matched sessions hold together
//   with 95 %: with k sessions each is made for 5 % / k.
// - latency, the session's verdict: the shift between the logarithms of the latencies, as a factor.
// - max: of blocks of equally many runs in both recordings, 24 of the shorter one,
//   the shift between their greatest latencies.
// - throughput: from the times between the begins of runs.
// - load: of each session of the model.
// - memory_peak: what the arenas told, most of the model's sessions; its uncertainty is that of the
//   greatest run in a block of runs, as with max.
// - memory_growth: bytes a run (memory.h), as a difference, of the session with the most runs.
// - joules: of a meter, by all successful runs of the recording. One number each: no interval.
// - memory of the process: its largest working set; the same.
// - Operators: self time a run in up to AN_OP_BATCHES groups of neighbouring runs; those called
//   better or worse hold together with 95 %.
//
// Verdicts of a ratio: better or worse where the interval excludes 1 and the change is at least a
// quarter of the margin; else same where the interval lies within the margin; else inconclusive.
//
// What two starts of a program differ in by chance (memory layout, other programs) is in no
// recording of one start, so in no interval either.
#pragma once

#include "analysis/intervals.h"
#include "analysis/summary.h"

#define AN_DIFF_SERIES 65536
#define AN_DIFF_ERROR  0.05
#define AN_DIFF_MARGIN 0.02
#define AN_DIFF_GROUPS 1024 // models compared; more are counted only

typedef enum an_change_verdict { AN_INCONCLUSIVE, AN_SAME, AN_BETTER, AN_WORSE } an_change_verdict;
const char *an_change_verdict_name(an_change_verdict verdict); // "inconclusive", "same", ...

typedef enum an_metric {
    AN_METRIC_LATENCY,
    AN_METRIC_P50,
    AN_METRIC_P90,
    AN_METRIC_P95,
    AN_METRIC_P99,
    AN_METRIC_P99_9,
    AN_METRIC_MEAN,
    AN_METRIC_MAX,
    AN_METRIC_THROUGHPUT,
    AN_METRIC_LOAD,
    AN_METRIC_MEMORY_PEAK,
    AN_METRIC_MEMORY_GROWTH,
    AN_METRIC_COUNT, // those above: one of each in a group
    AN_METRIC_JOULES = AN_METRIC_COUNT,
    AN_METRIC_OP
} an_metric;

typedef enum an_unit { AN_UNIT_NS, AN_UNIT_BYTES, AN_UNIT_PER_S, AN_UNIT_JOULES } an_unit;

const char *an_metric_name(an_metric metric); // "p99", "memory_peak", ...; "op" for operators
an_unit an_metric_unit(an_metric metric);
bool an_metric_higher_is_better(an_metric metric);

typedef struct an_change {
    an_interval old_value, new_value;
    an_interval ratio; // new by old
    an_interval shift; // new less old
    an_change_verdict verdict;
} an_change;

typedef enum an_warmup_choice { AN_WARMUP_AUTO, AN_WARMUP_RUNS } an_warmup_choice;

typedef struct an_warmup {
    an_warmup_choice choice;
    int64_t runs; // the first so many of each session
} an_warmup;

// One operator of a model, or all of one type (node "").
typedef struct an_diff_op {
    an_op_identity identity;
    bool here[2];
    double self_ns[2]; // a run, mean; 0 where it is not there
    double calls[2];   // a run
    double *values[2]; // self time a run in each group of runs
    size_t value_count[2];
    an_change change;
} an_diff_op;

typedef struct an_diff_ops {
    an_diff_op *items; // greatest difference a run first
    size_t count;
} an_diff_ops;

// One side of a model.
typedef struct an_diff_part {
    const an_session **sessions; // borrowed from the summary; the one with the most runs first
    size_t session_count;        // 0: not in this recording
    uint64_t runs, failed_runs, warmup_runs;
    double *latency_ns; // of those that count, in order of their begins
    double *begin_ns;
    size_t latency_count;
    double max_ns;
} an_diff_part;

typedef struct an_diff_group {
    char *name; // file name of the model, or what else is known
    an_diff_part parts[2];
    an_change changes[AN_METRIC_COUNT];
    an_diff_ops nodes, types;
    an_change_verdict verdict;
} an_diff_group;

// Something that is not the same in the two recordings and may be the reason.
typedef struct an_diff_note {
    const an_diff_group *group; // NULL: of the recordings as such
    char *what, *texts[2];      // "" where there is nothing
    bool caveat;                // of the machine or the runtime: all numbers may come from there
} an_diff_note;

typedef struct an_diff_meter {
    const char *source, *name;
    an_change change; // joules a run
} an_diff_meter;

typedef struct an_diff {
    const an_summary *sides[2]; // borrowed
    double margin, error;
    an_warmup warmup;
    an_diff_group *groups; // those on both sides first
    size_t group_count, matched_count;
    uint64_t groups_left_out;
    an_diff_note *notes;
    size_t note_count, note_capacity;
    an_diff_meter *meters;
    size_t meter_count;
    an_change process_memory;  // bytes; NAN where nobody told
    an_change_verdict verdict; // worse if any is; inconclusive if any is, or nothing was compared
} an_diff;

typedef struct an_diff_options {
    double margin; // 0.02 for 2 %
    an_warmup warmup;
} an_diff_options;

// How summaries for a comparison are to be made.
extern const an_summary_options an_diff_summary_options;

cm_status an_diff_make(const an_summary *old_side, const tm_header *old_header,
                       const an_summary *new_side, const tm_header *new_header,
                       const an_diff_options *options, an_diff **out);
void an_diff_destroy(an_diff *d);

// At which run of a session warming up ended: runs up to this number are left out.
int64_t an_warmup_end(const an_session *session, an_warmup warmup);
