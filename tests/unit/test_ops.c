// SPDX-License-Identifier: MIT
// Operators of timelines made with the real writer, against what was put into them.
#include "ops_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unity.h>

// A Loop with an If in it, and what these run.
static void declare_nest(void)
{
    kernel(1, 1, "loop", "Loop");
    kernel(2, 1, "if", "If");
    kernel(3, 1, "add", "Add");
    kernel(4, 1, "relu", "Relu");
}

static void check_nest(void)
{
    const an_op_table *t = table(AN_BY_NODE);
    TEST_ASSERT_EQUAL_size_t(4, t->row_count);
    check_row(t, "loop", "Loop", 1, 1000, 1000 - 300 - 50);
    check_row(t, "if", "If", 1, 300, 300 - 100 - 20);
    check_row(t, "add", "Add", 2, 120, 120);
    check_row(t, "relu", "Relu", 2, 90, 90);
    TEST_ASSERT_EQUAL_UINT64(1040, t->all.self_ns); // the loop and the relu behind it, once
}

static void test_nesting_two_deep(void)
{
    declare_nest();
    op(3, 200, 100, 2);
    op(3, 310, 20, 2);
    op(2, 150, 300, 1);
    op(4, 600, 50, 1);
    op(1, 100, 1000, 0);
    op(4, 1200, 40, 0);
    check_nest();
}

static void test_rows_of_a_block_in_any_order(void)
{
    declare_nest();
    op(1, 100, 1000, 0);
    op(4, 1200, 40, 0);
    op(4, 600, 50, 1);
    op(2, 150, 300, 1);
    op(3, 310, 20, 2);
    op(3, 200, 100, 2);
    check_nest();
}

static void test_nesting_over_blocks_and_threads(void)
{
    declare_nest();
    op(3, 200, 100, 2);
    flush();
    // Another thread does the same work at the same time, its rows come in between.
    op_at(3, 2, 7, 200, 100, 2, 0);
    op(3, 310, 20, 2);
    flush();
    op_at(3, 2, 7, 310, 20, 2, 0);
    op_at(2, 2, 7, 150, 300, 1, 0);
    op(2, 150, 300, 1);
    flush();
    op(4, 600, 50, 1);
    op(1, 100, 1000, 0);
    op_at(4, 2, 7, 600, 50, 1, 0);
    flush();
    op_at(1, 2, 7, 100, 1000, 0, 0);
    g_options.threads = true;
    const an_op_table *t = table(AN_BY_NODE);
    check_row(t, "loop", "Loop", 2, 2000, 2 * (1000 - 300 - 50));
    check_row(t, "if", "If", 2, 600, 2 * (300 - 100 - 20));
    t = table(AN_BY_THREAD);
    TEST_ASSERT_EQUAL_size_t(2, t->row_count);
    TEST_ASSERT_EQUAL_INT64(1, t->rows[0].thread);
    TEST_ASSERT_EQUAL_INT64(7, t->rows[1].thread);
    TEST_ASSERT_EQUAL_UINT64(5, t->rows[0].sums.calls);
    TEST_ASSERT_EQUAL_UINT64(1000, t->rows[0].sums.self_ns);
    TEST_ASSERT_EQUAL_UINT64(1000, t->rows[1].sums.self_ns);
}

static void test_children_without_their_parent(void)
{
    declare_nest();
    op(3, 10, 50, 1); // its parent was lost
    op(4, 200, 30, 1);
    op(1, 100, 500, 0);
    op(1, 700, 10, 0); // and has nothing inside
    const an_op_table *t = table(AN_BY_NODE);
    check_row(t, "loop", "Loop", 2, 510, 480);
}

// The clock is corrected between blocks.
static void test_children_that_overlap_by_rounding(void)
{
    declare_nest();
    op(4, 99, 60, 1);  // begins a little before its parent
    op(4, 160, 42, 1); // and ends a little behind it
    flush();
    op(1, 100, 100, 0);
    const an_op_table *t = table(AN_BY_NODE);
    check_row(t, "loop", "Loop", 1, 100, 0); // not below zero
}

