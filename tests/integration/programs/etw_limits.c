// SPDX-License-Identifier: MIT
// The rest of what Windows documents: errors, limits, rights, what is left behind, and the kernel's
// events. Cases are words on the command line, as in etw_behaviour.
#include "etw_kit.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

int wmain(int argc, WCHAR **argv);

static kit_consumer g_a;

// ------------------------------------------------------------------------------------------ errors

static void errors(void)
{
    kit_properties p;
    TRACEHANDLE handle = 0;
    GUID none = {0, 0, 0, {0}};
    kit_session s = {.name = L"errors"};
    kit_prepare(&p);
    kit_check("no name", StartTraceW(&handle, NULL, &p.p), ERROR_INVALID_PARAMETER);
    kit_check("neither file nor real time", StartTraceW(&handle, L"x", &p.p), ERROR_BAD_PATHNAME);
    p.p.LogFileMode = EVENT_TRACE_REAL_TIME_MODE;
    p.p.Wnode.Flags = 0;
    kit_check("no WNODE_FLAG_TRACED_GUID", StartTraceW(&handle, L"x", &p.p), 87);
    p.p.Wnode.Flags = WNODE_FLAG_TRACED_GUID;
    p.p.Wnode.BufferSize = sizeof(EVENT_TRACE_PROPERTIES) - 1;
    kit_check("too little room", StartTraceW(&handle, L"x", &p.p), ERROR_BAD_LENGTH);
    kit_check("a session that is not there", kit_stop(&s), ERROR_WMI_INSTANCE_NOT_FOUND);
    kit_check("a real one", kit_start(&s), 0);
    TRACEHANDLE first = s.handle;
    kit_check("its name once more", kit_start(&s), ERROR_ALREADY_EXISTS);
    s.handle = first;
    kit_check("enable without a provider",
              EnableTraceEx2(s.handle, NULL, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0, 0, NULL),
              87);
    kit_check("enable with a code that does not exist",
              EnableTraceEx2(s.handle, &none, 9, 5, 0, 0, 0, NULL), 87);
    kit_check("stop", kit_stop(&s), 0);
    kit_check("its handle is void",
              EnableTraceEx2(s.handle, &none, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0, 0, NULL),
              ERROR_WMI_INSTANCE_NOT_FOUND);
    kit_check("a reader of a session that is not there", kit_open(&g_a, s.name, true), 1);
    kit_check("is told so", kit_join(&g_a), ERROR_WMI_INSTANCE_NOT_FOUND);
    CloseTrace(g_a.handle);
    kit_check("a trace that was closed", CloseTrace(g_a.handle), ERROR_INVALID_HANDLE);
}

static void event_ids(void)
{
    struct {
        BYTE pass, spare;
        USHORT count, ids[2];
    } list = {1, 0, 2, {7, 9}};
    EVENT_FILTER_DESCRIPTOR filter = {(uintptr_t)&list, sizeof list, 0x80000200u};
    ENABLE_TRACE_PARAMETERS parameters = {
        .Version = 2, .EnableFilterDesc = &filter, .FilterDescCount = 1};
    kit_session s = {.name = L"event ids"};
    kit_provider p;
    kit_register(&p, 22);
    kit_start(&s);
    kit_open(&g_a, s.name, true);
    for (uint32_t round = 0; round < 2; round++, list.pass = 0) {
        kit_check("enable",
                  EnableTraceEx2(s.handle, &p.id, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0,
                                 10000, &parameters),
                  0);
        for (USHORT id = 6; id < 10; id++)
            EventWrite(p.handle, &(EVENT_DESCRIPTOR){.Id = id, .Level = 1, .Opcode = (UCHAR)id}, 0,
                       NULL);
    }
    kit_stop(&s);
    kit_join(&g_a);
    kit_check("events by id", kit_count(&g_a, &p.id, -1), 4);
    for (uint32_t i = 0; i < 4; i++)
        kit_check("these and no others", kit_event(&g_a, &p.id, i)->opcode,
                  (const uint8_t[]){7, 9, 6, 8}[i]);
    filter.Type = 0x80000400u;
    kit_check("a filter that is not simulated",
              EnableTraceEx2(s.handle, &p.id, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0, 0,
                             &parameters),
              ERROR_INVALID_PARAMETER);
    CloseTrace(g_a.handle);
    EventUnregister(p.handle);
}

