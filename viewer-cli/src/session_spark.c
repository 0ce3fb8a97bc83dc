// SPDX-License-Identifier: MIT
// How a session's latency and memory went over time, as lines of columns in `ortscope summary`.
#include "common/text.h"
#include "op_view.h"
#include "spark.h"
#include "summary_view.h"

#include <math.h>
#include <stdlib.h>

#define FEWEST_POINTS 20
#define MOST_COLUMNS  120u
#define LITTLE        0.01 // changes by less are not worth a line
#define LABEL_COLUMNS 15u
#define SCALE_COLUMNS 22u // "999.9 us to 1.235 ms" and what is before it

static size_t columns_of(const vw_io *io)
{
    size_t others = 2 + LABEL_COLUMNS + SCALE_COLUMNS;
    size_t columns = io->width > others + 10 ? io->width - others : 10;
    return columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
}

// *any: a line stands above it. Values from `full` on are drawn alike.
static void write_line(vw_io *io, bool *any, const char *label, const double *values, size_t count,
                       double full, vw_short_name (*words)(double))
{
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (values[i] < least)
            least = values[i];
        if (values[i] > most)
            most = values[i];
    }
    cm_out_printf(&io->out, "%s  %-*s", *any ? "" : "\n", (int)LABEL_COLUMNS, label);
    vw_style_on(io, VW_MARK);
    vw_spark_line(&io->out, values, count, least, full < most ? full : most, io->unicode);
    vw_style_off(io, VW_MARK);
    cm_out_printf(&io->out, "  %s to %s\n", words(least).text, words(most).text);
    *any = true;
}

static vw_short_name time_words(double ns)
{
    vw_short_name name;
    cm_format_ns(name.text, sizeof name.text, ns);
    return name;
}

// ----------------------------------------------------------------------------------------- latency

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Median and greatest of the points from `from` to before `to`; NAN where there are none.
static void sum_up(const an_series *s, size_t from, size_t to, double *room, double *median,
                   double *greatest)
{
    size_t count = to - from;
    for (size_t i = 0; i < count; i++)
        room[i] = s->points[from + i].value;
    qsort(room, count, sizeof *room, ascending);
    *median = count ? room[(count - 1) / 2] : (double)NAN;
    *greatest = count ? room[count - 1] : (double)NAN;
}

// The median of the columns that have a value: warming up must not flatten all that follows.
static double usual_of(const double *values, size_t count)
{
    double known[MOST_COLUMNS];
    size_t known_count = 0;
    for (size_t i = 0; i < count; i++)
        if (an_known(values[i]))
            known[known_count++] = values[i];
    qsort(known, known_count, sizeof *known, ascending);
    return known_count ? known[known_count / 2] : (double)NAN;
}

static void write_latency(vw_io *io, bool *any, const an_series *s)
{
    double medians[MOST_COLUMNS], greatest[MOST_COLUMNS];
    size_t columns = columns_of(io), from = 0;
    double begin = (double)s->points[0].time_ns;
    double whole = (double)s->points[s->count - 1].time_ns - begin;
    double *room = malloc(s->count * sizeof *room);
    if (!room || !(whole > 0)) {
        free(room);
        return;
    }
    for (size_t c = 0; c < columns; c++) {
        size_t to = from;
        double end = begin + whole * (double)(c + 1) / (double)columns;
        while (to < s->count && (c + 1 == columns || (double)s->points[to].time_ns < end))
            to++;
        sum_up(s, from, to, room, &medians[c], &greatest[c]);
        from = to;
    }
    write_line(io, any, "p50 over time", medians, columns, 2 * usual_of(medians, columns),
               time_words);
    write_line(io, any, "max over time", greatest, columns, (double)INFINITY, time_words);
    free(room);
}

// ------------------------------------------------------------------------------------------ memory

static void write_memory(vw_io *io, bool *any, const an_memory *m)
{
    double points[AN_MEMORY_COURSE], values[MOST_COLUMNS];
    size_t count = an_memory_course(m, points), columns = columns_of(io);
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < count; i++) {
        least = points[i] < least ? points[i] : least;
        most = points[i] > most ? points[i] : most;
    }
    if (count < FEWEST_POINTS || most - least < most * LITTLE)
        return;
    for (size_t c = 0; c < columns; c++) {
        size_t from = c * count / columns, to = (c + 1) * count / columns;
        values[c] = points[from < count ? from : count - 1];
        for (size_t i = from; i < to; i++)
            values[c] = points[i] > values[c] ? points[i] : values[c];
    }
    write_line(io, any, "memory in use", values, columns, (double)INFINITY, vw_byte_text);
}

void vw_session_spark_text(vw_io *io, const an_session *n)
{
    bool any = false;
    if (n->series.count >= FEWEST_POINTS &&
        (double)(n->latency.max - n->latency.min) > (double)n->latency.max * LITTLE)
        write_latency(io, &any, &n->series);
    if (n->memory)
        write_memory(io, &any, n->memory);
}
