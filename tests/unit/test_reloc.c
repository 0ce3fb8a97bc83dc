// SPDX-License-Identifier: MIT
// Moving prologues: every form that can be moved, byte for byte, near and far; every refusal; and
// random bytes, which must never crash, overrun a slot or change an output on failure.
#include "reloc_x64.h"

#include <unity.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t FUNCTION = 0x140001000;
static const uint64_t NEAR_BY = 0x140011000;
static const uint64_t FAR_AWAY = 0x7ff000000000;

void setUp(void) {}

void tearDown(void) {}

static size_t parse_hex(const char *text, uint8_t *bytes, size_t max)
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
static hk_reloc_code code_of(const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1);
    TEST_ASSERT_NOT_NULL(copy);
    memcpy(copy, bytes, len);
    return (hk_reloc_code){.bytes = copy, .len = len, .address = FUNCTION};
}

static hk_reloc_code code_of_hex(const char *hex)
{
    uint8_t bytes[512];
    size_t len = parse_hex(hex, bytes, sizeof bytes);
    return code_of(bytes, len);
}

static void free_code(hk_reloc_code code)
{
    free((void *)(uintptr_t)code.bytes);
}

typedef struct move_case {
    const char *name;
    const char *function;
    const char *near_by;  // the trampoline at NEAR_BY
    const char *far_away; // and at FAR_AWAY; null where it is refused with OUT_OF_RANGE
    unsigned moved_len;
} move_case;

