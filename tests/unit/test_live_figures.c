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
    da_view_metrics(&j, g_live, 1, &(da_look){.window_s = window_s, .hz = 10});
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

static void sample(int64_t counter, int64_t time_ns, int64_t value)
{
    const int64_t row[TM_sample_COUNT] = {[TM_sample_counter] = counter,
                                          [TM_sample_time] = time_ns,
                                          [TM_sample_known] = 1,
                                          [TM_sample_value] = value};
    da_live_row(g_live, TM_KIND_sample, row);
}

static void ask_history(void)
{
    cm_json j;
    cm_out_clear(&g_out);
    cm_json_init(&j, &g_out);
    const da_span span = {.has_from = true, .has_step = true, .step_s = 0.1};
    TEST_ASSERT_EQUAL(CM_OK, da_view_history(&j, g_live, 1, &span));
}

// A tenth of a processor, told every five seconds.
static void test_rates_of_a_source_that_is_asked_rarely(void)
{
    const int64_t source = text("process");
    const int64_t sampling[TM_sampling_COUNT] = {
        [TM_sampling_source] = source, [TM_sampling_interval_us] = 5000000};
    const int64_t counter[TM_counter_COUNT] = {[TM_counter_counter] = 1,
                                               [TM_counter_source] = source,
                                               [TM_counter_name] = text("cpu_user"),
                                               [TM_counter_unit] = text("s"),
                                               [TM_counter_per_unit] = 10,
                                               [TM_counter_total] = 1,
                                               [TM_counter_about] = DA_PROCESS,
                                               [TM_counter_process] = 1};
    da_live_row(g_live, TM_KIND_sampling, sampling);
    da_live_row(g_live, TM_KIND_counter, counter);
    for (int64_t step = 0; step <= 300; step++) {
        if (step % 50 == 0)
            sample(1, step * 100000000, step / 10);
        da_live_time(g_live, step * 100000000);
        double percent = da_cpu_percent(g_live, DA_PROCESS, 1, -1);
        TEST_ASSERT_TRUE(step < 50 ? !da_known(percent) : fabs(percent - 10) < 0.5);
    }
    da_live_time(g_live, 32000000000);
    ask_history();
    const char *at = find("\"cpu_percent\"", "values") + 1;
    for (int64_t step = 0; step <= 320; step++) {
        bool known = strncmp(at, "null", 4) != 0;
        TEST_ASSERT_EQUAL(step >= 1 && step <= 300, known); // what is yet to be told is not 0
        TEST_ASSERT_TRUE(!known || fabs(strtod(at, NULL) - 10) < 0.01);
        at += strcspn(at, ",]") + 2;
    }
    da_live_time(g_live, 60000000000); // it does nothing any more
    ASSERT_NEAR(0.0, da_cpu_percent(g_live, DA_PROCESS, 1, -1));
}

static void test_arenas_go_with_their_session(void)
{
    const int64_t memory[TM_memory_COUNT] = {[TM_memory_allocator] = 1,
                                             [TM_memory_session] = 1,
                                             [TM_memory_held_bytes] = 3000000,
                                             [TM_memory_in_use_bytes] = 2000000,
                                             [TM_memory_peak_bytes] = 2500000};
    const int64_t end[TM_session_end_COUNT] = {
        [TM_session_end_session] = 1, [TM_session_end_time] = 3000000};
    da_live_row(g_live, TM_KIND_memory, memory);
    add_run(1, 0, 1000000, 0);
    view(5);
    ASSERT_NEAR(3000000.0, number("\"memory\"", "held_bytes"));
    da_live_row(g_live, TM_KIND_session_end, end);
    add_run(2, 1000000, 1000000, 0); // in a file it may stand behind the end
    view(5);
    TEST_ASSERT_TRUE(!da_known(number("\"memory\"", "held_bytes")));
    TEST_ASSERT_TRUE(!da_known(number("\"memory\"", "in_use_bytes")));
    ASSERT_NEAR(2500000.0, number("\"memory\"", "peak_bytes"));
    ask_history();
    ASSERT_NEAR(3000000.0, strtod(find("\"sessions\"", "held_bytes") + 1, NULL));
}

// A state of arena 1; session 0: several use it.
static void add_arena(int64_t session, int64_t time, int64_t held)
{
    const int64_t row[TM_memory_COUNT] = {[TM_memory_allocator] = 1,
                                          [TM_memory_session] = session,
                                          [TM_memory_time] = time,
                                          [TM_memory_held_bytes] = held,
                                          [TM_memory_in_use_bytes] = held / 2,
                                          [TM_memory_peak_bytes] = held / 2};
    da_live_row(g_live, TM_KIND_memory, row);
}

