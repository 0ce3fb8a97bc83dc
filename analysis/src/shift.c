// SPDX-License-Identifier: MIT
// The shift between two samples (see analysis/intervals.h). The m * n differences are never
// written down: how many of them lie below a limit is counted along the two sorted samples.
#include "analysis/intervals.h"
#include "analysis_util.h"
#include "distributions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct sample {
    const double *values; // as measured
    double *sorted;
    size_t count;
} sample;

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Differences b - a of at most `limit`.
static double count_up_to(const sample *a, const sample *b, double limit)
{
    double count = 0;
    size_t k = 0;
    for (size_t i = 0; i < a->count; i++) {
        while (k < b->count && b->sorted[k] - a->sorted[i] <= limit)
            k++;
        count += (double)k;
    }
    return count;
}

// The difference of this rank, from 1.
static double difference_at(const sample *a, const sample *b, double rank)
{
    double low = b->sorted[0] - a->sorted[a->count - 1];
    double high = b->sorted[b->count - 1] - a->sorted[0];
    if (count_up_to(a, b, low) >= rank)
        return low;
    for (int i = 0; i < 200; i++) {
        double middle = low + (high - low) / 2;
        if (!(middle > low && middle < high))
            break;
        if (count_up_to(a, b, middle) >= rank)
            high = middle;
        else
            low = middle;
    }
    return high;
}

// The share of `other`, moved by `shift`, that lies below `value`; ties count half.
static double placement(const sample *other, double value, double shift)
{
    size_t bounds[2];
    for (int end = 0; end < 2; end++) {
        size_t low = 0, high = other->count;
        while (low < high) {
            size_t middle = (low + high) / 2;
            double x = other->sorted[middle] + shift;
            if (end ? x <= value : x < value)
                low = middle + 1;
            else
                high = middle;
        }
        bounds[end] = low;
    }
    return (double)(bounds[0] + bounds[1]) / 2 / (double)other->count;
}

// What the mean placement of one sample adds to the variance; by how much values hang together.
static double placement_variance(const sample *s, const sample *other, double shift, double *room,
                                 double *inflation)
{
    double mean = 0, sum = 0;
    for (size_t i = 0; i < s->count; i++) {
        room[i] = placement(other, s->values[i], shift);
        mean += room[i] / (double)s->count;
    }
    for (size_t i = 0; i < s->count; i++)
        sum += (room[i] - mean) * (room[i] - mean);
    *inflation = an_inflation(room, s->count);
    return sum / ((double)s->count - 1) / (double)s->count * *inflation;
}

static an_interval find_shift(const sample *a, const sample *b, double error, double *room)
{
    double m = (double)a->count, n = (double)b->count, all = m * n, inflation_a, inflation_b;
    double below = difference_at(a, b, floor((all + 1) / 2));
    double above = difference_at(a, b, floor((all + 2) / 2));
    an_interval shift = an_only_value((below + above) / 2);
    if (a->count < AN_FEWEST_VALUES || b->count < AN_FEWEST_VALUES)
        return shift;
    double of_a = placement_variance(a, b, -shift.value, room, &inflation_a);
    double of_b = placement_variance(b, a, shift.value, room, &inflation_b);
    if (m / inflation_a < AN_FEWEST_EFFECTIVE || n / inflation_b < AN_FEWEST_EFFECTIVE)
        return shift;
    // Welch and Satterthwaite: as many degrees of freedom as the two variances are worth.
    double variance = of_a + of_b;
    double freedom_a = an_freedom(m, inflation_a), freedom_b = an_freedom(n, inflation_b);
    double freedom = variance > 0
                         ? variance * variance / (of_a * of_a / freedom_a + of_b * of_b / freedom_b)
                         : freedom_a + freedom_b;
    double reach = all * an_t_quantile(1 - error / 2, freedom) * sqrt(variance);
    double low = floor(all / 2 - reach), high = ceil(all / 2 + reach) + 1;
    if (low >= 1)
        shift.low = difference_at(a, b, low);
    if (high <= all)
        shift.high = difference_at(a, b, high);
    return shift;
}

cm_status an_shift_interval(const double *a, size_t a_count, const double *b, size_t b_count,
                            double error, an_interval *out)
{
    if (a_count == 0 || b_count == 0) {
        *out = an_no_interval;
        return CM_OK;
    }
    size_t most = a_count > b_count ? a_count : b_count;
    double *memory = malloc((a_count + b_count + most) * sizeof *memory);
    if (!memory)
        return an_no_memory();
    sample x = {a, memory, a_count}, y = {b, memory + a_count, b_count};
    memcpy(x.sorted, a, a_count * sizeof *a);
    memcpy(y.sorted, b, b_count * sizeof *b);
    qsort(x.sorted, a_count, sizeof *a, ascending);
    qsort(y.sorted, b_count, sizeof *b, ascending);
    *out = find_shift(&x, &y, error, memory + a_count + b_count);
    free(memory);
    return CM_OK;
}
