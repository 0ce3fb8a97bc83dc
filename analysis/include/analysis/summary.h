// SPDX-License-Identifier: MIT
// What happened in a capture, as numbers: made from a timeline in one pass, with memory that does
// not depend on the number of runs.
//
// Definitions, the same in text, JSON and CSV:
// - runs: all runs of a session, failed ones included. Latencies, percentiles, jitter and the batch
//   and shape tables are about successful runs only.
// - first: the successful run that began first. It usually pays for warming up; it is told apart
//   and also counted in the percentiles. Not known for a session that existed before we attached.
// - percentiles: nearest rank (common/histogram.h), within 0.1 %.
// - stddev: of the sample (n - 1). jitter: the mean absolute difference between the latencies of
//   runs that began one after the other. Both need two runs.
// - throughput: successful runs divided by the time from the first begin to the last end.
// - cpu: user and kernel time of the target's own threads by the time from the first sample to its
//   end (or the capture's); 1 is one core. Peak memory is the largest working set that the system
//   has seen, also before we attached.
// - duration: from the start of the capture to the last moment that any row tells of.
// Runs are put in order of their begin by a window of AN_REORDER_WINDOW runs per session, since
// they are recorded when they end; one that comes later still is taken where it comes.
#pragma once

#include "analysis/counters.h"
#include "analysis/generation.h"
#include "analysis/intervals.h"
#include "analysis/machine.h"
#include "analysis/memory.h"
#include "analysis/ops.h"
#include "analysis/series.h"
#include "analysis/shapes.h"
#include "analysis/source.h"
#include "common/histogram.h"
#include "common/map.h"
#include "timeline/timeline.h"

#include <stdbool.h>

#define AN_REORDER_WINDOW 256
#define AN_MAX_BATCHES    256  // sizes with a row of their own, per session
#define AN_MAX_SHAPES     1024 // input shapes with a row of their own, in all
#define AN_SUMMARY_SERIES 4096 // runs kept one by one, per session
#define AN_MAX_MESSAGES   256  // different messages kept
#define AN_MAX_DEVICES    64   // different ones kept
#define AN_LOST_CAUSES    12   // the last one: any cause that we have no name for

typedef struct an_run_time {
    int64_t begin_ns;
    uint64_t latency_ns;
} an_run_time;

typedef struct an_jitter {
    an_run_time *window; // in order of begin
    size_t count, capacity;
    uint64_t last_latency_ns;
    uint64_t differences;
    double sum_ns;
    bool has_last;
} an_jitter;

typedef struct an_batch {
    int64_t size;
    cm_histogram latency;
    cm_histogram peak_bytes; // most that a run had at once, of runs that allocated
} an_batch;

typedef struct an_shape_use {
    int64_t shape;
    cm_histogram latency;
    cm_histogram before_known;       // the part of it that came before the shape's own row
    cm_histogram peaks_before_known; // memory of these runs, as in an_batch
} an_shape_use;

// Parts of a session's creation, -1: not told.
typedef struct an_loading {
    int64_t read_ns, optimise_ns, kernels_ns;
    int64_t source;      // who told them, as in phase rows
    uint64_t event_hash; // of the model as ORT's own event tells it, 0: it does not
} an_loading;

// The same model loaded several times: same path, or given as bytes with the same hash. Seen by
// ORT's own events only, of which most name the file without its folder: same name, graph, producer
// and hash.
typedef struct an_repeats {
    uint64_t loads;  // 0: it was loaded once only
    uint64_t number; // of this session among them, by time, from 1
    int64_t first_ns;
    double later_median_ns;
} an_repeats;

typedef struct an_session {
    int64_t id;
    bool declared; // a session row was seen; else only runs that refer to it
    int64_t module;
    int64_t time_ns, load_ns, source, status, model_bytes;
    uint64_t model_hash;
    char *model, *graph, *producer, *options, *providers, *message; // never NULL

    uint64_t runs, failed_runs;
    uint64_t calls[3]; // Run, RunWithBinding, RunAsync
    int64_t first_begin_ns, last_end_ns;
    int64_t in_flight_max;
    an_run_time first; // begin INT64_MAX: none
    cm_histogram latency;
    an_jitter jitter;
    an_batch *batches; // by size once finished
    size_t batch_count;
    uint64_t runs_without_batch; // successful, no batch size known or no room for it
    an_shape_use *shapes;        // most used first once finished
    size_t shape_count, shape_capacity;
    uint64_t runs_without_shape;
    an_loading loading;
    an_repeats repeats;
    an_memory *memory;         // NULL: nothing was recorded
    an_generation *generation; // NULL: its inputs never changed
    int64_t last_inputs;
    an_run_time last_run;
    int64_t counted_begin_ns, counted_end_ns; // of successful runs that are not left out
    uint64_t warmup_runs;                     // left out of latencies and tables on demand
    struct an_joined_run *joined;             // of the last runs, for memory by batch size
    size_t joined_capacity;
    an_series series;    // latencies of successful runs, nanoseconds
    an_series run_peaks; // most that a run had at once, bytes; of runs that allocated
    double flops;        // of all runs; NAN: not known, or nobody asked (an_summary_join)
} an_session;

typedef struct an_process {
    int64_t id, pid, parent, time_ns, how;
    char *program;
    bool ended;
    int64_t end_ns, end_reason, exit_code;
    bool lost_events;
} an_process;

typedef struct an_module {
    int64_t id, process, hooked, refused;
    char *path, *version, *build;
} an_module;

typedef struct an_message {
    int64_t level, session, code, message_id, first_run, first_ns;
    uint64_t count;
    bool of_runs;    // ORT's reason for failed runs
    bool from_event; // ORT said so in an event of its own
    char *text;
} an_message;

