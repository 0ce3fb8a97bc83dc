// SPDX-License-Identifier: MIT
#include "etl_census_internal.h"

#include "etl_classes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cm_status co_etl_census_create(const co_etl_header *header, co_etl_census **out)
{
    co_etl_census *c = calloc(1, sizeof *c);
    if (!c)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to count the events.");
    c->header = header;
    c->sequence_ordered = true;
    *out = c;
    return CM_OK;
}

void co_etl_census_destroy(co_etl_census *c)
{
    if (!c)
        return;
    cm_map *maps[] = {&c->buffer_types, &c->buffer_flags, &c->buffer_cpus,
                      &c->event_flags,  &c->keys,         &c->pids,
                      &c->tids,         &c->provider_of,  &c->schema_of};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        cm_map_deinit(maps[i]);
    cm_buf_deinit(&c->schemas);
    cm_buf_deinit(&c->schema_bytes);
    free(c->providers);
    free(c);
}

// One more of `key`, unless there are too many different ones.
static void tally(cm_map *map, int64_t key, size_t keys_max)
{
    size_t count = 0;
    if (cm_map_find(map, key, &count) || map->count < keys_max)
        cm_map_put(map, key, count + 1);
}

static void remember(cm_map *set, uint32_t id)
{
    size_t known;
    if (!cm_map_find(set, id, &known) && set->count < ETL_IDS_MAX)
        cm_map_put(set, id, 0);
}

void co_etl_census_buffer(co_etl_census *c, const co_etl_buffer *b)
{
    tally(&c->buffer_types, b->type, ETL_KEYS_MAX);
    tally(&c->buffer_flags, b->flags, ETL_KEYS_MAX);
    tally(&c->buffer_cpus, b->cpu, ETL_KEYS_MAX);
    if (c->buffer_count == 0)
        c->sequence_min = c->sequence_max = b->sequence;
    else if (b->sequence < c->sequence_before)
        c->sequence_ordered = false;
    c->sequence_before = b->sequence;
    c->sequence_min = b->sequence < c->sequence_min ? b->sequence : c->sequence_min;
    c->sequence_max = b->sequence > c->sequence_max ? b->sequence : c->sequence_max;
    c->buffer_timed = false;
    c->buffer_count++;
}

// -------------------------------------------------------------------------------------- providers

