// SPDX-License-Identifier: MIT
// See keep_sessions.h. Looked up once for each run, so a sorted array will do.
#include "keep_sessions.h"

#include <stdlib.h>
#include <string.h>

// The first that is not before `session`.
static size_t place_of(const co_keep_sessions *k, int64_t session)
{
    size_t from = 0, to = k->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (k->items[middle].session < session)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static co_keep_session *find(const co_keep_sessions *k, int64_t session)
{
    size_t at = place_of(k, session);
    return at < k->count && k->items[at].session == session ? &k->items[at] : NULL;
}

static void drop(co_keep_sessions *k, size_t at)
{
    free(k->items[at].slowest);
    memmove(&k->items[at], &k->items[at + 1], (--k->count - at) * sizeof *k->items);
}

static void drop_least_used(co_keep_sessions *k)
{
    size_t least = 0;
    for (size_t i = 1; i < k->count; i++)
        if (k->items[i].used < k->items[least].used)
            least = i;
    drop(k, least);
}

static bool make_room(co_keep_sessions *k)
{
    if (k->count == CO_KEEP_SESSIONS)
        drop_least_used(k);
    if (k->count < k->capacity)
        return true;
    size_t capacity = k->capacity ? k->capacity * 2 : 64;
    co_keep_session *larger = realloc(k->items, capacity * sizeof *larger);
    if (!larger)
        return false;
    k->items = larger;
    k->capacity = capacity;
    return true;
}

co_keep_session *co_keep_sessions_get(co_keep_sessions *k, int64_t session)
{
    co_keep_session *s = find(k, session);
    if (!s) {
        if (!make_room(k))
            return NULL;
        s = &k->items[place_of(k, session)];
        memmove(s + 1, s, (size_t)(&k->items[k->count++] - s) * sizeof *s);
        *s = (co_keep_session){.session = session};
    }
    s->used = ++k->turn;
    return s;
}

void co_keep_sessions_ended(co_keep_sessions *k, int64_t session)
{
    co_keep_session *s = find(k, session);
    if (s && !s->ending)
        s->ending = 1;
}

void co_keep_sessions_age(co_keep_sessions *k)
{
    for (size_t i = k->count; i-- > 0;)
        if (k->items[i].ending && ++k->items[i].ending > 2)
            drop(k, i);
}

void co_keep_sessions_deinit(co_keep_sessions *k)
{
    while (k->count)
        free(k->items[--k->count].slowest);
    free(k->items);
    *k = (co_keep_sessions){0};
}
