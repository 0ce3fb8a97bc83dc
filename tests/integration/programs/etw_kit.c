// SPDX-License-Identifier: MIT
#include "etw_kit.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#define RAW_TIMESTAMP 0x00001000u
#define ENABLE_WAIT   30000

const GUID kit_lost_events = {
    0x6a399ae0, 0x4bc6, 0x4de9, {0x87, 0x0b, 0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e}};
const GUID kit_header = {
    0x68fdd900, 0x4a3e, 0x11d1, {0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3}};
const GUID kit_process_class = {
    0x3d6fa8d0, 0xfe05, 0x11d0, {0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c}};
const GUID kit_thread_class = {
    0x3d6fa8d1, 0xfe05, 0x11d0, {0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c}};
const GUID kit_image_class = {
    0x2cb15d1d, 0x5fc1, 0x11d2, {0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18}};

static uint32_t g_failed;

void kit_check(const char *what, uint64_t actual, uint64_t expected)
{
    if (actual == expected)
        printf("ok %s\n", what);
    else
        printf("FAIL %s: got %llu, expected %llu\n", what, (unsigned long long)actual,
               (unsigned long long)expected);
    fflush(stdout);
    g_failed += actual != expected;
}

bool kit_same(const GUID *a, const GUID *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

int kit_end(void)
{
    return g_failed ? 1 : 0;
}

// ----------------------------------------------------------------------------------------- session

void kit_prepare(kit_properties *out)
{
    memset(out, 0, sizeof *out);
    out->p.Wnode.BufferSize = sizeof *out;
    out->p.Wnode.Flags = WNODE_FLAG_TRACED_GUID;
    out->p.Wnode.ClientContext = 1;
    out->p.LoggerNameOffset = offsetof(kit_properties, name);
    out->p.LogFileNameOffset = offsetof(kit_properties, file);
}

ULONG kit_start(kit_session *s)
{
    kit_properties p;
    kit_prepare(&p);
    p.p.BufferSize = s->kb ? s->kb : 64;
    p.p.MinimumBuffers = s->min;
    p.p.MaximumBuffers = s->max ? s->max : 32;
    p.p.LogFileMode = s->mode | EVENT_TRACE_REAL_TIME_MODE;
    p.p.FlushTimer = s->flush_seconds;
    p.p.EnableFlags = s->kernel_flags;
    return StartTraceW(&s->handle, s->name, &p.p);
}

ULONG kit_enable(const kit_session *s, const GUID *provider, UCHAR level, uint64_t any,
                 uint64_t all, ULONG property, uint32_t only_pid)
{
    EVENT_FILTER_DESCRIPTOR filter = {(uintptr_t)&only_pid, sizeof only_pid, 0x80000004u};
    ENABLE_TRACE_PARAMETERS p = {.Version = 2, .EnableProperty = property};
    if (only_pid) {
        p.EnableFilterDesc = &filter;
        p.FilterDescCount = 1;
    }
    return EnableTraceEx2(s->handle, provider, EVENT_CONTROL_CODE_ENABLE_PROVIDER, level, any, all,
                          ENABLE_WAIT, &p);
}

ULONG kit_switch(const kit_session *s, const GUID *provider, ULONG code)
{
    return EnableTraceEx2(s->handle, provider, code, 5, 7, 0, ENABLE_WAIT, NULL);
}

ULONG kit_control(const kit_session *s, ULONG code, EVENT_TRACE_PROPERTIES *out)
{
    kit_properties p;
    kit_prepare(&p);
    ULONG result = ControlTraceW(0, s->name, &p.p, code);
    if (out)
        *out = p.p;
    return result;
}

ULONG kit_stop(const kit_session *s)
{
    return kit_control(s, EVENT_TRACE_CONTROL_STOP, NULL);
}

// ---------------------------------------------------------------------------------------- provider

static void WINAPI on_enable(const GUID *source, ULONG code, UCHAR level, ULONGLONG any,
                             ULONGLONG all, PEVENT_FILTER_DESCRIPTOR filter, void *context)
{
    kit_provider *p = context;
    (void)filter;
    p->source = *source;
    p->code = code;
    p->level = level;
    p->any = any;
    p->all = all;
    InterlockedIncrement(&p->calls);
}

void kit_register(kit_provider *p, uint16_t number)
{
    static const char traits[] = "\x06\x00Kit"; // size, name
    memset(p, 0, sizeof *p);
    p->id = (GUID){0xE7740000, number, 0x4000, {0x80, 0, 0, 0, 0, 0, 0, 1}};
    p->code = 99;
    EventRegister(&p->id, on_enable, p, &p->handle);
    EventSetInformation(p->handle, 2, (void *)(uintptr_t)traits, 6);
}

ULONG kit_write(const kit_provider *p, UCHAR level, uint64_t keyword, uint64_t value)
{
    static const char traits[] = "\x06\x00Kit", event[] = "\x0E\x00\x00Kit\0value\0\x0A";
    EVENT_DESCRIPTOR descriptor = {.Channel = 11, .Level = level, .Keyword = keyword};
    EVENT_DATA_DESCRIPTOR data[3] = {
        {(uintptr_t)traits, 6, 2}, {(uintptr_t)event, 14, 1}, {(uintptr_t)&value, sizeof value, 0}};
    return EventWriteTransfer(p->handle, &descriptor, NULL, NULL, 3, data);
}

// ---------------------------------------------------------------------------------------- consumer

static void WINAPI on_event(EVENT_RECORD *r)
{
    // The consumer is found by the session's context: one word that is checked too.
    kit_consumer *c = r->UserContext;
    LONG index = c->count;
    InterlockedIncrement(&c->total);
    if (index >= KIT_MAX_EVENTS)
        return;
    kit_seen *seen = &c->seen[index];
    *seen = (kit_seen){.provider = r->EventHeader.ProviderId,
                       .opcode = r->EventHeader.EventDescriptor.Opcode,
                       .level = r->EventHeader.EventDescriptor.Level,
                       .pid = r->EventHeader.ProcessId,
                       .tid = r->EventHeader.ThreadId,
                       .stamp = r->EventHeader.TimeStamp.QuadPart,
                       .payload_len = r->UserDataLength,
                       .items = r->ExtendedDataCount,
                       .flags = r->EventHeader.Flags,
                       .activity = r->EventHeader.ActivityId,
                       .context = r->UserContext};
    if (r->UserDataLength >= 8)
        memcpy(&seen->value, r->UserData, 8);
    for (uint32_t i = 0; i < r->ExtendedDataCount; i++) {
        const EVENT_HEADER_EXTENDED_DATA_ITEM *item = &r->ExtendedData[i];
        if (item->ExtType == 11)
            seen->schema_len = item->DataSize;
        if (item->ExtType == 12)
            seen->traits_len = item->DataSize;
        if (item->ExtType == 1)
            memcpy(&seen->related, (const void *)(uintptr_t)item->DataPtr, 16);
    }
    InterlockedIncrement(&c->count);
}

static ULONG WINAPI on_buffer(EVENT_TRACE_LOGFILEW *log)
{
    kit_consumer *c = log->Context;
    LONG count = InterlockedIncrement(&c->buffers);
    return !c->end_after_buffers || count < c->end_after_buffers;
}

static DWORD WINAPI process(void *argument)
{
    kit_consumer *c = argument;
    c->result = ProcessTrace(&c->handle, 1, NULL, NULL);
    InterlockedExchange(&c->ended, 1);
    return 0;
}

bool kit_open(kit_consumer *c, const WCHAR *name, bool raw)
{
    EVENT_TRACE_LOGFILEW log = {.LoggerName = (WCHAR *)(uintptr_t)name, .Context = c};
    LONG end_after = c->end_after_buffers;
    memset(c, 0, offsetof(kit_consumer, seen));
    c->end_after_buffers = end_after;
    log.ProcessTraceMode =
        PROCESS_TRACE_MODE_REAL_TIME | PROCESS_TRACE_MODE_EVENT_RECORD | (raw ? RAW_TIMESTAMP : 0);
    log.EventRecordCallback = on_event;
    log.BufferCallback = on_buffer;
    c->handle = OpenTraceW(&log);
    if (c->handle == INVALID_PROCESSTRACE_HANDLE)
        return false;
    c->thread = CreateThread(NULL, 0, process, c, 0, NULL);
    return true;
}

uint32_t kit_count(const kit_consumer *c, const GUID *provider, int opcode)
{
    uint32_t count = 0;
    for (LONG i = 0; i < c->count; i++)
        count += memcmp(&c->seen[i].provider, provider, 16) == 0 &&
                 (opcode < 0 || c->seen[i].opcode == opcode);
    return count;
}

const kit_seen *kit_event(const kit_consumer *c, const GUID *provider, uint32_t index)
{
    static const kit_seen none;
    for (LONG i = 0; i < c->count; i++)
        if (memcmp(&c->seen[i].provider, provider, 16) == 0 && index-- == 0)
            return &c->seen[i];
    return &none;
}

// Until they are there or the session is over; the test's own time limit ends what hangs.
void kit_wait_events(kit_consumer *c, uint32_t count, const GUID *provider)
{
    while (kit_count(c, provider, -1) < count && !c->ended)
        Sleep(5);
}

ULONG kit_join(kit_consumer *c)
{
    WaitForSingleObject(c->thread, INFINITE);
    CloseHandle(c->thread);
    return c->result;
}
