// SPDX-License-Identifier: MIT
#include "own_decode.h"

#include "collector/etl_tracelogging.h"
#include "common/buf.h"
#include "etl_bytes.h"
#include "tracelogging/etw.h"

#include <stdlib.h>
#include <string.h>

#define FORMS_MAX   128u       // descriptions of events: one of each event and version
#define STREAMS_MAX (1u << 20) // threads times levels and keywords
#define RESTART     64u        // a number this far back is another thread's with the same id

// One description: what its events are and how to read them.
typedef struct form {
    uint8_t *metadata;
    size_t metadata_len;
    tl_decoder *decoder; // NULL: not understood
    bool batched;
    size_t element_bytes; // of a batch
} form;

typedef struct stream {
    uint32_t pid;
    uint32_t first, last; // lowest and highest number
    uint64_t seen;
    uint64_t lost_before; // of earlier threads with this id
} stream;

struct co_own {
    form forms[FORMS_MAX];
    size_t form_count, recent;
    cm_map stream_of;
    cm_buf streams;
    uint64_t undecodable;
};

co_own *co_own_create(void)
{
    return calloc(1, sizeof(co_own));
}

void co_own_destroy(co_own *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->form_count; i++) {
        free(o->forms[i].metadata);
        tl_decoder_destroy(o->forms[i].decoder);
    }
    cm_map_deinit(&o->stream_of);
    cm_buf_deinit(&o->streams);
    free(o);
}

static bool is_of(const co_etl_event *e, const uint8_t guid[16])
{
    return e->family == CO_ETL_EVENT && e->metadata && memcmp(e->provider, guid, 16) == 0;
}

bool co_own_is(const co_etl_event *e)
{
    return is_of(e, tl_provider_guid);
}

bool co_own_is_collector(const co_etl_event *e)
{
    return is_of(e, tl_collector_provider_guid);
}

// ------------------------------------------------------------------------------------ descriptions

static bool is_field(const co_tlg_schema *s, unsigned i, const char *name, unsigned type)
{
    const co_tlg_field *f = &s->fields[i];
    return i < s->field_count && f->type == type && f->count == CO_TLG_ONE &&
           f->name_len == strlen(name) && memcmp(f->name, name, f->name_len) == 0;
}

static bool has_prefix(const co_tlg_schema *s)
{
    return is_field(s, 0, "sequence", CO_TLG_U32) && is_field(s, 1, "thread", CO_TLG_U32) &&
           is_field(s, 2, "ticks", CO_TLG_U64);
}

static tl_event batched_event(const co_tlg_schema *s)
{
    static const tl_event events[] = {TL_EVENT_Op, TL_EVENT_Alloc};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        const char *name = tl_etw_name(events[i]);
        if (s->name_len == strlen(name) && memcmp(s->name, name, s->name_len) == 0)
            return events[i];
    }
    return TL_EVENT_PAD;
}

// Bytes of one element; 0 if they are not the same for all.
static size_t element_bytes(const co_tlg_schema *s)
{
    static const uint8_t sizes[CO_TLG_TYPES] = {
        [CO_TLG_I8] = 1,    [CO_TLG_U8] = 1,   [CO_TLG_I16] = 2, [CO_TLG_U16] = 2,
        [CO_TLG_I32] = 4,   [CO_TLG_U32] = 4,  [CO_TLG_I64] = 8, [CO_TLG_U64] = 8,
        [CO_TLG_HEX32] = 4, [CO_TLG_HEX64] = 8};
    size_t bytes = 0;
    for (unsigned i = 4; i < s->field_count; i++) {
        size_t size = sizes[s->fields[i].type];
        if (!size || s->fields[i].count != CO_TLG_ONE)
            return 0;
        bytes += size;
    }
    return bytes;
}

// A schema of one event, in the form that a channel carries. `name` NULL: as the metadata has it.
static tl_decoder *decoder_of(const char *name, const uint8_t *metadata, size_t len)
{
    static const uint8_t level_and_keyword[9];
    cm_buf b = {0};
    uint32_t magic = TL_SCHEMA_MAGIC;
    uint16_t one = 1, size = (uint16_t)(2 + 1 + (name ? strlen(name) + 1 : 0) + len);
    cm_buf_append(&b, &magic, sizeof magic);
    cm_buf_append(&b, &one, sizeof one); // events
    cm_buf_append(&b, &one, sizeof one); // the number of the only one
    cm_buf_append(&b, level_and_keyword, sizeof level_and_keyword);
    if (name) { // the fields alone are given: a size, no tags and the name go before them
        cm_buf_append(&b, &size, sizeof size);
        cm_buf_append_byte(&b, 0);
        cm_buf_append(&b, name, strlen(name) + 1);
    }
    cm_buf_append(&b, metadata, len);
    tl_decoder *d = b.failed ? NULL : tl_decoder_create(b.data, b.len);
    cm_buf_deinit(&b);
    return d;
}

static void understand(form *f)
{
    co_tlg_schema s;
    if (!co_tlg_schema_parse(f->metadata, f->metadata_len, &s) || !has_prefix(&s))
        return;
    tl_event event = batched_event(&s);
    if (event == TL_EVENT_PAD) {
        f->decoder = decoder_of(NULL, f->metadata, f->metadata_len);
        return;
    }
    // An array of structs that are the rest of the fields, the first of which is their time.
    if (s.field_count < 5 || s.fields[3].type != CO_TLG_STRUCT ||
        s.fields[3].count != CO_TLG_VARIABLE || s.fields[3].out != s.field_count - 4 ||
        !is_field(&s, 4, "ticks", CO_TLG_U64) || !(f->element_bytes = element_bytes(&s)))
        return;
    const uint8_t *members = (const uint8_t *)s.fields[4].name;
    f->batched = true;
    f->decoder = decoder_of(tl_event_get(event)->name, members,
                            (size_t)(f->metadata + f->metadata_len - members));
}

