// SPDX-License-Identifier: MIT
// The decoder on a schema and payloads that the fuzzer writes: u16 size of the schema, the schema
// (size 0: our own; 0xffff: our own with changes, a count and then u16 place, u8 value), then
// payloads of u16 event, u8 size, bytes. Every value must lie inside its payload.
#include "tracelogging/codec.h"

#include <stdlib.h>
#include <string.h>

static volatile uint8_t sink;

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void touch(const tl_field_value *value, const uint8_t *payload, size_t bytes)
{
    const uint8_t *text = (const uint8_t *)value->text;
    require(text != NULL);
    if (value->array != NULL) {
        require(value->array >= payload && value->array <= payload + bytes);
        require(value->count * sizeof(int64_t) <= (size_t)(payload + bytes - value->array));
        for (uint32_t i = 0; i < value->count; i++)
            sink = (uint8_t)(sink ^ tl_array_get(value, i));
    } else if (value->count != 0) {
        require(text >= payload && value->count <= (size_t)(payload + bytes - text));
        sink = (uint8_t)(sink ^ text[value->count - 1]);
    }
}

static void decode(const tl_decoder *d, uint16_t id, const uint8_t *bytes, size_t len)
{
    tl_event event = TL_EVENT_COUNT;
    tl_field_value values[TL_FIELDS_MAX];
    uint8_t *payload = malloc(len + 1); // of its own, so that the sanitizer knows its end
    require(payload != NULL);
    memcpy(payload, bytes, len);
    if (tl_decode(d, id, payload, len, &event, values)) {
        require(event < TL_EVENT_COUNT);
        const tl_event_info *info = tl_event_get(event);
        for (uint32_t i = 0; info != NULL && i < info->field_count; i++)
            touch(&values[i], payload, len);
    }
    free(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A copy of its own, so that the sanitizer knows its end; NULL for our own schema.
static uint8_t *take_schema(const uint8_t **data, const uint8_t *end, size_t *bytes)
{
    uint8_t *schema = NULL;
    *bytes = (size_t)(*data)[0] | (size_t)(*data)[1] << 8;
    *data += 2;
    if (*bytes == 0xffff && *data < end) {
        uint8_t own[16 * 1024];
        *bytes = tl_schema_serialize(own, sizeof own);
        for (unsigned changes = *(*data)++; changes > 0 && end - *data >= 3; changes--) {
            own[((size_t)(*data)[0] | (size_t)(*data)[1] << 8) % *bytes] = (*data)[2];
            *data += 3;
        }
        schema = malloc(*bytes);
        require(schema != NULL);
        memcpy(schema, own, *bytes);
    } else if (*bytes != 0) {
        if (*bytes > (size_t)(end - *data))
            *bytes = (size_t)(end - *data);
        schema = malloc(*bytes + 1);
        require(schema != NULL);
        memcpy(schema, *data, *bytes);
        *data += *bytes;
    }
    return schema;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size;
    size_t schema_bytes = 0;
    if (size < 2)
        return 0;
    uint8_t *schema = take_schema(&data, end, &schema_bytes);
    tl_decoder *d = tl_decoder_create(schema, schema_bytes);
    free(schema);
    while (d != NULL && end - data >= 3) {
        uint16_t id = (uint16_t)(data[0] | data[1] << 8);
        size_t len = data[2];
        data += 3;
        if (len > (size_t)(end - data))
            len = (size_t)(end - data);
        decode(d, id, data, len);
        data += len;
    }
    tl_decoder_destroy(d);
    return 0;
}
