// SPDX-License-Identifier: MIT
#include "common/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST_CAPACITY = 64 };

void cm_buf_init(cm_buf *b)
{
    *b = (cm_buf)CM_BUF_INIT;
}

void cm_buf_deinit(cm_buf *b)
{
    free(b->data);
    cm_buf_init(b);
}

void cm_buf_clear(cm_buf *b)
{
    b->len = 0;
    b->failed = false;
}

// Makes room for `extra` more bytes without changing the length.
static bool make_room(cm_buf *b, size_t extra)
{
    if (b->failed)
        return false;
    if (extra <= b->cap - b->len)
        return true;
    if (extra > SIZE_MAX / 2 - b->len) {
        b->failed = true;
        return false;
    }
    size_t cap = b->cap < SMALLEST_CAPACITY ? SMALLEST_CAPACITY : b->cap;
    while (cap - b->len < extra)
        cap *= 2;
    uint8_t *data = realloc(b->data, cap);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->cap = cap;
    return true;
}

void *cm_buf_extend(cm_buf *b, size_t len)
{
    // One byte more than asked: for the NUL of cm_buf_text().
    if (len == SIZE_MAX || !make_room(b, len + 1)) {
        b->failed = true;
        return NULL;
    }
    void *start = b->data + b->len;
    b->len += len;
    return start;
}

void cm_buf_append(cm_buf *b, const void *data, size_t len)
{
    if (len == 0)
        return;
    void *start = cm_buf_extend(b, len);
    if (start)
        memcpy(start, data, len);
}

void cm_buf_append_byte(cm_buf *b, uint8_t byte)
{
    cm_buf_append(b, &byte, 1);
}

void cm_buf_append_text(cm_buf *b, const char *text)
{
    cm_buf_append(b, text, strlen(text));
}

void cm_buf_printf(cm_buf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0 || !make_room(b, (size_t)len + 1)) {
        b->failed = true;
        return;
    }
    va_start(args, fmt);
    vsnprintf((char *)b->data + b->len, (size_t)len + 1, fmt, args);
    va_end(args);
    b->len += (size_t)len;
}

const char *cm_buf_text(cm_buf *b)
{
    if (!b->data)
        return "";
    b->data[b->len] = 0; // every append leaves room for it
    return (const char *)b->data;
}

cm_status cm_buf_status(const cm_buf *b)
{
    return b->failed ? cm_fail(CM_NO_MEMORY, "There is not enough memory; close other programs or "
                                             "work on a smaller file.")
                     : CM_OK;
}
