// SPDX-License-Identifier: MIT
// See table.h.
#include "table.h"

#include "common/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void vw_table_begin(vw_table *t, vw_io *io, const char *indent, const vw_table_column *columns,
                    size_t column_count)
{
    memset(t, 0, sizeof *t);
    t->io = io;
    t->indent = indent;
    t->columns = columns;
    t->column_count = column_count;
    for (size_t i = 0; i < column_count; i++)
        t->width[i] = cm_text_width(columns[i].title);
    cm_buf_init(&t->held);
}

static void print_cell(vw_table *t, size_t column, const char *text)
{
    cm_out *out = &t->io->out;
    const vw_table_column *c = &t->columns[column];
    size_t width = cm_text_width(text), room = t->width[column];
    size_t shown = c->max_width && width > c->max_width ? c->max_width : width;
    size_t padding = room > shown ? room - shown : 0;
    cm_out_text(out, column == 0 ? t->indent : "  ");
    if (c->right)
        cm_out_repeat(out, " ", padding);
    cm_text_clean(out, text, c->max_width);
    if (!c->right && column + 1 < t->column_count)
        cm_out_repeat(out, " ", padding);
    if (column + 1 == t->column_count)
        cm_out_char(out, '\n');
}

// The header and all held rows.
static void start(vw_table *t)
{
    if (t->started || t->held_rows == 0)
        return;
    t->started = true;
    vw_style_on(t->io, VW_DIM);
    for (size_t i = 0; i < t->column_count; i++)
        print_cell(t, i, t->columns[i].title);
    vw_style_off(t->io, VW_DIM);
    const char *cell = (const char *)t->held.data;
    for (size_t row = 0; row < t->held_rows; row++) {
        for (size_t i = 0; i < t->column_count; i++) {
            print_cell(t, i, cell);
            cell += strlen(cell) + 1;
        }
    }
}

void vw_table_text(vw_table *t, const char *text)
{
    size_t column = t->cells_in_row++;
    if (t->started) {
        print_cell(t, column, text);
    } else {
        size_t width = cm_text_width(text), limit = t->columns[column].max_width;
        if (limit && width > limit)
            width = limit;
        if (width > t->width[column])
            t->width[column] = width;
        cm_buf_append(&t->held, text, strlen(text) + 1);
    }
    if (t->cells_in_row < t->column_count)
        return;
    t->cells_in_row = 0;
    if (!t->started && !t->held.failed && ++t->held_rows == VW_TABLE_HELD_ROWS)
        start(t);
}

void vw_table_cell(vw_table *t, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    vw_table_text(t, text);
}

void vw_table_end(vw_table *t)
{
    start(t);
    cm_buf_deinit(&t->held);
}
