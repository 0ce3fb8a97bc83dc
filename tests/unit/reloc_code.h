// SPDX-License-Identifier: MIT
// Code written as hex, for the tests of the prologue mover.
#pragma once

#include "reloc_x64.h"

#include <unity.h>

#include <stdlib.h>
#include <string.h>

static const uint64_t FUNCTION = 0x140001000;
static const uint64_t NEAR_BY = 0x140011000;
static const uint64_t FAR_AWAY = 0x7ff000000000;

static inline size_t parse_hex(const char *text, uint8_t *bytes, size_t max)
{
    size_t len = 0;
    while (*text) {
        char *end;
        unsigned long value = strtoul(text, &end, 16);
        if (end == text)
            break;
        TEST_ASSERT_LESS_THAN(max, len);
        bytes[len++] = (uint8_t)value;
        text = end;
    }
    return len;
}

// The bytes in a buffer of exactly their length, so that the sanitizer sees every overrun.
static inline hk_reloc_code code_of(const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1);
    TEST_ASSERT_NOT_NULL(copy);
    memcpy(copy, bytes, len);
    return (hk_reloc_code){.bytes = copy, .len = len, .address = FUNCTION};
}

static inline hk_reloc_code code_of_hex(const char *hex)
{
    uint8_t bytes[512];
    size_t len = parse_hex(hex, bytes, sizeof bytes);
    return code_of(bytes, len);
}

static inline void free_code(hk_reloc_code code)
{
    free((void *)(uintptr_t)code.bytes);
}
