// SPDX-License-Identifier: MIT
#include "series.h"

#include <stdlib.h>
#include <string.h>

void co_series_init(co_series *s, atomic_uint *last_id, co_readings *out)
{
    *s = (co_series){.last_id = last_id, .out = out, .round = 1};
    cm_map_init(&s->by_key);
}

void co_series_deinit(co_series *s)
{
    cm_map_deinit(&s->by_key);
    free(s->items);
}

// FNV-1a, 64 bits: two of at most CO_SERIES_MAX counters meet with a chance of less than 1e-11.
static uint64_t mix(uint64_t hash, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

int64_t co_series_key(const co_counter *what)
{
    uint64_t hash = mix(0xcbf29ce484222325u, what->name, strlen(what->name) + 1);
    hash = mix(hash, what->unit, strlen(what->unit) + 1);
    hash = mix(hash, &what->process, sizeof what->process);
    hash = mix(hash, &what->number, sizeof what->number);
    hash = mix(hash, &what->about, sizeof what->about);
    return (int64_t)mix(hash, what->subject, strlen(what->subject));
}

static co_series_item *add_item(co_series *s, int64_t key)
{
    if (s->count == CO_SERIES_MAX)
        return NULL;
    if (s->count == s->capacity) {
        size_t capacity = s->capacity ? s->capacity * 2 : 64;
        co_series_item *larger = realloc(s->items, capacity * sizeof *larger);
        if (!larger)
            return NULL;
        s->items = larger;
        s->capacity = capacity;
    }
    if (!cm_map_put(&s->by_key, key, s->count))
        return NULL;
    co_series_item *item = &s->items[s->count++];
    *item = (co_series_item){.id = atomic_fetch_add(s->last_id, 1) + 1};
    return item;
}

static void write_sample(co_series *s, co_series_item *item, uint64_t ticks, bool known,
                         int64_t value)
{
    if (item->written && item->known == known && (!known || item->value == value))
        return;
    item->written = true;
    item->known = known;
    item->value = value;
    co_readings_sample(s->out, item->id, ticks, known, value);
}

void co_series_put(co_series *s, const co_counter *what, uint64_t ticks, bool known, int64_t value)
{
    int64_t key = co_series_key(what);
    size_t at;
    co_series_item *item;
    if (cm_map_find(&s->by_key, key, &at)) {
        item = &s->items[at];
    } else {
        item = add_item(s, key);
        if (!item) {
            s->refused++;
            return;
        }
        co_readings_counter(s->out, item->id, ticks, what);
    }
    item->round = s->round;
    write_sample(s, item, ticks, known, value);
}

void co_series_end_round(co_series *s, uint64_t ticks)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].round != s->round)
            write_sample(s, &s->items[i], ticks, false, 0);
    s->round++;
}
