// SPDX-License-Identifier: MIT
#include "sim_etw_record.h"

#include <string.h>
#include <wchar.h>

#define EVENT_HEADER_64     0x13u
#define SYSTEM_HEADER_64    0x02u
#define PERFINFO_HEADER_64  0x11u
#define EVENT_HEADER_BYTES  80u
#define ITEM_RELATED        1u
#define ITEM_SCHEMA         11u
#define ITEM_TRAITS         12u
#define ERROR_EVENT_TOO_BIG ERROR_ARITHMETIC_OVERFLOW

typedef struct sizes {
    uint32_t schema, payload, total, items;
} sizes;

static bool is_payload(const se_event *e, uint32_t i)
{
    uint32_t type = e->data[i].Reserved & 0xFF;
    return !e->typed ||
           (type != SE_DESCRIPTOR_EVENT_METADATA && type != SE_DESCRIPTOR_PROVIDER_METADATA);
}

static bool is_schema(const se_event *e, uint32_t i)
{
    return e->typed && (e->data[i].Reserved & 0xFF) == SE_DESCRIPTOR_EVENT_METADATA;
}

static uint32_t item_bytes(uint32_t data_len)
{
    return (8 + data_len + 7) & ~7u;
}

static ULONG measure(const se_event *e, sizes *out)
{
    uint64_t schema = 0, payload = 0;
    for (uint32_t i = 0; i < e->count; i++) {
        schema += is_schema(e, i) ? e->data[i].Size : 0;
        payload += is_payload(e, i) ? e->data[i].Size : 0;
    }
    if (schema + payload + e->traits_len + EVENT_HEADER_BYTES + 64 > SE_MAX_RECORD)
        return ERROR_EVENT_TOO_BIG;
    *out = (sizes){.schema = (uint32_t)schema, .payload = (uint32_t)payload};
    out->total = EVENT_HEADER_BYTES + out->payload;
    if (e->related)
        out->items++, out->total += item_bytes(16);
    if (e->typed && e->traits_len)
        out->items++, out->total += item_bytes(e->traits_len);
    if (schema)
        out->items++, out->total += item_bytes(out->schema);
    return ERROR_SUCCESS;
}

static se_origin origin_of(const se_origin *given)
{
    if (given)
        return *given;
    return (se_origin){
        .pid = GetCurrentProcessId(), .tid = GetCurrentThreadId(), .cpu = SE_FOREVER};
}

static int64_t stamp_of(const se_session *s, const se_origin *o)
{
    return o->stamp_is_given ? o->stamp : se_session_now(s) + o->stamp;
}

static uint32_t cpu_of(const se_session *s, const se_origin *o)
{
    return o->cpu == SE_FOREVER || s->mode & SE_MODE_ONE_STREAM ? se_cpu(s) : o->cpu % SE_CPUS;
}

// Header of an item; the bytes behind it up to the next one are zeroed. Returns where its data
// goes.
static uint8_t *put_item(uint8_t **at, uint32_t *left, uint16_t type, uint32_t len)
{
    uint32_t bytes = item_bytes(len);
    uint8_t *item = *at;
    memset(item, 0, bytes);
    uint16_t fields[4] = {(uint16_t)bytes, type, --*left ? 1 : 0, (uint16_t)len};
    memcpy(item, fields, 8);
    *at += bytes;
    return item + 8;
}

static uint8_t *put_descriptors(uint8_t *at, const se_event *e,
                                bool (*wanted)(const se_event *, uint32_t))
{
    for (uint32_t i = 0; i < e->count; i++)
        if (wanted(e, i) && e->data[i].Size) {
            memcpy(at, (const void *)(uintptr_t)e->data[i].Ptr, e->data[i].Size);
            at += e->data[i].Size;
        }
    return at;
}

static void put_event(uint8_t *at, const se_event *e, const sizes *size, const se_session *s)
{
    se_origin origin = origin_of(e->origin);
    int64_t stamp = stamp_of(s, &origin);
    uint16_t words[4] = {(uint16_t)size->total, (uint16_t)(0xC000u | EVENT_HEADER_64),
                         (uint16_t)((size->items ? 1u : 0u) | (e->text ? 4u : 0u)), 0};
    uint32_t ids[2] = {origin.tid, origin.pid};
    memset(at, 0, EVENT_HEADER_BYTES);
    memcpy(at, words, 8);
    memcpy(at + 8, ids, 8);
    memcpy(at + 16, &stamp, 8);
    memcpy(at + 24, &e->provider, 16);
    memcpy(at + 40, &e->descriptor, 16);
    if (e->activity)
        memcpy(at + 64, e->activity, 16);
    uint8_t *next = at + EVENT_HEADER_BYTES;
    uint32_t left = size->items;
    if (e->related)
        memcpy(put_item(&next, &left, ITEM_RELATED, 16), e->related, 16);
    if (e->typed && e->traits_len)
        memcpy(put_item(&next, &left, ITEM_TRAITS, e->traits_len), e->traits, e->traits_len);
    if (size->schema)
        put_descriptors(put_item(&next, &left, ITEM_SCHEMA, size->schema), e, is_schema);
    put_descriptors(next, e, is_payload);
}

// ------------------------------------------------------------------------------------- one event

typedef struct place {
    se_session *session;
    uint8_t *at; // null: no room
    uint32_t cpu;
} place;

