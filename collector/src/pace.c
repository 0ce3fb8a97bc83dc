// SPDX-License-Identifier: MIT
#include "pace.h"

#include <stdlib.h>
#include <string.h>

void co_pace_init(co_pace *p, double hz)
{
    *p = (co_pace){.base_ns = (uint64_t)(1e9 / hz)};
    p->interval_ns = p->base_ns;
}

void co_pace_wish(co_pace *p, double hz)
{
    p->base_ns = p->interval_ns = (uint64_t)(1e9 / hz);
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// The median: a sampling that was interrupted by something else must not count for much.
static uint64_t usual_cost(const co_pace *p)
{
    unsigned known = p->count < CO_PACE_COSTS ? p->count : CO_PACE_COSTS;
    uint64_t sorted[CO_PACE_COSTS];
    if (known == 0)
        return 0;
    memcpy(sorted, p->costs, known * sizeof *sorted);
    qsort(sorted, known, sizeof *sorted, ascending);
    return sorted[(known - 1) / 2];
}

bool co_pace_note(co_pace *p, uint64_t cost_ns, double allowance)
{
    if (!p->begun) {
        p->begun = true;
        return false;
    }
    p->costs[p->count++ % CO_PACE_COSTS] = cost_ns;
    if (p->count < CO_PACE_LEAST)
        return false;
    double base = (double)p->base_ns, interval = (double)p->interval_ns;
    double needed = allowance > 0 ? (double)usual_cost(p) / allowance : (double)CO_PACE_MAX_NS;
    // With some room above what is needed, so that small changes of the cost need no new pace.
    double wanted = needed * 1.25;
    if (wanted < base || needed <= base * 0.9)
        wanted = base;
    else if (wanted > (double)CO_PACE_MAX_NS)
        wanted = (double)CO_PACE_MAX_NS;
    bool slower = needed > interval && wanted > interval;
    bool faster = wanted < interval * 0.6 || (needed <= base * 0.9 && interval > base);
    if (!slower && !faster)
        return false;
    p->interval_ns = (uint64_t)wanted;
    return true;
}

double co_pace_share(const co_pace *p)
{
    return (double)usual_cost(p) / (double)p->interval_ns;
}

double co_pace_allowance(double budget, unsigned sources, double others)
{
    double own = budget / (sources ? sources : 1), left = budget - others;
    return left > own ? left : own;
}
