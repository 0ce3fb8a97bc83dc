// SPDX-License-Identifier: MIT
// What writer and reader have to agree on: names, limits and the checksum of the .ortl format.
// docs/timeline-format.md states the same numbers; change both or neither.
#pragma once

#include "timeline/timeline.h"

#define TM_MAGIC   "ortl"
#define TM_VERSION 1

// Limits of the format: a reader refuses what is beyond them, so that a damaged or hostile file
// cannot make it allocate or loop without bound.
#define TM_HEADER_BYTES_MAX  ((size_t)256 << 10)
#define TM_HEAD_BYTES_MAX    ((size_t)1024) // a block's array mark, kind and meta
#define TM_BLOCK_BYTES_MAX   ((uint64_t)64 << 20)
#define TM_ROWS_MAX          ((uint64_t)65536)
#define TM_INDEX_ROWS_MAX    ((uint64_t)1 << 20)
#define TM_FILE_COLUMNS_MAX  64u
#define TM_STRING_BYTES_MAX  ((size_t)1 << 20)
#define TM_STRINGS_MAX       ((size_t)4 << 20)
#define TM_STRINGS_BYTES_MAX ((size_t)256 << 20)

// What our writer keeps to: smaller blocks, so that a cut file loses little.
#define TM_WRITER_BLOCK_ROWS   16384u
#define TM_WRITER_STRING_BYTES ((size_t)4 << 20) // in one string block

#define TM_KIND_NAME_string "string"
#define TM_KIND_NAME_index  "index"
#define TM_KIND_NAME_end    "end"

// ["end", {"index": uint64}] has always this length, so that a reader finds it from the file's end.
#define TM_END_BYTES 21u

#define TM_ENCODING_DELTA "delta"
#define TM_ENCODING_PLAIN "plain"
#define TM_TYPE_COUNT     6u

const char *tm_type_name(tm_type type);
bool tm_type_is_delta(tm_type type);

// The checksum of a block: over its kind, its `rows` and `first` (0 where it has none) as 8 bytes
// little-endian each, then the bytes of its columns.
uint32_t tm_block_crc(const char *kind, size_t kind_len, uint64_t rows, uint64_t first,
                      const void *columns, size_t column_bytes);
