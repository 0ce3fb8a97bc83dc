// SPDX-License-Identifier: MIT
// The reading half of the codec: turns a serialized schema, ours or another version's, into a list
// of steps per event, and walks payloads by it. Both come from the target and may be garbage: every
// size is compared with what is left before it is used, and what is allocated is bounded by the
// size of the schema. Nothing here prints or judges; the caller counts what does not decode.
#include "metadata.h"

#include "common/status.h"

#include <stdlib.h>
#include <string.h>

#define SCHEMA_BYTES_MAX (64u * 1024u)
#define EVENT_BYTES_MIN  15u // id, level, keyword, and a blob with an empty name and no field
#define FIELD_BYTES_MIN  2u  // an empty name and the in-type
#define TAG_BYTES_MAX    4u
#define NO_TARGET        0xffu

typedef enum step_kind {
    STEP_NUMBER,  // `bytes` bytes
    STEP_COUNTED, // u16 byte count, bytes
    STEP_LIST,    // u16 element count, elements of `bytes` bytes
    STEP_REST,    // a type that we can't measure: it and what follows it are skipped
} step_kind;

typedef struct step {
    uint8_t kind;
    uint8_t bytes;
    uint8_t is_signed;
    uint8_t target; // index in tl_decode's output
} step;

typedef struct wire_event {
    const step *steps;
    uint32_t step_count;
    uint32_t fixed_count; // leading STEP_NUMBERs
    tl_event known;
    uint16_t id;
} wire_event;

struct tl_decoder {
    wire_event *events;
    step *steps;
    uint16_t *by_id; // wire id -> index in events + 1
    uint32_t id_count;
    uint32_t step_count;
};

// -------------------------------------------------------------------------------------- cursor

typedef struct cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool failed; // sticky
} cursor;

static const uint8_t *take(cursor *c, size_t bytes)
{
    if (c->failed || bytes > (size_t)(c->end - c->at)) {
        c->failed = true;
        return NULL;
    }
    const uint8_t *from = c->at;
    c->at += bytes;
    return from;
}

static uint64_t take_number(cursor *c, size_t bytes)
{
    uint64_t value = 0;
    const uint8_t *from = take(c, bytes);
    if (from != NULL)
        memcpy(&value, from, bytes);
    return value;
}

static const char *take_name(cursor *c)
{
    const uint8_t *nul = c->failed ? NULL : memchr(c->at, 0, (size_t)(c->end - c->at));
    if (nul == NULL) {
        c->failed = true;
        return "";
    }
    return (const char *)take(c, (size_t)(nul - c->at) + 1);
}

static void skip_tags(cursor *c)
{
    for (unsigned i = 0; i < TAG_BYTES_MAX; i++) {
        if ((take_number(c, 1) & TL_TAGS_MORE) == 0)
            return;
    }
    c->failed = true;
}

// -------------------------------------------------------------------------------- schema parsing

// Bytes of a TraceLogging in-type of fixed size, 0 for the others.
static uint8_t fixed_bytes(unsigned type)
{
    static const uint8_t bytes[32] = {
        [3] = 1,  [4] = 1,  [5] = 2,  [6] = 2,   [7] = 4,  [8] = 4,   [9] = 8,  [10] = 8,
        [11] = 4, [12] = 8, [13] = 4, [15] = 16, [17] = 8, [18] = 16, [20] = 4, [21] = 8,
    };
    return bytes[type & TL_IN_TYPE_MASK];
}

static bool is_integer(unsigned type)
{
    return (type >= 3 && type <= 10) || type == 13 || type == 20 || type == 21;
}

static bool is_counted(unsigned type)
{
    return type == 14 || type == 22 || type == 23 || type == 25;
}

static step step_of_type(unsigned in_type)
{
    unsigned type = in_type & TL_IN_TYPE_MASK;
    unsigned list = in_type & (TL_IN_LIST | TL_IN_FIXED_LIST);
    step s = {.kind = STEP_REST, .target = NO_TARGET};
    s.is_signed = type == 3 || type == 5 || type == 7 || type == 9;
    s.bytes = fixed_bytes(type);
    if (list == 0 && is_counted(type))
        s.kind = STEP_COUNTED;
    else if (list == 0 && s.bytes != 0)
        s.kind = STEP_NUMBER;
    else if (list == TL_IN_LIST && s.bytes != 0)
        s.kind = STEP_LIST;
    return s;
}

