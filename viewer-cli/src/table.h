// SPDX-License-Identifier: MIT
// Text tables of any length: the first rows are held back to find the widths of the columns, then
// everything is passed on row by row. Cells are cleaned for the terminal and cut where they are
// wider than their column may be.
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
    cm_buf held; // cells, each with its NUL
    size_t held_rows;
    size_t cells_in_row;
    bool started; // the header is out, widths are fixed
} vw_table;

void vw_table_begin(vw_table *t, vw_io *io, const char *indent, const vw_table_column *columns,
                    size_t column_count);
void vw_table_cell(vw_table *t, const char *fmt, ...) CM_PRINTF(2, 3);
void vw_table_text(vw_table *t, const char *text); // foreign text, any length
// Prints what is held; a table without rows prints nothing.
void vw_table_end(vw_table *t);
