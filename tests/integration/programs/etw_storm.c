// SPDX-License-Identifier: MIT
// Several processes write at once into a session that is too small: whatever was written was read
// or counted as lost. Then writers and a reader are ended in the middle: sessions go on without
// them.
#include "etw_kit.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

#define WRITERS 3
#define EVENTS  4000u
#define KILLS   5
#define NUMBER  30

int wmain(int argc, WCHAR **argv);

static kit_consumer g_a;

static HANDLE spawn(const WCHAR *self, const WCHAR *mode, uint32_t count)
{
    WCHAR command[600];
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION process = {0};
    swprintf(command, 600, L"\"%ls\" %ls %u", self, mode, count);
    if (!CreateProcessW(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &startup, &process))
        return NULL;
    CloseHandle(process.hThread);
    return process.hProcess;
}

static uint32_t join(HANDLE process)
{
    DWORD code = 0;
    WaitForSingleObject(process, INFINITE);
    GetExitCodeProcess(process, &code);
    CloseHandle(process);
    return code;
}

// Child: the number of events that were refused.
static int write_events(uint32_t count)
{
    kit_provider p;
    uint32_t refused = 0;
    kit_register(&p, NUMBER);
    for (uint32_t i = 0; i < count; i++)
        refused += kit_write(&p, 1, 1, i) != 0;
    return (int)refused;
}

static int read_for_ever(void)
{
    kit_open(&g_a, L"storm", true);
    kit_join(&g_a);
    return 0;
}

static void start(kit_session *s, kit_provider *p)
{
    kit_register(p, NUMBER);
    kit_check("start", kit_start(s), 0);
    kit_check("enable", kit_enable(s, &p->id, 5, 0, 0, 0, 0), 0);
}

static void many_writers(const WCHAR *self)
{
    kit_session s = {.name = L"storm", .kb = 16, .min = 4, .max = 8};
    EVENT_TRACE_PROPERTIES state;
    HANDLE writers[WRITERS];
    kit_provider p;
    uint32_t refused = 0;
    start(&s, &p);
    kit_open(&g_a, s.name, true);
    for (uint32_t i = 0; i < WRITERS; i++)
        writers[i] = spawn(self, L"write", EVENTS);
    for (uint32_t i = 0; i < WRITERS; i++)
        refused += join(writers[i]);
    kit_control(&s, EVENT_TRACE_CONTROL_STOP, &state);
    kit_check("the reader ends", kit_join(&g_a), 0);
    kit_check("refused events are the lost ones", state.EventsLost, refused);
    // The header, and a LostEvent for each batch with a loss, come on top.
    uint32_t others = kit_count(&g_a, &kit_header, -1);
    kit_check("one header", others, 1);
    uint32_t own = (uint32_t)g_a.total - 1;
    kit_check("no event is missing", own + refused >= WRITERS * EVENTS, 1);
    kit_check("none comes twice", own + refused <= WRITERS * EVENTS + (uint32_t)g_a.buffers, 1);
    CloseTrace(g_a.handle);
    EventUnregister(p.handle);
}

static void kills(const WCHAR *self)
{
    kit_session s = {.name = L"storm", .kb = 16, .min = 4, .max = 8};
    kit_provider p;
    start(&s, &p);
    kit_open(&g_a, s.name, true);
    for (uint32_t i = 0; i < KILLS; i++) {
        HANDLE writer = spawn(self, L"write", 0xFFFFFFFFu);
        LONG before = g_a.total;
        while (g_a.total < before + 500)
            Sleep(1);
        TerminateProcess(writer, 7);
        kit_check("a writer is ended", join(writer), 7);
    }
    kit_check("closing", CloseTrace(g_a.handle), ERROR_CTX_CLOSE_PENDING);
    kit_check("reading ends", kit_join(&g_a), 0);
    HANDLE reader = spawn(self, L"read", 0);
    kit_properties all;
    for (ULONG free = 0, seen = 0; !(free && seen);) { // until it has read something
        ULONG written = kit_write(&p, 1, 1, 1);
        kit_prepare(&all);
        ControlTraceW(0, s.name, &all.p, EVENT_TRACE_CONTROL_FLUSH);
        free = all.p.FreeBuffers;
        seen = written == 0;
    }
    TerminateProcess(reader, 8);
    kit_check("a reader is ended", join(reader), 8);
    kit_open(&g_a, s.name, true); // the place of the dead one is free
    while (kit_write(&p, 1, 1, 77) != 0)
        Sleep(1);
    kit_stop(&s);
    kit_check("another one reads on", kit_join(&g_a), 0);
    bool found = false;
    for (LONG i = 0; i < g_a.count; i++)
        found = found || g_a.seen[i].value == 77;
    kit_check("what was written then", found || g_a.total > KIT_MAX_EVENTS, 1);
    CloseTrace(g_a.handle);
    EventUnregister(p.handle);
}

int wmain(int argc, WCHAR **argv)
{
    WCHAR self[MAX_PATH];
    GetModuleFileNameW(NULL, self, MAX_PATH);
    if (argc == 3 && wcscmp(argv[1], L"write") == 0)
        return write_events((uint32_t)wcstoul(argv[2], NULL, 0));
    if (argc == 3 && wcscmp(argv[1], L"read") == 0)
        return read_for_ever();
    many_writers(self);
    kills(self);
    return kit_end();
}
