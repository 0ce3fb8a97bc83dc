// SPDX-License-Identifier: MIT
#include "collector/etl_tracelogging.h"

#include "etl_bytes.h"

#define DEPTH_MAX  8u
#define VALUES_MAX 131072u // more than an event of 64 KB can hold, but for types without bytes

static bool take_name(etl_cursor *c, const char **name, size_t *len)
{
    const uint8_t *end = c->at;
    while (end < c->end && *end)
        end++;
    if (end == c->end)
        return false;
    *name = (const char *)c->at;
    *len = (size_t)(end - c->at);
    c->at = end + 1;
    return true;
}

// Bytes of seven bits each; the highest bit says that another follows.
static bool skip_tags(etl_cursor *c)
{
    const uint8_t *p;
    do
        if (!(p = etl_take(c, 1)))
            return false;
    while (*p & 0x80u);
    return true;
}

static bool take_field(etl_cursor *c, co_tlg_field *f)
{
    const uint8_t *p;
    *f = (co_tlg_field){0};
    if (!take_name(c, &f->name, &f->name_len) || !(p = etl_take(c, 1)))
        return false;
    unsigned in = *p;
    f->type = in & 0x1fu;
    f->count = (co_tlg_count)(in >> 5 & 3u);
    if (in & 0x80u) {
        if (!(p = etl_take(c, 1)))
            return false;
        f->out = *p & 0x7fu;
        if (*p & 0x80u && !skip_tags(c))
            return false;
    }
    if (f->count == CO_TLG_FIXED || f->count == CO_TLG_CUSTOM) {
        if (!(p = etl_take(c, 2)))
            return false;
        f->fixed_count = etl_u16(p); // custom: length of a description that we don't know
        if (f->count == CO_TLG_CUSTOM && !etl_take(c, f->fixed_count))
            return false;
    }
    return f->type < CO_TLG_TYPES;
}

bool co_tlg_schema_parse(const uint8_t *metadata, size_t len, co_tlg_schema *out)
{
    if (len < 2 || etl_u16(metadata) < 2)
        return false;
    size_t size = etl_u16(metadata);
    etl_cursor c = {metadata + 2, metadata + (size < len ? size : len)};
    out->field_count = 0;
    if (!skip_tags(&c) || !take_name(&c, &out->name, &out->name_len))
        return false;
    while (etl_left(&c)) {
        if (out->field_count == CO_TLG_FIELDS_MAX ||
            !take_field(&c, &out->fields[out->field_count]))
            return false;
        out->field_count++;
    }
    return true;
}

// ----------------------------------------------------------------------------------------- values

typedef struct walk {
    const co_tlg_schema *schema;
    etl_cursor data;
    unsigned pointer_size;
    unsigned values_left;
    co_tlg_token_fn fn;
    void *context;
} walk;

static bool take_value(walk *w, const co_tlg_field *f, co_tlg_token *t)
{
    static const uint8_t sizes[CO_TLG_TYPES] = {
        [CO_TLG_I8] = 1,       [CO_TLG_U8] = 1,          [CO_TLG_I16] = 2,    [CO_TLG_U16] = 2,
        [CO_TLG_I32] = 4,      [CO_TLG_U32] = 4,         [CO_TLG_I64] = 8,    [CO_TLG_U64] = 8,
        [CO_TLG_FLOAT] = 4,    [CO_TLG_DOUBLE] = 8,      [CO_TLG_BOOL32] = 4, [CO_TLG_GUID] = 16,
        [CO_TLG_FILETIME] = 8, [CO_TLG_SYSTEMTIME] = 16, [CO_TLG_HEX32] = 4,  [CO_TLG_HEX64] = 8,
    };
    const uint8_t *p;
    if (f->count == CO_TLG_CUSTOM) {
        p = etl_take(&w->data, 2);
        t->len = p ? etl_u16(p) : 0;
        return p && (t->bytes = etl_take(&w->data, t->len)) != NULL;
    }
    switch ((co_tlg_type)f->type) {
    case CO_TLG_UTF16:
    case CO_TLG_ANSI:
        if (etl_left(&w->data) < (f->type == CO_TLG_UTF16 ? 2u : 1u))
            return false;
        t->bytes = etl_take_text(&w->data, f->type == CO_TLG_UTF16 ? 2 : 1, &t->len);
        return true;
    case CO_TLG_BINARY:
    case CO_TLG_COUNTED_UTF16:
    case CO_TLG_COUNTED_ANSI:
    case CO_TLG_COUNTED_BINARY:
        p = etl_take(&w->data, 2);
        t->len = p ? etl_u16(p) : 0;
        return p && (t->bytes = etl_take(&w->data, t->len)) != NULL;
    case CO_TLG_SID:
        return (t->bytes = etl_take_sid(&w->data, &t->len)) != NULL;
    case CO_TLG_POINTER:
        t->len = w->pointer_size;
        break;
    default:
        t->len = sizes[f->type];
        break;
    }
    return (t->bytes = etl_take(&w->data, t->len)) != NULL;
}

