// SPDX-License-Identifier: MIT
// The vtables that lead to us. See op.h. Changing is done under g_hk.lock; looking up needs none.
#include "op.h"

hk_vtable g_hk_vtables[HK_VTABLE_SLOTS];
static uint32_t g_used;

// The entry for this vtable, old or new; NULL if the table is full (a quarter stays free).
static hk_vtable *entry_for(uintptr_t address)
{
    uint32_t i = hk_vtable_place(address);
    for (;; i = (i + 1) % HK_VTABLE_SLOTS) {
        uintptr_t known = atomic_load(&g_hk_vtables[i].address);
        if (known == address)
            return &g_hk_vtables[i];
        if (!known)
            break;
    }
    if (g_used >= HK_VTABLE_SLOTS / 4 * 3)
        return NULL;
    g_used++;
    return &g_hk_vtables[i];
}

// ---------------------------------------------------------------------------- writing to vtables

// Keeps one page writable at a time. Slots come in ascending order, so each page is opened once.
typedef struct page_guard {
    uintptr_t page; // 0: none open
    DWORD protection;
} page_guard;

static uintptr_t page_of(const void *address)
{
    return (uintptr_t)address & ~(uintptr_t)4095;
}

static void page_close(page_guard *g)
{
    DWORD ignored;
    if (g->page)
        VirtualProtect((void *)g->page, 4096, g->protection, &ignored);
    g->page = 0;
}

static bool page_open(page_guard *g, const void *address)
{
    if (g->page == page_of(address))
        return true;
    page_close(g);
    if (!VirtualProtect((void *)page_of(address), 4096, PAGE_READWRITE, &g->protection))
        return false;
    g->page = page_of(address);
    return true;
}

static void *slot_get(void **slot)
{
    return __atomic_load_n(slot, __ATOMIC_ACQUIRE);
}

// Puts `to` where `from` still is.
static bool slot_change(page_guard *g, void **slot, void *from, void *to)
{
    return page_open(g, slot) &&
           __atomic_compare_exchange_n(slot, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

// ---------------------------------------------------------------------------------- swap, restore

static void **vtable_at(const hk_op_module *module, uint32_t i)
{
    return (void **)(void *)(module->base + module->vtable_rvas[i]);
}

static bool is_untouched(const hk_op_module *module, void **vtable)
{
    for (int i = 0; i < HK_KERNEL_SLOTS; i++)
        if (!hk_scan_in_code(&module->scan, (uint64_t)(uintptr_t)slot_get(&vtable[i])))
            return false;
    return true;
}

static void note_entries(hk_op_module *module)
{
    for (uint32_t i = 0; i < module->vtable_count; i++) {
        void **vtable = vtable_at(module, i);
        hk_vtable *entry = is_untouched(module, vtable) ? entry_for((uintptr_t)vtable) : NULL;
        if (!entry) {
            module->vtable_rvas[i] = 0;
            continue;
        }
        entry->compute = (hk_compute_fn *)(uintptr_t)slot_get(&vtable[HK_KERNEL_COMPUTE]);
        entry->destroy = (hk_destroy_fn *)(uintptr_t)slot_get(&vtable[HK_KERNEL_DESTROY]);
        entry->module = module;
        atomic_store(&entry->address, (uintptr_t)vtable);
    }
}

static const hk_vtable *entry_of(const hk_op_module *module, uint32_t i)
{
    void *object = vtable_at(module, i); // what the first word of an object would be
    return module->vtable_rvas[i] ? hk_vtable_of(&object) : NULL;
}

static void destroy_to_us(hk_op_module *module, page_guard *g)
{
    for (uint32_t i = 0; i < module->vtable_count; i++) {
        const hk_vtable *e = entry_of(module, i);
        if (e && !slot_change(g, vtable_at(module, i) + HK_KERNEL_DESTROY,
                              (void *)(uintptr_t)e->destroy, (void *)(uintptr_t)hk_op_destroy))
            module->vtable_rvas[i] = 0;
    }
}

uint32_t hk_vtables_swap(hk_op_module *module)
{
    page_guard g = {0};
    uint32_t swapped = 0;
    note_entries(module);
    destroy_to_us(module, &g);
    for (uint32_t i = 0; i < module->vtable_count; i++) {
        const hk_vtable *e = entry_of(module, i);
        swapped +=
            e && slot_change(&g, vtable_at(module, i) + HK_KERNEL_COMPUTE,
                             (void *)(uintptr_t)e->compute, (void *)(uintptr_t)hk_op_compute);
    }
    page_close(&g);
    module->swapped = true;
    return swapped;
}

// A slot that somebody else has changed meanwhile stays as it is: what they saved is our function,
// which goes on working.
void hk_vtables_restore(hk_op_module *module)
{
    page_guard g = {0};
    if (!module->swapped)
        return;
    module->swapped = false;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < module->vtable_count; i++) {
            const hk_vtable *e = entry_of(module, i);
            if (!e)
                continue;
            if (pass == 0)
                slot_change(&g, vtable_at(module, i) + HK_KERNEL_COMPUTE,
                            (void *)(uintptr_t)hk_op_compute, (void *)(uintptr_t)e->compute);
            else
                slot_change(&g, vtable_at(module, i) + HK_KERNEL_DESTROY,
                            (void *)(uintptr_t)hk_op_destroy, (void *)(uintptr_t)e->destroy);
        }
    }
    page_close(&g);
}