static void test_a_loop_with_many_children(void)
{
    declare_nest();
    for (int64_t i = 0; i < 50000; i++)
        op(4, 1000 + i * 10, 7, 1);
    op(1, 900, 1000000, 0);
    const an_op_table *t = table(AN_BY_NODE);
    check_row(t, "loop", "Loop", 1, 1000000, 1000000 - 350000);
}

static void test_loading_is_kept_apart(void)
{
    kernel(1, 1, "fold", "Transpose");
    kernel(2, 1, "both", "Add");
    op_at(1, 0, 1, 10, 100, 0, 1);
    op_at(2, 0, 1, 200, 40, 0, 1);
    op(2, 300, 30, 0);
    const an_op_table *t = table(AN_BY_NODE);
    TEST_ASSERT_EQUAL_size_t(1, t->row_count);
    check_row(t, "both", "Add", 1, 30, 30);
    TEST_ASSERT_EQUAL_UINT64(1, t->rows[0].sums.loading_calls);
    TEST_ASSERT_EQUAL_UINT64(2, t->all.loading_calls);
    TEST_ASSERT_EQUAL_UINT64(140, t->all.loading_ns);
    TEST_ASSERT_EQUAL_UINT64(1, t->nodes);
}

static void created(int64_t session, int64_t thread, int64_t begin, int64_t load)
{
    ROW(session, session, 1, begin, load, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, thread);
}

static void test_loading_belongs_to_the_session_in_creation(void)
{
    for (int64_t id = 1; id <= 4; id++)
        kernel(id, 0, "fold", "Transpose");
    ROW(op, 1, 0, 0, 1, 110, 10, 0, 1); // inside the creation of 5
    ROW(op, 2, 0, 0, 2, 120, 10, 0, 1); // inside that of 6, which goes on at the same time
    ROW(op, 3, 0, 0, 1, 500, 10, 0, 1); // inside that of 7
    ROW(op, 4, 0, 0, 9, 510, 10, 0, 1); // nobody's
    created(7, 1, 450, 100);
    created(6, 2, 105, 100);
    created(5, 1, 100, 50);
    for (int64_t session = 5; session <= 7; session++) {
        const an_op_table *t =
            table_of((an_op_choice){.by = AN_BY_NODE, .has_session = true, .session = session});
        TEST_ASSERT_EQUAL_UINT64(1, t->all.loading_calls);
    }
    TEST_ASSERT_EQUAL_UINT64(4, table(AN_BY_NODE)->all.loading_calls);
}

static void test_ambiguous_and_failed(void)
{
    kernel(1, 1, "a", "Add");
    op_at(1, 0, 1, 10, 5, 0, 2);
    op_at(1, 0, 2, 10, 5, 0, 2 | 4);
    op(1, 100, 5, 0);
    ROW(run, 1, 1, 1, 90, 100, 0, 0, 1, 0, 0);
    g_options.runs = true;
    const an_op_table *t = table(AN_BY_NODE);
    TEST_ASSERT_EQUAL_UINT64(3, t->rows[0].sums.calls);
    TEST_ASSERT_EQUAL_UINT64(2, t->rows[0].sums.ambiguous);
    TEST_ASSERT_EQUAL_UINT64(1, t->rows[0].sums.failed);
    an_op_runs runs = {.runs = 1, .with_ops = 1, .with_ops_ns = 100};
    TEST_ASSERT_FALSE(an_known(an_op_run_time_ns(g_ops, t, &runs)));
}

