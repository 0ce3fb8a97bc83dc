// SPDX-License-Identifier: MIT
// What operators do in which run: time, bytes, FLOPs.
#include "ops_fixture.h"

#include <unity.h>

// 30 runs of a session, every third with an operator of 80 of its 100 ns: how they compare.
static double run_time_of_thirds(an_op_runs *runs)
{
    kernel(1, 1, "a", "Add");
    for (int64_t run = 1; run <= 30; run++) {
        ROW(run, 1, run, 1, run * 1000, 100, 0, 0, 1, 0, 0);
        if (run % 3 == 0)
            op_at(1, run, 1, run * 1000 + 1, 80, 0, 0);
    }
    ROW(run, 2, 3, 1, 50000, 5000, 0, 0, 1, 0, 0); // of another session
    g_options.runs = true;
    const an_op_table *t = table(AN_BY_NODE);
    an_op_choice choice = {.has_session = true, .session = 1};
    tm_reader *reader;
    tm_block block;
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_reader_open(PATH, &reader));
    while (tm_reader_next(reader, &block) == CM_OK)
        an_ops_add_run_time(g_ops, &block, &choice, runs);
    tm_reader_close(reader);
    TEST_ASSERT_EQUAL_UINT64(800, t->all.self_ns);
    return an_op_run_time_ns(g_ops, t, runs);
}

static void test_runs_with_operators(void)
{
    an_op_runs runs = {0};
    TEST_ASSERT_EQUAL_DOUBLE(1000, run_time_of_thirds(&runs));
    TEST_ASSERT_EQUAL_UINT64(30, runs.runs);
    TEST_ASSERT_EQUAL_UINT64(10, runs.with_ops);
    TEST_ASSERT_EQUAL_UINT64(0, an_ops_left_out(g_ops));
}

// The runs that are there may lack some operators: their time is not compared with that of the
// runs.
static void test_runs_that_operators_were_left_out_of(void)
{
    an_op_runs runs = {0};
    ROW(op_choice, 0, AN_KEPT_LONGER, 10, 0);
    ROW(op_choice, 500, AN_KEPT_LONGER, 10, 1);
    ROW(op_choice, 900, AN_KEPT_LONGER, 10, 7);
    TEST_ASSERT_FALSE(an_known(run_time_of_thirds(&runs)));
    TEST_ASSERT_EQUAL_UINT64(10, runs.with_ops);
    TEST_ASSERT_EQUAL_UINT64(7, an_ops_left_out(g_ops));
}

static void test_slow_runs_that_did_not_end(void)
{
    an_op_runs runs = {0};
    ROW(op_choice, 0, AN_KEPT_LONGER, 10, 0);
    op_at(1, 31, 1, 90000, 0, 0, 0); // of a run without a row
    TEST_ASSERT_FALSE(an_known(run_time_of_thirds(&runs)));
    TEST_ASSERT_EQUAL_UINT64(10, runs.with_ops);
}

// The operators of every tenth run are there, the allocations of all runs.
static void tenth_runs_with_allocs(int64_t mode)
{
    ROW(op_choice, 0, mode, 10, 0);
    kernel(1, 1, "a", "Add");
    for (int64_t run = 1; run <= 40; run++) {
        if (run % 10 == 0)
            op_at(1, run, 1, run * 1000, 100, 0, 0);
        ROW(alloc, 1, run * 1000 + 10, 1, 0, 0x1000, 256, 1, 1, run, 0);
    }
    ROW(alloc, 1, 900, 1, 0, 0x2000, 256, 1, 1, 0, 0);  // of a run that is not known
    ROW(alloc, 1, 900, 1, 0, 0x3000, 256, 1, 2, 10, 0); // of another session
    g_options = (an_op_options){.runs = true, .allocs = true};
}

static void test_bytes_of_slow_runs_alone(void)
{
    tenth_runs_with_allocs(AN_KEPT_LONGER);
    const an_op_table *t = table(AN_BY_NODE);
    TEST_ASSERT_EQUAL_DOUBLE(256, an_op_bytes_per_call(t, &t->rows[0]));
    TEST_ASSERT_EQUAL_DOUBLE(1, an_op_allocations_per_call(t, &t->rows[0]));
}

