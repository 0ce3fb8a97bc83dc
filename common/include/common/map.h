// SPDX-License-Identifier: MIT
// A hash map from 64-bit keys to small numbers (places in somebody's array). Open addressing, no
// removal: what readers of timelines need to find rows by their ids.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cm_map_slot {
    int64_t key;
    size_t value_plus_1; // 0: free
} cm_map_slot;

typedef struct cm_map {
    cm_map_slot *slots;
    size_t capacity; // a power of two, or 0
    size_t count;
} cm_map;

void cm_map_init(cm_map *m);
void cm_map_deinit(cm_map *m);

bool cm_map_find(const cm_map *m, int64_t key, size_t *out);

// Adds the key or gives it a new value; false when there is no memory (the map is as before).
bool cm_map_put(cm_map *m, int64_t key, size_t value);
