// SPDX-License-Identifier: MIT
// The tables that an export offers, as typed columns, and how a row of the timeline becomes a row
// of a table. One description for CSV, JSON and Parquet; units stand in the names of the columns.
#pragma once

#include "export_facts.h"

typedef enum vw_ex_type { VW_EX_INT, VW_EX_REAL, VW_EX_BOOL, VW_EX_TEXT } vw_ex_type;

typedef struct vw_ex_column {
    const char *name;
    vw_ex_type type;
    bool optional; // a cell of it may be unknown
} vw_ex_column;

typedef struct vw_ex_cell {
    bool known;
    union {
        int64_t integer; // VW_EX_BOOL: 0 or 1
        double real;
        const char *text; // valid until the next row
    };
} vw_ex_cell;

#define VW_EX_MAX_COLUMNS 24

typedef struct vw_ex_table {
    const char *name;
    tm_kind kind;
    int time_column;    // of the timeline's row, what --from and --to look at
    int session_column; // what --session looks at; -1: rows are of no session
    const vw_ex_column *columns;
    size_t column_count;
    void (*fill)(vw_ex_facts *facts, const tm_reader *reader, const tm_block *block, size_t row,
                 vw_ex_cell *cells);
} vw_ex_table;

extern const vw_ex_table vw_ex_tables[];
extern const size_t vw_ex_table_count;

// Which rows: those that began at or after `from_ns` and before `to_ns`, of a session.
typedef struct vw_ex_range {
    int64_t from_ns, to_ns;
    bool has_session;
    int64_t session;
} vw_ex_range;

static inline bool vw_ex_in_range(const vw_ex_range *r, int64_t time_ns)
{
    return time_ns >= r->from_ns && time_ns < r->to_ns;
}
