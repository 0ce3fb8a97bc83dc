// SPDX-License-Identifier: MIT
// Any bytes as an image in which kernels are looked for. The interesting structures are laid over a
// frame that passes the first checks, or nothing would get far.
#include "op_scan.h"

#include <stdlib.h>
#include <string.h>

enum {
    PE = 0x40,
    OPTIONAL = PE + 24,
    SECTIONS = OPTIONAL + 240,
    FRAME = SECTIONS + 3 * 40,
    ROOM = 64
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(uint8_t *image, size_t at, uint32_t value)
{
    memcpy(image + at, &value, sizeof value);
}

static void put_section(uint8_t *image, size_t number, size_t begin, size_t end, uint32_t flags)
{
    put(image, SECTIONS + number * 40 + 8, (uint32_t)(end - begin));
    put(image, SECTIONS + number * 40 + 12, (uint32_t)begin);
    put(image, SECTIONS + number * 40 + 36, flags);
}

static void frame(uint8_t *image, size_t size)
{
    size_t third = (size - FRAME) / 3;
    memcpy(image, "MZ", 2);
    put(image, 0x3c, PE);
    put(image, PE, 0x4550);
    put(image, PE + 4, 3u << 16 | 0x8664);
    put(image, PE + 20, 240);
    put(image, OPTIONAL, 0x20b);
    put(image, OPTIONAL + 108, 16);
    put(image, OPTIONAL + 112 + 24, FRAME);
    put(image, OPTIONAL + 112 + 28, 36);
    put_section(image, 0, FRAME, FRAME + third, 0x60000020);
    put_section(image, 1, FRAME + third, FRAME + 2 * third, 0x40000040);
    put_section(image, 2, FRAME + 2 * third, size, 0xc0000040);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t first[ROOM], second[ROOM];
    size_t count;
    hk_scan scan;
    hk_kernels_found found;
    uint8_t *image = malloc(size ? size : 1);
    if (!image)
        return 0;
    memcpy(image, data, size);
    if (size > FRAME + 64 && data[FRAME] & 1)
        frame(image, size);
    if (hk_scan_open(&scan, image, size, 0x180000000u)) {
        hk_scan_kernels(&scan, first, second, ROOM, &count, &found);
        for (uint32_t at = 0; at < size; at += 8)
            hk_scan_class_name(&scan, at);
    }
    free(image);
    return 0;
}
