// SPDX-License-Identifier: MIT
// Counters of a timeline: what each was about and what became of it, in one pass and with memory
// that does not depend on the number of samples.
//
// A value holds until the counter's next row. Means of levels are weighted by the time that a value
// held; time without a known value does not count.
#pragma once

#include "common/map.h"
#include "timeline/timeline.h"

#include <stdbool.h>

#define AN_MAX_COUNTERS 65536
#define AN_MAX_SOURCES  16

// timeline/kinds.h: counter.about
enum { AN_ABOUT_MACHINE, AN_ABOUT_PROCESS, AN_ABOUT_THREAD, AN_ABOUT_CORE, AN_ABOUT_DEVICE };

typedef struct an_counter {
    int64_t id, per_unit, about, process, number;
    bool total;
    char *source, *name, *unit, *subject; // never NULL
    bool seen; // there was a known value; else what follows means nothing
    int64_t first_ns, last_ns;
    int64_t first, last, min, max; // raw: divide by per_unit
    uint64_t bits;                 // of all values together
    uint64_t samples;              // that were known
    double sum;                    // of these, raw
    bool known;                    // now
    double area, known_ns;         // of levels: value by time, and the time
} an_counter;

typedef struct an_sampling {
    char *source;
    int64_t asked_us;  // between two samples
    uint64_t slowed;   // how often
    double rounds, ns; // how often it was asked in how much time, by the pace of each moment
    int64_t interval_us, since_ns; // of its last row; 0: it has ended
} an_sampling;

typedef struct an_counters {
    an_counter *items;
    size_t count, capacity;
    cm_map by_id;
    an_sampling sources[AN_MAX_SOURCES];
    size_t source_count;
} an_counters;

void an_counters_init(an_counters *c);
void an_counters_deinit(an_counters *c);
cm_status an_counters_add(an_counters *c, const tm_reader *reader, const tm_block *block);
// `end_ns`: until when the last values held.
void an_counters_finish(an_counters *c, int64_t end_ns);

// The first one with a known value, of any source; NULL if there is none.
const an_counter *an_counters_find(const an_counters *c, const char *name, int64_t about,
                                   int64_t process);

// How often a source was asked in the mean, of what was wished for: 1 is as often. NAN: not known.
double an_sampling_pace(const an_sampling *s);

// A raw value of the counter in its unit; NAN if per_unit makes no sense.
double an_counter_value(const an_counter *c, int64_t raw);
// The mean of a level; NAN if nothing was known for any time.
double an_counter_mean(const an_counter *c);
