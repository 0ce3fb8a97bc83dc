// SPDX-License-Identifier: MIT
// The allocations of one run, as `ortscope timeline` shows them: a recording made with --alloc all
// has them. Only what the run itself allocated counts, until it is released or the run is over.
#pragma once

#include "common/out.h"
#include "timeline/timeline.h"

#include <stdbool.h>

#define VW_RUN_MAX_ALLOCS 1000000

// One change of what the run has.
typedef struct vw_alloc {
    int64_t time_ns, thread, kernel;
    uint64_t address;
    int64_t bytes; // below 0: released
    bool released;
} vw_alloc;

typedef struct vw_run_allocs {
    vw_alloc *items; // by time
    size_t count, capacity;
    uint64_t left_out; // beyond VW_RUN_MAX_ALLOCS
    uint64_t allocations, releases;
    double allocated_bytes, released_bytes, peak_bytes;
} vw_run_allocs;

void vw_run_allocs_deinit(vw_run_allocs *a);

// Reads the file; a file without such rows leaves it empty.
cm_status vw_run_allocs_read(vw_run_allocs *a, const char *path, int64_t session, int64_t run);

// What the run had over its time, `columns` wide and as high as a line.
void vw_run_allocs_draw(cm_out *out, const vw_run_allocs *a, int64_t begin_ns, int64_t duration_ns,
                        bool unicode, size_t columns);