// True if a value of the wire's type can be given where our table has `field`.
static bool fits(const tl_field_info *field, step s, unsigned in_type)
{
    unsigned type = in_type & TL_IN_TYPE_MASK;
    if (field->fixed_bytes != 0)
        return s.kind == STEP_NUMBER && is_integer(type);
    if ((field->in_type & TL_IN_LIST) != 0)
        return s.kind == STEP_LIST && is_integer(type) && s.bytes == sizeof(int64_t);
    return s.kind == STEP_COUNTED && type == (field->in_type & TL_IN_TYPE_MASK);
}

static uint8_t find_target(const tl_event_info *info, const char *name, step s, unsigned in_type)
{
    for (uint32_t i = 0; info != NULL && i < info->field_count; i++) {
        if (strcmp(info->fields[i].name, name) == 0)
            return fits(&info->fields[i], s, in_type) ? (uint8_t)i : NO_TARGET;
    }
    return NO_TARGET;
}

static tl_event find_event(const char *name)
{
    for (int id = 1; id < TL_EVENT_COUNT; id++) {
        if (strcmp(tl_event_get((tl_event)id)->name, name) == 0)
            return (tl_event)id;
    }
    return TL_EVENT_PAD;
}

static step parse_field(cursor *c, const tl_event_info *info)
{
    const char *name = take_name(c);
    unsigned in_type = (unsigned)take_number(c, 1);
    if ((in_type & TL_IN_HAS_OUT) != 0 && (take_number(c, 1) & TL_OUT_HAS_TAGS) != 0)
        skip_tags(c);
    unsigned list = in_type & (TL_IN_LIST | TL_IN_FIXED_LIST);
    if (list == TL_IN_FIXED_LIST)
        take(c, sizeof(uint16_t)); // how many elements
    else if (list == (TL_IN_LIST | TL_IN_FIXED_LIST))
        take(c, (size_t)take_number(c, sizeof(uint16_t))); // custom type information
    step s = step_of_type(in_type);
    s.target = find_target(info, name, s, in_type);
    return s;
}

static void parse_event(tl_decoder *d, cursor *c, wire_event *event)
{
    event->id = (uint16_t)take_number(c, sizeof event->id);
    take(c, sizeof(uint8_t) + sizeof(uint64_t)); // level, keyword
    size_t size = (size_t)take_number(c, sizeof(uint16_t));
    const uint8_t *blob = size < sizeof(uint16_t) ? NULL : take(c, size - sizeof(uint16_t));
    if (blob == NULL || event->id == 0) {
        c->failed = true;
        return;
    }
    cursor inner = {.at = blob, .end = c->at};
    skip_tags(&inner);
    event->known = find_event(take_name(&inner));
    const tl_event_info *info = tl_event_get(event->known);
    event->steps = &d->steps[d->step_count];
    while (!inner.failed && inner.at < inner.end) {
        step s = parse_field(&inner, info);
        d->steps[d->step_count++] = s;
        if (s.kind == STEP_NUMBER && event->fixed_count == event->step_count)
            event->fixed_count++;
        event->step_count++;
    }
    c->failed = inner.failed;
}

static bool index_events(tl_decoder *d, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (d->events[i].id >= d->id_count)
            d->id_count = d->events[i].id + 1u;
    }
    d->by_id = calloc(d->id_count + 1u, sizeof *d->by_id);
    if (d->by_id == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (d->by_id[d->events[i].id] != 0)
            return false; // two events with one id
        d->by_id[d->events[i].id] = (uint16_t)(i + 1);
    }
    return true;
}

