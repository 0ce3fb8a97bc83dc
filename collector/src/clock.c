// SPDX-License-Identifier: MIT
#include "collector/clock.h"

#include <stdbool.h>

#define STEADY_NS 10000000u  // over less than this, processors may disagree about their ticks
#define RATE_NS   100000000u // a rate is taken over this much where there is as much
#define PAUSE     1.5 // times as many nanoseconds a tick as before: the ticks stood still meanwhile

static void begin_segment(co_clock *clock, co_anchor anchor, double rate_before)
{
    clock->begin = anchor;
    clock->rate_before = rate_before;
    clock->recent[0] = anchor;
    clock->count = 1;
}

void co_clock_start(co_clock *clock, co_anchor first)
{
    clock->first = first;
    begin_segment(clock, first, 0);
}

static const co_anchor *newest(const co_clock *clock)
{
    return &clock->recent[(clock->count - 1) % CO_ANCHORS];
}

static double rate(const co_anchor *from, const co_anchor *to)
{
    if (to->ticks <= from->ticks)
        return 0;
    return (double)(to->qpc_ns - from->qpc_ns) / (double)(to->ticks - from->ticks);
}

// The anchors around `ticks`; false if only one is known.
static bool around(const co_clock *clock, uint64_t ticks, const co_anchor **from,
                   const co_anchor **to)
{
    uint64_t kept = clock->count < CO_ANCHORS ? clock->count : CO_ANCHORS;
    *from = *to = newest(clock);
    for (uint64_t back = 2; back <= kept; back++) {
        *to = *from;
        *from = &clock->recent[(clock->count - back) % CO_ANCHORS];
        if (ticks >= (*from)->ticks)
            return true;
    }
    if (clock->count > CO_ANCHORS) { // older than all that are kept
        *to = *from;
        *from = &clock->begin;
    }
    return clock->count > 1;
}

static double rate_at(const co_clock *clock, uint64_t ticks)
{
    const co_anchor *from, *to, *earlier, *next;
    if (!around(clock, ticks, &from, &to) || (clock->rate_before > 0 && ticks < clock->begin.ticks))
        return clock->rate_before;
    while (to->qpc_ns - from->qpc_ns < RATE_NS && from->ticks > clock->begin.ticks) {
        around(clock, from->ticks - 1, &earlier, &next);
        from = earlier;
    }
    return rate(from, to);
}

void co_clock_add(co_clock *clock, co_anchor anchor)
{
    const co_anchor *last = newest(clock);
    if (anchor.qpc_ns <= last->qpc_ns)
        return; // no time has passed
    bool steady = anchor.qpc_ns - last->qpc_ns >= STEADY_NS;
    double usual = rate_at(clock, last->ticks);
    if (anchor.ticks <= last->ticks) {
        if (steady)
            begin_segment(clock, anchor, usual);
        return;
    }
    // Twice in a row it is no pause: the ticks have become slower.
    if (steady && clock->count > 1 && rate(last, &anchor) > usual * PAUSE) {
        begin_segment(clock, anchor, usual);
        return;
    }
    clock->recent[clock->count % CO_ANCHORS] = anchor;
    clock->count++;
}

int64_t co_clock_time(const co_clock *clock, uint64_t ticks)
{
    const co_anchor *from, *to, *last = newest(clock);
    if (ticks >= last->ticks)
        return (int64_t)(last->qpc_ns - clock->first.qpc_ns);
    if (ticks <= clock->begin.ticks || !around(clock, ticks, &from, &to))
        return (int64_t)(clock->begin.qpc_ns - clock->first.qpc_ns);
    int64_t base = (int64_t)(from->qpc_ns - clock->first.qpc_ns);
    return base + (int64_t)((double)(ticks - from->ticks) * rate(from, to) + 0.5);
}

int64_t co_clock_span(const co_clock *clock, uint64_t at, uint64_t ticks)
{
    double ns = (double)ticks * rate_at(clock, at);
    return ns < 9e18 ? (int64_t)(ns + 0.5) : INT64_MAX;
}

co_span co_clock_span_until(const co_clock *clock, uint64_t end, uint64_t ticks)
{
    int64_t end_ns = co_clock_time(clock, end), begin_ns;
    if (ticks <= end && end - ticks >= clock->begin.ticks) {
        begin_ns = co_clock_time(clock, end - ticks);
        return (co_span){begin_ns, end_ns - begin_ns};
    }
    // It began outside the segment. Nothing began before the capture did.
    int64_t duration = co_clock_span(clock, end, ticks);
    if (duration > end_ns)
        duration = end_ns;
    return (co_span){end_ns - duration, duration};
}

uint64_t co_clock_ticks(const co_clock *clock, uint64_t qpc_ns)
{
    const co_anchor *last = newest(clock);
    double ns_a_tick = rate_at(clock, last->ticks);
    if (ns_a_tick <= 0)
        return last->ticks;
    double ticks = (double)(int64_t)(qpc_ns - last->qpc_ns) / ns_a_tick;
    double at = (double)last->ticks + ticks;
    return at > 0 ? last->ticks + (uint64_t)(int64_t)ticks : 0;
}
