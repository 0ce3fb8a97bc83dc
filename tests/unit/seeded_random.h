// SPDX-License-Identifier: MIT
// Random numbers for simulations, the same in every run: xorshift, from a seed of its own for each
// test. Include once per test program.
#pragma once

#include <math.h>
#include <stdint.h>

static uint64_t g_random;

static inline void seed_random(void)
{
    g_random = 88172645463325252u;
}

// Between 0 and 1, neither included.
static inline double uniform(void)
{
    g_random ^= g_random << 13;
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    return ((double)(g_random >> 11) + 0.5) / 9007199254740992.0;
}

// Of mean 0 and standard deviation 1 (Box and Muller).
static inline double normal(void)
{
    double radius = sqrt(-2 * log(uniform()));
    return radius * cos(6.283185307179586 * uniform());
}
