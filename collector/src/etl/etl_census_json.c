// SPDX-License-Identifier: MIT
// The census as JSON. Numbers that the recording itself names keep its names (logfile_header).
#include "etl_census_internal.h"

#include "etl_classes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_time(cm_json *j, const char *key, bool known, int64_t value)
{
    cm_json_key(j, key);
    if (known)
        cm_json_int(j, value);
    else
        cm_json_null(j);
}

static void put_header(cm_json *j, const co_etl_header *h)
{
    char version[32];
    snprintf(version, sizeof version, "%u.%u.%u.%u", h->version[0], h->version[1], h->version[2],
             h->version[3]);
    cm_json_key(j, "logfile_header");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_uint(j, "BufferSize", h->buffer_size);
    cm_json_key_string(j, "Version", version);
    cm_json_key_uint(j, "ProviderVersion", h->build);
    cm_json_key_uint(j, "NumberOfProcessors", h->processors);
    cm_json_key_uint(j, "EndTime", h->end_time);
    cm_json_key_uint(j, "TimerResolution", h->timer_resolution);
    cm_json_key_uint(j, "MaximumFileSize", h->maximum_file_size);
    cm_json_key_uint(j, "LogFileMode", h->mode);
    cm_json_key_uint(j, "BuffersWritten", h->buffers_written);
    cm_json_key_uint(j, "StartBuffers", h->start_buffers);
    cm_json_key_uint(j, "PointerSize", h->pointer_size);
    cm_json_key_uint(j, "EventsLost", h->events_lost);
    cm_json_key_uint(j, "CpuSpeedInMHz", h->cpu_mhz);
    cm_json_key_uint(j, "LoggerNamePtr", h->logger_name_pointer);
    cm_json_key_uint(j, "LogFileNamePtr", h->file_name_pointer);
    put_time(j, "TimeZoneBias", true, h->time_zone_bias);
    cm_json_key_string(j, "TimeZoneStandardName", h->time_zone);
    cm_json_key_uint(j, "BootTime", h->boot_time);
    put_time(j, "PerfFreq", true, h->perf_freq);
    cm_json_key_uint(j, "StartTime", h->start_time);
    cm_json_key_uint(j, "ReservedFlags", h->clock);
    cm_json_key_uint(j, "BuffersLost", h->buffers_lost);
    cm_json_key_string(j, "LoggerName", h->logger_name);
    cm_json_key_string(j, "LogFileName", h->file_name);
    cm_json_end(j);
}

static void put_clock(cm_json *j, const co_etl_header *h)
{
    static const char *const names[] = {"?", "QPC", "system time", "CPU cycles"};
    put_time(j, "first_event_timestamp", true, h->first_time);
    cm_json_key(j, "clock");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_uint(j, "type", h->clock);
    cm_json_key_string(j, "name", names[h->clock < 4 ? h->clock : 0]);
    put_time(j, "perf_freq", true, h->perf_freq);
    cm_json_key_uint(j, "start_filetime", h->start_time);
    put_time(j, "start_ts", true, h->first_time);
    cm_json_end(j);
}

// ----------------------------------------------------------------------------------------- tallies

typedef struct pair {
    uint64_t key;
    uint64_t count;
} pair;

static int compare_pairs(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

// The tally's numbers in ascending order; NULL if it is empty or there is no memory. Free it.
static pair *sorted(const cm_map *map, size_t *out_count)
{
    pair *pairs = map->count ? malloc(map->count * sizeof *pairs) : NULL;
    size_t count = 0;
    for (size_t i = 0; pairs && i < map->capacity; i++)
        if (map->slots[i].value_plus_1)
            pairs[count++] = (pair){(uint64_t)map->slots[i].key, map->slots[i].value_plus_1 - 1};
    if (pairs)
        qsort(pairs, count, sizeof *pairs, compare_pairs);
    *out_count = count;
    return pairs;
}

static void put_tally(cm_json *j, const char *key, const cm_map *map, const char *format)
{
    size_t count;
    pair *pairs = sorted(map, &count);
    cm_json_key(j, key);
    cm_json_begin_object(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, format[0] == 'x' ? "0x%04" PRIx64 : "%" PRIu64, pairs[i].key);
        cm_json_key_uint(j, name, pairs[i].count);
    }
    cm_json_end(j);
    free(pairs);
}

static void put_buffers(cm_json *j, const co_etl_census *c)
{
    bool any = c->buffer_count != 0;
    cm_json_key(j, "buffers");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_uint(j, "count", c->buffer_count);
    put_tally(j, "by_type", &c->buffer_types, "d");
    put_tally(j, "by_flag", &c->buffer_flags, "x");
    put_tally(j, "by_cpu", &c->buffer_cpus, "d");
    cm_json_key(j, "seq_in_file_order");
    cm_json_bool(j, c->sequence_ordered);
    put_time(j, "seq_min", any, c->sequence_min);
    put_time(j, "seq_max", any, c->sequence_max);
    cm_json_end(j);
}

