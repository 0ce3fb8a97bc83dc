// SPDX-License-Identifier: MIT
// What lies around a prologue: branches that lead back into it, how much more is moved for their
// sake, and where a function ends that nothing is known about.
#include "reloc_code.h"

void setUp(void) {}

void tearDown(void) {}

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

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_branches_into_the_patch);
    RUN_TEST(test_short_branch_at_every_distance);
    RUN_TEST(test_functions_that_branch_back);
    RUN_TEST(test_trampoline_that_would_not_fit);
    RUN_TEST(test_extent_of_unknown_functions);
    return UNITY_END();
}
