// SPDX-License-Identifier: MIT
// Written from the published description of XXH64.
#include "xxh64.h"

#define P1 0x9e3779b185ebca87u
#define P2 0xc2b2ae3d27d4eb4fu
#define P3 0x165667b19e3779f9u
#define P4 0x85ebca77c2b2ae63u
#define P5 0x27d4eb2f165667c5u

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static uint64_t load64(const uint8_t *p)
{
    uint64_t x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}

static uint64_t load32(const uint8_t *p)
{
    uint32_t x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}

static uint64_t round_of(uint64_t acc, uint64_t input)
{
    return rotate(acc + input * P2, 31) * P1;
}

static uint64_t merge(uint64_t hash, uint64_t acc)
{
    return (hash ^ round_of(0, acc)) * P1 + P4;
}

static uint64_t stripes(const uint8_t **at, const uint8_t *end)
{
    uint64_t a[4] = {P1 + P2, P2, 0, 0 - P1};
    const uint8_t *p = *at;
    for (; end - p >= 32; p += 32)
        for (int i = 0; i < 4; i++)
            a[i] = round_of(a[i], load64(p + 8 * i));
    *at = p;
    uint64_t hash = rotate(a[0], 1) + rotate(a[1], 7) + rotate(a[2], 12) + rotate(a[3], 18);
    for (int i = 0; i < 4; i++)
        hash = merge(hash, a[i]);
    return hash;
}

uint64_t hk_xxh64(const void *data, size_t len)
{
    const uint8_t *p = data;
    const uint8_t *end = p + len;
    uint64_t hash = len >= 32 ? stripes(&p, end) : P5;
    hash += len;
    for (; end - p >= 8; p += 8)
        hash = rotate(hash ^ round_of(0, load64(p)), 27) * P1 + P4;
    for (; end - p >= 4; p += 4)
        hash = rotate(hash ^ load32(p) * P1, 23) * P2 + P3;
    for (; p < end; p++)
        hash = rotate(hash ^ *p * P5, 11) * P1;
    hash = (hash ^ hash >> 33) * P2;
    hash = (hash ^ hash >> 29) * P3;
    return hash ^ hash >> 32;
}
