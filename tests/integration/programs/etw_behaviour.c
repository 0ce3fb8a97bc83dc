// SPDX-License-Identifier: MIT
// What Windows documents of event tracing, as checks: sessions, enabling, filters, losses,
// delivery. Each case is a word on the command line; without one those run that need no special
// machine. A line "ok WHAT" or "FAIL WHAT: ..." per check; exit code 1 if one failed.
#include "etw_kit.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

int wmain(int argc, WCHAR **argv);

static kit_consumer g_a, g_b;

// ------------------------------------------------------------------------------ what gets through

static void filters(void)
{
    static const struct {
        UCHAR level;
        uint64_t keyword;
        bool passes;
    } events[] = {{3, 0x2, true}, {4, 0x2, false}, {1, 0x4, false}, {1, 0x6, true},  {0, 0x2, true},
                  {3, 0x0, true}, {5, 0x0, false}, {2, 0x12, true}, {2, 0x11, false}};
    kit_session s = {.name = L"filters"};
    kit_provider p;
    kit_register(&p, 1);
    kit_check("an event that nobody wants is no error", kit_write(&p, 1, 2, 0), 0);
    kit_check("start", kit_start(&s), 0);
    kit_check("enable", kit_enable(&s, &p.id, 3, 0x2, 0, 0, 0), 0);
    kit_open(&g_a, s.name, true);
    for (uint32_t i = 0; i < sizeof events / sizeof *events; i++) {
        char what[64];
        snprintf(what, sizeof what, "level %u keyword 0x%llx: enabled", events[i].level,
                 (unsigned long long)events[i].keyword);
        kit_check(what, EventProviderEnabled(p.handle, events[i].level, events[i].keyword),
                  events[i].passes);
        kit_check("write", kit_write(&p, events[i].level, events[i].keyword, i), 0);
    }
    kit_check("stop", kit_stop(&s), 0);
    kit_check("ProcessTrace ends with the session", kit_join(&g_a), 0);
    uint32_t told = 0;
    for (uint32_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i].passes)
            kit_check("the event came through", kit_event(&g_a, &p.id, told++)->value, i);
    kit_check("nothing else came through", kit_count(&g_a, &p.id, -1), told);
    kit_check("a header event comes first", kit_same(&g_a.seen[0].provider, &kit_header), 1);
    kit_check("close", CloseTrace(g_a.handle), 0);
    EventUnregister(p.handle);
}

static void more_filters(void)
{
    kit_session s = {.name = L"more filters"};
    kit_provider p;
    kit_register(&p, 2);
    kit_start(&s);
    kit_open(&g_a, s.name, true);
    kit_enable(&s, &p.id, 0, 0, 0x6, 0x10, 0); // level 0: all; all of 2 and 4; not keyword 0
    kit_write(&p, 200, 0x7, 1);
    kit_write(&p, 1, 0x2, 2);
    kit_write(&p, 1, 0, 3);
    kit_enable(&s, &p.id, 5, 0, 0, 0, GetCurrentProcessId() + 4);
    kit_check("enabled for another process only", EventProviderEnabled(p.handle, 1, 1), 0);
    kit_write(&p, 1, 1, 4);
    kit_enable(&s, &p.id, 5, 0, 0, 0, GetCurrentProcessId());
    kit_write(&p, 1, 1, 5);
    kit_stop(&s);
    kit_join(&g_a);
    kit_check("events by level 0, all keywords, no keyword, process", kit_count(&g_a, &p.id, -1),
              2);
    kit_check("the one with all keywords", kit_event(&g_a, &p.id, 0)->value, 1);
    kit_check("the one of this process", kit_event(&g_a, &p.id, 1)->value, 5);
    CloseTrace(g_a.handle);
    EventUnregister(p.handle);
}

// ------------------------------------------------------------------------------------- callbacks

