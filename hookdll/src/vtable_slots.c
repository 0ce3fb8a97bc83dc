// SPDX-License-Identifier: MIT
#include "vtable_slots.h"

static uintptr_t page_of(const void *address)
{
    return (uintptr_t)address & ~(uintptr_t)4095;
}

void hk_slots_close(hk_slot_guard *g)
{
    DWORD ignored;
    if (g->page)
        VirtualProtect((void *)g->page, 4096, g->protection, &ignored);
    g->page = 0;
}

static bool page_open(hk_slot_guard *g, const void *address)
{
    if (g->page == page_of(address))
        return true;
    hk_slots_close(g);
    if (!VirtualProtect((void *)page_of(address), 4096, PAGE_READWRITE, &g->protection))
        return false;
    g->page = page_of(address);
    return true;
}

void *hk_slot_get(void **slot)
{
    return __atomic_load_n(slot, __ATOMIC_ACQUIRE);
}

bool hk_slot_change(hk_slot_guard *g, void **slot, void *from, void *to)
{
    return page_open(g, slot) &&
           __atomic_compare_exchange_n(slot, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
