// SPDX-License-Identifier: MIT
// Processor time of threads, from switches and from samples; the answers were worked out by hand.
#define PATH "test_threads.ortl"
#include "sched_fixture.h"

#include "analysis/summary.h"
#include "analysis/threads.h"

static an_threads *g_threads;

void setUp(void)
{
    begin_file();
    people();
}

void tearDown(void)
{
    an_threads_destroy(g_threads);
    g_threads = NULL;
    cm_file_remove(PATH);
}

static void finish(void)
{
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_close(g_writer));
    TEST_ASSERT_EQUAL_INT(CM_OK, an_threads_read(&g_source, &g_threads));
}

static const an_thread_times *of(int64_t thread)
{
    for (size_t i = 0; i < an_threads_count(g_threads); i++)
        if (an_threads_get(g_threads, i)->thread == thread)
            return an_threads_get(g_threads, i);
    TEST_FAIL_MESSAGE("no such thread");
    return NULL;
}

#define EXPECT_US(us, ns) TEST_ASSERT_EQUAL_DOUBLE((us)*1e3, ns)

static void expect(int64_t thread, double on_cpu, double ready, double preempted, double waiting,
                   double unknown)
{
    const an_thread_times *n = of(thread);
    EXPECT_US(on_cpu, n->on_cpu_ns);
    EXPECT_US(ready, n->ready_ns);
    EXPECT_US(preempted, n->preempted_ns);
    EXPECT_US(waiting, n->waiting_ns);
    EXPECT_US(unknown, n->unknown_ns);
}

static void test_states_of_threads(void)
{
    switched(100, 0, 7, 0, 2, 0);   // 7 runs
    switched(150, 1, 21, 0, 2, 0);  // 21 runs on the other processor
    switched(300, 0, 22, 7, 1, 32); // 7 is preempted
    switched(360, 0, 7, 22, 5, 6);  // and runs again; 22 waits
    switched(500, 0, 0, 7, 5, 15);  // 7 waits
    made_ready(700, 7);             // is ready
    switched(730, 0, 7, 0, 2, 0);   // runs
    switched(800, 0, 0, 7, 1, 33);  // gives way by itself
    switched(810, 0, 7, 0, 2, 0);
    switched(900, 0, 0, 7, 4, 22); // ends
    switched(1000, 1, 0, 21, 5, 6);
    finish();
    // 200 + 140 + 70 + 90; 30 after the wait, 10 after giving way
    expect(7, 500, 40, 60, 200, 0);
    // its wait goes on at the end: not known; before its first switch neither
    expect(22, 60, 0, 0, 0, 200 + 640);
    expect(21, 850, 0, 0, 0, 50);
    TEST_ASSERT_EQUAL_UINT64(4, of(7)->switches);
    TEST_ASSERT_EQUAL_STRING("app.exe", of(7)->program);
    TEST_ASSERT_EQUAL_STRING("chrome.exe", of(22)->program);
    TEST_ASSERT_EQUAL_INT64(50, of(22)->pid);
    TEST_ASSERT_TRUE(of(7)->followed);
    TEST_ASSERT_FALSE(of(22)->followed);
    EXPECT_US(230 + 10, an_threads_idle(g_threads)->on_cpu_ns);
    TEST_ASSERT_EQUAL_INT64(21, an_threads_get(g_threads, 0)->thread); // the busiest
    TEST_ASSERT_FALSE(an_known(of(7)->sampled_ns));
}

static void test_ready_is_not_known_without_its_rows(void)
{
    switched(100, 0, 7, 0, 2, 0);
    switched(200, 0, 0, 7, 5, 6);
    switched(300, 0, 7, 0, 2, 0);
    switched(400, 0, 0, 7, 5, 6);
    finish();
    TEST_ASSERT_FALSE(an_known(of(7)->ready_ns));
    EXPECT_US(200, of(7)->on_cpu_ns);
    EXPECT_US(100, of(7)->waiting_ns);
}

static void test_lost_switches_are_unknown(void)
{
    switched(100, 0, 7, 0, 2, 0);
    switched(400, 0, 8, 9, 5, 6); // 9? nobody told that it runs: 7 has stopped somewhen
    switched(500, 0, 7, 8, 5, 6);
    switched(700, 1, 8, 7, 5, 6); // 7 is on the other processor all of a sudden
    switched(800, 1, 7, 8, 5, 6);
    switched(840, 1, 0, 7, 5, 6);
    finish();
    // 100 to 400, until 500, until 700: unknown. It waits until 800.
    const an_thread_times *n = of(7);
    EXPECT_US(40, n->on_cpu_ns);
    EXPECT_US(100, n->waiting_ns);
    EXPECT_US(600, n->unknown_ns);
    EXPECT_US(100 + 100, of(8)->on_cpu_ns);
}

