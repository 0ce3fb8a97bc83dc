// SPDX-License-Identifier: MIT
// Reading an .etl file: what Windows' event tracing wrote, on any system, with nothing of Windows'.
//
// A recording is a row of buffers, each filled by one processor. They are read either in the order
// of the file or, by CO_ETL_BY_TIME, merged over the processors by time; then one buffer of each
// processor is in memory, and 8 bytes for each buffer of the file.
//
// The bytes are foreign: whatever they hold, reading ends, within bounds and with bounded memory.
// What can't be understood is counted as damage and passed over; what is whole is handed out. All
// that an event points to is valid during the callback only.
#pragma once

#include "common/os.h"
#include "common/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CO_ETL_UNKNOWN UINT32_MAX // a process or thread that the record does not name

typedef struct co_etl co_etl;

typedef enum co_etl_clock {
    CO_ETL_QPC = 1,
    CO_ETL_SYSTEM_TIME = 2,
    CO_ETL_CPU_CYCLES = 3
} co_etl_clock;

// TRACE_LOGFILE_HEADER, the first record. Times are FILETIMEs: 100 ns since 1601.
typedef struct co_etl_header {
    uint32_t buffer_size;
    uint8_t version[4]; // of the system: major, minor; of the format: major, minor
    uint32_t build;
    uint32_t processors;
    uint64_t end_time; // 0: the recording was not finished
    uint32_t timer_resolution;
    uint32_t maximum_file_size;
    uint32_t mode;
    uint32_t buffers_written;
    uint32_t start_buffers;
    uint32_t pointer_size;
    uint32_t events_lost;
    uint32_t cpu_mhz;
    uint64_t logger_name_pointer, file_name_pointer; // as they are; mean nothing in a file
    int32_t time_zone_bias;
    char time_zone[128];
    uint64_t boot_time;
    int64_t perf_freq;
    uint64_t start_time;
    uint32_t clock; // co_etl_clock, or what the file says
    uint32_t buffers_lost;
    char logger_name[512], file_name[1024];
    int64_t first_time; // the clock at start_time
} co_etl_header;

typedef struct co_etl_buffer {
    uint64_t offset; // in the file
    uint32_t size, used;
    int64_t sequence;
    uint16_t flags, type;
    uint16_t cpu;
} co_etl_buffer;

// Which of its fields tell what an event is.
typedef enum co_etl_family {
    CO_ETL_KERNEL,  // group, opcode
    CO_ETL_CLASSIC, // provider, opcode
    CO_ETL_EVENT,   // provider, id or (TraceLogging) its metadata
    CO_ETL_MESSAGE, // WPP: provider if the record has it, id
    CO_ETL_OTHER,   // a header that nobody explains: counted only
} co_etl_family;

typedef struct co_etl_event {
    co_etl_family family;
    uint8_t header;       // the record's header type
    uint8_t pointer_size; // 4 or 8, by the record itself
    bool timed;           // the record has a time
    int64_t time;         // by the recording's clock
    bool has_thread;      // the record names process and thread, if only to say that there is none
    uint32_t pid, tid;    // CO_ETL_UNKNOWN where it does not
    uint16_t cpu;
    uint8_t group, opcode, level, channel;
    uint16_t version, id, task, flags;
    uint64_t keyword;
    uint8_t provider[16], activity[16];
    const uint8_t *data;
    size_t data_len;
    const uint8_t *traits; // provider's name and traits (TraceLogging), NULL: none
    size_t traits_len;
    const uint8_t *metadata; // event's name and fields (TraceLogging), NULL: none
    size_t metadata_len;
    uint32_t items; // bit n: an extended item of type n is there
} co_etl_event;

typedef enum co_etl_order { CO_ETL_BY_FILE, CO_ETL_BY_TIME } co_etl_order;

typedef struct co_etl_visitor {
    void *context;
    // NULL where not wanted. `buffer` only in the order of the file; `damage` as well: one sentence
    // for each thing that had to be passed over. `progress` now and then, with bytes of the file
    // read; false from any of them ends the reading with CM_END.
    bool (*event)(void *context, const co_etl_event *event);
    void (*buffer)(void *context, const co_etl_buffer *buffer);
    void (*damage)(void *context, const char *sentence);
    bool (*progress)(void *context, uint64_t bytes, uint64_t total);
} co_etl_visitor;

// Opens a recording: CM_UNSUPPORTED with a sentence where it is none, and where its first buffer is
// damaged. `memory` is borrowed until close.
cm_status co_etl_open(const char *path, co_etl **out);
cm_status co_etl_open_memory(const void *memory, size_t len, co_etl **out);
void co_etl_close(co_etl *e);

const co_etl_header *co_etl_header_of(const co_etl *e);
uint64_t co_etl_bytes(const co_etl *e);

// Hands out every event once; may be called any number of times.
cm_status co_etl_read(co_etl *e, co_etl_order order, const co_etl_visitor *visitor);

// False where the file does not say how fast its clock was.
bool co_etl_has_time(const co_etl_header *h);
// Nanoseconds since start_time; may be negative in files that were merged.
int64_t co_etl_ns(const co_etl_header *h, int64_t time);
// A span of the clock in nanoseconds.
int64_t co_etl_span_ns(const co_etl_header *h, int64_t ticks);
uint64_t co_etl_start_utc_ns(const co_etl_header *h); // since 1970
uint64_t co_etl_filetime(const co_etl_header *h, int64_t time);

// "68fdd900-4a3e-11d1-84f4-0000f80464e3"
#define CO_ETL_GUID_TEXT 37
void co_etl_guid_text(const uint8_t guid[16], char out[CO_ETL_GUID_TEXT]);
