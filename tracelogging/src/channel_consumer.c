// SPDX-License-Identifier: MIT
// The reader of the ring channel. Everything in the section may be garbage, and may change while we
// look at it: so geometry and tails are our own, bytes are copied once before they are judged, and
// the work of a drain is bounded by the size of the rings. It never follows an offset, a size or a
// count that it has not compared with its own numbers, and allocates nothing after creation.
#include "channel_layout.h"

#include "common/status.h"
#include "tracelogging/schema.h"

#include <stdlib.h>
#include <string.h>

// A ring that made no sense this often is left alone for good. Its producer, if it is an honest
// one, then finds it full and counts what it drops.
#define RESETS_MAX 16u

typedef struct ring_reader {
    tl_ring_slot *slot;
    const uint8_t *data;
    uint64_t tail;
    uint64_t dropped; // the highest count seen
    uint32_t resets;
} ring_reader;

struct tl_consumer {
    tl_section_header *header;
    uint8_t *scratch; // one ring
    uint64_t no_ring;
    uint64_t damaged;
    uint32_t ring_count;
    uint32_t ring_bytes;
    ring_reader rings[];
};

tl_consumer *tl_consumer_create_any(void *section, uint32_t ring_count, uint32_t ring_bytes)
{
    tl_layout layout;
    if (section == NULL || !tl_layout_compute(ring_count, ring_bytes, &layout)) {
        cm_fail(CM_USAGE, "A channel of %u rings of %u bytes can't be read; use 1 to %u rings.",
                ring_count, ring_bytes, TL_RINGS_MAX);
        return NULL;
    }
    tl_consumer *c = calloc(1, sizeof *c + ring_count * sizeof *c->rings);
    uint8_t *scratch = malloc(ring_bytes);
    if (c == NULL || scratch == NULL) {
        free(c);
        free(scratch);
        cm_fail(CM_NO_MEMORY, "There is no memory for reading %u rings.", ring_count);
        return NULL;
    }
    c->header = section;
    c->scratch = scratch;
    c->ring_count = ring_count;
    c->ring_bytes = ring_bytes;
    tl_ring_slot *slots = (void *)((uint8_t *)section + layout.directory_offset);
    for (uint32_t i = 0; i < ring_count; i++) {
        ring_reader *r = &c->rings[i];
        r->slot = &slots[i];
        r->data = (uint8_t *)section + layout.rings_offset + (size_t)i * ring_bytes;
        r->tail = atomic_load_explicit(&r->slot->tail, memory_order_relaxed);
        r->tail &= ~(uint64_t)(TL_RECORD_ALIGN - 1);
    }
    return c;
}

tl_consumer *tl_consumer_create(void *section, uint32_t ring_count, uint32_t ring_bytes)
{
    if (tl_section_bytes(ring_count, ring_bytes) == 0) {
        cm_fail(CM_USAGE,
                "A channel of %u rings of %u bytes is not allowed; use 1 to %u rings of a power of "
                "two from %u to %u bytes.",
                ring_count, ring_bytes, TL_RINGS_MAX, TL_RING_BYTES_MIN, TL_RING_BYTES_MAX);
        return NULL;
    }
    return tl_consumer_create_any(section, ring_count, ring_bytes);
}

void tl_consumer_destroy(tl_consumer *c)
{
    if (c == NULL)
        return;
    free(c->scratch);
    free(c);
}

static void count_damage(tl_consumer *c, ring_reader *r)
{
    r->resets++;
    c->damaged++;
}

// Copies [tail, tail + bytes) of the ring to the beginning of the scratch.
static void copy_out(tl_consumer *c, const ring_reader *r, uint32_t bytes)
{
    uint32_t index = (uint32_t)r->tail & (c->ring_bytes - 1);
    uint32_t to_end = c->ring_bytes - index;
    uint32_t first = bytes < to_end ? bytes : to_end;
    memcpy(c->scratch, r->data + index, first);
    memcpy(c->scratch + first, r->data, bytes - first);
}

