// SPDX-License-Identifier: MIT
// The producer half of the ring channel. Freestanding: it runs inside the target on any of its
// threads, so it takes no lock, waits for nothing, allocates nothing and calls nothing of the C
// library. It never writes outside its ring, whatever stands in `tail`.
#include "channel_layout.h"

#include "tracelogging/channel_inline.h"

// A thread without a ring looks for a free one again after this many dropped records.
#define RETRY_CLAIM_EVERY 64u

static void take_slot(tl_producer *p, tl_ring_slot *slot, uint8_t *data, uint32_t ring_bytes)
{
    p->slot = slot;
    p->data = data;
    p->ring_bytes = ring_bytes;
    p->head = atomic_load_explicit(&slot->head, memory_order_relaxed);
    p->head &= ~(uint64_t)(TL_RECORD_ALIGN - 1);
    // Says "full", so that the first record looks at the tail with its doubts.
    p->tail_seen = p->head - ring_bytes;
}

static void without_slot(tl_producer *p)
{
    p->slot = NULL;
    p->data = NULL;
    p->ring_bytes = 0;
    p->head = 0;
    p->tail_seen = 0;
}

bool tl_producer_claim(tl_producer *p, void *section, uint32_t thread)
{
    tl_layout layout;
    p->section = section;
    p->thread = thread;
    p->misses = 0;
    without_slot(p);
    if (thread == 0 || !tl_layout_read(p->section, &layout))
        return false;

    uint32_t ring_count = p->section->ring_count;
    uint32_t ring_bytes = p->section->ring_bytes;
    tl_ring_slot *slots = (void *)((uint8_t *)section + layout.directory_offset);
    uint8_t *rings = (uint8_t *)section + layout.rings_offset;
    // From the first on: the fewer rings are ever touched, the less memory is.
    for (uint32_t i = 0; i < ring_count; i++) {
        uint32_t nobody = 0;
        if (atomic_load_explicit(&slots[i].owner, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong_explicit(&slots[i].owner, &nobody, thread,
                                                    memory_order_acquire, memory_order_relaxed)) {
            TL_STORED();
            take_slot(p, &slots[i], rings + (size_t)i * ring_bytes, ring_bytes);
            return true;
        }
    }
    return false;
}

void tl_producer_release(tl_producer *p)
{
    if (p->slot != NULL) {
        // Release: the next owner sees our head and our count of drops.
        atomic_store_explicit(&p->slot->owner, 0, memory_order_release);
        TL_STORED();
    }
    without_slot(p);
    p->thread = 0; // no claim is tried for a thread that has ended
}

static void *drop(tl_producer *p)
{
    if (p->slot != NULL) { // one writer: no need for a locked addition
        uint64_t dropped = atomic_load_explicit(&p->slot->dropped, memory_order_relaxed);
        atomic_store_explicit(&p->slot->dropped, dropped + 1, memory_order_relaxed);
    } else {
        atomic_fetch_add_explicit(&p->section->dropped, 1, memory_order_relaxed);
    }
    TL_STORED();
    return NULL;
}

// The record does not fit as far as we know, or not before the end of the ring, or there is no
// ring.
void *tl_producer_begin_slow(tl_producer *p, uint32_t payload_max)
{
    if (p->section == NULL)
        return NULL; // never claimed: there is nowhere to count
    if (p->slot == NULL) {
        uint32_t misses = p->misses + 1;
        if (p->thread == 0 || misses % RETRY_CLAIM_EVERY != 0 ||
            !tl_producer_claim(p, p->section, p->thread)) {
            p->misses = misses;
            return drop(p);
        }
    }
    if (payload_max > TL_RECORD_MAX - sizeof(tl_record))
        return drop(p);

    uint32_t need = tl_record_padded((uint32_t)sizeof(tl_record) + payload_max);
    uint32_t index = (uint32_t)p->head & (p->ring_bytes - 1);
    uint32_t to_end = p->ring_bytes - index;
    uint32_t padding = need > to_end ? to_end : 0;
    // Acquire: the consumer has read the bytes that we are about to overwrite.
    uint64_t tail = atomic_load_explicit(&p->slot->tail, memory_order_acquire);
    uint64_t used = p->head - tail;
    if (used > p->ring_bytes) {
        // Something wrote over the slot. Say again where we are: the consumer goes on from there.
        atomic_store_explicit(&p->slot->head, p->head, memory_order_release);
        TL_STORED();
        return drop(p);
    }
    if (need + padding > p->ring_bytes - used)
        return drop(p);
    p->tail_seen = tail;
    if (padding != 0) {
        uint64_t *word = (void *)(p->data + index); // the first half of a tl_record with event 0
        *word = (uint64_t)padding | (uint64_t)p->thread << 32;
        TL_STORED();
        p->head += padding; // becomes visible together with the record
        index = 0;
    }
    return p->data + index + sizeof(tl_record);
}

void *tl_producer_begin(tl_producer *p, uint32_t payload_max)
{
    if (payload_max > TL_RECORD_MAX - sizeof(tl_record))
        return tl_producer_begin_slow(p, payload_max);
    return tl_producer_begin_inline(p, payload_max);
}

void tl_producer_end(tl_producer *p, uint16_t event, uint64_t ticks, uint32_t payload_bytes)
{
    tl_producer_end_inline(p, event, ticks, payload_bytes);
}
