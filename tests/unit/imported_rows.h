// SPDX-License-Identifier: MIT
// A recording that a test has made, imported, and the rows of the timeline that came of it. Include
// once per test program, with PATH defined.
#pragma once

#include "etl_maker.h"

#include "collector/etl_import.h"
#include "common/os.h"
#include "timeline/timeline.h"

#include <stdio.h>
#include <unity.h>

typedef struct row {
    tm_kind kind;
    int64_t values[TM_MAX_COLUMNS];
    char text[3][160]; // its texts, in the order of the columns
} row;

static row g_rows[600];
static size_t g_row_count;
static co_etl_import_stats g_stats;

static void take_block(tm_reader *r, const tm_block *b)
{
    const tm_kind_info *info = tm_kind_get(b->kind);
    for (size_t i = 0; i < b->row_count; i++) {
        TEST_ASSERT_LESS_THAN(sizeof g_rows / sizeof *g_rows, g_row_count);
        row *to = &g_rows[g_row_count++];
        unsigned texts = 0;
        to->kind = b->kind;
        for (unsigned c = 0; c < info->column_count; c++) {
            to->values[c] = b->columns[c][i];
            if (info->columns[c].type == TM_STR && texts < 3)
                snprintf(to->text[texts++], sizeof to->text[0], "%s",
                         tm_reader_string(r, b->columns[c][i]));
        }
    }
}

static bool on_event(void *context, const co_etl_event *e)
{
    co_etl_people_event(context, e);
    return true;
}

// Ends the recording and fills g_rows. `damages`: how many the import is to tell of.
static void import_recording(etl_maker *maker, bool command_lines, uint64_t damages)
{
    co_etl *e = NULL;
    co_etl_people *people = NULL;
    tm_reader *reader = NULL;
    tm_block block;
    g_row_count = 0;
    etl_end(maker);
    TEST_ASSERT_EQUAL(CM_OK, co_etl_open_memory(maker->file.data, maker->file.len, &e));
    TEST_ASSERT_EQUAL(CM_OK, co_etl_people_create(command_lines, &people));
    co_etl_visitor v = {.context = people, .event = on_event};
    TEST_ASSERT_EQUAL(CM_OK, co_etl_read(e, CO_ETL_BY_FILE, &v));
    co_etl_import_options options = {.output = PATH, .damages = damages};
    TEST_ASSERT_EQUAL(CM_OK, co_etl_import(e, people, &options, &g_stats));
    co_etl_people_destroy(people);
    co_etl_close(e);
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_open(PATH, &reader));
    while (tm_reader_next(reader, &block) == CM_OK)
        take_block(reader, &block);
    TEST_ASSERT_NULL(tm_reader_damage(reader));
    tm_reader_close(reader);
}

// The n-th row of a kind, NULL if there are fewer.
static const row *row_of(tm_kind kind, size_t n)
{
    for (size_t i = 0; i < g_row_count; i++)
        if (g_rows[i].kind == kind && n-- == 0)
            return &g_rows[i];
    return NULL;
}

static inline size_t rows_of(tm_kind kind)
{
    size_t n = 0;
    while (row_of(kind, n))
        n++;
    return n;
}

static const row *need(tm_kind kind, size_t n)
{
    const row *r = row_of(kind, n);
    TEST_ASSERT_NOT_NULL_MESSAGE(r, tm_kind_get(kind)->name);
    return r;
}

#define VALUE(kind, n, column) need(TM_KIND_##kind, n)->values[TM_##kind##_##column]
