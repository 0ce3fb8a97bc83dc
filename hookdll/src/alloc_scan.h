// SPDX-License-Identifier: MIT
// Which vtables of an image are allocators', and which of their slots are what. Portable.
#pragma once

#include "op_scan.h"

#define HK_ALLOCATORS_MAX 48u // classes in one module

typedef struct hk_allocator_slots {
    uint8_t count;                                  // functions that every allocator has
    uint8_t alloc, on_stream, free, reserve, stats; // on_stream 0: it is no virtual function
} hk_allocator_slots;

typedef struct hk_allocators {
    hk_allocator_slots slots;
    bool by_name; // the build names its classes; else only arenas are known
    uint32_t count;
    uint32_t rvas[HK_ALLOCATORS_MAX];
    bool is_arena[HK_ALLOCATORS_MAX];
} hk_allocators;

// True if what is at `rva` can be the vtable of an allocator that is no abstract class.
bool hk_scan_is_allocator(const hk_scan *s, const hk_allocator_slots *slots, uint32_t rva);
bool hk_scan_is_read_only(const hk_scan *s, uint32_t rva);

// `minor` is the Y of version 1.Y. NULL, or why nothing can be said for sure.
const char *hk_scan_allocators(const hk_scan *s, int minor, hk_allocators *out);

// The same for a provider's DLL, whose arenas are the runtime's: a device's allocators, by name.
const char *hk_scan_provider_allocators(const hk_scan *s, int minor, hk_allocators *out);
