// SPDX-License-Identifier: MIT
// What answers of the system mean: a pretended registry, lists of processors made up byte by byte,
// texts that firmware got wrong.
#include "machine.h"

#include <stdio.h>
#include <string.h>
#include <unity.h>

#define WINDOWS "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion"
#define BIOS    "HARDWARE\\DESCRIPTION\\System\\BIOS"
#define CLASSES "SYSTEM\\CurrentControlSet\\Control\\Class\\"
#define DISPLAY "{4d36e968-e325-11ce-bfc1-08002be10318}"
#define COMPUTE "{f01a9d53-3ff6-48d2-9f97-c8a7004be10c}"
#define ENUM    "SYSTEM\\CurrentControlSet\\Enum\\"
#define DIRECTX "SOFTWARE\\Microsoft\\DirectX"

static co_facts g_facts;

// ------------------------------------------------------------------------- the pretended registry

typedef struct entry {
    const char *key, *value, *text; // text NULL: a number
    uint64_t number;
} entry;

static const entry *g_entries;
static size_t g_entry_count;
static const char *const *g_devices; // class, key below Enum, ..., NULL

static bool find_text(void *context, const char *key, const char *value, char *out, size_t capacity)
{
    (void)context;
    for (size_t i = 0; i < g_entry_count; i++)
        if (strcmp(g_entries[i].key, key) == 0 && strcmp(g_entries[i].value, value) == 0 &&
            g_entries[i].text) {
            snprintf(out, capacity, "%s", g_entries[i].text);
            return true;
        }
    return false;
}

static bool find_number(void *context, const char *key, const char *value, uint64_t *out)
{
    (void)context;
    for (size_t i = 0; i < g_entry_count; i++)
        if (strcmp(g_entries[i].key, key) == 0 && strcmp(g_entries[i].value, value) == 0 &&
            !g_entries[i].text) {
            *out = g_entries[i].number;
            return true;
        }
    return false;
}

// Subkeys are those of the entries, in their order, each once.
static bool find_subkey(void *context, const char *key, unsigned index, char *out, size_t capacity)
{
    (void)context;
    size_t len = strlen(key);
    char last[256] = "";
    for (size_t i = 0; i < g_entry_count; i++) {
        const char *name = g_entries[i].key + len + 1;
        if (strncmp(g_entries[i].key, key, len) != 0 || g_entries[i].key[len] != '\\' ||
            strcmp(name, last) == 0)
            continue;
        snprintf(last, sizeof last, "%s", name);
        if (index-- == 0) {
            snprintf(out, capacity, "%s", name);
            return true;
        }
    }
    return false;
}

static bool find_device(void *context, const char *device_class, unsigned index, char *out,
                        size_t capacity)
{
    (void)context;
    for (size_t i = 0; g_devices && g_devices[i]; i += 2)
        if (strcmp(g_devices[i], device_class) == 0 && index-- == 0) {
            snprintf(out, capacity, "%s", g_devices[i + 1]);
            return true;
        }
    return false;
}

static const co_registry g_registry = {NULL, find_text, find_number, find_subkey, find_device};

#define ENTRIES(...)                                                                               \
    static const entry entries[] = {__VA_ARGS__};                                                  \
    g_entries = entries;                                                                           \
    g_entry_count = sizeof entries / sizeof *entries

void setUp(void)
{
    g_facts.count = 0;
    g_entries = NULL;
    g_entry_count = 0;
    g_devices = NULL;
}

void tearDown(void) {}

static const char *text_of(const char *about, int64_t number, const char *name)
{
    const co_fact *f = co_facts_find(&g_facts, about, number, name);
    return f && f->is_text ? f->text : NULL;
}

static int64_t number_of(const char *about, int64_t number, const char *name)
{
    const co_fact *f = co_facts_find(&g_facts, about, number, name);
    return f && !f->is_text ? f->value : -1;
}

// ------------------------------------------------------------------------------------------- texts