// A jump back to FUNCTION + 5 from offset 5 of the trampoline is e9 rel32 with
// rel = FUNCTION + 5 - (NEAR_BY + 10) = -0x10005.
static const move_case moves[] = {
    {"five plain bytes", "48 89 5c 24 08 57", "48 89 5c 24 08 e9 fb ff fe ff",
     "48 89 5c 24 08 ff 25 00 00 00 00 05 10 00 40 01 00 00 00", 5},
    {"several short instructions", "55 53 56 48 83 ec 28 90", "55 53 56 48 83 ec 28 e9 fb ff fe ff",
     "55 53 56 48 83 ec 28 ff 25 00 00 00 00 07 10 00 40 01 00 00 00", 7},
    {"RIP-relative load", "48 8b 05 10 00 00 00 c3", "48 8b 05 10 00 ff ff e9 fb ff fe ff", NULL,
     7},
    {"RIP-relative compare with an immediate", "83 3d 10 00 00 00 07 c3",
     "83 3d 10 00 ff ff 07 e9 fb ff fe ff", NULL, 7},
    {"RIP-relative lea of itself", "48 8d 05 f9 ff ff ff c3", "48 8d 05 f9 ff fe ff e9 fb ff fe ff",
     NULL, 7},
    {"short jcc", "48 85 c9 74 10 c3", "48 85 c9 0f 84 0c 00 ff ff e9 f7 ff fe ff",
     "48 85 c9 75 0e ff 25 00 00 00 00 15 10 00 40 01 00 00 00 "
     "ff 25 00 00 00 00 05 10 00 40 01 00 00 00",
     5},
    {"near jcc", "0f 85 00 01 00 00 c3", "0f 85 00 01 ff ff e9 fb ff fe ff",
     "74 0e ff 25 00 00 00 00 06 11 00 40 01 00 00 00 "
     "ff 25 00 00 00 00 06 10 00 40 01 00 00 00",
     6},
    {"near jmp ends the function", "e9 00 01 00 00 cc", "e9 00 01 ff ff",
     "ff 25 00 00 00 00 05 11 00 40 01 00 00 00", 5},
    {"short jmp with padding", "eb 20 cc cc cc", "e9 1d 00 ff ff",
     "ff 25 00 00 00 00 22 10 00 40 01 00 00 00", 2},
    {"indirect jmp, as others patch", "ff 25 00 00 00 00 88", "ff 25 00 00 ff ff", NULL, 6},
    {"jmp with a bnd prefix", "f2 e9 00 01 00 00", "e9 01 01 ff ff",
     "ff 25 00 00 00 00 06 11 00 40 01 00 00 00", 6},
    {"call at the end of the block", "48 83 ec 28 e8 00 01 00 00 c3",
     "48 83 ec 28 e8 00 01 ff ff e9 fb ff fe ff",
     "48 83 ec 28 ff 15 02 00 00 00 eb 08 09 11 00 40 01 00 00 00 "
     "ff 25 00 00 00 00 09 10 00 40 01 00 00 00",
     9},
    {"call of itself", "e8 fb ff ff ff c3", "e8 fb ff fe ff e9 fb ff fe ff",
     "ff 15 02 00 00 00 eb 08 00 10 00 40 01 00 00 00 "
     "ff 25 00 00 00 00 05 10 00 40 01 00 00 00",
     5},
    {"indirect call at the end", "48 83 ec 28 ff d0 c3", "48 83 ec 28 ff d0 e9 fb ff fe ff",
     "48 83 ec 28 ff d0 ff 25 00 00 00 00 06 10 00 40 01 00 00 00", 6},
    {"indirect call through memory", "ff 15 10 00 00 00 c3", "ff 15 10 00 ff ff e9 fb ff fe ff",
     NULL, 6},
    {"loop", "89 c8 90 e2 10", "89 c8 90 e2 02 eb 05 e9 09 00 ff ff e9 f4 ff fe ff",
     "89 c8 90 e2 02 eb 0e ff 25 00 00 00 00 15 10 00 40 01 00 00 00 "
     "ff 25 00 00 00 00 05 10 00 40 01 00 00 00",
     5},
    {"jrcxz", "e3 10 48 89 c8", "e3 02 eb 05 e9 09 00 ff ff 48 89 c8 e9 f4 ff fe ff",
     "e3 02 eb 0e ff 25 00 00 00 00 12 10 00 40 01 00 00 00 48 89 c8 "
     "ff 25 00 00 00 00 05 10 00 40 01 00 00 00",
     5},
    {"jecxz keeps its prefix", "67 e3 10 89 c8",
     "67 e3 02 eb 05 e9 09 00 ff ff 89 c8 e9 f4 ff fe ff",
     "67 e3 02 eb 0e ff 25 00 00 00 00 13 10 00 40 01 00 00 00 89 c8 "
     "ff 25 00 00 00 00 05 10 00 40 01 00 00 00",
     5},
    {"backward loop inside the block", "ff c9 75 fc c3", "ff c9 0f 85 f8 ff ff ff c3",
     "ff c9 0f 85 f8 ff ff ff c3", 5},
    {"forward jump inside the block", "74 01 90 48 89 c8",
     "0f 84 01 00 00 00 90 48 89 c8 e9 f7 ff fe ff",
     "0f 84 01 00 00 00 90 48 89 c8 ff 25 00 00 00 00 06 10 00 40 01 00 00 00", 6},
    {"jump over a byte inside the block", "eb 01 90 89 c8",
     "e9 01 00 00 00 90 89 c8 e9 f8 ff fe ff",
     "e9 01 00 00 00 90 89 c8 ff 25 00 00 00 00 05 10 00 40 01 00 00 00", 5},
    {"loop instruction inside the block", "90 e2 fd 89 c8",
     "90 e2 02 eb 05 e9 f6 ff ff ff 89 c8 e9 f4 ff fe ff",
     "90 e2 02 eb 05 e9 f6 ff ff ff 89 c8 ff 25 00 00 00 00 05 10 00 40 01 00 00 00", 5},
    {"endless loop", "eb fe cc cc cc", "e9 fb ff ff ff", "e9 fb ff ff ff", 2},
    {"tiny body, int3 after it", "8b 01 c3 cc cc", "8b 01 c3", "8b 01 c3", 3},
    {"tiny body, nops after it", "c3 90 66 90 90", "c3", "c3", 1},
    {"tiny body, long nop after it", "33 c0 c3 0f 1f 40 00", "33 c0 c3", "33 c0 c3", 3},
    {"tiny body that traps", "0f 0b cc cc cc", "0f 0b", "0f 0b", 2},
    {"branch over an early return", "85 c9 75 01 c3", "85 c9 0f 85 fd ff fe ff c3",
     "85 c9 74 0e ff 25 00 00 00 00 05 10 00 40 01 00 00 00 c3", 5},
    {"system call stub", "4c 8b d1 b8 18 00 00 00 0f 05", "4c 8b d1 b8 18 00 00 00 e9 fb ff fe ff",
     "4c 8b d1 b8 18 00 00 00 ff 25 00 00 00 00 08 10 00 40 01 00 00 00", 8},
};

