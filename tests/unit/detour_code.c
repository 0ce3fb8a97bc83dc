// SPDX-License-Identifier: MIT
#include "detour_code.h"

#include <stdlib.h>
#include <unity.h>

#include <windows.h>

enum { HELPER_DISTANCE = 64, SLICE = 256 };

const code_form code_forms[] = {
    {"plain", "48 89 c8 48 01 d0 c3", 70, 73},
    {"pushes", "55 53 56 48 83 ec 20 48 8d 04 11 48 83 c4 20 5e 5b 5d c3", 70, 73},
    {"RIP-relative load", "48 8b 05 05 00 00 00 48 01 c8 c3 cc 39 05 00 00 00 00 00 00", 1337,
     1340},
    {"RIP-relative with immediate", "83 3d 09 00 00 00 07 48 0f 44 ca 48 89 c8 c3 cc 07 00 00 00",
     70, 70},
    {"RIP-relative lea", "48 8d 05 02 00 00 00 8b 00 03 c1 c3", 0xccc3c103, 0xccc3c106},
    {"short jcc", "48 85 c9 74 04 48 89 c8 c3 48 89 d0 c3", 70, 3},
    {"near jcc",
     "85 c9 0f 85 10 00 00 00 48 89 d0 c3 cc cc cc cc cc cc cc cc cc cc cc cc "
     "48 89 c8 c3",
     70, 3},
    {"near jmp", "e9 bb ff ff ff cc", 70, 73},
    {"short jmp, padded", "eb be cc cc cc cc", 70, 73},
    {"foreign indirect jmp", "ff 25 0a 00 00 00 cc cc cc cc cc cc cc cc cc cc %helper", 70, 73},
    {"direct call", "48 83 ec 28 e8 b7 ff ff ff 48 83 c4 28 c3", 70, 73},
    {"call at once", "e8 bb ff ff ff c3", 70, 73},
    {"call through memory", "48 83 ec 28 ff 15 06 00 00 00 48 83 c4 28 c3 cc %helper", 70, 73},
    {"loop forward", "e2 05 48 89 d0 c3 cc 48 8d 04 11 c3", 69, 72},
    {"loop in the block", "48 ff c1 e2 fe 48 8d 04 11 c3", 70, 70},
    {"jrcxz", "e3 04 48 89 c8 c3 48 89 d0 c3", 70, 3},
    {"jecxz", "67 e3 04 89 c8 c3 cc 89 d0 c3", 70, 3},
    {"jump back into the patch, from inside it", "ff c1 ff c9 7f fc 89 d0 c3", 70, 70},
    {"branch back to the first byte", "48 83 c2 01 48 ff c9 7f f7 48 89 d0 c3", 71, 73},
    {"branch back into the patch", "31 c0 90 48 01 d0 48 ff c9 7f f8 c3", 70, 210},
    {"near jump back to the first byte", "48 83 c2 01 48 ff c9 7e 05 e9 f2 ff ff ff 48 89 d0 c3",
     71, 73},
    {"loop entered at its condition",
     "31 c0 eb 09 48 01 d0 85 c9 7e 0d 90 90 48 ff c9 90 90 90 90 79 ee c3 90 c3", 0, 210},
    {"jump over a byte", "eb 01 90 48 8d 04 11 c3", 70, 73},
    {"early return", "89 c8 e3 01 c3 89 d0 c3", 70, 3},
    {"tiny, int3 after it", "8b c1 c3 cc cc", 0, 3},
    {"tiny, nops after it", "8b c2 c3 66 90 90", 70, 70},
};
const unsigned code_form_count = sizeof code_forms / sizeof code_forms[0];

uint8_t *code_memory(uint32_t len)
{
    uint8_t *memory = VirtualAlloc(NULL, len, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    TEST_ASSERT_NOT_NULL(memory);
    memset(memory, 0xcc, len);
    DWORD old;
    TEST_ASSERT_TRUE(VirtualProtect(memory, len, PAGE_EXECUTE_READ, &old));
    return memory;
}

uint32_t code_write(uint8_t *at, const char *hex)
{
    uint8_t bytes[SLICE];
    uint32_t len = 0;
    while (*hex) {
        char *end;
        if (*hex == ' ') {
            hex++;
            continue;
        }
        if (*hex == '%') { // the address of the helper
            uint64_t helper = (uint64_t)(uintptr_t)(at - HELPER_DISTANCE);
            memcpy(bytes + len, &helper, 8);
            len += 8;
            break;
        }
        bytes[len++] = (uint8_t)strtoul(hex, &end, 16);
        TEST_ASSERT_TRUE(end != hex);
        hex = end;
    }
    DWORD old;
    TEST_ASSERT_TRUE(VirtualProtect(at, len, PAGE_EXECUTE_READWRITE, &old));
    memcpy(at, bytes, len);
    TEST_ASSERT_TRUE(VirtualProtect(at, len, old, &old));
    FlushInstructionCache(GetCurrentProcess(), at, len);
    return len;
}

uint8_t *code_make(const code_form *form)
{
    static uint8_t *memory;
    static uint32_t left;
    if (left < SLICE) {
        left = 65536;
        memory = code_memory(left);
    }
    uint8_t *function = memory + HELPER_DISTANCE;
    memory += SLICE;
    left -= SLICE;
    code_write(function - HELPER_DISTANCE, "48 8d 04 11 c3"); // lea rax, [rcx + rdx]; ret
    code_write(function, form->hex);
    return function;
}
