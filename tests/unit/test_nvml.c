// SPDX-License-Identifier: MIT
// NVIDIA's devices from a pretended nvml.dll: values, what is not supported, devices that are lost,
// processes, and libraries of old drivers.
#include "counter_rows.h"
#include "nvml.h"

#include <stdlib.h>

#define DEVICES 2

typedef struct fake_device {
    int lost;               // status of every answer
    int power_status;       // of that one alone
    unsigned power, energy; // milliwatts, millijoules
    unsigned long long reasons;
    unsigned share; // of process 400
    uint64_t memory_of_process;
    unsigned power_asked;
} fake_device;

static fake_device g_devices[DEVICES];
static unsigned g_count;
static int g_init_status, g_started;
static unsigned long long g_now_us;
static co_nvml_api g_api;

static atomic_uint g_last_id;
static co_readings g_readings;
static counter_rows g_rows;
static co_source_env g_env;

static size_t followed(void *context, co_followed *out, size_t capacity)
{
    (void)context;
    (void)capacity;
    out[0] = (co_followed){1, 400};
    return 1;
}

// --------------------------------------------------------------------------- the pretended library

static int init(void)
{
    g_started += g_init_status == 0;
    return g_init_status;
}

static int shut_down(void)
{
    g_started--;
    return 0;
}

static int device_count(unsigned *count)
{
    *count = g_count;
    return 0;
}

static int get_device(unsigned index, void **device)
{
    *device = &g_devices[index];
    return 0;
}

static int get_name(void *device, char *name, unsigned capacity)
{
    snprintf(name, capacity, "Card %d", (int)((fake_device *)device - g_devices));
    return 0;
}

static int utilization(void *device, co_nvml_utilization *out)
{
    *out = (co_nvml_utilization){40, 7};
    return ((fake_device *)device)->lost;
}

static int memory(void *device, co_nvml_memory *out)
{
    *out = (co_nvml_memory){8000000000, 3000000000, 5000000000};
    return ((fake_device *)device)->lost;
}

static int power(void *device, unsigned *milliwatts)
{
    fake_device *d = device;
    d->power_asked++;
    *milliwatts = d->power;
    return d->lost ? d->lost : d->power_status;
}

static int energy(void *device, unsigned long long *millijoules)
{
    *millijoules = ((fake_device *)device)->energy;
    return ((fake_device *)device)->lost;
}

static int temperature(void *device, int sensor, unsigned *celsius)
{
    TEST_ASSERT_EQUAL(0, sensor);
    *celsius = 61;
    return ((fake_device *)device)->lost;
}

static int get_clock(void *device, int type, unsigned *mhz)
{
    *mhz = 1000 + (unsigned)type;
    return ((fake_device *)device)->lost;
}

static int throttle_reasons(void *device, unsigned long long *bits)
{
    *bits = ((fake_device *)device)->reasons;
    return ((fake_device *)device)->lost;
}

static int process_utilization(void *device, co_nvml_process_sample *samples, unsigned *count,
                               unsigned long long since_us)
{
    const fake_device *d = device;
    TEST_ASSERT_TRUE(*count >= 3 && since_us <= g_now_us);
    if (!d->share)
        return CO_NVML_NOT_FOUND;
    samples[0] = (co_nvml_process_sample){.pid = 400, .time_us = g_now_us, .sm = d->share};
    samples[1] = (co_nvml_process_sample){.pid = 400, .time_us = g_now_us - 1, .sm = 1};
    samples[2] = (co_nvml_process_sample){.pid = 900, .time_us = g_now_us, .sm = 99};
    *count = 3;
    return 0;
}

static int processes(void *device, unsigned *count, co_nvml_process *out)
{
    out[0] = (co_nvml_process){.pid = 900, .used = 1};
    out[1] = (co_nvml_process){.pid = 400, .used = ((fake_device *)device)->memory_of_process};
    *count = 2;
    return 0;
}

void setUp(void)
{
    memset(g_devices, 0, sizeof g_devices);
    g_devices[0] = (fake_device){.power = 150500, .energy = 1000, .memory_of_process = 77};
    g_devices[1] = (fake_device){.power = 20000, .memory_of_process = UINT64_MAX};
    g_count = DEVICES;
    g_init_status = g_started = 0;
    g_now_us = 5000000;
    g_api = (co_nvml_api){init,
                          shut_down,
                          device_count,
                          get_device,
                          get_name,
                          utilization,
                          memory,
                          power,
                          energy,
                          temperature,
                          get_clock,
                          throttle_reasons,
                          process_utilization,
                          processes};
    atomic_store(&g_last_id, 0);
    g_readings = (co_readings){0};
    g_rows = (counter_rows){0};
    g_env = (co_source_env){&g_readings, &g_last_id, NULL, followed};
}

void tearDown(void)
{
    co_readings_deinit(&g_readings);
    TEST_ASSERT_EQUAL(0, g_started); // stopped as often as started
}

static bool sample(co_nvml_state *s, uint64_t ticks)
{
    bool alive = co_nvml_sample(s, ticks);
    rows_read(&g_rows, &g_readings);
    return alive;
}

static int64_t last(const char *name, int64_t number, int64_t process)
{
    return rows_last(&g_rows, name, number, process, number ? "Card 1" : "Card 0");
}

// --------------------------------------------------------------------------------------- the tests

