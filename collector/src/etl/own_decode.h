// SPDX-License-Identifier: MIT
// Events of our own provider (Ortscope) as event tracing hands them out, from a file or live, back
// to the events of the schema that the hook emitted. Each carries the description of its fields, so
// that other versions' events are understood like those of a ring (tracelogging/codec.h).
#pragma once

#include "collector/etl.h"
#include "common/map.h"
#include "tracelogging/codec.h"

typedef struct co_own_event {
    tl_event event;
    uint32_t pid;
    uint32_t thread; // whose event it is
    uint64_t ticks;
    const tl_field_value *values; // by the schema's fields, see tl_decode
} co_own_event;

typedef void co_own_fn(void *context, const co_own_event *event);

typedef struct co_own co_own;

co_own *co_own_create(void); // NULL: no memory
void co_own_destroy(co_own *o);

bool co_own_is(const co_etl_event *e);           // of the hook's provider
bool co_own_is_collector(const co_etl_event *e); // of the collector's

// Hands on the event, or those of a batch. False if it makes no sense (counted).
bool co_own_decode(co_own *o, const co_etl_event *e, co_own_fn *fn, void *context);

// By their sequence numbers: events (batches count as one) that were written and did not come, as
// far as later ones show it.
uint64_t co_own_lost(const co_own *o, uint32_t pid); // of one process
uint64_t co_own_undecodable(const co_own *o);
