// SPDX-License-Identifier: MIT
// Pushing figures: addresses, headers, answers, and the points of metrics from hostile rows.
#include "http_answer.h"
#include "http_url.h"
#include "metric_list.h"
#include "otlp_json.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static da_live *g_live;
static da_core g_core;

void setUp(void)
{
    const da_about about = {.file = "x.ortl"};
    TEST_ASSERT_EQUAL(CM_OK, da_live_create(&about, &g_live));
    da_core_init(&g_core, &(da_host){0}, 10);
    da_core_add(&g_core, &(da_capture){.live = g_live});
}

void tearDown(void)
{
    da_core_deinit(&g_core);
    da_live_destroy(g_live);
}

// --------------------------------------------------------------------------------------- addresses

static void test_addresses(void)
{
    static const struct {
        const char *text, *host, *path, *shown;
        unsigned port;
    } good[] = {
        {"http://127.0.0.1:4318", "127.0.0.1", "/v1/metrics", "http://127.0.0.1:4318/v1/metrics",
         4318},
        {"HTTP://collector/", "collector", "/v1/metrics", "http://collector:80/v1/metrics", 80},
        {"http://a_b.example:1/x/y?z=1", "a_b.example", "/x/y?z=1", "http://a_b.example:1/x/y", 1},
        {"http://h?key=secret", "h", "/v1/metrics?key=secret", "http://h:80/v1/metrics", 80},
        {"http://h/?k", "h", "/v1/metrics?k", "http://h:80/v1/metrics", 80},
        {"http://[::1]:65535/m", "::1", "/m", "http://[::1]:65535/m", 65535},
    };
    static const char *const bad[] = {"",
                                      "127.0.0.1:4318",
                                      "http://",
                                      "http:///x",
                                      "http://:80",
                                      "http://h:",
                                      "http://h:0",
                                      "http://h:65536",
                                      "http://h:123456",
                                      "http://h:8x",
                                      "http://h/a b",
                                      "http://h/a\r\nX: y",
                                      "http://h/#x",
                                      "http://h#x",
                                      "http://[::1",
                                      "http://[::1]x",
                                      "http://h\xc3\xa4/",
                                      "http://h/\xc3\xa4",
                                      "http://a:b:c",
                                      "ftp://h"};
    da_http_url url;
    char shown[300];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        TEST_ASSERT_EQUAL_MESSAGE(CM_OK, da_http_url_parse(good[i].text, "/v1/metrics", &url),
                                  good[i].text);
        da_http_url_show(&url, shown, sizeof shown);
        TEST_ASSERT_EQUAL_STRING(good[i].host, url.host);
        TEST_ASSERT_EQUAL_STRING(good[i].path, url.path);
        TEST_ASSERT_EQUAL_STRING(good[i].shown, shown);
        TEST_ASSERT_EQUAL(good[i].port, url.port);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        TEST_ASSERT_EQUAL_MESSAGE(CM_USAGE, da_http_url_parse(bad[i], "/v1/metrics", &url), bad[i]);
}

static void test_long_addresses_are_refused(void)
{
    da_http_url url;
    char text[3000] = "http://";
    memset(text + 7, 'h', 2000);
    TEST_ASSERT_EQUAL(CM_USAGE, da_http_url_parse(text, "/", &url));
    memcpy(text, "http://h/", 9);
    TEST_ASSERT_EQUAL(CM_USAGE, da_http_url_parse(text, "/", &url));
}

static void test_what_is_refused_is_not_repeated(void)
{
    da_http_url url;
    TEST_ASSERT_EQUAL(CM_USAGE, da_http_url_parse("http://me:secret@h/", "/", &url));
    TEST_ASSERT_NULL(strstr(cm_error_text(CM_USAGE), "secret"));
    TEST_ASSERT_NOT_NULL(strstr(cm_error_text(CM_USAGE), "--otlp-header"));
    TEST_ASSERT_EQUAL(CM_USAGE, da_http_url_parse("https://h:4318", "/", &url));
    TEST_ASSERT_NOT_NULL(strstr(cm_error_text(CM_USAGE), "collector"));
    TEST_ASSERT_EQUAL(CM_USAGE, da_http_header_check("X-Key=secret\r\nX: y"));
    TEST_ASSERT_NULL(strstr(cm_error_text(CM_USAGE), "secret"));
}

