// SPDX-License-Identifier: MIT
// Runs that only ORT's own events tell of, one inside a kernel of another: which one an error ends,
// and which one an end.
#include "phases.h"
#include "tap.h"

#include <string.h>
#include <unity.h>

enum { EPOCH = 1, RUNS_MAX = 16, REFUSED = 2 };
// Depths of the stack, from the outermost in.
enum { OUTER = 0x80000, KERNEL = 0x70000, INNER = 0x60000, INNER_KERNEL = 0x50000 };

hk_state g_hk;
_Atomic uint32_t g_hk_hidden_changes;
static hk_module g_module;
static hk_tap_provider g_provider = {.module = &g_module};
static hk_session g_sessions[8];
static hk_thread g_thread;
static tl_Run g_told[RUNS_MAX];
static uint32_t g_told_count;

hk_session *hk_session_find_hidden(const hk_module *m, uint32_t ort_id)
{
    (void)m;
    return &g_sessions[ort_id];
}

hk_session *hk_session_take_up_hidden(hk_thread *t, uint32_t epoch, hk_module *m, uint32_t ort_id,
                                      uint8_t source)
{
    (void)t, (void)epoch, (void)source;
    return hk_session_find_hidden(m, ort_id);
}

bool hk_session_hold(hk_session *s, const hk_module *m, uint32_t ort_id)
{
    (void)m;
    atomic_fetch_add(&s->held, 1);
    return s->ort_id == ort_id;
}

void hk_session_let_go(hk_session *s)
{
    atomic_fetch_sub(&s->held, 1);
}

hk_session *hk_session_sole_hidden(const hk_module *m)
{
    (void)m;
    return NULL;
}

void hk_session_hidden_ends(hk_thread *t, uint32_t epoch, hk_session_ref ref)
{
    (void)t, (void)epoch, (void)ref;
}

void hk_session_announce(hk_thread *t, uint32_t epoch, hk_session *s)
{
    (void)t, (void)epoch, (void)s;
}

void hk_phases_emit(hk_thread *t, uint32_t epoch, uint32_t id, const hk_session_origin *origin,
                    bool failed)
{
    (void)t, (void)epoch, (void)id, (void)origin, (void)failed;
}

void *hk_alloc(size_t bytes)
{
    (void)bytes;
    return NULL;
}

bool hk_emit(hk_thread *t, uint32_t epoch, tl_event event, uint64_t ticks, const void *fixed,
             size_t fixed_bytes, const hk_text *texts, size_t count)
{
    (void)t, (void)epoch, (void)ticks, (void)texts, (void)count;
    if (event == TL_EVENT_Run && g_told_count < RUNS_MAX)
        memcpy(&g_told[g_told_count++], fixed, fixed_bytes);
    return true;
}

void hk_emit_log(hk_thread *t, uint32_t epoch, uint8_t level, uint32_t session, uint32_t run,
                 uint32_t code, hk_text message)
{
    (void)t, (void)epoch, (void)level, (void)session, (void)run, (void)code, (void)message;
}

void hk_ops_unwind(hk_thread *t, uint32_t epoch, uintptr_t stack, uint64_t end)
{
    (void)epoch, (void)end;
    while (t->op_depth && t->ops[t->op_depth - 1].stack < stack)
        t->op_depth--;
}

void setUp(void)
{
    memset(&g_thread, 0, sizeof g_thread);
    memset(g_sessions, 0, sizeof g_sessions);
    for (uint32_t i = 0; i < sizeof g_sessions / sizeof *g_sessions; i++)
        g_sessions[i] = (hk_session){.id = 10 + i, .ort_id = i, .announced = 1};
    g_told_count = 0;
}

void tearDown(void) {}

static void begin(uint32_t session, uintptr_t stack)
{
    hk_tap_run_begins(&g_thread, EPOCH, &g_provider, session, stack, 100);
    TEST_ASSERT_EQUAL_UINT32(0, atomic_load(&g_sessions[session].held));
}

static void kernel(uintptr_t stack)
{
    g_thread.ops[g_thread.op_depth++] = (hk_op_frame){.stack = stack, .epoch = EPOCH};
}

static void fail(uintptr_t stack)
{
    static const hk_tap_event refusal = {.code = REFUSED};
    hk_tap_run_fails(&g_thread, EPOCH, &refusal, stack, 200);
}

static void end(uintptr_t stack)
{
    hk_tap_run_ends(&g_thread, EPOCH, stack, 300);
}

