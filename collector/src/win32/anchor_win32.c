// SPDX-License-Identifier: MIT
#include "collector/clock.h"

#include <windows.h>

#define TRIES            7
#define FILETIME_TO_1970 116444736000000000ull // 100 ns units between 1601 and 1970

co_anchor co_anchor_now(void)
{
    LARGE_INTEGER frequency, counter;
    co_anchor best = {0};
    uint64_t best_doubt = UINT64_MAX;
    QueryPerformanceFrequency(&frequency);
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = __builtin_ia32_rdtsc();
        QueryPerformanceCounter(&counter);
        uint64_t after = __builtin_ia32_rdtsc();
        if (after - before >= best_doubt)
            continue;
        best_doubt = after - before;
        best.ticks = before + best_doubt / 2;
        best.qpc = (uint64_t)counter.QuadPart;
    }
    uint64_t hz = (uint64_t)frequency.QuadPart;
    best.qpc_ns = best.qpc / hz * 1000000000u + best.qpc % hz * 1000000000u / hz;
    FILETIME utc;
    GetSystemTimePreciseAsFileTime(&utc);
    uint64_t now = (uint64_t)utc.dwHighDateTime << 32 | utc.dwLowDateTime;
    best.utc_ns = (now - FILETIME_TO_1970) * 100;
    return best;
}
