// SPDX-License-Identifier: MIT
// What a run holds at once, where the thread that releases is not the one that allocated, and where
// the table of addresses has no room.
#include "alloc_owner.h"

#include <unity.h>

hk_state g_hk;
static hk_run_memory g_run;
static hk_session g_session;
static const hk_alloc_owner g_mine = {.session = 1, .run = 2, .tag = 3, .mine = &g_run};
static const hk_alloc_owner g_other = {.session = 1, .run = 2, .tag = 3, .other = &g_session};

void setUp(void)
{
    g_run = (hk_run_memory){0};
    g_session = (hk_session){0};
}

void tearDown(void) {}

static void test_peak_of_what_a_run_has_at_once(void)
{
    for (int i = 0; i < 10; i++) {
        hk_alloc_count(&g_mine, 100);
        hk_alloc_count_release(&g_mine, hk_address_note(100, 3));
    }
    hk_alloc_count_release(&g_mine, hk_address_note(5000, 4)); // of another run
    TEST_ASSERT_EQUAL_UINT64(100, g_run.peak_bytes);
    TEST_ASSERT_EQUAL_UINT64(1000, g_run.allocated_bytes);
    TEST_ASSERT_EQUAL_UINT64(6000, g_run.freed_bytes);
}

static void test_releases_what_another_thread_allocated(void)
{
    hk_alloc_count(&g_other, 500);
    hk_alloc_count_release(&g_mine, hk_address_note(500, 3));
    hk_alloc_count(&g_mine, 100);
    TEST_ASSERT_EQUAL_UINT64(500, atomic_load(&g_session.memory.peak_bytes));
    TEST_ASSERT_EQUAL_UINT64(0, g_run.peak_bytes);
    hk_alloc_count(&g_mine, 700);
    TEST_ASSERT_EQUAL_UINT64(300, g_run.peak_bytes); // together never less than it was
}

static void test_peak_is_unknown_from_then_on(void)
{
    hk_alloc_count(&g_mine, 100);
    hk_alloc_count_unnoted(&g_mine, 100);
    hk_alloc_count_release(&g_mine, 0);
    hk_alloc_count(&g_mine, 100);
    TEST_ASSERT_EQUAL_UINT64(HK_PEAK_UNKNOWN, g_run.peak_bytes);
    TEST_ASSERT_EQUAL_UINT64(300, g_run.allocated_bytes);
    TEST_ASSERT_EQUAL_UINT32(3, g_run.allocations);
    hk_alloc_count_unnoted(&g_other, 100);
    hk_alloc_count(&g_other, 100);
    TEST_ASSERT_EQUAL_UINT64(HK_PEAK_UNKNOWN, atomic_load(&g_session.memory.peak_bytes));
    TEST_ASSERT_EQUAL_UINT32(2, atomic_load(&g_session.memory.allocations));
}

static __attribute__((noinline)) void find(hk_thread *t, uint32_t epoch, hk_alloc_owner *o)
{
    hk_alloc_find_owner(t, epoch, NULL, true, 0, o);
}

static void test_a_mark_of_loading_that_nobody_took_away(void)
{
    static hk_thread t;
    hk_alloc_owner o;
    t.run = (hk_run_note){.epoch = 3, .session_id = 1, .run = 2};
    hk_creation_begins(&t, 3, (uintptr_t)__builtin_frame_address(0));
    find(&t, 3, &o);
    TEST_ASSERT_EQUAL_UINT8(HK_ALLOC_LOADING, o.flags);
    TEST_ASSERT_NULL(o.mine);
    // From further down than this: that one has returned, the one around it has not.
    hk_creation_begins(&t, 3, (uintptr_t)__builtin_frame_address(0) - 8192);
    find(&t, 3, &o);
    TEST_ASSERT_EQUAL_UINT8(HK_ALLOC_LOADING, o.flags);
    t.inside = 0;
    hk_creation_begins(&t, 3, (uintptr_t)__builtin_frame_address(0) - 8192);
    find(&t, 3, &o);
    TEST_ASSERT_EQUAL_PTR(&t.run.memory, o.mine);
    TEST_ASSERT_EQUAL_UINT32(2, o.run);
    hk_creation_begins(&t, 1, (uintptr_t)__builtin_frame_address(0)); // before a detach
    find(&t, 3, &o);
    TEST_ASSERT_EQUAL_PTR(&t.run.memory, o.mine);
    t.run.epoch = 0;
    hk_creation_begins(&t, 1, (uintptr_t)__builtin_frame_address(0));
    find(&t, 3, &o);
    TEST_ASSERT_EQUAL_UINT8(0, o.flags);
    TEST_ASSERT_NULL(o.mine);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_peak_of_what_a_run_has_at_once);
    RUN_TEST(test_releases_what_another_thread_allocated);
    RUN_TEST(test_peak_is_unknown_from_then_on);
    RUN_TEST(test_a_mark_of_loading_that_nobody_took_away);
    return UNITY_END();
}
