// SPDX-License-Identifier: MIT
// What tests of switches and joins share: a file that a test fills, and a way to read it again and
// again. Include once per test, with PATH defined. Times are in microseconds.
#pragma once

#include "../timeline_rows.h"
#include "analysis/source.h"
#include "common/os.h"

#include <string.h>
#include <unity.h>

#define US ((int64_t)1000)

static tm_writer *g_writer;

static cm_status open_again(void *context, tm_reader **out)
{
    (void)context;
    return tm_reader_open(PATH, out);
}

static const an_source g_source = {NULL, open_again};

static void begin_file(void)
{
    tm_header header = {"0.1.0", 1767323045000000000u, "Windows", "CPU", 2};
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_create(PATH, &header, &g_writer));
}

// Process 1 is app.exe with session 1; 2 chrome.exe; 3 Idle.
static void people(void)
{
    ROW(process, 1, 100, 0, 0, 3, TEXT("C:\\secret folder\\app.exe"), 0);
    ROW(module, 1, 1, 0, 0, 0, 0, 0, 0);
    ROW(session, 1, 1, 0, 0, 8, 0, TEXT("m.onnx"), 0, 0, 0, 0, 0, 0, 0, 7);
    ROW(bystander, 2, 50, 4, 0, TEXT("C:\\private\\chrome.exe"));
    ROW(bystander, 3, 0, 0, 0, TEXT("Idle"));
}

static int64_t owner(int64_t thread)
{
    return thread == 0 ? 3 : thread < 20 ? 1 : 2;
}

// state: 1 ready, 5 waits, 4 ends.
static inline void switched(int64_t us, int64_t cpu, int64_t new_thread, int64_t old_thread,
                            int64_t state, int64_t reason)
{
    ROW(sched, us * US, cpu, new_thread, owner(new_thread), old_thread, owner(old_thread), 8, 8,
        state, reason, 0, 0);
}

static inline void made_ready(int64_t us, int64_t thread)
{
    ROW(ready, us * US, 0, thread, owner(thread), -1, 0, 1, 0, 0);
}

static inline void ran(int64_t run, int64_t thread, int64_t begin_us, int64_t us)
{
    ROW(run, 1, run, thread, begin_us * US, us * US, 3, 0, 1, 0, 0);
}