static void check_move(const move_case *c, uint64_t trampoline, const char *expected_hex)
{
    hk_reloc_code code = code_of_hex(c->function);
    hk_reloc_result result;
    hk_detour_reason reason = hk_reloc_move(&code, trampoline, 0, &result);
    if (!expected_hex) {
        TEST_ASSERT_EQUAL_STRING_MESSAGE("OUT_OF_RANGE", hk_detour_reason_name(reason), c->name);
    } else {
        uint8_t expected[HK_RELOC_OUT_MAX];
        size_t len = parse_hex(expected_hex, expected, sizeof expected);
        TEST_ASSERT_EQUAL_STRING_MESSAGE("OK", hk_detour_reason_name(reason), c->name);
        TEST_ASSERT_EQUAL_UINT_MESSAGE(len, result.len, c->name);
        TEST_ASSERT_EQUAL_HEX8_ARRAY_MESSAGE(expected, result.bytes, len, c->name);
        TEST_ASSERT_EQUAL_UINT_MESSAGE(c->moved_len, result.moved_len, c->name);
    }
    free_code(code);
}

static void test_forms_that_can_be_moved(void)
{
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        check_move(&moves[i], NEAR_BY, moves[i].near_by);
        check_move(&moves[i], FAR_AWAY, moves[i].far_away);
    }
}

static void test_longest_block_fits(void)
{
    // Four bytes, then the longest legal instruction (15 bytes).
    enum { LONGEST = 19 };
    hk_reloc_code code = code_of_hex("90 90 90 90 64 67 f0 48 81 84 80 00 00 00 00 78 56 34 12");
    hk_reloc_result result;
    TEST_ASSERT_EQUAL(HK_DETOUR_OK, hk_reloc_move(&code, FAR_AWAY, 0, &result));
    TEST_ASSERT_EQUAL(LONGEST, result.moved_len);
    TEST_ASSERT_EQUAL_HEX8_ARRAY(code.bytes, result.bytes, LONGEST);
    free_code(code);
}

typedef struct refusal {
    const char *name;
    const char *function;
    hk_detour_reason reason;
} refusal;

static const refusal refusals[] = {
    {"invalid in 64-bit mode", "06 90 90 90 90", HK_DETOUR_UNDECODABLE},
    {"cut off in the middle", "90 90 90 48 8b", HK_DETOUR_UNDECODABLE},
    {"no bytes at all", "", HK_DETOUR_UNDECODABLE},
    {"breakpoint at the start", "cc 48 83 ec 28", HK_DETOUR_BREAKPOINT},
    {"breakpoint later", "55 cc 48 83 ec 28", HK_DETOUR_BREAKPOINT},
    {"tiny body, then foreign code", "33 c0 c3 48 83 ec 28", HK_DETOUR_TOO_SMALL},
    {"tiny body, padding, foreign code", "c3 cc cc 55 53", HK_DETOUR_TOO_SMALL},
    {"tiny body at the end of memory", "33 c0 c3", HK_DETOUR_TOO_SMALL},
    {"short jmp, then foreign code", "eb 20 48 89 c8", HK_DETOUR_TOO_SMALL},
    {"indirect call that returns inside", "ff d0 48 83 c4 28", HK_DETOUR_CALL_RETURNS_INSIDE},
    {"pushed, then the same", "50 ff d0 58 c3", HK_DETOUR_CALL_RETURNS_INSIDE},
    {"call through memory that returns inside", "ff 10 90 90 90", HK_DETOUR_CALL_RETURNS_INSIDE},
    {"call of the inside", "90 90 90 90 e8 f8 ff ff ff", HK_DETOUR_NOT_RELOCATABLE},
    {"branch into the middle of an instruction", "74 01 48 89 c8 90", HK_DETOUR_NOT_RELOCATABLE},
    {"branch into a straddling instruction", "74 04 90 90 48 89 c8 90", HK_DETOUR_NOT_RELOCATABLE},
    {"jmp with operand-size prefix", "66 e9 00 01 00 00 90", HK_DETOUR_NOT_RELOCATABLE},
    {"transaction begin", "c7 f8 00 01 00 00", HK_DETOUR_NOT_RELOCATABLE},
    {"32-bit RIP-relative address", "67 48 8b 05 00 01 00 00", HK_DETOUR_NOT_RELOCATABLE},
    {"load from its own code", "48 8b 05 f9 ff ff ff", HK_DETOUR_READS_ITSELF},
};

