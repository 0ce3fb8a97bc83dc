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
    co_stats stats;
};

// rows.c: one event becomes rows.
void co_rows_from_event(co_capture *c, const target_state *t, const tl_record *record,
                        tl_event event, const tl_field_value *values);

int64_t co_intern(co_capture *c, const char *text, size_t len);