static void test_types_providers_and_shares(void)
{
    kernel(1, 1, "a", "Add");
    kernel(2, 1, "b", "Add");
    kernel_on(3, 1, "c", "Add", "DmlExecutionProvider", 1);
    kernel(4, 1, "d", "Mul");
    kernel(5, 1, "never", "Mul"); // not executed
    op(1, 0, 100, 0);
    op(2, 100, 200, 0);
    op(3, 300, 50, 0);
    op(4, 400, 650, 0);
    const an_op_table *t = table(AN_BY_TYPE);
    TEST_ASSERT_EQUAL_size_t(3, t->row_count);
    TEST_ASSERT_EQUAL_STRING("Mul", t->rows[0].op_type);
    TEST_ASSERT_EQUAL_UINT64(1, t->rows[0].nodes);
    TEST_ASSERT_EQUAL_DOUBLE(0.65, an_op_share(t, &t->rows[0]));
    TEST_ASSERT_EQUAL_STRING("Add", t->rows[1].op_type);
    TEST_ASSERT_EQUAL_UINT64(2, t->rows[1].nodes);
    TEST_ASSERT_EQUAL_UINT64(2, t->rows[1].sums.calls);
    TEST_ASSERT_EQUAL_DOUBLE(150, an_op_mean_ns(&t->rows[1]));
    TEST_ASSERT_EQUAL_INT(AN_TIME_EXECUTION, an_op_time_of(&t->rows[1].sums));
    TEST_ASSERT_EQUAL_INT(AN_TIME_SUBMISSION, an_op_time_of(&t->rows[2].sums));
    TEST_ASSERT_EQUAL_INT(AN_TIME_MIXED, an_op_time_of(&t->all));
    t = table(AN_BY_PROVIDER);
    TEST_ASSERT_EQUAL_size_t(2, t->row_count);
    TEST_ASSERT_EQUAL_STRING(CPU, t->rows[0].provider);
    TEST_ASSERT_EQUAL_UINT64(3, t->rows[0].nodes);
    TEST_ASSERT_EQUAL_UINT64(1, t->rows[1].nodes);
}

static void test_identity(void)
{
    kernel(1, 1, "same", "Add"); // two kernel objects of one node
    kernel(2, 1, "same", "Add");
    kernel(3, 2, "same", "Add"); // another session
    kernel(4, 1, "same", "Mul"); // another type
    kernel(5, 1, "", "Add");     // nodes without a name are not one node
    kernel(6, 1, "", "Add");
    for (int64_t id = 1; id <= 6; id++)
        op(id, id * 100, 10 * id, 0);
    const an_op_table *t = table(AN_BY_NODE);
    TEST_ASSERT_EQUAL_size_t(5, t->row_count);
    t = table_of((an_op_choice){.by = AN_BY_NODE, .has_session = true, .session = 2});
    TEST_ASSERT_EQUAL_size_t(1, t->row_count);
    TEST_ASSERT_EQUAL_UINT64(30, t->all.self_ns);
    t = table_of((an_op_choice){.by = AN_BY_NODE, .has_session = true, .session = 1});
    TEST_ASSERT_EQUAL_size_t(4, t->row_count);
    TEST_ASSERT_EQUAL_UINT64(30, row_of(t, "same", "Add")->sums.self_ns);
    t = table_of((an_op_choice){.by = AN_BY_NODE, .has_session = true, .session = 99});
    TEST_ASSERT_EQUAL_size_t(0, t->row_count);
}