static uint64_t hash_bytes(const void *data, size_t len, uint64_t hash)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ p[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

#define HASH_START 0xcbf29ce484222325u
#define PROBES     16 // other GUIDs of the same hash: only those that somebody looked for

static bool has_room(co_etl_census *c)
{
    if (c->provider_count < c->provider_capacity)
        return true;
    uint32_t capacity = c->provider_capacity ? 2 * c->provider_capacity : 32;
    etl_provider *larger =
        capacity <= ETL_PROVIDERS_MAX ? realloc(c->providers, capacity * sizeof *larger) : NULL;
    if (!larger)
        return false;
    c->providers = larger;
    c->provider_capacity = capacity;
    return true;
}

// The provider's place; UINT32_MAX where there are too many.
static uint32_t provider_place(co_etl_census *c, const uint8_t guid[16], bool has_guid,
                               uint8_t group)
{
    uint64_t hash = has_guid ? hash_bytes(guid, 16, HASH_START) : group;
    for (uint64_t probe = 0; probe < PROBES; probe++) {
        size_t place;
        int64_t key = (int64_t)(hash + probe);
        if (!cm_map_find(&c->provider_of, key, &place)) {
            if (!has_room(c) || !cm_map_put(&c->provider_of, key, c->provider_count))
                return UINT32_MAX;
            etl_provider *p = &c->providers[c->provider_count];
            *p = (etl_provider){.has_guid = has_guid, .group = group};
            memcpy(p->guid, guid, 16);
            return c->provider_count++;
        }
        const etl_provider *p = &c->providers[place];
        if (p->has_guid == has_guid && memcmp(p->guid, guid, 16) == 0 &&
            (has_guid || p->group == group))
            return (uint32_t)place;
    }
    return UINT32_MAX;
}

static void count_provider(co_etl_census *c, const co_etl_event *e)
{
    uint8_t guid[16] = {0};
    bool kernel = e->family == CO_ETL_KERNEL, has_guid = !kernel;
    if (kernel)
        has_guid = co_etl_group_guid(e->group, guid);
    else
        memcpy(guid, e->provider, 16);
    uint32_t place = provider_place(c, guid, has_guid, kernel ? e->group : 0);
    if (place == UINT32_MAX)
        return;
    etl_provider *p = &c->providers[place];
    p->count++;
    p->by_guid += !kernel;
    const char *name;
    size_t len;
    if (e->traits && !p->name[0] && co_tlg_provider_name(e->traits, e->traits_len, &name, &len))
        snprintf(p->name, sizeof p->name, "%.*s", (int)(len < 127 ? len : 127), name);
    // A group's number takes the place of the id, so that classic records stay apart from it.
    tally(&c->keys, ETL_KEY(place, e->family, kernel ? e->group : e->id, e->opcode, e->version),
          ETL_KEYS_MAX);
}

// -------------------------------------------------------------------------------- TraceLogging

static etl_schema *schema_place(co_etl_census *c, uint32_t provider, const uint8_t *bytes,
                                size_t len)
{
    uint64_t hash = hash_bytes(bytes, len, HASH_START + provider);
    for (uint64_t probe = 0; probe < PROBES; probe++) {
        size_t place;
        if (!cm_map_find(&c->schema_of, (int64_t)(hash + probe), &place)) {
            etl_schema fresh = {.provider = provider,
                                .bytes_at = (uint32_t)c->schema_bytes.len,
                                .len = (uint32_t)len};
            place = c->schemas.len / sizeof fresh;
            if (c->schema_bytes.len + len > ETL_SCHEMA_BYTES_MAX || place >= ETL_KEYS_MAX)
                return NULL;
            cm_buf_append(&c->schema_bytes, bytes, len);
            cm_buf_append(&c->schemas, &fresh, sizeof fresh);
            if (c->schema_bytes.failed || c->schemas.failed ||
                !cm_map_put(&c->schema_of, (int64_t)(hash + probe), place))
                return NULL;
        }
        etl_schema *s = (etl_schema *)(void *)c->schemas.data + place;
        if (s->provider == provider && s->len == len &&
            memcmp(c->schema_bytes.data + s->bytes_at, bytes, len) == 0)
            return s;
    }
    return NULL;
}

static void ignore_token(void *context, const co_tlg_token *token)
{
    (void)context;
    (void)token;
}

static void count_schema(co_etl_census *c, const co_etl_event *e)
{
    co_tlg_schema schema;
    size_t residual;
    if (!co_tlg_schema_parse(e->metadata, e->metadata_len, &schema) ||
        !co_tlg_values(&schema, e->data, e->data_len, e->pointer_size, ignore_token, NULL,
                       &residual)) {
        c->undecoded++;
        return;
    }
    c->decoded++;
    c->residual_bytes += residual;
    uint32_t provider = provider_place(c, e->provider, true, 0);
    etl_schema *s =
        provider != UINT32_MAX ? schema_place(c, provider, e->metadata, e->metadata_len) : NULL;
    if (s)
        s->count++;
}

// ----------------------------------------------------------------------------------------- events

static void count_time(co_etl_census *c, const co_etl_event *e)
{
    if (!c->timed) {
        c->time_min = c->time_max = e->time;
        c->timed = true;
    }
    c->time_min = e->time < c->time_min ? e->time : c->time_min;
    c->time_max = e->time > c->time_max ? e->time : c->time_max;
    c->unordered_in_buffer += c->buffer_timed && e->time < c->buffer_time;
    c->buffer_time = e->time;
    c->buffer_timed = true;
    unsigned cpu = e->cpu % ETL_CPUS;
    c->unordered_in_cpu += c->cpu_timed[cpu] && e->time < c->cpu_time[cpu];
    c->cpu_time[cpu] = e->time;
    c->cpu_timed[cpu] = true;
}

void co_etl_census_event(co_etl_census *c, const co_etl_event *e)
{
    static const uint8_t nobody[16];
    c->event_count++;
    c->by_header[e->header]++;
    c->user_bytes += e->data_len;
    if (e->timed)
        count_time(c, e);
    if (e->has_thread) {
        remember(&c->pids, e->pid);
        remember(&c->tids, e->tid);
    }
    if (e->family == CO_ETL_OTHER) {
        tally(&c->keys, ETL_KEY(0, CO_ETL_OTHER, e->header, 0, 0), ETL_KEYS_MAX);
        return;
    }
    count_provider(c, e);
    if (e->family != CO_ETL_EVENT)
        return;
    c->channels[e->channel]++;
    tally(&c->event_flags, e->flags, ETL_KEYS_MAX);
    c->with_activity += memcmp(e->activity, nobody, 16) != 0;
    for (unsigned i = 0; i < 32; i++)
        c->items[i] += e->items >> i & 1u;
    if (e->metadata)
        count_schema(c, e);
}

void co_etl_census_damage(co_etl_census *c, const char *sentence)
{
    if (c->damage_count < ETL_DAMAGE_TEXTS)
        snprintf(c->damage[c->damage_count], sizeof c->damage[0], "%s", sentence);
    c->damage_count++;
}

uint64_t co_etl_census_events(const co_etl_census *c)
{
    return c->event_count;
}

uint64_t co_etl_census_buffers(const co_etl_census *c)
{
    return c->buffer_count;
}

uint64_t co_etl_census_damages(const co_etl_census *c)
{
    return c->damage_count;
}

const char *co_etl_census_name(const etl_provider *p)
{
    if (p->name[0])
        return p->name;
    return p->has_guid ? co_etl_provider_name(p->guid) : co_etl_group_name(p->group);
}

size_t co_etl_census_top(const co_etl_census *c, co_etl_provider_count *out, size_t max)
{
    size_t count = 0;
    for (uint32_t i = 0; i < c->provider_count; i++) {
        const etl_provider *p = &c->providers[i];
        size_t at = count;
        while (at > 0 && out[at - 1].count < p->count)
            at--;
        if (at == max || p->count == 0)
            continue;
        count += count < max;
        memmove(&out[at + 1], &out[at], (count - 1 - at) * sizeof *out);
        const char *name = co_etl_census_name(p);
        out[at].count = p->count;
        if (name)
            snprintf(out[at].name, sizeof out[at].name, "%s", name);
        else
            co_etl_guid_text(p->guid, out[at].name);
    }
    return count;
}
