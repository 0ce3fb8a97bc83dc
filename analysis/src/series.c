// SPDX-License-Identifier: MIT
// See analysis/series.h.
#include "analysis/series.h"

#include "analysis_util.h"

#include <stdlib.h>
#include <string.h>

#define WARMUP_MOST 7.0
#define WARMUP_SURE 5.0

void an_series_init(an_series *s, size_t most)
{
    *s = (an_series){.most = most, .stride = 1, .random = 0x9e3779b97f4a7c15u};
}

void an_series_deinit(an_series *s)
{
    free(s->points);
    s->points = NULL;
    s->count = s->room = 0;
}

static uint64_t next_random(an_series *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random >> 20;
}

static int by_time(const void *a, const void *b)
{
    const an_point_in_time *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (x->run > y->run) - (x->run < y->run);
}

void an_series_finish(an_series *s)
{
    bool ordered = true;
    for (size_t i = 1; i < s->count && ordered; i++)
        ordered = by_time(&s->points[i - 1], &s->points[i]) <= 0;
    if (!ordered)
        qsort(s->points, s->count, sizeof *s->points, by_time);
}

static void drop_half(an_series *s)
{
    size_t kept = AN_SERIES_HEAD;
    an_series_finish(s);
    for (size_t i = AN_SERIES_HEAD; i + 1 < s->count; i += 2)
        s->points[kept++] = s->points[i + next_random(s) % 2];
    s->count = kept;
    s->stride *= 2;
}

cm_status an_series_add(an_series *s, an_point_in_time point)
{
    s->total++;
    if (s->skip > 0) {
        s->skip--;
        return CM_OK;
    }
    if (s->count == s->most)
        drop_half(s);
    an_point_in_time *points = an_grow(s->points, &s->room, s->count, sizeof *points);
    if (!points)
        return an_no_memory();
    s->points = points;
    points[s->count++] = point;
    if (s->stride > 1) // somewhere in the next 2 * stride - 1, stride in the mean
        s->skip = next_random(s) % (2 * s->stride - 1);
    return CM_OK;
}

void an_series_values(const an_series *s, double *out)
{
    for (size_t i = 0; i < s->count; i++)
        out[i] = s->points[i].value;
}

// ------------------------------------------------------------------------------------- warming up

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

size_t an_series_warmup(const an_series *s)
{
    double later[AN_SERIES_HEAD], sum = 0, most = 0;
    size_t count = s->count < 2 * AN_SERIES_HEAD ? s->count : 2 * AN_SERIES_HEAD;
    size_t half = count / 2, end = 0;
    if (count < AN_WARMUP_FEWEST)
        return 0;
    for (size_t i = 0; i < half; i++)
        later[i] = s->points[count - half + i].value;
    qsort(later, half, sizeof *later, ascending);
    double median = later[half / 2];
    double spread = (later[half * 9 / 10] - median) / 1.2816; // a normal distribution's 90 %
    double least = median / 1000;                             // clocks are not better than that
    spread = spread > least ? spread : least;
    if (!(spread > 0))
        return 0;
    for (size_t i = 0; i < half; i++) {
        double above = (s->points[i].value - median) / spread - 1;
        sum += above > WARMUP_MOST ? WARMUP_MOST : above;
        if (sum > most) {
            most = sum;
            end = i + 1;
        }
    }
    return most > WARMUP_SURE && end < half ? end : 0;
}