static void test_filter_and_sort(void)
{
    kernel(1, 1, "x/Conv_1", "Conv");
    kernel(2, 1, "y/fused", "FusedConv");
    kernel(3, 1, "z", "Add");
    op(1, 0, 10, 0);
    op(2, 20, 30, 0);
    op(3, 60, 5, 0);
    op(3, 70, 5, 0);
    op(3, 80, 29, 0);
    const an_op_table *t = table_of((an_op_choice){.by = AN_BY_NODE, .filter = "cONV"});
    TEST_ASSERT_EQUAL_size_t(2, t->row_count);
    TEST_ASSERT_EQUAL_UINT64(79, t->all.self_ns); // shares do not depend on the filter
    static const struct {
        an_op_sort sort;
        const char *first;
    } cases[] = {{AN_SORT_SELF, "z"},  {AN_SORT_TOTAL, "z"},     {AN_SORT_MEAN, "y/fused"},
                 {AN_SORT_CALLS, "z"}, {AN_SORT_MAX, "y/fused"}, {AN_SORT_NAME, "x/Conv_1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t = table_of((an_op_choice){.by = AN_BY_NODE, .sort = cases[i].sort});
        TEST_ASSERT_EQUAL_STRING(cases[i].first, t->rows[0].node);
    }
    t = table_of((an_op_choice){.by = AN_BY_NODE, .filter = "no such thing"});
    TEST_ASSERT_EQUAL_size_t(0, t->row_count);
}

static void test_percentiles(void)
{
    kernel(1, 1, "a", "Add");
    kernel(2, 1, "b", "Add");
    for (int64_t i = 1; i <= 100; i++)
        op(1, i * 1000, i, 0);
    op(2, 200000, 10000, 0);
    op_at(2, 0, 1, 300000, 77777, 0, 1); // loading is in no percentile
    table(AN_BY_NODE);
    TEST_ASSERT_EQUAL_INT(CM_OK, an_op_table_measure(g_table, 2));
    read_kinds(TM_BIT(op), true);
    const an_op_row *a = row_of(g_table, "a", "Add"), *b = row_of(g_table, "b", "Add");
    TEST_ASSERT_EQUAL_DOUBLE(50, an_op_percentile_ns(a, 500000));
    TEST_ASSERT_EQUAL_DOUBLE(95, an_op_percentile_ns(a, 950000));
    TEST_ASSERT_EQUAL_DOUBLE(10000, an_op_percentile_ns(b, 990000));
    table(AN_BY_TYPE);
    TEST_ASSERT_EQUAL_INT(CM_OK, an_op_table_measure(g_table, 1));
    read_kinds(TM_BIT(op), true);
    TEST_ASSERT_EQUAL_UINT64(101, g_table->rows[0].durations->count);
    table(AN_BY_NODE);
    TEST_ASSERT_EQUAL_INT(CM_OK, an_op_table_measure(g_table, 1)); // only the first row
    read_kinds(TM_BIT(op), true);
    TEST_ASSERT_FALSE(an_known(an_op_percentile_ns(&g_table->rows[1], 500000)));
}

static void test_kernel_rows_missing_or_late(void)
{
    op(8, 0, 10, 0);
    op(9, 100, 20, 0);
    flush();
    kernel(8, 1, "late", "Add");
    const an_op_table *t = table(AN_BY_NODE);
    TEST_ASSERT_EQUAL_size_t(2, t->row_count);
    check_row(t, "late", "Add", 1, 10, 10);
    check_row(t, "", "", 1, 20, 20);
    TEST_ASSERT_EQUAL_INT64(1, row_of(t, "", "")->session); // by its execution
}

static void test_hostile_values(void)
{
    static const int64_t odd[] = {INT64_MIN, -1, 0, 1, 255, INT64_MAX};
    enum { N = sizeof odd / sizeof *odd };
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++)
            for (int c = 0; c < N; c++)
                ROW(op, odd[a], odd[b], odd[c], odd[(a + b) % N], odd[(b + c) % N], odd[c],
                    odd[(a + c) % N], odd[b] & 6);
    ROW(kernel, INT64_MIN, INT64_MAX, -1, -1, 123456, -5, 99999, -1, INT64_MAX, -1, -1, -1);
    ROW(kernel_shape, -1, -1, -1, INT64_MAX, INT64_MIN, -1, -1, -1);
    ROW(run, INT64_MAX, INT64_MAX, 1, 0, INT64_MAX, 0, 0, 1, -1, -1);
    g_options = (an_op_options){true, true, true, true, true};
    const an_op_table *t = table(AN_BY_NODE);
    TEST_ASSERT_EQUAL_UINT64(N * N * N, t->all.calls);
    for (size_t i = 0; i < t->row_count; i++)
        TEST_ASSERT_TRUE(t->rows[i].sums.self_ns <= t->rows[i].sums.total_ns);
    table(AN_BY_THREAD);
    TEST_ASSERT_EQUAL_INT(CM_OK, an_op_table_measure(g_table, SIZE_MAX));
    read_kinds(TM_BIT(op), true);
}