// ----------------------------------------------------------------------------------------- events

static const char *header_name(unsigned type)
{
    static const char *const names[] = {
        [1] = "SYSTEM32",        [2] = "SYSTEM64",        [3] = "COMPACT32",
        [4] = "COMPACT64",       [10] = "FULL_HEADER32",  [11] = "INSTANCE32",
        [12] = "TIMED",          [13] = "ERROR",          [14] = "WNODE_HEADER",
        [15] = "MESSAGE",        [16] = "PERFINFO32",     [17] = "PERFINFO64",
        [18] = "EVENT_HEADER32", [19] = "EVENT_HEADER64", [20] = "FULL_HEADER64",
        [21] = "INSTANCE64",
    };
    return type < sizeof names / sizeof *names && names[type] ? names[type] : "?";
}

static const char *item_name(unsigned type)
{
    static const char *const names[32] = {
        [1] = "RELATED_ACTIVITYID",
        [2] = "SID",
        [3] = "TS_ID",
        [4] = "INSTANCE_INFO",
        [5] = "STACK_TRACE32",
        [6] = "STACK_TRACE64",
        [7] = "PEBS_INDEX",
        [8] = "PMC_COUNTERS",
        [9] = "PSM_KEY",
        [10] = "EVENT_KEY",
        [11] = "EVENT_SCHEMA_TL",
        [12] = "PROV_TRAITS",
        [13] = "PROCESS_START_KEY",
        [14] = "CONTROL_GUID",
        [15] = "QPC_DELTA",
        [16] = "CONTAINER_ID",
        [17] = "STACK_KEY32",
        [18] = "STACK_KEY64",
    };
    return names[type] ? names[type] : "?";
}

