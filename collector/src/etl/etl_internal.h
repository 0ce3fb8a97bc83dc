// SPDX-License-Identifier: MIT
// What the files of the .etl reader share: an open recording and the bytes of its buffers.
#pragma once

#include "collector/etl.h"

#define ETL_BUFFER_HEADER 72u
#define ETL_BUFFER_MAX    ((size_t)(16u << 20) + ETL_BUFFER_HEADER) // the largest that Windows makes
#define ETL_BUFFERS_MAX   ((size_t)16 << 20)                        // 1 TB of 64 KB each
#define ETL_MEMORY_MAX    ((size_t)1 << 30)                         // of all buffers in memory

enum { ETL_BUFFER_TYPE_HEADER = 4, ETL_FLAG_PROCESSOR_INDEX = 0x20, ETL_FLAG_COMPRESSED = 0x40 };

struct co_etl {
    cm_file *file; // NULL: memory
    const uint8_t *memory;
    uint64_t bytes;
    co_etl_header header;
    size_t memory_max;
    uint8_t *packed; // the bytes of a compressed buffer
    size_t packed_cap;
};

// A buffer in memory, unpacked: its records stand from ETL_BUFFER_HEADER to `used`.
typedef struct etl_loaded {
    uint8_t *bytes;
    size_t cap, used;
    uint16_t cpu;
} etl_loaded;

// Some bytes of the recording; fewer only at its end.
cm_status co_etl_fetch(co_etl *e, uint64_t offset, void *out, size_t len, size_t *out_len);

// The header of the buffer at `offset`. CM_END behind the last one; CM_CORRUPT with a sentence if
// no buffer can be there, which also hides all that follow.
cm_status co_etl_buffer_at(co_etl *e, uint64_t offset, co_etl_buffer *out);

// Reads and unpacks. *problem is a few words if not all of it could be had; what is good is there.
cm_status co_etl_buffer_load(co_etl *e, const co_etl_buffer *buffer, etl_loaded *into,
                             const char **problem);

// The records of all processors by time.
cm_status co_etl_merge(co_etl *e, const co_etl_visitor *visitor);

// Fills `out` from the recording's first record; false if that is none.
bool co_etl_logfile_parse(const co_etl_event *first, co_etl_header *out);
