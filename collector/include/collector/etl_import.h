// SPDX-License-Identifier: MIT
// A recording of Windows' event tracing into a timeline, in two readings: the first (front to back,
// by co_etl_people) finds out who is who, the second (by time) writes the rows.
//
// Followed are the processes that have ONNX Runtime in them: by its own events or by its library.
// Only of those the timeline gets images; of all others the name of the program. Their command
// lines are written only if somebody asked for them; those of others and the names of files that
// anybody used are never written.
#pragma once

#include "collector/etl.h"

typedef struct co_etl_people co_etl_people;

cm_status co_etl_people_create(bool command_lines, co_etl_people **out);
void co_etl_people_destroy(co_etl_people *p);
void co_etl_people_event(co_etl_people *p, const co_etl_event *event);

typedef struct co_etl_import_options {
    const char *output;
    uint64_t damages; // from the first reading, for the timeline
    void *context;
    bool (*progress)(void *context, uint64_t bytes, uint64_t total); // NULL: none
} co_etl_import_options;

typedef struct co_etl_import_stats {
    uint64_t processes; // that are followed
    uint64_t sessions, runs, failed_runs, switches, samples;
    uint64_t unfinished_runs; // began, but their end is not in the recording
    uint64_t unread;          // events of ours that make no sense
    uint64_t no_room;         // rows, numbers or texts of ours that found none
    uint64_t rows;
} co_etl_import_stats;

// The second reading; `people` has seen every event. CM_UNSUPPORTED if the recording does not say
// how fast its clock was.
cm_status co_etl_import(co_etl *recording, co_etl_people *people,
                        const co_etl_import_options *options, co_etl_import_stats *out);
