// SPDX-License-Identifier: MIT
// The vtables that lead to us. See op.h. Changing is done under g_hk.lock; looking up needs none.
#include "op.h"
#include "vtable_slots.h"

// Entry points: one pair per place in the table.
HK_VTABLE_ENTRIES("hk_compute_entries", "hk_op_compute", "r9", "hk_vtables", HK_VTABLE_SLOTS, 32);
HK_VTABLE_ENTRIES("hk_destroy_entries", "hk_op_destroy", "r8", "hk_vtables", HK_VTABLE_SLOTS, 32);
extern const uint8_t compute_entries[] __asm__("hk_compute_entries");
extern const uint8_t destroy_entries[] __asm__("hk_destroy_entries");

static hk_vtable g_vtables[HK_VTABLE_SLOTS] __asm__("hk_vtables") __attribute__((used));
static uint32_t g_used;          // places that are not empty
#define FORGOTTEN ((uintptr_t)1) // of a module that was unloaded: free, but a search goes on
_Static_assert(sizeof *g_vtables == 32, "as the entry points have it");

static void *compute_entry(const hk_vtable *e)
{
    return (void *)(uintptr_t)(compute_entries + (e - g_vtables) * HK_ENTRY_BYTES);
}

static void *destroy_entry(const hk_vtable *e)
{
    return (void *)(uintptr_t)(destroy_entries + (e - g_vtables) * HK_ENTRY_BYTES);
}

// The place of this vtable, or the free one where it would be.
static hk_vtable *place_of(uintptr_t address)
{
    uint32_t i = (uint32_t)(((uint64_t)address >> 3) * 0x9e3779b97f4a7c15u >> 32);
    hk_vtable *forgotten = NULL;
    for (;; i++) {
        hk_vtable *e = &g_vtables[i % HK_VTABLE_SLOTS];
        uintptr_t known = atomic_load(&e->address);
        if (known == address)
            return e;
        if (!known)
            return forgotten ? forgotten : e;
        if (known == FORGOTTEN && !forgotten)
            forgotten = e;
    }
}

// The entry for this vtable, old or new; NULL if the table is full (a quarter stays free).
static hk_vtable *entry_for(uintptr_t address)
{
    hk_vtable *e = place_of(address);
    if (atomic_load(&e->address)) // its own, or a forgotten one's
        return e;
    if (g_used >= HK_VTABLE_SLOTS / 4 * 3)
        return NULL;
    g_used++;
    return e;
}

// ------------------------------------------------------------------------------- unloaded modules

// Those that have places in the table, so that others can go without a search.
static const uint8_t *g_homes[32];
static bool g_more_homes;

static void note_home(const uint8_t *base)
{
    int unused = -1;
    for (int i = 0; i < (int)(sizeof g_homes / sizeof *g_homes); i++) {
        if (g_homes[i] == base)
            return;
        if (!g_homes[i])
            unused = i;
    }
    if (unused >= 0)
        g_homes[unused] = base;
    else
        g_more_homes = true;
}

static bool was_home(const uint8_t *base)
{
    for (size_t i = 0; i < sizeof g_homes / sizeof *g_homes; i++)
        if (g_homes[i] == base) {
            g_homes[i] = NULL;
            return true;
        }
    return g_more_homes;
}

// Forgotten places that no search has to cross become empty again: twice around, since the last
// place is followed by the first.
static void sweep(void)
{
    for (uint32_t i = 2 * HK_VTABLE_SLOTS; i-- > 0;) {
        hk_vtable *e = &g_vtables[i % HK_VTABLE_SLOTS];
        if (atomic_load(&e->address) == FORGOTTEN &&
            !atomic_load(&g_vtables[(i + 1) % HK_VTABLE_SLOTS].address)) {
            atomic_store(&e->address, 0);
            g_used--;
        }
    }
}

