// SPDX-License-Identifier: MIT
// Decides what becomes of invalid text: one U+FFFD for each lone surrogate, and for each longest
// start of a well-formed UTF-8 sequence that is broken off (as the Unicode standard recommends).
// Must never call anything: the hook DLL links this file.
#include "common/utf.h"

#define REPLACEMENT 0xfffdu

uint32_t cm_utf8_take(const char *text, size_t len, size_t *pos, bool *valid)
{
    const unsigned char *in = (const unsigned char *)text;
    unsigned lead = in[(*pos)++];
    *valid = true;
    if (lead < 0x80)
        return lead;
    // The limits of the second byte shut out overlong forms, surrogates and what is past U+10FFFF.
    unsigned more, low = 0x80, high = 0xbf;
    uint32_t value;
    if (lead >= 0xc2 && lead <= 0xdf) {
        more = 1;
        value = lead & 0x1fu;
    } else if (lead >= 0xe0 && lead <= 0xef) {
        more = 2;
        value = lead & 0x0fu;
        low = lead == 0xe0 ? 0xa0 : low;
        high = lead == 0xed ? 0x9f : high;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        more = 3;
        value = lead & 0x07u;
        low = lead == 0xf0 ? 0x90 : low;
        high = lead == 0xf4 ? 0x8f : high;
    } else {
        *valid = false;
        return REPLACEMENT;
    }
    for (; more > 0; more--) {
        // A NUL is below `low`, so that a NUL-terminated input is never overrun.
        if (*pos >= len || in[*pos] < low || in[*pos] > high) {
            *valid = false;
            return REPLACEMENT;
        }
        value = value << 6 | (in[(*pos)++] & 0x3fu);
        low = 0x80;
        high = 0xbf;
    }
    return value;
}

static uint32_t take_utf16(const uint16_t *in, size_t count, size_t *pos)
{
    uint32_t unit = in[(*pos)++];
    if (unit < 0xd800 || unit > 0xdfff)
        return unit;
    if (unit > 0xdbff || *pos >= count || in[*pos] < 0xdc00 || in[*pos] > 0xdfff)
        return REPLACEMENT;
    return 0x10000u + ((unit - 0xd800u) << 10) + (in[(*pos)++] - 0xdc00u);
}

static size_t utf8_size(uint32_t c)
{
    return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

static void put_utf8(char *out, uint32_t c, size_t size)
{
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (char)(0x80u | (c & 0x3fu));
        c >>= 6;
    }
    out[0] = (char)(leads[size] | c);
}

// One more character at the end of `out` (NULL: only counts); false if there is no room.
static bool append_utf8(char *out, size_t out_cap, size_t *len, uint32_t c)
{
    size_t size = utf8_size(c);
    if (out && size >= out_cap - *len)
        return false;
    if (out)
        put_utf8(out + *len, c, size);
    *len += size;
    return true;
}

size_t cm_utf16_to_utf8(const uint16_t *in, size_t in_count, char *out, size_t out_cap)
{
    size_t len = 0;
    if (out && out_cap == 0)
        return 0;
    for (size_t pos = 0; pos < in_count && (in_count != CM_UTF_NUL || in[pos] != 0);) {
        if (!append_utf8(out, out_cap, &len, take_utf16(in, in_count, &pos)))
            break;
    }
    if (out)
        out[len] = 0;
    return len;
}

size_t cm_utf8_to_utf16(const char *in, size_t in_len, uint16_t *out, size_t out_cap)
{
    size_t count = 0;
    if (out && out_cap == 0)
        return 0;
    for (size_t pos = 0; pos < in_len && (in_len != CM_UTF_NUL || in[pos] != 0);) {
        bool valid;
        uint32_t c = cm_utf8_take(in, in_len, &pos, &valid);
        size_t units = c >= 0x10000 ? 2 : 1;
        if (out) {
            if (units >= out_cap - count)
                break;
            if (units == 2) {
                out[count] = (uint16_t)(0xd800u + ((c - 0x10000u) >> 10));
                out[count + 1] = (uint16_t)(0xdc00u + ((c - 0x10000u) & 0x3ffu));
            } else {
                out[count] = (uint16_t)c;
            }
        }
        count += units;
    }
    if (out)
        out[count] = 0;
    return count;
}

size_t cm_utf8_repair(const char *in, size_t in_len, char *out, size_t out_cap)
{
    size_t len = 0;
    if (out && out_cap == 0)
        return 0;
    for (size_t pos = 0; pos < in_len && (in_len != CM_UTF_NUL || in[pos] != 0);) {
        bool valid;
        if (!append_utf8(out, out_cap, &len, cm_utf8_take(in, in_len, &pos, &valid)))
            break;
    }
    if (out)
        out[len] = 0;
    return len;
}

bool cm_utf8_valid(const char *in, size_t in_len)
{
    bool valid = true;
    for (size_t pos = 0; valid && pos < in_len && (in_len != CM_UTF_NUL || in[pos] != 0);)
        cm_utf8_take(in, in_len, &pos, &valid);
    return valid;
}
