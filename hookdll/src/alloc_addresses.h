// SPDX-License-Identifier: MIT
// The memory that is allocated right now, by address: how large it is and in which run it was
// taken. Lock-free, of a fixed size, portable.
//
// It relies on what every allocator promises: an address is handed out to one owner at a time. It
// is put in after the allocator has returned it and taken out before it is given back, so no two
// threads ever work on the same address; they only meet at free places.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HK_ADDRESS_BUCKETS 8192u // a power of two
#define HK_ADDRESS_WAYS    8u

typedef struct hk_address_bucket {
    _Atomic uint64_t keys[HK_ADDRESS_WAYS]; // 0: free
    _Atomic uint64_t notes[HK_ADDRESS_WAYS];
} hk_address_bucket;

typedef struct hk_addresses {
    hk_address_bucket buckets[HK_ADDRESS_BUCKETS];
} hk_addresses;

// What is kept of an allocation: 40 bits of size, 24 that stand for its run.
static inline uint64_t hk_address_note(uint64_t bytes, uint32_t run_tag)
{
    uint64_t most = ((uint64_t)1 << 40) - 1;
    return (bytes < most ? bytes : most) | (uint64_t)run_tag << 40;
}

static inline uint64_t hk_address_bytes(uint64_t note)
{
    return note & (((uint64_t)1 << 40) - 1);
}

static inline uint32_t hk_address_tag(uint64_t note)
{
    return (uint32_t)(note >> 40);
}

// False: there is no room near its place, and its size will not be known. Replaces what is known
// of the address: its release was not seen.
bool hk_addresses_put(hk_addresses *a, const void *address, uint64_t note);

// The note, and forgets the address; 0: not known.
uint64_t hk_addresses_take(hk_addresses *a, const void *address);

void hk_addresses_clear(hk_addresses *a); // while nobody puts or takes