static void test_headers(void)
{
    TEST_ASSERT_EQUAL(CM_OK, da_http_header_check("Authorization=Bearer a=b"));
    TEST_ASSERT_EQUAL(CM_OK, da_http_header_check("X-Scope-OrgID="));
    static const char *const bad[] = {"",           "=x",
                                      "x",          "a b=c",
                                      "a:b=c",      "Host=x",
                                      "HOST=x",     "a\n=c",
                                      "a=b\nc",     "a=b\rc",
                                      "a=\x80",     "Expect=x",
                                      "upgrade=x",  "connection=close",
                                      "\xc3\xa4=x", "Content-Length=3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        TEST_ASSERT_EQUAL_MESSAGE(CM_USAGE, da_http_header_check(bad[i]), bad[i]);
}

// ----------------------------------------------------------------------------------------- answers

static da_http_state parse(const char *text, bool closed, da_http_answer *out)
{
    static char bytes[4096];
    size_t len = strlen(text);
    memcpy(bytes, text, len);
    return da_http_parse(bytes, len, closed, out);
}

static void test_answers(void)
{
    da_http_answer a;
    TEST_ASSERT_EQUAL(DA_HTTP_MORE, parse("", false, &a));
    TEST_ASSERT_EQUAL(DA_HTTP_BROKEN, parse("", true, &a));
    TEST_ASSERT_EQUAL(DA_HTTP_MORE, parse("HTTP/1.1 200 OK\r\nContent-Le", false, &a));
    TEST_ASSERT_EQUAL(DA_HTTP_DONE,
                      parse("HTTP/1.1 429\nRetry-After: 30 \nContent-Length: 2\n\n{}x", false, &a));
    TEST_ASSERT_EQUAL(429, a.status);
    TEST_ASSERT_EQUAL_INT64(30, a.retry_after_s);
    TEST_ASSERT_EQUAL(2, a.body_len);
    TEST_ASSERT_EQUAL(DA_HTTP_MORE,
                      parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", false, &a));
    TEST_ASSERT_EQUAL(DA_HTTP_DONE,
                      parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", true, &a));
    TEST_ASSERT_EQUAL(2, a.body_len); // as far as it came
    TEST_ASSERT_EQUAL(DA_HTTP_DONE,
                      parse("HTTP/1.1 100 Go on\r\n\r\nHTTP/1.0 503 no\r\nRetry-After: "
                            "Wed, 21 Oct 2026 07:28:00 GMT\r\n\r\n",
                            true, &a));
    TEST_ASSERT_EQUAL(503, a.status);
    TEST_ASSERT_EQUAL_INT64(-1, a.retry_after_s);
    static const char *const broken[] = {"SSH-2.0-x\r\n\r\n", "HTTP/2 200\r\n\r\n",
                                         "HTTP/1.1 20\r\n\r\n", "HTTP/1.1 2000 x\r\n\r\n",
                                         "HTTP/1.1 099 x\r\n\r\n"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        TEST_ASSERT_EQUAL_MESSAGE(DA_HTTP_BROKEN, parse(broken[i], false, &a), broken[i]);
}

static void test_chunks_are_joined(void)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: "
                               "application/json; charset=utf-8\r\n\r\n"
                               "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n";
    da_http_answer a;
    for (size_t len = 1; len < sizeof text - 3; len++) { // the last line is not waited for
        char part[sizeof text];
        memcpy(part, text, len);
        TEST_ASSERT_EQUAL(DA_HTTP_MORE, da_http_parse(part, len, false, &a));
    }
    TEST_ASSERT_EQUAL(DA_HTTP_DONE, parse(text, false, &a));
    TEST_ASSERT_EQUAL_STRING_LEN("abc0123456789", a.body, 13);
    TEST_ASSERT_EQUAL(13, a.body_len);
    TEST_ASSERT_TRUE(a.is_json);
    TEST_ASSERT_EQUAL(DA_HTTP_DONE, parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                          "2\r\nab\r\nfffffffff\r\n",
                                          false, &a));
    TEST_ASSERT_EQUAL(2, a.body_len);
}

static da_otlp_answer told_by(const char *json)
{
    da_otlp_answer told;
    da_otlp_answer_parse(json, strlen(json), &told);
    return told;
}

static void test_what_a_receiver_says(void)
{
    da_otlp_answer told =
        told_by("{\"x\": [{\"y\": [[], {}, 1, \"}\"]}], \"partialSuccess\": "
                "{\"rejectedDataPoints\": \"12\", \"errorMessage\": \"a\\n\\u00e4\"}}");
    TEST_ASSERT_EQUAL_UINT64(12, told.rejected_points);
    TEST_ASSERT_EQUAL_STRING("a\n\xc3\xa4", told.message);
    TEST_ASSERT_EQUAL_UINT64(
        3, told_by("{\"partialSuccess\":{\"rejectedDataPoints\":3}}").rejected_points);
    TEST_ASSERT_EQUAL_STRING(
        "why", told_by("{\"code\": 3, \"message\": \"why\", \"details\": []}").message);
    static const char *const nothing[] = {"",
                                          "null",
                                          "{}",
                                          "[]",
                                          "{\"partialSuccess\": null}",
                                          "{\"partialSuccess\": {\"rejectedDataPoints\": \"x\"}}",
                                          "{\"partialSuccess\": {\"rejectedDataPoints\": -4}}",
                                          "{\"partialSuccess\": {\"rejectedDataPoints\": 4}",
                                          "{\"message\": \"x",
                                          "{\"message\": \"\xff\"}",
                                          "{\"a\" 1}",
                                          "{\"a\": [1,]}"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        told = told_by(nothing[i]);
        TEST_ASSERT_EQUAL_UINT64_MESSAGE(0, told.rejected_points, nothing[i]);
        TEST_ASSERT_EQUAL_STRING_MESSAGE("", told.message, nothing[i]);
    }
    char deep[400] = "{\"a\":";
    memset(deep + 5, '[', 300);
    TEST_ASSERT_EQUAL_STRING("", told_by(deep).message);
    char longer[600] = "{\"message\": \"";
    memset(longer + 13, 'm', 500);
    strcpy(longer + 513, "\"}");
    TEST_ASSERT_EQUAL(sizeof told.message - 1, strlen(told_by(longer).message)); // cut
}

// ---------------------------------------------------------------------------------------- figures

static void add_run(int64_t run, int64_t duration)
{
    const int64_t row[TM_run_COUNT] = {[TM_run_session] = 1,
                                       [TM_run_run] = run,
                                       [TM_run_begin] = run * 1000000,
                                       [TM_run_duration] = duration};
    da_live_row(g_live, TM_KIND_run, row);
}

static char *prometheus_text(void)
{
    cm_out out;
    cm_out_init_memory(&out);
    da_write_prometheus(&g_core, &out);
    char *text = strdup(cm_out_string(&out));
    cm_out_deinit(&out);
    return text;
}

// A collector takes a count that falls for a restart.
static void test_buckets_never_fall(void)
{
    uint64_t before[DA_DURATION_BOUNDS + 1] = {0};
    for (int64_t i = 1; i <= 400; i++) {
        add_run(i, 1000000 - 700 + i % 1400); // close to a bound, where the other histogram rounds
        const da_session *s = g_live->sessions[0];
        uint64_t sum = 0;
        for (size_t k = 0; k <= DA_DURATION_BOUNDS; k++) {
            TEST_ASSERT_TRUE(s->duration_buckets[k] >= before[k]);
            before[k] = s->duration_buckets[k];
            sum += before[k];
        }
        TEST_ASSERT_EQUAL_UINT64((uint64_t)i, sum);
    }
    TEST_ASSERT_EQUAL_UINT64(400, before[6]); // 0.5 ms to 1 ms, the bound among them
    add_run(401, 1000000);
    add_run(402, 1000001);
    TEST_ASSERT_EQUAL_UINT64(401, g_live->sessions[0]->duration_buckets[6]);
    TEST_ASSERT_EQUAL_UINT64(1, g_live->sessions[0]->duration_buckets[7]);
}

static void add_process(int64_t id, int64_t text)
{
    const int64_t row[TM_process_COUNT] = {
        [TM_process_process] = id, [TM_process_pid] = 7, [TM_process_program] = text};
    const int64_t counter[TM_counter_COUNT] = {
        [TM_counter_counter] = id, [TM_counter_name] = 1,     [TM_counter_per_unit] = 1,
        [TM_counter_about] = 1,    [TM_counter_process] = id, [TM_counter_number] = -1};
    const int64_t sample[TM_sample_COUNT] = {
        [TM_sample_counter] = id, [TM_sample_value] = 5, [TM_sample_known] = 1};
    da_live_row(g_live, TM_KIND_process, row);
    da_live_row(g_live, TM_KIND_counter, counter);
    da_live_row(g_live, TM_KIND_sample, sample);
}

static size_t times_in(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        count++;
    return count;
}

// Two series of the same name make a collector refuse everything.
static void test_no_series_comes_twice(void)
{
    da_live_string(g_live, 1, "working_set", 11);
    da_live_string(g_live, 2, "a\xff", 2);
    da_live_string(g_live, 3, "a\xfe", 2); // the same once it is UTF-8
    da_live_string(g_live, 4, "q\"\n", 3);
    add_process(1, 2);
    add_process(2, 3);
    add_process(3, 4);
    char *text = prometheus_text();
    TEST_ASSERT_EQUAL(2, times_in(text, "ortscope_process_working_set_bytes{"));
    TEST_ASSERT_EQUAL(1, times_in(text, "pid=\"7\",program=\"a\xef\xbf\xbd\"} 5\n"));
    TEST_ASSERT_EQUAL(1, times_in(text, "program=\"q\\\"\\n\"} 5\n"));
    free(text);
}

static void test_long_names_are_cut_between_characters(void)
{
    char name[600];
    for (size_t i = 0; i < sizeof name; i += 2)
        memcpy(name + i, "\xc3\xa4", 2);
    da_live_string(g_live, 1, "working_set", 11);
    da_live_string(g_live, 2, name, sizeof name);
    add_process(1, 2);
    char *text = prometheus_text();
    TEST_ASSERT_EQUAL(127, times_in(text, "\xc3\xa4"));
    TEST_ASSERT_EQUAL(0, times_in(text, "\xef\xbf\xbd"));
    free(text);
}

static void test_names_follow_from_units(void)
{
    char name[80];
    da_metric_prometheus_name(&(da_metric){"process_cpu", "s", DA_METRIC_COUNTER, 6, ""}, name,
                              sizeof name);
    TEST_ASSERT_EQUAL_STRING("ortscope_process_cpu_seconds_total", name);
    da_metric_prometheus_name(&(da_metric){"runs_in_flight", "{run}", DA_METRIC_GAUGE, 0, ""}, name,
                              sizeof name);
    TEST_ASSERT_EQUAL_STRING("ortscope_runs_in_flight", name);
    da_metric_prometheus_name(&(da_metric){"gpu_utilization", "1", DA_METRIC_GAUGE, 4, ""}, name,
                              sizeof name);
    TEST_ASSERT_EQUAL_STRING("ortscope_gpu_utilization_ratio", name);
}

static void test_otlp_has_texts_for_large_numbers(void)
{
    const da_otlp_resource resource = {.host = "h\"1", .os = "linux", .pid = 42};
    cm_out out;
    add_run(1, 20000);
    cm_out_init_memory(&out);
    da_write_otlp(&g_core, &resource, &out);
    const char *text = cm_out_string(&out);
    TEST_ASSERT_EQUAL(
        1, times_in(text, "{\"key\": \"host.name\", \"value\": {\"stringValue\": \"h\\\"1\"}}"));
    TEST_ASSERT_EQUAL(
        1, times_in(text, "{\"key\": \"process.pid\", \"value\": {\"intValue\": \"42\"}}"));
    TEST_ASSERT_EQUAL(1, times_in(text, "\"name\": \"ortscope.runs\", "));
    TEST_ASSERT_EQUAL(1, times_in(text, "\"bucketCounts\": [\"0\", \"1\", \"0\", "));
    TEST_ASSERT_EQUAL(1, times_in(text, "\"explicitBounds\": [0.00001, 0.00002, 0.00005, "));
    TEST_ASSERT_EQUAL(1, times_in(text, "\"count\": \"1\", \"sum\": 0.00002, "));
    cm_out_deinit(&out);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_addresses);
    RUN_TEST(test_long_addresses_are_refused);
    RUN_TEST(test_what_is_refused_is_not_repeated);
    RUN_TEST(test_headers);
    RUN_TEST(test_answers);
    RUN_TEST(test_chunks_are_joined);
    RUN_TEST(test_what_a_receiver_says);
    RUN_TEST(test_buckets_never_fall);
    RUN_TEST(test_no_series_comes_twice);
    RUN_TEST(test_long_names_are_cut_between_characters);
    RUN_TEST(test_names_follow_from_units);
    RUN_TEST(test_otlp_has_texts_for_large_numbers);
    return UNITY_END();
}
