// SPDX-License-Identifier: MIT
// Random timelines with planted causes of slow runs: what a recording of such a program would hold,
// with noise, and with decoys that explain nothing. The same seed gives the same file.
#pragma once

#include "analysis/outliers.h"

#define PLANTED_MOST 64

typedef struct planted_cause {
    an_cause_kind kind;
    double share; // of the extra time
    char who[32];
} planted_cause;

// A slow run of session 1; without causes: it must stay unexplained.
typedef struct planted_run {
    int64_t run;
    planted_cause causes[2];
    size_t cause_count;
} planted_run;

typedef struct plan {
    planted_run runs[PLANTED_MOST];
    size_t count;
    char text[160]; // which sources and decoys it has
} plan;

// Fails the test where the file can't be written.
void make_timeline(const char *path, uint64_t seed, plan *out);
