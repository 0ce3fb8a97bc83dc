// SPDX-License-Identifier: MIT
// Changes of provider, copies, what the optimiser made of operators and what it left, and how much
// operators vary: of timelines whose answer is known by construction.
#define PATH "test_fusion.ortl"
#include "analysis/fusion.h"
#include "flow_fixture.h"

#include <math.h>
#include <stdio.h>

// ------------------------------------------------------------------------- changes of provider

static void test_changes_and_copies(void)
{
    kernel(1, "cpu1", "Gather");
    kernel_on(2, "in", "MemcpyFromHost", "", CUDA);
    kernel_on(3, "conv", "Conv", "", CUDA);
    kernel_on(4, "out", "MemcpyToHost", "", CUDA);
    kernel(5, "cpu2", "Softmax");
    for (int64_t i = 1; i <= 3; i++) {
        int64_t at = i * 1000;
        run(i, at, at + 900);
        op(1, i, at + 0, at + 100);
        op(2, i, at + 110, at + 130); // 10 after it
        op(3, i, at + 130, at + 500);
        op(4, i, at + 500, at + 540);
        op(5, i, at + 545, at + 600); // 5 after it
    }
    const an_flow_session *s = flow();
    TEST_ASSERT_EQUAL_UINT64(6, s->changes);
    TEST_ASSERT_EQUAL_UINT64(3 * (10 + 5), s->change_gap_ns);
    TEST_ASSERT_EQUAL_size_t(2, s->transition_count);
    TEST_ASSERT_EQUAL_STRING(CPU, s->transitions[0].from);
    TEST_ASSERT_EQUAL_STRING(CUDA, s->transitions[0].to);
    TEST_ASSERT_EQUAL_UINT64(3, s->transitions[0].count);
    TEST_ASSERT_EQUAL_UINT64(30, s->transitions[0].gap_ns);
    TEST_ASSERT_EQUAL_STRING(CUDA, s->transitions[1].from);
    TEST_ASSERT_EQUAL_UINT64(15, s->transitions[1].gap_ns);
    TEST_ASSERT_EQUAL_UINT64(3, s->copies_to_host);
    TEST_ASSERT_EQUAL_UINT64(3, s->copies_from_host);
    TEST_ASSERT_EQUAL_UINT64(120, s->to_host_ns);
    TEST_ASSERT_EQUAL_UINT64(60, s->from_host_ns);
    TEST_ASSERT_EQUAL_UINT64(180, an_flow_copy_ns(s));
}

// A Loop runs on the CPU and contains others: only these follow each other. What is not known is
// no change, and neither is what happens on another thread.
static void test_what_is_no_change_of_provider(void)
{
    kernel(1, "loop", "Loop");
    kernel_on(2, "body", "Conv", "", CUDA);
    kernel_on(3, "before", "Conv", "", CUDA);
    kernel_on(4, "unknown", "", "", "");
    kernel(5, "elsewhere", "Softmax");
    run(1, 0, 1000);
    op(3, 1, 0, 100);
    op_at(2, 1, 1, 120, 150, 1);
    op_at(2, 1, 1, 160, 190, 1);
    op(1, 1, 110, 200);
    op(4, 1, 210, 220);
    op(3, 1, 230, 240);
    op_at(5, 1, 2, 100, 300, 0);
    const an_flow_session *s = flow();
    TEST_ASSERT_EQUAL_UINT64(0, s->changes);
    TEST_ASSERT_EQUAL_size_t(0, s->transition_count);
    TEST_ASSERT_EQUAL_UINT64(0, an_flow_copy_ns(s));
}

static void test_more_providers_than_there_is_room_for(void)
{
    char name[32];
    for (int64_t i = 1; i <= AN_FLOW_TRANSITIONS + 10; i++) {
        snprintf(name, sizeof name, "Provider%d", (int)i);
        kernel_on(i, name, "Conv", "", name);
    }
    run(1, 0, 100000);
    for (int64_t i = 1; i <= AN_FLOW_TRANSITIONS + 10; i++)
        op(i, 1, i * 10, i * 10 + 5);
    const an_flow_session *s = flow();
    TEST_ASSERT_EQUAL_UINT64(AN_FLOW_TRANSITIONS + 9, s->changes);
    TEST_ASSERT_EQUAL_size_t(AN_FLOW_TRANSITIONS, s->transition_count);
}

