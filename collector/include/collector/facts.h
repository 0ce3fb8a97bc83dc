// SPDX-License-Identifier: MIT
// What a capture tells once about the machine that it was made on: rows of kind `fact`. A fact is a
// text or a number under two words, ("processor", "cores"); where there are several of a thing,
// ("gpu", "driver"), each has a number. What the system does not tell is not there.
#pragma once

#include "collector/capture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CO_FACTS_MAX      256u
#define CO_FACT_BYTES     192u
#define CO_FACT_ONLY      (-1) // the number of a thing of which there is one
#define CO_FACT_ITEMS_MAX 16u  // GPUs, NPUs, kinds of cache

typedef struct co_fact {
    const char *about, *name; // of static storage
    int64_t number;
    bool is_text;
    char text[CO_FACT_BYTES]; // valid UTF-8 without control characters
    int64_t value;
} co_fact;

typedef struct co_facts {
    co_fact items[CO_FACTS_MAX];
    size_t count;
} co_facts;

// Texts are trimmed, cleaned and cut; an empty one is no fact. Those without room are left out.
void co_facts_text(co_facts *f, const char *about, int64_t number, const char *name,
                   const char *text);
void co_facts_number(co_facts *f, const char *about, int64_t number, const char *name,
                     int64_t value);
// NULL if it is not there.
const co_fact *co_facts_find(const co_facts *f, const char *about, int64_t number,
                             const char *name);

// All that this machine tells (Windows).
void co_facts_gather(co_facts *out);

// Rows of all of them, at the beginning of the capture.
void co_capture_facts(co_capture *c, const co_facts *facts);
