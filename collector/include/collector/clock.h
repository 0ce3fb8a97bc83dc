// SPDX-License-Identifier: MIT
// One clock for everything. Events carry processor ticks (TSC); the collector notes from time to
// time which tick count, QPC value and wall-clock time belong together (an anchor) and turns ticks
// into nanoseconds since the first anchor by interpolating between the anchors around them. An
// anchor is taken after the events have been read and before they are written, so that every event
// lies between two anchors and nothing is extrapolated.
#pragma once

#include <stdint.h>

typedef struct co_anchor {
    uint64_t ticks;
    uint64_t qpc;    // raw QueryPerformanceCounter (Linux: CLOCK_MONOTONIC nanoseconds)
    uint64_t qpc_ns; // the same in nanoseconds
    uint64_t utc_ns; // since 1970
} co_anchor;

// The reading with the least doubt of several.
co_anchor co_anchor_now(void);

#define CO_ANCHORS 64u

typedef struct co_clock {
    co_anchor first;
    co_anchor recent[CO_ANCHORS]; // a ring; the newest is recent[(count - 1) % CO_ANCHORS]
    uint64_t count;
} co_clock;

void co_clock_start(co_clock *clock, co_anchor first);
void co_clock_add(co_clock *clock, co_anchor anchor);

// Nanoseconds since the first anchor; what lies outside the anchors is set to the nearest one (the
// target may have written anything).
int64_t co_clock_time(const co_clock *clock, uint64_t ticks);

// Length of a span, by the average rate since the start.
int64_t co_clock_span(const co_clock *clock, uint64_t ticks);
