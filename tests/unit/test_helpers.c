// SPDX-License-Identifier: MIT
// Threads that worked while runs were under way, of timelines whose answer is known by
// construction.
#define PATH "test_helpers.ortl"
#include "analysis/helpers.h"
#include "flow_fixture.h"

#define MS ((int64_t)1000000)

static an_helpers g_helpers;

static cm_status open_again(void *context, tm_reader **out)
{
    (void)context;
    return tm_reader_open(PATH, out);
}

// Session 1 belongs to process 1.
static void begin(void)
{
    ROW(module, 1, 1, 0, 0, 0, 0, 1, 0);
    ROW(session, 1, 1, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 1);
    kernel(1, "a", "Conv");
}

// Counters 2 * thread and 2 * thread + 1, in units of 100 ns.
static void meters(int64_t process, int64_t thread)
{
    ROW(counter, 2 * thread, 0, TEXT("system"), TEXT("cpu_user"), TEXT("s"), 10000000, 1, 2,
        process, thread, 0);
    ROW(counter, 2 * thread + 1, 0, TEXT("system"), TEXT("cpu_kernel"), TEXT("s"), 10000000, 1, 2,
        process, thread, 0);
}

static void sample(int64_t counter, int64_t time_ms, int64_t used_ms)
{
    ROW(sample, counter, time_ms * MS, used_ms * 10000, 1);
}

static void read_helpers(void)
{
    an_source source = {NULL, open_again};
    read_flow();
    TEST_ASSERT_EQUAL_INT(CM_OK, an_helpers_read(&source, g_ops, &g_helpers));
}

static void check_helper(size_t at, int64_t thread, double cpu_ms, double idle_ms)
{
    TEST_ASSERT_EQUAL_INT64(thread, g_helpers.items[at].thread);
    TEST_ASSERT_DOUBLE_WITHIN(1, cpu_ms * 1e6, g_helpers.items[at].cpu_ns);
    TEST_ASSERT_DOUBLE_WITHIN(1, idle_ms * 1e6, g_helpers.items[at].idle_ns);
}

// Ten runs of 100 ms each, one every 200 ms from 1000 ms on, on thread 1; operators on thread 3.
static void ten_runs(void)
{
    for (int64_t i = 0; i < 10; i++) {
        run(i + 1, (1000 + i * 200) * MS, (1100 + i * 200) * MS);
        op_at(1, i + 1, 3, (1000 + i * 200) * MS, (1050 + i * 200) * MS, 0);
    }
}

static void test_what_helpers_used_and_idled(void)
{
    begin();
    ten_runs();
    for (int64_t thread = 1; thread <= 6; thread++)
        meters(1, thread);
    meters(2, 9); // of another process, without runs
    for (int64_t thread = 1; thread <= 9; thread++) {
        sample(2 * thread, 500, 50);
        sample(2 * thread, 900, 70);
        sample(2 * thread, 1500, 270);
    }
    // Thread 4: 400 ms and 100 ms in the kernel, and more after the last run, which does not count.
    sample(8, 2950, 470);
    sample(8, 4000, 900);
    sample(9, 990, 10);
    sample(9, 2900, 110);
    // Thread 5 used 200 ms. Thread 6 used all of the time and more than the runs took.
    sample(12, 2900, 2000);
    read_helpers();
    TEST_ASSERT_TRUE(g_helpers.known);
    TEST_ASSERT_EQUAL_size_t(4, g_helpers.count); // not 1 and 3; 2 is like 5
    check_helper(0, 6, 1930, 0);
    check_helper(1, 4, 500, 500);
    check_helper(2, 2, 200, 800);
    check_helper(3, 5, 200, 800);
    TEST_ASSERT_DOUBLE_WITHIN(1, 2100e6, an_helpers_idle_ns(&g_helpers));
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0.525, an_helpers_idle_share(&g_helpers));
    an_helpers_deinit(&g_helpers);
}

// Its first sample comes 300 ms after the first begin: it can have used all of that time.
static void test_a_thread_that_is_seen_late(void)
{
    begin();
    ten_runs();
    meters(1, 4);
    meters(1, 5);
    sample(8, 1300, 5000);
    sample(8, 3000, 5100);
    sample(10, 1300, 20); // has used no more than this ever
    sample(10, 3000, 120);
    read_helpers();
    TEST_ASSERT_EQUAL_size_t(2, g_helpers.count);
    check_helper(0, 4, 400, 600);
    check_helper(1, 5, 120, 880);
    an_helpers_deinit(&g_helpers);
}

static void test_runs_at_once_are_counted_once(void)
{
    begin();
    run_on(1, 1, 0, 1000 * MS, 0);
    run_on(2, 2, 500 * MS, 1500 * MS, 0);
    meters(1, 4);
    sample(8, 0, 0);
    sample(8, 1500, 300);
    read_helpers();
    TEST_ASSERT_EQUAL_size_t(1, g_helpers.count);
    check_helper(0, 4, 300, 1200);
    an_helpers_deinit(&g_helpers);
}

static void test_nothing_to_tell(void)
{
    begin();
    ten_runs();
    read_helpers();
    TEST_ASSERT_FALSE(g_helpers.known);
    TEST_ASSERT_EQUAL_size_t(0, g_helpers.count);
    TEST_ASSERT_DOUBLE_IS_NAN(an_helpers_idle_ns(&g_helpers));
    TEST_ASSERT_DOUBLE_IS_NAN(an_helpers_idle_share(&g_helpers));
    an_helpers_deinit(&g_helpers);
}

static void test_absurd_rows(void)
{
    begin();
    ROW(run, 1, 1, 1, INT64_MIN, INT64_MAX, 0, 0, 1, 0, 0);
    ROW(run, 1, 2, 1, INT64_MAX - 1, INT64_MAX, 0, 0, 1, 0, 0);
    ROW(run, 77, 2, 1, 0, 5, 0, 0, 1, 0, 0);
    meters(1, 4);
    ROW(counter, 99, 0, 0, TEXT("cpu_user"), 0, 0, 1, 2, 1, 8, 0);
    ROW(counter, 98, 0, 0, TEXT("cpu_user"), 0, -1, 1, 2, -1, -8, 0);
    ROW(sample, 8, INT64_MIN, INT64_MIN, 1);
    ROW(sample, 8, INT64_MAX, INT64_MAX, 1);
    ROW(sample, 9, 5, 5, 0);
    ROW(sample, 99, 5, 5, 1);
    read_helpers();
    TEST_ASSERT_TRUE(g_helpers.count <= 1);
    an_helpers_deinit(&g_helpers);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_what_helpers_used_and_idled);
    RUN_TEST(test_a_thread_that_is_seen_late);
    RUN_TEST(test_runs_at_once_are_counted_once);
    RUN_TEST(test_nothing_to_tell);
    RUN_TEST(test_absurd_rows);
    return UNITY_END();
}
