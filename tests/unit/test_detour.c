// SPDX-License-Identifier: MIT
// The detour engine on real code: every prologue form hooked, called through, unhooked; refusals;
// all or nothing; what a transaction promises about pointers, bytes, pages and memory.
#include "detour_code.h"

#include <stdio.h>
#include <unity.h>

#include <windows.h>

enum { ADDED_BY_HOOK = 1000000, REARM_CYCLES = 2000 };

static code_fn g_real;
static unsigned g_hook_calls;

static int64_t adding_hook(int64_t a, int64_t b)
{
    g_hook_calls++;
    return g_real(a, b) + ADDED_BY_HOOK;
}

void setUp(void)
{
    g_real = NULL;
    g_hook_calls = 0;
}

void tearDown(void)
{
    hk_detour_abort();
}

static code_fn as_function(uint8_t *code)
{
    return (code_fn)(uintptr_t)code;
}

static void assert_reason(hk_detour_reason expected, hk_detour_reason actual, const char *what)
{
    TEST_ASSERT_EQUAL_STRING_MESSAGE(hk_detour_reason_name(expected), hk_detour_reason_name(actual),
                                     what);
}

static hk_detour_reason attach_one(code_fn *pointer, code_fn hook)
{
    assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
    hk_detour_attach((void **)pointer, HK_CODE(hook));
    return hk_detour_commit(NULL);
}

static hk_detour_reason detach_one(code_fn *pointer, code_fn hook)
{
    assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
    hk_detour_detach((void **)pointer, HK_CODE(hook));
    return hk_detour_commit(NULL);
}

static void check_results(code_fn function, const code_form *form, int64_t added)
{
    TEST_ASSERT_EQUAL_INT64_MESSAGE(form->result_0 + added, function(0, 70), form->name);
    TEST_ASSERT_EQUAL_INT64_MESSAGE(form->result_3 + added, function(3, 70), form->name);
}

static void check_form(const code_form *form)
{
    uint8_t *code = code_make(form);
    uint8_t before[64];
    memcpy(before, code, sizeof before);
    check_results(as_function(code), form, 0);

    g_real = as_function(code);
    g_hook_calls = 0;
    assert_reason(HK_DETOUR_OK, attach_one(&g_real, adding_hook), form->name);
    TEST_ASSERT_TRUE_MESSAGE((uint8_t *)HK_CODE(g_real) != code, form->name);
    check_results(as_function(code), form, ADDED_BY_HOOK);
    TEST_ASSERT_EQUAL_UINT_MESSAGE(2, g_hook_calls, form->name);
    check_results(g_real, form, 0);
    TEST_ASSERT_EQUAL_UINT_MESSAGE(2, g_hook_calls, form->name);
    TEST_ASSERT_EQUAL_HEX8_ARRAY_MESSAGE(before + 5, code + 5, sizeof before - 5, form->name);

    code_fn trampoline = g_real;
    assert_reason(HK_DETOUR_OK, detach_one(&g_real, adding_hook), form->name);
    TEST_ASSERT_EQUAL_PTR_MESSAGE(code, HK_CODE(g_real), form->name);
    TEST_ASSERT_EQUAL_HEX8_ARRAY_MESSAGE(before, code, sizeof before, form->name);
    check_results(as_function(code), form, 0);
    check_results(trampoline, form, 0); // a thread may still be on its way there
    TEST_ASSERT_EQUAL_UINT_MESSAGE(2, g_hook_calls, form->name);
}

static void test_every_form(void)
{
    for (unsigned i = 0; i < code_form_count; i++)
        check_form(&code_forms[i]);
}

static const struct {
    const char *hex;
    hk_detour_reason reason;
} refused[] = {
    {"06 06 06 06 06 06", HK_DETOUR_UNDECODABLE},
    {"cc 48 89 c8 c3 90", HK_DETOUR_BREAKPOINT},
    {"31 c0 c3 55 53 56", HK_DETOUR_TOO_SMALL},
    {"ff d2 90 90 90 c3", HK_DETOUR_CALL_RETURNS_INSIDE},
    // Branches back into the patch: behind a call, and in a function with a jump table.
    {"48 83 c2 01 48 83 ec 28 ff d0 48 83 c4 28 75 f0 c3", HK_DETOUR_BRANCH_INTO},
    {"48 83 c2 01 48 ff c9 7f f7 74 02 ff e0 c3", HK_DETOUR_BRANCH_INTO},
    {"66 e9 00 00 90 90 c3", HK_DETOUR_NOT_RELOCATABLE},
    {"48 8b 05 f9 ff ff ff c3", HK_DETOUR_READS_ITSELF},
    {"48 8b 05 00 00 00 80 c3", HK_DETOUR_OUT_OF_RANGE},
};

