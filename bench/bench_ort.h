// SPDX-License-Identifier: MIT
// A real runtime, loaded by path, for the measurements.
#pragma once

#include "ort_calls.h"

typedef struct bench_ort {
    ort_calls calls;
    const ort_slot *table;
    const char *version;
    int minor; // the Y of version 1.Y.Z
} bench_ort;

// Both end the program with a message when something fails.
void bench_ort_load(bench_ort *ort, const wchar_t *dll);
void bench_must(const bench_ort *ort, OrtStatus *status, const char *what);

int bench_by_value(const void *a, const void *b); // for qsort over doubles
