// SPDX-License-Identifier: MIT
// Tables as one JSON document: facts of the recording, then an array of objects for each table, one
// row a line. Unknown cells are null.
#include "common/json.h"
#include "common/text.h"
#include "put_number.h"
#include "table_writer.h"

#include <stdlib.h>

static void put_text(cm_out *out, const char *text)
{
    cm_json quoted;
    cm_json_init(&quoted, out);
    cm_json_string(&quoted, text);
}

static void put_fact(cm_out *out, const char *key, const char *value)
{
    cm_out_printf(out, ",\n  \"%s\": ", key);
    put_text(out, value);
}

static void begin(vw_ex_table_writer *w, const tm_header *header)
{
    char date[48];
    cm_format_utc(date, sizeof date, header->start_utc_ns);
    cm_out_text(w->out, "{\n  \"schema_version\": 1");
    put_fact(w->out, "ortscope_version", header->ortscope_version);
    put_fact(w->out, "start_utc", date);
    put_fact(w->out, "os", header->os);
    put_fact(w->out, "cpu", header->cpu);
    cm_out_printf(w->out, ",\n  \"cpu_count\": %d", header->cpu_count);
}

static void begin_table(vw_ex_table_writer *w, const vw_ex_table *table)
{
    w->table = table;
    w->rows = 0;
    cm_out_printf(w->out, ",\n  \"%s\": [", table->name);
}

static void row(vw_ex_table_writer *w, const vw_ex_cell *cells)
{
    cm_out_text(w->out, w->rows++ ? ",\n    {" : "\n    {");
    for (size_t c = 0; c < w->table->column_count; c++) {
        cm_out_text(w->out, c ? ", \"" : "\"");
        cm_out_text(w->out, w->table->columns[c].name);
        cm_out_text(w->out, "\": ");
        if (!cells[c].known)
            cm_out_text(w->out, "null");
        else if (w->table->columns[c].type == VW_EX_TEXT)
            put_text(w->out, cells[c].text);
        else if (w->table->columns[c].type == VW_EX_INT)
            vw_put_int(w->out, cells[c].integer);
        else if (w->table->columns[c].type == VW_EX_REAL)
            vw_put_real(w->out, cells[c].real);
        else
            cm_out_text(w->out, cells[c].integer ? "true" : "false");
    }
    cm_out_char(w->out, '}');
}

static void end_table(vw_ex_table_writer *w)
{
    cm_out_text(w->out, w->rows ? "\n  ]" : "]");
}

static void end(vw_ex_table_writer *w)
{
    cm_out_text(w->out, "\n}\n");
}

static void destroy(vw_ex_table_writer *w)
{
    free(w);
}

cm_status vw_ex_json_create(cm_out *out, vw_ex_table_writer **result)
{
    vw_ex_table_writer *w = calloc(1, sizeof *w);
    if (!w)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to export.");
    *w = (vw_ex_table_writer){.begin = begin,
                              .begin_table = begin_table,
                              .row = row,
                              .end_table = end_table,
                              .end = end,
                              .destroy = destroy,
                              .out = out};
    *result = w;
    return CM_OK;
}
