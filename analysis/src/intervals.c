// SPDX-License-Identifier: MIT
// See analysis/intervals.h. Shifts are in shift.c.
#include "analysis/intervals.h"

#include "analysis_util.h"
#include "distributions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_SERIES 2048 // longer ones are put together first

const an_interval an_no_interval = {NAN, NAN, NAN};

an_interval an_only_value(double value)
{
    if (__builtin_isnan(value))
        return an_no_interval;
    return (an_interval){value, -(double)INFINITY, (double)INFINITY};
}

bool an_interval_bounded(an_interval i)
{
    return i.low > -(double)INFINITY && i.high < (double)INFINITY;
}

// ------------------------------------------------------------------------------------- inflation

static double mean_of(const double *values, size_t count)
{
    double mean = 0;
    for (size_t i = 0; i < count; i++)
        mean += (values[i] - mean) / (double)(i + 1);
    return mean;
}

static double autocovariance(const double *y, size_t count, double mean, size_t lag)
{
    double sum = 0;
    for (size_t i = lag; i < count; i++)
        sum += (y[i] - mean) * (y[i - lag] - mean);
    return sum / (double)count;
}

// Of a series of at most LONGEST_SERIES values.
static double long_run_variance(const double *y, size_t count)
{
    double mean = mean_of(y, count), sum = 0, last = INFINITY;
    double variance = autocovariance(y, count, mean, 0);
    for (size_t lag = 0; lag + 1 < count; lag += 2) {
        double pair = (lag ? autocovariance(y, count, mean, lag) : variance) +
                      autocovariance(y, count, mean, lag + 1);
        if (pair <= 0)
            break;
        last = pair < last ? pair : last;
        sum += last;
    }
    double result = 2 * sum - variance;
    // The mean was taken from the values themselves, which hides a part of how they wander.
    double hidden = variance > 0 ? result / variance / (double)count : 0;
    return hidden < 0.5 ? result / (1 - hidden) : result * 2;
}

double an_inflation(const double *values, size_t count)
{
    if (count < 4)
        return 1;
    double together[LONGEST_SERIES], mean = mean_of(values, count);
    size_t each = (count + LONGEST_SERIES - 1) / LONGEST_SERIES, points = count / each;
    double variance = autocovariance(values, count, mean, 0);
    if (!(variance > 0))
        return 1;
    for (size_t i = 0; i < points; i++)
        together[i] = mean_of(values + i * each, each);
    double inflation = (double)each * long_run_variance(together, points) / variance;
    // The sum stops at the first pair that chance makes negative, and so falls short: a fifth more
    // keeps false alarms at their rate (tests/unit/test_intervals.c).
    return inflation > 1 ? 1 + (inflation - 1) * 1.2 : 1;
}

// By simulation (tests/unit/test_diff_noise.c): false alarms stay below their rate whether runs are
// independent or drift.
double an_freedom(double count, double inflation)
{
    double pieces = count / inflation / (2.5 - 1.5 / inflation);
    return pieces > 2 ? pieces - 1 : 1;
}

// -------------------------------------------------------------------------- quantiles and means

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The rank (any real number) whose value lies below the quantile with this probability.
static double rank_with(double below, double share, double count)
{
    double low = 1e-9, high = count + 1 - 1e-9; // the probability falls with the rank
    for (int i = 0; i < 48; i++) {              // to far less than a millionth of a rank
        double middle = (low + high) / 2;
        if (an_beta_below(share, middle, count + 1 - middle) > below)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

// As much more as Student's t is wider than the normal distribution.
static double widened(double inflation, double count, double error)
{
    if (inflation <= 1)
        return 1;
    double wider = an_t_quantile(1 - error / 2, an_freedom(count, inflation)) /
                   an_normal_quantile(1 - error / 2);
    return inflation * wider * wider;
}

static an_interval interval_of_ranks(const double *sorted, size_t count, double share,
                                     double inflation, double error)
{
    double n = (double)count;
    size_t at = (size_t)ceil(share * n - 1e-9);
    an_interval result = an_only_value(sorted[at ? at - 1 : 0]);
    if (n / inflation < AN_FEWEST_EFFECTIVE || count < AN_FEWEST_VALUES)
        return result;
    inflation = widened(inflation, n, error);
    double effective = n / inflation;
    double low = rank_with(1 - error / 2, share, effective);
    double high = rank_with(error / 2, share, effective);
    // Between the ranks of effective values lie `inflation` real ones.
    if (low >= 1) {
        double rank = floor(low * inflation + 1e-6); // beyond the last one: even that lies below
        result.low = sorted[rank < n ? (size_t)rank - 1 : count - 1];
    }
    if (high <= effective) {
        double rank = ceil((high - 1) * inflation + 1 - 1e-6);
        result.high = sorted[rank < n ? (size_t)rank - 1 : count - 1];
    }
    return result;
}

cm_status an_quantile_interval(const double *values, size_t count, double share, double error,
                               an_interval *out)
{
    if (count == 0) {
        *out = an_no_interval;
        return CM_OK;
    }
    double *sorted = malloc(count * sizeof *sorted), *above = malloc(count * sizeof *above);
    if (!sorted || !above) {
        free(sorted);
        free(above);
        return an_no_memory();
    }
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    size_t rank = (size_t)ceil(share * (double)count - 1e-9);
    double quantile = sorted[rank ? rank - 1 : 0];
    // How a quantile wanders is how the share of values above it does. Of the few values in a tail
    // that is hard to see, so that it counts as no less than the median's to the power of 3/4.
    double inflation = 1;
    for (int median = 0; median < 2; median++) {
        double limit = median ? sorted[count / 2] : quantile;
        for (size_t i = 0; i < count; i++)
            above[i] = values[i] > limit;
        double found = an_inflation(above, count);
        inflation = fmax(inflation, median ? pow(found, 0.75) : found);
    }
    *out = interval_of_ranks(sorted, count, share, inflation, error);
    free(sorted);
    free(above);
    return CM_OK;
}

an_interval an_mean_interval(const double *values, size_t count, double error)
{
    if (count == 0)
        return an_no_interval;
    double mean = mean_of(values, count), inflation = an_inflation(values, count);
    double effective = (double)count / inflation;
    if (effective < AN_FEWEST_EFFECTIVE || count < AN_FEWEST_VALUES)
        return an_only_value(mean);
    double variance = autocovariance(values, count, mean, 0) * (double)count / ((double)count - 1);
    double freedom = an_freedom((double)count, inflation);
    double half = an_t_quantile(1 - error / 2, freedom) * sqrt(variance / effective);
    return (an_interval){mean, mean - half, mean + half};
}

// ------------------------------------------------------------------------------------ two of them

static double together(double x, double y)
{
    return sqrt(x * x + y * y);
}

an_interval an_interval_difference(an_interval a, an_interval b)
{
    double value = b.value - a.value;
    return (an_interval){value, value - together(b.value - b.low, a.high - a.value),
                         value + together(b.high - b.value, a.value - a.low)};
}

static an_interval logarithm(an_interval i)
{
    double infinity = INFINITY;
    return (an_interval){log(i.value), i.low > 0 ? log(i.low) : -infinity,
                         i.high > 0 ? log(i.high) : infinity};
}

an_interval an_interval_ratio(an_interval a, an_interval b)
{
    if (!(a.value > 0) || !(b.value > 0))
        return an_no_interval;
    an_interval d = an_interval_difference(logarithm(a), logarithm(b));
    return (an_interval){exp(d.value), exp(d.low), exp(d.high)};
}
