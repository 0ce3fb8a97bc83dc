// SPDX-License-Identifier: MIT
// What the registry says about the machine, Windows and its devices.
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIOS      "HARDWARE\\DESCRIPTION\\System\\BIOS"
#define PROCESSOR "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0"
#define WINDOWS   "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion"
#define CLASSES   "SYSTEM\\CurrentControlSet\\Control\\Class\\"
#define DEVICES   "SYSTEM\\CurrentControlSet\\Enum\\"
#define ADAPTERS  "SOFTWARE\\Microsoft\\DirectX"

#define CLASS_DISPLAY "{4d36e968-e325-11ce-bfc1-08002be10318}"
#define CLASS_COMPUTE "{f01a9d53-3ff6-48d2-9f97-c8a7004be10c}"

#define KEY_BYTES     512u
#define SUBKEYS_MAX   256u
#define BUILD_WIN11   22000
#define FIRST_WINDOWS "Windows 10"

static void copy_text(co_facts *f, const co_registry *r, const char *key, const char *value,
                      const char *about, int64_t number, const char *name)
{
    char text[CO_FACT_BYTES];
    if (r->text(r->context, key, value, text, sizeof text))
        co_facts_text(f, about, number, name, text);
}

// ------------------------------------------------------------------------- the machine and Windows

// Some firmware was never filled in by whoever built the machine.
static bool is_placeholder(const char *text)
{
    static const char *const said[] = {"To Be Filled By O.E.M.", "System manufacturer",
                                       "System Product Name",    "Default string",
                                       "Not Applicable",         "O.E.M."};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (strcmp(text, said[i]) == 0)
            return true;
    return false;
}

static void firmware_text(co_facts *f, const co_registry *r, const char *value, const char *name)
{
    char text[CO_FACT_BYTES];
    if (r->text(r->context, BIOS, value, text, sizeof text) && !is_placeholder(text))
        co_facts_text(f, "machine", CO_FACT_ONLY, name, text);
}

// Windows 11 still calls itself Windows 10 there.
static void windows_name(co_facts *f, const co_registry *r)
{
    char name[CO_FACT_BYTES], build[32];
    if (!r->text(r->context, WINDOWS, "ProductName", name, sizeof name))
        return;
    char *ten = strstr(name, FIRST_WINDOWS);
    if (ten && r->text(r->context, WINDOWS, "CurrentBuildNumber", build, sizeof build) &&
        strtol(build, NULL, 10) >= BUILD_WIN11)
        ten[sizeof FIRST_WINDOWS - 2] = '1';
    co_facts_text(f, "os", CO_FACT_ONLY, "name", name);
}

void co_machine_from_registry(co_facts *f, const co_registry *r)
{
    uint64_t number;
    firmware_text(f, r, "SystemManufacturer", "manufacturer");
    firmware_text(f, r, "SystemProductName", "model");
    firmware_text(f, r, "BIOSVersion", "firmware");
    windows_name(f, r);
    copy_text(f, r, WINDOWS, "DisplayVersion", "os", CO_FACT_ONLY, "release");
    if (r->number(r->context, WINDOWS, "UBR", &number) && number <= INT32_MAX)
        co_facts_number(f, "os", CO_FACT_ONLY, "revision", (int64_t)number);
    if (r->number(r->context, PROCESSOR, "~MHz", &number) && number && number < 1000000)
        co_facts_number(f, "processor", CO_FACT_ONLY, "nominal_mhz", (int64_t)number);
}

// ----------------------------------------------------------------------------------------- devices