// --------------------------------------------------------------------------------- kinds of
// operators

static void test_kinds(void)
{
    static const struct {
        const char *type, *domain;
        an_op_kind kind;
    } cases[] = {{"Conv", "", AN_KIND_PLAIN},
                 {"Conv", "com.microsoft.nchwc", AN_KIND_BLOCKED},
                 {"MaxPool", "com.microsoft.nchwc", AN_KIND_BLOCKED},
                 {"ReorderInput", "com.microsoft.nchwc", AN_KIND_REORDER},
                 {"ReorderOutput", "com.microsoft.nchwc", AN_KIND_REORDER},
                 {"FusedConv", "com.microsoft", AN_KIND_FUSED},
                 {"FusedMatMul", "com.microsoft", AN_KIND_FUSED},
                 {"NhwcFusedConv", "com.microsoft", AN_KIND_FUSED},
                 {"FusedGemm", "", AN_KIND_FUSED}, // the shim does not tell the domain
                 {"Gelu", "com.microsoft", AN_KIND_FUSED},
                 {"Gelu", "", AN_KIND_PLAIN}, // ONNX has one of its own
                 {"Attention", "com.microsoft", AN_KIND_FUSED},
                 {"Attention", "", AN_KIND_PLAIN},
                 {"MatMulNBits", "com.microsoft", AN_KIND_PLAIN},
                 {"DmlFusedNode_0_3", "DmlExecutionProvider", AN_KIND_FUSED},
                 {"TRTKernel_graph_main_1", "com.microsoft", AN_KIND_FUSED},
                 {"QNNExecutionProvider_QNN_7_1", "", AN_KIND_FUSED},
                 {"MemcpyToHost", "", AN_KIND_COPY_TO_HOST},
                 {"MemcpyFromHost", "", AN_KIND_COPY_FROM_HOST},
                 {"", "", AN_KIND_PLAIN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        TEST_ASSERT_EQUAL_INT_MESSAGE(cases[i].kind, an_op_kind_of(cases[i].type, cases[i].domain),
                                      cases[i].type);
    TEST_ASSERT_EQUAL_STRING("plain", an_op_kind_name(AN_KIND_PLAIN));
    TEST_ASSERT_EQUAL_STRING("copy_from_host", an_op_kind_name(AN_KIND_COPY_FROM_HOST));
}

static void test_what_can_be_fused(void)
{
    TEST_ASSERT_TRUE(an_can_fuse("Conv", "Relu"));
    TEST_ASSERT_TRUE(an_can_fuse("Conv", "BatchNormalization"));
    TEST_ASSERT_TRUE(an_can_fuse("MatMul", "Add"));
    TEST_ASSERT_FALSE(an_can_fuse("Conv", " Relu")); // a name may be anything
    TEST_ASSERT_FALSE(an_can_fuse("Relu", "Conv"));
    TEST_ASSERT_FALSE(an_can_fuse("Conv", "elu")); // not within LeakyRelu
    TEST_ASSERT_FALSE(an_can_fuse("Conv", ""));
    TEST_ASSERT_FALSE(an_can_fuse("", ""));
    TEST_ASSERT_FALSE(an_can_fuse("Conv", "Relu LeakyRelu x"));
}

static void test_shares_of_kinds(void)
{
    kernel_on(1, "a", "Conv", "com.microsoft.nchwc", CPU);
    kernel_on(2, "r", "ReorderOutput", "com.microsoft.nchwc", CPU);
    kernel_on(3, "f", "FusedGemm", "com.microsoft", CPU);
    kernel(4, "p", "Add");
    kernel(5, "q", "Mul");
    for (int64_t i = 1; i <= 2; i++) {
        run(i, i * 1000, i * 1000 + 500);
        op(1, i, i * 1000, i * 1000 + 200);
        op(2, i, i * 1000 + 200, i * 1000 + 250);
        op(3, i, i * 1000 + 250, i * 1000 + 350);
        op(4, i, i * 1000 + 350, i * 1000 + 380);
        op(5, i, i * 1000 + 380, i * 1000 + 400);
    }
    read_flow();
    for (int by = AN_BY_NODE; by <= AN_BY_TYPE; by++) {
        an_op_table *table;
        an_op_choice choice = {.by = (an_op_by)by};
        TEST_ASSERT_EQUAL_INT(CM_OK, an_ops_table(g_ops, &choice, &table));
        an_fusion f = an_fusion_of(table);
        TEST_ASSERT_EQUAL_UINT64(5, f.all.nodes);
        TEST_ASSERT_EQUAL_UINT64(10, f.all.calls);
        TEST_ASSERT_EQUAL_UINT64(800, f.all.self_ns);
        TEST_ASSERT_EQUAL_UINT64(2, f.kinds[AN_KIND_PLAIN].nodes);
        TEST_ASSERT_EQUAL_UINT64(100, f.kinds[AN_KIND_PLAIN].self_ns);
        TEST_ASSERT_EQUAL_DOUBLE(0.5, an_fusion_share(&f, AN_KIND_BLOCKED));
        TEST_ASSERT_EQUAL_DOUBLE(0.25, an_fusion_share(&f, AN_KIND_FUSED));
        TEST_ASSERT_EQUAL_DOUBLE(0.125, an_fusion_share(&f, AN_KIND_REORDER));
        an_op_table_destroy(table);
    }
}

// ------------------------------------------------------------------------------- pairs not joined

// Two of Conv and Relu, one of MatMul and Add; ends with a Relu that follows nothing to join with.
static void pairs_run(int64_t number, int64_t thread)
{
    int64_t at = number * 1000;
    static const int64_t order[] = {1, 2, 3, 4, 5, 6, 7, 8};
    run_on(number, thread, at, at + 900, 0);
    for (int64_t i = 0; i < 8; i++)
        op_at(order[i], number, thread, at + i * 100, at + i * 100 + 10 * order[i], 0);
}

static void declare_pairs(void)
{
    kernel(1, "conv1", "Conv");
    kernel(2, "relu1", "Relu");
    kernel(3, "conv2", "Conv");
    kernel(4, "relu2", "Relu");
    kernel(5, "mm", "MatMul");
    kernel(6, "bias", "Add");
    kernel(7, "pick", "Gather");
    kernel(8, "relu3", "Relu");
}

static void test_pairs(void)
{
    declare_pairs();
    pairs_run(1, 1);
    pairs_run(2, 1);
    pairs_run(3, 4); // another thread, in the same order
    const an_flow_session *s = flow();
    TEST_ASSERT_EQUAL_size_t(2, s->unfused_count);
    const an_unfused *u = &s->unfused[0]; // 60 a run; Relus: 20 + 40
    const an_unfused *add = strcmp(u->second, "Add") == 0 ? u : &s->unfused[1];
    const an_unfused *relu = add == u ? &s->unfused[1] : u;
    TEST_ASSERT_EQUAL_STRING("MatMul", add->first);
    TEST_ASSERT_EQUAL_UINT64(1, add->pairs);
    TEST_ASSERT_EQUAL_UINT64(180, add->second_ns);
    TEST_ASSERT_EQUAL_STRING("Conv", relu->first);
    TEST_ASSERT_EQUAL_STRING("Relu", relu->second);
    TEST_ASSERT_EQUAL_STRING("conv1", relu->example_first);
    TEST_ASSERT_EQUAL_STRING("relu1", relu->example_second);
    TEST_ASSERT_EQUAL_UINT64(2, relu->pairs);
    TEST_ASSERT_EQUAL_UINT64(6, relu->calls);
    TEST_ASSERT_EQUAL_UINT64(3 * (10 + 30), relu->first_ns);
    TEST_ASSERT_EQUAL_UINT64(3 * (20 + 40), relu->second_ns);
    TEST_ASSERT_EQUAL_UINT64(0, relu->shapes_known);
}

// What followed something else even once, another domain, another provider: no pair.
static void test_what_is_no_pair(void)
{
    declare_pairs();
    kernel_on(9, "conv3", "Conv", "com.microsoft.nchwc", CPU);
    kernel(10, "relu4", "Relu");
    kernel_on(11, "conv4", "Conv", "", CUDA);
    kernel(12, "relu5", "Relu");
    pairs_run(1, 1);
    run(2, 2000, 2900);
    op(7, 2, 2000, 2010);
    op(2, 2, 2010, 2020); // relu1, this time after pick
    op(4, 2, 2020, 2030); // relu2, after relu1
    op(6, 2, 2030, 2040); // bias, after relu2
    op(9, 2, 2040, 2050);
    op(10, 2, 2050, 2060);
    op(11, 2, 2060, 2070);
    op(12, 2, 2070, 2080);
    TEST_ASSERT_EQUAL_size_t(0, flow()->unfused_count);
}

static int64_t shape(int64_t id, int64_t direction, const char *first, const char *second)
{
    ROW(shape, id, 0, direction, second ? 2 : 1, -1);
    ROW(tensor, id, 0, 0, 1, 1, TEXT(first));
    if (second)
        ROW(tensor, id, 1, 0, 1, 1, TEXT(second));
    return id;
}

static void kernel_shape(int64_t id, int64_t inputs, int64_t outputs, int64_t run_inputs)
{
    ROW(kernel_shape, id, 0, inputs, outputs, run_inputs, 0, 0, 0);
}

// Shapes that are known decide: conv1 feeds relu1, conv2 does not feed relu2.
static void test_pairs_by_shapes(void)
{
    declare_pairs();
    int64_t a = shape(10, 0, "1,3,8,8", "4,3,1,1"), b = shape(11, 1, "1,4,8,8", NULL);
    int64_t c = shape(12, 0, "1,9", NULL), d = shape(13, 1, "1,9", NULL);
    kernel_shape(1, a, b, 2);
    kernel_shape(1, a, d, 3); // of other inputs of the session, for which relu1 has none
    kernel_shape(2, b, b, 2);
    kernel_shape(3, a, b, 2);
    kernel_shape(4, c, d, 2);
    pairs_run(1, 1);
    const an_flow_session *s = flow();
    TEST_ASSERT_EQUAL_size_t(2, s->unfused_count);
    TEST_ASSERT_EQUAL_STRING("Add", s->unfused[0].second); // 60; Relu 20
    TEST_ASSERT_EQUAL_STRING("Relu", s->unfused[1].second);
    TEST_ASSERT_EQUAL_UINT64(1, s->unfused[1].pairs);
    TEST_ASSERT_EQUAL_UINT64(1, s->unfused[1].shapes_known);
    TEST_ASSERT_EQUAL_UINT64(20, s->unfused[1].second_ns);
}

// -----------------------------------------------------------------------------------------
// variation

static an_op_table *table_of(an_op_by by, an_op_sort sort)
{
    an_op_table *table;
    an_op_choice choice = {.by = by, .sort = sort};
    TEST_ASSERT_EQUAL_INT(CM_OK, an_ops_table(g_ops, &choice, &table));
    return table;
}

static const an_op_row *row_of(const an_op_table *t, const char *node, const char *type)
{
    for (size_t i = 0; i < t->row_count; i++)
        if (strcmp(t->rows[i].node, node) == 0 && strcmp(t->rows[i].op_type, type) == 0)
            return &t->rows[i];
    TEST_FAIL_MESSAGE("no such row");
    return NULL;
}

// `steady` takes 1000 each time, `long` 9000, `swings` 1000 and 3000 in turn, `once` has one call.
static void declare_variable(void)
{
    kernel(1, "steady", "Conv");
    kernel(2, "long", "Conv");
    kernel(3, "swings", "Relu");
    kernel(4, "once", "Softmax");
}

static void test_variation(void)
{
    declare_variable();
    for (int64_t i = 1; i <= 10; i++) {
        int64_t at = i * 100000;
        run(i, at, at + 50000);
        op(1, i, at, at + 1000);
        op(2, i, at + 10000, at + 19000);
        op(3, i, at + 20000, at + 20000 + (i % 2 ? 1000 : 3000));
    }
    op(4, 10, 1040000, 1041000);
    read_flow();
    an_op_table *nodes = table_of(AN_BY_NODE, AN_SORT_VARIATION);
    TEST_ASSERT_EQUAL_STRING("swings", nodes->rows[0].node);
    TEST_ASSERT_EQUAL_STRING("once", nodes->rows[3].node); // nothing to tell: last
    // Ten values, five at each side, 1000 from the mean of 2000.
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, sqrt(10 * 1e6 / 9) / 2000, an_op_variation(&nodes->rows[0]));
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0, an_op_variation(row_of(nodes, "steady", "Conv")));
    TEST_ASSERT_DOUBLE_IS_NAN(an_op_variation(&nodes->rows[3]));
    an_op_table_destroy(nodes);
    // Both Convs are steady, though they differ from each other.
    an_op_table *types = table_of(AN_BY_TYPE, AN_SORT_VARIATION);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0, an_op_variation(row_of(types, "", "Conv")));
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, sqrt(10 * 1e6 / 9) / 2000,
                              an_op_variation(row_of(types, "", "Relu")));
    an_op_table_destroy(types);
}