static void test_refusals(void)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        hk_reloc_code code = code_of_hex(refusals[i].function);
        hk_reloc_result result;
        memset(&result, 0xa5, sizeof result);
        hk_reloc_result before = result;
        hk_detour_reason reason = hk_reloc_move(&code, NEAR_BY, 0, &result);
        TEST_ASSERT_EQUAL_STRING_MESSAGE(hk_detour_reason_name(refusals[i].reason),
                                         hk_detour_reason_name(reason), refusals[i].name);
        if (reason != HK_DETOUR_OK)
            TEST_ASSERT_EQUAL_MEMORY_MESSAGE(&before, &result, sizeof before, refusals[i].name);
        free_code(code);
    }
}

static void test_map_leads_both_ways(void)
{
    hk_reloc_code code = code_of_hex("48 85 c9 74 10 c3");
    hk_reloc_result r;
    TEST_ASSERT_EQUAL(HK_DETOUR_OK, hk_reloc_move(&code, NEAR_BY, 0, &r));
    TEST_ASSERT_EQUAL(3, r.map_count);
    TEST_ASSERT_EQUAL(0, hk_reloc_to_trampoline(r.map, r.map_count, 0));
    TEST_ASSERT_EQUAL(3, hk_reloc_to_trampoline(r.map, r.map_count, 3));
    TEST_ASSERT_EQUAL(9, hk_reloc_to_trampoline(r.map, r.map_count, 5));
    TEST_ASSERT_EQUAL(-1, hk_reloc_to_trampoline(r.map, r.map_count, 1));
    TEST_ASSERT_EQUAL(-1, hk_reloc_to_trampoline(r.map, r.map_count, (uint64_t)-1));
    TEST_ASSERT_EQUAL(5, hk_reloc_to_function(r.map, r.map_count, 9));
    TEST_ASSERT_EQUAL(-1, hk_reloc_to_function(r.map, r.map_count, 4));
    free_code(code);
}

typedef struct branch_case {
    const char *name;
    const char *body;
    unsigned entry;
    unsigned moved_len;
    size_t found;
} branch_case;

static const branch_case branches[] = {
    {"none", "48 83 ec 28 90 90 90 48 83 c4 28 c3", 0, 5, 0},
    {"short jcc to the second instruction", "55 53 48 83 ec 20 75 f9 c3", 0, 6, 8},
    {"short jcc to the first byte", "55 53 48 83 ec 20 75 f8 c3", 0, 6, 8},
    {"short jcc just behind the patch", "55 53 48 83 ec 20 75 fe c3", 0, 6, 0},
    {"short jmp to the first byte", "48 83 ec 28 90 eb f9", 0, 5, 7},
    {"loop to the inside", "48 83 ec 28 90 e2 fd c3", 0, 5, 7},
    {"near jmp to the first byte", "48 83 ec 28 90 e9 f6 ff ff ff", 0, 5, 10},
    {"near jcc to the inside", "48 83 ec 28 90 0f 84 f9 ff ff ff c3", 0, 5, 11},
    {"the last of several counts", "48 83 ec 28 90 75 f9 75 f7 c3", 0, 5, 9},
    {"to what lies behind the five bytes", "48 83 ec 28 48 89 c8 90 75 fa c3", 0, 8, 10},
    {"call of the inside", "48 83 ec 28 90 e8 fa ff ff ff c3", 0, 5, 10},
    {"call of itself", "48 83 ec 28 90 e8 f6 ff ff ff c3", 0, 5, 0},
    {"near jmp hidden behind data", "48 83 ec 28 90 c3 06 48 e9 f3 ff ff ff", 0, 5, 13},
    {"a short jump before the entry", "eb 01 90 90 55 53 48 83 ec 20 c3", 4, 6, 0},
    {"a short jump from before into it", "eb 03 90 90 55 53 48 83 ec 20 c3", 4, 6, SIZE_MAX},
    {"near jump from before into it", "e9 01 00 00 00 55 53 48 83 ec 20 c3", 5, 6, SIZE_MAX},
    {"branches inside the moved block don't count", "ff c9 75 fc 90 c3", 0, 5, 0},
};

