// SPDX-License-Identifier: MIT
// What a format of tables has to do. `begin` and `end` enclose a part, which must be a whole
// document by itself; a document of JSON may have several tables, the others one.
#pragma once

#include "export_output.h"
#include "export_tables.h"

typedef struct vw_ex_table_writer vw_ex_table_writer;

struct vw_ex_table_writer {
    void (*begin)(vw_ex_table_writer *w, const tm_header *header);
    void (*begin_table)(vw_ex_table_writer *w, const vw_ex_table *table);
    void (*row)(vw_ex_table_writer *w, const vw_ex_cell *cells);
    void (*end_table)(vw_ex_table_writer *w);
    void (*end)(vw_ex_table_writer *w);
    size_t (*pending_bytes)(const vw_ex_table_writer *w); // not in `out` yet; NULL: none ever
    void (*destroy)(vw_ex_table_writer *w);
    cm_out *out;
    const vw_ex_table *table;
    uint64_t rows;
};

// Errors are those of `out`.
cm_status vw_ex_csv_create(cm_out *out, vw_ex_table_writer **result);
cm_status vw_ex_json_create(cm_out *out, vw_ex_table_writer **result);
cm_status vw_ex_parquet_create(cm_out *out, bool gzip, vw_ex_table_writer **result);
