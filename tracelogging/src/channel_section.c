// SPDX-License-Identifier: MIT
// Making a section and recognising one. Freestanding: it is part of the hook DLL, so it calls
// nothing of the C library.
#include "channel_layout.h"

#include "tracelogging/codec.h"

size_t tl_section_bytes(uint32_t ring_count, uint32_t ring_bytes)
{
    tl_layout layout;
    if (ring_bytes < TL_RING_BYTES_MIN || !tl_layout_compute(ring_count, ring_bytes, &layout))
        return 0;
    return (size_t)layout.section_bytes;
}

void tl_layout_write(void *memory, uint32_t ring_count, uint32_t ring_bytes)
{
    tl_section_header *header = memory;
    tl_layout layout;
    if (!tl_layout_compute(ring_count, ring_bytes, &layout))
        return;
    header->version = TL_CHANNEL_VERSION;
    header->header_bytes = TL_HEADER_BYTES;
    header->section_bytes = layout.section_bytes;
    header->ring_count = ring_count;
    header->ring_bytes = ring_bytes;
    header->schema_offset = TL_HEADER_BYTES;
    header->directory_offset = (uint32_t)layout.directory_offset;
    header->rings_offset = (uint32_t)layout.rings_offset;
    header->magic = TL_CHANNEL_MAGIC;
}

void tl_section_init(void *memory, uint32_t ring_count, uint32_t ring_bytes)
{
    if (tl_section_bytes(ring_count, ring_bytes) != 0)
        tl_layout_write(memory, ring_count, ring_bytes);
}

bool tl_layout_read(const tl_section_header *header, tl_layout *out)
{
    return header->magic == TL_CHANNEL_MAGIC && header->version == TL_CHANNEL_VERSION &&
           header->header_bytes == TL_HEADER_BYTES &&
           tl_layout_compute(header->ring_count, header->ring_bytes, out) &&
           header->section_bytes == out->section_bytes &&
           header->schema_offset == TL_HEADER_BYTES &&
           header->directory_offset == out->directory_offset &&
           header->rings_offset == out->rings_offset;
}

bool tl_section_check(const void *memory, size_t mapped_bytes)
{
    tl_layout layout;
    if (memory == NULL || mapped_bytes < TL_HEADER_BYTES)
        return false;
    const tl_section_header *header = memory;
    return header->ring_bytes >= TL_RING_BYTES_MIN && tl_layout_read(header, &layout) &&
           layout.section_bytes <= mapped_bytes;
}

bool tl_section_publish_schema(void *memory)
{
    tl_section_header *header = memory;
    size_t bytes = tl_schema_serialize((uint8_t *)memory + TL_HEADER_BYTES, TL_SCHEMA_BYTES);
    atomic_store_explicit(&header->schema_bytes, (uint32_t)bytes, memory_order_release);
    return bytes != 0;
}
