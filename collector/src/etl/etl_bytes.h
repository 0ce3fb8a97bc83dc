// SPDX-License-Identifier: MIT
// Little-endian numbers at any address, and a cursor that never goes past the end.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint16_t etl_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t etl_u32(const uint8_t *p)
{
    return (uint32_t)etl_u16(p) | (uint32_t)etl_u16(p + 2) << 16;
}

static inline uint64_t etl_u64(const uint8_t *p)
{
    return (uint64_t)etl_u32(p) | (uint64_t)etl_u32(p + 4) << 32;
}

// `size` is 1, 2, 4 or 8.
static inline uint64_t etl_number(const uint8_t *p, unsigned size)
{
    return size == 1 ? p[0] : size == 2 ? etl_u16(p) : size == 4 ? etl_u32(p) : etl_u64(p);
}

typedef struct etl_cursor {
    const uint8_t *at, *end;
} etl_cursor;

static inline size_t etl_left(const etl_cursor *c)
{
    return (size_t)(c->end - c->at);
}

// The next `len` bytes, NULL if there are fewer; then nothing is taken.
static inline const uint8_t *etl_take(etl_cursor *c, size_t len)
{
    if (len > etl_left(c))
        return NULL;
    const uint8_t *p = c->at;
    c->at += len;
    return p;
}

// Text up to its NUL (of one or two bytes, `unit`) or to the end; the NUL is taken, not counted.
static inline const uint8_t *etl_take_text(etl_cursor *c, unsigned unit, size_t *out_len)
{
    const uint8_t *start = c->at;
    size_t len = 0, left = etl_left(c);
    while (len + unit <= left && etl_number(start + len, unit) != 0)
        len += unit;
    c->at += len + unit <= left ? len + unit : left;
    *out_len = len;
    return start;
}

// A SID: revision, count, authority, then 4 bytes each. NULL if it is none or cut.
static inline const uint8_t *etl_take_sid(etl_cursor *c, size_t *out_len)
{
    if (etl_left(c) < 8 || c->at[1] > 15)
        return NULL;
    *out_len = 8 + 4u * c->at[1];
    return etl_take(c, *out_len);
}
