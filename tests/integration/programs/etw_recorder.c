// SPDX-License-Identifier: MIT
// An event tracing session as any tool would run it: starts it, enables providers, reads it live
// (or has a file written), stops it when asked, and prints what it saw as JSON.
//
//     etw_recorder NAME [--file PATH [--live]] [--buffers KB MIN MAX] [--flags MASK] [--capture]
//     [--leave]
//                  [--until FILE] GUID LEVEL ANY [GUID LEVEL ANY ...]
//
// Prints "recording" once everything is enabled. It ends when FILE appears, with the session
// stopped or, with --leave, without stopping it. Before that, --capture asks the providers for
// their state.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <windows.h>

#include <evntrace.h>

#include <evntcons.h>

#define ITEM_SCHEMA 11
#define NAMES       128
#define RAW         0x00001000u

typedef struct properties {
    EVENT_TRACE_PROPERTIES p;
    WCHAR name[256];
    WCHAR file[520];
} properties;

static struct {
    const WCHAR *name, *file, *until;
    ULONG kb, min, max, flags;
    bool capture, leave, live; // live: besides the file
    TRACEHANDLE session, trace;
} g;

static struct {
    char name[160];
    uint32_t count;
} g_names[NAMES];
static uint32_t g_name_count, g_events, g_unordered, g_headers;
static int64_t g_last;

// The event's name by its TraceLogging metadata; else the provider's first number and the opcode.
static void name_of(const EVENT_RECORD *r, char *out, size_t size)
{
    for (uint32_t i = 0; i < r->ExtendedDataCount; i++) {
        const EVENT_HEADER_EXTENDED_DATA_ITEM *item = &r->ExtendedData[i];
        const uint8_t *bytes = (const uint8_t *)(uintptr_t)item->DataPtr;
        if (item->ExtType != ITEM_SCHEMA || item->DataSize < 4)
            continue;
        uint32_t at = 2;
        while (at < item->DataSize && bytes[at++] & 0x80)
            ;
        snprintf(out, size, "%.*s", (int)strnlen((const char *)bytes + at, item->DataSize - at),
                 (const char *)bytes + at);
        return;
    }
    snprintf(out, size, "%08lx/%u", r->EventHeader.ProviderId.Data1,
             r->EventHeader.EventDescriptor.Opcode);
}

static void WINAPI on_event(EVENT_RECORD *r)
{
    char name[160];
    uint32_t i = 0;
    name_of(r, name, sizeof name);
    while (i < g_name_count && strcmp(g_names[i].name, name) != 0)
        i++;
    if (i == g_name_count && i < NAMES)
        strcpy(g_names[g_name_count++].name, name);
    if (i < NAMES)
        g_names[i].count++;
    if (strcmp(name, "68fdd900/0") == 0)
        g_headers++;
    else if (r->EventHeader.TimeStamp.QuadPart < g_last)
        g_unordered++;
    g_last = r->EventHeader.TimeStamp.QuadPart;
    g_events++;
}

static ULONG WINAPI on_buffer(EVENT_TRACE_LOGFILEW *log)
{
    return log->BuffersRead > 0;
}

static DWORD WINAPI process(void *unused)
{
    (void)unused;
    return ProcessTrace(&g.trace, 1, NULL, NULL);
}

static void prepare(properties *p)
{
    memset(p, 0, sizeof *p);
    p->p.Wnode.BufferSize = sizeof *p;
    p->p.Wnode.Flags = WNODE_FLAG_TRACED_GUID;
    p->p.Wnode.ClientContext = 1;
    p->p.LoggerNameOffset = offsetof(properties, name);
    p->p.LogFileNameOffset = offsetof(properties, file);
}

static ULONG start(void)
{
    properties p;
    prepare(&p);
    p.p.BufferSize = g.kb;
    p.p.MinimumBuffers = g.min;
    p.p.MaximumBuffers = g.max;
    p.p.FlushTimer = 1;
    p.p.LogFileMode =
        (g.file ? EVENT_TRACE_FILE_MODE_SEQUENTIAL : 0) | (g.live ? EVENT_TRACE_REAL_TIME_MODE : 0);
    if (g.flags) {
        p.p.LogFileMode |= 0x02000000; // EVENT_TRACE_SYSTEM_LOGGER_MODE
        p.p.EnableFlags = g.flags;
    }
    if (g.file)
        wcscpy(p.file, g.file);
    return StartTraceW(&g.session, g.name, &p.p);
}

