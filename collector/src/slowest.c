// SPDX-License-Identifier: MIT
// See slowest.h. The threshold moves with each run, usually not at all.
#include "slowest.h"

#include <string.h>

void co_slowest_init(co_slowest *s)
{
    memset(s, 0, sizeof *s);
    s->threshold = CO_SLOWEST_BUCKETS;
}

static uint32_t bucket_of(uint64_t ns)
{
    if (ns < (uint64_t)1 << CO_SLOWEST_FIRST)
        return 0;
    unsigned octave = 63u - (unsigned)__builtin_clzll(ns);
    uint64_t part = (ns >> (octave - 7)) & (CO_SLOWEST_PARTS - 1);
    uint64_t bucket = (octave - CO_SLOWEST_FIRST) * (uint64_t)CO_SLOWEST_PARTS + part;
    return bucket < CO_SLOWEST_BUCKETS ? (uint32_t)bucket : CO_SLOWEST_BUCKETS - 1;
}

bool co_slowest_add(co_slowest *s, uint64_t ns, uint32_t millionths)
{
    uint32_t bucket = bucket_of(ns);
    s->count++;
    s->buckets[bucket]++;
    s->slow += bucket >= s->threshold;
    uint64_t allowed = (s->count * millionths + 999999) / 1000000;
    while (s->slow > allowed)
        s->slow -= s->buckets[s->threshold++];
    while (s->threshold && s->slow + s->buckets[s->threshold - 1] <= allowed)
        s->slow += s->buckets[--s->threshold];
    return bucket >= s->threshold;
}
