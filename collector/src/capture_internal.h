// SPDX-License-Identifier: MIT
#pragma once

#include "collector/capture.h"
#include "common/buf.h"
#include "common/map.h"
#include "ids.h"
#include "marks.h"
#include "op_keep.h"
#include "pending.h"
#include "readings.h"
#include "tracelogging/channel.h"
#include "tracelogging/codec.h"

typedef struct target_state {
    uint32_t id; // its process row
    uint32_t pid;
    tl_consumer *consumer; // NULL: nothing of ours is in the process
    tl_decoder *decoder;
    tl_losses told; // losses that are in the timeline already
    uint64_t undecodable, undecodable_told;
} target_state;

// A process that is or was followed: events that come late still find it.
typedef struct co_watched {
    uint32_t pid, id;
    bool hooked;
    bool tells_qnn;   // the hook told of QNN's measurements
    uint64_t end_qpc; // UINT64_MAX: still there
} co_watched;

struct co_capture {
    tm_writer *writer;
    cm_buf watched; // co_watched, in the order of their coming
    co_clock clock;
    co_pending pending;
    co_op_keep op_keep;
    bool leaving_out_told; // that it keeps not all operators of slow runs
    co_ids modules, sessions, shapes, kernels, allocators;
    target_state *targets;
    size_t target_count, target_capacity;
    uint32_t last_target_id;
    unsigned flushes;
    uint64_t last_clock_row; // ticks
    uint64_t unnumbered;     // events about something that got no number (ids.h)
    uint64_t textless;       // events with a text that the file had no room for
    uint64_t no_room_told;
    co_readings qnn;
    cm_map qnn_lanes; // what is measured to its number
    co_marks marks;
    co_stats stats;
};

// rows.c: one event becomes rows. False if what it is about got no number.
bool co_rows_from_event(co_capture *c, const target_state *t, const tl_record *record,
                        tl_event event, const tl_field_value *values);

// qnn.c: a measurement of the QNN provider, beside its row as an event of ORT's.
void co_qnn_event(co_capture *c, uint32_t process, uint64_t ticks, const char *fields, size_t len);

// capture_watched.c: the process with this PID at this time (raw QPC), if it is or was followed, or
// of this number; NULL if it is not.
co_watched *co_watched_find(const co_capture *c, uint32_t pid, uint64_t qpc);
co_watched *co_watched_of(const co_capture *c, uint32_t id);

// Rows of losses that are not a target's own: lost.cause.
bool co_tell_loss(co_capture *c, uint32_t process, int cause, uint64_t events);

// 0 also where the file has no room for it; then `textless` counts up.
int64_t co_intern(co_capture *c, const char *text, size_t len);
