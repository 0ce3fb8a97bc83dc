// SPDX-License-Identifier: MIT
#include "tap_decode.h"

#include "common/secret.h"
#include "common/utf.h"

#include <string.h>

enum {
    PART_EVENT = 1,  // the event's description; 0 is the provider's
    PART_VALUES = 2, // the first value
    CHAIN = 0x80,    // one more byte of flags follows
    COUNT_MASK = 0x60,
    TYPE_MASK = 0x1f,
};

// In-types of TraceLogging
enum {
    TYPE_WIDE = 1,
    TYPE_TEXT = 2,
    TYPE_I8 = 3,
    TYPE_U64 = 10,
    TYPE_DOUBLE = 12,
    TYPE_BOOL = 13,
    TYPE_GUID = 15,
    TYPE_POINTER = 16,
    TYPE_FILETIME = 17,
    TYPE_SYSTEMTIME = 18,
    TYPE_HEX32 = 20,
    TYPE_HEX64 = 21,
    TYPE_COUNTED_WIDE = 22,
    TYPE_COUNTED_TEXT = 23,
};

typedef struct reader {
    const uint8_t *at, *end; // description
    const hk_tap_part *part, *part_end;
    uint32_t offset; // in *part
} reader;

typedef struct field {
    hk_tap_text name;
    uint8_t type;
    bool is_number, is_signed, is_text;
    uint64_t number;
    hk_tap_text text;
    char wide[512];    // a text that had to be converted
    bool names_secret; // this or the field before: as a pair of Key and Value comes
} field;

bool hk_tap_is(hk_tap_text text, const char *literal)
{
    size_t len = 0;
    while (literal[len])
        len++;
    return text.len == len && memcmp(text.bytes, literal, len) == 0;
}

// ------------------------------------------------------------------------------------ descriptions

static bool take_name(reader *r, hk_tap_text *out)
{
    const uint8_t *begin = r->at;
    while (r->at < r->end && *r->at)
        r->at++;
    if (r->at == r->end)
        return false;
    *out = (hk_tap_text){(const char *)begin, (size_t)(r->at - begin)};
    r->at++;
    return true;
}

static bool open_event(reader *r, const hk_tap_part *parts, size_t count, hk_tap_text *name)
{
    if (count < PART_VALUES || parts[PART_EVENT].bytes < 4 || !parts[PART_EVENT].address)
        return false;
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)parts[PART_EVENT].address;
    uint16_t size;
    memcpy(&size, bytes, sizeof size);
    if (size > parts[PART_EVENT].bytes || size < 4)
        return false;
    *r = (reader){bytes + sizeof size, bytes + size, parts + PART_VALUES, parts + count, 0};
    while (r->at < r->end && (*r->at & CHAIN)) // tags
        r->at++;
    if (r->at == r->end)
        return false;
    r->at++;
    return take_name(r, name) && name->len;
}

static bool next_field(reader *r, field *f)
{
    if (r->at == r->end || !take_name(r, &f->name) || r->at == r->end)
        return false;
    uint8_t flags = f->type = *r->at++;
    while (flags & CHAIN) {
        if (r->at == r->end)
            return false;
        flags = *r->at++;
    }
    return !(f->type & COUNT_MASK); // ORT has no arrays
}

// ------------------------------------------------------------------------------------------ values

// The part that is not used up yet, NULL if none is left.
static const hk_tap_part *current(reader *r)
{
    while (r->part < r->part_end && r->offset >= r->part->bytes) {
        r->part++;
        r->offset = 0;
    }
    return r->part < r->part_end && r->part->address ? r->part : NULL;
}

// These bytes where they are, if they lie in one part.
static const uint8_t *take(reader *r, size_t bytes)
{
    const hk_tap_part *part = current(r);
    if (!part || bytes > part->bytes - r->offset)
        return NULL;
    const uint8_t *at = (const uint8_t *)(uintptr_t)part->address + r->offset;
    r->offset += (uint32_t)bytes;
    return at;
}

static size_t size_of(uint8_t type)
{
    static const uint8_t sizes[] = {0, 0, 0, 1, 1,  2, 2, 4,  4, 8, 8,
                                    4, 8, 4, 0, 16, 8, 8, 16, 0, 4, 8};
    return type < sizeof sizes ? sizes[type] : 0;
}

static bool take_number(reader *r, field *f, uint8_t type)
{
    size_t bytes = size_of(type);
    const uint8_t *at = take(r, bytes);
    if (!at)
        return false;
    f->is_number = (type >= TYPE_I8 && type <= TYPE_U64) || type == TYPE_BOOL ||
                   type == TYPE_POINTER || type == TYPE_HEX32 || type == TYPE_HEX64;
    if (!f->is_number)
        return true; // passed over: floats, identifiers, times
    f->number = 0;
    memcpy(&f->number, at, bytes);
    f->is_signed = type >= TYPE_I8 && type < TYPE_U64 && type % 2 == 1;
    if (f->is_signed && bytes < 8 && f->number >> (8 * bytes - 1))
        f->number |= UINT64_MAX << (8 * bytes);
    return true;
}

static void widen(field *f, const uint8_t *at, size_t units)
{
    uint16_t copy[sizeof f->wide / 3];
    units = units < sizeof copy / 2 ? units : sizeof copy / 2;
    memcpy(copy, at, 2 * units);
    f->text.len = cm_utf16_to_utf8(copy, units, f->wide, sizeof f->wide);
    f->text.bytes = f->wide;
}