static void test_refusals_change_nothing(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        code_form form = {.hex = refused[i].hex};
        uint8_t *code = code_make(&form);
        uint8_t before[64];
        memcpy(before, code, sizeof before);
        g_real = as_function(code);
        hk_detour_result result;
        assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
        hk_detour_attach((void **)&g_real, HK_CODE(adding_hook));
        assert_reason(refused[i].reason, hk_detour_commit(&result), form.hex);
        assert_reason(refused[i].reason, result.reason, form.hex);
        TEST_ASSERT_EQUAL_PTR(code, result.target);
        TEST_ASSERT_EQUAL_UINT(0, result.committed);
        TEST_ASSERT_EQUAL_PTR(code, HK_CODE(g_real));
        TEST_ASSERT_EQUAL_HEX8_ARRAY(before, code, sizeof before);
    }
}

static void test_memory_that_is_no_code(void)
{
    static uint8_t data[16];
    void *pointers[] = {data, (void *)(uintptr_t)0x10, (void *)(uintptr_t)-16};
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
        g_real = (code_fn)(uintptr_t)pointers[i];
        assert_reason(HK_DETOUR_NOT_EXECUTABLE, attach_one(&g_real, adding_hook), "data");
    }
    uint8_t *last_bytes = code_memory(4096) + 4096 - 3;
    code_write(last_bytes, "31 c0 c3");
    g_real = as_function(last_bytes);
    hk_detour_reason reason = attach_one(&g_real, adding_hook);
    TEST_ASSERT_TRUE(reason != HK_DETOUR_OK);
}

static code_fn g_many[4];

static int64_t many_hook_0(int64_t a, int64_t b)
{
    return g_many[0](a, b) + 10;
}

static int64_t many_hook_1(int64_t a, int64_t b)
{
    return g_many[1](a, b) + 11;
}

static int64_t many_hook_2(int64_t a, int64_t b)
{
    return g_many[2](a, b) + 12;
}

static const code_fn many_hooks[] = {many_hook_0, many_hook_1, many_hook_2, adding_hook};

// Three functions that can be hooked and, as the third of four, one that can't.
static void make_many(uint8_t *code[4], uint8_t before[4][32])
{
    code_form bad = {.hex = "ff d2 90 90 90 c3"};
    code[0] = code_make(&code_forms[0]);
    code[1] = code_make(&code_forms[5]);
    code[2] = code_make(&code_forms[0]);
    code[3] = code_make(&bad);
    for (int i = 0; i < 4; i++) {
        memcpy(before[i], code[i], 32);
        g_many[i] = as_function(code[i]);
    }
}

static void test_one_refusal_refuses_all(void)
{
    uint8_t *code[4];
    uint8_t before[4][32];
    hk_detour_reason outcomes[4];
    hk_detour_result result;
    static const int order[] = {0, 1, 3, 2};
    make_many(code, before);
    assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
    for (int i = 0; i < 4; i++) {
        int k = order[i];
        hk_detour_attach_ex((void **)&g_many[k], HK_CODE(many_hooks[k]), 0, &outcomes[k]);
    }
    assert_reason(HK_DETOUR_CALL_RETURNS_INSIDE, hk_detour_commit(&result), "commit");
    TEST_ASSERT_EQUAL_PTR(code[3], result.target);
    for (int i = 0; i < 4; i++) {
        TEST_ASSERT_EQUAL_PTR(code[i], HK_CODE(g_many[i]));
        TEST_ASSERT_EQUAL_HEX8_ARRAY(before[i], code[i], 32);
        assert_reason(i == 3 ? HK_DETOUR_CALL_RETURNS_INSIDE : HK_DETOUR_NOT_COMMITTED, outcomes[i],
                      "outcome");
    }
}

