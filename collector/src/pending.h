// SPDX-License-Identifier: MIT
// Rows on their way into the file, with times still in ticks: they become nanoseconds when the next
// anchor of the clock is known.
#pragma once

#include "collector/clock.h"
#include "timeline/timeline.h"

typedef struct co_rows {
    int64_t *values;
    size_t count, capacity; // in rows
} co_rows;

typedef struct co_pending {
    co_rows rows[TM_KIND_COUNT];
    uint64_t unstored; // rows that found no memory
} co_pending;

// False if there is no memory for another row.
bool co_rows_add(co_rows *rows, tm_kind kind, const int64_t *values);

// TIME columns hold ticks. In run, op and session rows the time is that of the END and becomes the
// beginning on the way out.
void co_pending_add(co_pending *p, tm_kind kind, const int64_t *values);

// The same for rows that are tried again later: false if there was no memory, which is not counted.
bool co_pending_try(co_pending *p, tm_kind kind, const int64_t *values);
void co_pending_write(co_pending *p, const co_clock *clock, tm_writer *writer);
// The same for one row that waits elsewhere.
void co_row_to_nanoseconds(tm_kind kind, int64_t *row, const co_clock *clock);
void co_pending_deinit(co_pending *p);
