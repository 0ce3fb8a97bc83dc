// SPDX-License-Identifier: MIT
// The detour engine while other threads run the code: threads inside the patched bytes are moved,
// transactions of different threads keep apart, and threads see nothing but right results while the
// functions that they call are hooked and unhooked ten thousand times: eight of them a fifth of the
// time, two of them, which are more often right in the middle, the rest.
#include "detour_code.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unity.h>

#include <windows.h>

enum {
    HAMMERS = 8,
    FEW_HAMMERS = 2,
    CYCLES = 10000,
    BURST = 3000,
    PARKED_CYCLES = 200,
    CHURNERS = 4,
    CHURN_CYCLES = 500
};

static uint8_t *g_code[CODE_FORMS_MAX];
static code_fn g_real[CODE_FORMS_MAX];
static volatile LONG g_hook_calls;
static volatile LONG g_stop;
static int g_cycles = CYCLES; // the first argument, for a soak

void setUp(void)
{
    g_hook_calls = 0;
    g_stop = 0;
}

void tearDown(void)
{
    hk_detour_abort();
}

static void assert_reason(hk_detour_reason expected, hk_detour_reason actual, const char *what)
{
    TEST_ASSERT_EQUAL_STRING_MESSAGE(hk_detour_reason_name(expected), hk_detour_reason_name(actual),
                                     what);
}

// One hook per form, since a hook must know its own original.
// clang-format off
#define FORMS(XX)                                                                                  \
    XX(0) XX(1) XX(2) XX(3) XX(4) XX(5) XX(6) XX(7) XX(8) XX(9) XX(10) XX(11) XX(12) XX(13)        \
    XX(14) XX(15) XX(16) XX(17) XX(18) XX(19) XX(20) XX(21) XX(22) XX(23) XX(24) XX(25) XX(26)     \
    XX(27)
// clang-format on
#define XX(n)                                                                                      \
    static int64_t hook_##n(int64_t a, int64_t b)                                                  \
    {                                                                                              \
        InterlockedIncrement(&g_hook_calls);                                                       \
        return g_real[n](a, b);                                                                    \
    }
FORMS(XX)
#undef XX
#define XX(n) hook_##n,
static const code_fn hooks[] = {FORMS(XX)};
#undef XX
_Static_assert(sizeof hooks / sizeof hooks[0] == CODE_FORMS_MAX, "a hook for every form");

// nop; L: cmp [rcx], dl; je L; mov eax, edx; ret: spins in the first five bytes until *rcx != dl.
static const char SPIN[] = "90 38 11 74 fc 89 d0 c3";

typedef struct spinner {
    code_fn function;
    volatile uint8_t go;
    volatile LONG started;
    int64_t result;
} spinner;

static DWORD WINAPI run_spinner(void *parameter)
{
    spinner *s = parameter;
    InterlockedExchange(&s->started, 1);
    s->result = s->function((int64_t)(uintptr_t)&s->go, 0x7700);
    return 0;
}

static uint64_t position_of(HANDLE thread)
{
    CONTEXT context = {.ContextFlags = CONTEXT_CONTROL};
    TEST_ASSERT_TRUE(SuspendThread(thread) != (DWORD)-1);
    BOOL known = GetThreadContext(thread, &context);
    ResumeThread(thread);
    TEST_ASSERT_TRUE(known);
    return context.Rip;
}

static HANDLE start_spinner(spinner *s, const uint8_t *low, const uint8_t *high)
{
    HANDLE thread = CreateThread(NULL, 0, run_spinner, s, 0, NULL);
    TEST_ASSERT_NOT_NULL(thread);
    uint64_t at;
    do {
        SwitchToThread();
        at = position_of(thread);
    } while (at < (uint64_t)(uintptr_t)low || at >= (uint64_t)(uintptr_t)high);
    return thread;
}

static void finish(HANDLE thread)
{
    TEST_ASSERT_EQUAL(WAIT_OBJECT_0, WaitForSingleObject(thread, 300000));
    CloseHandle(thread);
}

static hk_detour_reason commit_one(bool attach, code_fn *pointer, hk_detour_result *result)
{
    assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
    if (attach)
        hk_detour_attach((void **)pointer, HK_CODE(hook_0));
    else
        hk_detour_detach((void **)pointer, HK_CODE(hook_0));
    return hk_detour_commit(result);
}

