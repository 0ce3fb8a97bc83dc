// SPDX-License-Identifier: MIT
// How sure a number is: intervals of percentiles, means and differences between two samples, from
// values in the order in which they were measured. Deterministic: no random numbers anywhere.
//
// Latencies of consecutive runs resemble each other (drift, clocks, other programs), so that n runs
// say less than n independent ones. `inflation` is how much less: the long-run variance of a series
// by its plain variance (sums of autocovariances in pairs, as long as they are positive and fall:
// Geyer's initial monotone sequence). It is never below 1, and every interval uses n / inflation.
// The inflation is itself an estimate, from few independent stretches where it is large: intervals
// are those of Student's t with as many degrees of freedom (an_freedom).
//
// - quantile: order statistics. Which ranks enclose the quantile is a question to the binomial
//   distribution alone, whatever the latencies' distribution is. A bound is infinite where there
//   are too few values for any rank to do.
// - mean: Student's t.
// - shift: Hodges and Lehmann's median of all differences between a value of one sample and one of
//   the other, with the interval of Mann and Whitney's rank test; its variance is that of the
//   placements of each sample among the other after the shift (Fligner, Policello), so that one
//   sample may be noisier.
// - The difference of two estimates has the interval of Zou and Donner (MOVER): from the distances
//   of each estimate to its own bounds.
#pragma once

#include "common/status.h"

#include <stdbool.h>
#include <stddef.h>

// So many values, and so many independent ones (n / inflation), at least, or the bounds are not
// known: how values hang together can't be told from fewer.
#define AN_FEWEST_VALUES    10
#define AN_FEWEST_EFFECTIVE 8

// A number and where it lies with a certain confidence. Bounds are -INFINITY and INFINITY where
// nothing is known about them; all three are NAN where there is no number.
typedef struct an_interval {
    double value, low, high;
} an_interval;

extern const an_interval an_no_interval; // NAN
an_interval an_only_value(double value); // without bounds

bool an_interval_bounded(an_interval i); // both bounds are numbers

double an_inflation(const double *values, size_t count);
// What the variance of a mean is worth that was estimated from so many values: count - 1 if they
// are independent, down to 0.4 count / inflation - 1.
double an_freedom(double count, double inflation);

// `error` is what all the bounds may miss, 0.05 for 95 % confidence; half of it on each side.
// `share`: 0.99 for the 99th percentile (nearest rank).
cm_status an_quantile_interval(const double *values, size_t count, double share, double error,
                               an_interval *out);
an_interval an_mean_interval(const double *values, size_t count, double error);

// By how much the values of `b` are above those of `a`.
cm_status an_shift_interval(const double *a, size_t a_count, const double *b, size_t b_count,
                            double error, an_interval *out);

// b less a; b divided by a (where all is above 0).
an_interval an_interval_difference(an_interval a, an_interval b);
an_interval an_interval_ratio(an_interval a, an_interval b);
