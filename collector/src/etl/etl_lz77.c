// SPDX-License-Identifier: MIT
#include "etl_lz77.h"

#include "etl_bytes.h"

typedef struct lz77_input {
    etl_cursor in;
    const uint8_t *half; // a byte whose upper four bits are still to be used
    bool damaged;        // no compressor writes this
} lz77_input;

// Lengths grow: 3 bits, 4 bits (two of them share a byte), 8, 16, 32.
static bool take_length(lz77_input *s, unsigned bits, size_t *out)
{
    size_t length = bits;
    if (length == 7) {
        const uint8_t *p = s->half;
        if (p) {
            length = *p >> 4;
            s->half = NULL;
        } else {
            p = s->half = etl_take(&s->in, 1);
            if (!p)
                return false;
            length = *p & 15u;
        }
        if (length == 15) {
            if (!(p = etl_take(&s->in, 1)))
                return false;
            length = *p;
            if (length == 255) {
                if (!(p = etl_take(&s->in, 2)))
                    return false;
                length = etl_u16(p);
                if (length == 0) {
                    if (!(p = etl_take(&s->in, 4)))
                        return false;
                    length = etl_u32(p);
                }
                s->damaged = length < 15 + 7;
                length -= s->damaged ? length : 15 + 7;
            }
            length += 15;
        }
        length += 7;
    }
    *out = length + 3;
    return true;
}

static bool copy_match(lz77_input *s, uint8_t *out, size_t out_cap, size_t *at)
{
    const uint8_t *p = etl_take(&s->in, 2);
    size_t length;
    if (!p || !take_length(s, etl_u16(p) & 7u, &length))
        return false;
    size_t back = (etl_u16(p) >> 3) + 1u;
    s->damaged |= back > *at || length > out_cap - *at;
    if (s->damaged)
        return false;
    for (size_t i = 0; i < length; i++, (*at)++) // may overlap: byte by byte
        out[*at] = out[*at - back];
    return true;
}

bool co_etl_lz77(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_cap, size_t *out_len)
{
    lz77_input s = {.in = {in, in + in_len}};
    uint32_t flags = 0;
    unsigned flag_count = 0;
    size_t at = 0;
    bool good = true;
    while (good && at < out_cap) {
        if (flag_count == 0) {
            const uint8_t *p = etl_take(&s.in, 4);
            if (!(good = p != NULL))
                break;
            flags = etl_u32(p);
            flag_count = 32;
        }
        flag_count--;
        if (flags >> flag_count & 1u) {
            good = copy_match(&s, out, out_cap, &at);
        } else {
            const uint8_t *p = etl_take(&s.in, 1);
            if ((good = p != NULL))
                out[at++] = *p;
        }
    }
    *out_len = s.damaged ? 0 : at;
    return good;
}
