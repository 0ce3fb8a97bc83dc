// SPDX-License-Identifier: MIT
// The producer's hot path, inline: with room in the ring a record costs a compare or two, three
// stores and no call. Everything else (a full ring, the end of the ring, no ring) goes to
// tl_producer_begin_slow. For the hook's own files; others call the functions in channel.h.
#pragma once

#include "tracelogging/channel.h"

// Called after every store into the section; the test of a producer that dies between two stores
// takes a snapshot here.
#ifndef TL_STORED
#define TL_STORED() ((void)0)
#endif

static inline uint32_t tl_record_padded(uint32_t bytes)
{
    return (bytes + (TL_RECORD_ALIGN - 1)) & ~(TL_RECORD_ALIGN - 1);
}

void *tl_producer_begin_slow(tl_producer *p, uint32_t payload_max);

// As tl_producer_begin, but `payload_max` is at most TL_RECORD_MAX - 16: a constant, usually.
static inline void *tl_producer_begin_inline(tl_producer *p, uint32_t payload_max)
{
    uint32_t need = tl_record_padded((uint32_t)sizeof(tl_record) + payload_max);
    uint32_t index = (uint32_t)p->head & (p->ring_bytes - 1);
    // Without a ring, ring_bytes and head are 0 and the first comparison fails.
    if (__builtin_expect(p->head + need - p->tail_seen <= p->ring_bytes, 1) &&
        __builtin_expect(need <= p->ring_bytes - index, 1))
        return p->data + index + sizeof(tl_record);
    return tl_producer_begin_slow(p, payload_max);
}

// As tl_producer_end.
static inline void tl_producer_end_inline(tl_producer *p, uint16_t event, uint64_t ticks,
                                          uint32_t payload_bytes)
{
    uint32_t size = (uint32_t)sizeof(tl_record) + payload_bytes;
    void *at = p->data + ((uint32_t)p->head & (p->ring_bytes - 1));
    uint64_t *words = at; // a tl_record, in two stores
    words[0] = (uint64_t)size | (uint64_t)event << 16 | (uint64_t)p->thread << 32;
    TL_STORED();
    words[1] = ticks;
    TL_STORED();
    p->head += tl_record_padded(size);
    atomic_store_explicit(&p->slot->head, p->head, memory_order_release);
    TL_STORED();
}
