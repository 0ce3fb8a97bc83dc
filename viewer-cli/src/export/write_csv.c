// SPDX-License-Identifier: MIT
// Tables as CSV (RFC 4180 with LF): names of columns first, unknown cells empty.
#include "common/text.h"
#include "put_number.h"
#include "table_writer.h"

#include <stdlib.h>

static void begin(vw_ex_table_writer *w, const tm_header *header)
{
    (void)w, (void)header;
}

static void begin_table(vw_ex_table_writer *w, const vw_ex_table *table)
{
    w->table = table;
    for (size_t c = 0; c < table->column_count; c++)
        cm_csv_text(w->out, table->columns[c].name, c == 0);
    cm_out_char(w->out, '\n');
}

static void row(vw_ex_table_writer *w, const vw_ex_cell *cells)
{
    for (size_t c = 0; c < w->table->column_count; c++) {
        if (cells[c].known && w->table->columns[c].type == VW_EX_TEXT) {
            cm_csv_text(w->out, cells[c].text, c == 0);
            continue;
        }
        if (c)
            cm_out_char(w->out, ',');
        if (!cells[c].known)
            continue;
        if (w->table->columns[c].type == VW_EX_INT)
            vw_put_int(w->out, cells[c].integer);
        else if (w->table->columns[c].type == VW_EX_REAL)
            vw_put_real(w->out, cells[c].real);
        else
            cm_out_text(w->out, cells[c].integer ? "true" : "false");
    }
    cm_out_char(w->out, '\n');
}

static void end(vw_ex_table_writer *w)
{
    (void)w;
}

static void destroy(vw_ex_table_writer *w)
{
    free(w);
}

cm_status vw_ex_csv_create(cm_out *out, vw_ex_table_writer **result)
{
    vw_ex_table_writer *w = calloc(1, sizeof *w);
    if (!w)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to export.");
    *w = (vw_ex_table_writer){.begin = begin,
                              .begin_table = begin_table,
                              .row = row,
                              .end_table = end,
                              .end = end,
                              .destroy = destroy,
                              .out = out};
    *result = w;
    return CM_OK;
}
