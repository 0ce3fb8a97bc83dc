// SPDX-License-Identifier: MIT
// How operators follow each other, of timelines whose answer is known by construction.
#define PATH "test_flow.ortl"
#include "flow_fixture.h"

static void test_one_after_the_other(void)
{
    declare();
    run(1, 0, 1000);
    op(1, 1, 100, 300);
    op(2, 1, 300, 600);
    op(3, 1, 700, 800);
    const an_flow_session *s = flow();
    check_runs(s, 1, 0, 0);
    check_times(s, 400, 600, 0);
    TEST_ASSERT_EQUAL_UINT64(1, s->most);
    TEST_ASSERT_EQUAL_UINT64(600, s->path_ns);
    TEST_ASSERT_EQUAL_UINT64(3, s->path_count);
    TEST_ASSERT_EQUAL_STRING("b", s->path[0].node);
    TEST_ASSERT_EQUAL_UINT64(300, s->path[0].path_ns);
    TEST_ASSERT_EQUAL_size_t(3, s->path_kept);
    TEST_ASSERT_EQUAL_size_t(0, s->pool_count);
    TEST_ASSERT_DOUBLE_IS_NAN(an_flow_pool_idle_ns(s));
    TEST_ASSERT_EQUAL_DOUBLE(0, an_flow_parallel_share(s));
    TEST_ASSERT_EQUAL_DOUBLE(0.6, an_flow_path_share(s));
}

// Begin and end are rounded apart: neighbours on a thread may overlap by a nanosecond.
static void test_rounding_is_not_parallel(void)
{
    declare();
    run(1, 0, 1000);
    op(1, 1, 100, 301);
    op(2, 1, 300, 601);
    op(3, 1, 600, 800);
    const an_flow_session *s = flow();
    check_times(s, 300, 700, 0);
    TEST_ASSERT_EQUAL_UINT64(700, s->path_ns);
    TEST_ASSERT_EQUAL_UINT64(1, s->most);
}

static void test_two_threads(void)
{
    declare();
    parallel_run(1, 0);
    parallel_run(2, 5000);
    check_parallel(flow(), 2);
}

// The run's own thread is not of the pool, though it executes operators.
static void test_own_thread_is_not_of_the_pool(void)
{
    declare();
    run_on(1, 2, 0, 1000, 0);
    op_at(1, 1, 2, 0, 600, 0);
    op_at(2, 1, 3, 100, 400, 0);
    const an_flow_session *s = flow();
    check_times(s, 400, 300, 300);
    TEST_ASSERT_EQUAL_size_t(1, s->pool_count);
    TEST_ASSERT_EQUAL_INT64(3, s->pool[0].thread);
    TEST_ASSERT_EQUAL_DOUBLE(700, an_flow_pool_idle_ns(s));
    TEST_ASSERT_EQUAL_UINT64(600, s->path_ns); // a alone: b had not ended when it began
}

// A run's row, its own thread and its pool's come in different blocks, some of them much later.
static void test_rows_in_any_order(void)
{
    declare();
    op_at(1, 1, 2, 100, 400, 0);
    flush();
    op_at(3, 1, 2, 700, 900, 0);
    op_at(1, 2, 2, 5100, 5400, 0);
    op_at(3, 2, 2, 5700, 5900, 0);
    run(2, 5000, 6000);
    flush();
    run(1, 0, 1000);
    flush();
    op_at(2, 2, 3, 5200, 5700, 0);
    op_at(2, 1, 3, 200, 700, 0);
    check_parallel(flow(), 2);
}

static void test_operators_inside_others(void)
{
    kernel(1, "loop", "Loop");
    kernel(2, "if", "If");
    kernel(3, "add", "Add");
    kernel(4, "relu", "Relu");
    run(1, 0, 2000);
    op_at(3, 1, 1, 200, 300, 2);
    op_at(3, 1, 1, 310, 330, 2);
    op_at(2, 1, 1, 150, 450, 1);
    op_at(4, 1, 1, 600, 650, 1);
    op_at(1, 1, 1, 100, 1100, 0);
    op_at(4, 1, 1, 1200, 1240, 0);
    op_at(4, 1, 7, 1000, 1220, 0); // beside it, on another thread
    const an_flow_session *s = flow();
    check_times(s, 2000 - 1000 - 140, 1000 - 100 + 20 + 100, 120);
    TEST_ASSERT_EQUAL_UINT64(2, s->most);
    TEST_ASSERT_EQUAL_UINT64(1040, s->path_ns); // the loop and the last relu
    TEST_ASSERT_EQUAL_UINT64(2, s->path_count);
    TEST_ASSERT_EQUAL_STRING("loop", s->path[0].node);
}

// The Loop's own row was lost: what it ran is there all the same, and counts once.
static void test_lost_parent_and_lost_events(void)
{
    kernel(1, "add", "Add");
    kernel(2, "relu", "Relu");
    run(1, 0, 1000);
    op_at(1, 1, 1, 100, 200, 1);
    op_at(1, 1, 1, 200, 300, 2);
    op_at(2, 1, 1, 300, 400, 1);
    op_at(2, 1, 1, 500, 600, 0);
    ROW(lost, 1, 900, 0, 17);
    ROW(lost, 1, 950, 0, 3);
    ROW(lost, 1, 950, 0, -3);
    const an_flow_session *s = flow();
    check_times(s, 600, 400, 0);
    TEST_ASSERT_EQUAL_UINT64(400, s->path_ns);
    TEST_ASSERT_EQUAL_UINT64(20, an_flow_lost(g_flow));
}

