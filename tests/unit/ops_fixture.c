// SPDX-License-Identifier: MIT
#include "ops_fixture.h"

#include "common/os.h"

#include <string.h>
#include <unity.h>

tm_writer *g_writer;
an_ops *g_ops;
an_op_table *g_table;
an_op_options g_options;

void setUp(void)
{
    tm_header header = {"0.1.0", 1767323045000000000u, "Windows", "CPU", 2};
    g_options = (an_op_options){0};
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_create(PATH, &header, &g_writer));
}

void tearDown(void)
{
    an_op_table_destroy(g_table);
    an_ops_destroy(g_ops);
    g_table = NULL;
    g_ops = NULL;
    cm_file_remove(PATH);
}

void kernel_on(int64_t id, int64_t session, const char *node, const char *type,
               const char *provider, int64_t submits)
{
    ROW(kernel, id, session, 1, 0, TEXT(node), TEXT(type), 0, 13, TEXT(provider), 0, 1, submits);
}

void kernel(int64_t id, int64_t session, const char *node, const char *type)
{
    kernel_on(id, session, node, type, CPU, 0);
}

void op_at(int64_t id, int64_t run, int64_t thread, int64_t begin, int64_t duration, int64_t depth,
           int64_t flags)
{
    ROW(op, id, 1, run, thread, begin, duration, depth, flags);
}

void op(int64_t id, int64_t begin, int64_t duration, int64_t depth)
{
    op_at(id, 1, 1, begin, duration, depth, 0);
}

void flush(void)
{
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_flush(g_writer));
}

void read_kinds(uint64_t kinds, bool measure)
{
    tm_reader *reader;
    tm_block block;
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_reader_open(PATH, &reader));
    tm_reader_only(reader, kinds);
    while (tm_reader_next(reader, &block) == CM_OK) {
        if (measure)
            an_op_table_add(g_table, g_ops, &block);
        else
            TEST_ASSERT_EQUAL_INT(CM_OK, an_ops_add(g_ops, reader, &block));
    }
    tm_reader_close(reader);
}

const an_op_table *table_of(an_op_choice choice)
{
    const uint64_t all = UINT64_MAX, ops = TM_BIT(op), allocs = TM_BIT(alloc);
    if (!g_ops) {
        TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_close(g_writer));
        TEST_ASSERT_EQUAL_INT(CM_OK, an_ops_create(&g_options, &g_ops));
        read_kinds(all & ~ops & ~allocs, false);
        read_kinds(ops, false);
        read_kinds(allocs, false);
        TEST_ASSERT_EQUAL_INT(CM_OK, an_ops_finish(g_ops));
    }
    an_op_table_destroy(g_table);
    TEST_ASSERT_EQUAL_INT(CM_OK, an_ops_table(g_ops, &choice, &g_table));
    return g_table;
}

const an_op_table *table(an_op_by by)
{
    return table_of((an_op_choice){.by = by});
}

const an_op_row *row_of(const an_op_table *t, const char *node, const char *type)
{
    for (size_t i = 0; i < t->row_count; i++)
        if (strcmp(t->rows[i].node, node) == 0 && strcmp(t->rows[i].op_type, type) == 0)
            return &t->rows[i];
    TEST_FAIL_MESSAGE("no such row");
    return NULL;
}

void check_row(const an_op_table *t, const char *node, const char *type, uint64_t calls,
               uint64_t total, uint64_t self)
{
    const an_op_row *row = row_of(t, node, type);
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(calls, row->sums.calls, node);
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(total, row->sums.total_ns, node);
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(self, row->sums.self_ns, node);
}
