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

#define EXECUTABLE                                                                                 \
    (PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY)

// A linker may put constants and code into one section: threads may be running on the page.
static bool page_open(hk_slot_guard *g, const void *address)
{
    MEMORY_BASIC_INFORMATION info;
    if (g->page == page_of(address))
        return true;
    hk_slots_close(g);
    if (!VirtualQuery(address, &info, sizeof info) ||
        !VirtualProtect((void *)page_of(address), 4096,
                        info.Protect & EXECUTABLE ? PAGE_EXECUTE_READWRITE : PAGE_READWRITE,
                        &g->protection))
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