static void test_branches_into_the_patch(void)
{
    for (size_t i = 0; i < sizeof branches / sizeof branches[0]; i++) {
        const branch_case *c = &branches[i];
        hk_reloc_code code = code_of_hex(c->body);
        size_t found = hk_reloc_find_branch(&code, c->entry, c->moved_len);
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(c->found, found, c->name);
        free_code(code);
    }
}

// A short jcc placed at every distance: found exactly as far as it reaches.
static void test_short_branch_at_every_distance(void)
{
    for (size_t at = 5; at < 200; at++) {
        uint8_t bytes[202];
        memset(bytes, 0x90, sizeof bytes);
        bytes[at] = 0x75;
        bytes[at + 1] = 0x80;
        int64_t target = (int64_t)at + 2 - 128;
        bool leads_in = target >= 0 && target < HK_RELOC_PATCH_LEN;
        hk_reloc_code code = code_of(bytes, sizeof bytes);
        TEST_ASSERT_EQUAL_UINT64(leads_in ? at + 2 : 0, hk_reloc_find_branch(&code, 0, 5));
        free_code(code);
    }
}

typedef struct function_case {
    const char *name;
    const char *body;
    hk_detour_reason reason;
    unsigned moved_len;
} function_case;

#define NOPS_32                                                                                    \
    "90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 "   \
    "90 90 "

static const function_case functions[] = {
    {"no branch back", "48 83 ec 28 90 90 c3", HK_DETOUR_OK, 5},
    {"loop from the first byte", "48 83 c2 01 48 ff c9 7f f7 48 89 d0 c3", HK_DETOUR_OK, 9},
    {"loop from inside the patch", "31 c0 90 48 01 d0 48 ff c9 7f f8 c3", HK_DETOUR_OK, 11},
    {"near jmp to the first byte", "48 83 c2 01 48 ff c9 7e 05 e9 f2 ff ff ff c3", HK_DETOUR_OK,
     14},
    {"behind a return", "85 c9 74 03 31 c0 c3 e9 f4 ff ff ff", HK_DETOUR_OK, 12},
    {"behind a return and padding", "85 c9 74 05 31 c0 c3 cc cc 75 f5 c3", HK_DETOUR_OK, 11},
    {"loop entered at its condition",
     "31 c0 eb 09 48 01 d0 85 c9 7e 0d 90 90 48 ff c9 90 90 90 90 79 ee c3 90 c3", HK_DETOUR_OK,
     22},
    {"early end, then foreign code", "31 c0 eb 09 48 01 d0 c3", HK_DETOUR_TOO_SMALL, 0},
    {"one branch needs another", "48 83 c2 01 90 90 90 75 f7 90 75 f9 c3", HK_DETOUR_OK, 12},
    {"ORT's SetSessionGraphOptimizationLevel",
     "85 d2 79 11 48 8d 15 45 66 0c 01 b9 02 00 00 00 e9 3b 43 7f 00 74 48 83 ea 01 74 36 "
     "83 ea 01 74 24 83 ea 01 74 12 83 fa 60 75 d9 c7 81 84 00 00 00 04 00 00 00 33 c0 c3",
     HK_DETOUR_OK, 43},
    {"a call in between", "48 83 c2 01 48 83 ec 28 ff d0 48 83 c4 28 75 f0 c3",
     HK_DETOUR_BRANCH_INTO, 0},
    {"a jump table", "48 83 c2 01 48 ff c9 7f f7 ff e0", HK_DETOUR_BRANCH_INTO, 0},
    {"too far", NOPS_32 NOPS_32 NOPS_32 "90 90 90 90 75 9a c3", HK_DETOUR_BRANCH_INTO, 0},
    {"too many instructions", NOPS_32 "90 90 90 90 90 90 90 90 90 75 d5 c3", HK_DETOUR_BRANCH_INTO,
     0},
    {"a call of the inside", "48 83 c2 01 90 e8 fa ff ff ff c3", HK_DETOUR_BRANCH_INTO, 0},
    {"a refusal of its own", "50 ff d0 58 75 fa c3", HK_DETOUR_CALL_RETURNS_INSIDE, 0},
};

