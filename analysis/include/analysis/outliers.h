// SPDX-License-Identifier: MIT
// Runs that took far longer than usual, and why, as far as the timeline has evidence for it.
//
// Definitions, the same in text and JSON:
// - usual: the median of the session's successful runs after warming up (series.h); that of those
//   with the same inputs where there are AN_OUTLIER_SHAPE_RUNS of them. Sessions with fewer than
//   AN_OUTLIER_FEWEST such runs have no usual time, and no outliers.
// - outlier: a successful run that took more than `factor` times what is usual, if it came after
//   warming up or was the session's first. extra: its time above the usual.
// - cause: something that the timeline shows of this run and that usual runs lack. Its share is of
//   the extra time; those of a run add up to 1 at most, the rest is unexplained. What explains less
//   than AN_OUTLIER_LEAST of it is not told.
// - measured: the share comes from times that were recorded (the thread was preempted for so long),
//   less what usual runs have of it. Else the cause is a circumstance: nobody timed what it cost.
//   Circumstances share what is left after the measured parts, in equal parts if there are several,
//   but none gets more than it can have cost. Those that repeat count only if most runs of the
//   session that have them are slow.
//
// The evidence, and what a cause can have cost:
// - first run, new shape (circumstances): the first run of all, the first with these inputs; of a
//   session that was created while recording.
// - arena growth (circumstance): the arena took memory from the system; 1 ms and 5 us for 4 KiB.
// - page faults: pages that had to be read, the time that took (measured); others (circumstance),
//   5 us each. From counters only where the run fills most of the time between two samples.
// - preempted, waiting for a core (measured): the thread's switches. Without those, waiting for a
//   core: the process had less processor time than the run took, while all cores were busy; or
//   than all runs took in this second, which then lack the same part of their extra time.
// - disk (measured): transfers that the thread asked for, those of page faults aside.
// - waiting (measured): the thread waited, for none of the above. Without switches: less processor
//   time than the run took, with a core free.
// - throttled (measured): the clock was slower than around usual runs, and not for having been
//   idle; or the system told of a limit.
// - slow operator (measured): one operator took longer than usual, the others did not. Without
//   switches that may be somebody else's doing: then the same one must be slow in more outliers
//   than chance explains (99 %).
// - idle before (circumstance): AN_OUTLIER_IDLE_NS or more since the session's run before.
// - other session (circumstance): runs of other sessions during this one; as long as they took.
//
// Memory: that of AN_OUTLIERS_MOST outliers and AN_OUTLIER_USUAL usual runs, to compare them with.
// Of more outliers the slowest are explained, by their time against the usual.
#pragma once

#include "analysis/join.h"
#include "analysis/summary.h"

#define AN_OUTLIER_FACTOR     3.0
#define AN_OUTLIER_FEWEST     10
#define AN_OUTLIER_SHAPE_RUNS 2
#define AN_OUTLIER_LEAST      0.1
#define AN_OUTLIER_IDLE_NS    200000000
#define AN_OUTLIERS_MOST      16384
#define AN_OUTLIER_USUAL      8192

typedef enum an_cause_kind {
    AN_CAUSE_FIRST_RUN,
    AN_CAUSE_NEW_SHAPE,
    AN_CAUSE_ARENA_GROWTH,
    AN_CAUSE_PAGE_FAULTS,
    AN_CAUSE_PREEMPTED,
    AN_CAUSE_WAITING_FOR_CORE,
    AN_CAUSE_IDLE_BEFORE,
    AN_CAUSE_OTHER_SESSION,
    AN_CAUSE_DISK,
    AN_CAUSE_THROTTLED,
    AN_CAUSE_SLOW_OPERATOR,
    AN_CAUSE_WAITING,
    AN_CAUSE_UNEXPLAINED,
    AN_CAUSE_COUNT
} an_cause_kind;

typedef struct an_cause {
    an_cause_kind kind;
    double share; // of the run's extra time, 0 to 1
    bool measured;
    // preempted: the process (number in the file); slow operator: the kernel; other session: the
    // session; waiting: KWAIT_REASON, -1: not told. Else 0.
    int64_t detail;
    // The name of it: "chrome.exe", the operator's node (or type), "WrQueue"; "": none. Borrowed.
    const char *who;
    // arena growth: bytes; page faults: how many; idle before: nanoseconds; throttled: the clock in
    // percent of the usual one; slow operator: nanoseconds above its usual time. Else NAN.
    double amount;
} an_cause;

#define AN_CAUSES_MOST 8

typedef struct an_outlier {
    int64_t session, run, thread, begin_ns, duration_ns, inputs;
    double usual_ns;
    an_cause causes[AN_CAUSES_MOST]; // the greatest share first; never AN_CAUSE_UNEXPLAINED
    size_t cause_count;
    double unexplained; // share
} an_outlier;

// Outliers with the same main cause: the one with the greatest share, or "unexplained" if that is
// greater. Preemptions by different processes and different operators are groups of their own.
typedef struct an_outlier_group {
    an_cause_kind kind;
    const char *who; // as in an_cause
    uint64_t runs;
    double extra_ns; // of all of them, whatever else it has to do with
} an_outlier_group;

typedef struct an_session_outliers {
    int64_t session;
    uint64_t runs;            // that were looked at: successful, not warming up
    double usual_ns;          // the median; NAN: too few runs
    uint64_t outliers;        // all of them
    size_t first, explained;  // places of those that are explained, in order of their begin
    an_outlier_group *groups; // most runs first, unexplained last; of those that are explained
    size_t group_count;
} an_session_outliers;

typedef struct an_outliers {
    double factor;
    an_outlier *items; // by session, then by begin
    size_t count;
    an_session_outliers *sessions; // those with runs
    size_t session_count;
    char **texts; // that `who` points to
    size_t text_count, text_capacity;
} an_outliers;

typedef struct an_outlier_options {
    double factor;    // 0: AN_OUTLIER_FACTOR
    bool has_session; // only this one
    int64_t session;
} an_outlier_options;

// `summary`: a finished one of the same file. Reads the file several times.
cm_status an_outliers_find(const an_source *source, const an_summary *summary,
                           const an_outlier_options *options, an_outliers **out); // NULL: defaults
void an_outliers_destroy(an_outliers *o);                                         // NULL is fine

const an_session_outliers *an_outliers_of(const an_outliers *o, int64_t session); // NULL: no runs
const an_outlier *an_outliers_get(const an_outliers *o, int64_t session, int64_t run); // or NULL

const char *an_cause_name(an_cause_kind kind); // for programs: "first_run", "preempted", ...

// For people: "preempted by chrome.exe", "after more than 200 ms idle", "page faults".
void an_cause_phrase(an_cause_kind kind, const char *who, char *out, size_t size);
