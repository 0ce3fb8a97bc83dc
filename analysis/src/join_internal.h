// SPDX-License-Identifier: MIT
// What the files of the join share: join.c leads, join_sched.c follows threads, join_counters.c
// samples, join_rows.c faults, disks and gaps.
#pragma once

#include "analysis/join.h"
#include "common/map.h"
#include "people.h"

#define AN_JOIN_MAX_NESTED 16 // runs of one thread inside each other
#define AN_JOIN_MAX_PARTS  (4 * AN_JOIN_MAX_RUNS)

// A run, or a part of it on another thread.
typedef struct an_join_part {
    size_t run;
    bool own; // the run's own thread
    int64_t thread, begin_ns, end_ns;
} an_join_part;

typedef struct an_join_state {
    double known_ns; // of the run's time
    an_slices cpus;  // where it ran
    int64_t process; // 0: not known
    int64_t cpu;     // where it ran longest, -1: not known
} an_join_state;

struct an_join {
    an_join_run *runs;
    an_joined *joined;
    an_join_state *states;
    size_t count, capacity;
    an_join_part *parts; // by thread and begin, once prepared
    size_t part_count, part_capacity;
    cm_map part_of; // run and thread -> place, while parts are gathered
    cm_map run_of;  // session and run -> place
    an_people people;
    cm_map process_of_module, module_of_session; // ids of the file
    bool has_ready, without_gaps;
    int64_t first_ns, last_ns; // of the rows of the system's events; first > last: none
    void *piece_context;
    void (*piece)(void *context, size_t run, const an_piece *piece);
};

int64_t an_join_end(const an_join_run *run); // of hostile numbers, too

// Within the time of which the system's events tell.
bool an_join_is_covered(const an_join *j, const an_join_run *run);

cm_status an_join_sched(an_join *j, const an_source *source);
cm_status an_join_rows(an_join *j, const an_source *source); // faults and disks
cm_status an_join_gaps(an_join *j, const an_source *source);
cm_status an_join_counters(an_join *j, const an_source *source); // after all others

// The parts of `thread`: the place of the first one that begins after `time`.
size_t an_join_parts_after(const an_join *j, int64_t thread, int64_t time);
