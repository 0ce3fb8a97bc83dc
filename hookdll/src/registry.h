// SPDX-License-Identifier: MIT
// A table from ORT's object addresses to ours. Looking up takes no lock; adding and removing do.
// Values must be type-stable memory (never given back to the heap while hooks may run): a lookup
// that races with a removal may return a value that is on its way out.
#pragma once

#include "hook.h"

#define HK_REGISTRY_SLOTS 4096u // live objects of one kind; more are not tracked

typedef struct hk_registry {
    SRWLOCK lock;
    uint32_t live;
    _Atomic(uintptr_t) keys[HK_REGISTRY_SLOTS];
    _Atomic(void *) values[HK_REGISTRY_SLOTS];
    // For looking at all: slots that are in use, and some that were. One that is stays at its
    // place.
    _Atomic uint32_t used_count;
    _Atomic uint16_t used[HK_REGISTRY_SLOTS];
    bool is_listed[HK_REGISTRY_SLOTS]; // there
} hk_registry;

void *hk_registry_find(const hk_registry *r, const void *key);
bool hk_registry_add(hk_registry *r, const void *key, void *value); // false: full. Replaces.
void *hk_registry_remove(hk_registry *r, const void *key);          // the value, NULL if unknown

// For looking at all values, without a lock: the value at `i`, NULL if there is none any more. What
// comes meanwhile may be missed.
static inline uint32_t hk_registry_used(const hk_registry *r)
{
    return atomic_load_explicit(&r->used_count, memory_order_acquire);
}
void *hk_registry_at(const hk_registry *r, uint32_t i);

// Empties the table, handing each value to `drop`.
void hk_registry_clear(hk_registry *r, void (*drop)(void *value));
