// SPDX-License-Identifier: MIT
// A set of runs, each with a number (such as its input shape), kept as ranges of neighbouring runs
// with the same number: capture after capture of millions of runs fits into little memory. What
// does not fit is left out, and `complete` says so.
#pragma once

#include "common/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AN_RUN_RANGES (1024 * 1024)

typedef struct an_run_range {
    int64_t session, first, last, value;
} an_run_range;

typedef struct an_run_ranges {
    an_run_range *items;
    size_t count, capacity;
    bool complete; // nothing was left out
} an_run_ranges;

void an_run_ranges_init(an_run_ranges *r);
void an_run_ranges_deinit(an_run_ranges *r);

// Runs may come in any order and repeatedly.
cm_status an_run_ranges_add(an_run_ranges *r, int64_t session, int64_t run, int64_t value);

// After the last add, before the first question.
void an_run_ranges_finish(an_run_ranges *r);

// NULL if the run is not in the set.
const an_run_range *an_run_ranges_find(const an_run_ranges *r, int64_t session, int64_t run);
