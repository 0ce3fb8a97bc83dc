// SPDX-License-Identifier: MIT
// Captures that come and go while clients look at them, and answers that are given up.
#include "common/os.h"
#include "handle.h"
#include "timeline_data.h"

#include "unity.h"

#include <string.h>

static da_core g_core;
static da_live *g_lives[DA_CAPTURES + 1];
static unsigned g_said;

static void say(void *context, const char *sentence)
{
    (void)context;
    g_said += strstr(sentence, "not logged") != NULL;
}

void setUp(void)
{
    const da_about about = {.file = NULL};
    g_said = 0;
    da_core_init(&g_core, &(da_host){.say = say}, 10);
    for (size_t i = 0; i <= DA_CAPTURES; i++)
        TEST_ASSERT_EQUAL(CM_OK, da_live_create(&about, &g_lives[i]));
}

void tearDown(void)
{
    da_core_deinit(&g_core);
    for (size_t i = 0; i <= DA_CAPTURES; i++)
        da_live_destroy(g_lives[i]);
    cm_file_remove("test_live_core.ortl");
}

static uint32_t add(size_t which)
{
    return da_core_add(&g_core, &(da_capture){.live = g_lives[which]});
}

static void test_a_capture_goes_when_nobody_looks(void)
{
    uint32_t number;
    for (uint32_t i = 0; i < DA_CAPTURES; i++)
        TEST_ASSERT_EQUAL_UINT32(i + 1, add(i));
    TEST_ASSERT_EQUAL_UINT32(0, add(DA_CAPTURES)); // no room
    TEST_ASSERT_EQUAL_PTR(g_lives[2], da_core_capture(&g_core, 3, &number).live);
    TEST_ASSERT_FALSE(da_core_remove(&g_core, 3));
    da_core_release(&g_core, 3);
    TEST_ASSERT_TRUE(da_core_remove(&g_core, 3));
    TEST_ASSERT_NULL(da_core_capture(&g_core, 3, &number).live);
    TEST_ASSERT_EQUAL_UINT32(DA_CAPTURES + 1, add(DA_CAPTURES)); // numbers are not used again
    TEST_ASSERT_EQUAL_PTR(g_lives[DA_CAPTURES], da_core_capture(&g_core, 0, &number).live);
    TEST_ASSERT_EQUAL_UINT32(DA_CAPTURES + 1, number);
}

static void test_a_loop_over_all_holds_one_at_a_time(void)
{
    uint32_t number = 0, seen = 0, other;
    uint64_t version = da_core_version(&g_core);
    add(0), add(1), add(2);
    TEST_ASSERT_TRUE(da_core_version(&g_core) != version);
    TEST_ASSERT_TRUE(da_core_remove(&g_core, 1));
    add(3); // in the place of the first
    for (da_capture c; (c = da_core_next(&g_core, &number)).live; seen++) {
        TEST_ASSERT_EQUAL_UINT32(seen + 2, number); // by number, wherever they are
        TEST_ASSERT_EQUAL_PTR(g_lives[seen + 1], c.live);
        TEST_ASSERT_FALSE(da_core_remove(&g_core, number));
    }
    TEST_ASSERT_EQUAL_UINT32(3, seen);
    for (uint32_t i = 2; i <= 4; i++)
        TEST_ASSERT_TRUE(da_core_remove(&g_core, i));
    TEST_ASSERT_NULL(da_core_capture(&g_core, 0, &other).live);
}

static void ask(const char *method, const char *path, const char *body, int status)
{
    da_reply reply;
    const da_request r = {.method = method,
                          .path = path,
                          .host = "127.0.0.1:9797",
                          .authorization = "Bearer c",
                          .content_type = "application/json",
                          .body = body,
                          .body_len = body ? strlen(body) : 0};
    strcpy(g_core.access.control, "c");
    strcpy(g_core.access.hosts[0], "127.0.0.1:9797");
    g_core.access.host_count = 1;
    g_core.access.scheme = "http";
    da_reply_init(&reply);
    da_handle(&g_core, &r, &reply);
    TEST_ASSERT_EQUAL_MESSAGE(status, reply.status, path);
    da_reply_deinit(&reply);
}