// Hands on the records in scratch[0, bytes), which begin at place `index` of their ring. Stops at
// the first that makes no sense: what follows it has no beginning any more.
static size_t hand_on(tl_consumer *c, ring_reader *r, uint32_t index, uint32_t bytes,
                      tl_record_fn *fn, void *context)
{
    size_t records = 0;
    uint32_t at = 0;
    while (at < bytes) { // multiples of 8: the first half of a header is there
        tl_record record = {0};
        uint32_t left = bytes - at;
        uint32_t to_end = c->ring_bytes - ((index + at) & (c->ring_bytes - 1));
        memcpy(&record, c->scratch + at, left < sizeof record ? left : sizeof record);
        if (record.event == TL_EVENT_PAD && record.size == to_end && to_end <= left) {
            at += to_end;
            continue;
        }
        uint32_t padded = (record.size + (TL_RECORD_ALIGN - 1)) & ~(TL_RECORD_ALIGN - 1);
        if (record.event == TL_EVENT_PAD || record.size < sizeof record ||
            record.size > TL_RECORD_MAX || padded > left || padded > to_end) {
            count_damage(c, r);
            break;
        }
        fn(context, &record, c->scratch + at + sizeof record);
        records++;
        at += padded;
    }
    return records;
}

static size_t drain_ring(tl_consumer *c, ring_reader *r, tl_record_fn *fn, void *context)
{
    // Acquire: the bytes before `head` are there.
    uint64_t head = atomic_load_explicit(&r->slot->head, memory_order_acquire);
    uint64_t from = r->tail;
    uint64_t bytes = head - from;
    bool sane = bytes <= c->ring_bytes && bytes % TL_RECORD_ALIGN == 0;
    if (sane && bytes != 0)
        copy_out(c, r, (uint32_t)bytes);
    if (!sane)
        count_damage(c, r); // go on where the target says it is; what was there is lost
    r->tail = head & ~(uint64_t)(TL_RECORD_ALIGN - 1);
    // Stored also when it has not moved: the target may have written over it. Release: the bytes
    // have been read.
    if (atomic_load_explicit(&r->slot->tail, memory_order_relaxed) != r->tail)
        atomic_store_explicit(&r->slot->tail, r->tail, memory_order_release);
    if (!sane || bytes == 0)
        return 0;
    return hand_on(c, r, (uint32_t)from & (c->ring_bytes - 1), (uint32_t)bytes, fn, context);
}

size_t tl_consumer_drain(tl_consumer *c, tl_record_fn *fn, void *context)
{
    size_t records = 0;
    for (uint32_t i = 0; i < c->ring_count; i++) {
        if (c->rings[i].resets < RESETS_MAX)
            records += drain_ring(c, &c->rings[i], fn, context);
    }
    return records;
}

static void raise_to(uint64_t *highest, uint64_t seen)
{
    if (seen > *highest)
        *highest = seen;
}

tl_losses tl_consumer_losses(tl_consumer *c)
{
    uint64_t ring_full = 0;
    for (uint32_t i = 0; i < c->ring_count; i++) {
        ring_reader *r = &c->rings[i];
        raise_to(&r->dropped, atomic_load_explicit(&r->slot->dropped, memory_order_relaxed));
        ring_full = ring_full > UINT64_MAX - r->dropped ? UINT64_MAX : ring_full + r->dropped;
    }
    raise_to(&c->no_ring, atomic_load_explicit(&c->header->dropped, memory_order_relaxed));
    return (tl_losses){.ring_full = ring_full, .no_ring = c->no_ring, .damaged = c->damaged};
}

size_t tl_consumer_schema(const tl_consumer *c, uint8_t *out)
{
    uint32_t bytes = atomic_load_explicit(&c->header->schema_bytes, memory_order_acquire);
    if (bytes == 0 || bytes > TL_SCHEMA_BYTES)
        return 0;
    memcpy(out, (const uint8_t *)c->header + TL_HEADER_BYTES, bytes);
    return bytes;
}
