// SPDX-License-Identifier: MIT
#include "ids.h"

#include <stdlib.h>

static size_t home(const co_ids *ids, uint64_t key)
{
    return (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (ids->capacity - 1);
}

static size_t place(const co_ids *ids, uint64_t key)
{
    size_t i = home(ids, key);
    while (ids->keys[i] && ids->keys[i] != key)
        i = (i + 1) & (ids->capacity - 1);
    return i;
}

static bool grow(co_ids *ids)
{
    co_ids larger = *ids;
    larger.capacity = ids->capacity ? ids->capacity * 2 : 64;
    larger.keys = calloc(larger.capacity, sizeof *larger.keys);
    larger.values = calloc(larger.capacity, sizeof *larger.values);
    larger.used = calloc(larger.capacity, sizeof *larger.used);
    if (!larger.keys || !larger.values || !larger.used) {
        free(larger.keys);
        free(larger.values);
        free(larger.used);
        return false;
    }
    for (size_t i = 0; i < ids->capacity; i++) {
        if (!ids->keys[i])
            continue;
        size_t to = place(&larger, ids->keys[i]);
        larger.keys[to] = ids->keys[i];
        larger.values[to] = ids->values[i];
        larger.used[to] = ids->used[i];
    }
    free(ids->keys);
    free(ids->values);
    free(ids->used);
    *ids = larger;
    return true;
}

// Those behind it that were pushed away from their home move up.
static void forget_at(co_ids *ids, size_t hole)
{
    size_t mask = ids->capacity - 1;
    for (size_t i = (hole + 1) & mask; ids->keys[i]; i = (i + 1) & mask) {
        size_t from_home = (i - home(ids, ids->keys[i])) & mask;
        if (from_home < ((i - hole) & mask))
            continue; // the hole lies before its home
        ids->keys[hole] = ids->keys[i];
        ids->values[hole] = ids->values[i];
        ids->used[hole] = ids->used[i];
        hole = i;
    }
    ids->keys[hole] = 0;
    ids->count--;
}

// All but those of this turn and the one before, which are half of what fits at most.
static void forget_unused(co_ids *ids)
{
    for (size_t i = 0; i < ids->capacity; i++)
        while (ids->keys[i] && ids->turn - ids->used[i] > 1)
            forget_at(ids, i);
}

static void touch(co_ids *ids, size_t i)
{
    if (ids->used[i] == ids->turn)
        return;
    ids->used[i] = ids->turn;
    if (++ids->used_now == CO_IDS_MAX / 4) {
        ids->turn++;
        ids->used_now = 0;
    }
}

uint32_t co_ids_get(co_ids *ids, uint32_t target, int64_t number)
{
    if (number <= 0 || number > UINT32_MAX)
        return 0;
    uint64_t key = (uint64_t)target << 32 | (uint64_t)number;
    if (ids->capacity) {
        size_t known = place(ids, key);
        if (ids->keys[known]) {
            touch(ids, known);
            return ids->values[known];
        }
    }
    if (ids->count >= CO_IDS_MAX)
        forget_unused(ids);
    if (ids->last == UINT32_MAX || (ids->count * 2 >= ids->capacity && !grow(ids)))
        return 0;
    size_t i = place(ids, key);
    ids->keys[i] = key;
    ids->values[i] = ++ids->last;
    ids->used[i] = ids->turn - 1;
    ids->count++;
    touch(ids, i);
    return ids->last;
}

void co_ids_ended(co_ids *ids, uint32_t target, int64_t number)
{
    co_keys *next = &ids->leaving_next;
    if (number <= 0 || number > UINT32_MAX || next->count >= CO_IDS_MAX)
        return;
    if (next->count == next->capacity) {
        size_t capacity = next->capacity ? next->capacity * 2 : 64;
        uint64_t *larger = realloc(next->items, capacity * sizeof *larger);
        if (!larger)
            return; // stays known
        next->items = larger;
        next->capacity = capacity;
    }
    next->items[next->count++] = (uint64_t)target << 32 | (uint64_t)number;
}

void co_ids_age(co_ids *ids)
{
    co_keys leaving = ids->leaving;
    for (size_t i = 0; i < leaving.count && ids->capacity; i++) {
        size_t at = place(ids, leaving.items[i]);
        if (ids->keys[at])
            forget_at(ids, at);
    }
    leaving.count = 0;
    ids->leaving = ids->leaving_next;
    ids->leaving_next = leaving;
}

void co_ids_deinit(co_ids *ids)
{
    free(ids->keys);
    free(ids->values);
    free(ids->used);
    free(ids->leaving.items);
    free(ids->leaving_next.items);
    *ids = (co_ids){0};
}
