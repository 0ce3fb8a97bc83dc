// SPDX-License-Identifier: MIT
// Text tables of any length: the first rows are held back to find the widths of the columns, then
// everything is passed on row by row. Cells are cleaned for the terminal and cut in the middle
// where they are wider than their column may be.
//
// No table is wider than io->width: columns of foreign text (those with a max_width) become
// narrower, then columns that may be left out are, one after the other.
#pragma once

#include "common/buf.h"
#include "output.h"

#define VW_TABLE_MAX_COLUMNS 16
#define VW_TABLE_HELD_ROWS   200

typedef struct vw_table_column {
    const char *title;
    bool right;       // numbers
    size_t max_width; // 0: as wide as it gets
} vw_table_column;

typedef struct vw_table {
    vw_io *io;
    const char *indent;
    const vw_table_column *columns;
    size_t column_count;
    size_t width[VW_TABLE_MAX_COLUMNS];
    size_t least[VW_TABLE_MAX_COLUMNS]; // how narrow it may become, 0: not at all
    int rank[VW_TABLE_MAX_COLUMNS];     // the greatest is left out first, 0: never
    bool left_out[VW_TABLE_MAX_COLUMNS];
    vw_style style[VW_TABLE_MAX_COLUMNS];
    vw_style next_style; // of the next cell, VW_PLAIN: that of its column
    cm_buf held;         // cells, each with its style before it and its NUL
    size_t held_rows;
    size_t cells_in_row;
    bool started; // the header is out, widths are fixed
} vw_table;

void vw_table_begin(vw_table *t, vw_io *io, const char *indent, const vw_table_column *columns,
                    size_t column_count);
// Before the first row. Where the table is too wide, the column with the greatest rank (1 to 99) is
// left out first: from 5 on so that names have room, below that only where they can't be shorter.
void vw_table_may_leave_out(vw_table *t, size_t column, int rank);
void vw_table_may_shrink(vw_table *t, size_t column, size_t least_width);
void vw_table_style(vw_table *t, size_t column, vw_style style);
// Of the next cell alone.
void vw_table_next_style(vw_table *t, vw_style style);

void vw_table_cell(vw_table *t, const char *fmt, ...) CM_PRINTF(2, 3);
void vw_table_text(vw_table *t, const char *text); // foreign text, any length
// Prints what is held; a table without rows prints nothing.
void vw_table_end(vw_table *t);
