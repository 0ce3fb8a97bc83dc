// SPDX-License-Identifier: MIT
// What a source of counters has found out, on its way to the capture's thread: what its counters
// are, their values, how often it is asked, remarks. Sources fill it on threads of their own, each
// its own batch; whoever owns the capture turns batches into rows.
#pragma once

#include "collector/capture.h"
#include "common/buf.h"

#include <stdbool.h>
#include <stdint.h>

// timeline/kinds.h: counter.about, sampling.reason
typedef enum co_about {
    CO_ABOUT_MACHINE,
    CO_ABOUT_PROCESS,
    CO_ABOUT_THREAD,
    CO_ABOUT_CORE,
    CO_ABOUT_DEVICE
} co_about;

typedef enum co_pace_reason {
    CO_PACE_BEGIN,
    CO_PACE_SLOWER,
    CO_PACE_FASTER,
    CO_PACE_END,
    CO_PACE_WISHED // another rate was asked for
} co_pace_reason;

#define CO_SUBJECT_BYTES 128u
#define CO_REMARK_BYTES  320u

typedef struct co_counter {
    const char *source, *name, *unit; // of static storage
    int64_t per_unit;
    bool total;
    co_about about;
    uint32_t process; // of the timeline, 0: none
    int64_t number;   // -1: none
    char subject[CO_SUBJECT_BYTES];
} co_counter;

typedef struct co_readings {
    cm_buf counters, samples, paces, remarks; // arrays of what readings.c says
    uint64_t unstored;                        // what found no room
} co_readings;

void co_readings_counter(co_readings *r, uint32_t id, uint64_t ticks, const co_counter *what);
void co_readings_sample(co_readings *r, uint32_t id, uint64_t ticks, bool known, int64_t value);
void co_readings_pace(co_readings *r, uint64_t ticks, const char *source, uint64_t interval_ns,
                      co_pace_reason reason);
// level: as in log rows. The text is copied, and cut where it is longer than CO_REMARK_BYTES.
void co_readings_remark(co_readings *r, uint64_t ticks, int level, const char *text);

// Puts all of `from` behind what is in `to` and empties `from`.
void co_readings_move(co_readings *to, co_readings *from);

// Looks at what is there; functions may be NULL.
typedef struct co_readings_visitor {
    void *context;
    void (*counter)(void *context, uint32_t id, const co_counter *what);
    void (*sample)(void *context, uint32_t id, bool known);
    void (*remark)(void *context, int level, const char *text);
} co_readings_visitor;
void co_readings_visit(const co_readings *r, const co_readings_visitor *v);

// Rows of all of it; empties `r`.
void co_capture_readings(co_capture *c, co_readings *r);
void co_readings_deinit(co_readings *r);
