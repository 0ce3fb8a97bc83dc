// SPDX-License-Identifier: MIT
// Which counters this machine has, found out by asking each source a few times about our own
// process, the way a capture does (`ortscope doctor`).
#pragma once

#include "collector/counters.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CO_PROBE_SOURCES  4u
#define CO_PROBE_ITEMS    96u
#define CO_PROBE_SUBJECTS 4u

// A counter of a source, all of its instances together.
typedef struct co_probe_item {
    const char *source, *name;             // of static storage
    int about;                             // timeline/kinds.h: counter.about
    unsigned instances, known;             // how many there are, how many have a value
    char subjects[CO_PROBE_SUBJECTS][128]; // of those that have one
    unsigned subject_count;
} co_probe_item;

typedef struct co_probe_source {
    const char *name;
    bool opened;      // there is something to ask
    bool answered;    // in time
    char remark[320]; // the gravest of what it had to say, "" if nothing
    int remark_level; // as in log rows: 3 warning, 4 information
} co_probe_source;

typedef struct co_probe {
    co_probe_source sources[CO_PROBE_SOURCES];
    size_t source_count;
    co_probe_item items[CO_PROBE_ITEMS];
    size_t item_count;
} co_probe;

// Takes half a second or so, ten where a source does not come back (Windows).
void co_probe_run(co_probe *out);

// NULL if there is none.
const co_probe_source *co_probe_find_source(const co_probe *p, const char *source);
const co_probe_item *co_probe_find(const co_probe *p, const char *source, const char *name,
                                   int about);
