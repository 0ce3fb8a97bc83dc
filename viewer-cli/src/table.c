// SPDX-License-Identifier: MIT
// See table.h.
#include "table.h"

#include "common/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define GAP        2u  // between columns
#define LEAST_TEXT 12u // a name that is cut further says nothing

#define COMFORTABLE  24u // columns in which most names are whole
#define LITTLE_RANK  5   // columns from it on are left out before names get less
#define HIGHEST_RANK 99

void vw_table_begin(vw_table *t, vw_io *io, const char *indent, const vw_table_column *columns,
                    size_t column_count)
{
    memset(t, 0, sizeof *t);
    t->io = io;
    t->indent = indent;
    t->columns = columns;
    t->column_count = column_count;
    for (size_t i = 0; i < column_count; i++) {
        t->width[i] = cm_text_width(columns[i].title);
        t->least[i] = columns[i].max_width ? LEAST_TEXT : 0;
    }
    cm_buf_init(&t->held);
}

void vw_table_may_leave_out(vw_table *t, size_t column, int rank)
{
    t->rank[column] = rank;
}

void vw_table_may_shrink(vw_table *t, size_t column, size_t least_width)
{
    t->least[column] = least_width;
}

void vw_table_style(vw_table *t, size_t column, vw_style style)
{
    t->style[column] = style;
}

void vw_table_next_style(vw_table *t, vw_style style)
{
    t->next_style = style;
}

// ------------------------------------------------------------------------------------------ widths

static bool can_shrink(const vw_table *t, size_t column)
{
    return t->least[column] && !t->left_out[column] && t->width[column] > t->least[column];
}

// With columns of text not wider than `text_width`, as far as they can be narrower.
static size_t whole_width(const vw_table *t, size_t text_width)
{
    size_t sum = strlen(t->indent), shown = 0;
    for (size_t i = 0; i < t->column_count; i++) {
        if (t->left_out[i])
            continue;
        size_t narrow = text_width > t->least[i] ? text_width : t->least[i];
        sum += can_shrink(t, i) && t->width[i] > narrow ? narrow : t->width[i];
        sum += shown++ ? GAP : 0;
    }
    return sum;
}

// The column with the greatest rank of those from `least_rank` on.
static bool leave_one_out(vw_table *t, int least_rank)
{
    size_t chosen = t->column_count;
    for (size_t i = 0; i < t->column_count; i++)
        if (t->rank[i] >= least_rank && !t->left_out[i] &&
            (chosen == t->column_count || t->rank[i] > t->rank[chosen]))
            chosen = i;
    if (chosen == t->column_count)
        return false;
    t->left_out[chosen] = true;
    return true;
}

// A narrow column may fit where a wide one did not.
static void take_back(vw_table *t, size_t text_width)
{
    for (int rank = 1; rank <= HIGHEST_RANK; rank++) {
        for (size_t i = 0; i < t->column_count; i++) {
            if (t->rank[i] != rank || !t->left_out[i])
                continue;
            t->left_out[i] = false;
            t->left_out[i] = whole_width(t, text_width) > t->io->width;
        }
    }
}

// One column narrower: the widest that can.
static bool shrink_one(vw_table *t)
{
    size_t chosen = t->column_count;
    for (size_t i = 0; i < t->column_count; i++)
        if (can_shrink(t, i) && (chosen == t->column_count || t->width[i] > t->width[chosen]))
            chosen = i;
    if (chosen == t->column_count)
        return false;
    t->width[chosen]--;
    return true;
}

// What matters little goes before names are cut short, what matters more after that.
static void fit(vw_table *t)
{
    size_t room = t->io->width;
    while (whole_width(t, COMFORTABLE) > room && leave_one_out(t, LITTLE_RANK))
        continue;
    while (whole_width(t, 0) > room && leave_one_out(t, 1))
        continue;
    take_back(t, COMFORTABLE);
    while (whole_width(t, SIZE_MAX) > room && shrink_one(t))
        continue;
}

// -------------------------------------------------------------------------------------------- rows

// What a row of cells has more than its columns' widths; only numbers that came late do.
static size_t row_excess(const vw_table *t, const char *const *cells)
{
    size_t excess = 0;
    for (size_t i = 0; i < t->column_count; i++) {
        size_t width = t->least[i] || t->left_out[i] ? 0 : cm_text_width(cells[i]);
        excess += width > t->width[i] ? width - t->width[i] : 0;
    }
    return excess;
}

static void print_row(vw_table *t, const char *const *cells, const vw_style *styles)
{
    cm_out *out = &t->io->out;
    size_t blanks = strlen(t->indent), excess = row_excess(t, cells);
    for (size_t i = 0; i < t->column_count; i++) {
        if (t->left_out[i])
            continue;
        size_t width = cm_text_width(cells[i]), room = t->width[i];
        if (t->least[i] && excess) { // names give way to numbers
            size_t given = room > LEAST_TEXT ? room - LEAST_TEXT : 0;
            given = given < excess ? given : excess;
            room -= given;
            excess -= given;
        }
        size_t shown = t->least[i] && width > room ? room : width;
        size_t padding = room > shown ? room - shown : 0;
        if (shown) {
            cm_out_repeat(out, " ", blanks + (t->columns[i].right ? padding : 0));
            vw_style_on(t->io, styles[i]);
            cm_text_clean(out, cells[i], t->least[i] ? room : 0);
            vw_style_off(t->io, styles[i]);
            blanks = t->columns[i].right ? 0 : padding;
        } else {
            blanks += padding;
        }
        blanks += GAP;
    }
    cm_out_char(out, '\n');
}

static void print_held(vw_table *t, const char **at)
{
    const char *cells[VW_TABLE_MAX_COLUMNS];
    vw_style styles[VW_TABLE_MAX_COLUMNS];
    for (size_t i = 0; i < t->column_count; i++) {
        styles[i] = (vw_style) * *at;
        cells[i] = *at + 1;
        *at += strlen(cells[i]) + 2;
    }
    print_row(t, cells, styles);
}

// The header and all held rows.
static void start(vw_table *t)
{
    const char *titles[VW_TABLE_MAX_COLUMNS];
    vw_style styles[VW_TABLE_MAX_COLUMNS];
    if (t->started || t->held_rows == 0)
        return;
    t->started = true;
    fit(t);
    for (size_t i = 0; i < t->column_count; i++) {
        titles[i] = t->columns[i].title;
        styles[i] = VW_DIM;
    }
    print_row(t, titles, styles);
    const char *at = (const char *)t->held.data;
    for (size_t row = 0; row < t->held_rows; row++)
        print_held(t, &at);
    cm_buf_clear(&t->held);
}

void vw_table_text(vw_table *t, const char *text)
{
    size_t column = t->cells_in_row++;
    size_t width = cm_text_width(text), limit = t->columns[column].max_width;
    if (limit && width > limit)
        width = limit;
    if (!t->started && width > t->width[column])
        t->width[column] = width;
    cm_buf_append_byte(&t->held, (uint8_t)(t->next_style ? t->next_style : t->style[column]));
    cm_buf_append(&t->held, text, strlen(text) + 1);
    t->next_style = VW_PLAIN;
    if (t->cells_in_row < t->column_count)
        return;
    t->cells_in_row = 0;
    if (t->held.failed)
        return;
    if (t->started) {
        const char *at = (const char *)t->held.data;
        print_held(t, &at);
        cm_buf_clear(&t->held);
    } else if (++t->held_rows == VW_TABLE_HELD_ROWS) {
        start(t);
    }
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
