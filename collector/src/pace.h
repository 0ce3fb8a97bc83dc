// SPDX-License-Identifier: MIT
// How often a source may be asked: as often as wanted, but never so often that asking takes more
// than its share of a core. Pure functions: time comes in as a number.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CO_PACE_COSTS  16u
#define CO_PACE_LEAST  4u           // costs before the pace is changed
#define CO_PACE_MAX_NS 10000000000u // slower than this is not useful to anybody

typedef struct co_pace {
    uint64_t base_ns;     // as often as wanted
    uint64_t interval_ns; // as often as it is asked now
    uint64_t costs[CO_PACE_COSTS];
    unsigned count; // of costs noted
    bool begun;     // the first one is not counted
} co_pace;

void co_pace_init(co_pace *p, double hz);

// Another rate is wanted from now on; what asking costs is still known.
void co_pace_wish(co_pace *p, double hz);

// Notes that one sampling took `cost_ns`; `allowance` is the share of a core that this source may
// use. True if the interval has changed. The first one is not counted: it loads and opens things.
bool co_pace_note(co_pace *p, uint64_t cost_ns, double allowance);

// The share of a core that it takes at this pace; 0 as long as nobody knows.
double co_pace_share(const co_pace *p);

// What one of `sources` may use of `budget` when the others use `others`: what these leave, and an
// equal part in any case.
double co_pace_allowance(double budget, unsigned sources, double others);
