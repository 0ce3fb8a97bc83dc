// SPDX-License-Identifier: MIT
// For programs that check the behaviour of event tracing: a session, a provider and a consumer with
// few words, and checks that say what was wrong.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <windows.h>

#include <evntrace.h>

#include <evntcons.h>
#include <evntprov.h>

#define KIT_ONE_STREAM 0x10000000u
#define KIT_INDEPEND   0x08000000u
#define KIT_SYSTEM     0x02000000u
#define KIT_MAX_EVENTS 4096

bool kit_same(const GUID *a, const GUID *b);
void kit_check(const char *what, uint64_t actual, uint64_t expected);
int kit_end(void); // the exit code

// ----------------------------------------------------------------------------------------- session

typedef struct kit_properties {
    EVENT_TRACE_PROPERTIES p;
    WCHAR name[256];
    WCHAR file[520];
} kit_properties;

typedef struct kit_session {
    TRACEHANDLE handle;
    const WCHAR *name;
    uint32_t kb, min, max, mode, flush_seconds, kernel_flags; // before kit_start; 0: ordinary
} kit_session;

void kit_prepare(kit_properties *out);
ULONG kit_start(kit_session *s);
ULONG kit_enable(const kit_session *s, const GUID *provider, UCHAR level, uint64_t any,
                 uint64_t all, ULONG property, uint32_t only_pid); // waits for the callbacks
ULONG kit_switch(const kit_session *s, const GUID *provider, ULONG code);
ULONG kit_control(const kit_session *s, ULONG code, EVENT_TRACE_PROPERTIES *out); // out may be null
ULONG kit_stop(const kit_session *s);

// ---------------------------------------------------------------------------------------- provider

typedef struct kit_provider {
    GUID id;
    REGHANDLE handle;
    // The last callback, and how many there were.
    volatile LONG calls;
    ULONG code;
    UCHAR level;
    uint64_t any, all;
    GUID source;
} kit_provider;

void kit_register(kit_provider *p, uint16_t number); // an id made from it
// One event of 8 bytes payload: `value`. As TraceLogging writes it, named "Kit".
ULONG kit_write(const kit_provider *p, UCHAR level, uint64_t keyword, uint64_t value);

// ---------------------------------------------------------------------------------------- consumer

typedef struct kit_seen {
    GUID provider;
    uint8_t opcode, level;
    uint32_t pid, tid;
    uint64_t value; // first 8 bytes of the payload
    int64_t stamp;
    uint16_t payload_len, items, schema_len, traits_len, flags;
    GUID activity, related;
    void *context;
} kit_seen;

typedef struct kit_consumer {
    TRACEHANDLE handle;
    HANDLE thread;
    volatile LONG count, buffers, ended, end_after_buffers; // the last: 0: never
    volatile LONG total; // also of events that there is no room for in `seen`
    ULONG result;
    kit_seen seen[KIT_MAX_EVENTS];
} kit_consumer;

// Reads on a thread until the session stops or `end_after_buffers`.
bool kit_open(kit_consumer *c, const WCHAR *name, bool raw);
void kit_wait_events(kit_consumer *c, uint32_t count, const GUID *provider);
uint32_t kit_count(const kit_consumer *c, const GUID *provider, int opcode); // -1: any
const kit_seen *kit_event(const kit_consumer *c, const GUID *provider, uint32_t index);
ULONG kit_join(kit_consumer *c); // waits for ProcessTrace; what it returned

extern const GUID kit_lost_events, kit_header, kit_process_class, kit_thread_class, kit_image_class;
