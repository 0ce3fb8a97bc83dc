// SPDX-License-Identifier: MIT
// What the files of the outliers share: outliers.c leads and picks runs, outlier_usual.c knows what
// is usual, outlier_facts.c, outlier_ops.c and outlier_starved.c gather evidence, outlier_causes.c
// weighs it, outlier_groups.c puts outliers with the same cause together.
#pragma once

#include "analysis/outliers.h"
#include "common/map.h"

#define AN_GROWTH_SIZES 48
#define AN_OUTLIER_SLOW 1.5  // times the usual: slow enough to speak for a circumstance
#define AN_OTHER_LEAST  0.25 // of a run, that others take place in it

// A run that is looked at: an outlier, or a usual one to compare with.
typedef struct an_case {
    an_join_run run;
    int64_t inputs;
    size_t session; // place
    double usual_ns;
    bool outlier, first, new_shape;
    // Evidence, besides what the join has.
    double grown_bytes;
    double starved;   // part of the extra time of this second's runs that they lacked a processor
    an_slices others; // runs of other sessions, by session: the time within this run
    size_t op_kernel; // place in the an_ops
    double op_excess_ns, ops_excess_ns; // of the slowest against its usual time; of all; NAN: none
} an_case;

// How many runs have a circumstance, and how many of those are slow.
typedef struct an_circumstance {
    double runs, slow;
} an_circumstance;

// What usual runs have of everything; NAN: not known.
typedef struct an_usual {
    double preempted_ns, ready_ns, waiting_ns, hard_fault_ns, disk_ns;
    double page_faults, hard_faults, clock_percent, limit_percent;
} an_usual;

typedef struct an_outlier_session {
    const an_session *session;
    bool from_start;    // nothing of it was before the recording
    int64_t warmup_end; // runs up to this number do not count
    cm_histogram latency;
    double usual_ns;
    uint64_t usual_runs, sampled; // that are not outliers; those of them that are cases
    uint64_t stride, until_next;  // every so many are
    int64_t last_end_ns;          // of the runs so far
    uint64_t outliers;
    an_usual usual;
    an_circumstance idle, new_shape, other_session;
    // Runs in which the arena grew, by the power of two of the bytes: usual ones, outliers.
    uint32_t growths[2][AN_GROWTH_SIZES];
} an_outlier_session;

typedef struct an_shape_usual {
    int64_t shape, first_begin_ns, first_run;
    bool counted; // its latencies are
    cm_histogram latency;
} an_shape_usual;

typedef struct an_outlier_finder {
    const an_source *source;
    const an_summary *summary;
    an_outlier_options options;
    an_outlier_session *sessions;
    size_t session_count, session_capacity;
    cm_map session_of; // id -> place
    an_shape_usual *shapes;
    size_t shape_count, shape_capacity, histograms;
    cm_map shape_of; // id -> place
    an_case *cases;  // outliers, then usual ones
    size_t count, capacity, outlier_count;
    an_case *usual_cases;
    size_t usual_count, usual_capacity;
    cm_map case_of; // session and run -> place
    an_join *join;
    bool has_ops;
} an_outlier_finder;

// In outlier_usual.c.
cm_status an_outlier_sessions(an_outlier_finder *f);
cm_status an_outlier_learn(an_outlier_finder *f); // what is usual, by a reading of the runs
double an_outlier_usual_of(const an_outlier_finder *f, size_t session, int64_t inputs);
bool an_outlier_is_new_shape(const an_outlier_finder *f, size_t session, int64_t inputs,
                             int64_t run, int64_t begin_ns);

// In outlier_facts.c: evidence about all cases.
cm_status an_outlier_gather(an_outlier_finder *f);

// In outlier_ops.c: the slowest operator of each outlier. Where switches do not tell that the run
// had its processor, only operators that are slow in more outliers than chance explains stay.
cm_status an_outlier_find_operators(an_outlier_finder *f);
int an_growth_size(double bytes); // place in `growths`

// In outlier_starved.c: what counters tell of seconds in which all cores were busy.
cm_status an_outlier_find_starved(an_outlier_finder *f);

// In outlier_causes.c.
cm_status an_outlier_explain(const an_outlier_finder *f, size_t place, an_outliers *out,
                             an_outlier *to);
// In outlier_groups.c.
cm_status an_outlier_group_all(an_outliers *o);
// A copy that lives as long as the outliers; equal texts are one.
cm_status an_outlier_text(an_outliers *o, const char *text, const char **out);

int64_t an_outlier_run_key(int64_t session, int64_t run);