// ---------------------------------------------------------------------------------- many sessions

static uint32_t g_all_count;
static kit_properties g_all[64];

static ULONG query_all(uint32_t room)
{
    EVENT_TRACE_PROPERTIES *array[64];
    for (uint32_t i = 0; i < 64; i++) {
        kit_prepare(&g_all[i]);
        array[i] = &g_all[i].p;
    }
    ULONG count = 0, result = QueryAllTracesW(array, room, &count);
    g_all_count = count;
    return result;
}

static void limit(void)
{
    WCHAR names[65][32];
    kit_session s[65];
    GUID provider = {5, 0, 0, {0}};
    for (uint32_t i = 0; i < 65; i++) {
        swprintf(names[i], 32, L"session %u", i);
        s[i] = (kit_session){.name = names[i], .kb = 4, .max = 4};
    }
    uint32_t started = 0;
    while (started < 65 && kit_start(&s[started]) == 0)
        started++;
    kit_check("sessions that could be started", started, 64);
    kit_check("why not one more", kit_start(&s[64]), ERROR_NO_SYSTEM_RESOURCES);
    kit_check("all of them", query_all(64) << 8 | g_all_count, 64);
    kit_check("room for 10 only", query_all(10), ERROR_MORE_DATA);
    uint32_t enabled = 0;
    while (enabled < 64 && kit_enable(&s[enabled], &provider, 5, 0, 0, 0, 0) == 0)
        enabled++;
    kit_check("sessions that could enable one provider", enabled, 8);
    kit_check("why not one more", kit_enable(&s[8], &provider, 5, 0, 0, 0, 0), 1450);
    kit_check("one stops", kit_stop(&s[0]), 0);
    kit_check("so another can start", kit_start(&s[64]), 0);
    for (uint32_t i = 1; i < 65; i++)
        kit_stop(&s[i]);
    kit_check("none left", query_all(64) << 8 | g_all_count, 0);
}

// Whose starter was ended without stopping it: `left` starts it, `stale` finds it.
static void left(void)
{
    kit_session s = {.name = L"left behind"};
    kit_check("start", kit_start(&s), 0);
    TerminateProcess(GetCurrentProcess(), 9);
}

static void stale(void)
{
    kit_session s = {.name = L"left behind"};
    kit_check("a session outlives its starter", query_all(64) << 8 | g_all_count, 1);
    kit_check("under its name", (uint64_t)wcscmp(g_all[0].name, s.name), 0);
    kit_check("so it can't be started", kit_start(&s), ERROR_ALREADY_EXISTS);
    kit_check("it can be stopped", kit_stop(&s), 0);
    kit_check("and started", kit_start(&s), 0);
    kit_check("and stopped", kit_stop(&s), 0);
}

// -------------------------------------------------------------------------------- special machines

static void denied(void) // deny=1
{
    kit_session s = {.name = L"denied"};
    kit_check("start", kit_start(&s), ERROR_ACCESS_DENIED);
    kit_check("stop", kit_stop(&s), ERROR_ACCESS_DENIED);
    kit_check("ask for all", query_all(64) << 8 | g_all_count, 0);
    kit_check("open", kit_open(&g_a, s.name, true), 0);
    kit_check("why not", GetLastError(), ERROR_ACCESS_DENIED);
}

static void user(void) // deny_system=1
{
    kit_session system = {.name = L"system", .mode = KIT_SYSTEM, .kernel_flags = 1};
    kit_session plain = {.name = L"plain"};
    kit_check("a system logger", kit_start(&system), ERROR_ACCESS_DENIED);
    kit_check("an ordinary session", kit_start(&plain), 0);
    kit_stop(&plain);
}