static void callbacks(void)
{
    kit_session one = {.name = L"callbacks 1"}, two = {.name = L"callbacks 2"};
    kit_provider p, late;
    kit_register(&p, 3);
    kit_check("no callback without a session", (uint64_t)p.calls, 0);
    kit_start(&one);
    kit_start(&two);
    kit_enable(&one, &p.id, 2, 0x1, 0, 0, 0);
    kit_check("enabling waits for the callback", (uint64_t)p.calls, 1);
    kit_check("enabled: code, level, keywords", p.code << 16 | (uint64_t)p.level << 8 | p.any,
              1 << 16 | 2 << 8 | 1);
    kit_enable(&two, &p.id, 4, 0x8, 0, 0, 0);
    kit_check("two sessions: the highest level, all keywords",
              p.code << 16 | (uint64_t)p.level << 8 | p.any, 1 << 16 | 4 << 8 | 9);
    kit_register(&late, 3);
    kit_check("one who comes later is told while it registers", (uint64_t)late.calls, 1);
    kit_check("and what", late.code << 16 | (uint64_t)late.level << 8 | late.any,
              1 << 16 | 4 << 8 | 9);
    EventUnregister(late.handle);
    kit_switch(&one, &p.id, EVENT_CONTROL_CODE_CAPTURE_STATE);
    kit_check("capture state: code, level, keywords", p.code << 16 | (uint64_t)p.level << 8 | p.any,
              2 << 16 | 5 << 8 | 7);
    kit_check("one who has gone is not told", (uint64_t)late.calls, 1);
    kit_switch(&two, &p.id, EVENT_CONTROL_CODE_DISABLE_PROVIDER);
    kit_check("one session less: still enabled", p.code << 16 | (uint64_t)p.level << 8 | p.any,
              1 << 16 | 2 << 8 | 1);
    kit_stop(&one);
    while (p.calls < 5) // stopping does not wait
        Sleep(5);
    kit_check("the last one stopped: disabled", p.code, 0);
    kit_stop(&two);
    EventUnregister(p.handle);
    kit_check("a handle that is gone", kit_write(&p, 1, 1, 1), ERROR_INVALID_HANDLE);
}

// ----------------------------------------------------------------------------------------- losses

static void losses(void)
{
    kit_session s = {.name = L"losses",
                     .kb = 4,
                     .min = 2,
                     .max = 2,
                     .mode = KIT_ONE_STREAM,
                     .flush_seconds = 3600};
    EVENT_TRACE_PROPERTIES state;
    kit_provider p;
    uint32_t refused = 0;
    kit_register(&p, 4);
    kit_start(&s);
    kit_enable(&s, &p.id, 5, 0, 0, 0, 0);
    for (uint32_t i = 0; i < 300; i++)
        refused += kit_write(&p, 1, 1, i) == ERROR_NOT_ENOUGH_MEMORY;
    kit_check("some events found no buffer", refused > 0 && refused < 300, 1);
    kit_control(&s, EVENT_TRACE_CONTROL_QUERY, &state);
    kit_check("they are counted exactly", state.EventsLost, refused);
    kit_check("buffers", state.NumberOfBuffers, 2);
    kit_check("free ones", state.FreeBuffers, 0);
    kit_open(&g_a, s.name, true);
    kit_control(&s, EVENT_TRACE_CONTROL_FLUSH, NULL);
    kit_wait_events(&g_a, 300 - refused, &p.id);
    kit_check("a consumer that comes later gets the rest", kit_count(&g_a, &p.id, -1),
              300 - refused);
    kit_check("the oldest first", kit_event(&g_a, &p.id, 0)->value, 0);
    kit_check("losses are told in the stream", kit_count(&g_a, &kit_lost_events, 32), 1);
    kit_check("with room again it goes on", kit_write(&p, 1, 1, 1000), 0);
    kit_control(&s, EVENT_TRACE_CONTROL_STOP, &state);
    kit_check("stopping tells the losses too", state.EventsLost, refused);
    kit_join(&g_a);
    kit_check("the last event", kit_event(&g_a, &p.id, 300 - refused)->value, 1000);
    CloseTrace(g_a.handle);
    EventUnregister(p.handle);
}