static void test_optional_refusal_is_skipped(void)
{
    uint8_t *code[4];
    uint8_t before[4][32];
    hk_detour_reason outcomes[4];
    hk_detour_result result;
    make_many(code, before);
    assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
    for (int i = 3; i >= 0; i--)
        hk_detour_attach_ex((void **)&g_many[i], HK_CODE(many_hooks[i]), HK_DETOUR_OPTIONAL,
                            &outcomes[i]);
    assert_reason(HK_DETOUR_OK, hk_detour_commit(&result), "commit");
    TEST_ASSERT_EQUAL_UINT(3, result.committed);
    TEST_ASSERT_EQUAL_UINT(1, result.skipped);
    TEST_ASSERT_NULL(result.target);
    assert_reason(HK_DETOUR_CALL_RETURNS_INSIDE, outcomes[3], "outcome");
    TEST_ASSERT_EQUAL_PTR(code[3], HK_CODE(g_many[3]));
    TEST_ASSERT_EQUAL_HEX8_ARRAY(before[3], code[3], 32);
    TEST_ASSERT_EQUAL_INT64(83, as_function(code[0])(3, 70));
    TEST_ASSERT_EQUAL_INT64(14, as_function(code[1])(3, 70));
    TEST_ASSERT_EQUAL_INT64(85, as_function(code[2])(3, 70));

    assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
    for (int i = 0; i < 4; i++)
        hk_detour_detach_ex((void **)&g_many[i], HK_CODE(many_hooks[i]), HK_DETOUR_OPTIONAL,
                            &outcomes[i]);
    assert_reason(HK_DETOUR_OK, hk_detour_commit(&result), "commit");
    TEST_ASSERT_EQUAL_UINT(3, result.committed);
    assert_reason(HK_DETOUR_NOT_ATTACHED, outcomes[3], "outcome");
    for (int i = 0; i < 4; i++) {
        TEST_ASSERT_EQUAL_PTR(code[i], HK_CODE(g_many[i]));
        TEST_ASSERT_EQUAL_HEX8_ARRAY(before[i], code[i], 32);
    }
}

static void test_nothing_before_commit_and_abort(void)
{
    uint8_t *code = code_make(&code_forms[0]);
    uint8_t before[32];
    memcpy(before, code, sizeof before);
    g_real = as_function(code);
    assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
    assert_reason(HK_DETOUR_OK, hk_detour_attach((void **)&g_real, HK_CODE(adding_hook)), "attach");
    TEST_ASSERT_EQUAL_HEX8_ARRAY(before, code, sizeof before);
    TEST_ASSERT_EQUAL_PTR(code, HK_CODE(g_real));
    hk_detour_abort();
    TEST_ASSERT_EQUAL_HEX8_ARRAY(before, code, sizeof before);
    assert_reason(HK_DETOUR_NO_TRANSACTION, hk_detour_commit(NULL), "after abort");
}

static void test_misuse_is_told(void)
{
    code_fn null_function = NULL;
    g_real = as_function(code_make(&code_forms[0]));
    assert_reason(HK_DETOUR_NO_TRANSACTION,
                  hk_detour_attach((void **)&g_real, HK_CODE(adding_hook)), "attach outside");
    assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
    assert_reason(HK_DETOUR_BUSY, hk_detour_begin(), "begin twice");
    assert_reason(HK_DETOUR_BAD_ARGUMENT,
                  hk_detour_attach((void **)&null_function, HK_CODE(adding_hook)), "null function");
    assert_reason(HK_DETOUR_OK, hk_detour_attach((void **)&g_real, HK_CODE(adding_hook)), "attach");
    assert_reason(HK_DETOUR_BAD_ARGUMENT, hk_detour_commit(NULL), "sticks until commit");
    assert_reason(HK_DETOUR_NOT_ATTACHED, detach_one(&g_real, adding_hook), "never attached");
    assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
    assert_reason(HK_DETOUR_OK, hk_detour_commit(NULL), "empty transaction");
}

static void test_double_attach_and_overlap(void)
{
    code_form sled = {.hex = "90 90 90 90 90 90 90 90 90 90 90 90 48 8d 04 11 c3"};
    uint8_t *code = code_make(&sled);
    code_fn first = as_function(code);
    code_fn again = first;
    code_fn inside = as_function(code + 4);
    code_fn behind = as_function(code + 5);
    assert_reason(HK_DETOUR_OK, attach_one(&first, adding_hook), "first");
    assert_reason(HK_DETOUR_ALREADY_ATTACHED, attach_one(&again, adding_hook), "again");
    assert_reason(HK_DETOUR_OVERLAPS, attach_one(&inside, adding_hook), "inside");
    assert_reason(HK_DETOUR_OK, attach_one(&behind, adding_hook), "behind");
    assert_reason(HK_DETOUR_NOT_ATTACHED, detach_one(&first, many_hook_0), "another hook");
    assert_reason(HK_DETOUR_OK, detach_one(&behind, adding_hook), "behind");
    assert_reason(HK_DETOUR_OK, detach_one(&first, adding_hook), "first");
    assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
    hk_detour_attach((void **)&first, HK_CODE(adding_hook));
    hk_detour_attach((void **)&again, HK_CODE(many_hook_0));
    assert_reason(HK_DETOUR_ALREADY_ATTACHED, hk_detour_commit(NULL), "twice in one");
    TEST_ASSERT_EQUAL_HEX8(0x90, code[0]);
}

