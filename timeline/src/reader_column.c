// SPDX-License-Identifier: MIT
// The integers of a column. Most of the time that reading a timeline takes is spent here, so the
// marks that our writer uses are taken apart without mp_next(); what is near the end of the bytes,
// or no integer, is left to it.
#include "reader_internal.h"

#include <string.h>

#define LONGEST 9u // bytes of an integer, mark included

// The compiler would make a call of it for each number.
#define HOT static inline __attribute__((always_inline))

HOT uint64_t big_endian(const uint8_t *bytes, unsigned len)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < len; i++)
        value = value << 8 | bytes[i];
    return value;
}

// One integer of which LONGEST bytes are there; NULL if it is none.
HOT const uint8_t *take_integer(const uint8_t *at, uint64_t *out)
{
    if (*at < 0x80 || *at >= 0xe0) {
        *out = (uint64_t)(int8_t)*at;
        return at + 1;
    }
    switch (*at) {
    case 0xcc:
        *out = at[1];
        return at + 2;
    case 0xcd:
        *out = big_endian(at + 1, 2);
        return at + 3;
    case 0xce:
        *out = big_endian(at + 1, 4);
        return at + 5;
    case 0xd0:
        *out = (uint64_t)(int8_t)at[1];
        return at + 2;
    case 0xd1:
        *out = (uint64_t)(int16_t)big_endian(at + 1, 2);
        return at + 3;
    case 0xd2:
        *out = (uint64_t)(int32_t)big_endian(at + 1, 4);
        return at + 5;
    case 0xcf:
    case 0xd3:
        *out = big_endian(at + 1, 8);
        return at + 9;
    default:
        return NULL;
    }
}

// Eight integers that take one byte each and are not negative.
HOT bool are_eight_small(const uint8_t *at)
{
    uint64_t eight;
    memcpy(&eight, at, sizeof eight);
    return (eight & 0x8080808080808080u) == 0;
}

// As many rows as can be taken without looking at the end; how many that were.
HOT uint64_t take_most(mp_input *in, uint64_t rows, bool delta, uint64_t *value, int64_t *out)
{
    const uint8_t *at = in->at;
    uint64_t i = 0, sum = 0, one;
    while (i < rows && (size_t)(in->end - at) >= LONGEST) {
        if (*at < 0x80 && rows - i >= 8 && are_eight_small(at)) {
            for (unsigned k = 0; k < 8; k++) {
                sum = delta ? sum + at[k] : at[k];
                out[i + k] = (int64_t)sum;
            }
            at += 8;
            i += 8;
            continue;
        }
        const uint8_t *next = take_integer(at, &one);
        if (!next)
            break;
        sum = delta ? sum + one : one;
        out[i++] = (int64_t)sum;
        at = next;
    }
    in->at = at;
    *value = sum;
    return i;
}

// Lengths and values of stretches of equal rows, each in an array of its own.
static bool take_stretches(mp_input *in, uint64_t rows, bool delta, int64_t *out)
{
    mp_token count, more, token;
    if (mp_expect(in, MP_ARRAY, &count) != MP_OK || count.value > rows)
        return false;
    mp_input lengths = *in;
    for (uint64_t i = 0; i < count.value; i++)
        if (mp_expect(in, MP_INT, &token) != MP_OK)
            return false;
    if (mp_expect(in, MP_ARRAY, &more) != MP_OK || more.value != count.value)
        return false;
    uint64_t done = 0, value = 0, len;
    for (uint64_t i = 0; i < count.value; i++) {
        if (mp_unsigned(&lengths, &len) != MP_OK || len == 0 || len > rows - done ||
            mp_expect(in, MP_INT, &token) != MP_OK)
            return false;
        value = delta ? value + token.value : token.value;
        for (uint64_t end = done + len; done < end; done++)
            out[done] = (int64_t)value;
    }
    return done == rows;
}

static bool begins_with_array(const mp_input *in)
{
    mp_input ahead = *in;
    mp_token token;
    return mp_expect(&ahead, MP_ARRAY, &token) == MP_OK;
}

bool tm_take_column(mp_input *in, uint64_t rows, bool delta, int64_t *out)
{
    mp_token token;
    if (mp_next(in, &token) != MP_OK)
        return false;
    if (token.type == MP_INT) {
        for (uint64_t i = 0; i < rows; i++)
            out[i] = (int64_t)token.value;
        return true;
    }
    if (token.type == MP_ARRAY && token.value == 2 && begins_with_array(in))
        return take_stretches(in, rows, delta, out);
    if (token.type != MP_ARRAY || token.value != rows)
        return false;
    uint64_t value;
    uint64_t i =
        delta ? take_most(in, rows, true, &value, out) : take_most(in, rows, false, &value, out);
    for (; i < rows; i++) {
        if (mp_expect(in, MP_INT, &token) != MP_OK)
            return false;
        value = delta ? value + token.value : token.value;
        out[i] = (int64_t)value;
    }
    return true;
}
