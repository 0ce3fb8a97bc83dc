// SPDX-License-Identifier: MIT
// Whether a session's latency stayed what it was (see an_stability). A drift makes neighbours
// alike, so that it can't be told from noise by comparing halves: it is a slope (Theil, Sen)
// through the medians of groups of runs, with Kendall's interval, made wider by what the groups
// still have in common when the slope is taken out.
#include "analysis/summary.h"
#include "analysis_util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEADY       0.05 // changes within it are none
#define GROUPS       40   // at most
#define RUNS_A_GROUP 5    // at least
#define FEWEST       10   // groups
#define NORMAL_95    1.959964

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, ascending);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

// Medians of equally many neighbours; how many groups there are.
static cm_status group(const an_series *s, size_t from, double *out, size_t *out_count)
{
    size_t left = s->count - from, groups = left / RUNS_A_GROUP;
    groups = groups < GROUPS ? groups : GROUPS;
    *out_count = groups;
    if (groups == 0)
        return CM_OK;
    size_t each = left / groups;
    double *values = malloc(each * sizeof *values);
    if (!values)
        return an_no_memory();
    for (size_t g = 0; g < groups; g++) {
        for (size_t i = 0; i < each; i++)
            values[i] = s->points[from + g * each + i].value;
        out[g] = median_of(values, each);
    }
    free(values);
    return CM_OK;
}

static double inflation_around(const double *groups, size_t count, double slope)
{
    double rest[GROUPS];
    for (size_t i = 0; i < count; i++)
        rest[i] = groups[i] - slope * (double)i;
    return an_inflation(rest, count);
}

// The last group by the first one, as the slope tells it.
static an_interval drift_of(const double *groups, size_t count)
{
    double slopes[GROUPS * GROUPS / 2], sorted[GROUPS], n = (double)count;
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            slopes[pairs++] = (groups[k] - groups[i]) / (double)(k - i);
    double slope = median_of(slopes, pairs), all = (double)pairs;
    double spread =
        NORMAL_95 * sqrt(n * (n - 1) * (2 * n + 5) / 18 * inflation_around(groups, count, slope));
    double low = floor((all - spread) / 2) - 1, high = ceil((all + spread) / 2);
    memcpy(sorted, groups, count * sizeof *sorted);
    double middle = median_of(sorted, count), reach = (n - 1) / 2;
    if (!(middle > 0) || !(middle > fabs(slope) * reach))
        return an_no_interval;
    an_interval drift = an_only_value((middle + slope * reach) / (middle - slope * reach));
    if (low >= 0 && high < all) {
        double bounds[2] = {slopes[(size_t)low] * reach, slopes[(size_t)high] * reach};
        if (middle > fabs(bounds[0]) && middle > fabs(bounds[1])) {
            drift.low = (middle + bounds[0]) / (middle - bounds[0]);
            drift.high = (middle + bounds[1]) / (middle - bounds[1]);
        }
    }
    return drift;
}

cm_status an_session_stability(const an_session *s, an_stability *out)
{
    double groups[GROUPS];
    size_t count, warmup = an_series_warmup(&s->series);
    CM_TRY(group(&s->series, warmup, groups, &count));
    an_interval drift = count >= FEWEST ? drift_of(groups, count) : an_no_interval;
    *out = (an_stability){warmup, drift, "inconclusive"};
    if (!an_known(drift.value) || !an_interval_bounded(drift))
        return CM_OK;
    if (drift.low > 1 && drift.value > 1 + STEADY / 2)
        out->verdict = "slower";
    else if (drift.high < 1 && drift.value < 1 - STEADY / 2)
        out->verdict = "faster";
    else if (drift.low > 1 - STEADY && drift.high < 1 + STEADY)
        out->verdict = "steady";
    return CM_OK;
}