static void test_ambiguous_runs_are_left_out(void)
{
    declare();
    run(1, 0, 100);
    op(1, 1, 10, 60);
    run(2, 200, 400);
    op(1, 2, 210, 250);
    op_at(2, 0, 9, 260, 300, 0); // whose it is nobody knows
    op_at(2, 0, 8, 265, 310, 0);
    run(3, 300, 500); // has only such
    run(4, 600, 700);
    op(1, 4, 610, 650);
    const an_flow_session *s = flow();
    check_runs(s, 2, 2, 0);
    check_times(s, 110, 90, 0);
}

static void test_many_spells_of_ambiguity(void)
{
    declare();
    for (int64_t i = 1; i <= 5000; i++) { // each between two runs: none of them is in doubt
        run(i, i * 1000, i * 1000 + 400);
        op(1, i, i * 1000 + 100, i * 1000 + 300);
        if (i > 4000)
            op_at(2, 0, 9, i * 1000 + 500, i * 1000 + 600, 0);
    }
    const an_flow_session *s = flow();
    check_runs(s, 5000, 0, 0);
    check_times(s, 5000 * 200, 5000 * 200, 0);
}

static void test_runs_that_do_not_count(void)
{
    declare();
    run(1, 0, 100);
    op(1, 1, 10, 60);
    run_on(2, 1, 200, 300, 6); // failed
    op(1, 2, 210, 250);
    op(1, 3, 410, 450);                // never ended
    run(4, 600, 700);                  // no operators were recorded of it
    ROW(op, 2, 1, 0, 1, 20, 30, 0, 1); // loading, of another session's time
    const an_flow_session *s = flow();
    check_runs(s, 1, 2, 1);
    check_times(s, 50, 50, 0);
}

// Each run on its own thread: several runs at once, but one operator of each.
static void test_runs_beside_each_other(void)
{
    declare();
    run_on(1, 1, 0, 1000, 0);
    run_on(2, 2, 500, 800, 0);
    run_on(3, 3, 900, 1500, 0);
    op_at(1, 1, 1, 0, 1000, 0);
    op_at(1, 2, 2, 500, 800, 0);
    op_at(1, 3, 3, 900, 1500, 0);
    const an_flow_session *s = flow();
    check_times(s, 0, 1900, 0);
    TEST_ASSERT_EQUAL_UINT64(1500, s->covered_ns);
    TEST_ASSERT_EQUAL_size_t(0, s->pool_count);
}

static void test_only_within_the_run(void)
{
    declare();
    run(1, 100, 200);
    op(1, 1, 50, 120);
    op(2, 1, 150, 260);
    op(3, 1, 300, 400);
    const an_flow_session *s = flow();
    check_times(s, 30, 70, 0);
    TEST_ASSERT_EQUAL_UINT64(70, s->path_ns);
}

static void test_sessions_and_choice(void)
{
    declare();
    run(1, 0, 100);
    op(1, 1, 0, 50);
    run(2, 200, 300);
    op(1, 2, 200, 300);
    ROW(run, 9, 1, 5, 0, 100, 0, 0, 1, 0, 0);
    ROW(op, 77, 9, 1, 5, 0, 10, 0, 0);
    read_flow();
    TEST_ASSERT_EQUAL_size_t(2, an_flow_count(g_flow));
    TEST_ASSERT_EQUAL_INT64(1, an_flow_get(g_flow, 0)->session);
    TEST_ASSERT_EQUAL_UINT64(150, an_flow_get(g_flow, 0)->one_ns);
    TEST_ASSERT_EQUAL_INT64(9, an_flow_get(g_flow, 1)->session);
    TEST_ASSERT_EQUAL_UINT64(10, an_flow_get(g_flow, 1)->one_ns);
    an_flow_destroy(g_flow);
    g_choice = (an_flow_choice){true, true, 1, 2};
    TEST_ASSERT_EQUAL_INT(CM_OK, an_flow_create(g_ops, &g_choice, &g_flow));
    read_kinds(TM_BIT(op) | TM_BIT(run), true);
    TEST_ASSERT_EQUAL_INT(CM_OK, an_flow_finish(g_flow));
    TEST_ASSERT_EQUAL_size_t(1, an_flow_count(g_flow));
    TEST_ASSERT_EQUAL_UINT64(100, an_flow_get(g_flow, 0)->one_ns);
    TEST_ASSERT_EQUAL_UINT64(1, an_flow_get(g_flow, 0)->runs);
}

static void test_nothing(void)
{
    read_flow();
    TEST_ASSERT_EQUAL_size_t(0, an_flow_count(g_flow));
    TEST_ASSERT_EQUAL_UINT64(0, an_flow_lost(g_flow));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_one_after_the_other);
    RUN_TEST(test_rounding_is_not_parallel);
    RUN_TEST(test_two_threads);
    RUN_TEST(test_own_thread_is_not_of_the_pool);
    RUN_TEST(test_rows_in_any_order);
    RUN_TEST(test_operators_inside_others);
    RUN_TEST(test_lost_parent_and_lost_events);
    RUN_TEST(test_ambiguous_runs_are_left_out);
    RUN_TEST(test_many_spells_of_ambiguity);
    RUN_TEST(test_runs_that_do_not_count);
    RUN_TEST(test_runs_beside_each_other);
    RUN_TEST(test_only_within_the_run);
    RUN_TEST(test_sessions_and_choice);
    RUN_TEST(test_nothing);
    return UNITY_END();
}
