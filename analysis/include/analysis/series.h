// SPDX-License-Identifier: MIT
// What was measured again and again (a session's latencies), in the order of time and in bounded
// memory. The first AN_SERIES_HEAD values are all kept. When there are more than fit, one of each
// two neighbours is dropped, which one is a matter of chance (the same one every time): whatever
// repeats itself in the values, all its parts stay.
#pragma once

#include "common/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AN_SERIES_HEAD 1024

typedef struct an_point_in_time {
    int64_t time_ns; // when it began
    int64_t run;     // its number within the session, 0: none
    double value;
} an_point_in_time;

typedef struct an_series {
    an_point_in_time *points; // in order of time once finished
    size_t count, room, most;
    uint64_t stride; // each point behind the head stands for so many
    uint64_t skip;   // how many of them are still to come until the next point
    uint64_t random;
    uint64_t total; // that were added
} an_series;

// `most`: points to keep, more than AN_SERIES_HEAD.
void an_series_init(an_series *s, size_t most);
void an_series_deinit(an_series *s);
cm_status an_series_add(an_series *s, an_point_in_time point);
void an_series_finish(an_series *s); // puts them in order; may be followed by more

// The values alone, borrowed from the caller's array of s->count.
void an_series_values(const an_series *s, double *out);

// ------------------------------------------------------------------------------------- warming up

// How many values at the begin belong to warming up, 0: none, or that can't be told (less than
// AN_WARMUP_FEWEST values).
//
// The later half of the first 2 * AN_SERIES_HEAD values (or of all, if there are less) says what is
// usual: median and spread (from the median to the 90th percentile, in sigmas of a normal
// distribution). Each value from the begin on adds by how many spreads it lies above the usual,
// less 1, and at most WARMUP_MOST: the sum climbs while values are slow and falls when they are
// not. Warming up ends where the sum is greatest (Page's CUSUM for a change at the begin), if that
// is more than WARMUP_SURE and lies in the earlier half.
#define AN_WARMUP_FEWEST 20
size_t an_series_warmup(const an_series *s);
