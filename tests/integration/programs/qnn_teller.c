// SPDX-License-Identifier: MIT
// qnn_teller RUNS: tells event tracing what ONNX Runtime and its QNN provider would, as their
// sources have it: waits until a session asks for profiling (level 5, keyword 0x100), then for
// each run a begin, measurements, and an end. Beside them what nobody should get who asks for no
// more: a line of the log (keyword 2) and a detailed measurement (level 6). Ends with 0 once told,
// with 4 if nobody asks.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <windows.h>

#include <evntprov.h>

#define WAIT_MS   300000u
#define PROFILING 0x100u
#define LOGS      0x2u
#define IN_U32    8u // in-types of TraceLogging
#define IN_U64    10u
#define IN_TEXT   2u

static const GUID g_ort = {
    0x3a26b1ff, 0x7484, 0x7484, {0x74, 0x84, 0x15, 0x26, 0x1f, 0x42, 0x61, 0x4d}};
static const char g_traits[] = "\x1b\0Microsoft.ML.ONNXRuntime";
_Static_assert(sizeof g_traits == 0x1b, "size, name");

static volatile LONG g_profiling;
static REGHANDLE g_handle;

static void WINAPI on_enable(const GUID *source, ULONG code, UCHAR level, ULONGLONG any,
                             ULONGLONG all, PEVENT_FILTER_DESCRIPTOR filter, void *context)
{
    (void)source;
    (void)all;
    (void)filter;
    (void)context;
    if (code == 1 && level >= 5 && (any & PROFILING))
        InterlockedExchange(&g_profiling, 1);
}

// An event with its description, put together field by field.
typedef struct event {
    uint8_t description[512], data[512];
    uint16_t description_len, data_len;
} event;

static void add(uint8_t *to, uint16_t *len, const void *bytes, size_t count)
{
    memcpy(to + *len, bytes, count);
    *len = (uint16_t)(*len + count);
}

static event begin(const char *name)
{
    event e = {.description_len = 3}; // its size, and no tags
    add(e.description, &e.description_len, name, strlen(name) + 1);
    return e;
}

static void field(event *e, const char *name, uint8_t type, const void *bytes, size_t count)
{
    add(e->description, &e->description_len, name, strlen(name) + 1);
    add(e->description, &e->description_len, &type, 1);
    add(e->data, &e->data_len, bytes, count);
}

static void text(event *e, const char *name, const char *value)
{
    field(e, name, IN_TEXT, value, strlen(value) + 1);
}

static void tell(event *e, UCHAR level, uint64_t keyword)
{
    EVENT_DESCRIPTOR descriptor = {.Channel = 11, .Level = level, .Keyword = keyword};
    memcpy(e->description, &e->description_len, 2);
    EVENT_DATA_DESCRIPTOR data[3] = {{(uintptr_t)g_traits, sizeof g_traits, 2},
                                     {(uintptr_t)e->description, e->description_len, 1},
                                     {(uintptr_t)e->data, e->data_len, 0}};
    EventWriteTransfer(g_handle, &descriptor, NULL, NULL, 3, data);
}

static void boundary(const char *name)
{
    uint32_t session = 1;
    event e = begin(name);
    field(&e, "sessionId", IN_U32, &session, sizeof session);
    tell(&e, 5, 0);
}

static void measure(const char *message, const char *value, const char *unit,
                    const char *identifier, UCHAR level)
{
    uint64_t now = GetTickCount64();
    event e = begin("QNNProfilingEvent");
    field(&e, "Timestamp", IN_U64, &now, sizeof now);
    text(&e, "Message", message);
    text(&e, "Value", value);
    text(&e, "Unit of Measurement", unit);
    text(&e, "Timing Source", "BACKEND");
    text(&e, "Event Level", level > 5 ? "SUB-EVENT" : "ROOT");
    text(&e, "Event Identifier", identifier);
    tell(&e, level, PROFILING);
}

static void run(int number)
{
    char cycles[16];
    snprintf(cycles, sizeof cycles, "%d", 6000 + 1000 * number);
    boundary("EvaluationStart");
    measure("EXECUTE", number ? "3300" : "3100", "US", "Accelerator (execute) time", 5);
    measure("NODE", cycles, "CYCLES", "Conv_1", 5);
    measure("NODE", "12.5", "US", "Conv_1", 5);
    measure("EXECUTE", "65536", "BYTES", "DDR read", 5);
    measure("EXECUTE", "4", "COUNT", "Number of HVX threads used", 5);
    measure("NODE", "1", "CYCLES", "detailed", 6);
    event log = begin("ONNXRuntimeLogEvent");
    text(&log, "logger", "secret");
    tell(&log, 4, LOGS);
    boundary("EvaluationStop");
}

int main(int argc, char **argv)
{
    int runs = argc > 1 ? atoi(argv[1]) : 1;
    if (EventRegister(&g_ort, on_enable, NULL, &g_handle) != ERROR_SUCCESS)
        return 3;
    EventSetInformation(g_handle, 2, (void *)(uintptr_t)g_traits, sizeof g_traits);
    for (ULONGLONG end = GetTickCount64() + WAIT_MS; !g_profiling && GetTickCount64() < end;)
        Sleep(5);
    for (int i = 0; i < runs && g_profiling; i++)
        run(i);
    EventUnregister(g_handle);
    return g_profiling ? 0 : 4;
}