static void test_shared_arena_is_no_sessions_own(void)
{
    add_arena(1, 500000, 100);
    add_run(1, 0, 1000000, 0);
    view(5);
    ASSERT_NEAR(100.0, number("\"memory\"", "held_bytes"));
    TEST_ASSERT_EQUAL_STRING_LEN("false", find("\"memory\"", "shared"), 5);
    add_arena(0, 1500000, 900);
    add_arena(1, 1400000, 100); // told late, by another thread
    add_run(2, 300000000, 1000000, 0);
    view(5);
    TEST_ASSERT_TRUE(!da_known(number("\"memory\"", "held_bytes")));
    TEST_ASSERT_TRUE(!da_known(number("\"memory\"", "in_use_bytes")));
    TEST_ASSERT_TRUE(!da_known(number("\"memory\"", "peak_bytes")));
    TEST_ASSERT_EQUAL_STRING_LEN("true", find("\"memory\"", "shared"), 4);
    ask_history();
    const char *held = find("\"sessions\"", "held_bytes") + 1;
    ASSERT_NEAR(100.0, strtod(held, NULL)); // as it was
    TEST_ASSERT_EQUAL_STRING_LEN("null", strchr(held, ']') - 4, 4);
}

static void test_shared_arena_alone_is_why_none_is_shown(void)
{
    cm_json j;
    add_arena(0, 500000, 900);
    cm_json_init(&j, &g_out);
    da_view_system(&j, g_live, 1);
    TEST_ASSERT_NOT_NULL(strstr(cm_out_string(&g_out), "Several sessions share an arena"));
}

static void test_session_that_ended_before_keeps_its_arena(void)
{
    const int64_t end[TM_session_end_COUNT] = {
        [TM_session_end_session] = 1, [TM_session_end_time] = 3000000};
    add_arena(1, 500000, 100);
    da_live_row(g_live, TM_KIND_session_end, end);
    add_arena(0, 4000000, 900);
    view(5);
    ASSERT_NEAR(50.0, number("\"memory\"", "peak_bytes"));
    TEST_ASSERT_EQUAL_STRING_LEN("false", find("\"memory\"", "shared"), 5);
}

