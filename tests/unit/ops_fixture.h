// SPDX-License-Identifier: MIT
// What tests of operators share: a timeline that is made with the real writer, and a table of what
// is found in it. setUp and tearDown of these tests are here too.
#pragma once

#include "../timeline_rows.h"
#include "analysis/ops.h"
#include "analysis/summary.h"

#define PATH "test_ops.ortl"
#define CPU  "CPUExecutionProvider"

extern tm_writer *g_writer;
extern an_ops *g_ops; // once a table was asked for
extern an_op_table *g_table;
extern an_op_options g_options;

void kernel_on(int64_t id, int64_t session, const char *node, const char *type,
               const char *provider, int64_t submits);
void kernel(int64_t id, int64_t session, const char *node, const char *type);
void op_at(int64_t id, int64_t run, int64_t thread, int64_t begin, int64_t duration, int64_t depth,
           int64_t flags);
void op(int64_t id, int64_t begin, int64_t duration, int64_t depth); // of run 1, on thread 1
void flush(void);

// Reads rows of these kinds, into the table where they are measured again.
void read_kinds(uint64_t kinds, bool measure);

// The first call ends the file.
const an_op_table *table_of(an_op_choice choice);
const an_op_table *table(an_op_by by);
const an_op_row *row_of(const an_op_table *t, const char *node, const char *type);
void check_row(const an_op_table *t, const char *node, const char *type, uint64_t calls,
               uint64_t total, uint64_t self);
