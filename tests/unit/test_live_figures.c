// SPDX-License-Identifier: MIT
// Figures that must agree with those of a summary: throughput, energy, devices, failed runs.
#include "common/json.h"
#include "dashboard/top.h"
#include "live_state.h"
#include "view_keys.h"

#include "unity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static da_live *g_live;
static cm_out g_out;
static da_top g_top;

void setUp(void)
{
    const da_about about = {.file = "x.ortl"};
    TEST_ASSERT_EQUAL(CM_OK, da_live_create(&about, &g_live));
    cm_out_init_memory(&g_out);
}

void tearDown(void)
{
    cm_out_deinit(&g_out);
    da_live_destroy(g_live);
}

static void add_run(int64_t run, int64_t begin, int64_t duration, int64_t status)
{
    const int64_t row[TM_run_COUNT] = {
        [TM_run_session] = 1,         [TM_run_run] = run,       [TM_run_begin] = begin,
        [TM_run_duration] = duration, [TM_run_status] = status, [TM_run_in_flight] = 1};
    da_live_row(g_live, TM_KIND_run, row);
    da_live_time(g_live, begin + duration);
}

static int64_t text(const char *t)
{
    static int64_t last = 0;
    last++;
    da_live_string(g_live, last, t, strlen(t));
    return last;
}

static void add_counter(int64_t id, const char *source, const char *name, int64_t about,
                        int64_t number, int64_t value)
{
    const int64_t row[TM_counter_COUNT] = {
        [TM_counter_counter] = id,      [TM_counter_source] = text(source),
        [TM_counter_name] = text(name), [TM_counter_unit] = text("x"),
        [TM_counter_per_unit] = 1,      [TM_counter_about] = about,
        [TM_counter_number] = number};
    const int64_t sample[TM_sample_COUNT] = {[TM_sample_counter] = id,
                                             [TM_sample_time] = 1,
                                             [TM_sample_known] = 1,
                                             [TM_sample_value] = value};
    da_live_row(g_live, TM_KIND_counter, row);
    da_live_row(g_live, TM_KIND_sample, sample);
}

// The text behind `"key": ` after the first `section`.
static const char *find(const char *section, const char *key)
{
    char wanted[60];
    snprintf(wanted, sizeof wanted, "\"%s\":", key);
    const char *at = strstr(cm_out_string(&g_out), section);
    at = at ? strstr(at, wanted) : NULL;
    TEST_ASSERT_NOT_NULL_MESSAGE(at, key);
    at += strlen(wanted);
    return at + (*at == ' ');
}

static double number(const char *section, const char *key)
{
    const char *at = find(section, key);
    return strncmp(at, "null", 4) == 0 ? (double)NAN : strtod(at, NULL);
}

static void view(double window_s)
{
    cm_json j;
    cm_out_clear(&g_out);
    cm_json_init(&j, &g_out);
    da_view_metrics(&j, g_live, 1, window_s, 10);
}

#define ASSERT_NEAR(expected, actual) TEST_ASSERT_TRUE(fabs((expected) - (actual)) < 1e-6)

static void test_throughput_is_of_runs_that_did_not_fail(void)
{
    for (int64_t i = 0; i < 10; i++) // 10 in a second, 4 of them fail
        add_run(i + 1, i * 100000000, 100000000, i % 5 < 2);
    view(5);
    ASSERT_NEAR(6.0, number("\"window\"", "throughput_per_s"));
    ASSERT_NEAR(6.0, number("\"total\"", "throughput_per_s"));
    cm_json j;
    cm_out_clear(&g_out);
    cm_json_init(&j, &g_out);
    const da_span span = {.has_from = true, .has_step = true, .step_s = 1};
    TEST_ASSERT_EQUAL(CM_OK, da_view_history(&j, g_live, 1, &span));
    ASSERT_NEAR(1.0, number("{", "now_s"));
    double history = strtod(find("\"sessions\"", "throughput_per_s") + 1, NULL);
    // The tenth run ends at the very end of the second, which is the next step's begin.
    ASSERT_NEAR(6.0 - 1.0, history);
}

static void test_energy_of_an_inference_is_power_by_throughput(void)
{
    add_counter(1, "meter", "power", DA_MACHINE, -1, 30);
    for (int64_t i = 0; i < 10; i++)
        add_run(i + 1, i * 100000000, 100000000, 0);
    view(5); // one second into the capture
    ASSERT_NEAR(3.0, number("\"system\"", "energy_per_inference_j"));
    for (int64_t i = 0; i < 3 * (int64_t)DA_RUNS; i++) // more than are kept: 10000 a second
        add_run(i + 100, 1000000000 + i * 100000, 100000, 0);
    view(60);
    TEST_ASSERT_TRUE(fabs(number("\"system\"", "energy_per_inference_j") - 0.003) < 1e-5);
}

static void test_energy_is_unknown_without_runs_that_ended_well(void)
{
    add_counter(1, "meter", "power", DA_MACHINE, -1, 30);
    view(5);
    TEST_ASSERT_TRUE(!da_known(number("\"system\"", "energy_per_inference_j")));
    add_run(1, 0, 1000000, 1);
    view(5);
    TEST_ASSERT_TRUE(!da_known(number("\"system\"", "energy_per_inference_j")));
}

// NVML's device 0 and the adapter that Windows numbers 0 may be two.
static void test_devices_are_told_by_one_source_each(void)
{
    add_counter(1, "pdh", "gpu_utilization", DA_DEVICE, 0, 11);
    add_counter(2, "nvml", "power", DA_DEVICE, 0, 250);
    add_counter(3, "nvml", "temperature", DA_DEVICE, 0, 70);
    add_counter(4, "nvml", "memory_used", DA_DEVICE, 0, 5000);
    add_counter(5, "pdh", "memory_dedicated", DA_DEVICE, 0, 77);
    add_counter(6, "nvml", "gpu_utilization", DA_DEVICE, 0, 93);
    view(5);
    ASSERT_NEAR(11.0, number("\"gpus\"", "utilization_percent"));
    ASSERT_NEAR(77.0, number("\"gpus\"", "memory_bytes"));
    TEST_ASSERT_TRUE(!da_known(number("\"gpus\"", "power_w")));
    TEST_ASSERT_TRUE(!da_known(number("\"gpus\"", "temperature_c")));
    ASSERT_NEAR(5000.0, number("\"utilization_percent\": 93", "memory_bytes"));
    ASSERT_NEAR(250.0, number("\"utilization_percent\": 93", "power_w"));
}

static void test_top_knows_no_latency_where_all_failed(void)
{
    const da_top_choice choice = {.window_s = 5};
    add_run(1, 0, 1000000, 1);
    da_top_take(g_live, &choice, &g_top);
    TEST_ASSERT_TRUE(!da_known(g_top.sessions[0].p50_us) && !da_known(g_top.sessions[0].max_us));
    add_run(2, 2000000, 1000000, 0);
    da_top_take(g_live, &choice, &g_top);
    ASSERT_NEAR(1000.0, g_top.sessions[0].p50_us);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_throughput_is_of_runs_that_did_not_fail);
    RUN_TEST(test_energy_of_an_inference_is_power_by_throughput);
    RUN_TEST(test_energy_is_unknown_without_runs_that_ended_well);
    RUN_TEST(test_devices_are_told_by_one_source_each);
    RUN_TEST(test_top_knows_no_latency_where_all_failed);
    return UNITY_END();
}
