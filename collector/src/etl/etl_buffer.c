// SPDX-License-Identifier: MIT
// Buffers: where they are, whether they can be, and their bytes unpacked.
#include "etl_internal.h"

#include "etl_bytes.h"
#include "etl_lz77.h"

#include <stdlib.h>
#include <string.h>

cm_status co_etl_fetch(co_etl *e, uint64_t offset, void *out, size_t len, size_t *out_len)
{
    if (e->file)
        return cm_file_read_at(e->file, offset, out, len, out_len);
    uint64_t left = offset < e->bytes ? e->bytes - offset : 0;
    *out_len = left < len ? (size_t)left : len;
    if (*out_len)
        memcpy(out, e->memory + offset, *out_len);
    return CM_OK;
}

cm_status co_etl_buffer_at(co_etl *e, uint64_t offset, co_etl_buffer *out)
{
    uint8_t p[ETL_BUFFER_HEADER];
    size_t len = 0;
    if (offset >= e->bytes)
        return CM_END;
    CM_TRY(co_etl_fetch(e, offset, p, sizeof p, &len));
    if (len < sizeof p)
        return cm_fail(CM_CORRUPT, "the file ends within the header of a buffer");
    *out = (co_etl_buffer){.offset = offset,
                           .size = etl_u32(p),
                           .used = etl_u32(p + 0x30),
                           .sequence = (int64_t)etl_u64(p + 0x18),
                           .flags = etl_u16(p + 0x34),
                           .type = etl_u16(p + 0x36)};
    out->cpu = out->flags & ETL_FLAG_PROCESSOR_INDEX ? etl_u16(p + 0x28) & 0x7ffu : p[0x28];
    if (out->size < ETL_BUFFER_HEADER)
        return cm_fail(CM_CORRUPT, "a buffer of an impossible size (%u bytes)", out->size);
    return CM_OK;
}

static cm_status make_room(uint8_t **bytes, size_t *cap, size_t wanted)
{
    if (wanted <= *cap)
        return CM_OK;
    uint8_t *larger = realloc(*bytes, wanted);
    if (!larger)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory for a buffer of %zu bytes.",
                       wanted);
    *bytes = larger;
    *cap = wanted;
    return CM_OK;
}

static cm_status load_packed(co_etl *e, const co_etl_buffer *buffer, size_t available,
                             etl_loaded *into, const char **problem)
{
    size_t len, unpacked = 0;
    if (buffer->used < ETL_BUFFER_HEADER || buffer->used > ETL_BUFFER_MAX) {
        *problem = "a compressed buffer of an impossible length";
        return CM_OK;
    }
    CM_TRY(make_room(&e->packed, &e->packed_cap, available));
    CM_TRY(make_room(&into->bytes, &into->cap, buffer->used));
    CM_TRY(co_etl_fetch(e, buffer->offset, e->packed, available, &len));
    if (len < ETL_BUFFER_HEADER)
        return CM_OK;
    if (!co_etl_lz77(e->packed + ETL_BUFFER_HEADER, len - ETL_BUFFER_HEADER,
                     into->bytes + ETL_BUFFER_HEADER, buffer->used - ETL_BUFFER_HEADER, &unpacked))
        *problem = "a compressed buffer that is damaged";
    into->used = ETL_BUFFER_HEADER + unpacked;
    return CM_OK;
}

cm_status co_etl_buffer_load(co_etl *e, const co_etl_buffer *buffer, etl_loaded *into,
                             const char **problem)
{
    uint64_t left = e->bytes - buffer->offset;
    size_t available = buffer->size < left ? buffer->size : (size_t)left;
    *problem = available < buffer->size ? "a buffer that is cut by the end of the file" : NULL;
    into->used = 0;
    into->cpu = buffer->cpu;
    if (available > ETL_BUFFER_MAX)
        available = ETL_BUFFER_MAX;
    if (buffer->flags & ETL_FLAG_COMPRESSED)
        return load_packed(e, buffer, available, into, problem);
    size_t used = buffer->used < available ? buffer->used : available;
    CM_TRY(make_room(&into->bytes, &into->cap, used));
    return co_etl_fetch(e, buffer->offset, into->bytes, used, &into->used);
}