static void tell(walk *w, co_tlg_token_kind kind, const co_tlg_field *f, bool element)
{
    co_tlg_token t = {.kind = kind, .field = f, .element = element};
    w->fn(w->context, &t);
}

static bool walk_fields(walk *w, unsigned *at, unsigned count, unsigned depth);

// One field, or one element of it. *at is the field's number; it moves behind what belongs to it.
static bool walk_one(walk *w, unsigned *at, unsigned depth, bool element)
{
    const co_tlg_field *f = &w->schema->fields[*at];
    if (w->values_left-- == 0)
        return false;
    ++*at;
    if (f->type == CO_TLG_STRUCT) {
        tell(w, CO_TLG_BEGIN_STRUCT, f, element);
        bool whole = walk_fields(w, at, f->out, depth + 1);
        tell(w, CO_TLG_END_STRUCT, f, element);
        return whole;
    }
    co_tlg_token t = {.kind = CO_TLG_VALUE, .field = f, .element = element};
    if (!take_value(w, f, &t))
        return false;
    w->fn(w->context, &t);
    return true;
}

// Moves *at behind a field and all that belongs to it; for arrays that are empty.
static void skip_field(const co_tlg_schema *s, unsigned *at)
{
    unsigned left = 1;
    for (; left && *at < s->field_count; ++*at)
        left += (s->fields[*at].type == CO_TLG_STRUCT ? s->fields[*at].out : 0u) - 1u;
}

static bool walk_array(walk *w, unsigned *at, unsigned depth)
{
    const co_tlg_field *f = &w->schema->fields[*at];
    unsigned count = f->fixed_count;
    if (w->values_left-- == 0)
        return false;
    if (f->count == CO_TLG_VARIABLE) {
        const uint8_t *p = etl_take(&w->data, 2);
        if (!p)
            return false;
        count = etl_u16(p);
    }
    unsigned behind = *at;
    bool whole = true;
    tell(w, CO_TLG_BEGIN_ARRAY, f, false);
    skip_field(w->schema, &behind);
    for (unsigned i = 0; i < count && whole; i++) {
        unsigned element = *at;
        whole = walk_one(w, &element, depth, true);
    }
    tell(w, CO_TLG_END_ARRAY, f, false);
    *at = behind;
    return whole;
}

static bool walk_fields(walk *w, unsigned *at, unsigned count, unsigned depth)
{
    if (depth > DEPTH_MAX)
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (*at >= w->schema->field_count)
            return false;
        co_tlg_count how = w->schema->fields[*at].count;
        bool whole = how == CO_TLG_FIXED || how == CO_TLG_VARIABLE ? walk_array(w, at, depth)
                                                                   : walk_one(w, at, depth, false);
        if (!whole)
            return false;
    }
    return true;
}

bool co_tlg_values(const co_tlg_schema *schema, const uint8_t *data, size_t len,
                   unsigned pointer_size, co_tlg_token_fn fn, void *context, size_t *residual)
{
    walk w = {.schema = schema,
              .data = {data, data + len},
              .pointer_size = pointer_size,
              .values_left = VALUES_MAX,
              .fn = fn,
              .context = context};
    bool whole = true;
    for (unsigned at = 0; at < schema->field_count && whole;)
        whole = walk_fields(&w, &at, 1, 0);
    *residual = etl_left(&w.data);
    return whole;
}

bool co_tlg_number(const co_tlg_token *token, int64_t *out)
{
    size_t len = token->len;
    if (token->kind != CO_TLG_VALUE || token->field->count == CO_TLG_CUSTOM ||
        (len != 1 && len != 2 && len != 4 && len != 8))
        return false;
    switch ((co_tlg_type)token->field->type) {
    case CO_TLG_I8:
        *out = (int8_t)token->bytes[0];
        return true;
    case CO_TLG_I16:
        *out = (int16_t)etl_u16(token->bytes);
        return true;
    case CO_TLG_I32:
        *out = (int32_t)etl_u32(token->bytes);
        return true;
    case CO_TLG_U8:
    case CO_TLG_U16:
    case CO_TLG_U32:
    case CO_TLG_I64:
    case CO_TLG_U64:
    case CO_TLG_BOOL32:
    case CO_TLG_POINTER:
    case CO_TLG_FILETIME:
    case CO_TLG_HEX32:
    case CO_TLG_HEX64:
        *out = (int64_t)etl_number(token->bytes, (unsigned)len);
        return true;
    default:
        return false;
    }
}

bool co_tlg_provider_name(const uint8_t *traits, size_t len, const char **name, size_t *name_len)
{
    if (len < 2)
        return false;
    size_t size = etl_u16(traits);
    etl_cursor c = {traits + 2, traits + (size < len ? size : len)};
    return size >= 2 && take_name(&c, name, name_len);
}
