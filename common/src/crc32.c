// SPDX-License-Identifier: MIT
// Eight bytes at a time ("slicing by 8"): every byte of a timeline that is read goes through here.
// A table's entry is the sum of the entries of its bits, so that eight numbers make 256, by the
// compiler, and there is nothing to initialise.
#include "common/crc32.h"

#define B(bits, n, value) ((bits) >> (n)&1 ? (value) : 0u)
#define E(i, a, b, c, d, e, f, g, h)                                                               \
    (B(i, 0, a) ^ B(i, 1, b) ^ B(i, 2, c) ^ B(i, 3, d) ^ B(i, 4, e) ^ B(i, 5, f) ^ B(i, 6, g) ^    \
     B(i, 7, h))
#define E4(i, ...)                                                                                 \
    E(i, __VA_ARGS__), E(i + 1, __VA_ARGS__), E(i + 2, __VA_ARGS__), E(i + 3, __VA_ARGS__)
#define E16(i, ...)                                                                                \
    E4(i, __VA_ARGS__), E4(i + 4, __VA_ARGS__), E4(i + 8, __VA_ARGS__), E4(i + 12, __VA_ARGS__)
#define E64(i, ...)                                                                                \
    E16(i, __VA_ARGS__), E16(i + 16, __VA_ARGS__), E16(i + 32, __VA_ARGS__),                       \
        E16(i + 48, __VA_ARGS__)
#define T(...)                                                                                     \
    {                                                                                              \
        E64(0u, __VA_ARGS__), E64(64u, __VA_ARGS__), E64(128u, __VA_ARGS__),                       \
            E64(192u, __VA_ARGS__)                                                                 \
    }

// tables[k][b]: what byte b becomes when k more bytes follow it.
static const uint32_t tables[8][256] = {
    T(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832, 0x1db71064, 0x3b6e20c8, 0x76dc4190,
      0xedb88320),
    T(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08, 0x4ac21251, 0x958424a2, 0xf0794f05,
      0x3b83984b),
    T(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8, 0x1c26a370, 0x384d46e0, 0x709a8dc0,
      0xe1351b80),
    T(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef, 0x5019579f, 0xa032af3e, 0x9b14583d,
      0xed59b63b),
    T(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1, 0x60e09782, 0xc1c12f04, 0x58f35849,
      0xb1e6b092),
    T(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d, 0x03d6029b, 0x07ac0536, 0x0f580a6c,
      0x1eb014d8),
    T(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67, 0x67de9cce, 0xcfbd399c, 0x440b7579,
      0x8816eaf2),
    T(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5, 0x7cbb312b, 0xf9766256, 0x299dc2ed,
      0x533b85da),
};

// The byte order of the machine does not matter here.
static uint32_t little_endian(const uint8_t *b)
{
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

uint32_t cm_crc32(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *at = data;
    crc = ~crc;
    for (; len >= 8; len -= 8, at += 8) {
        uint32_t low = crc ^ little_endian(at), high = little_endian(at + 4);
        crc = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^
              tables[4][low >> 24] ^ tables[3][high & 255] ^ tables[2][high >> 8 & 255] ^
              tables[1][high >> 16 & 255] ^ tables[0][high >> 24];
    }
    for (; len > 0; len--, at++)
        crc = crc >> 8 ^ tables[0][(crc ^ *at) & 255];
    return ~crc;
}
