// SPDX-License-Identifier: MIT
// The figures as JSON: docs/api.md and docs/openapi.json are the promise. Each function takes the
// lock of the figures while it writes; what the client asks for was checked before.
#pragma once

#include "common/json.h"
#include "dashboard/live.h"

#include <stdatomic.h>

typedef struct da_span {
    bool has_session, has_run, has_from, has_to, has_step, has_window, by_node;
    int64_t session, run;
    double from_s, to_s, step_s, window_s;
    unsigned bins, limit;
    const atomic_bool *given_up; // becomes true when nobody waits any longer; NULL: never
} da_span;

// How the figures are told: over how many seconds, how often, and what all captures that are being
// recorded run together: they share the machine.
typedef struct da_look {
    double window_s, hz, machine_runs_per_s;
} da_look;
// One element of "captures".
void da_view_metrics(cm_json *j, da_live *l, uint32_t capture, const da_look *look);
// What the capture runs now; 0 where nothing is being recorded.
double da_view_recorded_per_s(da_live *l, double window_s);
void da_view_sessions(cm_json *j, da_live *l, uint32_t capture);

// Whole documents. CM_NOT_FOUND: there is no such session or run.
cm_status da_view_history(cm_json *j, da_live *l, uint32_t capture, const da_span *q);
cm_status da_view_distribution(cm_json *j, da_live *l, uint32_t capture, const da_span *q);
cm_status da_view_ops(cm_json *j, da_live *l, uint32_t capture, const da_span *q);
cm_status da_view_timeline(cm_json *j, da_live *l, uint32_t capture, const da_span *q);
void da_view_system(cm_json *j, da_live *l, uint32_t capture);
