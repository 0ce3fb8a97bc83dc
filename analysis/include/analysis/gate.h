// SPDX-License-Identifier: MIT
// Conditions on a comparison: "p99>5%" (grew by more than 5 %), "p99>+2ms" (grew by more than
// 2 ms), "p99>20ms" (is above 20 ms in the new recording), and the same with <.
//
// A condition is met where the whole interval lies on that side of the limit (a regression), not
// met where none of it does, and inconclusive in between or where nothing is known.
#pragma once

#include "analysis/diff.h"

#define AN_GATE_NAME 256

typedef enum an_gate_form { AN_GATE_PERCENT, AN_GATE_CHANGE, AN_GATE_VALUE } an_gate_form;

typedef struct an_gate {
    an_metric metric;
    char op[AN_GATE_NAME]; // of AN_METRIC_OP: a node's name or a type
    bool above;
    an_gate_form form;
    double limit;     // percent: 0.05; else in the metric's unit
    const char *text; // borrowed
} an_gate;

typedef enum an_gate_result { AN_GATE_OK, AN_GATE_UNSURE, AN_GATE_MET } an_gate_result;
const char *an_gate_result_name(an_gate_result result); // "ok", "inconclusive", "regression"

// CM_USAGE with a sentence that lists the metrics.
cm_status an_gate_parse(const char *text, an_gate *out);

// What a condition says about one model, meter or operator.
typedef struct an_gate_finding {
    const an_gate *gate;
    const char *subject; // name of the group, the meter or "" where nothing could be compared
    an_interval value;   // what was held against the limit: a ratio less 1, a change or a value
    an_gate_result result;
} an_gate_finding;

// Calls `found` for each thing that the condition is about, at least once. The worst result.
an_gate_result an_gate_check(const an_gate *gate, const an_diff *diff,
                             void (*found)(void *context, const an_gate_finding *finding),
                             void *context);
