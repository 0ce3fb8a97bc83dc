// SPDX-License-Identifier: MIT
// An export in whole: a timeline read in one direction, a writer of a format, an output. Memory
// does not depend on the number of rows.
//
//   export_output   where the bytes go: files, parts, standard output, gzip
//   export_facts    what rows refer to
//   export_tables   tables and their columns; write_csv, write_json, write_parquet put them out
//   trace_*         tracks, slices, counters, arrows; write_chrome, write_perfetto put them out
//   write_speedscope   operators as a flame graph
#pragma once

#include "export_output.h"
#include "export_tables.h"
#include "progress.h"

#include <stdatomic.h>

typedef enum vw_ex_format {
    VW_EX_CHROME,
    VW_EX_PERFETTO,
    VW_EX_CSV,
    VW_EX_JSON,
    VW_EX_PARQUET,
    VW_EX_SPEEDSCOPE,
    VW_EX_FORMAT_COUNT
} vw_ex_format;

typedef struct vw_ex_job {
    const char *input;
    vw_ex_format format;
    const vw_ex_table *table; // NULL: the format's own choice
    vw_ex_range range;
    const atomic_bool *given_up; // true: nobody wants it any longer; NULL: never
    bool gzip;                   // of Parquet's pages; the stream's is the output's business
    vw_ex_facts facts;
    vw_ex_output output;
    vw_progress progress;
    uint64_t rows;    // exported: rows of tables, or slices, counters' values and instants
    char damage[300]; // what is wrong with the input, "" if nothing
} vw_ex_job;

cm_status vw_ex_run_tables(vw_ex_job *job);
cm_status vw_ex_run_trace(vw_ex_job *job);
cm_status vw_ex_run_speedscope(vw_ex_job *job);

// Opens the input for a pass over these kinds.
cm_status vw_ex_open_pass(vw_ex_job *job, uint64_t kinds, tm_reader **out);
// The next block, with progress. CM_END: the last one was read, and damage is noted.
cm_status vw_ex_next(vw_ex_job *job, tm_reader *reader, tm_block *block);
