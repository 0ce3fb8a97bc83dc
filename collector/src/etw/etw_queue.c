// SPDX-License-Identifier: MIT
#include "etw_queue.h"

#include <stdlib.h>
#include <string.h>

// EVENT_HEADER_FLAG_*, EVENT_HEADER_EXT_TYPE_*
enum { FLAG_MESSAGE = 0x8, FLAG_32_BIT = 0x20, FLAG_CLASSIC = 0x100, FLAG_INDEX = 0x200 };
enum { ITEM_SCHEMA = 11 };

// Behind it: the event's data, then its metadata.
typedef struct entry {
    uint32_t bytes; // with what is behind it, a multiple of 8; of the filler at the end too
    uint16_t data_len, metadata_len;
    int64_t time;
    uint64_t keyword;
    uint8_t provider[16];
    uint32_t pid, tid;
    uint16_t id, cpu, flags, task;
    uint8_t version, channel, level, opcode;
    uint8_t is_filler : 1, has_metadata : 1, behind_gap : 1;
    uint8_t spare;
} entry;
_Static_assert(sizeof(entry) % 8 == 0, "entries follow each other");

bool co_etw_queue_init(etw_queue *q, size_t capacity)
{
    *q = (etw_queue){.bytes = malloc(capacity), .capacity = capacity};
    return q->bytes != NULL;
}

void co_etw_queue_deinit(etw_queue *q)
{
    free(q->bytes);
    q->bytes = NULL;
}

static const etw_item *find_item(const etw_record *r, unsigned type)
{
    for (unsigned i = 0; r->items && i < r->item_count; i++)
        if (r->items[i].type == type && r->items[i].data)
            return &r->items[i];
    return NULL;
}

static entry describe(const etw_record *r, const etw_item *schema)
{
    uint16_t data_len = r->data ? r->data_len : 0, metadata_len = schema ? schema->len : 0;
    uint16_t index;
    memcpy(&index, &r->processor, sizeof index);
    entry e = {.bytes = (uint32_t)((sizeof e + data_len + metadata_len + 7u) & ~(size_t)7),
               .data_len = data_len,
               .metadata_len = metadata_len,
               .time = r->time,
               .keyword = r->keyword,
               .pid = r->pid,
               .tid = r->tid,
               .id = r->id,
               .cpu = r->flags & FLAG_INDEX ? index : r->processor,
               .flags = r->flags,
               .task = r->task,
               .version = r->version,
               .channel = r->channel,
               .level = r->level,
               .opcode = r->opcode,
               .has_metadata = schema != NULL};
    memcpy(e.provider, r->provider, 16);
    return e;
}

void co_etw_queue_put(etw_queue *q, const etw_record *r)
{
    const etw_item *schema = find_item(r, ITEM_SCHEMA);
    entry e = describe(r, schema);
    size_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
    size_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);
    size_t at = head & (q->capacity - 1), to_end = q->capacity - at;
    size_t skip = e.bytes > to_end ? to_end : 0;
    if (q->capacity - (head - tail) < skip + e.bytes) {
        atomic_fetch_add_explicit(&q->full, 1, memory_order_relaxed);
        q->skipped = true;
        return;
    }
    if (skip) {
        // Its size is all that is read of it: there may be no room for more.
        uint32_t size = (uint32_t)skip;
        memcpy(q->bytes + at, &size, sizeof size);
        if (skip >= sizeof(entry)) {
            entry filler = {.bytes = size, .is_filler = 1};
            memcpy(q->bytes + at, &filler, sizeof filler);
        }
        head += skip;
        at = 0;
    }
    e.behind_gap = q->skipped;
    q->skipped = false;
    memcpy(q->bytes + at, &e, sizeof e);
    if (e.data_len)
        memcpy(q->bytes + at + sizeof e, r->data, e.data_len);
    if (e.metadata_len)
        memcpy(q->bytes + at + sizeof e + e.data_len, (const void *)(uintptr_t)schema->data,
               e.metadata_len);
    atomic_fetch_add_explicit(&q->written, 1, memory_order_relaxed);
    atomic_store_explicit(&q->head, head + e.bytes, memory_order_release);
}

bool co_etw_queue_holds(etw_queue *q)
{
    return atomic_load_explicit(&q->head, memory_order_acquire) !=
           atomic_load_explicit(&q->tail, memory_order_acquire);
}

static co_etl_event event_of(const entry *e, const uint8_t *behind)
{
    bool classic = e->flags & FLAG_CLASSIC;
    co_etl_event out = {.family = e->flags & FLAG_MESSAGE ? CO_ETL_MESSAGE
                                  : classic               ? CO_ETL_CLASSIC
                                                          : CO_ETL_EVENT,
                        .pointer_size = e->flags & FLAG_32_BIT ? 4 : 8,
                        .timed = true,
                        .time = e->time,
                        .has_thread = e->tid != CO_ETL_UNKNOWN,
                        .pid = e->pid,
                        .tid = e->tid,
                        .cpu = e->cpu,
                        .opcode = e->opcode,
                        .level = e->level,
                        .channel = e->channel,
                        .version = e->version,
                        .id = e->id,
                        .task = e->task,
                        .keyword = e->keyword,
                        .data = behind,
                        .data_len = e->data_len};
    memcpy(out.provider, e->provider, 16);
    if (e->has_metadata) {
        out.metadata = behind + e->data_len;
        out.metadata_len = e->metadata_len;
    }
    return out;
}

static bool is_for_later(const entry *e, const etw_reader *reader)
{
    return e->time > reader->until && e->time <= reader->now;
}

size_t co_etw_queue_take(etw_queue *q, const etw_reader *reader)
{
    size_t head = atomic_load_explicit(&q->head, memory_order_acquire), events = 0;
    size_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
    while (tail != head) {
        size_t at = tail & (q->capacity - 1), to_end = q->capacity - at;
        entry e;
        uint32_t bytes;
        memcpy(&bytes, q->bytes + at, sizeof bytes);
        if (to_end >= sizeof e) {
            memcpy(&e, q->bytes + at, sizeof e);
            if (!e.is_filler && is_for_later(&e, reader))
                break;
            if (!e.is_filler) {
                co_etl_event event = event_of(&e, q->bytes + at + sizeof e);
                if (e.behind_gap && reader->gap)
                    reader->gap(reader->context);
                reader->event(reader->context, &event);
                events++;
            }
        }
        tail += bytes;
        atomic_store_explicit(&q->tail, tail, memory_order_release);
    }
    return events;
}
