// SPDX-License-Identifier: MIT
// Whether a run is among the slowest of its session so far, in constant memory and, over many runs,
// constant time. The first run is always; then those that are slower than all before, until there
// are enough runs for the share to mean something.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// A power of two is cut into 128 parts: runs less than 0.8 % apart may count as equally slow.
#define CO_SLOWEST_PARTS   128u
#define CO_SLOWEST_FIRST   10u // 2^10 ns; faster runs are all the same
#define CO_SLOWEST_OCTAVES 30u // up to 18 minutes
#define CO_SLOWEST_BUCKETS (CO_SLOWEST_PARTS * CO_SLOWEST_OCTAVES)

typedef struct co_slowest {
    uint64_t count;
    uint64_t slow;      // runs in the buckets from `threshold` on
    uint32_t threshold; // the lowest bucket whose runs are slow
    uint32_t buckets[CO_SLOWEST_BUCKETS];
} co_slowest;

void co_slowest_init(co_slowest *s);

// Counts a run; true if not more than `millionths` of the runs until now, it included, were as
// slow. A whole run is always allowed.
bool co_slowest_add(co_slowest *s, uint64_t ns, uint32_t millionths);