// Nothing can come through their entry points any more: what would call them and what they would
// call lies in the module.
void hk_vtables_forget(const uint8_t *base, size_t size)
{
    if (!was_home(base))
        return;
    hk_kernels_forget((uintptr_t)base, size);
    for (uint32_t i = 0; i < HK_VTABLE_SLOTS; i++)
        if (atomic_load(&g_vtables[i].address) - (uintptr_t)base < size)
            atomic_store(&g_vtables[i].address, FORGOTTEN);
    sweep();
}

// ---------------------------------------------------------------------------------- swap, restore

static void **vtable_at(const hk_op_module *module, uint32_t i)
{
    return (void **)(void *)(module->base + module->vtable_rvas[i]);
}

static bool is_untouched(const hk_op_module *module, void **vtable)
{
    for (int i = 0; i < HK_KERNEL_SLOTS; i++)
        if (!hk_scan_in_code(&module->scan, (uint64_t)(uintptr_t)hk_slot_get(&vtable[i])))
            return false;
    return true;
}

// False if there was no room for some.
static bool note_entries(hk_op_module *module)
{
    bool all = true;
    note_home(module->base);
    for (uint32_t i = 0; i < module->vtable_count; i++) {
        void **vtable = vtable_at(module, i);
        bool ours_to_take = is_untouched(module, vtable);
        hk_vtable *entry = ours_to_take ? entry_for((uintptr_t)vtable) : NULL;
        if (!entry) {
            module->vtable_rvas[i] = 0;
            all = all && !ours_to_take;
            continue;
        }
        entry->compute = (hk_compute_fn *)(uintptr_t)hk_slot_get(&vtable[HK_KERNEL_COMPUTE]);
        entry->destroy = (hk_destroy_fn *)(uintptr_t)hk_slot_get(&vtable[HK_KERNEL_DESTROY]);
        entry->module = module;
        atomic_store(&entry->address, (uintptr_t)vtable);
    }
    return all;
}

static const hk_vtable *entry_of(const hk_op_module *module, uint32_t i)
{
    return module->vtable_rvas[i] ? place_of((uintptr_t)vtable_at(module, i)) : NULL;
}

static void destroy_to_us(hk_op_module *module, hk_slot_guard *g)
{
    for (uint32_t i = 0; i < module->vtable_count; i++) {
        const hk_vtable *e = entry_of(module, i);
        if (e && !hk_slot_change(g, vtable_at(module, i) + HK_KERNEL_DESTROY,
                                 (void *)(uintptr_t)e->destroy, destroy_entry(e)))
            module->vtable_rvas[i] = 0;
    }
}

uint32_t hk_vtables_swap(hk_op_module *module, bool *full)
{
    hk_slot_guard g = {0};
    uint32_t swapped = 0;
    *full = !note_entries(module);
    destroy_to_us(module, &g);
    for (uint32_t i = 0; i < module->vtable_count; i++) {
        const hk_vtable *e = entry_of(module, i);
        swapped += e && hk_slot_change(&g, vtable_at(module, i) + HK_KERNEL_COMPUTE,
                                       (void *)(uintptr_t)e->compute, compute_entry(e));
    }
    hk_slots_close(&g);
    module->swapped = true;
    return swapped;
}

// A slot that somebody else has changed meanwhile stays as it is: what they saved is our function,
// which goes on working.
void hk_vtables_restore(hk_op_module *module)
{
    hk_slot_guard g = {0};
    if (!module->swapped)
        return;
    module->swapped = false;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < module->vtable_count; i++) {
            const hk_vtable *e = entry_of(module, i);
            if (!e)
                continue;
            if (pass == 0)
                hk_slot_change(&g, vtable_at(module, i) + HK_KERNEL_COMPUTE, compute_entry(e),
                               (void *)(uintptr_t)e->compute);
            else
                hk_slot_change(&g, vtable_at(module, i) + HK_KERNEL_DESTROY, destroy_entry(e),
                               (void *)(uintptr_t)e->destroy);
        }
    }
    hk_slots_close(&g);
}
