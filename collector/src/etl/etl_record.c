// SPDX-License-Identifier: MIT
#include "etl_record.h"

#include "etl_bytes.h"

#include <string.h>

// The first four bytes: two of size or version, the header's type, flags.
#define FLAG_RECORD  0x80u
#define FLAG_EVENT   0x40u
#define FLAG_MESSAGE 0x10u
#define FILLER       0xffffffffu

typedef enum header_form { NO_FORM, SYSTEM, COMPACT, PERFINFO, FULL, INSTANCE, EVENT } header_form;

static const struct {
    uint8_t form, pointer_size, bytes;
} forms[] = {
    [0x01] = {SYSTEM, 4, 32},   [0x02] = {SYSTEM, 8, 32},   [0x03] = {COMPACT, 4, 24},
    [0x04] = {COMPACT, 8, 24},  [0x0a] = {FULL, 4, 48},     [0x0b] = {INSTANCE, 4, 72},
    [0x10] = {PERFINFO, 4, 16}, [0x11] = {PERFINFO, 8, 16}, [0x12] = {EVENT, 4, 80},
    [0x13] = {EVENT, 8, 80},    [0x14] = {FULL, 8, 48},     [0x15] = {INSTANCE, 8, 72},
};

// Group and opcode in place of a provider; hardware counters may stand before the data.
static void parse_kernel(const uint8_t *p, header_form form, co_etl_event *e, etl_cursor *c)
{
    unsigned word = etl_u16(p);
    e->family = CO_ETL_KERNEL;
    e->version = word & 0xffu;
    e->opcode = p[6];
    e->group = p[7];
    if (form == PERFINFO) {
        e->time = (int64_t)etl_u64(p + 8);
    } else {
        e->has_thread = true;
        e->tid = etl_u32(p + 8);
        e->pid = etl_u32(p + 12);
        e->time = (int64_t)etl_u64(p + 16);
    }
    size_t counters = (word >> 15 & 1u) + (word >> 8 & 7u);
    if (!etl_take(c, 8 * counters))
        c->at = c->end;
}

static void parse_classic(const uint8_t *p, co_etl_event *e)
{
    e->family = CO_ETL_CLASSIC;
    e->opcode = p[4];
    e->level = p[5];
    e->version = etl_u16(p + 6);
    e->has_thread = true;
    e->tid = etl_u32(p + 8);
    e->pid = etl_u32(p + 12);
    e->time = (int64_t)etl_u64(p + 16);
    memcpy(e->provider, p + 24, 16);
}

enum { ITEM_SCHEMA = 11, ITEM_TRAITS = 12, ITEM_MAX = 31 };

// The chain of items between header and data. An item says twice how long it is: where its data
// ends and where the next item starts; each is believed as far as the record goes. What follows an
// item that can't be left is taken for data.
static const char *parse_items(co_etl_event *e, etl_cursor *c)
{
    const char *problem = NULL;
    for (bool more = true; more;) {
        if (etl_left(c) < 8)
            return "an extended item that ends behind its record";
        size_t size = etl_u16(c->at), len = etl_u16(c->at + 6), room = etl_left(c) - 8;
        unsigned type = etl_u16(c->at + 2);
        more = etl_u16(c->at + 4) & 1u;
        if (size < 8 || len > size - 8)
            problem = "an extended item with more data than room";
        len = len < room ? len : room;
        e->items |= type <= ITEM_MAX ? 1u << type : 0;
        if (type == ITEM_SCHEMA) {
            e->metadata = c->at + 8;
            e->metadata_len = len;
        } else if (type == ITEM_TRAITS) {
            e->traits = c->at + 8;
            e->traits_len = len;
        }
        if (size < 8 || !etl_take(c, size))
            return "an extended item of an impossible size";
    }
    return problem;
}

static const char *parse_event(const uint8_t *p, co_etl_event *e, etl_cursor *c)
{
    e->family = CO_ETL_EVENT;
    e->flags = etl_u16(p + 4);
    e->has_thread = true;
    e->tid = etl_u32(p + 8);
    e->pid = etl_u32(p + 12);
    e->time = (int64_t)etl_u64(p + 16);
    memcpy(e->provider, p + 24, 16);
    e->id = etl_u16(p + 40);
    e->version = p[42];
    e->channel = p[43];
    e->level = p[44];
    e->opcode = p[45];
    e->task = etl_u16(p + 46);
    e->keyword = etl_u64(p + 48);
    memcpy(e->activity, p + 64, 16);
    return e->flags & 1u ? parse_items(e, c) : NULL;
}

