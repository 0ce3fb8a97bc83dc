// SPDX-License-Identifier: MIT
// Reading where a structure should be, if we are right. Asking about the pages costs a microsecond
// and touches no guard page, but another thread may release them before they are read: what is not
// known to live is copied by the system, which costs tens of microseconds under Wine.
#include "op.h"

#define READABLE                                                                                   \
    (PAGE_READONLY | PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READ |                         \
     PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY)

bool hk_region_covers(hk_region *known, uint64_t address, size_t bytes)
{
    uint64_t at = address, end = address + bytes;
    if (address < 65536 || end < address || end >> 47)
        return false;
    while (at < end) {
        if (at < known->begin || at >= known->end) {
            MEMORY_BASIC_INFORMATION region;
            if (!VirtualQuery((const void *)(uintptr_t)at, &region, sizeof region) ||
                region.State != MEM_COMMIT || !(region.Protect & READABLE) ||
                (region.Protect & PAGE_GUARD))
                return false;
            known->begin = (uint64_t)(uintptr_t)region.BaseAddress;
            known->end = known->begin + region.RegionSize;
        }
        at = known->end;
    }
    return true;
}

bool hk_is_readable(uint64_t address, size_t bytes)
{
    hk_region none = {0, 0};
    return hk_region_covers(&none, address, bytes);
}

bool hk_copy_readable(uint64_t address, void *to, size_t bytes)
{
    SIZE_T copied = 0;
    return !(address & 3) && hk_is_readable(address, bytes) &&
           ReadProcessMemory(GetCurrentProcess(), (const void *)(uintptr_t)address, to, bytes,
                             &copied) &&
           copied == bytes;
}

bool hk_copy_living(uint64_t address, void *to, size_t bytes)
{
    if ((address & 3) || !hk_is_readable(address, bytes))
        return false;
    memcpy(to, (const void *)(uintptr_t)address, bytes);
    return true;
}
