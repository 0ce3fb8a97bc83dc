// SPDX-License-Identifier: MIT
// Performance counters from a pretended pdh.dll: what instances mean, how engines add up, and what
// becomes of statuses, of instances that come and go, and of counters that are missing.
#include "counter_rows.h"
#include "pdh.h"

#include "common/utf.h"

#include <stdlib.h>

#define CORE   "\\Processor Information(*)\\% Processor Utility"
#define GPU    "\\GPU Engine(*)\\Utilization Percentage"
#define MEMORY "\\GPU Adapter Memory(*)\\Dedicated Usage"
#define OWN    "\\GPU Process Memory(*)\\Dedicated Usage"
#define POWER  "\\Energy Meter(*)\\Power"
#define ENERGY "\\Energy Meter(*)\\Energy"
#define HEAT   "\\Thermal Zone Information(*)\\High Precision Temperature"
#define CARD   "luid_0x00000000_0x0000D1A2_phys_0"
#define NPU    "luid_0x00000000_0x00014F1D_phys_0"

typedef struct fake_instance {
    const char *path, *name;
    double value;
    uint32_t status;
} fake_instance;

static fake_instance g_instances[64];
static size_t g_instance_count;
static const char *g_paths[64]; // of added counters
static size_t g_path_count;
static const char *g_existing; // NULL: all of them; else only paths that begin so
static uint32_t g_collect_status;

static atomic_uint g_last_id;
static co_readings g_readings;
static counter_rows g_rows;
static co_source_env g_env;
static co_followed g_followed[2] = {{1, 400}, {2, 500}};

static size_t followed(void *context, co_followed *out, size_t capacity)
{
    (void)context;
    TEST_ASSERT_TRUE(capacity >= 2);
    memcpy(out, g_followed, sizeof g_followed);
    return 2;
}

void setUp(void)
{
    g_instance_count = g_path_count = 0;
    g_existing = NULL;
    g_collect_status = 0;
    atomic_store(&g_last_id, 0);
    g_readings = (co_readings){0};
    g_rows = (counter_rows){0};
    g_env = (co_source_env){&g_readings, &g_last_id, NULL, followed};
}

void tearDown(void)
{
    co_readings_deinit(&g_readings);
}

// --------------------------------------------------------------------------- the pretended library

static uint32_t open_query(const uint16_t *data_source, uintptr_t user, void **query)
{
    (void)data_source;
    (void)user;
    *query = &g_instances;
    return 0;
}

static uint32_t add_counter(void *query, const uint16_t *path, uintptr_t user, void **counter)
{
    (void)query;
    (void)user;
    static char texts[64][128];
    char *text = texts[g_path_count];
    cm_utf16_to_utf8(path, CM_UTF_NUL, text, sizeof texts[0]);
    if (g_existing && strncmp(text, g_existing, strlen(g_existing)) != 0)
        return 0xC0000BB8u; // PDH_CSTATUS_NO_OBJECT
    g_paths[g_path_count] = text;
    *counter = &g_paths[g_path_count++];
    return 0;
}

static uint32_t collect(void *query)
{
    (void)query;
    return g_collect_status;
}

static size_t count_of(const char *path)
{
    size_t count = 0;
    for (size_t i = 0; i < g_instance_count; i++)
        count += strcmp(g_instances[i].path, path) == 0;
    return count;
}

static uint32_t formatted(void *counter, uint32_t format, uint32_t *bytes, uint32_t *count,
                          co_pdh_item *items)
{
    const char *path = *(const char **)counter;
    static uint16_t names[64][128];
    uint32_t needed = (uint32_t)(count_of(path) * sizeof *items), n = 0;
    TEST_ASSERT_EQUAL_HEX32(CO_PDH_FMT_DOUBLE | CO_PDH_FMT_NOCAP100, format);
    if (needed > *bytes) {
        *bytes = needed;
        return CO_PDH_MORE_DATA;
    }
    for (size_t i = 0; i < g_instance_count; i++) {
        if (strcmp(g_instances[i].path, path) != 0)
            continue;
        cm_utf8_to_utf16(g_instances[i].name, CM_UTF_NUL, names[i], 128);
        items[n++] = (co_pdh_item){names[i], g_instances[i].status, 0, g_instances[i].value};
    }
    *count = n;
    return 0;
}

static uint32_t raw(void *counter, uint32_t *bytes, uint32_t *count, co_pdh_raw_item *items)
{
    const char *path = *(const char **)counter;
    static uint16_t names[64][128];
    uint32_t needed = (uint32_t)(count_of(path) * sizeof *items), n = 0;
    if (needed > *bytes) {
        *bytes = needed;
        return CO_PDH_MORE_DATA;
    }
    for (size_t i = 0; i < g_instance_count; i++) {
        if (strcmp(g_instances[i].path, path) != 0)
            continue;
        cm_utf8_to_utf16(g_instances[i].name, CM_UTF_NUL, names[i], 128);
        items[n++] = (co_pdh_raw_item){.name = names[i],
                                       .status = g_instances[i].status,
                                       .first = (int64_t)g_instances[i].value};
    }
    *count = n;
    return 0;
}