// WPP: the flags tell which parts there are; they always stand in this order.
static const char *parse_message(co_etl_event *e, etl_cursor *c)
{
    const char *short_record = "a message that is shorter than its parts";
    unsigned parts = etl_u16(c->at + 6);
    e->family = CO_ETL_MESSAGE;
    e->id = etl_u16(c->at + 4);
    e->timed = false;
    e->pointer_size = parts & 0x80u ? 8 : 4;
    c->at += 8;
    const uint8_t *p;
    if (parts & 0x01u && !etl_take(c, 4)) // sequence number
        return short_record;
    if (parts & 0x02u) {
        if (!(p = etl_take(c, 16)))
            return short_record;
        memcpy(e->provider, p, 16);
    } else if (parts & 0x04u && !etl_take(c, 4)) { // component
        return short_record;
    }
    if (parts & 0x18u) {
        if (!(p = etl_take(c, 8)))
            return short_record;
        e->time = (int64_t)etl_u64(p);
        e->timed = true;
    }
    if (parts & 0x20u) {
        if (!(p = etl_take(c, 8)))
            return short_record;
        e->has_thread = true;
        e->tid = etl_u32(p);
        e->pid = etl_u32(p + 4);
    }
    return NULL;
}

static etl_record_result parse_parts(const uint8_t *p, size_t size, co_etl_event *out,
                                     const char **problem)
{
    etl_cursor c = {p, p + size};
    header_form form = out->header < sizeof forms / sizeof *forms ? forms[out->header].form : 0;
    if ((p[3] & (FLAG_EVENT | FLAG_MESSAGE)) == FLAG_MESSAGE) {
        *problem = parse_message(out, &c);
    } else if (form == NO_FORM) {
        *problem = "a record of an unknown kind";
        out->timed = false;
        c.at = c.end;
    } else {
        out->pointer_size = forms[out->header].pointer_size;
        if (!etl_take(&c, forms[out->header].bytes)) {
            *problem = "a record that is shorter than its header";
            return ETL_RECORD_BROKEN;
        }
        if (form == EVENT)
            *problem = parse_event(p, out, &c);
        else if (form == FULL || form == INSTANCE)
            parse_classic(p, out);
        else
            parse_kernel(p, form, out, &c);
    }
    out->data = c.at;
    out->data_len = etl_left(&c);
    return *problem ? ETL_RECORD_DAMAGED : ETL_RECORD;
}

etl_record_result co_etl_record_parse(const uint8_t *buffer, size_t used, size_t at, uint16_t cpu,
                                      co_etl_event *out, size_t *next, const char **problem)
{
    const uint8_t *p = buffer + at;
    size_t left = used - at;
    *problem = NULL;
    if (left < 8) {
        *problem = "a record that ends behind its buffer";
        return ETL_RECORD_BROKEN;
    }
    if (etl_u32(p) == FILLER)
        return ETL_RECORD_END;
    if (!(p[3] & FLAG_RECORD) || !(p[3] & (FLAG_EVENT | FLAG_MESSAGE))) {
        *problem = "bytes that are no record";
        return ETL_RECORD_BROKEN;
    }
    bool grouped = p[3] & FLAG_EVENT && (p[2] <= 0x04 || p[2] == 0x10 || p[2] == 0x11) && p[2];
    size_t size = etl_u16(grouped ? p + 4 : p);
    if (size < 8 || size > left) {
        *problem =
            size < 8 ? "a record of an impossible size" : "a record that ends behind its buffer";
        return ETL_RECORD_BROKEN;
    }
    *out = (co_etl_event){.family = CO_ETL_OTHER,
                          .header = p[2],
                          .pointer_size = 8,
                          .timed = true,
                          .pid = CO_ETL_UNKNOWN,
                          .tid = CO_ETL_UNKNOWN,
                          .cpu = cpu};
    *next = at + ((size + 7) & ~(size_t)7);
    return parse_parts(p, size, out, problem);
}
