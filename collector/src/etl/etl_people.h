// SPDX-License-Identifier: MIT
// Who is who in a recording: which process a thread belongs to at which time, and which processes
// have ONNX Runtime in them. A switch between threads names numbers only, and the events that
// explain them may come at the very end: so they are gathered first, front to back, and asked when
// the recording is read by time.
#pragma once

#include "collector/etl.h"
#include "collector/etl_import.h"

typedef struct etl_life {
    uint32_t id;    // pid or tid
    uint32_t owner; // the parent's pid, or the thread's pid
    int64_t begin, end;
    uint32_t name;         // in the texts, 0: none
    uint32_t command_line; // in the texts, 0: none or nobody asked for it
    uint32_t number;       // of a process in the timeline, from 1; live: 0 until a row needs it
    uint32_t module;       // of a followed process: its one module in the timeline
    int32_t exit_code;     // of a process that ended
    bool began, ended;     // false: it was there before, or still is
    bool followed;         // it has ONNX Runtime
} etl_life;

// Once all events are there; before any question.
cm_status co_etl_people_settle(co_etl_people *p);

// In ascending order of id, then of time.
const etl_life *co_etl_people_processes(const co_etl_people *p, size_t *count);

// The process with this pid at this time, or of a thread; NULL if nobody told of it.
const etl_life *co_etl_people_process(const co_etl_people *p, uint32_t pid, int64_t time);
const etl_life *co_etl_people_owner(const co_etl_people *p, uint32_t tid, int64_t time);

const char *co_etl_people_name(const co_etl_people *p, const etl_life *life);
const char *co_etl_people_command_line(const co_etl_people *p, const etl_life *life);

// Of a followed process: the version of ORT that it told, and where its library is; "" unknown.
const char *co_etl_people_version(const co_etl_people *p, uint32_t pid);
const char *co_etl_people_library(const co_etl_people *p, uint32_t pid);

// Whether this is a library that has ONNX Runtime in it.
bool co_etl_is_ort_library(const char *path);

// ortscope's own hook told of this process: what it says goes before what ORT says itself.
bool co_etl_people_hooked(const co_etl_people *p, uint32_t pid);
bool co_etl_people_tells_ort(const co_etl_people *p, uint32_t pid); // ORT's own events, too

// One moment by the processor's ticks and by the recording's clock.
typedef struct etl_moment {
    uint64_t ticks;
    int64_t time;    // when the event was written
    int64_t counter; // the performance counter at `ticks`, 0: not told
} etl_moment;

// Of the hook's events: the first and the last Clock (where there is none, the first run and the
// latest event), and the event with the highest ticks, whose time is a little late. False if there
// is none of the hook's events.
bool co_etl_people_clock(const co_etl_people *p, etl_moment *first, etl_moment *last,
                         etl_moment *latest);
void co_etl_moment_of(const co_etl_event *e, etl_moment *out); // of a Clock event

// Facts that found no room.
uint64_t co_etl_people_missing(const co_etl_people *p);
