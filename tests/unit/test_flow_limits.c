// SPDX-License-Identifier: MIT
// Flows of more runs and executions than are kept, of absurd rows, and of random runs whose time is
// counted nanosecond by nanosecond.
#define PATH "test_flow_limits.ortl"
#include "flow_fixture.h"

// ----------------------------------------------------------------------------- bounded memory

// More than the window holds; the pool's rows come a flush later than the others.
static void test_more_than_the_window(void)
{
    const int64_t rounds = 500, runs_each = 500; // 750 000 executions
    declare();
    for (int64_t round = 0; round < rounds; round++) {
        for (int64_t i = 0; i < runs_each; i++) {
            int64_t number = round * runs_each + i + 1, at = number * 2000;
            run(number, at, at + 1000);
            op_at(1, number, 2, at + 100, at + 400, 0);
            op_at(3, number, 2, at + 700, at + 900, 0);
            int64_t late = number - runs_each;
            if (late > 0)
                op_at(2, late, 3, late * 2000 + 200, late * 2000 + 700, 0);
        }
        flush();
    }
    for (int64_t late = (rounds - 1) * runs_each + 1; late <= rounds * runs_each; late++)
        op_at(2, late, 3, late * 2000 + 200, late * 2000 + 700, 0);
    check_parallel(flow(), (uint64_t)(rounds * runs_each));
}

// A run that is longer than the window is given up, not kept; the others are not disturbed.
static void test_a_run_without_end(void)
{
    declare();
    parallel_run(1, 0);
    for (int64_t i = 0; i < AN_FLOW_WINDOW + 1000; i++)
        op_at(1, 7, 5, 10000 + i * 10, 10000 + i * 10 + 5, 0);
    flush();
    run_on(7, 5, 9000, 10000 + AN_FLOW_WINDOW * 11, 0);
    parallel_run(2, AN_FLOW_WINDOW * 12);
    const an_flow_session *s = flow();
    check_runs(s, 2, 1, 0);
    check_times(s, 400, 1200, 400);
}

// The same, where the run's row comes before its operators, as a flush has them.
static void test_a_run_without_end_whose_row_comes_first(void)
{
    declare();
    run_on(7, 5, 9000, 10000 + AN_FLOW_WINDOW * 11, 0);
    parallel_run(1, 0);
    flush();
    for (int64_t i = 0; i < AN_FLOW_WINDOW + 1000; i++)
        op_at(1, 7, 5, 10000 + i * 10, 10000 + i * 10 + 5, 0);
    parallel_run(2, AN_FLOW_WINDOW * 12);
    const an_flow_session *s = flow();
    check_runs(s, 2, 1, 0);
    check_times(s, 400, 1200, 400);
}

// As many executions as half the window holds are one run like others.
static void test_long_runs(void)
{
    const int64_t each = AN_FLOW_WINDOW / 2 - 10;
    declare();
    for (int64_t number = 1; number <= 4; number++) {
        int64_t at = number * each * 10;
        run(number, at, at + each * 10);
        for (int64_t i = 0; i < each; i++)
            op(1, number, at + i * 10, at + i * 10 + 5);
        flush();
    }
    const an_flow_session *s = flow();
    check_runs(s, 4, 0, 0);
    check_times(s, (uint64_t)(4 * each * 5), (uint64_t)(4 * each * 5), 0);
}

// Runs without operators by the hundred thousand.
static void test_many_empty_runs(void)
{
    declare();
    for (int64_t i = 1; i <= AN_FLOW_RUNS * 2 + 5; i++)
        run(i, i * 10, i * 10 + 5);
    parallel_run(AN_FLOW_RUNS * 3, AN_FLOW_RUNS * 30);
    const an_flow_session *s = flow();
    check_runs(s, 1, 0, AN_FLOW_RUNS * 2 + 5);
    check_times(s, 200, 600, 200);
}

