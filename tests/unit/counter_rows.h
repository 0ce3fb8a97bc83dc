// SPDX-License-Identifier: MIT
// For tests of sources of counters: what they put into a batch, written to a file and read back.
#pragma once

#include "collector/capture.h"
#include "common/os.h"
#include "readings.h"
#include "timeline/timeline.h"

#include "unity.h"

#include <stdio.h>
#include <string.h>

#define ROWS_FILE "test_counter_rows.ortl"
#define ROWS_MAX  256
#define NOT_KNOWN INT64_MIN
#define NO_SUCH   (INT64_MIN + 1)

typedef struct row_counter {
    char name[32], subject[CO_SUBJECT_BYTES], unit[8];
    int64_t number, process, about, per_unit, total;
    int64_t last; // NOT_KNOWN
    unsigned samples;
} row_counter;

typedef struct counter_rows {
    row_counter of[ROWS_MAX]; // by counter id
    size_t counters;
    char remarks[1024]; // all of them, one a line
} counter_rows;

static inline void rows_take_counter(counter_rows *out, const tm_reader *r, const tm_block *b,
                                     size_t i)
{
    int64_t id = b->columns[TM_counter_counter][i];
    TEST_ASSERT_TRUE(id > 0 && id < ROWS_MAX);
    row_counter *c = &out->of[id];
    out->counters++;
    snprintf(c->name, sizeof c->name, "%s", tm_reader_string(r, b->columns[TM_counter_name][i]));
    snprintf(c->unit, sizeof c->unit, "%s", tm_reader_string(r, b->columns[TM_counter_unit][i]));
    snprintf(c->subject, sizeof c->subject, "%s",
             tm_reader_string(r, b->columns[TM_counter_subject][i]));
    c->number = b->columns[TM_counter_number][i];
    c->process = b->columns[TM_counter_process][i];
    c->about = b->columns[TM_counter_about][i];
    c->per_unit = b->columns[TM_counter_per_unit][i];
    c->total = b->columns[TM_counter_total][i];
}

static inline void rows_take_block(counter_rows *out, const tm_reader *r, const tm_block *b)
{
    for (size_t i = 0; i < b->row_count && b->kind == TM_KIND_counter; i++)
        rows_take_counter(out, r, b, i);
    for (size_t i = 0; i < b->row_count && b->kind == TM_KIND_sample; i++) {
        int64_t id = b->columns[TM_sample_counter][i];
        TEST_ASSERT_TRUE(id > 0 && id < ROWS_MAX);
        out->of[id].samples++;
        out->of[id].last =
            b->columns[TM_sample_known][i] ? b->columns[TM_sample_value][i] : NOT_KNOWN;
    }
    for (size_t i = 0; i < b->row_count && b->kind == TM_KIND_log; i++) {
        size_t len = strlen(out->remarks);
        snprintf(out->remarks + len, sizeof out->remarks - len, "%s\n",
                 tm_reader_string(r, b->columns[TM_log_message][i]));
    }
}

// Adds what is in `readings` to what is known already; empties `readings`.
static inline void rows_read(counter_rows *out, co_readings *readings)
{
    co_capture *capture;
    tm_reader *reader;
    tm_block block;
    TEST_ASSERT_EQUAL(CM_OK, co_capture_create(ROWS_FILE, co_anchor_now(), &capture));
    co_capture_readings(capture, readings);
    TEST_ASSERT_EQUAL(CM_OK, co_capture_close(capture));
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_open(ROWS_FILE, &reader));
    while (tm_reader_next(reader, &block) == CM_OK)
        rows_take_block(out, reader, &block);
    tm_reader_close(reader);
    cm_file_remove(ROWS_FILE);
}

static inline const row_counter *rows_find(const counter_rows *r, const char *name, int64_t number,
                                           int64_t process, const char *subject)
{
    for (size_t id = 1; id < ROWS_MAX; id++) {
        const row_counter *c = &r->of[id];
        if (strcmp(c->name, name) == 0 && c->number == number && c->process == process &&
            strcmp(c->subject, subject) == 0)
            return c;
    }
    return NULL;
}

// Its last value, NOT_KNOWN, or NO_SUCH.
static inline int64_t rows_last(const counter_rows *r, const char *name, int64_t number,
                                int64_t process, const char *subject)
{
    const row_counter *c = rows_find(r, name, number, process, subject);
    return c ? c->last : NO_SUCH;
}