static void independence(void)
{
    kit_session full = {.name = L"full", .kb = 4, .min = 2, .max = 2, .mode = KIT_ONE_STREAM};
    kit_session free = {.name = L"independent", .mode = KIT_INDEPEND};
    kit_session plain = {.name = L"plain"};
    kit_provider p;
    uint32_t taken = 0;
    kit_register(&p, 5);
    kit_start(&full);
    kit_enable(&full, &p.id, 5, 0, 0, 0, 0);
    while (kit_write(&p, 1, 1, taken) == 0)
        taken++;
    kit_start(&free);
    kit_start(&plain);
    kit_enable(&free, &p.id, 5, 0, 0, 0, 0);
    kit_enable(&plain, &p.id, 5, 0, 0, 0, 0);
    kit_open(&g_a, free.name, true);
    kit_open(&g_b, plain.name, true);
    for (uint32_t i = 0; i < 10; i++)
        kit_check("one full session fails the event", kit_write(&p, 1, 1, i), 8);
    kit_stop(&full);
    kit_check("the full one gone: it works", kit_write(&p, 1, 1, 10), 0);
    kit_stop(&free);
    kit_stop(&plain);
    kit_join(&g_a);
    kit_join(&g_b);
    kit_check("an independent session gets all", kit_count(&g_a, &p.id, -1), 11);
    kit_check("an ordinary one gets none of those", kit_count(&g_b, &p.id, -1), 1);
    CloseTrace(g_a.handle);
    CloseTrace(g_b.handle);
    EventUnregister(p.handle);
}

static void too_big(void)
{
    static uint8_t bytes[70000];
    kit_session s = {.name = L"too big", .kb = 8};
    kit_provider p;
    EVENT_DESCRIPTOR descriptor = {.Level = 1, .Keyword = 1};
    EVENT_DATA_DESCRIPTOR data = {(uintptr_t)bytes, sizeof bytes, 0};
    kit_register(&p, 6);
    kit_start(&s);
    kit_enable(&s, &p.id, 5, 0, 0, 0, 0);
    kit_check("more than 64 KB", EventWrite(p.handle, &descriptor, 1, &data), 534);
    data.Size = 9000;
    kit_check("more than a buffer", EventWrite(p.handle, &descriptor, 1, &data), 234);
    kit_stop(&s);
    EventUnregister(p.handle);
}

// --------------------------------------------------------------------------------------- delivery

static void delivery(void)
{
    kit_session slow = {.name = L"slow", .flush_seconds = 3600}, fast = {.name = L"fast"};
    kit_provider p;
    kit_register(&p, 7);
    kit_start(&slow);
    kit_start(&fast);
    kit_enable(&slow, &p.id, 5, 0, 0, 0, 0);
    kit_enable(&fast, &p.id, 5, 0, 0, 0, 0);
    kit_open(&g_a, slow.name, true);
    kit_open(&g_b, fast.name, true);
    kit_write(&p, 1, 1, 1);
    kit_wait_events(&g_b, 1, &p.id); // by its timer of a second
    kit_check("a partly filled buffer comes by the timer", kit_count(&g_b, &p.id, -1), 1);
    kit_check("and without one only", kit_count(&g_a, &p.id, -1), 0);
    kit_control(&slow, EVENT_TRACE_CONTROL_FLUSH, NULL);
    kit_wait_events(&g_a, 1, &p.id);
    kit_check("by a flush", kit_count(&g_a, &p.id, -1), 1);
    kit_check("closing while it is read is pending", CloseTrace(g_a.handle), 7007);
    kit_check("it ends the reading", kit_join(&g_a), 0);
    kit_write(&p, 1, 1, 2);
    g_a.end_after_buffers = 1;
    kit_open(&g_a, slow.name, true);
    kit_stop(&slow);
    kit_check("a buffer callback that says no", kit_join(&g_a), ERROR_CANCELLED);
    kit_check("what was written between two consumers is not lost",
              kit_event(&g_a, &p.id, 0)->value, 2);
    g_a.end_after_buffers = 0;
    CloseTrace(g_a.handle);
    kit_stop(&fast);
    kit_join(&g_b);
    CloseTrace(g_b.handle);
    EventUnregister(p.handle);
}

