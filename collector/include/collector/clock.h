// SPDX-License-Identifier: MIT
// One clock for everything. Events carry processor ticks (TSC); the collector notes from time to
// time which tick count, QPC value and wall-clock time belong together (an anchor) and turns ticks
// into nanoseconds since the first anchor by interpolating between the anchors around them. An
// anchor is taken after the events have been read and before they are written, so that every event
// lies between two anchors and nothing is extrapolated.
//
// Where the machine sleeps, the ticks may pause or start anew while QPC goes on: the anchor behind
// such a gap begins a new segment, and nothing is interpolated across it.
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

#define CO_ANCHORS 512u

typedef struct co_clock {
    co_anchor first;              // time 0
    co_anchor begin;              // of the segment
    double rate_before;           // nanoseconds a tick before it; 0 in the first one
    co_anchor recent[CO_ANCHORS]; // a ring; the newest is recent[(count - 1) % CO_ANCHORS]
    uint64_t count;               // in this segment, `begin` included
} co_clock;

void co_clock_start(co_clock *clock, co_anchor first);
void co_clock_add(co_clock *clock, co_anchor anchor);

// Nanoseconds since the first anchor; what lies outside the segment's anchors is set to the nearest
// one (the target may have written anything).
int64_t co_clock_time(const co_clock *clock, uint64_t ticks);

// Length of a span of `ticks` that belongs to an event at `at`, by the rate of the anchors around
// that; 0 as long as no rate is known.
int64_t co_clock_span(const co_clock *clock, uint64_t at, uint64_t ticks);

typedef struct co_span {
    int64_t begin_ns;
    int64_t duration_ns;
} co_span;

// A span that is known by its end and its length in ticks. Its begin and its end are what
// co_clock_time() says of their ticks, so that spans which follow or contain one another do so in
// nanoseconds too; only where it began in another segment, or before the capture, a rate is used.
co_span co_clock_span_until(const co_clock *clock, uint64_t end, uint64_t ticks);

// The other way round: ticks at a time of QPC in nanoseconds, by the rate of the last anchors.
uint64_t co_clock_ticks(const co_clock *clock, uint64_t qpc_ns);
