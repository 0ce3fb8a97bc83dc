// SPDX-License-Identifier: MIT
// etl_dump FILE.etl [--time]: every event that can be decoded as a line of JSON, in the order of
// the file or of time, for the tests that compare values. With --payloads it reads lines "group
// opcode version pointer-size hex" from standard input instead and decodes those.
#include "collector/etl_kernel.h"
#include "collector/etl_tracelogging.h"
#include "common/json.h"
#include "common/os.h"
#include "common/utf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct dump {
    cm_out out;
    cm_json json;
    cm_out text; // of one value
} dump;

static uint64_t number_at(const uint8_t *p, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)p[i] << 8 * i;
    return value;
}

static void put_utf16(dump *d, const uint8_t *p, size_t len)
{
    size_t count = len / 2;
    uint16_t *units = malloc(2 * count + 2);
    char *text = malloc(3 * count + 1);
    for (size_t i = 0; units && text && i < count; i++)
        units[i] = (uint16_t)number_at(p + 2 * i, 2);
    if (units && text)
        cm_json_bytes(&d->json, text, cm_utf16_to_utf8(units, count, text, 3 * count + 1));
    free(units);
    free(text);
}

static void put_sid(dump *d, const uint8_t *p)
{
    cm_out_clear(&d->text);
    uint64_t authority = 0;
    for (int i = 0; i < 6; i++)
        authority = authority << 8 | p[2 + i];
    cm_out_printf(&d->text, "S-%u-%" PRIu64, p[0], authority);
    for (unsigned i = 0; i < p[1]; i++)
        cm_out_printf(&d->text, "-%" PRIu64, number_at(p + 8 + 4 * i, 4));
    cm_json_string(&d->json, cm_out_string(&d->text));
}

static void put_hex(dump *d, const uint8_t *p, size_t len)
{
    cm_out_clear(&d->text);
    for (size_t i = 0; i < len; i++)
        cm_out_printf(&d->text, "%02x", p[i]);
    cm_json_string(&d->json, cm_out_string(&d->text));
}

// ------------------------------------------------------------------------------- kernel, manifest

static void put_field(dump *d, const co_etl_field *f, const co_etl_value *v, unsigned pointer)
{
    switch (f->type) {
    case CO_ETL_UTF16:
        put_utf16(d, v->bytes, v->len);
        break;
    case CO_ETL_ANSI:
        cm_json_bytes(&d->json, (const char *)v->bytes, v->len);
        break;
    case CO_ETL_USER_SID:
    case CO_ETL_SID:
        if (v->bytes)
            put_sid(d, v->bytes);
        else
            cm_json_null(&d->json);
        break;
    case CO_ETL_ADDRESSES:
        cm_json_begin_array(&d->json, CM_JSON_ONE_LINE);
        for (size_t i = 0; i < v->len; i += pointer)
            cm_json_uint(&d->json, number_at(v->bytes + i, pointer));
        cm_json_end(&d->json);
        break;
    default:
        if (f->type >= CO_ETL_I8 && f->type <= CO_ETL_I64)
            cm_json_int(&d->json, (int64_t)v->number);
        else
            cm_json_uint(&d->json, v->number);
    }
}

static void put_layout(dump *d, const co_etl_layout *layout, const co_etl_event *e)
{
    co_etl_value values[CO_ETL_FIELDS_MAX];
    size_t residual = co_etl_decode(layout, e, values);
    cm_json_key(&d->json, "name");
    cm_out_clear(&d->text);
    cm_out_printf(&d->text, "%s/%s/v%u", layout->category, layout->operation, e->version);
    cm_json_string(&d->json, cm_out_string(&d->text));
    cm_json_key(&d->json, "fields");
    cm_json_begin_object(&d->json, CM_JSON_ONE_LINE);
    for (unsigned i = 0; i < layout->field_count; i++) {
        if (!values[i].present)
            continue;
        cm_json_key(&d->json, layout->fields[i].name);
        put_field(d, &layout->fields[i], &values[i], e->pointer_size);
    }
    cm_json_end(&d->json);
    cm_json_key(&d->json, "residual");
    cm_json_uint(&d->json, residual);
}

// ------------------------------------------------------------------------------------ TraceLogging

static void put_value(dump *d, const co_tlg_token *t)
{
    int64_t number;
    switch ((co_tlg_type)t->field->type) {
    case CO_TLG_UTF16:
    case CO_TLG_COUNTED_UTF16:
        put_utf16(d, t->bytes, t->len);
        break;
    case CO_TLG_ANSI:
    case CO_TLG_COUNTED_ANSI:
        cm_json_bytes(&d->json, (const char *)t->bytes, t->len);
        break;
    case CO_TLG_GUID: {
        char text[CO_ETL_GUID_TEXT];
        co_etl_guid_text(t->bytes, text);
        cm_json_string(&d->json, text);
        break;
    }
    case CO_TLG_FLOAT: {
        float value;
        memcpy(&value, t->bytes, sizeof value);
        cm_json_number(&d->json, (double)value, 9);
        break;
    }
    case CO_TLG_DOUBLE: {
        double value;
        memcpy(&value, t->bytes, sizeof value);
        cm_json_number(&d->json, value, 15);
        break;
    }
    case CO_TLG_SYSTEMTIME:
        cm_json_begin_array(&d->json, CM_JSON_ONE_LINE);
        for (unsigned i = 0; i < 8; i++)
            cm_json_uint(&d->json, number_at(t->bytes + 2 * i, 2));
        cm_json_end(&d->json);
        break;
    case CO_TLG_SID:
        put_sid(d, t->bytes);
        break;
    default:
        if (!co_tlg_number(t, &number))
            put_hex(d, t->bytes, t->len);
        else if (number < 0 && t->len == 8 && t->field->type != CO_TLG_I64)
            cm_json_uint(&d->json, (uint64_t)number);
        else
            cm_json_int(&d->json, number);
    }
}