static void test_thread_inside_the_patch_is_moved(void)
{
    code_form form = {.hex = SPIN};
    uint8_t *code = code_make(&form);
    uint8_t before[16];
    memcpy(before, code, sizeof before);
    spinner s = {.function = (code_fn)(uintptr_t)code};
    HANDLE thread = start_spinner(&s, code + 1, code + 5);
    g_real[0] = (code_fn)(uintptr_t)code;
    for (int i = 0; i < PARKED_CYCLES; i++) {
        hk_detour_result result;
        assert_reason(HK_DETOUR_OK, commit_one(true, &g_real[0], &result), "attach");
        TEST_ASSERT_EQUAL_UINT(1, result.threads_moved);
        uint64_t trampoline = (uint64_t)(uintptr_t)g_real[0];
        uint64_t at = position_of(thread);
        TEST_ASSERT_TRUE(at > trampoline && at < trampoline + 32);
        assert_reason(HK_DETOUR_OK, commit_one(false, &g_real[0], &result), "detach");
        TEST_ASSERT_EQUAL_UINT(1, result.threads_moved);
        at = position_of(thread);
        TEST_ASSERT_TRUE(at > (uint64_t)(uintptr_t)code && at < (uint64_t)(uintptr_t)code + 5);
        TEST_ASSERT_EQUAL_HEX8_ARRAY(before, code, sizeof before);
    }
    assert_reason(HK_DETOUR_OK, commit_one(true, &g_real[0], NULL), "attach");
    s.go = 1;
    finish(thread); // out of the trampoline, into the rest of the function
    TEST_ASSERT_EQUAL_HEX64(0x7700, s.result);
    TEST_ASSERT_EQUAL(0, g_hook_calls);
    assert_reason(HK_DETOUR_OK, commit_one(false, &g_real[0], NULL), "detach");
}

// mov eax, imm32 whose immediate is the loop of SPIN: a thread in it stands on no instruction of
// the function.
static void test_thread_that_cannot_be_moved(void)
{
    code_form form = {.hex = "b8 38 11 74 fc c3"};
    uint8_t *code = code_make(&form);
    uint8_t before[16];
    memcpy(before, code, sizeof before);
    spinner s = {.function = (code_fn)(uintptr_t)(code + 1)};
    HANDLE thread = start_spinner(&s, code + 1, code + 5);
    g_real[0] = (code_fn)(uintptr_t)code;
    uint8_t *other = code_make(&code_forms[0]);
    g_real[1] = (code_fn)(uintptr_t)other;

    hk_detour_result result;
    assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
    hk_detour_attach((void **)&g_real[1], HK_CODE(hook_1));
    hk_detour_attach((void **)&g_real[0], HK_CODE(hook_0));
    assert_reason(HK_DETOUR_THREAD_INSIDE, hk_detour_commit(&result), "commit");
    TEST_ASSERT_EQUAL_PTR(code, result.target);
    TEST_ASSERT_EQUAL_HEX8_ARRAY(before, code, sizeof before);
    TEST_ASSERT_EQUAL_HEX8(0x48, other[0]);
    TEST_ASSERT_EQUAL_PTR(other, HK_CODE(g_real[1]));

    hk_detour_reason outcome;
    assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
    hk_detour_attach_ex((void **)&g_real[0], HK_CODE(hook_0), HK_DETOUR_OPTIONAL, &outcome);
    assert_reason(HK_DETOUR_OK, hk_detour_commit(&result), "commit");
    assert_reason(HK_DETOUR_THREAD_INSIDE, outcome, "outcome");
    TEST_ASSERT_EQUAL_UINT(1, result.skipped);
    s.go = 1;
    finish(thread);
}

typedef struct rival {
    volatile LONG waiting;
    hk_detour_reason reason;
} rival;

static DWORD WINAPI run_rival(void *parameter)
{
    rival *r = parameter;
    hk_detour_abort(); // not its transaction: without effect
    r->reason = hk_detour_commit(NULL);
    InterlockedExchange(&r->waiting, 1);
    if (hk_detour_begin() == HK_DETOUR_OK)
        hk_detour_abort();
    else
        r->reason = HK_DETOUR_BUSY;
    return 0;
}

static void test_transactions_of_two_threads(void)
{
    rival r = {.waiting = 0};
    assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
    HANDLE thread = CreateThread(NULL, 0, run_rival, &r, 0, NULL);
    TEST_ASSERT_NOT_NULL(thread);
    while (!r.waiting)
        Sleep(1);
    TEST_ASSERT_EQUAL(WAIT_TIMEOUT, WaitForSingleObject(thread, 50));
    assert_reason(HK_DETOUR_OK, hk_detour_commit(NULL), "still ours");
    finish(thread);
    assert_reason(HK_DETOUR_NO_TRANSACTION, r.reason, "the other thread's");
}

typedef struct hammer {
    uint64_t calls;
    uint64_t wrong;
    const char *wrong_form;
} hammer;

static DWORD WINAPI run_hammer(void *parameter)
{
    hammer *h = parameter;
    while (!g_stop) {
        for (unsigned i = 0; i < BURST; i++) {
            unsigned k = i % code_form_count;
            code_fn function = (code_fn)(uintptr_t)g_code[k];
            if (function(0, 70) != code_forms[k].result_0 ||
                function(3, 70) != code_forms[k].result_3) {
                h->wrong++;
                h->wrong_form = code_forms[k].name;
            }
            h->calls += 2;
        }
        // Under Wine a thread stops only when it is scheduled: leave room for the others. All wake
        // up after each commit and call while the next one is prepared.
        Sleep(1);
    }
    return 0;
}

