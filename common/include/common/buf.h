// SPDX-License-Identifier: MIT
// A growable byte buffer with a sticky error: append as often as needed, look at `failed` once at
// the end. Out of memory (or a length that overflows) is the only way to fail; the bytes before
// the failed append stay, everything after it is dropped.
// One thread at a time. Uses the C heap, so it must not be used in the hook DLL.
#pragma once

#include "common/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cm_buf {
    uint8_t *data; // NULL while nothing was ever appended
    size_t len;
    size_t cap;
    bool failed;
} cm_buf;

#define CM_BUF_INIT                                                                                \
    {                                                                                              \
        NULL, 0, 0, false                                                                          \
    }

void cm_buf_init(cm_buf *b);

// Frees the bytes and makes `b` empty and usable again.
void cm_buf_deinit(cm_buf *b);

// Forgets the content and the error, keeps the memory.
void cm_buf_clear(cm_buf *b);

// `len` new bytes at the end, not initialised; NULL if the buffer has failed. The pointer is valid
// until the next call that appends.
void *cm_buf_extend(cm_buf *b, size_t len);

void cm_buf_append(cm_buf *b, const void *data, size_t len);
void cm_buf_append_byte(cm_buf *b, uint8_t byte);
void cm_buf_append_text(cm_buf *b, const char *text); // without the NUL
void cm_buf_printf(cm_buf *b, const char *fmt, ...) CM_PRINTF(2, 3);

// The content as a C string: puts a NUL behind it that does not count into `len`. Never fails.
// Valid until the next call that appends.
const char *cm_buf_text(cm_buf *b);

// CM_OK, or CM_NO_MEMORY with a sentence.
cm_status cm_buf_status(const cm_buf *b);