static bool take_terminated(reader *r, field *f, size_t unit)
{
    const hk_tap_part *part = current(r);
    if (!part)
        return false;
    const uint8_t *at = (const uint8_t *)(uintptr_t)part->address + r->offset;
    size_t room = (part->bytes - r->offset) / unit, len = 0;
    while (len < room && (at[len * unit] || (unit == 2 && at[len * unit + 1])))
        len++;
    if (len == room)
        return false;
    r->offset += (uint32_t)((len + 1) * unit);
    f->text = (hk_tap_text){(const char *)at, len};
    if (unit == 2)
        widen(f, at, len);
    return true;
}

static bool take_counted(reader *r, field *f, size_t unit)
{
    uint16_t bytes;
    const uint8_t *at = take(r, sizeof bytes);
    if (!at)
        return false;
    memcpy(&bytes, at, sizeof bytes);
    f->text = (hk_tap_text){"", 0};
    if (!bytes)
        return true;
    if (!(at = take(r, bytes)))
        return false;
    f->text = (hk_tap_text){(const char *)at, bytes};
    if (unit == 2)
        widen(f, at, bytes / 2u);
    return true;
}

static bool take_value(reader *r, field *f)
{
    uint8_t type = f->type & TYPE_MASK;
    f->is_number = f->is_signed = f->is_text = false;
    switch (type) {
    case TYPE_WIDE:
    case TYPE_TEXT:
        f->is_text = true;
        return take_terminated(r, f, type == TYPE_WIDE ? 2 : 1);
    case TYPE_COUNTED_WIDE:
    case TYPE_COUNTED_TEXT:
        f->is_text = true;
        return take_counted(r, f, type == TYPE_COUNTED_WIDE ? 2 : 1);
    default:
        return size_of(type) != 0 && take_number(r, f, type);
    }
}

// ------------------------------------------------------------------------------------ what it says

static bool begins(hk_tap_text text, const char *literal)
{
    size_t len = 0;
    while (literal[len])
        len++;
    return text.len >= len && memcmp(text.bytes, literal, len) == 0;
}

// Of no use to anybody here; and what a model says about itself in free text may be long. The
// session's number is told apart from the text, which is then the same for all sessions and in the
// file once.
static bool is_left_out(hk_tap_text name)
{
    return begins(name, "UTCReplace_") || begins(name, "PartA_") ||
           hk_tap_is(name, "modelMetaData") || hk_tap_is(name, "schemaVersion") ||
           hk_tap_is(name, "sessionId");
}

static size_t put_number(char *to, uint64_t number, bool is_signed)
{
    char digits[24];
    size_t count = 0, at = 0;
    if (is_signed && number >> 63) {
        to[at++] = '-';
        number = -number;
    }
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count)
        to[at++] = digits[--count];
    return at;
}

// Options come as a pair of fields, or all in one text; the log may repeat them.
static void hide_secret(field *f)
{
    bool is_list = hk_tap_is(f->name, "providerOptions") || hk_tap_is(f->name, "message");
    if (f->is_text && (is_list || hk_tap_is(f->name, "Key")))
        f->names_secret = cm_names_secret(f->text.bytes, f->text.len);
    if (f->is_text && f->names_secret && (is_list || hk_tap_is(f->name, "Value")))
        f->text = (hk_tap_text){CM_HIDDEN, sizeof CM_HIDDEN - 1};
}

static void put_line(hk_tap_event *e, const field *f)
{
    size_t value_len = f->is_text ? f->text.len : 24;
    if (e->fields_len + f->name.len + value_len + 2 > sizeof e->fields)
        return;
    char *to = e->fields + e->fields_len;
    if (e->fields_len)
        *to++ = '\n';
    memcpy(to, f->name.bytes, f->name.len);
    to += f->name.len;
    *to++ = '=';
    if (f->is_number)
        to += put_number(to, f->number, f->is_signed);
    for (size_t i = 0; f->is_text && i < f->text.len; i++)
        *to++ = (uint8_t)f->text.bytes[i] < 0x20 ? ' ' : f->text.bytes[i];
    e->fields_len = (size_t)(to - e->fields);
}

static void note(hk_tap_event *e, const field *f)
{
    if (f->is_number) {
        if (hk_tap_is(f->name, "sessionId"))
            e->session = (uint32_t)f->number;
        else if (hk_tap_is(f->name, "errorCode"))
            e->code = (uint32_t)f->number;
        else if (hk_tap_is(f->name, "isSuccess"))
            e->success = f->number != 0;
        return;
    }
    const struct {
        const char *name;
        hk_tap_text *to;
    } texts[] = {{"modelFileName", &e->model},        {"modelGraphName", &e->graph},
                 {"modelProducerName", &e->producer}, {"executionProviderIds", &e->providers},
                 {"runtimeVersion", &e->version},     {"errorMessage", &e->message}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (f->is_text && f->text.bytes != f->wide && hk_tap_is(f->name, texts[i].name))
            *texts[i].to = f->text;
}

hk_tap_text hk_tap_event_name(const hk_tap_part *parts, size_t count)
{
    reader r;
    hk_tap_text name;
    return open_event(&r, parts, count, &name) ? name : (hk_tap_text){"", 0};
}

bool hk_tap_decode(const hk_tap_part *parts, size_t count, hk_tap_event *out)
{
    reader r;
    field f;
    memset(out, 0, offsetof(hk_tap_event, fields));
    f.names_secret = false;
    out->success = true;
    if (!open_event(&r, parts, count, &out->name))
        return false;
    while (next_field(&r, &f) && take_value(&r, &f)) {
        if (!f.is_number && !f.is_text)
            continue;
        note(out, &f);
        hide_secret(&f);
        if (!is_left_out(f.name) && (f.is_number || f.text.len))
            put_line(out, &f);
    }
    return true;
}