// An adapter's name in the performance counters, from DirectX' own list; each entry is used once.
static void find_adapter(co_facts *f, const co_registry *r, const char *about, int64_t number,
                         const char *name, bool *used)
{
    char subkey[128], key[KEY_BYTES], text[CO_FACT_BYTES];
    uint64_t newest = 0, seen, luid;
    bool dated = r->number(r->context, ADAPTERS, "LastSeen", &newest);
    for (unsigned i = 0; i < SUBKEYS_MAX; i++) {
        if (!r->subkey(r->context, ADAPTERS, i, subkey, sizeof subkey))
            return;
        snprintf(key, sizeof key, "%s\\%s", ADAPTERS, subkey);
        if (used[i] || !r->text(r->context, key, "Description", text, sizeof text) ||
            strcmp(text, name) != 0 || !r->number(r->context, key, "AdapterLuid", &luid))
            continue;
        // Those of earlier starts of the machine stay in the list, with numbers of that time.
        if (dated && r->number(r->context, key, "LastSeen", &seen) && seen < newest)
            continue;
        snprintf(text, sizeof text, "luid_0x%08X_0x%08X_phys_0", (unsigned)(luid >> 32),
                 (unsigned)luid);
        co_facts_text(f, about, number, "adapter", text);
        used[i] = true;
        return;
    }
}

static bool add_device(co_facts *f, const co_registry *r, const char *key, const char *about,
                       int64_t number, bool *used)
{
    char name[CO_FACT_BYTES];
    uint64_t bytes = 0;
    if (!r->text(r->context, key, "DriverDesc", name, sizeof name) || !name[0])
        return false;
    co_facts_text(f, about, number, "name", name);
    copy_text(f, r, key, "ProviderName", about, number, "driver_vendor");
    copy_text(f, r, key, "DriverVersion", about, number, "driver");
    copy_text(f, r, key, "DriverDate", about, number, "driver_date");
    copy_text(f, r, key, "MatchingDeviceId", about, number, "hardware");
    bool known = r->number(r->context, key, "HardwareInformation.qwMemorySize", &bytes) ||
                 r->number(r->context, key, "HardwareInformation.MemorySize", &bytes);
    if (known && bytes && bytes <= INT64_MAX)
        co_facts_number(f, about, number, "memory_bytes", (int64_t)bytes);
    find_adapter(f, r, about, number, name, used);
    return true;
}

static int64_t devices_plugged_in(co_facts *f, const co_registry *r, const char *device_class,
                                  const char *about, bool *used)
{
    char device[KEY_BYTES], key[KEY_BYTES * 2], driver[CO_FACT_BYTES];
    int64_t count = 0;
    for (unsigned i = 0; i < SUBKEYS_MAX && count < (int64_t)CO_FACT_ITEMS_MAX; i++) {
        if (!r->device(r->context, device_class, i, device, sizeof device))
            break;
        snprintf(key, sizeof key, "%s%s", DEVICES, device);
        if (!r->text(r->context, key, "Driver", driver, sizeof driver))
            continue;
        snprintf(key, sizeof key, "%s%s", CLASSES, driver);
        count += add_device(f, r, key, about, count, used);
    }
    return count;
}

// All that were ever there: for systems that do not say which are plugged in.
static void devices_installed(co_facts *f, const co_registry *r, const char *device_class,
                              const char *about, bool *used)
{
    char parent[KEY_BYTES], subkey[128], key[KEY_BYTES * 2];
    int64_t count = 0;
    snprintf(parent, sizeof parent, "%s%s", CLASSES, device_class);
    for (unsigned i = 0; i < SUBKEYS_MAX && count < (int64_t)CO_FACT_ITEMS_MAX; i++) {
        if (!r->subkey(r->context, parent, i, subkey, sizeof subkey))
            return;
        snprintf(key, sizeof key, "%s\\%s", parent, subkey);
        if (subkey[0] >= '0' && subkey[0] <= '9')
            count += add_device(f, r, key, about, count, used);
    }
}

void co_machine_devices(co_facts *f, const co_registry *r)
{
    bool used[SUBKEYS_MAX] = {false};
    int64_t gpus = devices_plugged_in(f, r, CLASS_DISPLAY, "gpu", used);
    int64_t npus = devices_plugged_in(f, r, CLASS_COMPUTE, "npu", used);
    if (gpus || npus) // Windows always has a display adapter, if only a basic one
        return;
    devices_installed(f, r, CLASS_DISPLAY, "gpu", used);
    devices_installed(f, r, CLASS_COMPUTE, "npu", used);
}
