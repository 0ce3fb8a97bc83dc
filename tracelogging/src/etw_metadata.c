// SPDX-License-Identifier: MIT
// How ETW gets the events of our schema: their TraceLogging metadata with the prefix in front, and
// arrays of structs for those that go in batches. Freestanding: it runs inside the target.
#include "tracelogging/etw.h"
#include "tracelogging/marks.h"

#include "metadata.h"

#include <string.h>

const uint8_t tl_provider_guid[16] = {0x47, 0x03, 0x7d, 0x93, 0x00, 0xfd, 0xd6, 0x5f,
                                      0x23, 0x07, 0x12, 0x09, 0xbf, 0xa3, 0xe6, 0x56};
const uint8_t tl_collector_provider_guid[16] = {0x15, 0xa3, 0xe2, 0x23, 0x45, 0x0a, 0x12, 0x51,
                                                0x74, 0x37, 0x24, 0xd5, 0xb6, 0x3b, 0x8d, 0x89};

#define PREFIX_FIELDS 3u
#define FIELDS_MAX    (TL_FIELDS_MAX + PREFIX_FIELDS + 3u)
#define IN_STRUCT     24u

// TraceLogging types of the prefix: in-type 8 is a u32, 10 a u64; 6 as out-type shows a thread.
static const tl_field_info prefix[PREFIX_FIELDS] = {
    {"sequence", "count of what this thread wrote of this level and keyword", "U32", 8, 0, 4},
    {"thread", "whose event it is", "U32", 8, 6, 4},
    {"ticks", "the event's time", "U64", 10, 0, 8}};

int tl_etw_batch_of(tl_event event)
{
    return event == TL_EVENT_Op      ? TL_BATCH_OP
           : event == TL_EVENT_Alloc ? TL_BATCH_ALLOC
                                     : TL_BATCH_NONE;
}

const char *tl_etw_name(tl_event event)
{
    const tl_event_info *info = tl_event_get(event);
    int batch = tl_etw_batch_of(event);
    return batch == TL_BATCH_OP      ? "Ops"
           : batch == TL_BATCH_ALLOC ? "Allocs"
           : info                    ? info->name
                                     : "";
}

// Appends `count` fields; the array stays within FIELDS_MAX because an event has TL_FIELDS_MAX at
// most (encoder.c asserts it).
static uint32_t add(tl_field_info *to, uint32_t at, const tl_field_info *fields, uint32_t count)
{
    memcpy(to + at, fields, count * sizeof *fields);
    return at + count;
}

static size_t write_with_prefix(const tl_event_info *info, const char *name, bool batched,
                                uint8_t *out, size_t capacity)
{
    tl_field_info fields[FIELDS_MAX];
    uint32_t count = add(fields, 0, prefix, PREFIX_FIELDS);
    if (batched) {
        // A struct has no data of its own; its out-type says how many fields belong to it: the
        // event's time and its own fields.
        const tl_field_info list = {
            "events", "", "", IN_STRUCT | TL_IN_LIST, (uint8_t)(info->field_count + 1), 0};
        count = add(fields, count, &list, 1);
        count = add(fields, count, &prefix[2], 1);
    }
    count = add(fields, count, info->fields, info->field_count);
    tl_event_info whole = *info;
    whole.name = name;
    whole.fields = fields;
    whole.field_count = count;
    return tl_metadata_write(&whole, out, capacity);
}

size_t tl_etw_metadata(tl_event event, uint8_t *out, size_t capacity)
{
    const tl_event_info *info = tl_event_get(event);
    return info == NULL ? 0
                        : write_with_prefix(info, tl_etw_name(event),
                                            tl_etw_batch_of(event) != TL_BATCH_NONE, out, capacity);
}

// ------------------------------------------------------------------------------------------ marks

#define FIELD(name, type, text) {#name, text, TL_TYPE_##type},
#define XX(event, level, keyword, text)                                                            \
    static const tl_field_info fields_##event[] = {TL_FIELDS_##event(FIELD, FIELD)};
TL_MARK_MAP(XX)
#undef XX

static const tl_event_info marks[] = {
#define XX(event, level, keyword, text)                                                            \
    {#event, text, level, keyword, sizeof fields_##event / sizeof *fields_##event, fields_##event},
    TL_MARK_MAP(XX)
#undef XX
};

const tl_event_info *tl_mark_get(tl_mark mark)
{
    unsigned index = (unsigned)mark - 1;
    return index < sizeof marks / sizeof *marks ? &marks[index] : NULL;
}

size_t tl_mark_metadata(unsigned mark, uint8_t *out, size_t capacity)
{
    const tl_event_info *info = tl_mark_get((tl_mark)mark);
    return info == NULL ? 0 : write_with_prefix(info, info->name, false, out, capacity);
}