static void test_values_of_all_devices(void)
{
    co_nvml_state *s = co_nvml_open(&g_api, &g_env);
    TEST_ASSERT_NOT_NULL(s);
    TEST_ASSERT_TRUE(sample(s, 1));
    co_nvml_close(s);
    TEST_ASSERT_EQUAL(40, last("gpu_utilization", 0, 0));
    TEST_ASSERT_EQUAL(7, last("memory_utilization", 1, 0));
    TEST_ASSERT_EQUAL_INT64(5000000000, last("memory_used", 0, 0));
    TEST_ASSERT_EQUAL(150500, last("power", 0, 0));
    TEST_ASSERT_EQUAL(20000, last("power", 1, 0));
    TEST_ASSERT_EQUAL(1000, rows_find(&g_rows, "power", 0, 0, "Card 0")->per_unit);
    TEST_ASSERT_EQUAL(1, rows_find(&g_rows, "energy", 0, 0, "Card 0")->total);
    TEST_ASSERT_EQUAL(61, last("temperature", 0, 0));
    TEST_ASSERT_EQUAL(1000, last("clock_graphics", 0, 0));
    TEST_ASSERT_EQUAL(1002, last("clock_memory", 0, 0));
    TEST_ASSERT_EQUAL(0, last("throttle_reasons", 0, 0));
}

static void test_not_supported_is_not_known_and_not_asked_again(void)
{
    g_devices[1].power_status = CO_NVML_NOT_SUPPORTED;
    co_nvml_state *s = co_nvml_open(&g_api, &g_env);
    for (uint64_t i = 1; i <= 5; i++)
        TEST_ASSERT_TRUE(sample(s, i));
    co_nvml_close(s);
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last("power", 1, 0));
    TEST_ASSERT_EQUAL(1, g_devices[1].power_asked);
    TEST_ASSERT_EQUAL(5, g_devices[0].power_asked);
}

static void test_a_timeout_is_a_gap(void)
{
    co_nvml_state *s = co_nvml_open(&g_api, &g_env);
    sample(s, 1);
    g_devices[0].power_status = 10; // NVML_ERROR_TIMEOUT
    TEST_ASSERT_TRUE(sample(s, 2));
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last("power", 0, 0));
    g_devices[0].power_status = 0;
    TEST_ASSERT_TRUE(sample(s, 3));
    TEST_ASSERT_EQUAL(150500, last("power", 0, 0));
    co_nvml_close(s);
}

static void test_a_lost_device_ends_and_the_last_one_ends_the_source(void)
{
    co_nvml_state *s = co_nvml_open(&g_api, &g_env);
    sample(s, 1);
    g_devices[0].lost = CO_NVML_GPU_IS_LOST;
    TEST_ASSERT_TRUE(sample(s, 2));
    TEST_ASSERT_TRUE(sample(s, 3));
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last("gpu_utilization", 0, 0));
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last("energy", 0, 0));
    TEST_ASSERT_EQUAL(40, last("gpu_utilization", 1, 0));
    const char *told = strstr(g_rows.remarks, "Card 0 was lost (NVML error 15)");
    TEST_ASSERT_NOT_NULL(told);
    TEST_ASSERT_NULL(strstr(told + 1, "Card 0"));
    g_devices[1].lost = CO_NVML_RESET_REQUIRED;
    TEST_ASSERT_FALSE(sample(s, 4));
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last("gpu_utilization", 1, 0));
    co_nvml_close(s);
}

static void test_processes(void)
{
    g_devices[0].share = 33;
    co_nvml_state *s = co_nvml_open(&g_api, &g_env);
    sample(s, 1);
    TEST_ASSERT_EQUAL(33, last("process_utilization", 0, 1));
    TEST_ASSERT_EQUAL_INT64(NO_SUCH, last("process_utilization", 1, 1));
    TEST_ASSERT_EQUAL(77, last("process_memory", 0, 1));
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last("process_memory", 1, 1)); // not available
    g_devices[0].share = 0;
    g_now_us += 100000;
    sample(s, 2);
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last("process_utilization", 0, 1));
    co_nvml_close(s);
}

static void test_old_libraries_lack_functions(void)
{
    g_api.energy = NULL;
    g_api.processes = NULL;
    g_api.process_utilization = NULL;
    g_api.name = NULL;
    g_count = 1;
    co_nvml_state *s = co_nvml_open(&g_api, &g_env);
    TEST_ASSERT_TRUE(sample(s, 1));
    co_nvml_close(s);
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, rows_last(&g_rows, "energy", 0, 0, "GPU 0"));
    TEST_ASSERT_EQUAL(150500, rows_last(&g_rows, "power", 0, 0, "GPU 0"));
}

static void test_no_driver_and_no_device(void)
{
    g_init_status = 9; // NVML_ERROR_DRIVER_NOT_LOADED
    TEST_ASSERT_NULL(co_nvml_open(&g_api, &g_env));
    g_init_status = 0;
    g_count = 0;
    TEST_ASSERT_NULL(co_nvml_open(&g_api, &g_env));
    rows_read(&g_rows, &g_readings);
    TEST_ASSERT_NOT_NULL(strstr(g_rows.remarks, "NVML error 9"));
    TEST_ASSERT_NOT_NULL(strstr(g_rows.remarks, "no device"));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_values_of_all_devices);
    RUN_TEST(test_not_supported_is_not_known_and_not_asked_again);
    RUN_TEST(test_a_timeout_is_a_gap);
    RUN_TEST(test_a_lost_device_ends_and_the_last_one_ends_the_source);
    RUN_TEST(test_processes);
    RUN_TEST(test_old_libraries_lack_functions);
    RUN_TEST(test_no_driver_and_no_device);
    return UNITY_END();
}