static void test_functions_that_branch_back(void)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        const function_case *c = &functions[i];
        hk_reloc_code code = code_of_hex(c->body);
        hk_reloc_result result;
        memset(&result, 0xa5, sizeof result);
        hk_reloc_result before = result;
        hk_detour_reason reason = hk_reloc_move_function(&code, &code, NEAR_BY, &result);
        TEST_ASSERT_EQUAL_STRING_MESSAGE(hk_detour_reason_name(c->reason),
                                         hk_detour_reason_name(reason), c->name);
        if (reason == HK_DETOUR_OK)
            TEST_ASSERT_EQUAL_UINT_MESSAGE(c->moved_len, result.moved_len, c->name);
        else
            TEST_ASSERT_EQUAL_MEMORY_MESSAGE(&before, &result, sizeof before, c->name);
        free_code(code);
    }
}

// Nothing behind the entry may lead into code that was left: not even where the trampoline is far
// and every branch takes its longest form.
static void test_trampoline_that_would_not_fit(void)
{
    char hex[512] = "48 83 c2 01 90 ";
    for (int i = 0; i < 33; i++)
        strcat(hex, "74 7e ");
    strcat(hex, "75 b7 c3");
    hk_reloc_code code = code_of_hex(hex);
    hk_reloc_result result;
    TEST_ASSERT_EQUAL(HK_DETOUR_OK, hk_reloc_move_function(&code, &code, NEAR_BY, &result));
    TEST_ASSERT_EQUAL(73, result.moved_len);
    TEST_ASSERT_EQUAL(HK_DETOUR_BRANCH_INTO,
                      hk_reloc_move_function(&code, &code, FAR_AWAY, &result));
    free_code(code);
}

static void check_extent(const char *hex, size_t expected)
{
    hk_reloc_code code = code_of_hex(hex);
    TEST_ASSERT_EQUAL_UINT(expected, hk_reloc_guess_extent(&code));
    free_code(code);
}

static void test_extent_of_unknown_functions(void)
{
    check_extent("8b 01 c3 cc cc 55", 3);
    check_extent("e9 00 01 00 00 55 53", 5);
    check_extent("85 c9 74 01 c3 33 c0 c3 cc cc", 8);        // a branch over the first return
    check_extent("85 c9 74 03 c3 cc cc 33 c0 c3 cc cc", 10); // and over padding
    check_extent("85 c9 74 03 c3 06 06 33 c0 c3 cc cc", 10); // and over data
    check_extent("90 90 90 cc 90", 3);
    check_extent("90 90 48 8b", 2); // cut off
    check_extent("", 0);
    uint8_t nops[2 * HK_RELOC_BOUND];
    memset(nops, 0x90, sizeof nops);
    hk_reloc_code code = code_of(nops, sizeof nops);
    TEST_ASSERT_EQUAL_UINT(HK_RELOC_BOUND, hk_reloc_guess_extent(&code));
    free_code(code);
}

static uint64_t g_random = 0x9e3779b97f4a7c15;

static uint32_t next_random(void)
{
    g_random ^= g_random << 13;
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    return (uint32_t)(g_random >> 16);
}

static uint8_t random_byte(void)
{
    static const uint8_t spice[] = {0xe8, 0xe9, 0xeb, 0x74, 0x0f, 0x84, 0xe2, 0xe3, 0xff, 0x25,
                                    0x15, 0x48, 0x8b, 0x05, 0x67, 0x66, 0xc3, 0xcc, 0x90, 0x02};
    uint32_t r = next_random();
    return r & 1 ? spice[(r >> 8) % sizeof spice] : (uint8_t)(r >> 8);
}

