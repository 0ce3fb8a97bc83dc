// SPDX-License-Identifier: MIT
// What the makers of timelines for the gold tests share.
#pragma once

#include "../timeline_rows.h"

#define MS ((int64_t)1000000)
#define US ((int64_t)1000)

extern tm_writer *g_writer;

// Writing a file: the header and one at a time.
void begin(const char *path);
void end(void);
void check(cm_status status);
int64_t text(const char *s);
int64_t random_below(int64_t limit); // the same numbers every time

void process_and_module(void);
void session(int64_t id, int64_t time, const char *model, const char *providers);
void input_shape(int64_t shape, int64_t of_session, int64_t batch, const char *dims);
void run(int64_t of_session, int64_t number, int64_t begin_ns, int64_t duration, int64_t status,
         int64_t inputs);

// Files with operators, in gold_ops.c.
void make_ops(void);
void make_slow_ops(void);
void make_slow_crowded(void);
void make_class_ops(void);
void make_odd_ops(void);
void make_edges(void);

// Files with memory, loading and ORT's own events, in gold_memory.c.
void make_memory(void);
void make_odd_memory(void);
void make_overlapping_memory(void);
void make_never_run(void);
void make_shared_memory(void);

// A file with counters, in gold_counters.c.
void make_counters(void);

// A file for programs that collect metrics, in gold_fleet.c.
void make_fleet(void);

// Pairs of files for `diff`, in gold_diff.c.
void make_diff(void);

// A language model and runs that warm up and drift, in gold_generation.c.
void make_generation(void);
// A file with the machine around the runs, in gold_machine.c.
void make_machine(void);

// Slow runs with different causes, in gold_outliers.c.
void make_outliers(void);

// Recordings, in gold_recording.c.
void make_recording(void);
