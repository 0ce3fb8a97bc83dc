// SPDX-License-Identifier: MIT
#include "collector/clock.h"

#include "common/os.h"

#define TRIES 7

co_anchor co_anchor_now(void)
{
    co_anchor best = {0};
    uint64_t best_doubt = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = __builtin_ia32_rdtsc();
        uint64_t now = cm_monotonic_ns();
        uint64_t after = __builtin_ia32_rdtsc();
        if (after - before >= best_doubt)
            continue;
        best_doubt = after - before;
        best.ticks = before + best_doubt / 2;
        best.qpc = best.qpc_ns = now;
    }
    best.utc_ns = cm_utc_ns();
    return best;
}
