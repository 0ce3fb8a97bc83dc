// SPDX-License-Identifier: MIT
// What the files of the scanner share.
#pragma once

#include "op_scan.h"

#include <emmintrin.h>

static inline uint16_t hk_get16(const uint8_t *at)
{
    uint16_t value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
}

static inline uint32_t hk_get32(const uint8_t *at)
{
    uint32_t value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
}

static inline uint64_t hk_get64(const uint8_t *at)
{
    uint64_t value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
}

// The next place from `at` on that holds `byte`, `end` if there is none. Tens of megabytes of code
// are searched this way while a program waits.
static inline uint32_t hk_scan_next_byte(const uint8_t *bytes, uint32_t at, uint32_t end,
                                         uint8_t byte)
{
    const __m128i wanted = _mm_set1_epi8((char)byte);
    for (; end - at >= 16; at += 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)(const void *)(bytes + at));
        unsigned hits = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(block, wanted));
        if (hits)
            return at + (uint32_t)__builtin_ctz(hits);
    }
    while (at < end && bytes[at] != byte)
        at++;
    return at;
}

// The section that holds these bytes wholly, or NULL.
const hk_scan_section *hk_scan_section_of(const hk_scan *s, uint32_t rva, size_t bytes);

// True if code takes this address: constructors do that with the beginning of a vtable.
bool hk_scan_is_mentioned(const hk_scan *s, uint32_t rva);
bool hk_scan_is_vtable(const hk_scan *s, uint32_t rva, unsigned slots);
void hk_scan_list_add(hk_scan_list *list, uint32_t rva);
uint32_t hk_scan_find_text(const hk_scan *s, const char *text, bool writable, unsigned *count);
