// SPDX-License-Identifier: MIT
#pragma once

#include "collector/capture.h"
#include "ids.h"
#include "pending.h"
#include "tracelogging/channel.h"
#include "tracelogging/codec.h"

typedef struct target_state {
    uint32_t id; // its process row
    tl_consumer *consumer;
    tl_decoder *decoder;
    tl_losses told; // losses that are in the timeline already
    uint64_t undecodable, undecodable_told;
} target_state;

struct co_capture {
    tm_writer *writer;
    co_clock clock;
    co_pending pending;
    co_ids modules, sessions, shapes, kernels;
    target_state *targets;
    size_t target_count, target_capacity;
    uint32_t last_target_id;
    uint64_t last_clock_row; // ticks
    uint64_t unnumbered;     // events about something that got no number (ids.h)
    uint64_t textless;       // events with a text that the file had no room for
    uint64_t no_room_told;
    co_stats stats;
};

// rows.c: one event becomes rows. False if what it is about got no number.
bool co_rows_from_event(co_capture *c, const target_state *t, const tl_record *record,
                        tl_event event, const tl_field_value *values);

// 0 also where the file has no room for it; then `textless` counts up.
int64_t co_intern(co_capture *c, const char *text, size_t len);