static void put_providers(cm_json *j, const co_etl_census *c)
{
    cm_json_key(j, "by_provider");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (uint32_t i = 0; i < c->provider_count; i++) {
        const etl_provider *p = &c->providers[i];
        char guid[CO_ETL_GUID_TEXT];
        co_etl_guid_text(p->guid, guid);
        if (p->count == 0)
            continue;
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_string(j, "provider", p->has_guid ? guid : NULL);
        cm_json_key_string(j, "name", co_etl_census_name(p));
        cm_json_key_uint(j, "count", p->count);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void put_array(cm_json *j, const char *key, const uint64_t *counts, size_t count,
                      const char *(*name_of)(unsigned), bool hex)
{
    cm_json_key(j, key);
    cm_json_begin_object(j, CM_JSON_INDENTED);
    for (unsigned i = 0; i < count; i++) {
        char name[64];
        if (counts[i] == 0)
            continue;
        snprintf(name, sizeof name, hex ? "0x%02x%s%s" : "%u%s%s", i, name_of ? " " : "",
                 name_of ? name_of(i) : "");
        cm_json_key_uint(j, name, counts[i]);
    }
    cm_json_end(j);
}

static void put_events(cm_json *j, const co_etl_census *c)
{
    bool absolute = c->timed && co_etl_has_time(c->header);
    cm_json_key(j, "events");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_uint(j, "total", c->event_count);
    put_providers(j, c);
    put_array(j, "by_header", c->by_header, 256, header_name, true);
    put_time(j, "filetime_min", absolute, (int64_t)co_etl_filetime(c->header, c->time_min));
    put_time(j, "filetime_max", absolute, (int64_t)co_etl_filetime(c->header, c->time_max));
    put_time(j, "ts_min", c->timed, c->time_min);
    put_time(j, "ts_max", c->timed, c->time_max);
    cm_json_key_uint(j, "distinct_pids", c->pids.count);
    cm_json_key_uint(j, "distinct_tids", c->tids.count);
    cm_json_key_uint(j, "user_bytes", c->user_bytes);
    cm_json_key_uint(j, "non_monotonic_within_buffer", c->unordered_in_buffer);
    cm_json_key_uint(j, "non_monotonic_per_cpu_file_order", c->unordered_in_cpu);
    put_array(j, "channels", c->channels, 256, NULL, false);
    put_tally(j, "event_header_flags", &c->event_flags, "x");
    cm_json_key_uint(j, "with_activity_id", c->with_activity);
    cm_json_end(j);
}

// "event:GUID/id1/op1/v3", "classic:GUID/op10/v2", "kernel:Process(3)/op1/v4", "type99"
static void key_name(const co_etl_census *c, uint64_t key, char *out, size_t size)
{
    char guid[CO_ETL_GUID_TEXT] = "?";
    unsigned family = key >> 40 & 7u, id = key >> 24 & 0xffffu, opcode = key >> 16 & 0xffu,
             version = key & 0xffffu;
    uint64_t provider = key >> 43;
    if (provider < c->provider_count)
        co_etl_guid_text(c->providers[provider].guid, guid);
    if (family == CO_ETL_KERNEL)
        snprintf(out, size, "kernel:%s(%u)/op%u/v%u", co_etl_group_name((uint8_t)id), id, opcode,
                 version);
    else if (family == CO_ETL_CLASSIC)
        snprintf(out, size, "classic:%s/op%u/v%u", guid, opcode, version);
    else if (family == CO_ETL_EVENT)
        snprintf(out, size, "event:%s/id%u/op%u/v%u", guid, id, opcode, version);
    else if (family == CO_ETL_MESSAGE)
        snprintf(out, size, "message:%s/id%u", guid, id);
    else
        snprintf(out, size, "type%u", id);
}

static void put_keys(cm_json *j, const co_etl_census *c)
{
    size_t count;
    pair *pairs = sorted(&c->keys, &count);
    cm_json_key(j, "by_key");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < count; i++) {
        char name[96];
        key_name(c, pairs[i].key, name, sizeof name);
        cm_json_key_uint(j, name, pairs[i].count);
    }
    cm_json_end(j);
    free(pairs);
    cm_json_key(j, "by_guid");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    for (uint32_t i = 0; i < c->provider_count; i++) {
        char guid[CO_ETL_GUID_TEXT];
        co_etl_guid_text(c->providers[i].guid, guid);
        if (c->providers[i].by_guid)
            cm_json_key_uint(j, guid, c->providers[i].by_guid);
    }
    cm_json_end(j);
}

// ------------------------------------------------------------------------------------ TraceLogging

static void put_schema(cm_json *j, const co_etl_census *c, const etl_schema *s)
{
    co_tlg_schema schema;
    char guid[CO_ETL_GUID_TEXT];
    if (!co_tlg_schema_parse(c->schema_bytes.data + s->bytes_at, s->len, &schema))
        return;
    co_etl_guid_text(c->providers[s->provider].guid, guid);
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_string(j, "provider", guid);
    cm_json_key(j, "name");
    cm_json_bytes(j, schema.name, schema.name_len);
    cm_json_key_uint(j, "count", s->count);
    cm_json_key(j, "fields");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (unsigned i = 0; i < schema.field_count; i++) {
        const co_tlg_field *f = &schema.fields[i];
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key(j, "name");
        cm_json_bytes(j, f->name, f->name_len);
        cm_json_key_uint(j, "intype", f->type);
        cm_json_key_uint(j, "outtype", f->out);
        cm_json_key(j, "count");
        if (f->count == CO_TLG_FIXED)
            cm_json_uint(j, f->fixed_count);
        else
            cm_json_string(j, f->count == CO_TLG_VARIABLE ? "variable"
                              : f->count == CO_TLG_CUSTOM ? "custom"
                                                          : NULL);
        cm_json_end(j);
    }
    cm_json_end(j);
    cm_json_end(j);
}

static void put_tracelogging(cm_json *j, const co_etl_census *c)
{
    const etl_schema *schemas = (const etl_schema *)(const void *)c->schemas.data;
    cm_json_key(j, "tracelogging");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_uint(j, "decoded_ok", c->decoded);
    cm_json_key_uint(j, "errors", c->undecoded);
    cm_json_key_uint(j, "residual_bytes", c->residual_bytes);
    cm_json_key(j, "events");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < c->schemas.len / sizeof *schemas; i++)
        put_schema(j, c, &schemas[i]);
    cm_json_end(j);
    cm_json_end(j);
    cm_json_key(j, "provider_traits");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (uint32_t i = 0; i < c->provider_count; i++) {
        char guid[CO_ETL_GUID_TEXT];
        co_etl_guid_text(c->providers[i].guid, guid);
        if (!c->providers[i].name[0])
            continue;
        cm_json_begin_array(j, CM_JSON_ONE_LINE);
        cm_json_string(j, guid);
        cm_json_string(j, c->providers[i].name);
        cm_json_end(j);
    }
    cm_json_end(j);
}

void co_etl_census_json(const co_etl_census *c, cm_json *j)
{
    put_header(j, c->header);
    put_clock(j, c->header);
    cm_json_key_uint(j, "lost_events", c->header->events_lost);
    cm_json_key_uint(j, "lost_buffers", c->header->buffers_lost);
    put_buffers(j, c);
    put_events(j, c);
    put_array(j, "extended_items", c->items, 32, item_name, false);
    put_keys(j, c);
    put_tracelogging(j, c);
    cm_json_key(j, "errors");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (uint64_t i = 0; i < c->damage_count && i < ETL_DAMAGE_TEXTS; i++)
        cm_json_string(j, c->damage[i]);
    cm_json_end(j);
    cm_json_key_uint(j, "error_count", c->damage_count);
}