// Members and fields keep their order: each is an array of name and value.
static void put_token(void *context, const co_tlg_token *t)
{
    dump *d = context;
    bool ends = t->kind == CO_TLG_END_ARRAY || t->kind == CO_TLG_END_STRUCT;
    if (ends)
        cm_json_end(&d->json);
    if (!t->element && !ends) {
        cm_json_begin_array(&d->json, CM_JSON_ONE_LINE);
        cm_json_bytes(&d->json, t->field->name, t->field->name_len);
    }
    if (t->kind == CO_TLG_VALUE)
        put_value(d, t);
    else if (!ends)
        cm_json_begin_array(&d->json, CM_JSON_ONE_LINE);
    if (!t->element && (ends || t->kind == CO_TLG_VALUE))
        cm_json_end(&d->json);
}

static void put_tracelogging(dump *d, const co_etl_event *e)
{
    co_tlg_schema schema;
    size_t residual = 0;
    const char *name;
    size_t len;
    if (!co_tlg_schema_parse(e->metadata, e->metadata_len, &schema))
        return;
    cm_json_key(&d->json, "provider_name");
    if (e->traits && co_tlg_provider_name(e->traits, e->traits_len, &name, &len))
        cm_json_bytes(&d->json, name, len);
    else
        cm_json_null(&d->json);
    cm_json_key(&d->json, "event");
    cm_json_bytes(&d->json, schema.name, schema.name_len);
    cm_json_key(&d->json, "fields");
    cm_json_begin_array(&d->json, CM_JSON_ONE_LINE);
    bool whole =
        co_tlg_values(&schema, e->data, e->data_len, e->pointer_size, put_token, d, &residual);
    cm_json_end(&d->json);
    cm_json_key(&d->json, "residual");
    cm_json_int(&d->json, whole ? (int64_t)residual : -1);
}

// ------------------------------------------------------------------------------------------ events

static void put_id(dump *d, const char *key, uint32_t id)
{
    cm_json_key(&d->json, key);
    if (id == CO_ETL_UNKNOWN)
        cm_json_null(&d->json);
    else
        cm_json_uint(&d->json, id);
}

static void put_head(dump *d, const co_etl_event *e)
{
    char guid[CO_ETL_GUID_TEXT];
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {{"family", e->family},   {"cpu", e->cpu},         {"group", e->group},
                   {"opcode", e->opcode},   {"version", e->version}, {"level", e->level},
                   {"channel", e->channel}, {"id", e->id},           {"keyword", e->keyword}};
    cm_json_key(&d->json, "ts");
    cm_json_int(&d->json, e->time);
    put_id(d, "pid", e->pid);
    put_id(d, "tid", e->tid);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        cm_json_key(&d->json, numbers[i].key);
        cm_json_uint(&d->json, numbers[i].value);
    }
    co_etl_guid_text(e->provider, guid);
    cm_json_key(&d->json, "provider");
    cm_json_string(&d->json, guid);
    co_etl_guid_text(e->activity, guid);
    cm_json_key(&d->json, "activity");
    cm_json_string(&d->json, guid);
}

static bool put_event(void *context, const co_etl_event *e)
{
    dump *d = context;
    const co_etl_layout *layout = co_etl_layout_of(e);
    cm_json_init(&d->json, &d->out);
    cm_json_begin_object(&d->json, CM_JSON_ONE_LINE);
    put_head(d, e);
    if (e->metadata)
        put_tracelogging(d, e);
    else if (layout)
        put_layout(d, layout, e);
    cm_json_end(&d->json);
    return !cm_out_failed(&d->out);
}

static void put_payloads(dump *d)
{
    static char line[65536];
    static uint8_t bytes[32768];
    unsigned group, opcode, version, pointer;
    int at;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%u %u %u %u %n", &group, &opcode, &version, &pointer, &at) != 4)
            continue;
        co_etl_event e = {.family = CO_ETL_KERNEL,
                          .group = (uint8_t)group,
                          .opcode = (uint8_t)opcode,
                          .version = (uint16_t)version,
                          .pointer_size = (uint8_t)pointer,
                          .data = bytes};
        for (unsigned byte; sscanf(line + at, "%2x", &byte) == 1; at += 2)
            bytes[e.data_len++] = (uint8_t)byte;
        put_event(d, &e);
    }
}

static cm_status write_out(void *context, const void *bytes, size_t len)
{
    (void)context;
    return cm_stream_write(CM_STDOUT, bytes, len);
}

int main(int argc, char **argv)
{
    dump d = {0};
    co_etl *recording = NULL;
    cm_status status = CM_USAGE;
    cm_console_init();
    cm_out_init_sink(&d.out, write_out, NULL);
    cm_out_init_memory(&d.text);
    if (argc == 2 && strcmp(argv[1], "--payloads") == 0) {
        put_payloads(&d);
        status = CM_OK;
    } else if (argc > 1) {
        bool by_time = argc > 2 && strcmp(argv[2], "--time") == 0;
        co_etl_visitor visitor = {.context = &d, .event = put_event};
        status = co_etl_open(argv[1], &recording);
        if (status == CM_OK)
            status = co_etl_read(recording, by_time ? CO_ETL_BY_TIME : CO_ETL_BY_FILE, &visitor);
    }
    co_etl_close(recording);
    if (status == CM_OK)
        status = cm_out_flush(&d.out);
    else
        fprintf(stderr, "etl_dump: %s\n", cm_error_text(status));
    cm_out_deinit(&d.out);
    cm_out_deinit(&d.text);
    return cm_exit_code(status);
}
