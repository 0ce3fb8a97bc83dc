// SPDX-License-Identifier: MIT
#include "ids.h"

#include <stdlib.h>

static size_t place(const co_ids *ids, uint64_t key)
{
    size_t i = (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (ids->capacity - 1);
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
    if (!larger.keys || !larger.values) {
        co_ids_deinit(&larger);
        return false;
    }
    for (size_t i = 0; i < ids->capacity; i++) {
        if (!ids->keys[i])
            continue;
        size_t to = place(&larger, ids->keys[i]);
        larger.keys[to] = ids->keys[i];
        larger.values[to] = ids->values[i];
    }
    free(ids->keys);
    free(ids->values);
    *ids = larger;
    return true;
}

uint32_t co_ids_get(co_ids *ids, uint32_t target, int64_t number)
{
    if (number <= 0 || number > UINT32_MAX)
        return 0;
    uint64_t key = (uint64_t)target << 32 | (uint64_t)number;
    if (ids->capacity) {
        size_t known = place(ids, key);
        if (ids->keys[known])
            return ids->values[known];
    }
    if (ids->count >= CO_IDS_MAX || (ids->count * 2 >= ids->capacity && !grow(ids)))
        return 0;
    size_t i = place(ids, key);
    ids->keys[i] = key;
    ids->values[i] = ++ids->last;
    ids->count++;
    return ids->values[i];
}

void co_ids_deinit(co_ids *ids)
{
    free(ids->keys);
    free(ids->values);
    ids->keys = NULL;
    ids->values = NULL;
}
