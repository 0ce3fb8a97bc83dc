// SPDX-License-Identifier: MIT
// What capture_loop.c and capture_follow.c share: the processes of one capture.
#pragma once

#include "capture_loop.h"

#define VW_FOLLOWED_MAX 256u

// timeline/kinds.h
enum { HOW_LAUNCHED = 0, HOW_ATTACHED = 1, HOW_CHILD = 2, HOW_WATCHED = 4 }; // process.how
enum { END_EXITED = 0, END_DETACHED = 1 };

typedef struct vw_followed {
    inj_target *target;
    uint32_t id; // in the timeline
    bool root;   // the one that was launched or attached
    uint32_t child_requests_seen;
} vw_followed;

typedef struct vw_loop {
    co_capture *capture;
    co_counters *counters;
    co_etw *etw;
    const vw_capture_options *options;
    vw_capture_result *result;
    bool launched, root_ended, ending;
    long presses_at_root_end;
    uint64_t begin_ns, last_flush_ns;
    uint64_t shown_runs, shown_ns; // at the last progress line
    unsigned poll_ms;
    size_t count;
    vw_followed followed[VW_FOLLOWED_MAX];
} vw_loop;

// Keeps the sentence of the failure that comes first.
cm_status vw_disarm_after(inj_target *target, cm_status status);

cm_status vw_follow_attach(const vw_loop *l, inj_target *target);
// A target that was attached; disarms it on failure.
cm_status vw_follow_record(vw_loop *l, inj_target *target, int how, uint32_t parent_id);
void vw_follow_end(vw_loop *l, size_t i, int reason, int64_t exit_code);

// A target waits with a suspended child until it has our answer.
void vw_follow_children(vw_loop *l, size_t i);
// For co_etw_listener: a child that event tracing told of. `context` is the loop.
void vw_follow_etw_child(void *context, uint32_t parent_id, uint32_t pid);

// True if the target is no longer with us.
bool vw_follow_check_end(vw_loop *l, size_t i);
