// SPDX-License-Identifier: MIT
// The GUID of a provider from its name: the first 16 bytes of a SHA-1 over a fixed namespace and
// the name in capitals as UTF-16 big-endian, marked as version 5. Programs that know the name alone
// (`wpr`, PerfView's `*Name`) find the provider so.
#include "tracelogging/etw.h"

#include <stdio.h>
#include <string.h>

typedef struct sha1 {
    uint32_t state[5];
    uint8_t block[64];
    uint64_t bytes;
} sha1;

static uint32_t rotate(uint32_t value, unsigned bits)
{
    return value << bits | value >> (32 - bits);
}

static void mix_block(sha1 *s)
{
    uint32_t w[80], v[5];
    for (unsigned i = 0; i < 16; i++)
        w[i] = (uint32_t)s->block[4 * i] << 24 | (uint32_t)s->block[4 * i + 1] << 16 |
               (uint32_t)s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
    for (unsigned i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    memcpy(v, s->state, sizeof v);
    for (unsigned i = 0; i < 80; i++) {
        static const uint32_t constants[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
        uint32_t choice = i < 20              ? (v[1] & v[2]) | (~v[1] & v[3])
                          : i >= 40 && i < 60 ? (v[1] & v[2]) | (v[1] & v[3]) | (v[2] & v[3])
                                              : v[1] ^ v[2] ^ v[3];
        uint32_t next = rotate(v[0], 5) + choice + v[4] + constants[i / 20] + w[i];
        v[4] = v[3];
        v[3] = v[2];
        v[2] = rotate(v[1], 30);
        v[1] = v[0];
        v[0] = next;
    }
    for (unsigned i = 0; i < 5; i++)
        s->state[i] += v[i];
}

static void add_byte(sha1 *s, unsigned byte)
{
    s->block[s->bytes++ % 64] = (uint8_t)byte;
    if (s->bytes % 64 == 0)
        mix_block(s);
}

static void finish(sha1 *s, uint8_t out[16])
{
    uint64_t bits = s->bytes * 8;
    add_byte(s, 0x80);
    while (s->bytes % 64 != 56)
        add_byte(s, 0);
    for (unsigned i = 0; i < 8; i++)
        add_byte(s, (unsigned)(bits >> (56 - 8 * i)) & 0xff);
    for (unsigned i = 0; i < 16; i++)
        out[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void tl_guid_of_name(const char *name, uint8_t out[16])
{
    static const uint8_t name_space[16] = {0x48, 0x2c, 0x2d, 0xb2, 0xc3, 0x90, 0x47, 0xc8,
                                           0x87, 0xf8, 0x1a, 0x15, 0xbf, 0xc1, 0x30, 0xfb};
    sha1 s = {.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};
    for (unsigned i = 0; i < sizeof name_space; i++)
        add_byte(&s, name_space[i]);
    for (; *name; name++) {
        add_byte(&s, 0);
        add_byte(&s, (uint8_t)(*name >= 'a' && *name <= 'z' ? *name - 32 : *name));
    }
    finish(&s, out);
    out[7] = (uint8_t)((out[7] & 0x0f) | 0x50);
}

void tl_guid_text(const uint8_t g[16], char out[TL_GUID_TEXT])
{
    snprintf(out, TL_GUID_TEXT,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", g[3], g[2],
             g[1], g[0], g[5], g[4], g[7], g[6], g[8], g[9], g[10], g[11], g[12], g[13], g[14],
             g[15]);
}