static bool is_form(const form *f, const co_etl_event *e)
{
    return f->metadata_len == e->metadata_len &&
           memcmp(f->metadata, e->metadata, e->metadata_len) == 0;
}

static const form *form_of(co_own *o, const co_etl_event *e)
{
    size_t i = 0;
    if (o->form_count && is_form(&o->forms[o->recent], e))
        return &o->forms[o->recent];
    while (i < o->form_count && !is_form(&o->forms[i], e))
        i++;
    if (i == FORMS_MAX || e->metadata_len < 4 || e->metadata_len > UINT16_MAX ||
        etl_u16(e->metadata) > e->metadata_len)
        return NULL;
    form *f = &o->forms[i];
    if (i == o->form_count) {
        // What a record has behind the description is padding, which the size in it leaves out.
        if (!(f->metadata = malloc(e->metadata_len)))
            return NULL;
        memcpy(f->metadata, e->metadata, e->metadata_len);
        f->metadata_len = e->metadata_len;
        o->form_count++;
        size_t padded = f->metadata_len;
        f->metadata_len = etl_u16(f->metadata);
        understand(f);
        f->metadata_len = padded;
    }
    o->recent = i;
    return f;
}

// ----------------------------------------------------------------------------------------- numbers

static int64_t stream_key(const co_etl_event *e)
{
    uint64_t key = (uint64_t)e->pid << 32 | e->tid;
    key = (key ^ key >> 29) * 0x9e3779b97f4a7c15u;
    key ^= e->keyword << 8 | e->level;
    return (int64_t)((key ^ key >> 32) * 0xbf58476d1ce4e5b9u);
}

static uint64_t missing(const stream *s)
{
    uint64_t written = (uint64_t)s->last - s->first + 1;
    return s->lost_before + (written > s->seen ? written - s->seen : 0);
}

static void count(co_own *o, const co_etl_event *e, uint32_t sequence)
{
    size_t place = o->streams.len / sizeof(stream);
    int64_t key = stream_key(e);
    if (!cm_map_find(&o->stream_of, key, &place)) {
        stream fresh = {.pid = e->pid, .first = sequence, .last = sequence, .seen = 1};
        if (place >= STREAMS_MAX || !cm_map_put(&o->stream_of, key, place))
            return;
        cm_buf_append(&o->streams, &fresh, sizeof fresh);
        return;
    }
    if (place >= o->streams.len / sizeof(stream))
        return; // memory was short
    stream *s = (stream *)(void *)o->streams.data + place;
    if (sequence == 1 || (sequence < s->last && s->last - sequence > RESTART)) {
        // Another thread has got the id. The recording was on before, so it begins at 1.
        *s = (stream){
            .pid = s->pid, .first = 1, .last = sequence, .seen = 1, .lost_before = missing(s)};
        return;
    }
    s->seen++;
    s->last = sequence > s->last ? sequence : s->last;
    s->first = sequence < s->first ? sequence : s->first;
}

uint64_t co_own_lost(const co_own *o, uint32_t pid)
{
    const stream *s = (const stream *)(const void *)o->streams.data;
    uint64_t lost = 0;
    for (size_t i = 0; i < o->streams.len / sizeof *s; i++)
        lost += s[i].pid == pid ? missing(&s[i]) : 0;
    return lost;
}

uint64_t co_own_undecodable(const co_own *o)
{
    return o->undecodable;
}

// ---------------------------------------------------------------------------------------- decoding

typedef struct delivery {
    const form *form;
    co_own_fn *fn;
    void *context;
    co_own_event event;
    tl_field_value values[TL_FIELDS_MAX];
} delivery;

static bool deliver(delivery *d, const uint8_t *bytes, size_t len)
{
    if (!tl_decode(d->form->decoder, 1, bytes, len, &d->event.event, d->values))
        return false;
    if (d->event.event != TL_EVENT_PAD) // an event of a later version
        d->fn(d->context, &d->event);
    return true;
}

static bool deliver_batch(delivery *d, const uint8_t *bytes, size_t len)
{
    size_t size = d->form->element_bytes;
    size_t elements = len >= 2 ? etl_u16(bytes) : 0;
    if (len < 2 || elements * size > len - 2)
        return false;
    for (size_t i = 0; i < elements; i++) {
        const uint8_t *element = bytes + 2 + i * size;
        d->event.ticks = etl_u64(element);
        if (!deliver(d, element, size))
            return false;
    }
    return true;
}

bool co_own_decode(co_own *o, const co_etl_event *e, co_own_fn *fn, void *context)
{
    const form *f = form_of(o, e);
    size_t prefix = sizeof(tl_etw_prefix);
    bool good = f && f->decoder && e->data_len >= prefix;
    if (good) {
        delivery d = {.form = f, .fn = fn, .context = context};
        d.event = (co_own_event){.pid = e->pid,
                                 .thread = etl_u32(e->data + 4),
                                 .ticks = etl_u64(e->data + 8),
                                 .values = d.values};
        count(o, e, etl_u32(e->data));
        good = f->batched ? deliver_batch(&d, e->data + prefix, e->data_len - prefix)
                          : deliver(&d, e->data, e->data_len);
    }
    o->undecodable += !good;
    return good;
}
