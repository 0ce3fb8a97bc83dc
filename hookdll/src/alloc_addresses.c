// SPDX-License-Identifier: MIT
// See alloc_addresses.h. An address has two buckets that it can be in, side by side; both are
// looked through to the end, so places that become free leave no trace.
#include "alloc_addresses.h"

#include <stddef.h>

enum { PLACES = 2 * HK_ADDRESS_WAYS };

static uint32_t bucket_of(uint64_t key)
{
    return (uint32_t)((key >> 4) * 0x9e3779b97f4a7c15u >> 32) % HK_ADDRESS_BUCKETS;
}

static hk_address_bucket *bucket_at(hk_addresses *a, uint32_t first, unsigned place)
{
    return &a->buckets[place < HK_ADDRESS_WAYS ? first : first ^ 1u];
}

static bool claim(hk_address_bucket *b, unsigned way, uint64_t key, uint64_t note)
{
    uint64_t free_place = 0;
    if (!atomic_compare_exchange_strong_explicit(&b->keys[way], &free_place, key,
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    atomic_store_explicit(&b->notes[way], note, memory_order_relaxed);
    return true;
}

bool hk_addresses_put(hk_addresses *a, const void *address, uint64_t note)
{
    uint64_t key = (uint64_t)(uintptr_t)address;
    uint32_t first = bucket_of(key);
    for (unsigned i = 0; i < PLACES; i++) {
        hk_address_bucket *b = bucket_at(a, first, i);
        unsigned way = i % HK_ADDRESS_WAYS;
        if (atomic_load_explicit(&b->keys[way], memory_order_relaxed) == key) {
            atomic_store_explicit(&b->notes[way], note, memory_order_relaxed);
            return true;
        }
    }
    for (unsigned i = 0; i < PLACES; i++) {
        hk_address_bucket *b = bucket_at(a, first, i);
        unsigned way = i % HK_ADDRESS_WAYS;
        if (!atomic_load_explicit(&b->keys[way], memory_order_relaxed) && claim(b, way, key, note))
            return true;
    }
    return false;
}

uint64_t hk_addresses_take(hk_addresses *a, const void *address)
{
    uint64_t key = (uint64_t)(uintptr_t)address;
    uint32_t first = bucket_of(key);
    for (unsigned i = 0; i < PLACES; i++) {
        hk_address_bucket *b = bucket_at(a, first, i);
        unsigned way = i % HK_ADDRESS_WAYS;
        if (atomic_load_explicit(&b->keys[way], memory_order_relaxed) != key)
            continue;
        uint64_t note = atomic_load_explicit(&b->notes[way], memory_order_relaxed);
        atomic_store_explicit(&b->keys[way], 0, memory_order_release);
        return note;
    }
    return 0;
}

void hk_addresses_clear(hk_addresses *a)
{
    for (size_t i = 0; i < HK_ADDRESS_BUCKETS; i++)
        for (unsigned way = 0; way < HK_ADDRESS_WAYS; way++)
            if (atomic_load_explicit(&a->buckets[i].keys[way], memory_order_relaxed))
                atomic_store_explicit(&a->buckets[i].keys[way], 0, memory_order_relaxed);
}
