// SPDX-License-Identifier: MIT
// The figures themselves, for the files that fill them (live_*.c) and those that tell them
// (view_*.c). Use between da_lock and da_unlock.
#pragma once

#include "common/histogram.h"
#include "common/map.h"
#include "dashboard/live.h"

#include <pthread.h>

#define DA_SESSIONS   64u
#define DA_PROCESSES  256u
#define DA_MODULES    64u
#define DA_KERNELS    65536u
#define DA_TENSORS    262144u // names of what kernels read and make
#define DA_COUNTERS   1024u
#define DA_FACTS      256u
#define DA_MARKS      256u
#define DA_OUTLIERS   256u
#define DA_SOURCES    16u
#define DA_ARENAS     16u
#define DA_RUNS       4096u  // of a session, the newest
#define DA_OPS        65536u // of a session, the newest executions
#define DA_THREADS    256u   // whose nesting of operators is followed
#define DA_DEPTH      64u
#define DA_TIERS      3u
#define DA_TEXT_BYTES (16u << 20)
#define DA_TEXT_LEN   1000u // longer texts are cut

// ------------------------------------------------------------------------------------ over time

// Steps of a fixed length, only those in which something happened.
typedef struct da_step {
    int64_t index; // begin / length
    uint32_t runs, failed, in_flight_max;
    float mean_us, p50_us, p95_us, p99_us, max_us;
    int64_t held_bytes, in_use_bytes; // -1: not known
} da_step;

typedef struct da_level {
    int64_t index;
    double last, mean; // in the counter's unit; of totals `last` counts
    uint32_t spread;   // steps, up to this one, that the change to it lies in
    bool known;        // at the end of the step
} da_level;

typedef struct da_ring {
    void *items;
    size_t item_bytes, first, count, capacity, most;
} da_ring;

typedef struct da_run_tier {
    da_ring steps; // da_step, finished
    da_step open;
    cm_histogram latencies; // of the open one
} da_run_tier;

typedef struct da_level_tier {
    da_ring steps; // da_level; the newest is still open
    double sum;
    uint32_t samples;
} da_level_tier;

extern const int64_t da_tier_ns[DA_TIERS];
extern const size_t da_tier_steps[DA_TIERS];

void da_ring_init(da_ring *r, size_t item_bytes, size_t most);
void da_ring_deinit(da_ring *r);
void *da_ring_at(const da_ring *r, size_t i); // 0 is the oldest
void *da_ring_newest(const da_ring *r);       // NULL if there is none
// A new newest one, zeroed; the oldest goes where there is no room. NULL: no memory.
void *da_ring_add(da_ring *r);

// -------------------------------------------------------------------------------------- sessions

// 1, 2, 5 in each power of ten from 10 us to 100 s: the histogram that other programs get. It has
// counts of its own, since a count that is told must never fall, and those of cm_histogram may move
// by a bucket when it leaves single values behind.
#define DA_DURATION_BOUNDS 22u
extern const int64_t da_duration_bounds_ns[DA_DURATION_BOUNDS];

typedef struct da_run {
    int64_t run, thread, begin_ns, duration_ns, status, in_flight;
} da_run;

// How many executions of a run were seen, whether its own row has come or not.
typedef struct da_run_ops {
    int64_t run;
    uint64_t count;
} da_run_ops;

typedef struct da_op {
    uint32_t kernel; // place in kernels
    uint8_t depth, flags;
    int64_t run, thread, begin_ns, duration_ns;
} da_op;

typedef struct da_arena {
    int64_t id, held, in_use, peak;
} da_arena;

