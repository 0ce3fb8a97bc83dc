// SPDX-License-Identifier: MIT
// A histogram of nanoseconds (any uint64_t) with bounded memory and bounded error.
//
// Buckets are log-linear: every power of two is cut into 512 equal parts, so a bucket is never
// wider than 1/512 of its values and its middle is never off by more than 1/1024 (0.098 %). Values
// below 1024 have a bucket each. The counters of one power of two are allocated when the first
// value falls there (4 KB each; latencies of one session touch a few). The first
// CM_HISTOGRAM_EXACT values are kept as they are: as long as there are no more, percentiles are
// exact and a histogram costs next to nothing.
//
// Count, sum, minimum, maximum, mean and variance are kept beside the buckets and are exact (mean
// and variance by Welford's method in double).
//
// Percentiles follow the nearest-rank definition: the p-th percentile of n values is the value at
// rank ceil(p/100 * n) in ascending order. It is always one of the recorded values (to within its
// bucket), never an interpolation. p is given in millionths: 500000 is the median, 999000 p99.9.
//
// Not thread-safe. When memory runs out the value is still in count, sum, min, max, mean and
// variance; `uncounted` tells how many are missing from the buckets.
#pragma once

#include <stdint.h>

#define CM_HISTOGRAM_EXACT 128
#define CM_HISTOGRAM_PARTS 512 // buckets in one power of two

typedef struct cm_histogram {
    uint64_t count;
    uint64_t sum; // saturates
    uint64_t min; // 0 if there are no values
    uint64_t max;
    double mean;
    double m2; // sum of squared distances from the mean
    uint64_t uncounted;
    uint64_t *exact; // the values themselves while there are few; NULL once `octaves` is in use
    uint32_t exact_count;
    uint32_t exact_capacity;
    uint64_t **octaves; // NULL while `exact` is in use
} cm_histogram;

void cm_histogram_init(cm_histogram *h);
void cm_histogram_deinit(cm_histogram *h);

void cm_histogram_add(cm_histogram *h, uint64_t value);

// Adds all that `from` holds. Merging in any order gives the same counts and percentiles.
void cm_histogram_merge(cm_histogram *into, const cm_histogram *from);

// Nearest rank, in millionths; 0 if there are no values.
uint64_t cm_histogram_percentile(const cm_histogram *h, uint32_t millionths);

// Sample standard deviation (n - 1); 0 for fewer than two values.
double cm_histogram_stddev(const cm_histogram *h);

// How many values are in [low, high), to within one bucket at each border: a bucket counts where
// its middle lies.
uint64_t cm_histogram_count_between(const cm_histogram *h, uint64_t low, uint64_t high);

// The smallest of 1, 2, 5, 10, 20, 50, ... as the width of bars that start at its multiples, so
// that at most `most` of them cover low..top; 0 if there is none.
uint64_t cm_round_step(uint64_t low, uint64_t top, uint64_t most);
