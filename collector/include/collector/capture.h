// SPDX-License-Identifier: MIT
// A capture: the channels of any number of target processes, read into one timeline file. Knows
// nothing of how a channel got into its target (injector/) and nothing of Windows, so it is tested
// natively on plain memory.
//
// One thread uses it: poll co_capture_drain() every millisecond or so, co_capture_flush() at least
// every 250 ms.
#pragma once

#include "collector/clock.h"
#include "common/status.h"
#include "timeline/timeline.h"

#include <stddef.h>
#include <stdint.h>

typedef struct co_capture co_capture;

typedef struct co_target {
    void *section; // borrowed until co_target_end; NULL: watched from outside, without a hook
    uint32_t ring_count;
    uint32_t ring_bytes;
    uint32_t pid;
    uint32_t parent_id; // of a target that this one is a child of, as co_target_add gave it; 0 none
    int how;            // timeline/kinds.h: process.how
    const char *program;
    const char *command_line; // NULL: nobody asked for it
} co_target;

typedef struct co_stats {
    uint64_t runs;
    uint64_t failed_runs;
    uint64_t sessions;
    uint64_t lost_events;
    uint64_t file_bytes;
    uint64_t elapsed_ns;
    uint64_t utc_ns; // since 1970, at elapsed_ns
} co_stats;

// timeline/kinds.h: op_choice. The hook sees to the first three.
typedef enum co_op_mode {
    CO_OPS_ALL,
    CO_OPS_OFF,
    CO_OPS_EVERY,   // of every Nth run
    CO_OPS_LONGER,  // of runs longer than this many nanoseconds
    CO_OPS_SLOWEST, // of the slowest of each session's runs, in millionths
} co_op_mode;

typedef struct co_op_choice {
    co_op_mode mode;
    int64_t value;
} co_op_choice;

// Whether the file can be made, before any target is touched; one that is there stays as it is.
cm_status co_capture_check(const char *path);

// Makes or empties the file. `start` is time 0: take it (co_anchor_now) before the first target is
// armed, so that no event is older.
cm_status co_capture_create(const char *path, co_anchor start, co_capture **out);

// Which runs have their operators in the file; before the first target is added. Without this call:
// all that the hooks tell.
void co_capture_choose_ops(co_capture *c, co_op_choice choice);

// Adds a target whose hook is armed, or that is watched from outside; `*out_id` names it in the
// timeline.
cm_status co_target_add(co_capture *c, const co_target *target, uint32_t *out_id);

// Reads what the targets have published. Returns the number of events.
size_t co_capture_drain(co_capture *c);

// Reads the last events of a target that has ended or was disarmed, and lets go of its section.
// reason, exit_code: timeline/kinds.h: process_end.
void co_target_end(co_capture *c, uint32_t id, int reason, int64_t exit_code);

// A remark of our own in the timeline; target 0: about the capture.
void co_capture_log(co_capture *c, uint32_t target_id, int level, const char *text);

// A mark of the user's.
void co_capture_mark(co_capture *c, const char *text);

// Sees every row on its way into the file (timeline.h: tm_writer_watch), from now on.
void co_capture_watch(co_capture *c, tm_row_watcher watcher, void *context);

// Makes rows of what was read and hands them to the writer, without the file being touched: those
// who watch see them now. co_capture_flush does the same.
void co_capture_settle(co_capture *c);

cm_status co_capture_flush(co_capture *c);

co_stats co_capture_stats(const co_capture *c);

// Flushes and closes the file. Frees `c` also when it fails.
cm_status co_capture_close(co_capture *c);
