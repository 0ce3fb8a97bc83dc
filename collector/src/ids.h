// SPDX-License-Identifier: MIT
// Numbers that a target gave to its sessions, shape sets and modules, to numbers unique in the
// file.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct co_keys {
    uint64_t *items;
    size_t count, capacity;
} co_keys;

typedef struct co_ids {
    uint64_t *keys; // target << 32 | number, 0 = free
    uint32_t *values;
    size_t capacity, count;
    uint32_t last;
    co_keys leaving, leaving_next; // what has ended, and what ended since
} co_ids;

// A target may make numbers up: more are refused, so that it can't fill our memory.
#define CO_IDS_MAX (1u << 20)

// The file's number; a new one on first sight. 0 for number 0, and for a new one when memory is
// short or CO_IDS_MAX are known. Known ones are always found.
uint32_t co_ids_get(co_ids *ids, uint32_t target, int64_t number);

// What this number stands for has ended. Events about it may still lie in other rings: it is
// forgotten only at the second co_ids_age() from now.
void co_ids_ended(co_ids *ids, uint32_t target, int64_t number);
void co_ids_age(co_ids *ids);
void co_ids_deinit(co_ids *ids);