static ULONG each_provider(int argc, WCHAR **argv, ULONG code)
{
    ULONG result = ERROR_SUCCESS;
    for (int i = 0; i + 2 < argc && result == ERROR_SUCCESS; i += 3) {
        unsigned v[11];
        GUID id = {0};
        if (swscanf(argv[i], L"%8x-%4x-%4x-%2x%2x-%2x%2x%2x%2x%2x%2x", &v[0], &v[1], &v[2], &v[3],
                    &v[4], &v[5], &v[6], &v[7], &v[8], &v[9], &v[10]) != 11)
            return ERROR_INVALID_PARAMETER;
        id = (GUID){v[0], (USHORT)v[1], (USHORT)v[2], {0}};
        for (int b = 0; b < 8; b++)
            id.Data4[b] = (BYTE)v[3 + b];
        result = EnableTraceEx2(g.session, &id, code, (UCHAR)wcstoul(argv[i + 1], NULL, 0),
                                wcstoull(argv[i + 2], NULL, 0), 0, 10000, NULL);
    }
    return result;
}

static int options(int argc, WCHAR **argv)
{
    int i = 2;
    g.name = argv[1];
    g.kb = 64, g.min = 8, g.max = 64;
    for (; i < argc && wcsncmp(argv[i], L"--", 2) == 0; i++) {
        if (wcscmp(argv[i], L"--file") == 0)
            g.file = argv[++i];
        else if (wcscmp(argv[i], L"--until") == 0)
            g.until = argv[++i];
        else if (wcscmp(argv[i], L"--capture") == 0)
            g.capture = true;
        else if (wcscmp(argv[i], L"--live") == 0)
            g.live = true;
        else if (wcscmp(argv[i], L"--leave") == 0)
            g.leave = true;
        else if (wcscmp(argv[i], L"--flags") == 0)
            g.flags = wcstoul(argv[++i], NULL, 0);
        else if (wcscmp(argv[i], L"--buffers") == 0) {
            g.kb = wcstoul(argv[i + 1], NULL, 0);
            g.min = wcstoul(argv[i + 2], NULL, 0);
            g.max = wcstoul(argv[i + 3], NULL, 0);
            i += 3;
        }
    }
    g.live = g.live || !g.file;
    return i;
}

static void print(const EVENT_TRACE_PROPERTIES *p, ULONG stopped, DWORD processed)
{
    printf("{\"events\":%u,\"headers\":%u,\"unordered\":%u,\"lost\":%lu,\"rt_buffers_lost\":%lu",
           g_events, g_headers, g_unordered, p->EventsLost, p->RealTimeBuffersLost);
    printf(",\"buffers\":%lu,\"stopped\":%lu,\"processed\":%lu,\"names\":{", p->BuffersWritten,
           stopped, processed);
    for (uint32_t i = 0; i < g_name_count; i++)
        printf("%s\"%s\":%u", i ? "," : "", g_names[i].name, g_names[i].count);
    printf("}}\n");
}

int wmain(int argc, WCHAR **argv);

int wmain(int argc, WCHAR **argv)
{
    if (argc < 3)
        return 2;
    int first = options(argc, argv);
    ULONG result = start();
    if (result == ERROR_SUCCESS)
        result = each_provider(argc - first, argv + first, EVENT_CONTROL_CODE_ENABLE_PROVIDER);
    if (result != ERROR_SUCCESS) {
        printf("{\"error\":%lu}\n", result);
        return 1;
    }
    HANDLE reader = NULL;
    EVENT_TRACE_LOGFILEW log = {.LoggerName = (WCHAR *)(uintptr_t)g.name};
    log.ProcessTraceMode = PROCESS_TRACE_MODE_REAL_TIME | PROCESS_TRACE_MODE_EVENT_RECORD | RAW;
    log.EventRecordCallback = on_event;
    log.BufferCallback = on_buffer;
    if (g.live) {
        g.trace = OpenTraceW(&log);
        reader = CreateThread(NULL, 0, process, NULL, 0, NULL);
    }
    printf("recording\n");
    fflush(stdout);
    while (g.until && GetFileAttributesW(g.until) == INVALID_FILE_ATTRIBUTES)
        Sleep(5);
    if (g.capture)
        each_provider(argc - first, argv + first, EVENT_CONTROL_CODE_CAPTURE_STATE);
    properties p;
    prepare(&p);
    ULONG stopped = ControlTraceW(g.session, NULL, &p.p,
                                  g.leave ? EVENT_TRACE_CONTROL_FLUSH : EVENT_TRACE_CONTROL_STOP);
    DWORD processed = 0;
    if (reader && !g.leave) {
        WaitForSingleObject(reader, INFINITE);
        GetExitCodeThread(reader, &processed);
        CloseTrace(g.trace);
    }
    print(&p.p, stopped, processed);
    return 0;
}
