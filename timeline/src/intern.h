// SPDX-License-Identifier: MIT
// Strings to ids for the writer: the same bytes give the same id, ids count from 1.
#pragma once

#include "common/buf.h"

typedef struct tm_intern_ref {
    size_t offset; // into text
    uint32_t len;
    uint32_t hash;
} tm_intern_ref;

typedef struct tm_intern {
    cm_buf text;     // all strings, one behind the other
    cm_buf refs;     // tm_intern_ref, place = id - 1
    uint32_t *slots; // ids by hash, 0 = free; a power of two of them
    size_t slot_count;
} tm_intern;

void tm_intern_init(tm_intern *t);
void tm_intern_deinit(tm_intern *t);

// 0 when there is no memory left or the format's limit of strings is reached.
int64_t tm_intern_add(tm_intern *t, const char *text, size_t len);

size_t tm_intern_count(const tm_intern *t);
const tm_intern_ref *tm_intern_get(const tm_intern *t, size_t index);
