// SPDX-License-Identifier: MIT
// The operators of one run, as `ortscope timeline` shows them.
#pragma once

#include "common/map.h"
#include "op_view.h"
#include "run_allocs.h"
#include "run_lane.h"

#define VW_TIMELINE_MAX_OPS 1000000

typedef struct vw_timeline_kernel {
    int64_t id;
    int64_t node, op_type, domain, provider; // strings of the reader, 0: not known
    an_op_type_text by_class;                // its type where none was recorded
    bool submits;
} vw_timeline_kernel;

typedef struct vw_timeline_op {
    size_t kernel; // place in kernels
    int64_t thread, begin_ns, duration_ns, self_ns, depth;
    bool own_thread; // the one that called Run
    bool failed, shown;
    uint64_t allocations;
    double allocated_bytes; // by it, not by operators inside it
} vw_timeline_op;

typedef struct vw_timeline {
    int64_t session, run, thread, begin_ns, duration_ns, status, in_flight;
    vw_timeline_op *ops; // by thread (the run's own first) and begin
    size_t op_count, op_capacity;
    uint64_t ops_left_out; // beyond VW_TIMELINE_MAX_OPS
    uint64_t ambiguous;    // of the session and inside the run's time, of which run nobody knows
    uint64_t not_in_file;  // of which run nobody knew while recording
    vw_timeline_kernel *kernels;
    size_t kernel_count, kernel_capacity;
    cm_map kernel_by_id;
    vw_run_allocs allocs;
    vw_run_lane lane;
    tm_reader *reader; // for the strings
    bool any_ops;      // the file has operators of other runs
    int64_t nearest;   // run of the session that has some, 0: none
} vw_timeline;

// Finds the run (of any session if only one has such a run) and its operators.
cm_status vw_timeline_read(vw_timeline *t, const char *path, bool has_session, int64_t session,
                           int64_t run);
void vw_timeline_deinit(vw_timeline *t);

// Hides all but the longest; 0: shows all. Returns how many are hidden.
size_t vw_timeline_show_longest(vw_timeline *t, size_t count);

// `path` for the command that comes next. `bar_columns` 0: as many as there is room for.
void vw_timeline_text(vw_io *io, const vw_timeline *t, const char *path, size_t bar_columns,
                      size_t hidden);
void vw_timeline_json(vw_io *io, const vw_timeline *t, size_t hidden);