static void test_overwritten_hook_is_left(void)
{
    uint8_t *code = code_make(&code_forms[0]);
    uint8_t ours[5];
    g_real = as_function(code);
    assert_reason(HK_DETOUR_OK, attach_one(&g_real, adding_hook), "attach");
    memcpy(ours, code, sizeof ours);
    code_fn trampoline = g_real;
    code_write(code, "e9 bb ff ff ff"); // another tool's jump, to the helper
    assert_reason(HK_DETOUR_OVERWRITTEN, detach_one(&g_real, adding_hook), "detach");
    TEST_ASSERT_EQUAL_PTR(HK_CODE(trampoline), HK_CODE(g_real));
    TEST_ASSERT_EQUAL_HEX8(0xbb, code[1]);
    char restored[32];
    snprintf(restored, sizeof restored, "%x %x %x %x %x", ours[0], ours[1], ours[2], ours[3],
             ours[4]);
    code_write(code, restored);
    assert_reason(HK_DETOUR_OK, detach_one(&g_real, adding_hook), "detach");
    check_results(as_function(code), &code_forms[0], 0);
}

static DWORD protection_of(const uint8_t *at)
{
    MEMORY_BASIC_INFORMATION info;
    TEST_ASSERT_TRUE(VirtualQuery(at, &info, sizeof info) != 0);
    return info.Protect;
}

static void test_function_across_two_pages(void)
{
    uint8_t *memory = code_memory(8192);
    uint8_t *code = memory + 4096 - 2;
    DWORD old;
    code_write(code, code_forms[0].hex);
    TEST_ASSERT_TRUE(VirtualProtect(memory + 4096, 4096, PAGE_EXECUTE_READWRITE, &old));
    g_real = as_function(code);
    assert_reason(HK_DETOUR_OK, attach_one(&g_real, adding_hook), "attach");
    TEST_ASSERT_EQUAL_HEX32(PAGE_EXECUTE_READ, protection_of(code));
    TEST_ASSERT_EQUAL_HEX32(PAGE_EXECUTE_READWRITE, protection_of(code + 2));
    TEST_ASSERT_EQUAL_HEX32(PAGE_EXECUTE_READ, protection_of((uint8_t *)HK_CODE(g_real)));
    check_results(as_function(code), &code_forms[0], ADDED_BY_HOOK);
    assert_reason(HK_DETOUR_OK, detach_one(&g_real, adding_hook), "detach");
    TEST_ASSERT_EQUAL_HEX32(PAGE_EXECUTE_READ, protection_of(code));
    TEST_ASSERT_EQUAL_HEX32(PAGE_EXECUTE_READWRITE, protection_of(code + 2));
    check_results(as_function(code), &code_forms[0], 0);
}

static void test_arming_again_costs_no_memory(void)
{
    uint8_t *code = code_make(&code_forms[0]);
    g_real = as_function(code);
    code_fn first = NULL;
    for (int i = 0; i < REARM_CYCLES; i++) {
        assert_reason(HK_DETOUR_OK, attach_one(&g_real, adding_hook), "attach");
        if (!first)
            first = g_real;
        TEST_ASSERT_EQUAL_PTR(HK_CODE(first), HK_CODE(g_real));
        assert_reason(HK_DETOUR_OK, detach_one(&g_real, adding_hook), "detach");
    }
    code_write(code, "48 8d 04 11 90 90 c3"); // other code at the same place
    assert_reason(HK_DETOUR_OK, attach_one(&g_real, adding_hook), "attach");
    TEST_ASSERT_TRUE(g_real != first);
    check_results(as_function(code), &code_forms[0], ADDED_BY_HOOK);
    assert_reason(HK_DETOUR_OK, detach_one(&g_real, adding_hook), "detach");
}