static void expect_told(uint32_t i, uint32_t session, uint32_t status)
{
    TEST_ASSERT_LESS_THAN_UINT32(g_told_count, i);
    TEST_ASSERT_EQUAL_UINT32(10 + session, g_told[i].session);
    TEST_ASSERT_EQUAL_UINT32(status, g_told[i].status);
}

static void expect_over(uint32_t told)
{
    TEST_ASSERT_EQUAL_UINT32(told, g_told_count);
    TEST_ASSERT_EQUAL_UINT32(0, g_thread.tap_depth);
    TEST_ASSERT_EQUAL_UINT32(0, g_thread.run.epoch);
    for (uint32_t i = 0; i < sizeof g_sessions / sizeof *g_sessions; i++)
        TEST_ASSERT_EQUAL_UINT64(0, atomic_load(&g_sessions[i].flying));
}

// The inner session's inputs are refused: no end comes, and the kernel around it may go on.
static void test_a_refused_run_inside_a_kernel_ends(void)
{
    begin(1, OUTER);
    kernel(KERNEL);
    begin(2, INNER);
    TEST_ASSERT_EQUAL_PTR(&g_sessions[2], g_thread.run.session);
    fail(INNER);
    expect_told(0, 2, REFUSED);
    TEST_ASSERT_EQUAL_PTR(&g_sessions[1], g_thread.run.session);
    TEST_ASSERT_EQUAL_UINT32(1, g_thread.op_depth);
    g_thread.op_depth = 0; // the kernel has returned
    end(OUTER);
    expect_told(1, 1, 0);
    expect_over(2);
}

// A Loop whose body fails tells the error twice, the second time outside of it.
static void test_an_error_inside_the_runs_own_kernel_waits(void)
{
    begin(1, OUTER);
    kernel(KERNEL);
    begin(2, INNER);
    kernel(INNER_KERNEL);
    fail(INNER_KERNEL - 4096);
    TEST_ASSERT_EQUAL_UINT32(0, g_told_count);
    g_thread.op_depth--;
    fail(INNER);
    expect_told(0, 2, REFUSED);
    g_thread.op_depth--;
    end(OUTER);
    expect_told(1, 1, 0);
    expect_over(2);
}

static void test_an_inner_run_that_is_gone_without_a_word(void)
{
    begin(1, OUTER);
    kernel(KERNEL);
    begin(2, INNER);
    g_thread.op_depth = 0;
    end(OUTER - 64);
    expect_told(0, 2, 1);
    expect_told(1, 1, 0);
    expect_over(2);
}

static void test_ends_of_runs_in_runs(void)
{
    begin(1, OUTER);
    begin(2, INNER);
    end(INNER + 64);   // the functions that tell differ in their frames
    end(INNER - 8192); // of one that was never seen to begin
    TEST_ASSERT_EQUAL_UINT32(1, g_told_count);
    end(OUTER - 64);
    expect_told(0, 2, 0);
    expect_told(1, 1, 0);
    expect_over(2);
}

static void begin_deeper_than_is_kept(void)
{
    for (uint32_t i = 0; i < HK_TAP_DEPTH + 2; i++)
        begin(i, OUTER - i * 0x10000);
}

static void test_more_runs_in_runs_than_are_kept(void)
{
    begin_deeper_than_is_kept();
    for (uint32_t i = HK_TAP_DEPTH + 2; i-- > 0;)
        end(OUTER - i * 0x10000);
    for (uint32_t i = 0; i < HK_TAP_DEPTH; i++)
        expect_told(i, HK_TAP_DEPTH - 1 - i, 0);
    expect_over(HK_TAP_DEPTH);
}

static void test_one_that_is_not_kept_is_gone_without_a_word(void)
{
    begin_deeper_than_is_kept();
    end(OUTER - (HK_TAP_DEPTH - 1) * 0x10000);
    expect_told(0, HK_TAP_DEPTH - 1, 0);
    end(OUTER);
    expect_told(HK_TAP_DEPTH - 2, 1, 1);
    expect_told(HK_TAP_DEPTH - 1, 0, 0);
    expect_over(HK_TAP_DEPTH);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_refused_run_inside_a_kernel_ends);
    RUN_TEST(test_an_error_inside_the_runs_own_kernel_waits);
    RUN_TEST(test_an_inner_run_that_is_gone_without_a_word);
    RUN_TEST(test_ends_of_runs_in_runs);
    RUN_TEST(test_more_runs_in_runs_than_are_kept);
    RUN_TEST(test_one_that_is_not_kept_is_gone_without_a_word);
    return UNITY_END();
}
