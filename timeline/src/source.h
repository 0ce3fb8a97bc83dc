// SPDX-License-Identifier: MIT
// Where a reader's bytes come from: a file, through one window that moves over it, or memory.
#pragma once

#include "common/os.h"

typedef struct tm_source {
    cm_file *file;         // NULL: memory
    const uint8_t *memory; // borrowed
    size_t memory_len;
    uint8_t *window; // file bytes from window_at on
    size_t window_cap, window_len;
    uint64_t window_at;
} tm_source;

cm_status tm_source_size(tm_source *s, uint64_t *out);

// Up to `len` bytes at `offset`, fewer only where the source ends. Valid until the next call.
cm_status tm_source_fetch(tm_source *s, uint64_t offset, size_t len, const uint8_t **out_data,
                          size_t *out_len);

void tm_source_close(tm_source *s);
