// SPDX-License-Identifier: MIT
// `ortscope report`: a recording as one page that needs nothing else. The page is made of files of
// this folder (page.html, *.css, *.js: embedded when ortscope is built) and one JSON document,
// which has what `summary --json` and `diff --json` have, and what only a page can show:
//
//   report_latency    latencies over time and as a histogram; which runs stand for the others
//   report_runs       those runs in full: operators, what their threads did
//   report_outliers   runs far slower than usual, with their causes in words
//   report_memory     arenas over time
//   report_counters   counters over time
//   report_data       all of that as JSON
//   report_page       the page around it
//
// The page's size does not depend on the recording's: series are decimated to the least and the
// greatest of each stretch of time, runs are chosen, and what is left out is counted and told.
#pragma once

#include "analysis/diff.h"
#include "analysis/join.h"
#include "analysis/outliers.h"
#include "analysis/summary.h"
#include "common/json.h"
#include "diff_view.h"
#include "summary_view.h"

#define VW_RP_MOST_BYTES      1950000 // else operators and outliers are told in half the number, ...
#define VW_RP_SESSIONS        16      // shown in full, those with the most time
#define VW_RP_POINTS          6000    // latencies of all sessions
#define VW_RP_SESSION_POINTS  2000    // of one
#define VW_RP_FAILED          50      // failed runs of a session, beside those
#define VW_RP_OUTLIERS        400     // told one by one, of all sessions
#define VW_RP_OUTLIER_RUNS    6       // of a session that are shown in full
#define VW_RP_BINS            64      // of a histogram
#define VW_RP_RUNS            40      // in full
#define VW_RP_OPS             20000   // operators of all of them
#define VW_RP_READ_OPS        16384   // of one run, before the longest are chosen
#define VW_RP_PIECES          4000    // of threads' time, of all of them
#define VW_RP_TABLE_OPS       3000    // rows in the tables of operators, of all sessions
#define VW_RP_MEMORY_POINTS   300     // of one session
#define VW_RP_THREADS         50      // of the machine, those with the most time
#define VW_RP_COUNTERS        48
#define VW_RP_COUNTER_BUCKETS 240

// ------------------------------------------------------------------------------------- latencies

typedef struct vw_rp_point {
    int64_t begin_ns, duration_ns, run, thread, in_flight, status; // run 0: there is none
} vw_rp_point;

// Why a run is shown in full, as bits.
enum { VW_RP_FIRST = 1, VW_RP_MEDIAN = 2, VW_RP_P99 = 4, VW_RP_SLOWEST = 8, VW_RP_OUTLIER = 16 };

typedef struct vw_rp_session {
    const an_session *session;
    uint64_t p50_ns, p99_ns;
    bool decimated;      // points are the least and the greatest of each stretch, in pairs
    int64_t stretch_ns;  // of those
    vw_rp_point *points; // once read: in order of time, without gaps
    size_t point_count, point_room;
    vw_rp_point failed[VW_RP_FAILED];
    size_t failed_count;
    vw_rp_point first, median, p99, slowest[3];
} vw_rp_session;

typedef struct vw_rp_latency {
    vw_rp_session sessions[VW_RP_SESSIONS]; // those with the most time first
    size_t count;
    size_t left_out; // sessions with runs
    cm_map by_id;
    cm_map with_ops; // runs that have operators, where not all have; else empty
} vw_rp_latency;

cm_status vw_rp_latency_read(vw_rp_latency *l, const an_summary *s, const an_source *source);
void vw_rp_latency_deinit(vw_rp_latency *l);

// ------------------------------------------------------------------------------------------ runs

typedef struct vw_rp_op {
    size_t kernel; // place in kernels
    int64_t thread, begin_ns, duration_ns, depth;
    bool failed;
} vw_rp_op;

typedef struct vw_rp_piece {
    size_t run;
    an_piece piece;
} vw_rp_piece;

typedef struct vw_rp_run {
    int64_t session;
    vw_rp_point of;
    unsigned why;
    vw_rp_op *ops; // the run's own thread first, then by begin
    size_t op_count, op_room;
    uint64_t op_total;
} vw_rp_run;

typedef struct vw_rp_kernel {
    int64_t id, node, op_type, kernel_class, domain, provider; // strings of the reader
    bool used;                                                 // by an operator that is kept
} vw_rp_kernel;

typedef struct vw_rp_runs {
    vw_rp_run runs[VW_RP_RUNS];
    size_t count;
    cm_map by_run; // vw_rp_run_key
    vw_rp_kernel *kernels;
    size_t kernel_count, kernel_room;
    cm_map kernel_by_id;
    tm_reader *reader; // for the strings
    an_join *join;     // in the order of runs
    vw_rp_piece pieces[VW_RP_PIECES];
    size_t piece_count;
    uint64_t pieces_left_out;
} vw_rp_runs;

int64_t vw_rp_run_key(int64_t session, int64_t run);
cm_status vw_rp_runs_read(vw_rp_runs *r, const vw_rp_latency *l, const an_summary *s,
                          const an_source *source);
// Drops the shortest operators of each run until all have no more than so many.
void vw_rp_runs_keep(vw_rp_runs *r, size_t ops);
void vw_rp_runs_deinit(vw_rp_runs *r);

// The runs of a session that took most of their usual time, those first. How many were written.
size_t vw_rp_worst_outliers(const an_summary *s, int64_t session, const an_outlier **out,
                            size_t most);
// The keys "outliers" and "outlier_groups".
void vw_rp_outliers_json(cm_json *j, const an_summary *s, int64_t session, size_t most);

// ---------------------------------------------------------------------------- memory and counters

typedef struct vw_rp_level {
    bool any;
    int64_t held_bytes, low_bytes, high_bytes; // in use
} vw_rp_level;

typedef struct vw_rp_memory {
    vw_rp_level levels[VW_RP_SESSIONS][VW_RP_MEMORY_POINTS]; // in the order of vw_rp_latency
    int64_t stretch_ns;
} vw_rp_memory;

cm_status vw_rp_memory_read(vw_rp_memory *m, const vw_rp_latency *l, const an_source *source,
                            int64_t end_ns);

typedef struct vw_rp_stretch {
    bool any;  // there was a value
    bool gone; // the last row says that it is not known
    int64_t low, high, last;
} vw_rp_stretch;

typedef struct vw_rp_counter {
    const an_counter *counter;
    size_t bucket_count;
    int64_t stretch_ns;
    vw_rp_stretch buckets[VW_RP_COUNTER_BUCKETS];
} vw_rp_counter;

typedef struct vw_rp_counters {
    vw_rp_counter items[VW_RP_COUNTERS];
    size_t count, left_out;
    cm_map by_id;
} vw_rp_counters;

cm_status vw_rp_counters_read(vw_rp_counters *c, const an_summary *s, const an_source *source);
void vw_rp_counters_deinit(vw_rp_counters *c);

// ------------------------------------------------------------------------------------------ a page

typedef struct vw_rp_report {
    const char *path;
    const tm_header *header;
    const an_summary *summary;
    vw_rp_latency latency;
    vw_rp_runs runs;
    vw_rp_memory memory;
    vw_rp_counters counters;
    const vw_diff *diff; // NULL: nothing to compare with
    size_t shrink;       // what is told one by one, divided by this
} vw_rp_report;

// What the summary does not have, as a JSON object.
void vw_rp_report_json(cm_out *out, const vw_rp_report *r);

// The whole page. `io` is where other writers of JSON are used to write to.
void vw_rp_page(cm_out *out, const vw_io *io, vw_rp_report *r);
