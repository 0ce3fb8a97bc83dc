// SPDX-License-Identifier: MIT
// Numbers that a target gave to its sessions, shape sets and modules, to numbers unique in the
// file. Most of what they stand for ends without a word, or never: where there are too many, those
// that nobody has asked for in a long time are forgotten. One that comes back all the same gets a
// new number.
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
    uint32_t *used; // the turn in which each was asked for last
    size_t capacity, count;
    uint32_t last;
    uint32_t turn;                 // ends when a quarter of what fits was asked for in it
    size_t used_now;               // as many were
    co_keys leaving, leaving_next; // what has ended, and what ended since
} co_ids;

// A target may make numbers up: never more are known, so that it can't fill our memory.
#define CO_IDS_MAX (1u << 20)

// The file's number; a new one on first sight. 0 for number 0, and for a new one when memory is
// short. The CO_IDS_MAX / 4 that were asked for last are always found.
uint32_t co_ids_get(co_ids *ids, uint32_t target, int64_t number);

// What this number stands for has ended. Events about it may still lie in other rings: it is
// forgotten only at the second co_ids_age() from now.
void co_ids_ended(co_ids *ids, uint32_t target, int64_t number);
void co_ids_age(co_ids *ids);
void co_ids_deinit(co_ids *ids);
