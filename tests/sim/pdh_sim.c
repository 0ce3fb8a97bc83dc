// SPDX-License-Identifier: MIT
// A pdh.dll whose counters are in a script: the functions that ortscope uses, with their documented
// answers. Sizes are asked for first (PDH_MORE_DATA), names lie behind the items, values above 100
// are cut unless the caller says not to.
#include "sim_script.h"

#include <pdh.h>
#include <pdhmsg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define COUNTERS  64
#define INSTANCES 64

typedef struct instance {
    char name[128];
    double value;
    DWORD status;
} instance;

typedef struct counter {
    char path[128];
    int rate, refused;
    DWORD refusal;
    instance instances[INSTANCES];
    int count;
} counter;

static sim_script g_script;
static counter g_counters[COUNTERS];
static int g_counter_count, g_query_open;
static long g_collections;
static DWORD g_collect_status, g_delay_ms;

// -------------------------------------------------------------------------------------- the script

static counter *find_counter(const char *path)
{
    for (int i = 0; i < g_counter_count; i++)
        if (_stricmp(g_counters[i].path, path) == 0)
            return &g_counters[i];
    return NULL;
}

static counter *get_counter(const char *path)
{
    counter *c = find_counter(path);
    if (!c && g_counter_count < COUNTERS) {
        c = &g_counters[g_counter_count++];
        strncpy(c->path, path, sizeof c->path - 1);
    }
    return c;
}

static int instance_index(const counter *c, const char *name)
{
    int i = 0;
    while (i < c->count && strcmp(c->instances[i].name, name) != 0)
        i++;
    return i;
}

static void change_instance(counter *c, const sim_line *line)
{
    int i = instance_index(c, line->words[2]);
    if (sim_is(line, "gone", 3)) {
        if (i < c->count)
            c->instances[i] = c->instances[--c->count];
        return;
    }
    if (i == INSTANCES)
        return;
    if (i == c->count)
        strncpy(c->instances[c->count++].name, line->words[2], sizeof c->instances[i].name - 1);
    if (sim_is(line, "status", 4)) {
        c->instances[i].status = sim_number(line->words[3]);
    } else {
        c->instances[i].status = PDH_CSTATUS_VALID_DATA;
        c->instances[i].value = strtod(line->words[3], NULL);
    }
}

static void run_line(const sim_line *line)
{
    if (sim_is(line, "collect", 2))
        g_collect_status = sim_number(line->words[1]);
    else if (sim_is(line, "delay", 2))
        g_delay_ms = sim_number(line->words[1]);
    else if (sim_is(line, "gone", 3) || sim_is(line, "set", 4) || sim_is(line, "status", 4))
        change_instance(get_counter(line->words[1]), line);
}

static void prepare(void)
{
    for (int i = 0; i < g_script.count; i++) {
        const sim_line *line = &g_script.lines[i];
        counter *c =
            line->count > 1 && line->words[1][0] == '\\' ? get_counter(line->words[1]) : NULL;
        if (c && sim_is(line, "counter", 3))
            c->rate = 1;
        if (c && sim_is(line, "refuse", 3)) {
            c->refused = 1;
            c->refusal = sim_number(line->words[2]);
        }
    }
}

BOOL WINAPI DllMain(HINSTANCE module, DWORD reason, LPVOID reserved);

BOOL WINAPI DllMain(HINSTANCE module, DWORD reason, LPVOID reserved)
{
    (void)reserved;
    if (reason == DLL_PROCESS_ATTACH) {
        sim_script_load(module, &g_script);
        prepare();
    }
    return TRUE;
}

// --------------------------------------------------------------------------------------- functions

__declspec(dllexport) PDH_STATUS WINAPI
    PdhOpenQueryW(LPCWSTR source, DWORD_PTR user, PDH_HQUERY *query)
{
    (void)source;
    (void)user;
    g_query_open = 1;
    *query = &g_query_open;
    return ERROR_SUCCESS;
}

static int object_exists(const char *path)
{
    size_t len = strcspn(path, "(");
    for (int i = 0; i < g_counter_count; i++)
        if (_strnicmp(g_counters[i].path, path, len + 1) == 0)
            return 1;
    return 0;
}

