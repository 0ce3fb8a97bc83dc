// SPDX-License-Identifier: MIT
// What the thread of one run did while it lasted, as a lane of `ortscope timeline`.
#pragma once

#include "analysis/join.h"
#include "common/json.h"
#include "common/out.h"
#include "output.h"

#define VW_LANE_MAX_PIECES 1000000

typedef struct vw_run_lane {
    an_join *join; // of this run alone
    an_piece *pieces;
    size_t count, capacity;
    uint64_t left_out; // beyond VW_LANE_MAX_PIECES, or for want of memory
    int64_t begin_ns, duration_ns;
} vw_run_lane;

cm_status vw_run_lane_read(vw_run_lane *l, const char *path, const an_join_run *run);
void vw_run_lane_deinit(vw_run_lane *l);

// One character for each column: what the thread did for most of its time.
void vw_run_lane_draw(cm_out *out, const vw_run_lane *l, bool unicode, size_t columns);
// What the characters mean, with the shares: a line.
void vw_run_lane_legend(vw_io *io, const vw_run_lane *l);

// The keys "machine" and "thread_states".
void vw_run_lane_json(cm_json *j, const vw_run_lane *l);