static void measure(an_op_table *table)
{
    tm_reader *reader;
    tm_block block;
    TEST_ASSERT_EQUAL_INT(CM_OK, an_op_table_measure(table, AN_VARIABLE_ROWS));
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_reader_open(PATH, &reader));
    tm_reader_only(reader, TM_BIT(op));
    while (tm_reader_next(reader, &block) == CM_OK)
        an_op_table_add(table, g_ops, &block);
    tm_reader_close(reader);
}

// 200 calls each. `swings` is five times slower in 4 of them, `first` a hundred times, but once;
// `rare` swings too but has few calls, `tiny` takes next to nothing.
static void test_most_variable(void)
{
    kernel(1, "steady", "Conv");
    kernel(2, "swings", "Relu");
    kernel(3, "first", "MatMul");
    kernel(4, "rare", "Softmax");
    kernel(5, "tiny", "Reshape");
    for (int64_t i = 1; i <= 200; i++) {
        int64_t at = i * 1000000;
        run(i, at, at + 900000);
        op(1, i, at, at + 10000);
        op(2, i, at + 20000, at + 20000 + (i % 50 == 0 ? 5000 : 1000));
        op(3, i, at + 30000, at + 30000 + (i == 1 ? 100000 : 1000));
        if (i <= 50)
            op(4, i, at + 200000, at + 200000 + (i % 2 ? 1000 : 90000));
        op(5, i, at + 400000, at + 400000 + (i % 3 ? 1 : 10));
    }
    read_flow();
    an_op_table *nodes = table_of(AN_BY_NODE, AN_SORT_SELF);
    an_variable_op found[8];
    TEST_ASSERT_EQUAL_size_t(0, an_ops_most_variable(nodes, found, 8)); // nothing is measured
    measure(nodes);
    TEST_ASSERT_EQUAL_size_t(3, an_ops_most_variable(nodes, found, 8));
    TEST_ASSERT_EQUAL_STRING("swings", found[0].row->node);
    TEST_ASSERT_DOUBLE_WITHIN(0.02, 5, found[0].ratio);
    TEST_ASSERT_DOUBLE_WITHIN(2, 1000, found[0].p50_ns);
    TEST_ASSERT_DOUBLE_WITHIN(0.01, 1, found[1].ratio);
    TEST_ASSERT_DOUBLE_WITHIN(0.01, 1, found[2].ratio);
    TEST_ASSERT_EQUAL_size_t(1, an_ops_most_variable(nodes, found, 1));
    TEST_ASSERT_EQUAL_STRING("swings", found[0].row->node);
    TEST_ASSERT_EQUAL_size_t(0, an_ops_most_variable(nodes, found, 0));
    an_op_table_destroy(nodes);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_changes_and_copies);
    RUN_TEST(test_what_is_no_change_of_provider);
    RUN_TEST(test_more_providers_than_there_is_room_for);
    RUN_TEST(test_kinds);
    RUN_TEST(test_what_can_be_fused);
    RUN_TEST(test_shares_of_kinds);
    RUN_TEST(test_pairs);
    RUN_TEST(test_what_is_no_pair);
    RUN_TEST(test_pairs_by_shapes);
    RUN_TEST(test_variation);
    RUN_TEST(test_most_variable);
    return UNITY_END();
}
