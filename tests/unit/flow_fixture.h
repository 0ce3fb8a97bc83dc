// SPDX-License-Identifier: MIT
// What tests of flows share: a timeline that a test fills with kernels, runs and executions, made
// anew for each test, and the flow that is read from it. Include once per test, with PATH defined.
#pragma once

#include "../timeline_rows.h"
#include "analysis/flow.h"
#include "common/os.h"

#include <string.h>
#include <unity.h>

#define CPU  "CPUExecutionProvider"
#define CUDA "CUDAExecutionProvider"

static tm_writer *g_writer;
static an_ops *g_ops;
static an_flow *g_flow;
static an_flow_choice g_choice;

void setUp(void)
{
    tm_header header = {"0.1.0", 1767323045000000000u, "Windows", "CPU", 2};
    g_choice = (an_flow_choice){0};
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_create(PATH, &header, &g_writer));
}

void tearDown(void)
{
    if (g_writer) // nobody has read it
        tm_writer_close(g_writer);
    g_writer = NULL;
    an_flow_destroy(g_flow);
    an_ops_destroy(g_ops);
    g_flow = NULL;
    g_ops = NULL;
    cm_file_remove(PATH);
}

static void kernel_on(int64_t id, const char *node, const char *type, const char *domain,
                      const char *provider)
{
    ROW(kernel, id, 1, 1, 0, TEXT(node), TEXT(type), TEXT(domain), 13, TEXT(provider), 0, 1, 0);
}

static void kernel(int64_t id, const char *node, const char *type)
{
    kernel_on(id, node, type, "", CPU);
}

static void op_at(int64_t id, int64_t run, int64_t thread, int64_t begin, int64_t end,
                  int64_t depth)
{
    ROW(op, id, 1, run, thread, begin, end - begin, depth, run > 0 ? 0 : 2);
}

// On thread 1.
static inline void op(int64_t id, int64_t run, int64_t begin, int64_t end)
{
    op_at(id, run, 1, begin, end, 0);
}

static void run_on(int64_t number, int64_t thread, int64_t begin, int64_t end, int64_t status)
{
    ROW(run, 1, number, thread, begin, end - begin, 0, status, 1, 0, 0);
}

static void run(int64_t number, int64_t begin, int64_t end)
{
    run_on(number, 1, begin, end, 0);
}

static void read_kinds(uint64_t kinds, bool flow)
{
    tm_reader *reader;
    tm_block block;
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_reader_open(PATH, &reader));
    tm_reader_only(reader, kinds);
    while (tm_reader_next(reader, &block) == CM_OK)
        TEST_ASSERT_EQUAL_INT(CM_OK, flow ? an_flow_add(g_flow, &block)
                                          : an_ops_add(g_ops, reader, &block));
    tm_reader_close(reader);
}

static void read_flow(void)
{
    an_op_options options = {.runs = true, .flops = true};
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_close(g_writer));
    g_writer = NULL;
    TEST_ASSERT_EQUAL_INT(CM_OK, an_ops_create(&options, &g_ops));
    read_kinds(UINT64_MAX & ~TM_BIT(op), false);
    read_kinds(TM_BIT(op), false);
    TEST_ASSERT_EQUAL_INT(CM_OK, an_ops_finish(g_ops));
    TEST_ASSERT_EQUAL_INT(CM_OK, an_flow_create(g_ops, &g_choice, &g_flow));
    read_kinds(TM_BIT(op) | TM_BIT(run) | TM_BIT(lost), true);
    TEST_ASSERT_EQUAL_INT(CM_OK, an_flow_finish(g_flow));
}

// Of the one session.
static inline const an_flow_session *flow(void)
{
    read_flow();
    TEST_ASSERT_EQUAL_size_t(1, an_flow_count(g_flow));
    const an_flow_session *s = an_flow_get(g_flow, 0);
    TEST_ASSERT_EQUAL_UINT64(s->run_ns, s->none_ns + s->one_ns + s->several_ns);
    TEST_ASSERT_TRUE(s->path_ns <= s->run_ns);
    return s;
}

static inline void flush(void)
{
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_flush(g_writer));
}

static inline void check_runs(const an_flow_session *s, uint64_t runs, uint64_t left_out,
                              uint64_t without_ops)
{
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(runs, s->runs, "runs");
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(left_out, s->left_out, "left out");
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(without_ops, s->without_ops, "without operators");
}

static inline void check_times(const an_flow_session *s, uint64_t none, uint64_t one,
                               uint64_t several)
{
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(none, s->none_ns, "none");
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(one, s->one_ns, "one");
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(several, s->several_ns, "several");
}

// ------------------------------------------------------------------------------ a run in parallel

static inline void declare(void)
{
    kernel(1, "a", "Conv");
    kernel(2, "b", "MatMul");
    kernel(3, "c", "Softmax");
}

static inline void parallel_run(int64_t number, int64_t at)
{
    run(number, at, at + 1000);
    op_at(1, number, 2, at + 100, at + 400, 0);
    op_at(3, number, 2, at + 700, at + 900, 0);
    op_at(2, number, 3, at + 200, at + 700, 0);
}

static inline void check_parallel(const an_flow_session *s, uint64_t runs)
{
    check_runs(s, runs, 0, 0);
    check_times(s, runs * 200, runs * 600, runs * 200);
    TEST_ASSERT_EQUAL_UINT64(2, s->most);
    TEST_ASSERT_EQUAL_DOUBLE(0.2, an_flow_parallel_share(s));
    TEST_ASSERT_EQUAL_UINT64(runs * 1000, s->busy_ns);
    TEST_ASSERT_EQUAL_UINT64(runs * 700, s->path_ns); // b, then c; a was not waited for
    TEST_ASSERT_EQUAL_UINT64(runs * 2, s->path_count);
    TEST_ASSERT_EQUAL_size_t(2, s->path_kept);
    TEST_ASSERT_EQUAL_STRING("b", s->path[0].node);
    TEST_ASSERT_EQUAL_UINT64(runs * 500, s->path[0].path_ns);
    TEST_ASSERT_EQUAL_STRING("c", s->path[1].node);
    TEST_ASSERT_EQUAL_size_t(2, s->pool_count);
    TEST_ASSERT_EQUAL_INT64(2, s->pool[0].thread);
    TEST_ASSERT_EQUAL_UINT64(runs * 500, s->pool[0].busy_ns);
    TEST_ASSERT_EQUAL_UINT64(runs, s->pool[1].runs);
    TEST_ASSERT_EQUAL_UINT64(runs * 1000, s->covered_ns);
    TEST_ASSERT_EQUAL_DOUBLE((double)runs * 1000, an_flow_pool_idle_ns(s));
    TEST_ASSERT_EQUAL_DOUBLE(0.5, an_flow_pool_idle_share(s));
}
