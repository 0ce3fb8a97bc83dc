// SPDX-License-Identifier: MIT
// See trend.h.
#include "trend.h"

#include "analysis_util.h"

#include <math.h>
#include <stdlib.h>

#define NORMAL_95 1.959964 // half of the 95 % interval of the normal distribution, in sigmas

void an_trend_deinit(an_trend *t)
{
    free(t->points);
}

static void put_neighbours_together(an_trend *t)
{
    t->count /= 2;
    for (size_t i = 0; i < t->count; i++) {
        const an_point *a = &t->points[2 * i], *b = a + 1;
        t->points[i] =
            (an_point){(a->run + b->run) / 2, (a->value + b->value) / 2, (a->held + b->held) / 2};
    }
    t->rows_each *= 2;
}

cm_status an_trend_add(an_trend *t, int64_t run, int64_t value, int64_t held)
{
    if (t->rows == 0)
        t->rows_each = 1;
    if (t->count == 0 || t->rows_in_last == t->rows_each) {
        if (t->count == AN_TREND_POINTS)
            put_neighbours_together(t);
        an_point *points = an_grow(t->points, &t->capacity, t->count, sizeof *points);
        if (!points)
            return an_no_memory();
        t->points = points;
        points[t->count++] = (an_point){0, 0, 0};
        t->rows_in_last = 0;
    }
    an_point *p = &t->points[t->count - 1];
    double part = 1 / (double)++t->rows_in_last;
    p->run += ((double)run - p->run) * part;
    p->value += ((double)value - p->value) * part;
    p->held += ((double)held - p->held) * part;
    t->rows++;
    return CM_OK;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Of `slopes`, in order, between `points` points.
static an_slope middle_and_interval(const double *slopes, size_t count, size_t points)
{
    double n = (double)points, all = (double)count;
    double spread = NORMAL_95 * sqrt(n * (n - 1) * (2 * n + 5) / 18);
    double below = floor((all - spread) / 2) - 1, above = ceil((all + spread) / 2);
    if (below < 0 || above >= all)
        return (an_slope){NAN, NAN, NAN};
    return (an_slope){(slopes[(count - 1) / 2] + slopes[count / 2]) / 2, slopes[(size_t)below],
                      slopes[(size_t)above]};
}

cm_status an_trend_slope(const an_trend *t, bool later, an_slope *out)
{
    size_t from = later ? t->count / 2 : 0, to = later ? t->count : t->count / 2, count = 0;
    double *slopes = malloc((AN_TREND_POINTS * AN_TREND_POINTS / 8 + 1) * sizeof *slopes);
    if (!slopes)
        return an_no_memory();
    for (size_t i = from; i < to; i++)
        for (size_t k = i + 1; k < to; k++) {
            const an_point *a = &t->points[i], *b = &t->points[k];
            if (a->run < b->run || a->run > b->run)
                slopes[count++] = (b->value - a->value) / (b->run - a->run);
        }
    qsort(slopes, count, sizeof *slopes, ascending);
    *out = middle_and_interval(slopes, count, to - from);
    free(slopes);
    return CM_OK;
}

bool an_trend_held_grew(const an_trend *t)
{
    return t->count > 0 && t->points[t->count / 2].held < t->points[t->count - 1].held;
}

uint64_t an_trend_later_rows(const an_trend *t)
{
    uint64_t earlier = (t->count / 2) * t->rows_each;
    return t->rows > earlier ? t->rows - earlier : 0;
}