typedef struct da_session {
    int64_t id;
    int64_t facts[TM_session_COUNT]; // its row, zero where it has not come
    int64_t process;                 // that its module was in; 0: not known
    int64_t ended_ns;                // -1: it lives
    uint64_t runs, failed, kernels;
    int64_t first_begin_ns, last_end_ns, in_flight;
    cm_histogram latencies; // of all runs that did not fail
    uint64_t
        duration_buckets[DA_DURATION_BOUNDS + 1]; // of the same; up to a bound, itself included
    da_ring recent;                               // da_run
    da_run with_ops;     // the newest with operators that is no longer in recent; run 0: none
    da_ring ops;         // da_op
    int64_t ops_gone;    // the newest run of which operators are no longer in ops
    da_run_ops *run_ops; // DA_RUNS of them, by the run's number; NULL: none yet
    da_arena arenas[DA_ARENAS]; // of its own
    size_t arena_count;
    bool shares_arena;                      // others came to use one that was its own
    int64_t run_allocated, run_allocations; // of the newest run, -1: not known
    da_run_tier tiers[DA_TIERS];
    double outlier_limit_ns; // 0: too few runs
    uint32_t since_limit;    // runs since it was found
} da_session;

typedef struct da_kernel {
    int64_t id, session, node, op_type, kernel_class, domain, provider;
    bool used;            // else its place is free
    bool submits, told;   // told: its own row came
    bool tensors_missing; // not all of its tensors had room
    uint32_t last_tensor; // one past its place in tensors, 0: none; of a free place the next free
    uint32_t folded;      // it stands for so many of sessions that are over; 0: it is one itself
    uint64_t calls, failed, total_ns, self_ns, max_ns;
} da_kernel;

// What a kernel reads or makes, by name; linked from the last to the first.
typedef struct da_tensor {
    int64_t name;
    uint32_t index, before; // before: as last_tensor
    bool made;
} da_tensor;

enum { DA_HOW_WATCHED = 4 }; // process.how: from outside, nothing of ours is in it
typedef struct da_process {
    int64_t id, pid, parent, how, program, reason, exit_code, end_ns;
    bool ended;
} da_process;

typedef struct da_module {
    int64_t id, process, path, version;
} da_module;

typedef struct da_counter {
    int64_t id, source, name, unit, per_unit, about, process, number, subject;
    bool total, known;
    double value; // in its unit
    int64_t time_ns;
    bool seen;
    da_level_tier tiers[DA_TIERS];
} da_counter;

typedef struct da_fact {
    int64_t about, number, name, text, value;
} da_fact;

typedef struct da_mark {
    int64_t time_ns, text;
} da_mark;

typedef struct da_outlier {
    int64_t session, run, begin_ns, duration_ns;
} da_outlier;

typedef struct da_source {
    int64_t source, interval_us, reason;
} da_source;

// Whose operators are under way: what those inside one took.
typedef struct da_thread {
    int64_t thread, used_ns;
    int64_t inside_ns[DA_DEPTH + 2]; // by depth
} da_thread;

struct da_live {
    pthread_mutex_t lock;
    // told once
    bool replay;
    char *file;
    double duration_s, counters_hz;
    char *os, *cpu, *version;
    int cpu_count;
    uint64_t start_utc_ns;
    uint64_t since_utc_ns; // that the figures count from, by this machine's clock
    // how it goes
    da_state state;
    char *failure; // why it ended before its time, NULL: it did not
    double speed;
    int64_t now_ns;
    bool has_utc; // a capture's: what is added to its times for those since 1970
    int64_t utc_offset_ns, utc_least_ns, utc_second;
    uint64_t version_count, paused_version, file_bytes, dropped, no_room, lost;
    int64_t overhead_ns; // a run, -1: not known
    // what the rows told
    da_session *sessions[DA_SESSIONS]; // NULL behind session_count
    size_t session_count;
    int64_t shared_arenas[DA_ARENAS]; // several sessions use them
    size_t shared_arena_count;
    da_process processes[DA_PROCESSES];
    size_t process_count;
    da_module modules[DA_MODULES];
    size_t module_count;
    da_kernel *kernels;
    size_t kernel_count, kernel_capacity; // free places among them are counted too
    size_t kernels_free;
    uint32_t free_kernel;    // one past the first free place, 0: none
    cm_map kernel_by_id;     // those that were folded last lead to what they are part of
    cm_buf tensors;          // da_tensor
    bool some_over;          // a session ended since places were last made free
    int64_t evicted_session; // the largest number of one that had to make room
    da_counter *counters[DA_COUNTERS];
    size_t counter_count;
    cm_map counter_by_id;
    da_fact facts[DA_FACTS];
    size_t fact_count;
    da_source sources[DA_SOURCES];
    size_t source_count;
    da_ring marks, outliers;
    da_thread threads[DA_THREADS];
    size_t thread_count;
    // texts
    cm_map text_by_id;
    cm_buf texts;
};

