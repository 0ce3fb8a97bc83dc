// SPDX-License-Identifier: MIT
// Which modules have allocators; leading their slots to us and back. Called with g_hk.lock held,
// possibly under the loader's lock: nothing here may wait for the loader.
#include "alloc.h"
#include "mapped_image.h"

#define CLASS_BYTES 64

HK_VTABLE_ENTRIES("hk_alloc_entries", "hk_alloc_alloc", "r8", "hk_alloc_classes", HK_ALLOC_CLASSES,
                  64);
HK_VTABLE_ENTRIES("hk_reserve_entries", "hk_alloc_reserve", "r8", "hk_alloc_classes",
                  HK_ALLOC_CLASSES, 64);
HK_VTABLE_ENTRIES("hk_on_stream_entries", "hk_alloc_on_stream", "r9", "hk_alloc_classes",
                  HK_ALLOC_CLASSES, 64);
HK_VTABLE_ENTRIES("hk_free_entries", "hk_alloc_free", "r8", "hk_alloc_classes", HK_ALLOC_CLASSES,
                  64);
HK_VTABLE_ENTRIES("hk_arena_end_entries", "hk_alloc_destroy", "r8", "hk_alloc_classes",
                  HK_ALLOC_CLASSES, 64);
extern const uint8_t alloc_entries[] __asm__("hk_alloc_entries");
extern const uint8_t reserve_entries[] __asm__("hk_reserve_entries");
extern const uint8_t on_stream_entries[] __asm__("hk_on_stream_entries");
extern const uint8_t free_entries[] __asm__("hk_free_entries");
extern const uint8_t destroy_entries[] __asm__("hk_arena_end_entries");

static hk_alloc_class g_classes[HK_ALLOC_CLASSES] __asm__("hk_alloc_classes") __attribute__((used));
static hk_alloc_module g_modules[HK_MODULES_MAX];
_Static_assert(sizeof *g_classes == CLASS_BYTES, "as the entry points have it");

// ----------------------------------------------------------------------------------------- classes

// The entry of this vtable, old or new; NULL if there are too many. Entries stay as long as their
// module, so that a call that is under way when we leave finds its way.
static hk_alloc_class *class_of(uintptr_t address)
{
    hk_alloc_class *unused = NULL;
    for (size_t i = 0; i < HK_ALLOC_CLASSES; i++) {
        uintptr_t known = atomic_load(&g_classes[i].address);
        if (known == address)
            return &g_classes[i];
        if (!known && !unused)
            unused = &g_classes[i];
    }
    return unused;
}

void hk_alloc_classes_clear(void)
{
    for (size_t i = 0; i < HK_ALLOC_CLASSES; i++)
        atomic_store(&g_classes[i].id, 0);
}

// ---------------------------------------------------------------------------------- swap, restore

// A function of a class: its slot, what was there, what leads to us.
typedef struct change {
    unsigned slot;
    void *original, *entry;
} change;

enum { CHANGES = 5 };

static void *entry_at(const uint8_t *entries, const hk_alloc_class *c)
{
    return (void *)(uintptr_t)(entries + (c - g_classes) * HK_ENTRY_BYTES);
}

// What releases comes first: memory that we saw allocated is seen released. Slot 0 is the
// destructor; of other classes than arenas it stays as it is.
static unsigned changes_of(const hk_alloc_class *c, change out[CHANGES])
{
    const hk_allocator_slots *slots = &c->module->found.slots;
    unsigned n = 0;
    if (c->is_arena)
        out[n++] = (change){0, (void *)(uintptr_t)c->destroy, entry_at(destroy_entries, c)};
    out[n++] = (change){slots->free, (void *)(uintptr_t)c->free, entry_at(free_entries, c)};
    out[n++] =
        (change){slots->reserve, (void *)(uintptr_t)c->reserve, entry_at(reserve_entries, c)};
    if (slots->on_stream)
        out[n++] = (change){slots->on_stream, (void *)(uintptr_t)c->on_stream,
                            entry_at(on_stream_entries, c)};
    out[n++] = (change){slots->alloc, (void *)(uintptr_t)c->alloc, entry_at(alloc_entries, c)};
    return n;
}

static void **vtable_of(const hk_alloc_class *c)
{
    return (void **)atomic_load(&c->address);
}

static bool is_untouched(const hk_alloc_module *m, void **vtable)
{
    for (int i = 0; i < m->found.slots.count; i++)
        if (!hk_scan_in_code(&m->scan, (uint64_t)(uintptr_t)hk_slot_get(&vtable[i])))
            return false;
    return true;
}

static hk_alloc_class *note(hk_alloc_module *m, uint32_t i)
{
    const hk_allocator_slots *slots = &m->found.slots;
    void **vtable = (void **)(void *)(m->base + m->found.rvas[i]);
    hk_alloc_class *c = is_untouched(m, vtable) ? class_of((uintptr_t)vtable) : NULL;
    if (!c)
        return NULL;
    c->destroy = (hk_arena_destroy_fn *)(uintptr_t)hk_slot_get(&vtable[0]);
    c->alloc = (hk_allocate_fn *)(uintptr_t)hk_slot_get(&vtable[slots->alloc]);
    c->reserve = (hk_allocate_fn *)(uintptr_t)hk_slot_get(&vtable[slots->reserve]);
    c->on_stream = (hk_allocate_on_fn *)(uintptr_t)hk_slot_get(&vtable[slots->on_stream]);
    c->free = (hk_release_fn *)(uintptr_t)hk_slot_get(&vtable[slots->free]);
    c->module = m;
    c->is_arena = m->found.is_arena[i];
    atomic_store(&c->address, (uintptr_t)vtable);
    return c;
}

