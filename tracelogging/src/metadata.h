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
