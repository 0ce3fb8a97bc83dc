// SPDX-License-Identifier: MIT
// See gzip_stream.h. The only file that knows zlib.
#include "gzip_stream.h"

#include <stdlib.h>
#include <zlib.h>

#define LEVEL       5         // half the time of 6 for a few percent more bytes
#define GZIP_WINDOW (15 + 16) // the largest window, with the head and the sum of a .gz file

struct vw_gzip {
    z_stream z;
    cm_write_fn write;
    void *context;
    unsigned char buffer[64 * 1024];
};

static cm_status failed(void)
{
    return cm_fail(CM_NO_MEMORY, "There is not enough memory to compress.");
}

cm_status vw_gzip_create(cm_write_fn write, void *context, vw_gzip **out)
{
    vw_gzip *g = calloc(1, sizeof *g);
    if (!g)
        return failed();
    g->write = write;
    g->context = context;
    if (deflateInit2(&g->z, LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(g);
        return failed();
    }
    *out = g;
    return CM_OK;
}

static cm_status pump(vw_gzip *g, int flush)
{
    int result;
    do {
        g->z.next_out = g->buffer;
        g->z.avail_out = sizeof g->buffer;
        result = deflate(&g->z, flush);
        if (result == Z_STREAM_ERROR)
            return failed();
        size_t len = sizeof g->buffer - g->z.avail_out;
        if (len)
            CM_TRY(g->write(g->context, g->buffer, len));
    } while (g->z.avail_out == 0);
    return CM_OK;
}

cm_status vw_gzip_write(vw_gzip *g, const void *bytes, size_t len)
{
    const unsigned char *next = bytes;
    while (len > 0) {
        uInt step = len < 1u << 30 ? (uInt)len : 1u << 30;
        g->z.next_in = (z_const Bytef *)(uintptr_t)next;
        g->z.avail_in = step;
        CM_TRY(pump(g, Z_NO_FLUSH));
        next += step;
        len -= step;
    }
    return CM_OK;
}

cm_status vw_gzip_finish(vw_gzip *g)
{
    g->z.next_in = NULL;
    g->z.avail_in = 0;
    return pump(g, Z_FINISH);
}

void vw_gzip_destroy(vw_gzip *g)
{
    if (!g)
        return;
    deflateEnd(&g->z);
    free(g);
}

static cm_status append(void *context, const void *bytes, size_t len)
{
    cm_buf *out = context;
    cm_buf_append(out, bytes, len);
    return cm_buf_status(out);
}

cm_status vw_gzip_block(const void *bytes, size_t len, cm_buf *out)
{
    vw_gzip *g;
    CM_TRY(vw_gzip_create(append, out, &g));
    cm_status status = vw_gzip_write(g, bytes, len);
    if (status == CM_OK)
        status = vw_gzip_finish(g);
    vw_gzip_destroy(g);
    return status;
}