// A device that an execution provider of a session uses, as ORT's own events tell it.
typedef struct an_device {
    int64_t session, nodes;         // nodes: assigned to it, -1 = not told
    char *provider, *type, *vendor; // never NULL
} an_device;

// An arena that several sessions use: since when, and what it has as last seen, -1 = not known.
typedef struct an_shared_arena {
    int64_t id, first_ns, last_ns, held, in_use;
} an_shared_arena;

// What else to keep, for comparisons (diff.h). All zero: what a summary needs.
typedef struct an_summary_options {
    size_t series;   // runs of each session that are kept one by one; 0: AN_SUMMARY_SERIES
    bool op_batches; // an_ops_next_batches()
    // Runs that latencies, batch and shape tables and throughput leave out: those up to this number
    // of each session, or up to the number that the map has for the session.
    int64_t warmup_runs;
    const cm_map *warmup_ends;
    double outlier_factor; // outliers.h; 0: AN_OUTLIER_FACTOR
} an_summary_options;

typedef struct an_summary {
    an_summary_options options;
    cm_histogram overhead; // what recording one run cost, of the runs that measured it
    an_process *processes;
    size_t process_count, process_capacity;
    cm_map process_by_id;
    an_module *modules;
    size_t module_count, module_capacity;
    an_session *sessions; // in order of creation
    size_t session_count, session_capacity;
    cm_map session_by_id;
    an_shared_arena *shared; // in no session's memory
    size_t shared_count, shared_capacity;
    cm_map shared_by_id;
    cm_map session_ends; // when, by session
    an_shapes shapes;
    an_ops *ops; // never NULL
    an_counters counters;
    an_machine machine;
    an_message *messages;
    size_t message_count, message_capacity;
    uint64_t messages_dropped; // of texts for which there was no room
    uint64_t ort_events;       // of ORT's own events that were recorded
    an_device *devices;
    size_t device_count, device_capacity;
    uint64_t lost[AN_LOST_CAUSES];
    uint64_t lost_total;
    bool lost_of_hooks; // what the hooks told is among it
    bool lost_of_any;   // the same, and the file does not say of which process
    int64_t end_ns;
    double flops;                 // of all runs; NAN as in an_session
    size_t shape_uses;            // of all sessions, against AN_MAX_SHAPES
    size_t joined_runs;           // of all sessions: room for them
    char *damage;                 // NULL: the file is whole
    bool unfinished;              // the damage is only that the end is missing
    struct an_around *around;     // around.h, by an_summary_join; NULL: nothing to tell
    struct an_threads *threads;   // threads.h, the same
    struct an_outliers *outliers; // outliers.h, by an_summary_join; NULL before
} an_summary;

// Reads `reader` to its end.
cm_status an_summarize(tm_reader *reader, an_summary **out);
cm_status an_summarize_with(tm_reader *reader, const an_summary_options *options, an_summary **out);

// The parts of it, for those who get blocks from elsewhere (the live view). After an_summary_finish
// nothing may be added.
cm_status an_summary_create(const an_summary_options *options, an_summary **out); // NULL: none
cm_status an_summary_add(an_summary *s, const tm_reader *reader, const tm_block *block);
cm_status an_summary_finish(an_summary *s);
void an_summary_destroy(an_summary *s);

// After an_summary_finish, with other readings of the same file: what the machine did around the
// runs, where the processors' time went, outliers, and FLOPs where energy was measured.
cm_status an_summary_join(an_summary *s, const an_source *source);

// ----------------------------------------------------------------- questions to a finished summary

// The process that was launched or attached to, NULL if the file names none.
const an_process *an_summary_target(const an_summary *s);
const an_module *an_summary_module(const an_summary *s, int64_t id); // NULL if there is none

// Of all arenas that several sessions share, in bytes; NAN: there are none, or one does not tell.
typedef struct an_shared_bytes {
    double held, in_use;
} an_shared_bytes;
an_shared_bytes an_summary_shared(const an_summary *s);

// Nanoseconds that recording one run cost: the median of those measured; -1 if none was.
int64_t an_summary_overhead_ns(const an_summary *s);
// The same as a share of the mean latency of all successful runs; NAN if either is not known.
double an_summary_overhead_share(const an_summary *s);

// Of the target: cores that it used in the mean, the peak of its working set in bytes. NAN where no
// counter told.
double an_summary_cpu(const an_summary *s);
double an_summary_peak_memory(const an_summary *s);

// NAN where there is nothing to tell; ask with an_known().
bool an_known(double value);
double an_session_throughput(const an_session *s);
double an_session_jitter_ns(const an_session *s);
double an_session_stddev_ns(const an_session *s);
double an_session_first_ns(const an_session *s);
double an_session_load_ns(const an_session *s);
// Memory of a typical run of this size by its samples, and the other way round: samples for each
// megabyte (10^6 bytes). Weights, which all runs share, are not in it.
double an_batch_peak_bytes(const an_batch *b);
double an_batch_bytes_per_sample(const an_batch *b);
double an_batch_samples_per_mb(const an_batch *b);
// Runs under way in the mean, from the first begin to the last end.
double an_session_concurrency(const an_session *s);

// How the latency changed over the recording: at its end by that after warming up (series.h), along
// a slope through the medians of groups of runs. Steady: within 5 %.
typedef struct an_stability {
    uint64_t warmup_runs; // 0: none, or not to be told
    an_interval drift;    // a ratio
    const char *verdict;  // "steady", "slower", "faster", "inconclusive"
} an_stability;
cm_status an_session_stability(const an_session *s, an_stability *out);
double an_session_flops_per_run(const an_session *s);
// By all that a meter saw, which can't be split: not known if another session ran too.
double an_session_flop_per_joule(const an_summary *s, const an_session *n, double joules);
