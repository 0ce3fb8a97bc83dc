// SPDX-License-Identifier: MIT
// What a session does with memory, from its rows of kinds memory (states of its arenas) and
// run_memory (what each run allocated).
//
// Definitions, the same in text and JSON:
// - held: what the session's arenas have from the system; in use: the part of it that tensors have,
//   weights included; both as they were last seen, of all its arenas together. peak: the most that
//   was in use at once, as the arenas themselves tell it, since they began.
// - fragmentation: held but not in use, at the end and when the peak was reached.
// - shared: an arena that was the session's came to be used by others, too. What it told until then
//   is left out; so are growth and whatever else would tell of a part of the session's time only.
// - growth: how the bytes in use after a run rise from run to run, over the later half of the runs
//   (the earlier half counts as warming up): Theil-Sen slope with its 95 % interval. Where the
//   arenas tell nothing it is that of the bytes which were counted run by run.
//   leak: the whole interval is above 0 and growth goes on at the earlier half's pace, more or
//   less. Results that the program keeps look the same.
//   warming: use still rises, but less than half as fast as before, or it does not rise and the
//   arenas were still extended in the later half.
//   steady: neither. too few: less than 20 runs were seen.
// - allocated by a run: of all runs, those without a row with 0. Where runs overlapped and a part
//   has no run (rows of run 0), only the mean is known: all that was allocated by all runs. Where
//   events were lost, runs without a row are left out: theirs may be lost.
#pragma once

#include "common/histogram.h"
#include "timeline/timeline.h"

#include <stdbool.h>

typedef enum an_verdict { AN_TOO_FEW_RUNS, AN_STEADY, AN_WARMING, AN_LEAK } an_verdict;

typedef struct an_growth {
    an_verdict verdict;
    double bytes_per_run, low, high; // NAN: not known
    uint64_t runs;                   // that were looked at: those of the later half
} an_growth;

typedef enum an_memory_source {
    AN_MEMORY_COUNTED, // only what the hook counted: nothing about arenas
    AN_MEMORY_STATS,   // AllocatorGetStats
    AN_MEMORY_ARENA    // the arena itself
} an_memory_source;

typedef struct an_memory an_memory;

// Everything about one session. Numbers are NAN where they are not known.
typedef struct an_memory_facts {
    an_memory_source source;
    size_t arenas; // of its own
    bool shared;   // others use one that was its own
    double held_bytes, in_use_bytes, peak_bytes;
    double unused_bytes, unused_share, unused_at_peak_bytes, unused_at_peak_share;
    double grown_bytes, extensions, shrinks; // of the arenas, since the capture saw them first
    bool overlapped;                         // runs overlapped: only means are known
    bool lost;                               // events of the process are missing
    uint64_t counted_runs, untold_runs;      // with a row; left out for want of one
    const cm_histogram *allocated;   // bytes of each run; empty: not counted, or they overlapped
    const cm_histogram *allocations; // number of each run, the same
    double allocated_per_run;        // mean
    double allocations_per_run;      // mean, also from what the arenas tell
    double run_peak_bytes;           // most that one run had at once
    an_growth growth;
} an_memory_facts;

cm_status an_memory_create(an_memory **out);
void an_memory_destroy(an_memory *m); // NULL is fine

// One row of a memory or run_memory block.
cm_status an_memory_add_state(an_memory *m, const tm_block *block, size_t row);
cm_status an_memory_add_run(an_memory *m, const tm_block *block, size_t row);

// Some of what was allocated has no run, so far.
bool an_memory_overlapped(const an_memory *m);

// After the last row. `runs`: of the session. `lost`: events of its process are missing.
cm_status an_memory_finish(an_memory *m, uint64_t runs, bool lost);

// After that: the allocators of its arenas, and leaving out one (by its place) that several
// sessions use; the last arena takes its place.
size_t an_memory_arena_count(const an_memory *m);
int64_t an_memory_arena(const an_memory *m, size_t place);
void an_memory_leave(an_memory *m, size_t place);

void an_memory_get(const an_memory *m, an_memory_facts *out);

// Bytes in use after the runs, in their order, neighbours put together. Returns how many there are.
#define AN_MEMORY_COURSE 256
size_t an_memory_course(const an_memory *m, double out[AN_MEMORY_COURSE]);

const char *an_verdict_name(an_verdict verdict);            // "too_few_runs", "steady", ...
const char *an_memory_source_name(an_memory_source source); // "AllocatorGetStats", ...
