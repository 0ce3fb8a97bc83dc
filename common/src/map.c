// SPDX-License-Identifier: MIT
// See map.h. At most two thirds of the slots are taken, so that a search always ends.
#include "common/map.h"

#include <stdlib.h>
#include <string.h>

void cm_map_init(cm_map *m)
{
    memset(m, 0, sizeof *m);
}

void cm_map_deinit(cm_map *m)
{
    free(m->slots);
    memset(m, 0, sizeof *m);
}

// The last step of MurmurHash3: every bit of the key reaches every bit of the place.
static size_t hash_key(int64_t key)
{
    uint64_t h = (uint64_t)key;
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return (size_t)(h ^ h >> 33);
}

// The slot that holds the key, or the free one where it belongs.
static cm_map_slot *slot_of(const cm_map *m, int64_t key)
{
    size_t mask = m->capacity - 1, i = hash_key(key) & mask;
    while (m->slots[i].value_plus_1 && m->slots[i].key != key)
        i = (i + 1) & mask;
    return &m->slots[i];
}

bool cm_map_find(const cm_map *m, int64_t key, size_t *out)
{
    if (m->capacity == 0)
        return false;
    const cm_map_slot *slot = slot_of(m, key);
    if (!slot->value_plus_1)
        return false;
    *out = slot->value_plus_1 - 1;
    return true;
}

static bool grow(cm_map *m)
{
    cm_map larger = {NULL, m->capacity ? m->capacity * 2 : 16, m->count};
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < m->capacity; i++)
        if (m->slots[i].value_plus_1)
            *slot_of(&larger, m->slots[i].key) = m->slots[i];
    free(m->slots);
    *m = larger;
    return true;
}

bool cm_map_put(cm_map *m, int64_t key, size_t value)
{
    if (m->count >= m->capacity / 3 * 2 && !grow(m))
        return false;
    cm_map_slot *slot = slot_of(m, key);
    if (!slot->value_plus_1)
        m->count++;
    *slot = (cm_map_slot){key, value + 1};
    return true;
}