static void test_ten_thousand_kernels(void)
{
    char node[32];
    for (int64_t i = 0; i < 10000; i++) {
        snprintf(node, sizeof node, "node_%d", (int)i);
        kernel(i + 1, 1 + i / 100, node, i % 2 ? "Add" : "Mul");
    }
    for (int64_t i = 0; i < 20000; i++)
        op(i % 10000 + 1, i * 100, 1 + i % 10000, 0);
    const an_op_table *t = table(AN_BY_NODE);
    TEST_ASSERT_EQUAL_size_t(10000, t->row_count);
    TEST_ASSERT_EQUAL_STRING("node_9999", t->rows[0].node);
    TEST_ASSERT_EQUAL_UINT64(2, t->rows[0].sums.calls);
    t = table_of((an_op_choice){.by = AN_BY_NODE, .has_session = true, .session = 37});
    TEST_ASSERT_EQUAL_size_t(100, t->row_count);
    t = table(AN_BY_TYPE);
    TEST_ASSERT_EQUAL_size_t(2, t->row_count);
    TEST_ASSERT_EQUAL_UINT64(5000, t->rows[0].nodes);
}

static void test_more_kernels_than_can_be_told_apart(void)
{
    for (int64_t i = 0; i < AN_MAX_KERNELS + 10; i++)
        op(i + 1, i * 10, 5, 0);
    const an_op_table *t = table(AN_BY_PROVIDER);
    TEST_ASSERT_EQUAL_UINT64(AN_MAX_KERNELS, t->all.calls);
    TEST_ASSERT_EQUAL_UINT64(10, an_ops_untold(g_ops));
}

static void test_summary_has_operators(void)
{
    tm_reader *reader;
    an_summary *summary;
    declare_nest();
    op(4, 600, 50, 1);
    op(1, 100, 1000, 0);
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_close(g_writer));
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_reader_open(PATH, &reader));
    TEST_ASSERT_EQUAL_INT(CM_OK, an_summarize(reader, &summary));
    tm_reader_close(reader); // what it tells outlives the reader
    TEST_ASSERT_EQUAL_INT(CM_OK,
                          an_ops_table(summary->ops, &(an_op_choice){.by = AN_BY_NODE}, &g_table));
    check_row(g_table, "loop", "Loop", 1, 1000, 950);
    an_summary_destroy(summary);
    an_op_table_destroy(g_table);
    g_table = NULL;
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_nesting_two_deep);
    RUN_TEST(test_rows_of_a_block_in_any_order);
    RUN_TEST(test_nesting_over_blocks_and_threads);
    RUN_TEST(test_children_without_their_parent);
    RUN_TEST(test_children_that_overlap_by_rounding);
    RUN_TEST(test_a_loop_with_many_children);
    RUN_TEST(test_loading_is_kept_apart);
    RUN_TEST(test_loading_belongs_to_the_session_in_creation);
    RUN_TEST(test_ambiguous_and_failed);
    RUN_TEST(test_types_providers_and_shares);
    RUN_TEST(test_identity);
    RUN_TEST(test_filter_and_sort);
    RUN_TEST(test_percentiles);
    RUN_TEST(test_kernel_rows_missing_or_late);
    RUN_TEST(test_hostile_values);
    RUN_TEST(test_ten_thousand_kernels);
    RUN_TEST(test_more_kernels_than_can_be_told_apart);
    RUN_TEST(test_summary_has_operators);
    return UNITY_END();
}
