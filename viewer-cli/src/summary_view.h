// SPDX-License-Identifier: MIT
// The three faces of a summary. All of them show the same numbers; none computes any.
#pragma once

#include "analysis/summary.h"
#include "common/json.h"
#include "output.h"

typedef struct vw_summary_choice {
    bool has_session;
    int64_t session;      // only this one
    bool all;             // every session in full
    double grams_per_kwh; // of CO2, to compare joules with; NAN where nobody told
    const char *path;     // of the recording, for the command that comes next; NULL: none is named
} vw_summary_choice;

void vw_summary_text(vw_io *io, const an_summary *s, const tm_header *header,
                     const vw_summary_choice *choice);
void vw_summary_json(vw_io *io, const an_summary *s, double grams_per_kwh);
// The same of some sessions and with so many operators and outliers of each, and so many threads.
#define VW_SUMMARY_OPS      1000
#define VW_SUMMARY_OUTLIERS 200
#define VW_SUMMARY_THREADS  4096
typedef struct vw_summary_limits {
    const cm_map *sessions; // by id; NULL: all
    size_t ops, outliers, threads;
} vw_summary_limits;
void vw_summary_json_within(vw_io *io, const an_summary *s, double grams_per_kwh,
                            const vw_summary_limits *limits);
void vw_summary_csv(vw_io *io, const an_summary *s);

// One session in full, and the bars of its latencies.
void vw_session_text(vw_io *io, const an_summary *s, const an_session *n);
void vw_latency_bars(vw_io *io, const cm_histogram *h);
// Latency and memory over time; nothing where there is too little of it.
void vw_session_spark_text(vw_io *io, const an_session *n);

// What the target took of the machine, devices and energy; nothing where nobody counted.
void vw_counters_text(vw_io *io, const an_summary *s, double grams_per_kwh);
void vw_counters_json(cm_json *j, const an_summary *s, double grams_per_kwh);
// The machine that it was recorded on; nothing, or null, where the file does not tell.
void vw_machine_text(vw_io *io, const an_machine *m);
void vw_machine_json(cm_json *j, const an_machine *m);
double vw_successful_runs(const an_summary *s);

// How a session was loaded and what it does with memory: lines of its text, keys of its JSON.
void vw_session_loading_text(vw_io *io, const an_summary *s, const an_session *n);
void vw_session_loading_json(cm_json *j, const an_session *n);
void vw_session_memory_text(vw_io *io, const an_session *n);
void vw_session_memory_json(cm_json *j, const an_session *n);
// Arenas that are no session's own, if there are any.
void vw_shared_arenas_text(vw_io *io, const an_summary *s);
void vw_shared_arenas_json(cm_json *j, const an_summary *s); // the key "shared_arenas"

// How its runs went over time: warming up, drift, tokens; in JSON also its inputs.
void vw_session_course_text(vw_io *io, const an_session *n);
void vw_session_course_json(cm_json *j, const an_summary *s, const an_session *n);

// ORT refused to create it: it has no runs and is told among the failures.
bool vw_session_failed(const an_session *n);