static uint32_t close_query(void *query)
{
    TEST_ASSERT_EQUAL_PTR(&g_instances, query);
    return 0;
}

static const co_pdh_api g_api = {open_query, add_counter, collect, formatted, raw, close_query};

static fake_instance *add(const char *path, const char *name, double value)
{
    g_instances[g_instance_count] = (fake_instance){path, name, value, 0};
    return &g_instances[g_instance_count++];
}

// --------------------------------------------------------------------------------------- the tests

static void test_names_of_engines(void)
{
    co_gpu_instance i;
    TEST_ASSERT_TRUE(co_gpu_parse("pid_1234_" CARD "_eng_3_engtype_3D", &i));
    TEST_ASSERT_TRUE(i.has_pid && i.has_engine);
    TEST_ASSERT_EQUAL(1234, i.pid);
    TEST_ASSERT_EQUAL(3, i.engine);
    TEST_ASSERT_EQUAL_STRING(CARD, i.adapter);
    TEST_ASSERT_EQUAL_STRING("3D", i.type);
    TEST_ASSERT_TRUE(co_gpu_parse("pid_7_" CARD "_eng_0_engtype_", &i)); // engines without a type
    TEST_ASSERT_EQUAL_STRING("", i.type);
    TEST_ASSERT_TRUE(co_gpu_parse(CARD, &i));
    TEST_ASSERT_FALSE(i.has_pid || i.has_engine);
    TEST_ASSERT_TRUE(co_gpu_parse("pid_5_" CARD, &i));
    const char *const wrong[] = {"",
                                 "_Total",
                                 "pid_",
                                 "pid_x_" CARD,
                                 "luid_0x1",
                                 CARD "x",
                                 "luid_0x1_0x2_phys_",
                                 "pid_1_" CARD "_eng_1"};
    for (size_t n = 0; n < sizeof wrong / sizeof *wrong; n++)
        TEST_ASSERT_FALSE_MESSAGE(co_gpu_parse(wrong[n], &i), wrong[n]);
}

static void sample(co_pdh_state *s, uint64_t ticks)
{
    co_pdh_sample(s, ticks);
    rows_read(&g_rows, &g_readings);
}

static int64_t last(const char *name, int64_t number, int64_t process, const char *subject)
{
    return rows_last(&g_rows, name, number, process, subject);
}

static void test_engines_add_up_over_processes_and_the_busiest_counts(void)
{
    add(GPU, "pid_400_" CARD "_eng_0_engtype_3D", 30);
    add(GPU, "pid_900_" CARD "_eng_0_engtype_3D", 25.5);
    add(GPU, "pid_400_" CARD "_eng_1_engtype_Copy", 50);
    add(GPU, "pid_900_" CARD "_eng_2_engtype_VideoDecode", 1);
    add(GPU, "pid_500_" NPU "_eng_0_engtype_Neural", 70);
    add(GPU, "pid_900_" NPU "_eng_0_engtype_Neural", 20);
    co_pdh_state *s = co_pdh_open(&g_api, &g_env);
    TEST_ASSERT_NOT_NULL(s);
    sample(s, 1);
    co_pdh_close(s);
    TEST_ASSERT_EQUAL(5550, last("gpu_utilization", 0, 0, CARD)); // in hundredths of a percent
    TEST_ASSERT_EQUAL(9000, last("npu_utilization", 1, 0, NPU));
    TEST_ASSERT_EQUAL(5550, last("engine_utilization", 0, 0, CARD "_eng_0_3D"));
    TEST_ASSERT_EQUAL(5000, last("engine_utilization", 0, 0, CARD "_eng_1_Copy"));
    TEST_ASSERT_EQUAL(5000, last("process_utilization", 0, 1, CARD)); // the busiest engine of 400
    TEST_ASSERT_EQUAL(7000, last("process_utilization", 1, 2, NPU));
    TEST_ASSERT_EQUAL_INT64(NO_SUCH, last("process_utilization", 0, 2, CARD));
}

static void test_absurd_and_invalid_engines_do_not_count(void)
{
    add(GPU, "pid_400_" CARD "_eng_0_engtype_3D", 30);
    add(GPU, "pid_900_" CARD "_eng_0_engtype_3D", 279947);
    add(GPU, "pid_901_" CARD "_eng_0_engtype_3D", 40)->status = 0xC0000BBAu; // INVALID_DATA
    add(GPU, "pid_400_" CARD "_eng_1_engtype_Copy", 5)->status = 0xC0000BBAu;
    co_pdh_state *s = co_pdh_open(&g_api, &g_env);
    sample(s, 1);
    co_pdh_close(s);
    TEST_ASSERT_EQUAL(3000, last("gpu_utilization", 0, 0, CARD));
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last("engine_utilization", 0, 0, CARD "_eng_1_Copy"));
}

