// SPDX-License-Identifier: MIT
// Events of our own provider as any recording may hold them. The input is a row of events: u8 which
// of our schema's describes it (bit 7: its description follows instead, u16 size and bytes, else
// changes to ours: u8 how many, then u16 place, u8 value), u8 process and thread, u8 level and
// keyword, u16 size, payload. Every value that is handed on must lie inside its payload, nobody but
// the writing processes may have lost anything, and none more than numbers allow.
#include "own_decode.h"
#include "tracelogging/etw.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

static void require(bool condition)
{
    if (!condition)
        abort();
}

typedef struct input {
    const uint8_t *at, *end;
} input;

static uint8_t take_byte(input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static size_t take_size(input *in)
{
    size_t low = take_byte(in);
    return low | (size_t)take_byte(in) << 8;
}

// A copy of its own, so that the sanitizer knows its end.
static uint8_t *take_copy(input *in, size_t *len)
{
    if (*len > (size_t)(in->end - in->at))
        *len = (size_t)(in->end - in->at);
    uint8_t *copy = malloc(*len + !*len);
    require(copy != NULL);
    memcpy(copy, in->at, *len);
    in->at += *len;
    return copy;
}

static uint8_t *take_description(input *in, size_t *len)
{
    uint8_t which = take_byte(in), ours[2048];
    if (which & 0x80) {
        *len = take_size(in);
        return take_copy(in, len);
    }
    *len = tl_etw_metadata((tl_event)(which % TL_EVENT_COUNT), ours, sizeof ours);
    for (unsigned changes = take_byte(in); *len && changes > 0 && in->at < in->end; changes--) {
        size_t place = take_size(in) % *len;
        ours[place] = take_byte(in);
    }
    uint8_t *copy = malloc(*len + !*len);
    require(copy != NULL);
    memcpy(copy, ours, *len);
    return copy;
}

static void check_value(const tl_field_value *value, const co_etl_event *e)
{
    const uint8_t *text = (const uint8_t *)value->text, *end = e->data + e->data_len;
    if (value->array) {
        require(value->array >= e->data && value->array <= end);
        require(value->count * sizeof(int64_t) <= (size_t)(end - value->array));
        for (uint32_t i = 0; i < value->count; i++)
            sink = (uint8_t)(sink ^ tl_array_get(value, i));
    } else if (value->count) {
        require(text >= e->data && value->count <= (size_t)(end - text));
        sink = (uint8_t)(sink ^ text[value->count - 1]);
    }
}

static void check(void *context, const co_own_event *own)
{
    const co_etl_event *e = context;
    const tl_event_info *info = tl_event_get(own->event);
    require(info && own->pid == e->pid);
    for (uint32_t i = 0; i < info->field_count; i++)
        check_value(&own->values[i], e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, data + size};
    co_own *own = co_own_create();
    uint64_t events = 0, good = 0, lost = 0;
    require(own != NULL);
    while (in.at < in.end) {
        size_t metadata_len, data_len;
        uint8_t *metadata = take_description(&in, &metadata_len);
        uint8_t who = take_byte(&in), kind = take_byte(&in);
        data_len = take_size(&in);
        uint8_t *payload = take_copy(&in, &data_len);
        co_etl_event e = {.family = CO_ETL_EVENT,
                          .pid = who & 3,
                          .tid = who >> 4,
                          .level = kind & 7,
                          .keyword = kind >> 3,
                          .metadata = metadata,
                          .metadata_len = metadata_len,
                          .data = payload,
                          .data_len = data_len};
        memcpy(e.provider, tl_provider_guid, sizeof e.provider);
        require(co_own_is(&e) && !co_own_is_collector(&e));
        good += co_own_decode(own, &e, check, &e);
        events++;
        free(payload);
        free(metadata);
    }
    for (uint32_t pid = 0; pid < 4; pid++)
        lost += co_own_lost(own, pid);
    require(co_own_undecodable(own) == events - good);
    require(co_own_lost(own, 4) == 0 && lost <= events << 32);
    co_own_destroy(own);
    return 0;
}