// True if the class leads to us in all its functions.
static bool swap_one(hk_alloc_module *m, uint32_t i, hk_slot_guard *g)
{
    change changes[CHANGES];
    hk_alloc_class *c = note(m, i);
    unsigned n = c ? changes_of(c, changes) : 0;
    bool all = c != NULL;
    for (unsigned k = 0; k < n; k++)
        if (!hk_slot_change(g, vtable_of(c) + changes[k].slot, changes[k].original,
                            changes[k].entry))
            all = false;
    return all;
}

// How many of the module's classes lead to us.
static uint32_t swap(hk_alloc_module *m)
{
    hk_slot_guard g = {0};
    uint32_t swapped = 0;
    m->swapped = true;
    for (uint32_t i = 0; i < m->found.count; i++)
        swapped += swap_one(m, i, &g);
    hk_slots_close(&g);
    return swapped;
}

void hk_alloc_add_class(hk_alloc_module *m, uint32_t rva)
{
    hk_slot_guard g = {0};
    AcquireSRWLockExclusive(&g_hk.lock);
    if ((atomic_load(&g_hk.epoch) & 1) && m->base && m->swapped && !m->has_plain &&
        m->found.count < HK_ALLOCATORS_MAX) {
        m->found.rvas[m->found.count] = rva;
        m->found.is_arena[m->found.count] = false;
        swap_one(m, m->found.count++, &g);
        hk_slots_close(&g);
        atomic_store(&m->has_plain, 1);
    }
    ReleaseSRWLockExclusive(&g_hk.lock);
}

// A slot that somebody else has changed meanwhile stays as it is: what they saved is our function,
// which goes on working.
static void restore(hk_alloc_module *m)
{
    hk_slot_guard g = {0};
    change changes[CHANGES];
    for (size_t i = 0; i < HK_ALLOC_CLASSES && m->swapped; i++) {
        hk_alloc_class *c = &g_classes[i];
        uintptr_t inside = atomic_load(&c->address) - (uintptr_t)m->base;
        if (c->module != m || inside >= m->scan.size)
            continue;
        for (unsigned k = changes_of(c, changes); k > 0; k--)
            hk_slot_change(&g, vtable_of(c) + changes[k - 1].slot, changes[k - 1].entry,
                           changes[k - 1].original);
    }
    hk_slots_close(&g);
    m->swapped = false;
}

// ----------------------------------------------------------------------------------------- modules

hk_alloc_module *hk_alloc_module_of(const uint8_t *base)
{
    for (int i = 0; i < HK_MODULES_MAX; i++)
        if (g_modules[i].base == base)
            return &g_modules[i];
    return NULL;
}

const char *hk_alloc_arm(uint8_t *base, hk_module *runtime)
{
    if (!(g_hk.flags & ORT_HOOK_ALLOC_STATS) || hk_alloc_module_of(base))
        return NULL;
    if (!hk_alloc_module_of(runtime->base) && base != runtime->base)
        return "those of its runtime are not";
    hk_alloc_module *m = hk_alloc_module_of(NULL);
    if (!m)
        return "too many modules with allocators are loaded";
    if (!hk_image_scan(&m->scan, base))
        return "its image can't be read";
    const char *problem = base == runtime->base
                              ? hk_scan_allocators(&m->scan, runtime->minor, &m->found)
                              : hk_scan_provider_allocators(&m->scan, runtime->minor, &m->found);
    if (problem)
        return problem;
    m->base = base;
    m->runtime = runtime;
    atomic_store(&m->attempts, 0);
    atomic_store(&m->has_plain, 0);
    atomic_store(&m->distrusted, 0);
    if (swap(m) == m->found.count)
        return NULL;
    return "another tool has changed some of the allocators, which are left alone";
}

void hk_alloc_disarm(void)
{
    hk_alloc_default_disarm();
    for (int i = 0; i < HK_MODULES_MAX; i++)
        if (g_modules[i].base) {
            restore(&g_modules[i]);
            g_modules[i].base = NULL;
        }
}

// A provider whose runtime is gone is left alone.
static void let_go_of_providers(const uint8_t *runtime)
{
    for (int i = 0; i < HK_MODULES_MAX; i++) {
        hk_alloc_module *m = &g_modules[i];
        if (m->base && m->base != runtime && m->runtime->base == runtime) {
            restore(m);
            m->base = NULL;
        }
    }
}

void hk_alloc_forget(const uint8_t *base, size_t size)
{
    hk_module *runtime = base ? hk_module_slot(base) : NULL;
    if (runtime && runtime->base == base)
        hk_alloc_default_forget(runtime);
    hk_alloc_module *m = base ? hk_alloc_module_of(base) : NULL;
    if (m) {
        m->base = NULL;
        hk_arenas_forget(m);
    }
    if (base)
        let_go_of_providers(base);
    for (size_t i = 0; i < HK_ALLOC_CLASSES; i++)
        if (atomic_load(&g_classes[i].address) - (uintptr_t)base < size)
            atomic_store(&g_classes[i].address, 0);
}
