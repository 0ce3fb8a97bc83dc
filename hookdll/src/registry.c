// SPDX-License-Identifier: MIT
#include "registry.h"

#define EMPTY   ((uintptr_t)0)
#define REMOVED ((uintptr_t)1)

static uint32_t place_of(const void *key)
{
    return (uint32_t)(((uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u) >> 52) % HK_REGISTRY_SLOTS;
}

static uint32_t slot_of(const hk_registry *r, const void *key, uintptr_t *found)
{
    uint32_t i = place_of(key);
    for (uint32_t n = 0; n < HK_REGISTRY_SLOTS; n++, i = (i + 1) % HK_REGISTRY_SLOTS) {
        *found = atomic_load_explicit(&r->keys[i], memory_order_acquire);
        if (*found == (uintptr_t)key || *found == EMPTY)
            return i;
    }
    *found = EMPTY;
    return HK_REGISTRY_SLOTS;
}

void *hk_registry_find(const hk_registry *r, const void *key)
{
    uintptr_t found;
    uint32_t i = slot_of(r, key, &found);
    if (found == EMPTY)
        return NULL;
    return atomic_load_explicit(&r->values[i], memory_order_acquire);
}

static uint32_t slot_for_new(const hk_registry *r, const void *key)
{
    uint32_t i = place_of(key);
    for (uint32_t n = 0; n < HK_REGISTRY_SLOTS; n++, i = (i + 1) % HK_REGISTRY_SLOTS) {
        uintptr_t k = atomic_load_explicit(&r->keys[i], memory_order_relaxed);
        if (k == EMPTY || k == REMOVED)
            return i;
    }
    return HK_REGISTRY_SLOTS;
}

static void list(hk_registry *r, uint32_t slot)
{
    uint32_t count = atomic_load(&r->used_count);
    if (r->is_listed[slot])
        return;
    r->is_listed[slot] = true;
    atomic_store(&r->used[count], (uint16_t)slot);
    atomic_store(&r->used_count, count + 1);
}

// Nothing that is in use moves: who looks at all of them at this moment would miss it.
static void shorten_list(hk_registry *r)
{
    uint32_t count = atomic_load(&r->used_count);
    while (count) {
        uint32_t slot = atomic_load(&r->used[count - 1]);
        if (atomic_load(&r->keys[slot]) > REMOVED)
            break;
        r->is_listed[slot] = false;
        count--;
    }
    atomic_store(&r->used_count, count);
}

bool hk_registry_add(hk_registry *r, const void *key, void *value)
{
    AcquireSRWLockExclusive(&r->lock);
    uintptr_t found;
    uint32_t i = slot_of(r, key, &found);
    bool is_new = found == EMPTY;
    if (is_new)
        i = slot_for_new(r, key);
    // A quarter stays empty, so that a search for an unknown key ends soon.
    bool fits = i < HK_REGISTRY_SLOTS && (!is_new || r->live < HK_REGISTRY_SLOTS / 4 * 3);
    if (fits) {
        atomic_store_explicit(&r->values[i], value, memory_order_release);
        atomic_store_explicit(&r->keys[i], (uintptr_t)key, memory_order_release);
        r->live += is_new;
        list(r, i);
    }
    ReleaseSRWLockExclusive(&r->lock);
    return fits;
}

// Slots of removed keys that nothing probes across any more become empty again.
static void sweep_removed(hk_registry *r, uint32_t i)
{
    if (atomic_load(&r->keys[(i + 1) % HK_REGISTRY_SLOTS]) != EMPTY)
        return;
    while (atomic_load(&r->keys[i]) == REMOVED) {
        atomic_store(&r->keys[i], EMPTY);
        i = (i + HK_REGISTRY_SLOTS - 1) % HK_REGISTRY_SLOTS;
    }
}

void *hk_registry_remove(hk_registry *r, const void *key)
{
    AcquireSRWLockExclusive(&r->lock);
    uintptr_t found;
    void *value = NULL;
    uint32_t i = slot_of(r, key, &found);
    if (found != EMPTY) {
        value = atomic_load(&r->values[i]);
        atomic_store(&r->keys[i], REMOVED);
        r->live--;
        sweep_removed(r, i);
        shorten_list(r);
    }
    ReleaseSRWLockExclusive(&r->lock);
    return value;
}

void *hk_registry_at(const hk_registry *r, uint32_t i)
{
    if (i >= hk_registry_used(r))
        return NULL;
    uint32_t slot = atomic_load_explicit(&r->used[i], memory_order_relaxed);
    if (atomic_load_explicit(&r->keys[slot], memory_order_acquire) <= REMOVED)
        return NULL;
    return atomic_load_explicit(&r->values[slot], memory_order_acquire);
}

void hk_registry_clear(hk_registry *r, void (*drop)(void *value))
{
    AcquireSRWLockExclusive(&r->lock);
    for (uint32_t i = 0; i < HK_REGISTRY_SLOTS; i++) {
        if (atomic_load(&r->keys[i]) > REMOVED)
            drop(atomic_load(&r->values[i]));
        atomic_store(&r->keys[i], EMPTY);
    }
    r->live = 0;
    shorten_list(r);
    ReleaseSRWLockExclusive(&r->lock);
}
