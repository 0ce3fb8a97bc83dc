// SPDX-License-Identifier: MIT
// The samples of one counter, and what they tell about a run. Rows stand only where a value
// changes, and a sample tells of the time before it: between two rows the later value counts from
// one interval of its source before it, the earlier one until then.
#pragma once

#include "join_internal.h"

typedef struct an_sample {
    int64_t time, value;
    bool known;
} an_sample;

typedef struct an_samples {
    unsigned role; // of no meaning here
    int64_t id, about, process, number, per_unit;
    int64_t source; // string of the file
    double interval_ns;
    an_sample *samples; // by time, once read
    size_t count, capacity;
    int64_t last; // of a core
    bool has_last;
    int64_t asked_until_ns; // the last sample of its source, whatever it was about
} an_samples;

// The mean of a level over the run. NAN, here and below: not known.
double an_samples_level(const an_samples *n, const an_join_run *run);

// How much a total grew from the sample before the run to the one after it; `seconds`: in which
// time.
double an_samples_growth(const an_samples *n, const an_join_run *run, double *seconds);

// The samples before and after the run, whatever time lies between them: what a total grew in the
// run is at most the difference. What did not change has no row. False: nobody asked before, or
// after.
bool an_samples_around(const an_samples *n, const an_join_run *run, const an_sample **from,
                       const an_sample **until);
double an_samples_growth_around(const an_samples *n, const an_join_run *run);
