// SPDX-License-Identifier: MIT
// What the odd_* programs share: one runtime, one environment, and the model that needs no input.
// They are small on purpose: each does one unusual thing that an ordinary program may do as well.
#pragma once

#include "ort_calls.h"

typedef struct odd_ort {
    ort_calls call;
    OrtEnv *env;
    OrtSessionOptions *options;
    const wchar_t *model;
} odd_ort;

// Each of these ends the program with 9 and a line on stderr if ONNX Runtime refuses.
void odd_load(odd_ort *ort, const wchar_t *dll, const wchar_t *model);
OrtSession *odd_session(const odd_ort *ort);
// Runs the model once and returns whether its optional output has a value.
bool odd_run(const odd_ort *ort, OrtSession *session);
