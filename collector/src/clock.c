// SPDX-License-Identifier: MIT
#include "collector/clock.h"

#include <stddef.h>

void co_clock_start(co_clock *clock, co_anchor first)
{
    clock->first = first;
    clock->recent[0] = first;
    clock->count = 1;
}

static const co_anchor *newest(const co_clock *clock)
{
    return &clock->recent[(clock->count - 1) % CO_ANCHORS];
}

void co_clock_add(co_clock *clock, co_anchor anchor)
{
    const co_anchor *last = newest(clock);
    if (anchor.ticks <= last->ticks || anchor.qpc_ns <= last->qpc_ns)
        return; // no time has passed, or the clock was set back
    clock->recent[clock->count % CO_ANCHORS] = anchor;
    clock->count++;
}

static double rate(const co_anchor *from, const co_anchor *to)
{
    if (to->ticks <= from->ticks)
        return 0;
    return (double)(to->qpc_ns - from->qpc_ns) / (double)(to->ticks - from->ticks);
}

static int64_t between(const co_clock *clock, const co_anchor *from, const co_anchor *to,
                       uint64_t ticks)
{
    int64_t base = (int64_t)(from->qpc_ns - clock->first.qpc_ns);
    return base + (int64_t)((double)(ticks - from->ticks) * rate(from, to) + 0.5);
}

int64_t co_clock_time(const co_clock *clock, uint64_t ticks)
{
    const co_anchor *to = newest(clock);
    if (ticks >= to->ticks)
        return (int64_t)(to->qpc_ns - clock->first.qpc_ns);
    if (ticks <= clock->first.ticks)
        return 0;
    uint64_t kept = clock->count < CO_ANCHORS ? clock->count : CO_ANCHORS;
    for (uint64_t back = 2; back <= kept; back++) {
        const co_anchor *from = &clock->recent[(clock->count - back) % CO_ANCHORS];
        if (ticks >= from->ticks)
            return between(clock, from, to, ticks);
        to = from;
    }
    return between(clock, &clock->first, to, ticks); // older than all that are kept
}

int64_t co_clock_span(const co_clock *clock, uint64_t ticks)
{
    double ns = (double)ticks * rate(&clock->first, newest(clock));
    return ns < 9e18 ? (int64_t)(ns + 0.5) : INT64_MAX;
}
