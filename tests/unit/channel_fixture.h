// SPDX-License-Identifier: MIT
// What the channel's tests share: sections of exact size (so that the address sanitizer sees one
// byte too many), records whose size and content follow from their number, and a small random
// generator with a fixed seed.
#pragma once

#include "channel_layout.h"
#include "tracelogging/channel.h"
#include "unity.h"

#include <stdlib.h>
#include <string.h>
#if defined(_WIN32)
#include <malloc.h>
#endif

static inline void *fixture_section(uint32_t ring_count, uint32_t ring_bytes, size_t *bytes)
{
    tl_layout layout;
    void *memory = NULL;
    TEST_ASSERT_TRUE(tl_layout_compute(ring_count, ring_bytes, &layout));
    *bytes = (size_t)layout.section_bytes;
#if defined(_WIN32)
    memory = _aligned_malloc(*bytes, 4096);
#else
    if (posix_memalign(&memory, 4096, *bytes) != 0)
        memory = NULL;
#endif
    TEST_ASSERT_NOT_NULL(memory);
    memset(memory, 0, *bytes);
    tl_layout_write(memory, ring_count, ring_bytes);
    return memory;
}

static inline void fixture_free(void *section)
{
#if defined(_WIN32)
    _aligned_free(section);
#else
    free(section);
#endif
}

static inline tl_ring_slot *fixture_slot(void *section, uint32_t ring)
{
    tl_section_header *header = section;
    return (tl_ring_slot *)(void *)((uint8_t *)section + header->directory_offset) + ring;
}

static inline uint8_t *fixture_ring(void *section, uint32_t ring)
{
    tl_section_header *header = section;
    return (uint8_t *)section + header->rings_offset + (size_t)ring * header->ring_bytes;
}

static inline uint64_t fixture_mix(uint64_t x) // splitmix64
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t fixture_random(uint64_t *state)
{
    return fixture_mix((*state)++);
}

static inline uint8_t fixture_byte(uint64_t number, size_t at)
{
    return (uint8_t)(fixture_mix(number) >> (at % 8 * 8)) ^ (uint8_t)(at / 8);
}

static inline void fixture_fill(uint8_t *payload, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        payload[i] = fixture_byte(number, i);
}

static inline bool fixture_matches(const uint8_t *payload, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (payload[i] != fixture_byte(number, i))
            return false;
    }
    return true;
}

// Record `number` with `bytes` of its content; its number travels in `ticks`.
static inline bool fixture_put(tl_producer *p, uint16_t event, uint64_t number, uint32_t bytes)
{
    uint8_t *payload = tl_producer_begin(p, bytes);
    if (payload == NULL)
        return false;
    fixture_fill(payload, number, bytes);
    tl_producer_end(p, event, number, bytes);
    return true;
}
