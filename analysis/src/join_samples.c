// SPDX-License-Identifier: MIT
// See join_samples.h.
#include "join_samples.h"

#include <math.h>

#define LATE_INTERVAL 1.5 // a sample may come so many intervals after the one before

// The place of the first sample later than `time`.
static size_t after(const an_samples *n, int64_t time)
{
    size_t low = 0, high = n->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (n->samples[middle].time <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// What of [from, to] lies in the run.
static double overlap(double from, double to, double begin, double end)
{
    double a = from > begin ? from : begin, b = to < end ? to : end;
    return b > a ? b - a : 0;
}

double an_samples_level(const an_samples *n, const an_join_run *run)
{
    double begin = (double)run->begin_ns, end = (double)an_join_end(run), area = 0, known = 0;
    end = end > begin ? end : begin + 1;
    size_t at = after(n, run->begin_ns);
    for (size_t i = at > 0 ? at - 1 : 0; i < n->count && (double)n->samples[i].time < end; i++) {
        const an_sample *s = &n->samples[i], *next = i + 1 < n->count ? s + 1 : NULL;
        double to = next ? (double)next->time : end;
        double turn = next ? to - n->interval_ns * LATE_INTERVAL : to;
        turn = turn > (double)s->time ? turn : (double)s->time;
        double own = s->known ? overlap((double)s->time, turn, begin, end) : 0;
        double its = next && next->known ? overlap(turn, to, begin, end) : 0;
        area += own * (double)s->value + (its > 0 ? its * (double)next->value : 0);
        known += own + its;
    }
    return known > 0 && n->per_unit > 0 ? area / known / (double)n->per_unit : (double)NAN;
}

double an_samples_growth(const an_samples *n, const an_join_run *run, double *seconds)
{
    int64_t end_ns = an_join_end(run);
    size_t before = after(n, run->begin_ns), then = after(n, end_ns);
    double late = n->interval_ns * LATE_INTERVAL, to = (double)end_ns;
    if (before == 0)
        return (double)NAN;
    const an_sample *from = &n->samples[before - 1], *until = &n->samples[then - 1];
    if (then < n->count && (double)n->samples[then].time - (double)end_ns <= late) {
        until = &n->samples[then];
        to = (double)until->time;
    }
    double since = (double)from->time, earliest = (double)run->begin_ns - late;
    *seconds = (to - (since > earliest ? since : earliest)) / 1e9;
    return from->known && until->known && n->per_unit > 0
               ? ((double)until->value - (double)from->value) / (double)n->per_unit
               : (double)NAN;
}

bool an_samples_around(const an_samples *n, const an_join_run *run, const an_sample **from,
                       const an_sample **until)
{
    size_t before = after(n, run->begin_ns), then = after(n, an_join_end(run));
    if (before == 0 || (then == n->count && n->asked_until_ns < an_join_end(run)))
        return false;
    *from = &n->samples[before - 1];
    *until = &n->samples[then < n->count ? then : then - 1];
    return (*from)->known && (*until)->known;
}

double an_samples_growth_around(const an_samples *n, const an_join_run *run)
{
    const an_sample *from, *until;
    if (n->per_unit <= 0 || !an_samples_around(n, run, &from, &until))
        return (double)NAN;
    return ((double)until->value - (double)from->value) / (double)n->per_unit;
}