// Wherever an instruction has gone, it must lead to the same place as before.
static void check_same_meaning(const hk_reloc_code *code, const hk_reloc_result *r, uint64_t base)
{
    hk_reloc_code out = {.bytes = r->bytes, .len = r->len, .address = base};
    for (size_t i = 0; i < r->map_count; i++) {
        hk_insn was;
        hk_insn is;
        TEST_ASSERT_LESS_THAN(r->len, r->map[i].to);
        TEST_ASSERT_TRUE(hk_insn_decode(&out, r->map[i].to, &is));
        if (r->map[i].from == r->moved_len || !hk_insn_decode(code, r->map[i].from, &was))
            continue;
        if (was.kind == HK_INSN_PLAIN || was.kind == HK_INSN_END) {
            TEST_ASSERT_EQUAL(was.kind, is.kind);
            TEST_ASSERT_EQUAL(was.len, is.len);
            TEST_ASSERT_EQUAL_HEX64(was.disp_offset ? was.target : 0,
                                    is.disp_offset ? is.target : 0);
        }
        bool moved_inside = was.target - code->address < r->moved_len;
        if (was.kind == HK_INSN_JCC && is.kind == HK_INSN_JCC && is.len == 6 && !moved_inside) {
            TEST_ASSERT_EQUAL(was.condition, is.condition);
            TEST_ASSERT_EQUAL_HEX64(was.target, is.target);
        }
    }
}

static void check_random_result(const hk_reloc_code *code, const hk_reloc_result *result,
                                uint64_t base, bool is_whole)
{
    size_t out_max = is_whole ? HK_RELOC_OUT_MAX : HK_RELOC_SHORT_OUT;
    TEST_ASSERT_LESS_OR_EQUAL(out_max, result->len);
    TEST_ASSERT_LESS_OR_EQUAL(HK_RELOC_INSNS_MAX + 1, result->map_count);
    TEST_ASSERT_LESS_OR_EQUAL(HK_RELOC_MOVED_MAX + 15, result->moved_len);
    TEST_ASSERT_LESS_OR_EQUAL(code->len, result->moved_len);
    check_same_meaning(code, result, base);
}

static void test_random_bytes(void)
{
    unsigned moved = 0;
    unsigned moved_more = 0;
    for (int round = 0; round < 200000; round++) {
        uint8_t bytes[160];
        size_t len = next_random() % sizeof bytes;
        for (size_t i = 0; i < len; i++)
            bytes[i] = random_byte();
        hk_reloc_code code = code_of(bytes, len);
        uint64_t base = round & 1 ? NEAR_BY : FAR_AWAY;
        hk_reloc_result result;
        hk_reloc_result whole;
        if (hk_reloc_move(&code, base, 0, &result) == HK_DETOUR_OK) {
            check_random_result(&code, &result, base, false);
            moved++;
            if (hk_reloc_move_function(&code, &code, base, &whole) == HK_DETOUR_OK) {
                check_random_result(&code, &whole, base, true);
                moved_more += whole.moved_len > result.moved_len;
            }
        }
        TEST_ASSERT_LESS_OR_EQUAL(len, hk_reloc_guess_extent(&code));
        free_code(code);
    }
    TEST_ASSERT_GREATER_THAN(20000, moved);
    TEST_ASSERT_GREATER_THAN(100, moved_more);
}

static void test_every_reason_has_a_sentence(void)
{
    for (int i = 0; i < HK_DETOUR_REASON_COUNT; i++) {
        TEST_ASSERT_GREATER_THAN(3, strlen(hk_detour_reason_text((hk_detour_reason)i)));
        TEST_ASSERT_GREATER_THAN(1, strlen(hk_detour_reason_name((hk_detour_reason)i)));
    }
    TEST_ASSERT_EQUAL_STRING("UNKNOWN", hk_detour_reason_name(HK_DETOUR_REASON_COUNT));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_forms_that_can_be_moved);
    RUN_TEST(test_longest_block_fits);
    RUN_TEST(test_refusals);
    RUN_TEST(test_map_leads_both_ways);
    RUN_TEST(test_branches_into_the_patch);
    RUN_TEST(test_short_branch_at_every_distance);
    RUN_TEST(test_functions_that_branch_back);
    RUN_TEST(test_trampoline_that_would_not_fit);
    RUN_TEST(test_extent_of_unknown_functions);
    RUN_TEST(test_random_bytes);
    RUN_TEST(test_every_reason_has_a_sentence);
    return UNITY_END();
}