static void backlog(void) // backlog=2
{
    kit_session s = {.name = L"backlog", .kb = 4, .min = 8, .max = 8, .mode = KIT_ONE_STREAM};
    EVENT_TRACE_PROPERTIES state;
    kit_provider p;
    uint32_t refused = 0;
    kit_register(&p, 20);
    kit_start(&s);
    kit_enable(&s, &p.id, 5, 0, 0, 0, 0);
    for (uint32_t i = 0; i < 300; i++)
        refused += kit_write(&p, 1, 1, i) != 0;
    kit_control(&s, EVENT_TRACE_CONTROL_QUERY, &state);
    kit_check("no event is lost in writing", refused + state.EventsLost, 0);
    kit_check("buffers are lost instead", state.RealTimeBuffersLost > 0, 1);
    kit_open(&g_a, s.name, true);
    kit_stop(&s);
    kit_join(&g_a);
    kit_check("the stream tells of it", kit_count(&g_a, &kit_lost_events, 33), 1);
    uint32_t count = kit_count(&g_a, &p.id, -1);
    kit_check("what was kept comes", count > 0 && count < 300, 1);
    CloseTrace(g_a.handle);
    EventUnregister(p.handle);
}

static void stuck(void) // stuck_callbacks=1
{
    kit_session s = {.name = L"stuck"};
    kit_provider p;
    kit_register(&p, 21);
    kit_start(&s);
    kit_check(
        "a callback that does not return",
        EnableTraceEx2(s.handle, &p.id, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0, 100, NULL),
        ERROR_TIMEOUT);
    kit_check("without waiting",
              EnableTraceEx2(s.handle, &p.id, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 5, 0, 0, 0, NULL),
              0);
    kit_stop(&s);
}

// ------------------------------------------------------------------------------------------ kernel

static uint32_t own_events(const GUID *class, int opcode, uint32_t offset_in_pids)
{
    uint32_t count = 0;
    for (LONG i = 0; i < g_a.count; i++) {
        const kit_seen *e = &g_a.seen[i];
        if (memcmp(&e->provider, class, 16) == 0 && e->opcode == opcode)
            count += offset_in_pids ? 1 : (uint32_t)e->value == GetCurrentProcessId();
    }
    return count;
}

static DWORD WINAPI nothing(void *unused)
{
    (void)unused;
    return 0;
}

static void kernel(void)
{
    kit_session s = {.name = L"kernel", .mode = KIT_SYSTEM, .kernel_flags = 7};
    kit_check("start", kit_start(&s), 0);
    kit_open(&g_a, s.name, true);
    HANDLE thread = CreateThread(NULL, 0, nothing, NULL, 0, NULL);
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
    kit_stop(&s);
    kit_join(&g_a);
    kit_check("processes at the start", own_events(&kit_process_class, 3, 1) > 0, 1);
    kit_check("images at the start", own_events(&kit_image_class, 3, 1) > 0, 1);
    kit_check("own threads at the start", own_events(&kit_thread_class, 3, 0) > 0, 1);
    kit_check("processes at the end", own_events(&kit_process_class, 4, 1) > 0, 1);
    kit_check("a thread that begins", own_events(&kit_thread_class, 1, 0) > 0, 1);
    kit_check("and ends", own_events(&kit_thread_class, 2, 0) > 0, 1);
    CloseTrace(g_a.handle);
}

int wmain(int argc, WCHAR **argv)
{
    static const struct {
        const WCHAR *name;
        void (*run)(void);
    } cases[] = {
        {L"errors", errors}, {L"event_ids", event_ids}, {L"limit", limit}, {L"left", left},
        {L"stale", stale},   {L"denied", denied},       {L"user", user},   {L"backlog", backlog},
        {L"stuck", stuck},   {L"kernel", kernel},
    };
    for (int a = 1; a < argc; a++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (wcscmp(argv[a], cases[i].name) == 0) {
                printf("# %ls\n", cases[i].name);
                cases[i].run();
            }
    return kit_end();
}
