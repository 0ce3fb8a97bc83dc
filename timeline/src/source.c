// SPDX-License-Identifier: MIT
// The window is read in pieces of 64 KB, since a capture's blocks are mostly smaller than that and
// follow each other. A file only grows at its end, so what is in the window never gets stale.
#include "source.h"

#include <stdlib.h>

#define WINDOW_BYTES ((size_t)64 << 10)

cm_status tm_source_size(tm_source *s, uint64_t *out)
{
    if (s->file)
        return cm_file_size(s->file, out);
    *out = s->memory_len;
    return CM_OK;
}

static cm_status move_window(tm_source *s, uint64_t offset, size_t len)
{
    size_t wanted = len < WINDOW_BYTES ? WINDOW_BYTES : len;
    if (wanted > s->window_cap) {
        uint8_t *window = realloc(s->window, wanted);
        if (!window)
            return cm_fail(CM_NO_MEMORY, "There is not enough memory to read a block of %zu bytes.",
                           len);
        s->window = window;
        s->window_cap = wanted;
    }
    s->window_len = 0;
    s->window_at = offset;
    return cm_file_read_at(s->file, offset, s->window, wanted, &s->window_len);
}

cm_status tm_source_fetch(tm_source *s, uint64_t offset, size_t len, const uint8_t **out_data,
                          size_t *out_len)
{
    if (!s->file) {
        uint64_t left = offset < s->memory_len ? s->memory_len - offset : 0;
        *out_data = left ? s->memory + offset : s->memory;
        *out_len = left < len ? (size_t)left : len;
        return CM_OK;
    }
    bool inside = offset >= s->window_at && offset - s->window_at <= s->window_len &&
                  len <= s->window_len - (offset - s->window_at);
    if (!inside)
        CM_TRY(move_window(s, offset, len));
    size_t skip = (size_t)(offset - s->window_at), have = s->window_len - skip;
    *out_data = s->window + skip;
    *out_len = have < len ? have : len;
    return CM_OK;
}

void tm_source_close(tm_source *s)
{
    cm_file_close(s->file);
    free(s->window);
    *s = (tm_source){0};
}
