// SPDX-License-Identifier: MIT
// Inside tracelogging/: the metadata writer for any event description, so that tests can feed it
// one that Microsoft's own writer has encoded too.
#pragma once

#include "tracelogging/codec.h"

// In-type bits (TraceLogging)
#define TL_IN_TYPE_MASK  0x1fu
#define TL_IN_FIXED_LIST 0x20u
#define TL_IN_LIST       0x40u // u16 element count, then elements
#define TL_IN_HAS_OUT    0x80u
#define TL_OUT_HAS_TAGS  0x80u
#define TL_TAGS_MORE     0x80u

size_t tl_metadata_write(const tl_event_info *info, uint8_t *out, size_t capacity);

// Name, TraceLogging in-type and out-type, size of a field type
#define TL_TYPE_U8    "U8", 4, 0, 1
#define TL_TYPE_U16   "U16", 6, 0, 2
#define TL_TYPE_U32   "U32", 8, 0, 4
#define TL_TYPE_I64   "I64", 9, 0, 8
#define TL_TYPE_U64   "U64", 10, 0, 8
#define TL_TYPE_HEX64 "HEX64", 21, 0, 8
#define TL_TYPE_STR   "STR", 23, 35, 0
#define TL_TYPE_I64S  "I64S", 9 | 64, 0, 0