__declspec(dllexport) PDH_STATUS WINAPI
    PdhAddEnglishCounterW(PDH_HQUERY query, LPCWSTR path, DWORD_PTR user, PDH_HCOUNTER *out)
{
    (void)user;
    char name[128] = "";
    if (query != &g_query_open)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    WideCharToMultiByte(CP_UTF8, 0, path, -1, name, sizeof name, NULL, NULL);
    counter *c = find_counter(name);
    if (c && c->refused)
        return (PDH_STATUS)c->refusal;
    if (!c)
        return (PDH_STATUS)(object_exists(name) ? PDH_CSTATUS_NO_COUNTER : PDH_CSTATUS_NO_OBJECT);
    *out = c;
    return ERROR_SUCCESS;
}

__declspec(dllexport) PDH_STATUS WINAPI PdhCollectQueryData(PDH_HQUERY query)
{
    if (query != &g_query_open)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    g_collections++;
    for (int i = 0; i < g_script.count; i++) {
        long at = g_script.lines[i].at ? g_script.lines[i].at : 1;
        if (at == g_collections)
            run_line(&g_script.lines[i]);
    }
    if (g_delay_ms)
        Sleep(g_delay_ms);
    return (PDH_STATUS)g_collect_status;
}

// Room for the items and, behind them, their names; where the names begin.
static PDH_STATUS check_room(const counter *c, size_t item_size, DWORD *bytes, DWORD *count,
                             void *items, wchar_t **names)
{
    size_t needed = (size_t)c->count * item_size;
    for (int i = 0; i < c->count; i++)
        needed += (strlen(c->instances[i].name) + 1) * sizeof(wchar_t);
    DWORD given = *bytes;
    *bytes = (DWORD)needed;
    *count = (DWORD)c->count;
    if (needed > given || !items)
        return (PDH_STATUS)(c->count ? PDH_MORE_DATA : PDH_CSTATUS_NO_INSTANCE);
    *names = (wchar_t *)(void *)((char *)items + (size_t)c->count * item_size);
    return ERROR_SUCCESS;
}

static LPWSTR put_name(wchar_t **names, const char *name)
{
    wchar_t *begin = *names;
    while (*name)
        *(*names)++ = (wchar_t)*name++;
    *(*names)++ = 0;
    return begin;
}

__declspec(dllexport) PDH_STATUS WINAPI
    PdhGetFormattedCounterArrayW(PDH_HCOUNTER handle, DWORD format, LPDWORD bytes, LPDWORD count,
                                 PPDH_FMT_COUNTERVALUE_ITEM_W items)
{
    const counter *c = handle;
    wchar_t *names;
    if (!(format & PDH_FMT_DOUBLE))
        return (PDH_STATUS)PDH_INVALID_ARGUMENT;
    if (g_collections == 0)
        return (PDH_STATUS)PDH_INVALID_DATA;
    PDH_STATUS status = check_room(c, sizeof *items, bytes, count, items, &names);
    for (int i = 0; status == ERROR_SUCCESS && i < c->count; i++) {
        const instance *n = &c->instances[i];
        int early = c->rate && g_collections < 2;
        items[i].szName = put_name(&names, n->name);
        items[i].FmtValue.CStatus = early ? PDH_CSTATUS_INVALID_DATA : n->status;
        items[i].FmtValue.doubleValue =
            n->value > 100 && !(format & PDH_FMT_NOCAP100) ? 100 : n->value;
    }
    return status;
}

__declspec(dllexport) PDH_STATUS WINAPI
    PdhGetRawCounterArrayW(PDH_HCOUNTER handle, LPDWORD bytes, LPDWORD count,
                           PPDH_RAW_COUNTER_ITEM_W items)
{
    const counter *c = handle;
    wchar_t *names;
    PDH_STATUS status = check_room(c, sizeof *items, bytes, count, items, &names);
    for (int i = 0; status == ERROR_SUCCESS && i < c->count; i++) {
        memset(&items[i], 0, sizeof items[i]);
        items[i].szName = put_name(&names, c->instances[i].name);
        items[i].RawValue.CStatus = c->instances[i].status;
        items[i].RawValue.FirstValue = (LONGLONG)c->instances[i].value;
    }
    return status;
}

__declspec(dllexport) PDH_STATUS WINAPI PdhCloseQuery(PDH_HQUERY query)
{
    if (query != &g_query_open)
        return (PDH_STATUS)PDH_INVALID_HANDLE;
    g_query_open = 0;
    return ERROR_SUCCESS;
}