static uint32_t find_places(const se_event *e, const sizes *size, place *out)
{
    uint32_t count = 0;
    se_origin origin = origin_of(e->origin);
    for (uint32_t i = 0; i < SE_SESSIONS; i++) {
        se_session *s = &g_se->sessions[i];
        const se_enable *wanted = s->state == SE_RUNNING ? se_enable_of(s, &e->provider) : NULL;
        if (!wanted || !se_enable_has_pid(wanted, origin.pid) ||
            !se_enable_takes_id(wanted, e->descriptor.Id) ||
            !se_enable_takes(wanted, e->descriptor.Level, e->descriptor.Keyword))
            continue;
        place p = {.session = s, .cpu = cpu_of(s, &origin)};
        p.at = se_reserve(s, p.cpu, size->total);
        out[count++] = p;
    }
    return count;
}

// Without EVENT_TRACE_INDEPENDENT_SESSION_MODE an event that one session can't take is written to
// none of the others; a session with that mode gets what it has room for.
static ULONG fill_places(const se_event *e, const sizes *size, const place *places, uint32_t count)
{
    ULONG result = ERROR_SUCCESS;
    for (uint32_t i = 0; i < count; i++) {
        se_session *s = places[i].session;
        if (places[i].at)
            continue;
        s->events_lost++;
        if (size->total > s->buffer_bytes - SE_BUFFER_HEADER)
            result = ERROR_MORE_DATA;
        else if (!(s->mode & SE_MODE_INDEPEND) || count == 1)
            result = ERROR_NOT_ENOUGH_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        se_session *s = places[i].session;
        if (!places[i].at || (result != ERROR_SUCCESS && !(s->mode & SE_MODE_INDEPEND)))
            continue;
        put_event(places[i].at, e, size, s);
        se_commit(s, places[i].cpu, size->total);
    }
    return result;
}

ULONG se_write(const se_event *event)
{
    sizes size;
    place places[SE_SESSIONS];
    ULONG result = measure(event, &size);
    if (result != ERROR_SUCCESS)
        return result;
    se_lock();
    uint32_t count = find_places(event, &size, places);
    result = fill_places(event, &size, places, count);
    se_unlock();
    return result;
}

// ------------------------------------------------------------------------------------------ kernel

static uint32_t put_kernel(uint8_t *at, const se_kernel_event *e, const se_origin *o, int64_t stamp)
{
    bool bare = o->tid == SE_FOREVER;
    uint32_t header = bare ? 16 : 32, type = bare ? PERFINFO_HEADER_64 : SYSTEM_HEADER_64;
    uint16_t words[4] = {e->version, (uint16_t)(0xC000u | type),
                         (uint16_t)(header + e->payload_len),
                         (uint16_t)(e->group << 8 | e->opcode)};
    uint32_t ids[2] = {o->tid, o->pid};
    memset(at, 0, header);
    memcpy(at, words, 8);
    if (!bare)
        memcpy(at + 8, ids, 8);
    memcpy(at + header - (bare ? 8 : 16), &stamp, 8);
    memcpy(at + header, e->payload, e->payload_len);
    return header + e->payload_len;
}

bool se_write_kernel(const se_kernel_event *event)
{
    bool fitted = true;
    se_origin origin = origin_of(event->origin);
    if (event->payload_len > SE_MAX_RECORD - 32)
        return false;
    if (g_se->system_loggers == 0)
        return true;
    se_lock();
    for (uint32_t i = 0; i < SE_SESSIONS; i++) {
        se_session *s = &g_se->sessions[i];
        if (s->state != SE_RUNNING || !(s->mode & SE_MODE_SYSTEM) ||
            (event->flags && !(s->kernel_flags & event->flags)))
            continue;
        uint32_t cpu = cpu_of(s, &origin);
        uint8_t *at = se_reserve(s, cpu, 32 + event->payload_len);
        if (at)
            se_commit(s, cpu, put_kernel(at, event, &origin, stamp_of(s, &origin)));
        else
            s->events_lost++;
        fitted = fitted && at;
    }
    se_unlock();
    return fitted;
}

// --------------------------------------------------------------------------------- the file header

static uint64_t now_filetime(void)
{
    FILETIME time;
    GetSystemTimePreciseAsFileTime(&time);
    return (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

static uint32_t put_name(uint8_t *at, const WCHAR *name)
{
    uint32_t len = (uint32_t)(wcslen(name) + 1) * 2;
    memcpy(at, name, len);
    return len;
}

uint32_t se_logfile_header(const se_session *s, bool finished, uint8_t *out)
{
    SYSTEM_INFO system;
    LARGE_INTEGER frequency;
    TIME_ZONE_INFORMATION zone = {0};
    GetSystemInfo(&system);
    QueryPerformanceFrequency(&frequency);
    GetTimeZoneInformation(&zone);
    uint32_t words[14] = {s->buffer_bytes,
                          0x0501000Au,
                          19045,
                          system.dwNumberOfProcessors,
                          0,
                          0,
                          156250,
                          s->max_file_mb,
                          s->mode,
                          s->buffers_written,
                          1,
                          8,
                          s->events_lost,
                          2000};
    uint64_t now = now_filetime();
    uint64_t end = finished ? now : 0, boot = now - GetTickCount64() * 10000;
    memset(out, 0, SE_LOGFILE_HEADER_BYTES);
    memcpy(out, words, sizeof words);
    memcpy(out + 16, &end, 8);
    memcpy(out + 72, &zone, sizeof zone);
    memcpy(out + 248, &boot, 8);
    memcpy(out + 256, &frequency, 8);
    memcpy(out + 264, &s->start_filetime, 8);
    memcpy(out + 272, &s->clock, 4);
    memcpy(out + 276, &s->log_buffers_lost, 4);
    uint32_t len = SE_LOGFILE_HEADER_BYTES;
    len += put_name(out + len, s->name);
    len += put_name(out + len, s->file);
    return len;
}
