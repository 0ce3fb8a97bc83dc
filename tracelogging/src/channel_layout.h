// SPDX-License-Identifier: MIT
// Where the parts of a section lie. The one place that computes offsets: the collector's reader
// calls it with its own numbers, the hook compares what a header claims with it. Unlike the public
// functions it takes rings of any power of two from 64 bytes, so that tests can walk small ones.
#pragma once

#include "tracelogging/channel.h"

typedef struct tl_layout {
    uint64_t directory_offset;
    uint64_t rings_offset;
    uint64_t section_bytes;
} tl_layout;

#define TL_LAYOUT_RING_BYTES_MIN 64u

static inline bool tl_layout_compute(uint32_t ring_count, uint32_t ring_bytes, tl_layout *out)
{
    if (ring_count == 0 || ring_count > TL_RINGS_MAX || ring_bytes < TL_LAYOUT_RING_BYTES_MIN ||
        ring_bytes > TL_RING_BYTES_MAX || (ring_bytes & (ring_bytes - 1)) != 0)
        return false;
    uint64_t page = TL_HEADER_BYTES;
    out->directory_offset = TL_HEADER_BYTES + TL_SCHEMA_BYTES;
    out->rings_offset = out->directory_offset + (uint64_t)ring_count * sizeof(tl_ring_slot);
    out->rings_offset = (out->rings_offset + page - 1) & ~(page - 1);
    out->section_bytes = out->rings_offset + (uint64_t)ring_count * ring_bytes;
    return out->section_bytes <= SIZE_MAX;
}

// Fills the header of a zeroed section; the geometry has passed tl_layout_compute.
void tl_layout_write(void *memory, uint32_t ring_count, uint32_t ring_bytes);

// True if the header's numbers are of our version and agree with each other.
bool tl_layout_read(const tl_section_header *header, tl_layout *out);

// tl_consumer_create without the lower bound of ring_bytes.
tl_consumer *tl_consumer_create_any(void *section, uint32_t ring_count, uint32_t ring_bytes);