static void test_bins_of_a_window_end_with_its_slowest_run(void)
{
    cm_json j;
    add_run(1, 0, 5000000000, 0);
    for (int64_t i = 0; i < 200; i++)
        add_run(i + 2, 10000000000 + i * 10000000, i == 7 ? 9000000 : 1000000 + i, 0);
    cm_json_init(&j, &g_out);
    const da_span span = {.has_window = true, .window_s = 3, .bins = 4};
    TEST_ASSERT_EQUAL(CM_OK, da_view_distribution(&j, g_live, 1, &span));
    const char *last = find("{", "to_us");
    for (int i = 0; i < 3; i++)
        last = strchr(last, ',') + 1;
    ASSERT_NEAR(9000.0, strtod(last, NULL));
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

static void test_top_leaves_out_sessions_that_were_never_made(void)
{
    const da_top_choice choice = {.window_s = 5};
    const int64_t failed[TM_session_COUNT] = {[TM_session_session] = 7, [TM_session_status] = 3};
    da_live_row(g_live, TM_KIND_session, failed);
    add_run(1, 0, 1000000, 0);
    da_top_take(g_live, &choice, &g_top);
    TEST_ASSERT_EQUAL(1, g_top.session_count);
    TEST_ASSERT_EQUAL(1, g_top.sessions[0].id);
}

static void end_process(int64_t id)
{
    const int64_t end[TM_process_end_COUNT] = {[TM_process_end_process] = id,
                                               [TM_process_end_time] = id * 1000,
                                               [TM_process_end_reason] = 0};
    da_live_row(g_live, TM_KIND_process_end, end);
}

static void add_process(int64_t id)
{
    const int64_t row[TM_process_COUNT] = {[TM_process_process] = id, [TM_process_pid] = id * 100};
    da_live_row(g_live, TM_KIND_process, row);
}

static void test_top_tells_running_processes_first(void)
{
    const da_top_choice choice = {.window_s = 5};
    for (int64_t id = 1; id <= 10; id++)
        add_process(id);
    for (int64_t id = 1; id <= 9; id++)
        end_process(id);
    da_top_take(g_live, &choice, &g_top);
    TEST_ASSERT_EQUAL(DA_TOP_PROCESSES, g_top.process_count);
    TEST_ASSERT_EQUAL(2, g_top.more_processes);
    TEST_ASSERT_EQUAL_STRING("running", g_top.processes[0].state);
    for (size_t i = 0; i < DA_TOP_PROCESSES; i++)
        TEST_ASSERT_EQUAL(1000 - (int64_t)i * 100, g_top.processes[i].pid);
    add_process(11);
    add_process(12);
    end_process(12);
    da_top_take(g_live, &choice, &g_top);
    TEST_ASSERT_EQUAL(1100, g_top.processes[0].pid); // the newest of those that run
    TEST_ASSERT_EQUAL(1000, g_top.processes[1].pid);
    TEST_ASSERT_EQUAL(1200, g_top.processes[2].pid);
    TEST_ASSERT_EQUAL(4, g_top.more_processes);
}

static void test_top_tells_running_sessions_first(void)
{
    static const int64_t order[] = {40, 3, 39, 38}; // 40 and 3 run
    const da_top_choice choice = {.window_s = 5};
    for (int64_t id = 1; id <= 40; id++) {
        const int64_t session[TM_session_COUNT] = {[TM_session_session] = id};
        const int64_t end[TM_session_end_COUNT] = {
            [TM_session_end_session] = id, [TM_session_end_time] = id * 1000};
        da_live_row(g_live, TM_KIND_session, session);
        if (id != 3 && id != 40)
            da_live_row(g_live, TM_KIND_session_end, end);
    }
    da_top_take(g_live, &choice, &g_top);
    TEST_ASSERT_EQUAL(40, g_top.session_count);
    for (size_t i = 0; i < 4; i++)
        TEST_ASSERT_EQUAL(order[i], g_top.sessions[i].id);
    TEST_ASSERT_EQUAL(1, g_top.sessions[39].id);
}

static int64_t in_flight_at(int64_t now_ns)
{
    const da_top_choice choice = {.window_s = 5};
    da_live_time(g_live, now_ns);
    da_top_take(g_live, &choice, &g_top);
    return g_top.sessions[0].in_flight;
}

static void test_top_has_nothing_in_flight_when_nothing_runs(void)
{
    const int64_t second = 1000000000;
    add_run(1, 0, second / 10, 0);
    TEST_ASSERT_EQUAL(1, in_flight_at(second));
    TEST_ASSERT_EQUAL(0, in_flight_at(second * 12 / 10)); // a second after its end
    add_run(2, second * 2, second * 4, 0);
    TEST_ASSERT_EQUAL(1, in_flight_at(second * 13)); // the next one may take as long
    TEST_ASSERT_EQUAL(0, in_flight_at(second * 15));
    add_run(3, second * 20, second, 0);
    TEST_ASSERT_EQUAL(1, in_flight_at(second * 21));
    da_live_state(g_live, DA_ENDED, 1);
    TEST_ASSERT_EQUAL(0, in_flight_at(second * 21));
}

static void add_kernel(int64_t id, const char *provider, int64_t submits)
{
    const int64_t kernel[TM_kernel_COUNT] = {[TM_kernel_kernel] = id,
                                             [TM_kernel_session] = 1,
                                             [TM_kernel_provider] = text(provider),
                                             [TM_kernel_submits] = submits};
    const int64_t op[TM_op_COUNT] = {
        [TM_op_kernel] = id, [TM_op_session] = 1, [TM_op_run] = 1, [TM_op_duration] = 1000};
    da_live_row(g_live, TM_KIND_kernel, kernel);
    da_live_row(g_live, TM_KIND_op, op);
}

static void test_top_says_how_many_it_leaves_out_and_whose_times_are_of_submissions(void)
{
    add_run(1, 0, 1000000, 0);
    for (int64_t i = 1; i <= (int64_t)DA_TOP_OPS; i++)
        add_kernel(i, "CPUExecutionProvider", 0);
    da_top_take(g_live, &(da_top_choice){.window_s = 5, .by_node = true}, &g_top);
    TEST_ASSERT_TRUE(g_top.op_count == DA_TOP_OPS && g_top.more_ops == 0 && !g_top.ops[0].submits);
    for (int64_t i = 1; i <= 7; i++)
        add_kernel((int64_t)DA_TOP_OPS + i, "CUDAExecutionProvider", 1);
    add_kernel((int64_t)DA_TOP_OPS + 1, "CUDAExecutionProvider", 1); // the longest now
    da_top_take(g_live, &(da_top_choice){.window_s = 5, .by_node = true}, &g_top);
    TEST_ASSERT_EQUAL(DA_TOP_OPS, g_top.op_count);
    TEST_ASSERT_EQUAL(7, g_top.more_ops);
    TEST_ASSERT_TRUE(g_top.ops[0].submits && !g_top.ops[1].submits);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_throughput_is_of_runs_that_did_not_fail);
    RUN_TEST(test_energy_of_an_inference_is_power_by_throughput);
    RUN_TEST(test_energy_is_unknown_without_runs_that_ended_well);
    RUN_TEST(test_devices_are_told_by_one_source_each);
    RUN_TEST(test_rates_of_a_source_that_is_asked_rarely);
    RUN_TEST(test_arenas_go_with_their_session);
    RUN_TEST(test_shared_arena_is_no_sessions_own);
    RUN_TEST(test_shared_arena_alone_is_why_none_is_shown);
    RUN_TEST(test_session_that_ended_before_keeps_its_arena);
    RUN_TEST(test_bins_of_a_window_end_with_its_slowest_run);
    RUN_TEST(test_top_knows_no_latency_where_all_failed);
    RUN_TEST(test_top_leaves_out_sessions_that_were_never_made);
    RUN_TEST(test_top_tells_running_processes_first);
    RUN_TEST(test_top_tells_running_sessions_first);
    RUN_TEST(test_top_has_nothing_in_flight_when_nothing_runs);
    RUN_TEST(test_top_says_how_many_it_leaves_out_and_whose_times_are_of_submissions);
    return UNITY_END();
}
