// SPDX-License-Identifier: MIT
// Events on their way from the thread that Windows calls back to the capture's thread: one writes,
// one reads, neither waits. What finds no room is counted. Whoever writes only copies: while the
// callback runs, the session's buffers fill up.
#pragma once

#include "collector/etl.h"
#include "etw_api.h"

#include <stdatomic.h>

typedef struct etw_queue {
    uint8_t *bytes;
    size_t capacity;                 // a power of two
    _Alignas(64) atomic_size_t head; // written so far; the writer's
    atomic_ullong written, full;     // events; those that found no room
    bool skipped;                    // the writer's: one found no room since the last that did
    _Alignas(64) atomic_size_t tail; // read so far; the reader's
} etw_queue;

// False if there is no memory.
bool co_etw_queue_init(etw_queue *q, size_t capacity);
void co_etw_queue_deinit(etw_queue *q);

// The writer.
void co_etw_queue_put(etw_queue *q, const etw_record *record);

// Whether anything waits for the reader; anybody.
bool co_etw_queue_holds(etw_queue *q);

typedef struct etw_reader {
    void *context;
    void (*event)(void *context, const co_etl_event *event);
    void (*gap)(void *context); // events that found no room would have come here
    // Events later than `until` stay in the queue, unless they are later than `now`, too: such a
    // time is made up.
    int64_t until, now;
} etw_reader;

// The reader: what is there when it begins. What the events point to is valid during the call.
size_t co_etw_queue_take(etw_queue *q, const etw_reader *reader);
