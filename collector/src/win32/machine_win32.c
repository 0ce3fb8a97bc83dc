// SPDX-License-Identifier: MIT
// Asks Windows about the machine, once. Everything here may fail or be missing: the fact is missing
// then.
#include "collector/facts.h"

#include "common/utf.h"
#include "libraries.h"
#include "machine.h"
#include "registry_win32.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <windows.h>

#define RECORDS_MAX (1u << 20)

NTSYSAPI LONG NTAPI RtlGetVersion(OSVERSIONINFOW *version);

static void tell_windows(co_facts *f)
{
    typedef const char *CDECL wine_version(void);
    OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
    RtlGetVersion(&version);
    char text[64];
    snprintf(text, sizeof text, "%lu.%lu.%lu", (unsigned long)version.dwMajorVersion,
             (unsigned long)version.dwMinorVersion, (unsigned long)version.dwBuildNumber);
    co_facts_text(f, "os", CO_FACT_ONLY, "version", text);
    wine_version *wine = (wine_version *)(void (*)(void))GetProcAddress(
        GetModuleHandleW(L"ntdll.dll"), "wine_get_version");
    if (wine)
        co_facts_text(f, "machine", CO_FACT_ONLY, "wine", wine());
    LARGE_INTEGER frequency;
    if (QueryPerformanceFrequency(&frequency))
        co_facts_number(f, "clock", CO_FACT_ONLY, "qpc_hz", frequency.QuadPart);
}

static void tell_processors(co_facts *f)
{
    DWORD bytes = 0;
    GetLogicalProcessorInformationEx(RelationAll, NULL, &bytes);
    void *records = bytes && bytes <= RECORDS_MAX ? malloc(bytes) : NULL;
    if (records && GetLogicalProcessorInformationEx(RelationAll, records, &bytes))
        co_machine_processors(f, records, bytes);
    free(records);
}

static void tell_memory(co_facts *f)
{
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    if (!GlobalMemoryStatusEx(&memory))
        return;
    co_facts_number(f, "memory", CO_FACT_ONLY, "bytes", (int64_t)memory.ullTotalPhys);
    co_facts_number(f, "memory", CO_FACT_ONLY, "commit_limit_bytes",
                    (int64_t)memory.ullTotalPageFile);
}

// ------------------------------------------------------------------------------------------- power

typedef struct power_api {
    DWORD(WINAPI *active)(HKEY root, GUID **scheme);
    DWORD(WINAPI *name)
    (HKEY root, const GUID *scheme, const GUID *group, const GUID *setting, UCHAR *out, DWORD *len);
} power_api;

static void tell_plan(co_facts *f)
{
    static const co_function functions[] = {
        {"PowerGetActiveScheme", offsetof(power_api, active), true},
        {"PowerReadFriendlyName", offsetof(power_api, name), true}};
    power_api api;
    GUID *scheme = NULL;
    uint16_t name[CO_FACT_BYTES] = {0};
    DWORD len = sizeof name - sizeof *name;
    char text[CO_FACT_BYTES];
    void *library = co_library_open(L"powrprof.dll", NULL);
    if (library && co_library_functions(library, functions, 2, &api) &&
        api.active(NULL, &scheme) == ERROR_SUCCESS && scheme &&
        api.name(NULL, scheme, NULL, NULL, (UCHAR *)name, &len) == ERROR_SUCCESS) {
        cm_utf16_to_utf8(name, CM_UTF_NUL, text, sizeof text);
        co_facts_text(f, "power", CO_FACT_ONLY, "plan", text);
    }
    if (scheme)
        LocalFree(scheme);
    co_library_close(library);
}

static void tell_power(co_facts *f)
{
    SYSTEM_POWER_STATUS status;
    tell_plan(f);
    if (!GetSystemPowerStatus(&status))
        return;
    if (status.ACLineStatus <= 1)
        co_facts_text(f, "power", CO_FACT_ONLY, "source",
                      status.ACLineStatus ? "mains" : "battery");
    bool has_battery = status.BatteryFlag != 255 && !(status.BatteryFlag & 128);
    if (has_battery && status.BatteryLifePercent <= 100)
        co_facts_number(f, "power", CO_FACT_ONLY, "battery_percent", status.BatteryLifePercent);
}

void co_facts_gather(co_facts *out)
{
    out->count = 0;
    co_registry registry;
    tell_windows(out);
    co_machine_cpuid(out);
    tell_processors(out);
    tell_memory(out);
    tell_power(out);
    co_registry_open(&registry);
    co_machine_from_registry(out, &registry);
    co_machine_devices(out, &registry);
    co_registry_close(&registry);
}
