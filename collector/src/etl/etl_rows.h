// SPDX-License-Identifier: MIT
// Events on their way to rows: etl_rows.c writes what the kernel tells, etl_ort.c what ONNX Runtime
// tells, etl_own.c what our own hook told. etl_import.c leads it for recordings, etw/etw_live.c for
// a session in real time.
#pragma once

#include "collector/etl_import.h"
#include "etl_facts.h"
#include "etl_people.h"
#include "ids.h"

#include "common/buf.h"
#include "common/map.h"
#include "common/out.h"
#include "timeline/timeline.h"

#define ETL_CPUS_MAX 2048u

// Who is who. `number` may write a row about the process first.
typedef struct etl_who {
    void *context;
    const etl_life *(*process)(void *context, uint32_t pid, int64_t time);
    const etl_life *(*owner)(void *context, uint32_t tid, int64_t time);
    uint32_t (*number)(void *context, const etl_life *life);
} etl_who;

typedef struct etl_import {
    const co_etl_header *header;
    const co_etl_people *people; // of a recording
    etl_who who;
    const co_etl_import_options *options;
    tm_writer *writer;
    bool only_followed; // of all others: only the switches from and to those that are followed
    // A measurement of the QNN provider, as key=value, one a line; NULL: nobody wants it.
    void (*qnn)(void *context, const etl_life *process, int64_t time, const char *fields,
                size_t len);
    void *qnn_context;
    cm_map qnn_lanes; // of a recording: what is measured to its number
    co_etl_import_stats stats;
    int64_t last_ns;
    int64_t event_time;             // of the event at hand
    uint32_t running[ETL_CPUS_MAX]; // the thread on each processor, CO_ETL_UNKNOWN before the first
                                    // switch
    co_ids *sessions;               // numbers of sessions, ORT's and the hook's
    cm_buf session_states;          // by the session's number
    cm_buf ort_threads;             // that have run sessions
    cm_map ort_thread_of;           // pid and tid -> place
    cm_map only_session_of;         // process -> its session, as long as there is one
    struct etl_own *own;            // of a recording
    uint32_t losses; // times that the stream told of lost events: what was open then has no end
    cm_out text;
} etl_import;

void co_etl_import_init(etl_import *m);
void co_etl_import_deinit(etl_import *m);

int64_t co_etl_intern(etl_import *m, etl_text text);
void co_etl_row(etl_import *m, tm_kind kind, const int64_t *values);

void co_etl_write_fact(etl_import *m, const co_etl_event *event, const etl_fact *fact);
void co_etl_write_ort(etl_import *m, const co_etl_event *event);
bool co_etl_is_ort(const co_etl_event *event);
void co_etl_ort_end(etl_import *m);

// etl_qnn.c: the way for recordings; `context` is the etl_import.
void co_etl_write_qnn(void *context, const etl_life *process, int64_t time, const char *fields,
                      size_t len);

cm_status co_etl_own_begin(etl_import *m); // makes `own`, `sessions`
void co_etl_write_own(etl_import *m, const co_etl_event *event);
void co_etl_write_mark(etl_import *m, const co_etl_event *event); // of the collector's provider
void co_etl_own_end(etl_import *m);
uint64_t co_etl_own_lost(const etl_import *m, uint32_t pid);
void co_etl_own_free(etl_import *m);

// From one time to a later one. A recording may claim a clock by which they lie in the wrong order
// or further apart than a number says: 0 then.
static inline int64_t co_etl_between_ns(int64_t begin, int64_t end)
{
    int64_t duration = (int64_t)((uint64_t)end - (uint64_t)begin);
    return begin <= end && duration > 0 ? duration : 0;
}
