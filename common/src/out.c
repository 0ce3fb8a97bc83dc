// SPDX-License-Identifier: MIT
// See out.h. Must never write a part of what it was given and then report success.
#include "common/out.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SINK_BYTES ((size_t)32 * 1024)

void cm_out_init_memory(cm_out *out)
{
    cm_out_init_sink(out, NULL, NULL);
}

void cm_out_init_sink(cm_out *out, cm_write_fn write, void *context)
{
    cm_buf_init(&out->buf);
    out->write = write;
    out->context = context;
    out->status = CM_OK;
}

void cm_out_deinit(cm_out *out)
{
    cm_buf_deinit(&out->buf);
    out->status = CM_OK;
}

bool cm_out_failed(const cm_out *out)
{
    return out->status != CM_OK;
}

cm_status cm_out_flush(cm_out *out)
{
    if (out->write && out->buf.len > 0 && out->status == CM_OK) {
        out->status = out->write(out->context, out->buf.data, out->buf.len);
        cm_buf_clear(&out->buf);
    }
    return out->status;
}

// Most of what is put out is short and has room: an export does this a hundred million times.
static bool has_room(const cm_out *out, size_t len)
{
    const cm_buf *b = &out->buf;
    return out->status == CM_OK && !b->failed && len < b->cap - b->len && // one for the NUL
           (!out->write || b->len + len < SINK_BYTES);
}

void cm_out_bytes(cm_out *out, const void *bytes, size_t len)
{
    if (has_room(out, len)) {
        memcpy(out->buf.data + out->buf.len, bytes, len);
        out->buf.len += len;
        return;
    }
    if (out->write && out->buf.len + len >= SINK_BYTES)
        cm_out_flush(out);
    if (out->status != CM_OK)
        return;
    if (out->write && len >= SINK_BYTES) {
        out->status = out->write(out->context, bytes, len);
        return;
    }
    cm_buf_append(&out->buf, bytes, len);
    out->status = cm_buf_status(&out->buf);
}

void cm_out_text(cm_out *out, const char *text)
{
    cm_out_bytes(out, text, strlen(text));
}

void cm_out_char(cm_out *out, char c)
{
    cm_out_bytes(out, &c, 1);
}

void cm_out_repeat(cm_out *out, const char *text, size_t times)
{
    size_t len = strlen(text);
    while (times-- > 0)
        cm_out_bytes(out, text, len);
}

void cm_out_printf(cm_out *out, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (len >= 0 && (size_t)len < sizeof text) {
        cm_out_bytes(out, text, (size_t)len);
        return;
    }
    cm_buf large = CM_BUF_INIT;
    char *start = len < 0 ? NULL : cm_buf_extend(&large, (size_t)len);
    if (start) {
        va_start(args, fmt);
        vsnprintf(start, (size_t)len + 1, fmt, args); // the buffer keeps room for the NUL
        va_end(args);
        cm_out_bytes(out, start, (size_t)len);
    } else if (out->status == CM_OK) {
        out->status = cm_fail(CM_NO_MEMORY, "There is not enough memory for the output.");
    }
    cm_buf_deinit(&large);
}

const char *cm_out_string(cm_out *out)
{
    return cm_buf_text(&out->buf);
}

void cm_out_clear(cm_out *out)
{
    cm_buf_clear(&out->buf);
    if (!out->write)
        out->status = CM_OK; // what had no room is gone
}
