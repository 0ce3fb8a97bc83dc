// SPDX-License-Identifier: MIT
#include "pending.h"

#include <stdlib.h>
#include <string.h>

bool co_rows_add(co_rows *rows, tm_kind kind, const int64_t *values)
{
    size_t width = tm_kind_get(kind)->column_count;
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity ? rows->capacity * 2 : 64;
        int64_t *larger = realloc(rows->values, capacity * width * sizeof *larger);
        if (!larger)
            return false;
        rows->values = larger;
        rows->capacity = capacity;
    }
    memcpy(rows->values + rows->count++ * width, values, width * sizeof *values);
    return true;
}

bool co_pending_try(co_pending *p, tm_kind kind, const int64_t *values)
{
    return co_rows_add(&p->rows[kind], kind, values);
}

void co_pending_add(co_pending *p, tm_kind kind, const int64_t *values)
{
    if (!co_pending_try(p, kind, values))
        p->unstored++;
}

// Where the row holds an end and a duration that become a begin and a duration: the begin's column,
// or -1. The duration's is the next of its type.
static int begin_column(tm_kind kind)
{
    switch (kind) {
    case TM_KIND_run:
        return TM_run_begin;
    case TM_KIND_op:
        return TM_op_begin;
    case TM_KIND_phase:
        return TM_phase_begin;
    case TM_KIND_session:
        return TM_session_time;
    default:
        return -1;
    }
}

void co_row_to_nanoseconds(tm_kind kind, int64_t *row, const co_clock *clock)
{
    const tm_kind_info *info = tm_kind_get(kind);
    int begin = begin_column(kind);
    uint64_t ticks = 0; // a row's time stands before its durations
    for (int i = 0; i < (int)info->column_count; i++) {
        if (info->columns[i].type == TM_TIME) {
            ticks = (uint64_t)row[i];
            row[i] = co_clock_time(clock, ticks);
        } else if (info->columns[i].type == TM_DUR && begin >= 0) {
            co_span span = co_clock_span_until(clock, ticks, (uint64_t)row[i]);
            row[begin] = span.begin_ns;
            row[i] = span.duration_ns;
            begin = -1;
        } else if (info->columns[i].type == TM_DUR) {
            row[i] = co_clock_span(clock, ticks, (uint64_t)row[i]);
        }
    }
}

void co_pending_write(co_pending *p, const co_clock *clock, tm_writer *writer)
{
    for (int kind = 0; kind < TM_KIND_COUNT; kind++) {
        co_rows *rows = &p->rows[kind];
        size_t width = tm_kind_get((tm_kind)kind)->column_count;
        for (size_t i = 0; i < rows->count; i++) {
            int64_t *row = rows->values + i * width;
            co_row_to_nanoseconds((tm_kind)kind, row, clock);
            tm_writer_row(writer, (tm_kind)kind, row);
        }
        rows->count = 0;
    }
}

void co_pending_deinit(co_pending *p)
{
    for (int kind = 0; kind < TM_KIND_COUNT; kind++)
        free(p->rows[kind].values);
}