static void test_bytes_of_the_slowest_runs_alone(void)
{
    tenth_runs_with_allocs(AN_KEPT_SLOWEST);
    const an_op_table *t = table(AN_BY_NODE);
    TEST_ASSERT_EQUAL_DOUBLE(256, an_op_bytes_per_call(t, &t->rows[0]));
}

static void test_bytes_of_slow_runs_that_are_not_known(void)
{
    tenth_runs_with_allocs(AN_KEPT_LONGER);
    g_options.runs = false;
    const an_op_table *t = table(AN_BY_NODE);
    TEST_ASSERT_FALSE(an_known(an_op_bytes_per_call(t, &t->rows[0])));
}

static void test_bytes_of_all_runs(void)
{
    tenth_runs_with_allocs(AN_KEPT_ALL);
    const an_op_table *t = table(AN_BY_NODE);
    TEST_ASSERT_EQUAL_DOUBLE(42 * 256 / 4, an_op_bytes_per_call(t, &t->rows[0]));
}

static void matmul_shapes(int64_t kernel_id, int64_t shape, int64_t run_inputs, const char *a,
                          const char *b, const char *y)
{
    ROW(shape, shape, 1, 0, 2, -1);
    ROW(tensor, shape, 0, 0, 1, 1, TEXT(a));
    ROW(tensor, shape, 1, 0, 1, 1, TEXT(b));
    ROW(shape, shape + 1, 1, 1, 1, -1);
    ROW(tensor, shape + 1, 0, 0, 1, 1, TEXT(y));
    ROW(kernel_shape, kernel_id, 0, shape, shape + 1, run_inputs, 0, 0, 0);
}

static void test_flops_follow_the_inputs_of_the_run(void)
{
    kernel(1, 1, "mm", "MatMul");
    kernel(2, 1, "unknown", "MatMul");
    kernel(3, 1, "in a loop", "MatMul");
    kernel_on(4, 1, "on a device", "MatMul", "DmlExecutionProvider", 1);
    matmul_shapes(1, 10, 1, "2,8", "8,4", "2,4");
    matmul_shapes(1, 20, 2, "6,8", "8,4", "6,4");
    matmul_shapes(3, 30, 1, "2,8", "8,4", "2,4");
    matmul_shapes(4, 40, 1, "2,8", "8,4", "2,4");
    for (int64_t run = 1; run <= 3; run++) {
        ROW(run, 1, run, 1, run * 1000, 900, 0, 0, 1, run == 3 ? 2 : 1, 0);
        op_at(1, run, 1, run * 1000, 100, 0, 0);
    }
    op_at(2, 1, 1, 1200, 100, 0, 0);
    op_at(3, 1, 1, 1300, 100, 1, 0);
    op_at(3, 1, 1, 1400, 100, 1, 0);
    op_at(4, 1, 1, 1500, 100, 0, 0);
    g_options.flops = true;
    const an_op_table *t = table(AN_BY_NODE);
    const an_op_row *known = row_of(t, "mm", "MatMul");
    TEST_ASSERT_EQUAL_DOUBLE(2 * 128 + 384, an_op_flops(known));
    TEST_ASSERT_EQUAL_DOUBLE(640.0 / 300, an_op_gflops_per_s(known));
    TEST_ASSERT_FALSE(an_known(an_op_flops(row_of(t, "unknown", "MatMul"))));
    TEST_ASSERT_FALSE(an_known(an_op_flops(row_of(t, "in a loop", "MatMul"))));
    TEST_ASSERT_FALSE(an_known(an_op_flops(row_of(t, "on a device", "MatMul"))));
    t = table(AN_BY_TYPE); // not known for all of them
    TEST_ASSERT_FALSE(an_known(an_op_flops(row_of(t, "", "MatMul"))));
}