static void test_texts_are_trimmed_cleaned_and_cut(void)
{
    char longer[1000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    co_facts_text(&g_facts, "a", -1, "blanks", "  Dell\t\r\n Inc.  ");
    co_facts_text(&g_facts, "a", -1, "escape", "a\x1b[31mb");
    co_facts_text(&g_facts, "a", -1, "broken", "a\xff\xc3z");
    co_facts_text(&g_facts, "a", -1, "long", longer);
    co_facts_text(&g_facts, "a", -1, "empty", " \t ");
    TEST_ASSERT_EQUAL_STRING("Dell Inc.", text_of("a", -1, "blanks"));
    TEST_ASSERT_EQUAL_STRING("a [31mb", text_of("a", -1, "escape"));
    TEST_ASSERT_EQUAL_STRING("a\xEF\xBF\xBD\xEF\xBF\xBDz", text_of("a", -1, "broken"));
    TEST_ASSERT_EQUAL_size_t(CO_FACT_BYTES - 1, strlen(text_of("a", -1, "long")));
    TEST_ASSERT_NULL(text_of("a", -1, "empty"));
}

static void test_a_wide_character_is_not_cut_in_two(void)
{
    char wide[CO_FACT_BYTES + 8] = "";
    for (size_t i = 0; i < CO_FACT_BYTES / 3 + 1; i++)
        strcat(wide, "\xE6\xBC\xA2");
    co_facts_text(&g_facts, "a", -1, "wide", wide);
    TEST_ASSERT_EQUAL_size_t((CO_FACT_BYTES - 1) / 3 * 3, strlen(text_of("a", -1, "wide")));
}

static void test_more_facts_than_there_is_room_for(void)
{
    for (int i = 0; i < 1000; i++)
        co_facts_number(&g_facts, "a", i, "n", i);
    TEST_ASSERT_EQUAL_size_t(CO_FACTS_MAX, g_facts.count);
    TEST_ASSERT_EQUAL_INT64(CO_FACTS_MAX - 1, number_of("a", CO_FACTS_MAX - 1, "n"));
}

// ------------------------------------------------------------------------- the machine and Windows

static void test_a_laptop_with_windows_11(void)
{
    ENTRIES({BIOS, "SystemManufacturer", "LENOVO", 0}, {BIOS, "SystemProductName", "21N1CTO1WW", 0},
            {BIOS, "BIOSVersion", "N3ZET41W (1.28 )", 0},
            {WINDOWS, "ProductName", "Windows 10 Pro", 0},
            {WINDOWS, "CurrentBuildNumber", "26100", 0}, {WINDOWS, "DisplayVersion", "24H2", 0},
            {WINDOWS, "UBR", NULL, 3775},
            {"HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0", "~MHz", NULL, 2995});
    co_machine_from_registry(&g_facts, &g_registry);
    TEST_ASSERT_EQUAL_STRING("LENOVO", text_of("machine", -1, "manufacturer"));
    TEST_ASSERT_EQUAL_STRING("21N1CTO1WW", text_of("machine", -1, "model"));
    TEST_ASSERT_EQUAL_STRING("N3ZET41W (1.28 )", text_of("machine", -1, "firmware"));
    TEST_ASSERT_EQUAL_STRING("Windows 11 Pro", text_of("os", -1, "name"));
    TEST_ASSERT_EQUAL_STRING("24H2", text_of("os", -1, "release"));
    TEST_ASSERT_EQUAL_INT64(3775, number_of("os", -1, "revision"));
    TEST_ASSERT_EQUAL_INT64(2995, number_of("processor", -1, "nominal_mhz"));
}

static void test_windows_10_keeps_its_name_and_placeholders_are_no_facts(void)
{
    ENTRIES({BIOS, "SystemManufacturer", "To Be Filled By O.E.M.", 0},
            {BIOS, "SystemProductName", "", 0}, {WINDOWS, "ProductName", "Windows 10 Home", 0},
            {WINDOWS, "CurrentBuildNumber", "19045", 0});
    co_machine_from_registry(&g_facts, &g_registry);
    TEST_ASSERT_EQUAL_STRING("Windows 10 Home", text_of("os", -1, "name"));
    TEST_ASSERT_EQUAL_size_t(1, g_facts.count);
}

static void test_an_empty_registry_tells_nothing(void)
{
    co_machine_from_registry(&g_facts, &g_registry);
    co_machine_devices(&g_facts, &g_registry);
    TEST_ASSERT_EQUAL_size_t(0, g_facts.count);
}

// ----------------------------------------------------------------------------------------- devices

#define CARD ENUM "PCI\\VEN_10DE&DEV_2684\\4&1"
#define NPU  ENUM "PCI\\VEN_8086&DEV_643E\\3&1"
#define GPU0 CLASSES DISPLAY "\\0000"
#define GPU1 CLASSES DISPLAY "\\0001"
#define NPU0 CLASSES COMPUTE "\\0000"
static const char *const plugged_in[] = {DISPLAY, "PCI\\VEN_10DE&DEV_2684\\4&1", COMPUTE,
                                         "PCI\\VEN_8086&DEV_643E\\3&1", NULL};

static void test_plugged_in_devices_with_drivers_and_adapters(void)
{
    ENTRIES({CARD, "Driver", DISPLAY "\\0001", 0}, {NPU, "Driver", COMPUTE "\\0000", 0},
            {GPU0, "DriverDesc", "A card of last year", 0},
            {GPU1, "DriverDesc", "NVIDIA GeForce RTX 4090", 0}, {GPU1, "ProviderName", "NVIDIA", 0},
            {GPU1, "DriverVersion", "31.0.15.3623", 0}, {GPU1, "DriverDate", "6-8-2023", 0},
            {GPU1, "MatchingDeviceId", "PCI\\VEN_10DE&DEV_2684", 0},
            {GPU1, "HardwareInformation.qwMemorySize", NULL, 25757220864u},
            {NPU0, "DriverDesc", "Intel(R) AI Boost", 0},
            {NPU0, "DriverVersion", "32.0.100.3714", 0}, {DIRECTX, "LastSeen", NULL, 200},
            {DIRECTX "\\{a}", "Description", "NVIDIA GeForce RTX 4090", 0},
            {DIRECTX "\\{a}", "LastSeen", NULL, 100}, {DIRECTX "\\{a}", "AdapterLuid", NULL, 7},
            {DIRECTX "\\{b}", "Description", "NVIDIA GeForce RTX 4090", 0},
            {DIRECTX "\\{b}", "LastSeen", NULL, 200},
            {DIRECTX "\\{b}", "AdapterLuid", NULL, 0x10000d1a2u}, );
    g_devices = plugged_in;
    co_machine_devices(&g_facts, &g_registry);
    TEST_ASSERT_EQUAL_STRING("NVIDIA GeForce RTX 4090", text_of("gpu", 0, "name"));
    TEST_ASSERT_EQUAL_STRING("31.0.15.3623", text_of("gpu", 0, "driver"));
    TEST_ASSERT_EQUAL_STRING("NVIDIA", text_of("gpu", 0, "driver_vendor"));
    TEST_ASSERT_EQUAL_STRING("PCI\\VEN_10DE&DEV_2684", text_of("gpu", 0, "hardware"));
    TEST_ASSERT_EQUAL_INT64(25757220864, number_of("gpu", 0, "memory_bytes"));
    TEST_ASSERT_EQUAL_STRING("luid_0x00000001_0x0000D1A2_phys_0", text_of("gpu", 0, "adapter"));
    TEST_ASSERT_NULL(text_of("gpu", 1, "name")); // not plugged in
    TEST_ASSERT_EQUAL_STRING("Intel(R) AI Boost", text_of("npu", 0, "name"));
    TEST_ASSERT_NULL(text_of("npu", 0, "adapter"));
    TEST_ASSERT_EQUAL_INT64(-1, number_of("npu", 0, "memory_bytes"));
}

static void test_two_cards_of_one_name_get_an_adapter_each(void)
{
    ENTRIES({GPU0, "DriverDesc", "T4", 0}, {GPU1, "DriverDesc", "T4", 0},
            {CLASSES DISPLAY "\\Configuration", "DriverDesc", "no device", 0},
            {DIRECTX "\\{a}", "Description", "T4", 0}, {DIRECTX "\\{a}", "AdapterLuid", NULL, 7},
            {DIRECTX "\\{b}", "Description", "T4", 0}, {DIRECTX "\\{b}", "AdapterLuid", NULL, 8});
    co_machine_devices(&g_facts, &g_registry); // nobody says what is plugged in
    TEST_ASSERT_EQUAL_STRING("luid_0x00000000_0x00000007_phys_0", text_of("gpu", 0, "adapter"));
    TEST_ASSERT_EQUAL_STRING("luid_0x00000000_0x00000008_phys_0", text_of("gpu", 1, "adapter"));
    TEST_ASSERT_NULL(text_of("gpu", 2, "name"));
}

// -------------------------------------------------------------------------------------- processors

static uint8_t g_records[4096];
static size_t g_len;

static uint8_t *record(uint32_t relation, uint32_t size)
{
    uint8_t *at = g_records + g_len;
    memset(at, 0, size);
    memcpy(at, &relation, 4);
    memcpy(at + 4, &size, 4);
    g_len += size;
    return at + 8;
}

static void core(uint8_t efficiency_class, uint64_t mask)
{
    uint8_t *at = record(0, 48);
    at[1] = efficiency_class;
    at[22] = 1;
    memcpy(at + 24, &mask, 8);
}

static void cache(uint8_t level, uint32_t type, uint32_t bytes)
{
    uint8_t *at = record(2, 60);
    at[0] = level;
    at[2] = 64;
    memcpy(at + 4, &bytes, 4);
    memcpy(at + 8, &type, 4);
}

static void hybrid(void)
{
    g_len = 0;
    record(3, 48);
    record(1, 48);
    core(1, 3); // two fast ones with two threads
    core(1, 12);
    core(0, 16);
    cache(1, 2, 49152);
    cache(1, 2, 49152);
    cache(1, 2, 32768); // of the slow one
    cache(1, 1, 32768);
    cache(3, 0, 12582912);
}

static void test_fast_and_efficient_cores_and_caches(void)
{
    hybrid();
    co_machine_processors(&g_facts, g_records, g_len);
    TEST_ASSERT_EQUAL_INT64(1, number_of("processor", -1, "packages"));
    TEST_ASSERT_EQUAL_INT64(1, number_of("processor", -1, "nodes"));
    TEST_ASSERT_EQUAL_INT64(3, number_of("processor", -1, "cores"));
    TEST_ASSERT_EQUAL_INT64(5, number_of("processor", -1, "threads"));
    TEST_ASSERT_EQUAL_INT64(2, number_of("processor", -1, "performance_cores"));
    TEST_ASSERT_EQUAL_INT64(1, number_of("processor", -1, "efficiency_cores"));
    TEST_ASSERT_EQUAL_STRING("data", text_of("cache", 0, "holds"));
    TEST_ASSERT_EQUAL_INT64(49152, number_of("cache", 0, "bytes"));
    TEST_ASSERT_EQUAL_INT64(64, number_of("cache", 0, "line_bytes"));
    TEST_ASSERT_EQUAL_INT64(2, number_of("cache", 0, "count"));
    TEST_ASSERT_EQUAL_INT64(1, number_of("cache", 1, "count"));
    TEST_ASSERT_EQUAL_STRING("instructions", text_of("cache", 2, "holds"));
    TEST_ASSERT_EQUAL_STRING("both", text_of("cache", 3, "holds"));
    TEST_ASSERT_EQUAL_INT64(3, number_of("cache", 3, "level"));
}

static void test_cores_that_are_all_alike_are_not_told_apart(void)
{
    g_len = 0;
    core(0, 1);
    core(0, 2);
    co_machine_processors(&g_facts, g_records, g_len);
    TEST_ASSERT_EQUAL_INT64(2, number_of("processor", -1, "cores"));
    TEST_ASSERT_EQUAL_INT64(-1, number_of("processor", -1, "performance_cores"));
    TEST_ASSERT_EQUAL_INT64(-1, number_of("processor", -1, "packages"));
}

// Every cut, and every byte set to each of a few values: never past the end.
static void test_damaged_lists_are_read_up_to_the_damage(void)
{
    static const uint8_t odd[] = {0, 1, 7, 8, 0x7f, 0xff};
    hybrid();
    size_t whole = g_len;
    for (size_t len = 0; len <= whole; len++) {
        uint8_t cut[sizeof g_records];
        memcpy(cut, g_records, len);
        memset(cut + len, 0xff, sizeof cut - len);
        g_facts.count = 0;
        co_machine_processors(&g_facts, cut, len);
    }
    for (size_t at = 0; at < whole; at++)
        for (size_t v = 0; v < sizeof odd; v++) {
            hybrid();
            g_records[at] = odd[v];
            g_facts.count = 0;
            co_machine_processors(&g_facts, g_records, whole);
        }
    TEST_PASS();
}

static void test_this_processor_has_a_name(void)
{
    co_machine_cpuid(&g_facts);
    TEST_ASSERT_NOT_NULL(text_of("processor", -1, "name"));
    TEST_ASSERT_TRUE(number_of("processor", -1, "steady_ticks") >= 0);
    TEST_ASSERT_EQUAL_STRING("KVM", co_machine_hypervisor("KVMKVMKVM"));
    TEST_ASSERT_EQUAL_STRING("Hyper-V", co_machine_hypervisor("Microsoft Hv"));
    TEST_ASSERT_EQUAL_STRING("", co_machine_hypervisor("GenuineIntel"));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_texts_are_trimmed_cleaned_and_cut);
    RUN_TEST(test_a_wide_character_is_not_cut_in_two);
    RUN_TEST(test_more_facts_than_there_is_room_for);
    RUN_TEST(test_a_laptop_with_windows_11);
    RUN_TEST(test_windows_10_keeps_its_name_and_placeholders_are_no_facts);
    RUN_TEST(test_an_empty_registry_tells_nothing);
    RUN_TEST(test_plugged_in_devices_with_drivers_and_adapters);
    RUN_TEST(test_two_cards_of_one_name_get_an_adapter_each);
    RUN_TEST(test_fast_and_efficient_cores_and_caches);
    RUN_TEST(test_cores_that_are_all_alike_are_not_told_apart);
    RUN_TEST(test_damaged_lists_are_read_up_to_the_damage);
    RUN_TEST(test_this_processor_has_a_name);
    return UNITY_END();
}
