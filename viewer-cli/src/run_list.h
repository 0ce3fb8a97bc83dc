// SPDX-License-Identifier: MIT
// Runs as a list: what a run row says, the facts of other rows that belong to it, and the three
// ways to print it. Used by cmd_runs.c.
#pragma once

#include "analysis/join.h"
#include "analysis/shapes.h"
#include "common/json.h"
#include "common/map.h"
#include "output.h"
#include "table.h"

typedef struct vw_run {
    int64_t session, run, thread, begin_ns, duration_ns, call, status, in_flight, inputs, outputs;
} vw_run;

// Shapes by id, and ORT's messages of failed runs (at most VW_MAX_RUN_MESSAGES of them).
#define VW_MAX_RUN_MESSAGES 1000000

typedef struct vw_run_facts {
    an_shapes shapes;
    cm_map message_of_run; // (session, run) to a place in `texts`
    cm_map text_of_string; // the file's string id to a place in `texts`
    char **texts;
    size_t text_count, text_capacity;
} vw_run_facts;

void vw_run_facts_init(vw_run_facts *f);
void vw_run_facts_deinit(vw_run_facts *f);
cm_status vw_run_facts_add(vw_run_facts *f, const tm_reader *reader, const tm_block *block);
// NULL if there is none.
const char *vw_run_message(const vw_run_facts *f, const vw_run *run);

typedef enum vw_run_format { VW_RUNS_TEXT, VW_RUNS_JSON, VW_RUNS_CSV } vw_run_format;

typedef struct vw_run_printer {
    vw_io *io;
    const vw_run_facts *facts;
    const an_join *join; // of the portion under way
    vw_run_format format;
    vw_table table;
    vw_table_column columns[VW_TABLE_MAX_COLUMNS];
    int ranks[VW_TABLE_MAX_COLUMNS]; // in which order columns give way
    size_t column_count;
    uint64_t printed;
    bool started, with_messages;
    bool states, ready, faults, gaps; // columns that have something to show
    double most_ns;                   // the longest of the first portion, for bars
    vw_run slowest;                   // of those that were printed
    cm_json json;
    cm_out text; // for one cell
    char status[48];
} vw_run_printer;

void vw_run_printer_begin(vw_run_printer *p, vw_io *io, const vw_run_facts *facts,
                          vw_run_format format, bool with_messages);
// The first portion decides which columns of the text have something to show.
void vw_run_printer_portion(vw_run_printer *p, const vw_run *runs, size_t count,
                            const an_join *join);
// `more`: how many matched and were not printed.
void vw_run_printer_end(vw_run_printer *p, const char *path, uint64_t more);
