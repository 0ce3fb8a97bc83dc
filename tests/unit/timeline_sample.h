// SPDX-License-Identifier: MIT
// A small timeline with every kind of row, and a copy of what a reader hands out. Shared by the
// tests of the timeline and by timeline_tool.
#pragma once

#include "common/buf.h"
#include "timeline/timeline.h"

// Every kind, constant and changing columns, the extremes of int64, strings used twice.
cm_status sample_write(const char *path);

// Deterministic numbers that look random.
uint64_t sample_random(uint64_t *state);

typedef struct sample_block {
    tm_kind kind;
    size_t rows;
    int64_t *values; // column by column
} sample_block;

typedef struct sample_content {
    sample_block *blocks;
    size_t count;
    char *damage; // NULL: complete
} sample_content;

// Everything that the reader gives from now on; the first failure that is not CM_END is returned.
cm_status sample_read(tm_reader *r, sample_content *out);
void sample_free(sample_content *c);
bool sample_same_block(const sample_block *a, const sample_block *b);

// The whole file, or an empty buffer with `failed` set.
cm_buf sample_load(const char *path);
