// SPDX-License-Identifier: MIT
#include "etl_ort_fields.h"

#include "common/secret.h"
#include "etl_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void take_field(void *context, const co_tlg_token *t)
{
    ort_event *o = context;
    if (t->kind != CO_TLG_VALUE)
        o->depth += t->kind == CO_TLG_BEGIN_ARRAY || t->kind == CO_TLG_BEGIN_STRUCT ? 1u : -1u;
    else if (o->depth == 0 && o->field_count < ORT_FIELDS_MAX)
        o->fields[o->field_count++] = *t;
}

static bool is_named(const char *name, size_t len, const char *literal)
{
    return len == strlen(literal) && memcmp(name, literal, len) == 0;
}

bool co_ort_is(const ort_event *o, const char *name)
{
    return is_named(o->schema.name, o->schema.name_len, name);
}

const co_tlg_token *co_ort_field(const ort_event *o, const char *name)
{
    for (unsigned i = 0; i < o->field_count; i++)
        if (is_named(o->fields[i].field->name, o->fields[i].field->name_len, name))
            return &o->fields[i];
    return NULL;
}

bool co_ort_number(const ort_event *o, const char *name, int64_t *out)
{
    const co_tlg_token *t = co_ort_field(o, name);
    return t && co_tlg_number(t, out);
}

etl_text co_ort_text(const co_tlg_token *t)
{
    unsigned type = t ? t->field->type : CO_TLG_NULL;
    bool wide = type == CO_TLG_UTF16 || type == CO_TLG_COUNTED_UTF16;
    bool narrow = type == CO_TLG_ANSI || type == CO_TLG_COUNTED_ANSI;
    return wide || narrow ? (etl_text){t->bytes, t->len, wide} : (etl_text){0};
}

bool co_ort_read(ort_event *o)
{
    const co_etl_event *e = o->event;
    size_t residual;
    if (!co_tlg_schema_parse(e->metadata, e->metadata_len, &o->schema))
        return false;
    co_tlg_values(&o->schema, e->data, e->data_len, e->pointer_size, take_field, o, &residual);
    return true;
}

// The session's number has a column.
static bool is_left_out(const co_tlg_field *f)
{
    return (f->name_len > 6 && memcmp(f->name, "PartA_", 6) == 0) ||
           (f->name_len > 11 && memcmp(f->name, "UTCReplace_", 11) == 0) ||
           is_named(f->name, f->name_len, "schemaVersion") ||
           is_named(f->name, f->name_len, "modelMetaData") ||
           is_named(f->name, f->name_len, "sessionId");
}

// Options come as pairs of fields, or all in one text.
static bool is_secret(const ort_event *o, const co_tlg_token *t, const char *value, size_t len)
{
    const co_tlg_token *key = co_ort_field(o, "Key");
    if (key && is_named(t->field->name, t->field->name_len, "Value"))
        return cm_names_secret((const char *)key->bytes, key->len);
    return cm_names_secret(t->field->name, t->field->name_len) ||
           (is_named(t->field->name, t->field->name_len, "providerOptions") &&
            cm_names_secret(value, len));
}

static void put_field(const ort_event *o, const co_tlg_token *t, cm_out *out)
{
    char value[2048];
    int64_t n;
    etl_text text = co_ort_text(t);
    if (is_left_out(t->field))
        return;
    if (text.bytes)
        co_etl_text_utf8(text, value, sizeof value);
    else if (co_tlg_number(t, &n))
        snprintf(value, sizeof value, "%" PRId64, n);
    else
        return;
    if (is_secret(o, t, value, strlen(value)))
        snprintf(value, sizeof value, CM_HIDDEN);
    for (char *c = value; *c; c++)
        *c = *c == '\n' ? ' ' : *c; // a line is a field
    cm_out_printf(out, "%.*s=%s\n", (int)t->field->name_len, t->field->name, value);
}

void co_ort_put_fields(const ort_event *o, cm_out *out)
{
    for (unsigned i = 0; i < o->field_count; i++)
        put_field(o, &o->fields[i], out);
}
