// SPDX-License-Identifier: MIT
// A capture from the first attached process to the last one's end. Windows only: this is where
// injector and collector meet.
#pragma once

#include "collector/capture.h"
#include "collector/counters.h"
#include "collector/etw.h"
#include "injector/injector.h"

#include <stdbool.h>

typedef struct vw_capture_options {
    const char *output;  // NULL: ortscope-PROGRAM-PID.ortl in the current directory
    uint32_t hook_flags; // ORT_HOOK_* of hook_contract.h
    co_op_choice ops;    // whose operators get into the file
    bool progress;       // a moving line on standard error
    bool command_line;   // record those of the processes
    double duration_s;   // 0: until the end
    inj_channel_size channel;
    co_counters_options counters;
    co_etw_options etw;
    bool no_hooks;                // nothing goes into the processes
    struct vw_live_capture *live; // NULL: not in the live view
} vw_capture_options;

typedef struct vw_capture_result {
    char path[1100];
    co_stats stats;
    bool target_exited;
    uint32_t exit_code;
    void *program; // HANDLE of a launched program that was let run
} vw_capture_result;

// Takes a target that was launched (suspended) or opened, attaches, captures until it and its
// followed children have ended, the time is over, it was detached, or the user stops us. Owns
// `target` from the call on. A launched target that can't be attached or recorded is ended before
// it has run a single instruction; one that was running goes on. The output file is not touched
// before the attach has worked. Call vw_stop_install first.
cm_status vw_capture(inj_target *target, bool launched, const vw_capture_options *options,
                     vw_capture_result *out);

// As `ortscope attach` without options.
cm_status vw_capture_defaults(vw_capture_options *out);

// ortscope-PROGRAM-PID.ortl
void vw_default_path(const inj_target *target, char *out, size_t capacity);

// After vw_capture of a launched program, also when that failed: waits until the program has ended,
// or the user does not want to, and notes its exit code.
void vw_await_program(vw_capture_result *result);
