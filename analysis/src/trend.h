// SPDX-License-Identifier: MIT
// Whether a number that is taken after each run rises from run to run: a series in bounded memory,
// and its slope by Theil and Sen (the median of the slopes between all pairs of points), with the
// 95 % interval that Kendall's rank test gives. Neither jumps nor single outliers move it.
#pragma once

#include "timeline/timeline.h"

#define AN_TREND_POINTS 256 // then neighbours are put together
#define AN_TREND_FEWEST 20  // rows for an answer

// The mean of some rows that follow each other.
typedef struct an_point {
    double run, value, held;
} an_point;

typedef struct an_trend {
    an_point *points;
    size_t count, capacity;
    uint64_t rows_each, rows_in_last; // rows a point, and in the last one
    uint64_t rows;
} an_trend;

typedef struct an_slope {
    double per_run, low, high; // NAN: not known
} an_slope;

void an_trend_deinit(an_trend *t);

// `held` is what only an_trend_held_grew() looks at.
cm_status an_trend_add(an_trend *t, int64_t run, int64_t value, int64_t held);

// Of the earlier or the later half.
cm_status an_trend_slope(const an_trend *t, bool later, an_slope *out);
bool an_trend_held_grew(const an_trend *t); // within the later half
uint64_t an_trend_later_rows(const an_trend *t);