void da_lock(da_live *l);
void da_unlock(da_live *l);

// What da_live_row and da_live_string do, for who has the lock: many rows at once. It is held for
// at most DA_BATCH of them, so that nobody who asks waits long.
#define DA_BATCH 256u
void da_take_row(da_live *l, tm_kind kind, const int64_t *values);
void da_take_text(da_live *l, int64_t id, const char *text, size_t len);
void da_take_time(da_live *l, int64_t now_ns);
void da_take_utc(da_live *l, int64_t now_ns, uint64_t utc_ns); // the same moment by both clocks

// NUL-terminated, valid until the next text comes; NULL where it is not known or empty.
const char *da_text(const da_live *l, int64_t id);
void da_texts_forget(da_live *l);

// NULL if there is none.
da_session *da_session_find(const da_live *l, int64_t id);
da_process *da_process_find(da_live *l, int64_t id);
const da_module *da_module_find(const da_live *l, int64_t id);
int64_t da_session_process(const da_live *l, const da_session *s); // 0: not known
uint64_t da_run_op_count(const da_session *s, int64_t run);
// How often a counter's source is asked, in steps of a tier, at least 1.
int64_t da_interval_steps(const da_live *l, const da_counter *c, size_t tier);

// live_processes.c
void da_on_process(da_live *l, const int64_t *row);
void da_on_process_end(da_live *l, const int64_t *row);
void da_on_module(da_live *l, const int64_t *row);
bool da_process_is_over(da_live *l, int64_t id); // or it is not there
// A session goes with its process.
void da_end_with_process(da_live *l, da_session *s);

// live_session.c; rows as they come.
void da_on_session(da_live *l, const int64_t *row);
void da_on_session_end(da_live *l, const int64_t *row);
void da_on_run(da_live *l, const int64_t *row);
void da_on_memory(da_live *l, const int64_t *row);
void da_on_run_memory(da_live *l, const int64_t *row);
void da_session_free(da_session *s);
// live_kernels.c
void da_on_kernel(da_live *l, const int64_t *row);
void da_on_kernel_tensor(da_live *l, const int64_t *row);
bool da_kernel_place(da_live *l, int64_t id, size_t *out); // false: there is no room
// live_fold.c: places of kernels and tensors of sessions that are over; false: none became free.
bool da_kernels_reclaim(da_live *l);
// live_ops.c
void da_on_op(da_live *l, const int64_t *row);
// live_counters.c
void da_on_counter(da_live *l, const int64_t *row);
void da_on_sample(da_live *l, const int64_t *row);
void da_on_sampling(da_live *l, const int64_t *row);
void da_counter_free(da_counter *c);
// live_history.c
void da_tiers_init(da_run_tier *tiers);
void da_tiers_deinit(da_run_tier *tiers);
void da_tiers_run(da_session *s, int64_t end_ns, int64_t duration_ns, bool failed,
                  int64_t in_flight);
void da_level_tiers_init(da_level_tier *tiers);
void da_level_tiers_deinit(da_level_tier *tiers);
void da_level_tiers_add(da_level_tier *tiers, int64_t time_ns, int64_t interval_ns, double value,
                        bool known);
// The open step of a tier as it is now.
da_step da_tier_open(const da_run_tier *tier);
// What the session's arenas hold and use together now; -1: not known, or they went with it.
int64_t da_session_held(const da_session *s);
int64_t da_session_in_use(const da_session *s);
// As they were told last.
int64_t da_arenas_held(const da_session *s);
int64_t da_arenas_in_use(const da_session *s);