static void test_absurd_numbers(void)
{
    declare();
    run(1, INT64_MIN, INT64_MIN + 5);
    ROW(run, 1, 2, 1, INT64_MAX - 5, INT64_MAX, 0, 0, 1, 0, 0);
    ROW(run, 1, 3, 1, 5, -5, 0, 0, 1, 0, 0);
    ROW(run, 1, INT64_MAX, 1, INT64_MIN, INT64_MAX, 0, 0, 1, 0, 0);
    ROW(run, 1, -4, 1, 0, 50, 0, 0, 1, 0, 0);
    for (int64_t number = 1; number <= 3; number++) {
        ROW(op, 1, 1, number, -1, INT64_MIN, INT64_MAX, -7, 0);
        ROW(op, 2, 1, number, 5, INT64_MAX - 5, INT64_MAX, 300, 255 & ~1);
        ROW(op, -9, 1, number, 5, 0, -5, INT64_MIN, 4);
    }
    ROW(op, 1, 1, INT64_MAX, INT64_MIN, INT64_MIN, INT64_MAX, 0, 0);
    ROW(op, 1, 1, INT64_MIN, 0, INT64_MIN, INT64_MAX, 0, 0);
    ROW(op, 0, 0, 0, 0, 0, 0, 0, 0);
    read_flow();
    TEST_ASSERT_EQUAL_size_t(2, an_flow_count(g_flow));
}

// ------------------------------------------------------------------------------ against brute
// force

#define SPAN    200
#define THREADS 4

typedef struct planted {
    int64_t begin, end, thread;
} planted;

static uint64_t g_seed;

static int64_t below(int64_t limit)
{
    g_seed = g_seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((g_seed >> 33) % (uint64_t)limit);
}

// The time of the path by its definition, looking at everything each time.
static uint64_t slow_path(const planted *p, size_t count)
{
    bool used[64] = {false};
    uint64_t total = 0;
    int64_t before = SPAN + 1;
    for (;;) {
        size_t best = count;
        for (size_t i = 0; i < count; i++)
            if (!used[i] && p[i].end <= before && (best == count || p[i].end > p[best].end))
                best = i;
        if (best == count)
            return total;
        used[best] = true;
        total += (uint64_t)(p[best].end - p[best].begin);
        before = p[best].begin;
    }
}

static void test_random_runs_against_counting(void)
{
    static planted p[64];
    for (uint64_t round = 0; round < 60; round++) {
        uint64_t times[3] = {0, 0, 0}, most = 0;
        size_t count = 0;
        bool end_taken[SPAN + 1] = {false}; // ends differ, so that there is one path
        g_seed = round * 977 + 5;
        if (round) {
            tearDown();
            setUp();
        }
        declare();
        for (int64_t t = 0; t < THREADS; t++)
            for (int64_t at = below(30); at < SPAN - 25;) {
                planted now = {at, at + 1 + below(20), t};
                while (end_taken[now.end])
                    now.end++;
                if (now.end > SPAN || count == 64)
                    break;
                end_taken[now.end] = true;
                p[count++] = now;
                op_at(1 + below(3), 1, 10 + t, now.begin, now.end, 0);
                at = now.end + below(12);
            }
        run(1, 0, SPAN);
        for (int64_t at = 0; at < SPAN; at++) {
            uint64_t now = 0;
            for (size_t i = 0; i < count; i++)
                now += p[i].begin <= at && at < p[i].end;
            times[now < 2 ? now : 2]++;
            most = now > most ? now : most;
        }
        const an_flow_session *s = flow();
        check_times(s, times[0], times[1], times[2]);
        TEST_ASSERT_EQUAL_UINT64(most, s->most);
        TEST_ASSERT_EQUAL_UINT64(slow_path(p, count), s->path_ns);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_more_than_the_window);
    RUN_TEST(test_a_run_without_end);
    RUN_TEST(test_a_run_without_end_whose_row_comes_first);
    RUN_TEST(test_long_runs);
    RUN_TEST(test_many_empty_runs);
    RUN_TEST(test_absurd_numbers);
    RUN_TEST(test_random_runs_against_counting);
    return UNITY_END();
}
