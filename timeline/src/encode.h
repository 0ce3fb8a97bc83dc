// SPDX-License-Identifier: MIT
// Rows to the bytes of the format, by msgpack-c. Everything is appended to a cm_buf, whose sticky
// error the caller looks at.
#pragma once

#include "format.h"
#include "intern.h"

#include "common/buf.h"

void tm_encode_header(cm_buf *out, const tm_header *header);

// `rows`: row_count times column_count values, row by row. `scratch` is overwritten.
void tm_encode_rows(cm_buf *out, cm_buf *scratch, tm_kind kind, const int64_t *rows,
                    size_t row_count);

// `count` strings from place `first` of `strings` on.
void tm_encode_strings(cm_buf *out, cm_buf *scratch, const tm_intern *strings, size_t first,
                       size_t count);

typedef struct tm_index_entry {
    uint64_t offset;
    int64_t first_time, last_time; // 0, -1: the kind has no time
    uint32_t rows;
    int32_t kind; // tm_kind, or TM_INDEX_STRING
} tm_index_entry;

#define TM_INDEX_STRING  (-1)
#define TM_INDEX_UNKNOWN (-2) // reader only: a kind that we do not know

void tm_encode_index(cm_buf *out, cm_buf *scratch, const tm_index_entry *entries, size_t count);

// index_offset 0: the file has no index.
void tm_encode_end(cm_buf *out, uint64_t index_offset);