static int64_t filetime_now(void)
{
    FILETIME time;
    GetSystemTimePreciseAsFileTime(&time);
    return (int64_t)((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime);
}

static void contents(void)
{
    kit_session raw = {.name = L"raw"}, told = {.name = L"told"};
    kit_provider p;
    LARGE_INTEGER before, after;
    GUID activity, related = {1, 2, 3, {4}};
    EVENT_DESCRIPTOR descriptor = {.Id = 7, .Level = 1, .Opcode = 1, .Keyword = 1};
    kit_register(&p, 8);
    kit_start(&raw);
    kit_start(&told);
    kit_enable(&raw, &p.id, 5, 0, 0, 0, 0);
    kit_enable(&told, &p.id, 5, 0, 0, 0, 0);
    kit_open(&g_a, raw.name, true);
    kit_open(&g_b, told.name, false);
    EventActivityIdControl(3, &activity);
    int64_t first = filetime_now();
    QueryPerformanceCounter(&before);
    kit_write(&p, 5, 1, 0x1122334455667788);
    EventWriteTransfer(p.handle, &descriptor, &activity, &related, 0, NULL);
    EventWriteString(p.handle, 2, 1, L"word");
    QueryPerformanceCounter(&after);
    int64_t last = filetime_now();
    kit_stop(&raw);
    kit_stop(&told);
    kit_join(&g_a);
    kit_join(&g_b);
    const kit_seen *event = kit_event(&g_a, &p.id, 0);
    kit_check("payload", event->value, 0x1122334455667788);
    kit_check("payload, schema and traits, bytes",
              event->payload_len * 10000u + event->schema_len * 100u + event->traits_len, 81406);
    kit_check("process", event->pid, GetCurrentProcessId());
    kit_check("thread", event->tid, GetCurrentThreadId());
    kit_check("context", event->context == &g_a, 1);
    kit_check("flags", event->flags, 0x241);
    kit_check("raw time", before.QuadPart <= event->stamp && event->stamp <= after.QuadPart, 1);
    // The two clocks are read one after the other at the session's start: a second is generous.
    int64_t time = kit_event(&g_b, &p.id, 0)->stamp;
    kit_check("system time", first - 10000000 <= time && time <= last + 10000000, 1);
    event = kit_event(&g_a, &p.id, 1);
    kit_check("activity", kit_same(&event->activity, &activity), 1);
    kit_check("related activity", kit_same(&event->related, &related), 1);
    event = kit_event(&g_a, &p.id, 2);
    kit_check("a text: flags and bytes", event->flags << 16 | event->payload_len, 0x245 << 16 | 10);
    CloseTrace(g_a.handle);
    CloseTrace(g_b.handle);
    EventUnregister(p.handle);
}

int wmain(int argc, WCHAR **argv)
{
    static const struct {
        const WCHAR *name;
        void (*run)(void);
    } cases[] = {
        {L"filters", filters},   {L"more_filters", more_filters}, {L"callbacks", callbacks},
        {L"losses", losses},     {L"independence", independence}, {L"too_big", too_big},
        {L"delivery", delivery}, {L"contents", contents},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int a = 1; a < argc || a == 1; a++)
            if (argc == 1 || wcscmp(argv[a], cases[i].name) == 0) {
                printf("# %ls\n", cases[i].name);
                cases[i].run();
            }
    return kit_end();
}
