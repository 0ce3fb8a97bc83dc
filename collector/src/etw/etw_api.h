// SPDX-License-Identifier: MIT
// Windows' event tracing as one table of functions, so that the code that leads a session is the
// same with the real system, with a simulated one, and with a scripted one in a test on any system.
// Structures are those of evntrace.h and evntcons.h for 64 bits (win32/etw_library.c checks that).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// winerror.h
enum {
    ETW_OK = 0,
    ETW_ACCESS_DENIED = 5,
    ETW_INVALID_PARAMETER = 87,
    ETW_ALREADY_EXISTS = 183,
    ETW_MORE_DATA = 234,
    ETW_PRIVILEGE_NOT_HELD = 1314,
    ETW_NO_SYSTEM_RESOURCES = 1450,
    ETW_NO_SUCH_SESSION = 4201, // ERROR_WMI_INSTANCE_NOT_FOUND
};

enum { ETW_QUERY = 0, ETW_STOP = 1, ETW_FLUSH = 3 };                               // ControlTrace
enum { ETW_DISABLE_PROVIDER = 0, ETW_ENABLE_PROVIDER = 1, ETW_CAPTURE_STATE = 2 }; // EnableTraceEx2

#define ETW_REAL_TIME_MODE     0x00000100u // LogFileMode
#define ETW_SYSTEM_LOGGER_MODE 0x02000000u
#define ETW_INDEPENDENT_MODE   0x08000000u
#define ETW_MODE_REAL_TIME     0x00000100u // ProcessTraceMode
#define ETW_MODE_RAW_TIMESTAMP 0x00001000u
#define ETW_MODE_EVENT_RECORD  0x10000000u
#define ETW_WNODE_TRACED_GUID  0x00020000u
#define ETW_CLOCK_QPC          1u
#define ETW_INVALID_TRACE      UINT64_MAX
#define ETW_FILTER_EVENT_ID    0x80000200u
#define ETW_ENABLE_VERSION     2u

typedef struct etw_properties {
    uint32_t wnode_bytes, provider_id;
    uint64_t historical_context;
    int64_t time_stamp;
    uint8_t guid[16];
    uint32_t client_context, wnode_flags;
    uint32_t buffer_kib, minimum_buffers, maximum_buffers, maximum_file_size;
    uint32_t mode, flush_timer, enable_flags;
    int32_t age_limit;
    uint32_t buffers, free_buffers, events_lost, buffers_written, log_buffers_lost;
    uint32_t real_time_buffers_lost;
    void *logger_thread;
    uint32_t log_file_name_offset, logger_name_offset;
} etw_properties;
_Static_assert(sizeof(etw_properties) == 120, "EVENT_TRACE_PROPERTIES");

#define ETW_NAME_CHARS 128u // of a session; Windows allows 1024

// What StartTrace and ControlTrace write behind the properties.
typedef struct etw_session_block {
    etw_properties p;
    uint16_t name[1024], file[1024];
} etw_session_block;

typedef struct etw_item {
    uint16_t reserved, type, linkage, len;
    uint64_t data;
} etw_item;
_Static_assert(sizeof(etw_item) == 16, "EVENT_HEADER_EXTENDED_DATA_ITEM");

typedef struct etw_record {
    uint16_t size, header_type, flags, property;
    uint32_t tid, pid;
    int64_t time;
    uint8_t provider[16];
    uint16_t id;
    uint8_t version, channel, level, opcode;
    uint16_t task;
    uint64_t keyword;
    uint64_t processor_time;
    uint8_t activity[16];
    uint8_t processor, alignment; // or one number of 16 bits
    uint16_t logger;
    uint16_t item_count, data_len;
    const etw_item *items;
    const void *data;
    void *context;
} etw_record;
_Static_assert(sizeof(etw_record) == 112 && offsetof(etw_record, items) == 88, "EVENT_RECORD");

typedef struct etw_logfile {
    uint16_t *log_file_name, *logger_name;
    int64_t current_time;
    uint32_t buffers_read, mode;
    uint8_t current_event[88];
    uint8_t header[280];
    void *buffer_callback;
    uint32_t buffer_size, filled, events_lost, pad;
    void (*record_callback)(etw_record *record);
    uint32_t is_kernel, pad2;
    void *context;
} etw_logfile;
_Static_assert(sizeof(etw_logfile) == 448 && offsetof(etw_logfile, record_callback) == 424,
               "EVENT_TRACE_LOGFILEW");

typedef struct etw_filter {
    uint64_t data;
    uint32_t len, type;
} etw_filter;

typedef struct etw_enable {
    uint32_t version, property, control_flags;
    uint8_t source[16];
    uint32_t pad;
    etw_filter *filters;
    uint32_t filter_count, pad2;
} etw_enable;
_Static_assert(sizeof(etw_enable) == 48 && offsetof(etw_enable, filters) == 32,
               "ENABLE_TRACE_PARAMETERS");

typedef struct etw_api {
    uint32_t (*start_trace)(uint64_t *handle, const uint16_t *name, etw_properties *p);
    uint32_t (*control_trace)(uint64_t handle, const uint16_t *name, etw_properties *p,
                              uint32_t code);
    uint32_t (*enable_trace)(uint64_t handle, const uint8_t provider[16], uint32_t code,
                             uint8_t level, uint64_t any, uint64_t all, uint32_t timeout_ms,
                             etw_enable *parameters);
    uint64_t (*open_trace)(etw_logfile *file);
    uint32_t (*process_trace)(uint64_t *handles, uint32_t count, void *from, void *to);
    uint32_t (*close_trace)(uint64_t handle);
    uint32_t (*query_all)(etw_properties **blocks, uint32_t count, uint32_t *out_count);
    // Not of event tracing itself.
    uint32_t (*last_error)(void);
    // Whether the process with this PID, created at this time (0: not known), still runs; true
    // also where that can't be found out.
    bool (*is_alive)(uint32_t pid, uint64_t created);
    // The privilege that samples of the processor need; false if we don't have it.
    bool (*allow_profile)(void);
} etw_api;