static uint32_t hook_all(bool attach, unsigned others)
{
    assert_reason(HK_DETOUR_OK, hk_detour_begin(), "begin");
    for (unsigned k = 0; k < code_form_count; k++) {
        if (attach)
            hk_detour_attach((void **)&g_real[k], HK_CODE(hooks[k]));
        else
            hk_detour_detach((void **)&g_real[k], HK_CODE(hooks[k]));
    }
    hk_detour_result result;
    assert_reason(HK_DETOUR_OK, hk_detour_commit(&result), attach ? "attach" : "detach");
    TEST_ASSERT_EQUAL_UINT(code_form_count, result.committed);
    TEST_ASSERT_GREATER_OR_EQUAL_UINT(others, result.threads);
    return result.threads_moved;
}

static void hammer_while(int count, int cycles)
{
    hammer hammers[HAMMERS] = {0};
    static uint8_t before[CODE_FORMS_MAX][64];
    HANDLE threads[HAMMERS];
    for (unsigned k = 0; k < code_form_count; k++) {
        g_code[k] = code_make(&code_forms[k]);
        g_real[k] = (code_fn)(uintptr_t)g_code[k];
        memcpy(before[k], g_code[k], sizeof before[k]);
    }
    for (int i = 0; i < count; i++) {
        threads[i] = CreateThread(NULL, 0, run_hammer, &hammers[i], 0, NULL);
        TEST_ASSERT_NOT_NULL(threads[i]);
    }
    uint32_t moved = 0;
    ULONGLONG start = GetTickCount64();
    for (int cycle = 0; cycle < cycles; cycle++) {
        moved += hook_all(true, (unsigned)count);
        moved += hook_all(false, (unsigned)count);
    }
    ULONGLONG ms = GetTickCount64() - start;
    g_stop = 1;
    uint64_t calls = 0;
    for (int i = 0; i < count; i++) {
        finish(threads[i]);
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(0, hammers[i].wrong, hammers[i].wrong_form);
        TEST_ASSERT_GREATER_THAN_UINT64(0, hammers[i].calls);
        calls += hammers[i].calls;
    }
    for (unsigned k = 0; k < code_form_count; k++)
        TEST_ASSERT_EQUAL_HEX8_ARRAY_MESSAGE(before[k], g_code[k], sizeof before[k],
                                             code_forms[k].name);
    TEST_ASSERT_GREATER_THAN(0, g_hook_calls);
    printf("%d threads: %d cycles in %llu ms, %llu calls, %ld through the hooks, %u moved\n", count,
           cycles, (unsigned long long)ms, (unsigned long long)calls, (long)g_hook_calls, moved);
}

static void test_eight_threads_while_hooked_and_unhooked(void)
{
    hammer_while(HAMMERS, g_cycles / 5);
}

static void test_two_threads_while_hooked_and_unhooked(void)
{
    hammer_while(FEW_HAMMERS, g_cycles - g_cycles / 5);
}

static DWORD WINAPI run_child(void *parameter)
{
    code_fn function = (code_fn)(uintptr_t)parameter;
    return function(3, 70) == code_forms[0].result_3 ? 0 : 1;
}

static DWORD WINAPI run_churner(void *parameter)
{
    DWORD wrong = 0;
    while (!g_stop) {
        DWORD exit_code = 1;
        HANDLE child = CreateThread(NULL, 0, run_child, parameter, 0, NULL);
        if (!child)
            return 1;
        WaitForSingleObject(child, INFINITE);
        GetExitCodeThread(child, &exit_code);
        CloseHandle(child);
        wrong += exit_code;
    }
    return wrong;
}

// Threads come and go, in every state between not yet begun and ended, while commits stop them.
static void test_threads_that_start_and_end(void)
{
    HANDLE threads[CHURNERS];
    uint8_t *code = code_make(&code_forms[0]);
    g_real[0] = (code_fn)(uintptr_t)code;
    for (int i = 0; i < CHURNERS; i++) {
        threads[i] = CreateThread(NULL, 0, run_churner, code, 0, NULL);
        TEST_ASSERT_NOT_NULL(threads[i]);
    }
    for (int i = 0; i < CHURN_CYCLES; i++) {
        assert_reason(HK_DETOUR_OK, commit_one(true, &g_real[0], NULL), "attach");
        assert_reason(HK_DETOUR_OK, commit_one(false, &g_real[0], NULL), "detach");
        Sleep(0);
    }
    g_stop = 1;
    for (int i = 0; i < CHURNERS; i++) {
        DWORD wrong = 1;
        TEST_ASSERT_EQUAL(WAIT_OBJECT_0, WaitForSingleObject(threads[i], 300000));
        TEST_ASSERT_TRUE(GetExitCodeThread(threads[i], &wrong));
        TEST_ASSERT_EQUAL(0, wrong);
        CloseHandle(threads[i]);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        g_cycles = atoi(argv[1]);
    UNITY_BEGIN();
    RUN_TEST(test_thread_inside_the_patch_is_moved);
    RUN_TEST(test_thread_that_cannot_be_moved);
    RUN_TEST(test_transactions_of_two_threads);
    RUN_TEST(test_threads_that_start_and_end);
    RUN_TEST(test_eight_threads_while_hooked_and_unhooked);
    RUN_TEST(test_two_threads_while_hooked_and_unhooked);
    return UNITY_END();
}
