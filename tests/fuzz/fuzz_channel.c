// SPDX-License-Identifier: MIT
// The reader of the ring channel on a section that the fuzzer writes. The input is a program: each
// step pokes bytes into the directory or the rings, moves a head, lets an honest producer write, or
// drains. Whatever it does, the reader stays in bounds and hands on only what has a sane size.
#include "channel_layout.h"

#include <stdlib.h>
#include <string.h>

enum { RINGS = 2, RING_BYTES = 1024 };

typedef struct input {
    const uint8_t *at;
    const uint8_t *end;
} input;

static uint64_t take(input *in, size_t bytes)
{
    uint64_t value = 0;
    size_t left = (size_t)(in->end - in->at);
    if (bytes > left)
        bytes = left;
    memcpy(&value, in->at, bytes);
    in->at += bytes;
    return value;
}

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void on_record(void *context, const tl_record *record, const uint8_t *payload)
{
    uint64_t *sum = context;
    require(record->size >= sizeof *record && record->size <= TL_RECORD_MAX);
    require(record->event != 0 && (uintptr_t)payload % 8 == 0);
    for (size_t i = 0; i < record->size - sizeof *record; i++)
        *sum += payload[i];
}

static void drain(tl_consumer *consumer)
{
    uint64_t sum = 0;
    tl_losses before = tl_consumer_losses(consumer);
    require(tl_consumer_drain(consumer, on_record, &sum) <= RINGS * RING_BYTES / 16);
    tl_losses after = tl_consumer_losses(consumer);
    require(after.damaged >= before.damaged && after.ring_full >= before.ring_full &&
            after.no_ring >= before.no_ring && after.damaged <= RINGS * 16);
}

static void produce(void *section, tl_producer *p, input *in)
{
    uint32_t payload_bytes = (uint32_t)take(in, 2);
    if (p->section == NULL)
        tl_producer_claim(p, section, 1);
    uint8_t *payload = tl_producer_begin(p, payload_bytes);
    if (payload != NULL) {
        memset(payload, 1, payload_bytes);
        tl_producer_end(p, (uint16_t)take(in, 1), 0, payload_bytes);
    }
}

static void step(uint8_t *section, const tl_layout *layout, tl_consumer *consumer, tl_producer *p,
                 input *in)
{
    unsigned what = (unsigned)take(in, 1);
    tl_ring_slot *slot =
        (tl_ring_slot *)(void *)(section + layout->directory_offset) + what / 8 % 2;
    size_t open = (size_t)(layout->section_bytes - layout->directory_offset);
    switch (what % 8) {
    case 0: { // any word of directory and rings
        uint64_t value = take(in, 8);
        size_t at = (size_t)take(in, 2) * 8 % open;
        memcpy(section + layout->directory_offset + at, &value, 8);
        break;
    }
    case 1: // the header; not its geometry, which the producer trusts after its check
        memcpy(section + offsetof(tl_section_header, phase), &(uint64_t){take(in, 8)}, 8);
        atomic_store(&((tl_section_header *)(void *)section)->dropped, take(in, 8));
        break;
    case 2:
        atomic_store(&slot->head, atomic_load(&slot->tail) + take(in, 2) % 1100);
        break;
    case 3: { // a record header where the reader looks next
        size_t at = (size_t)layout->rings_offset + what / 8 % 2 * RING_BYTES;
        uint64_t header = take(in, 4);
        at += (size_t)(atomic_load(&slot->tail) % RING_BYTES & ~7ull);
        memcpy(section + at, &header, 8);
        break;
    }
    case 4:
    case 5:
        produce(section, p, in);
        break;
    case 6:
        tl_producer_release(p);
        p->section = NULL;
        break;
    default:
        drain(consumer);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tl_layout layout;
    void *section = NULL;
    uint8_t schema[TL_SCHEMA_BYTES];
    input in = {data, data + size};
    tl_producer producer = {0};
    require(tl_layout_compute(RINGS, RING_BYTES, &layout));
    require(posix_memalign(&section, 4096, (size_t)layout.section_bytes) == 0);
    memset(section, 0, (size_t)layout.section_bytes);
    tl_layout_write(section, RINGS, RING_BYTES);
    tl_consumer *consumer = tl_consumer_create_any(section, RINGS, RING_BYTES);
    require(consumer != NULL);
    for (int i = 0; i < 300 && in.at < in.end; i++)
        step(section, &layout, consumer, &producer, &in);
    drain(consumer);
    drain(consumer);
    require(tl_consumer_schema(consumer, schema) <= TL_SCHEMA_BYTES);
    tl_consumer_destroy(consumer);
    free(section);
    return 0;
}