static void test_instances_come_and_go(void)
{
    fake_instance *busy = add(GPU, "pid_400_" CARD "_eng_0_engtype_3D", 30);
    add(MEMORY, CARD, 1e9);
    add(OWN, "pid_400_" CARD, 5e8);
    add(OWN, "pid_900_" CARD, 4e8); // of nobody whom we follow
    co_pdh_state *s = co_pdh_open(&g_api, &g_env);
    sample(s, 1);
    TEST_ASSERT_EQUAL_INT64(1000000000, last("memory_dedicated", 0, 0, CARD));
    TEST_ASSERT_EQUAL_INT64(500000000, last("process_memory_dedicated", 0, 1, CARD));
    TEST_ASSERT_EQUAL_INT64(NO_SUCH, last("process_memory_dedicated", 0, 0, CARD));
    busy->name = "pid_900_" CARD "_eng_0_engtype_3D"; // another process now
    g_instance_count = 2;                             // and no process memory any more
    sample(s, 2);
    TEST_ASSERT_EQUAL(3000, last("gpu_utilization", 0, 0, CARD));
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last("process_utilization", 0, 1, CARD));
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last("process_memory_dedicated", 0, 1, CARD));
    g_instance_count = 0; // the device was taken away
    sample(s, 3);
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last("gpu_utilization", 0, 0, CARD));
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last("memory_dedicated", 0, 0, CARD));
    g_instance_count = 2; // and comes back as what it was
    sample(s, 4);
    TEST_ASSERT_EQUAL(3000, last("gpu_utilization", 0, 0, CARD));
    co_pdh_close(s);
}

static void test_cores_meters_and_zones(void)
{
    add(CORE, "0,0", 12.34);
    add(CORE, "0,7", 150); // turbo: above 100 is right
    add(CORE, "1,2", 1);
    add(CORE, "0,_Total", 50);
    add(CORE, "_Total", 40);
    add(POWER, "RAPL_Package0_PKG", 15250);
    add(ENERGY, "RAPL_Package0_PKG", 1e12); // 1 Wh
    add(HEAT, "\\_TZ.TZ00", 3182);
    add(HEAT, "\\_TZ.TZ01", 2732);
    co_pdh_state *s = co_pdh_open(&g_api, &g_env);
    sample(s, 1);
    co_pdh_close(s);
    TEST_ASSERT_EQUAL(1234, last("utility", 0, 0, ""));
    TEST_ASSERT_EQUAL(15000, last("utility", 7, 0, ""));
    TEST_ASSERT_EQUAL(100, last("utility", 66, 0, ""));
    TEST_ASSERT_EQUAL(4000, last("utility", -1, 0, ""));
    TEST_ASSERT_EQUAL(15250, last("power", -1, 0, "RAPL_Package0_PKG"));
    TEST_ASSERT_EQUAL_INT64(3600000000, last("energy", -1, 0, "RAPL_Package0_PKG")); // uJ
    TEST_ASSERT_EQUAL(1, rows_find(&g_rows, "energy", -1, 0, "RAPL_Package0_PKG")->total);
    TEST_ASSERT_EQUAL(4505, last("temperature", -1, 0, "\\_TZ.TZ00"));
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last("temperature", -1, 0, "\\_TZ.TZ01"));
}

static void test_failed_collections_are_gaps(void)
{
    add(CORE, "0,0", 10);
    co_pdh_state *s = co_pdh_open(&g_api, &g_env);
    sample(s, 1);
    g_collect_status = CO_PDH_NO_DATA;
    sample(s, 2);
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last("utility", 0, 0, ""));
    TEST_ASSERT_EQUAL_STRING("", g_rows.remarks);
    g_collect_status = 0xC0000BBDu;
    sample(s, 3);
    sample(s, 4);
    TEST_ASSERT_NOT_NULL(strstr(g_rows.remarks, "0xC0000BBD"));
    TEST_ASSERT_NULL(strstr(strstr(g_rows.remarks, "0xC0000BBD") + 1, "0xC0000BBD")); // once
    g_collect_status = 0;
    sample(s, 5);
    TEST_ASSERT_EQUAL(1000, last("utility", 0, 0, ""));
    co_pdh_close(s);
}

static void test_missing_counters_are_named(void)
{
    g_existing = "\\Processor Information";
    add(CORE, "0,0", 10);
    co_pdh_state *s = co_pdh_open(&g_api, &g_env);
    TEST_ASSERT_NOT_NULL(s);
    sample(s, 1);
    co_pdh_close(s);
    TEST_ASSERT_EQUAL(1000, last("utility", 0, 0, ""));
    TEST_ASSERT_NOT_NULL(strstr(g_rows.remarks, "GPU Engine, GPU Adapter Memory"));
    TEST_ASSERT_NULL(strstr(g_rows.remarks, "Processor Information"));
    g_existing = "nothing";
    TEST_ASSERT_NULL(co_pdh_open(&g_api, &g_env));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_names_of_engines);
    RUN_TEST(test_engines_add_up_over_processes_and_the_busiest_counts);
    RUN_TEST(test_absurd_and_invalid_engines_do_not_count);
    RUN_TEST(test_instances_come_and_go);
    RUN_TEST(test_cores_meters_and_zones);
    RUN_TEST(test_failed_collections_are_gaps);
    RUN_TEST(test_missing_counters_are_named);
    return UNITY_END();
}
