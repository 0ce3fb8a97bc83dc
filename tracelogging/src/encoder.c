// SPDX-License-Identifier: MIT
// The writing half of the codec: variable payload fields, TraceLogging metadata, the serialized
// schema. Freestanding: it runs inside the target, so it calls nothing of the C library but memcpy,
// and never writes past the room it was given.
#include "metadata.h"

#include <string.h>

#define COUNT_MAX 0xffffu

#define XX(event, level, keyword, text)                                                            \
    _Static_assert(TL_##event##_FIELDS <= TL_FIELDS_MAX, "tl_decode's output would overflow");
TL_EVENT_MAP(XX)
#undef XX

static size_t room(const tl_encoder *e)
{
    return (size_t)(e->end - e->at);
}

static void put_bytes(tl_encoder *e, const void *bytes, size_t len)
{
    if (len != 0)
        memcpy(e->at, bytes, len);
    e->at += len;
}

static void put_count(tl_encoder *e, size_t count)
{
    uint16_t value = (uint16_t)count;
    put_bytes(e, &value, sizeof value);
}

// The largest length up to `limit` that does not end inside a UTF-8 sequence. Text that is no UTF-8
// is cut at `limit`.
static size_t cut_utf8(const char *text, size_t limit)
{
    size_t cut = limit;
    for (int back = 0; back < 3 && cut > 0 && ((uint8_t)text[cut] & 0xc0) == 0x80; back++)
        cut--;
    return ((uint8_t)text[cut] & 0xc0) == 0x80 ? limit : cut;
}

void tl_put_string(tl_encoder *e, const char *text, size_t len)
{
    if (room(e) < sizeof(uint16_t))
        return;
    size_t limit = room(e) - sizeof(uint16_t);
    if (limit > COUNT_MAX)
        limit = COUNT_MAX;
    if (len > limit)
        len = cut_utf8(text, limit);
    put_count(e, len);
    put_bytes(e, text, len);
}

void tl_put_i64s(tl_encoder *e, const int64_t *values, size_t count)
{
    if (room(e) < sizeof(uint16_t))
        return;
    size_t limit = (room(e) - sizeof(uint16_t)) / sizeof *values;
    if (limit > COUNT_MAX)
        limit = COUNT_MAX;
    if (count > limit)
        count = limit;
    put_count(e, count);
    put_bytes(e, values, count * sizeof *values);
}

// ------------------------------------------------------------------------------------- metadata

typedef struct writer {
    uint8_t *out;
    size_t used;
    size_t capacity;
    bool failed; // sticky: something did not fit
} writer;

static void write_bytes(writer *w, const void *bytes, size_t len)
{
    if (w->failed || len > w->capacity - w->used) {
        w->failed = true;
        return;
    }
    memcpy(w->out + w->used, bytes, len);
    w->used += len;
}

static void write_u8(writer *w, unsigned value)
{
    uint8_t byte = (uint8_t)value;
    write_bytes(w, &byte, 1);
}

static void write_name(writer *w, const char *name)
{
    // Byte by byte: compilers turn a loop that looks for the NUL into a call of strlen.
    do {
        write_u8(w, (uint8_t)*name);
    } while (*name++ != '\0');
}

size_t tl_metadata_write(const tl_event_info *info, uint8_t *out, size_t capacity)
{
    writer w = {.out = out, .capacity = capacity};
    uint16_t size = 0;
    write_bytes(&w, &size, sizeof size);
    write_u8(&w, 0); // no tags
    write_name(&w, info->name);
    for (uint32_t i = 0; i < info->field_count; i++) {
        const tl_field_info *field = &info->fields[i];
        write_name(&w, field->name);
        if (field->out_type != 0) {
            write_u8(&w, field->in_type | TL_IN_HAS_OUT);
            write_u8(&w, field->out_type);
        } else {
            write_u8(&w, field->in_type);
        }
    }
    if (w.failed || w.used > UINT16_MAX)
        return 0;
    size = (uint16_t)w.used;
    memcpy(out, &size, sizeof size);
    return w.used;
}

size_t tl_event_metadata(tl_event event, uint8_t *out, size_t capacity)
{
    const tl_event_info *info = tl_event_get(event);
    return info == NULL ? 0 : tl_metadata_write(info, out, capacity);
}

size_t tl_schema_serialize(uint8_t *out, size_t capacity)
{
    writer w = {.out = out, .capacity = capacity};
    uint32_t magic = TL_SCHEMA_MAGIC;
    uint16_t count = TL_EVENT_COUNT - 1;
    write_bytes(&w, &magic, sizeof magic);
    write_bytes(&w, &count, sizeof count);
    for (uint16_t id = 1; id < TL_EVENT_COUNT; id++) {
        const tl_event_info *info = tl_event_get((tl_event)id);
        write_bytes(&w, &id, sizeof id);
        write_u8(&w, info->level);
        write_bytes(&w, &info->keyword, sizeof info->keyword);
        if (w.failed)
            return 0;
        size_t blob = tl_metadata_write(info, w.out + w.used, w.capacity - w.used);
        if (blob == 0)
            return 0;
        w.used += blob;
    }
    return w.used;
}
