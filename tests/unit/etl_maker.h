// SPDX-License-Identifier: MIT
// Makes .etl files, for the tests of their reader: buffers, records with every kind of header,
// TraceLogging events. The bytes are put together from the description of the format, not by the
// code that reads them.
#pragma once

#include "common/buf.h"

#include <stdint.h>

typedef struct etl_maker {
    cm_buf file;
    size_t buffer; // offset of the buffer under way
    uint32_t buffer_size;
    uint16_t cpu, type, flags;
    int64_t sequence;
    cm_buf records;
} etl_maker;

typedef struct etl_head {
    uint32_t pointer_size, clock, mode, mhz, lost;
    int64_t freq, first_time;
    uint64_t start_time;
} etl_head;

// QPC of 10 MHz, 8-byte pointers, start 2026-01-01.
extern const etl_head etl_head_usual;
#define ETL_START 133800000000000000u

void etl_begin(etl_maker *m, const etl_head *head);
void etl_buffer(etl_maker *m, uint16_t cpu); // ends the one before
void etl_end(etl_maker *m);                  // `file` is whole then
void etl_free(etl_maker *m);
void etl_compressed(etl_maker *m); // the buffer under way

typedef struct etl_bytes {
    uint8_t data[4096];
    size_t len;
} etl_bytes;

void put8(etl_bytes *b, unsigned value);
void put16(etl_bytes *b, unsigned value);
void put32(etl_bytes *b, uint64_t value);
void put64(etl_bytes *b, uint64_t value);
void put_text(etl_bytes *b, const char *text); // with its NUL
void put_wide(etl_bytes *b, const char *text); // ASCII as UTF-16, with its NUL

// Records; types are those of the format (0x02, 0x11, ...).
void etl_kernel(etl_maker *m, unsigned type, unsigned version, unsigned group, unsigned opcode,
                int64_t time, uint32_t pid, uint32_t tid, const etl_bytes *data);
void etl_classic(etl_maker *m, unsigned type, const uint8_t guid[16], unsigned version,
                 unsigned opcode, int64_t time, uint32_t pid, uint32_t tid, const etl_bytes *data);
// `metadata` NULL: a manifest event.
void etl_event(etl_maker *m, const uint8_t guid[16], unsigned id, unsigned version, unsigned level,
               int64_t time, uint32_t pid, uint32_t tid, const etl_bytes *metadata,
               const etl_bytes *data);
// A TraceLogging event with whatever its provider gave: items and data of any length.
typedef struct etl_given {
    const uint8_t *guid, *traits, *metadata, *data;
    size_t traits_len, metadata_len, data_len;
    unsigned level;
    uint64_t keyword;
} etl_given;
void etl_event_given(etl_maker *m, const etl_given *given, int64_t time, uint32_t pid,
                     uint32_t tid);
void etl_message(etl_maker *m, int64_t time, const uint8_t guid[16], uint32_t pid, uint32_t tid);
void etl_raw(etl_maker *m, const void *bytes, size_t len);

// TraceLogging: an event's name, then fields.
void tlg_name(etl_bytes *metadata, const char *event);
void tlg_field(etl_bytes *metadata, const char *name, unsigned in);
void tlg_finish(etl_bytes *metadata); // the size in front

extern const uint8_t etl_ort_guid[16], etl_kernel_process_guid[16], etl_thread_guid[16];

// The kernel's usual events.
void etl_process(etl_maker *m, unsigned opcode, int64_t time, uint32_t pid, uint32_t parent,
                 const char *name);
void etl_thread(etl_maker *m, unsigned opcode, int64_t time, uint32_t pid, uint32_t tid);
void etl_image(etl_maker *m, int64_t time, uint32_t pid, const char *path);
void etl_switch(etl_maker *m, int64_t time, uint32_t new_tid, uint32_t old_tid, int reason,
                int state);
// An event of ORT's provider with a session's number (or none: -1).
void etl_ort(etl_maker *m, const char *event, int64_t time, uint32_t pid, uint32_t tid,
             int64_t session);