static void test_threads_that_start_later_have_no_time_before(void)
{
    ROW(thread, 1, 12, 350 * US, 0, TEXT("worker"));
    switched(100, 0, 7, 0, 2, 0);
    made_ready(360, 12);
    switched(400, 0, 12, 7, 5, 6);
    switched(500, 0, 7, 12, 5, 6);
    finish();
    expect(12, 100, 40, 0, 0, 10);
    TEST_ASSERT_EQUAL_STRING("worker", of(12)->name);
}

static void test_numbers_are_used_again(void)
{
    switched(100, 0, 7, 0, 2, 0);
    switched(200, 0, 0, 7, 4, 22);
    ROW(sched, 300 * US, 0, 7, 2, 0, 3, 8, 8, 2, 0, 0, 0); // the same number in chrome.exe
    ROW(sched, 350 * US, 0, 0, 3, 7, 2, 8, 8, 5, 6, 0, 0);
    finish();
    TEST_ASSERT_EQUAL_size_t(2, an_threads_count(g_threads));
    EXPECT_US(100, an_threads_get(g_threads, 0)->on_cpu_ns);
    TEST_ASSERT_EQUAL_STRING("app.exe", an_threads_get(g_threads, 0)->program);
    EXPECT_US(50, an_threads_get(g_threads, 1)->on_cpu_ns);
    TEST_ASSERT_EQUAL_STRING("chrome.exe", an_threads_get(g_threads, 1)->program);
}

static void test_samples_by_their_interval(void)
{
    ROW(profiling, 0, 0, 1000 * US);
    ROW(profiling, 0, 3, 65536); // a hardware counter: no time
    ROW(profiling, 5000 * US, 0, 100 * US);
    for (int64_t i = 0; i < 10; i++)
        ROW(profile, i * 1000 * US, 0, i < 3 ? 0 : 7, i < 3 ? 3 : 1, 4096, 1, 0);
    ROW(profile, 9500 * US, 1, 21, 2, 4096, 2, 1); // stands for two
    finish();
    TEST_ASSERT_EQUAL_UINT64(7, of(7)->samples);
    EXPECT_US(2 * 1000 + 5 * 100, of(7)->sampled_ns); // at 3 and 4 ms, then 5 to 9
    EXPECT_US(200, of(21)->sampled_ns);
    TEST_ASSERT_EQUAL_UINT64(3, an_threads_idle(g_threads)->samples);
    EXPECT_US(3000, an_threads_idle(g_threads)->sampled_ns);
    TEST_ASSERT_FALSE(an_known(of(7)->on_cpu_ns));
    EXPECT_US(100, an_threads_interval_ns(g_threads));
}

static void test_samples_without_an_interval_are_only_counted(void)
{
    ROW(profile, 1000 * US, 0, 7, 1, 4096, 1, 0);
    finish();
    TEST_ASSERT_EQUAL_UINT64(1, of(7)->samples);
    TEST_ASSERT_FALSE(an_known(of(7)->sampled_ns));
}

static void test_nothing_to_tell(void)
{
    ran(1, 7, 100, 50);
    finish();
    TEST_ASSERT_NULL(g_threads);
}

// Blocks are full of one kind, and rows of several processors are a little out of order.
static void test_order_over_blocks(void)
{
    for (int64_t i = 0; i < 30000; i++) {
        switched(i * 10 + 4, 0, 0, 7, 5, 6);
        switched(i * 10 + 0, 0, 7, 0, 2, 0);
        switched(i * 10 + 8, 1, 21, 0, 2, 0);
        switched(i * 10 + 6, 1, 0, 21, 5, 6);
        made_ready(i * 10 + 9, 7);
    }
    finish();
    EXPECT_US(30000 * 4, of(7)->on_cpu_ns);
    EXPECT_US(29999 * 1, of(7)->ready_ns);
    EXPECT_US(30000 * 5, of(7)->waiting_ns);
    EXPECT_US(29999 * 8, of(21)->on_cpu_ns);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_states_of_threads);
    RUN_TEST(test_ready_is_not_known_without_its_rows);
    RUN_TEST(test_lost_switches_are_unknown);
    RUN_TEST(test_threads_that_start_later_have_no_time_before);
    RUN_TEST(test_numbers_are_used_again);
    RUN_TEST(test_samples_by_their_interval);
    RUN_TEST(test_samples_without_an_interval_are_only_counted);
    RUN_TEST(test_nothing_to_tell);
    RUN_TEST(test_order_over_blocks);
    return UNITY_END();
}