static void test_unmapped_code_is_forgotten(void)
{
    uint8_t *memory = code_memory(65536);
    code_write(memory, code_forms[0].hex);
    g_real = as_function(memory);
    assert_reason(HK_DETOUR_OK, attach_one(&g_real, adding_hook), "attach");
    TEST_ASSERT_TRUE(VirtualFree(memory, 0, MEM_RELEASE));
    assert_reason(HK_DETOUR_TARGET_GONE, detach_one(&g_real, adding_hook), "gone");
    hk_detour_forget(memory, 65536);
    assert_reason(HK_DETOUR_NOT_ATTACHED, detach_one(&g_real, adding_hook), "forgotten");
    void *back = VirtualAlloc(memory, 65536, MEM_RESERVE | MEM_COMMIT, PAGE_EXECUTE_READWRITE);
    TEST_ASSERT_EQUAL_PTR(memory, back);
    code_write(memory, code_forms[5].hex);
    g_real = as_function(memory);
    assert_reason(HK_DETOUR_OK, attach_one(&g_real, adding_hook), "attach the new code");
    check_results(as_function(memory), &code_forms[5], ADDED_BY_HOOK);
    assert_reason(HK_DETOUR_OK, detach_one(&g_real, adding_hook), "detach");
}

static int(WINAPI *g_real_muldiv)(int, int, int);

static int WINAPI muldiv_hook(int number, int numerator, int denominator)
{
    return g_real_muldiv(number, numerator, denominator) + 1;
}

static size_t (*g_real_strlen)(const char *);

static size_t strlen_hook(const char *text)
{
    return g_real_strlen(text) + 5;
}

static void test_functions_of_the_system(void)
{
    FARPROC muldiv = GetProcAddress(GetModuleHandleA("kernel32.dll"), "MulDiv");
    HMODULE ucrt = LoadLibraryA("ucrtbase.dll");
    TEST_ASSERT_NOT_NULL(ucrt);
    FARPROC length = GetProcAddress(ucrt, "strlen");
    int(WINAPI * call_muldiv)(int, int, int) = (int(WINAPI *)(int, int, int))(uintptr_t)muldiv;
    size_t (*call_strlen)(const char *) = (size_t(*)(const char *))(uintptr_t)length;
    uint8_t before[2][16];
    memcpy(before[0], HK_CODE(muldiv), 16);
    memcpy(before[1], HK_CODE(length), 16);

    g_real_muldiv = call_muldiv;
    g_real_strlen = call_strlen;
    assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
    hk_detour_attach((void **)&g_real_muldiv, HK_CODE(muldiv_hook));
    hk_detour_attach((void **)&g_real_strlen, HK_CODE(strlen_hook));
    assert_reason(HK_DETOUR_OK, hk_detour_commit(NULL), "commit");
    TEST_ASSERT_EQUAL(43, call_muldiv(6, 14, 2));
    TEST_ASSERT_EQUAL(12, call_strlen("ortscop"));

    assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
    hk_detour_detach((void **)&g_real_muldiv, HK_CODE(muldiv_hook));
    hk_detour_detach((void **)&g_real_strlen, HK_CODE(strlen_hook));
    assert_reason(HK_DETOUR_OK, hk_detour_commit(NULL), "commit");
    TEST_ASSERT_EQUAL(42, call_muldiv(6, 14, 2));
    TEST_ASSERT_EQUAL(7, call_strlen("ortscop"));
    TEST_ASSERT_EQUAL_HEX8_ARRAY(before[0], HK_CODE(muldiv), 16);
    TEST_ASSERT_EQUAL_HEX8_ARRAY(before[1], HK_CODE(length), 16);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_form);
    RUN_TEST(test_refusals_change_nothing);
    RUN_TEST(test_memory_that_is_no_code);
    RUN_TEST(test_one_refusal_refuses_all);
    RUN_TEST(test_optional_refusal_is_skipped);
    RUN_TEST(test_nothing_before_commit_and_abort);
    RUN_TEST(test_misuse_is_told);
    RUN_TEST(test_double_attach_and_overlap);
    RUN_TEST(test_overwritten_hook_is_left);
    RUN_TEST(test_function_across_two_pages);
    RUN_TEST(test_arming_again_costs_no_memory);
    RUN_TEST(test_unmapped_code_is_forgotten);
    RUN_TEST(test_functions_of_the_system);
    return UNITY_END();
}
