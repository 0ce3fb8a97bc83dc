// SPDX-License-Identifier: MIT
// The counters of one source and the last value of each: a sample becomes a row only where it
// differs from the one before, and a counter that is not asked for in a round (a thread that has
// ended, an instance that has gone) becomes "not known" once.
#pragma once

#include "common/map.h"
#include "readings.h"

#include <stdatomic.h>

#define CO_SERIES_MAX 16384u // of one source: what has gone keeps its place

typedef struct co_series_item {
    uint32_t id;
    uint32_t round; // in which it was put last
    bool known, written;
    int64_t value;
} co_series_item;

typedef struct co_series {
    atomic_uint *last_id; // shared by all sources: numbers are unique in the file
    co_readings *out;
    cm_map by_key;
    co_series_item *items;
    size_t count, capacity;
    uint32_t round;
    uint64_t refused; // counters beyond CO_SERIES_MAX or memory
} co_series;

void co_series_init(co_series *s, atomic_uint *last_id, co_readings *out);
void co_series_deinit(co_series *s);

// What tells counters of one source apart, as one number: name, unit, process, number, subject.
int64_t co_series_key(const co_counter *what);

// One value of the counter that source, name, process, number and subject tell apart.
void co_series_put(co_series *s, const co_counter *what, uint64_t ticks, bool known, int64_t value);

// After the last one of a round.
void co_series_end_round(co_series *s, uint64_t ticks);