static bool parse_schema(tl_decoder *d, const uint8_t *schema, size_t bytes)
{
    cursor c = {.at = schema, .end = schema + bytes};
    uint32_t magic = (uint32_t)take_number(&c, sizeof magic);
    uint32_t count = (uint32_t)take_number(&c, sizeof(uint16_t));
    if (c.failed || magic != TL_SCHEMA_MAGIC || count > bytes / EVENT_BYTES_MIN)
        return false;
    d->events = calloc(count + 1u, sizeof *d->events);
    d->steps = calloc(bytes / FIELD_BYTES_MIN, sizeof *d->steps);
    if (d->events == NULL || d->steps == NULL)
        return false;
    for (uint32_t i = 0; i < count && !c.failed; i++)
        parse_event(d, &c, &d->events[i]);
    return !c.failed && c.at == c.end && index_events(d, count);
}

tl_decoder *tl_decoder_create(const uint8_t *schema, size_t bytes)
{
    uint8_t *own = NULL;
    if (schema == NULL) {
        own = malloc(SCHEMA_BYTES_MAX);
        schema = own;
        bytes = own == NULL ? 0 : tl_schema_serialize(own, SCHEMA_BYTES_MAX);
    }
    tl_decoder *d = calloc(1, sizeof *d);
    if (d == NULL || bytes > SCHEMA_BYTES_MAX || schema == NULL ||
        !parse_schema(d, schema, bytes)) {
        tl_decoder_destroy(d);
        d = NULL;
        cm_fail(CM_CORRUPT,
                "The list of events that the target sent makes no sense; detach and "
                "attach again with the ortscope_hook.dll that came with this ortscope.");
    }
    free(own);
    return d;
}

void tl_decoder_destroy(tl_decoder *d)
{
    if (d == NULL)
        return;
    free(d->events);
    free(d->steps);
    free(d->by_id);
    free(d);
}

// ------------------------------------------------------------------------------------- decoding

static int64_t number_of(const uint8_t *from, step s)
{
    uint64_t value = 0;
    if (s.bytes > sizeof value)
        return 0; // such a type has no target
    memcpy(&value, from, s.bytes);
    unsigned unused = 64u - 8u * s.bytes;
    return s.is_signed ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

static bool decode_step(step s, cursor *c, tl_field_value *value)
{
    if (s.kind == STEP_REST) {
        c->at = c->end;
        return true;
    }
    if (s.kind == STEP_NUMBER) {
        const uint8_t *from = take(c, s.bytes);
        if (from != NULL)
            value->number = number_of(from, s);
        return from != NULL;
    }
    uint32_t count = (uint32_t)take_number(c, sizeof(uint16_t));
    const uint8_t *from = take(c, (size_t)count * (s.kind == STEP_LIST ? s.bytes : 1u));
    if (from == NULL)
        return false;
    value->count = count;
    if (s.kind == STEP_LIST)
        value->array = from;
    else
        value->text = (const char *)from;
    return true;
}

bool tl_decode(const tl_decoder *d, uint16_t event, const uint8_t *payload, size_t bytes,
               tl_event *out_event, tl_field_value values[TL_FIELDS_MAX])
{
    uint32_t index = event < d->id_count ? d->by_id[event] : 0;
    if (index == 0) {
        *out_event = TL_EVENT_PAD;
        return true;
    }
    const wire_event *wire = &d->events[index - 1];
    const tl_event_info *info = tl_event_get(wire->known);
    uint32_t field_count = info == NULL ? 0 : info->field_count;
    for (uint32_t i = 0; i < field_count; i++)
        values[i] = (tl_field_value){.text = ""};

    cursor c = {.at = payload, .end = payload + bytes};
    for (uint32_t i = 0; i < wire->step_count; i++) {
        if (c.at == c.end && i >= wire->fixed_count)
            break; // the encoder had no room for the rest
        tl_field_value ignored = {0};
        step s = wire->steps[i];
        if (!decode_step(s, &c, s.target == NO_TARGET ? &ignored : &values[s.target]))
            return false;
    }
    if (c.at != c.end)
        return false;
    *out_event = wire->known;
    return true;
}

int64_t tl_array_get(const tl_field_value *value, uint32_t index)
{
    int64_t number = 0;
    if (index < value->count && value->array != NULL)
        memcpy(&number, value->array + (size_t)index * sizeof number, sizeof number);
    return number;
}
