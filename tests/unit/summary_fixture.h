// SPDX-License-Identifier: MIT
// What tests of summaries share: a timeline that a test fills with rows, made anew for each test.
// Include once per test, with PATH defined.
#pragma once

#include "../timeline_rows.h"
#include "analysis/summary.h"
#include "common/os.h"

#include <string.h>
#include <unity.h>

static tm_writer *g_writer;
static tm_reader *g_reader;
static an_summary *g_summary;

void setUp(void)
{
    tm_header header = {"0.1.0", 1767323045000000000u, "Windows", "CPU", 2};
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_create(PATH, &header, &g_writer));
}

void tearDown(void)
{
    an_summary_destroy(g_summary);
    tm_reader_close(g_reader);
    g_summary = NULL;
    g_reader = NULL;
    cm_file_remove(PATH);
}