static void test_answers_let_go_of_their_capture(void)
{
    static const char *const paths[] = {"/api/v1/metrics/current", "/api/v1/sessions",
                                        "/api/v1/metrics/history", "/api/v1/ops",
                                        "/api/v1/system",          "/metrics"};
    add(0);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        ask("GET", paths[i], NULL, 200);
    ask("GET", "/api/v1/timeline", NULL, 404);
    ask("GET", "/api/v1/export", NULL, 400);
    ask("POST", "/api/v1/control", "{\"action\": \"rates\", \"hz\": 20}", 200);
    ask("POST", "/api/v1/control", "{\"action\": \"rates\", \"counters_hz\": 20}", 409);
    ask("POST", "/api/v1/control", "{\"action\": \"rates\"}", 400);
    ask("POST", "/api/v1/control", "{\"action\": \"rates\", \"counters_hz\": 1001}", 400);
    ask("POST", "/api/v1/control", "{\"action\": \"pause\"}", 409);
    TEST_ASSERT_TRUE(g_core.hz == 20);
    TEST_ASSERT_TRUE(da_core_remove(&g_core, 1));
}

// Both run on one machine: 30 W are for 20 runs a second. One that has ended takes none of it.
static void test_energy_of_an_inference_is_shared_by_all_captures(void)
{
    cm_out out;
    cm_out_init_memory(&out);
    for (size_t which = 0; which < 3; which++) {
        da_live *l = g_lives[which];
        const int64_t counter[TM_counter_COUNT] = {
            [TM_counter_counter] = 1, [TM_counter_name] = 1, [TM_counter_per_unit] = 1};
        const int64_t sample[TM_sample_COUNT] = {
            [TM_sample_counter] = 1, [TM_sample_known] = 1, [TM_sample_value] = 30};
        da_live_string(l, 1, "power", 5);
        da_live_row(l, TM_KIND_counter, counter);
        da_live_row(l, TM_KIND_sample, sample);
        for (int64_t i = 0; i < 10; i++) {
            const int64_t run[TM_run_COUNT] = {[TM_run_session] = 1,
                                               [TM_run_run] = i + 1,
                                               [TM_run_begin] = i * 100000000,
                                               [TM_run_duration] = 100000000};
            da_live_row(l, TM_KIND_run, run);
        }
        da_live_time(l, 1000000000);
        add(which);
    }
    da_live_state(g_lives[2], DA_ENDED, 1);
    da_write_metrics(&g_core, &out, &(da_telling){.window_s = 5, .hz = 10});
    const char *at = cm_out_string(&out);
    for (size_t which = 0; which < 2; which++) {
        at = strstr(at, "\"throughput_per_s\": 20");
        TEST_ASSERT_NOT_NULL(at);
        at = strstr(at, "\"energy_per_inference_j\": 1.5");
        TEST_ASSERT_NOT_NULL(at);
    }
    TEST_ASSERT_NOT_NULL(strstr(at, "\"energy_per_inference_j\": 1}")); // beside the others
    cm_out_deinit(&out);
}

#ifndef _WIN32
static void test_a_log_that_fails_is_told_once(void)
{
    TEST_ASSERT_EQUAL(CM_OK, da_audit_open(&g_core, "/dev/full"));
    add(0);
    for (int i = 0; i < 3; i++)
        ask("POST", "/api/v1/control", "{\"action\": \"rates\", \"hz\": 20}", 200);
    TEST_ASSERT_EQUAL(1, g_said);
}
#endif

static void test_a_file_is_not_read_for_nobody(void)
{
    tm_writer *writer;
    tm_reader *reader = NULL;
    da_timeline timeline;
    atomic_bool given_up;
    const da_wanted wanted = {.to_ns = 100, .given_up = &given_up};
    const tm_header header = {.ortscope_version = "1", .os = "", .cpu = ""};
    const int64_t run[TM_run_COUNT] = {[TM_run_session] = 1, [TM_run_run] = 1};
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_create("test_live_core.ortl", &header, &writer));
    tm_writer_row(writer, TM_KIND_run, run);
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_close(writer));
    for (int i = 0; i < 2; i++) {
        atomic_init(&given_up, i == 1);
        da_timeline_init(&timeline, "file");
        cm_status status =
            da_timeline_from_file(&timeline, "test_live_core.ortl", &wanted, &reader);
        TEST_ASSERT_EQUAL(i == 1 ? CM_FAILED : CM_OK, status);
        TEST_ASSERT_EQUAL(i == 1 ? 0 : 1, da_timeline_run_count(&timeline));
        da_timeline_deinit(&timeline);
        tm_reader_close(reader);
        reader = NULL;
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_capture_goes_when_nobody_looks);
    RUN_TEST(test_a_loop_over_all_holds_one_at_a_time);
    RUN_TEST(test_answers_let_go_of_their_capture);
    RUN_TEST(test_energy_of_an_inference_is_shared_by_all_captures);
#ifndef _WIN32
    RUN_TEST(test_a_log_that_fails_is_told_once);
#endif
    RUN_TEST(test_a_file_is_not_read_for_nobody);
    return UNITY_END();
}