// Bound before we came: neither run nor kernel shapes have a number for them.
static void test_flops_of_inputs_without_a_number(void)
{
    kernel(1, 1, "bound", "MatMul");
    kernel(2, 1, "not its run", "MatMul");
    kernel(3, 1, "changes", "MatMul");
    kernel(4, 1, "not bound", "MatMul");
    matmul_shapes(1, 10, 0, "2,8", "8,4", "2,4");
    matmul_shapes(2, 20, 0, "2,8", "8,4", "2,4");
    matmul_shapes(3, 30, 0, "2,8", "8,4", "2,4");
    matmul_shapes(3, 40, 0, "6,8", "8,4", "6,4");
    matmul_shapes(4, 50, 0, "2,8", "8,4", "2,4");
    for (int64_t run = 1; run <= 2; run++) {
        ROW(run, 1, run, 1, run * 1000, 900, 1, 0, 1, 0, 5);
        op_at(1, run, 1, run * 1000, 100, 0, 0);
    }
    op_at(2, 3, 1, 3000, 100, 0, 0); // a run without a row
    op_at(3, 2, 1, 2200, 100, 0, 0);
    ROW(run, 1, 4, 1, 4000, 900, 0, 0, 1, 0, 0); // whose inputs were lost
    op_at(4, 4, 1, 4000, 100, 0, 0);
    g_options.flops = true;
    const an_op_table *t = table(AN_BY_NODE);
    TEST_ASSERT_EQUAL_DOUBLE(2 * 128, an_op_flops(row_of(t, "bound", "MatMul")));
    TEST_ASSERT_FALSE(an_known(an_op_flops(row_of(t, "not its run", "MatMul"))));
    TEST_ASSERT_FALSE(an_known(an_op_flops(row_of(t, "changes", "MatMul"))));
    TEST_ASSERT_FALSE(an_known(an_op_flops(row_of(t, "not bound", "MatMul"))));
}

// Two runs with bindings from before we came, of which only the outputs are told.
static const an_op_row *bound_runs(int64_t first_outputs, int64_t second_outputs)
{
    kernel(1, 1, "bound", "MatMul");
    matmul_shapes(1, 10, 0, "2,8", "8,4", "2,4"); // told once, at the first execution
    ROW(run, 1, 1, 1, 1000, 900, 1, 0, 1, 0, first_outputs);
    ROW(run, 1, 2, 1, 2000, 900, 1, 0, 1, 0, second_outputs);
    op_at(1, 1, 1, 1000, 100, 0, 0);
    op_at(1, 2, 1, 2000, 100, 0, 0);
    g_options.flops = true;
    return row_of(table(AN_BY_NODE), "bound", "MatMul");
}

static void test_flops_of_one_binding(void)
{
    TEST_ASSERT_EQUAL_DOUBLE(2 * 128, an_op_flops(bound_runs(5, 5)));
}

static void test_flops_of_several_bindings_are_not_known(void)
{
    TEST_ASSERT_FALSE(an_known(an_op_flops(bound_runs(5, 6))));
}

static void test_flops_of_bindings_without_outputs_are_not_known(void)
{
    TEST_ASSERT_FALSE(an_known(an_op_flops(bound_runs(0, 0))));
}

// What another session binds says nothing about this one.
static void test_flops_of_a_binding_beside_another_session(void)
{
    ROW(run, 2, 1, 1, 1000, 900, 1, 0, 1, 0, 6);
    TEST_ASSERT_EQUAL_DOUBLE(2 * 128, an_op_flops(bound_runs(5, 5)));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_runs_with_operators);
    RUN_TEST(test_runs_that_operators_were_left_out_of);
    RUN_TEST(test_slow_runs_that_did_not_end);
    RUN_TEST(test_bytes_of_slow_runs_alone);
    RUN_TEST(test_bytes_of_the_slowest_runs_alone);
    RUN_TEST(test_bytes_of_slow_runs_that_are_not_known);
    RUN_TEST(test_bytes_of_all_runs);
    RUN_TEST(test_flops_follow_the_inputs_of_the_run);
    RUN_TEST(test_flops_of_inputs_without_a_number);
    RUN_TEST(test_flops_of_one_binding);
    RUN_TEST(test_flops_of_several_bindings_are_not_known);
    RUN_TEST(test_flops_of_bindings_without_outputs_are_not_known);
    RUN_TEST(test_flops_of_a_binding_beside_another_session);
    return UNITY_END();
}
