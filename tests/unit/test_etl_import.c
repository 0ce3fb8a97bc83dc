// SPDX-License-Identifier: MIT
// From a recording to a timeline: who is who, runs and sessions by ORT's own events, what the
// kernel tells, and what must not get into the file.

#define PATH "test_etl_import.ortl"
#include "imported_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unity.h>

#define US 10 // ticks of the clock

static etl_maker g_maker;
static bool g_command_lines;

void setUp(void)
{
    etl_begin(&g_maker, &etl_head_usual);
    g_command_lines = false;
}

void tearDown(void)
{
    etl_free(&g_maker);
    cm_file_remove(PATH);
}

static void import(void)
{
    import_recording(&g_maker, g_command_lines, 2);
}

static int64_t process_with_pid(int64_t pid)
{
    for (size_t i = 0; i < g_row_count; i++) {
        if (g_rows[i].kind == TM_KIND_process && g_rows[i].values[TM_process_pid] == pid)
            return g_rows[i].values[TM_process_process];
        if (g_rows[i].kind == TM_KIND_bystander && g_rows[i].values[TM_bystander_pid] == pid)
            return g_rows[i].values[TM_bystander_process];
    }
    return -1;
}

static void test_processes_with_ort_are_followed(void)
{
    etl_process(&g_maker, 3, 1000, 4, 0, "System");
    etl_process(&g_maker, 1, 1000 + 50 * US, 100, 4, "app.exe");
    etl_image(&g_maker, 1000 + 60 * US, 100, "C:\\x\\OnnxRuntime.dll");
    etl_image(&g_maker, 1000 + 61 * US, 4, "C:\\private\\other.dll");
    etl_process(&g_maker, 2, 1000 + 90 * US, 100, 4, "app.exe");
    import();
    TEST_ASSERT_EQUAL_UINT64(1, g_stats.processes);
    TEST_ASSERT_EQUAL_INT64(100, VALUE(process, 0, pid));
    TEST_ASSERT_EQUAL_INT64(3, VALUE(process, 0, how));
    TEST_ASSERT_EQUAL_INT64(50000, VALUE(process, 0, time));
    TEST_ASSERT_EQUAL_STRING("app.exe", need(TM_KIND_process, 0)->text[0]);
    TEST_ASSERT_EQUAL_STRING("C:\\x\\OnnxRuntime.dll", need(TM_KIND_module, 0)->text[0]);
    TEST_ASSERT_EQUAL_INT64(0, VALUE(process_end, 0, reason));
    TEST_ASSERT_EQUAL_INT64(3, VALUE(process_end, 0, exit_code));
    TEST_ASSERT_EQUAL_INT64(90000, VALUE(process_end, 0, time));
    TEST_ASSERT_EQUAL_STRING("System", need(TM_KIND_bystander, 0)->text[0]);
    TEST_ASSERT_NULL(row_of(TM_KIND_image, 1)); // nothing of the bystander's
    TEST_ASSERT_EQUAL_INT64(6, VALUE(lost, 0, cause));
    TEST_ASSERT_EQUAL_INT64(2, VALUE(lost, 0, events));
}

static bool file_has(const char *text)
{
    cm_file *file = NULL;
    static char bytes[65536];
    size_t len, text_len = strlen(text);
    TEST_ASSERT_EQUAL(CM_OK, cm_file_open(PATH, &file));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_read_at(file, 0, bytes, sizeof bytes, &len));
    cm_file_close(file);
    TEST_ASSERT_TRUE(len < sizeof bytes);
    for (size_t i = 0; i + text_len <= len; i++)
        if (memcmp(bytes + i, text, text_len) == 0)
            return true;
    return false;
}

// A process with ORT and one without, with all that must not be told.
static void two_processes(void)
{
    etl_bytes b = {.len = 0};
    etl_process(&g_maker, 3, 1000, 100, 4, "app.exe");
    etl_process(&g_maker, 3, 1000, 200, 4, "C:\\private\\folder\\other.exe");
    etl_ort(&g_maker, "EvaluationStart", 1100, 100, 7, 1);
    etl_image(&g_maker, 1200, 200, "C:\\private\\folder\\plugin.dll");
    put32(&b, 200); // the other's thread gets a name
    put32(&b, 9);
    put_wide(&b, "C:\\private\\document.txt");
    etl_kernel(&g_maker, 0x11, 2, 5, 72, 1300, 0, 0, &b);
    b.len = 0; // a file is opened
    put64(&b, 0x1234);
    put_wide(&b, "\\Device\\private\\letter.txt");
    etl_kernel(&g_maker, 0x11, 2, 4, 0, 1400, 0, 0, &b);
}

static void test_nothing_private_is_written(void)
{
    two_processes();
    import();
    TEST_ASSERT_TRUE(file_has("other.exe"));
    TEST_ASSERT_FALSE(file_has("secret"));
    TEST_ASSERT_FALSE(file_has("private"));
    TEST_ASSERT_EQUAL_INT64(0, VALUE(process, 0, command_line));
}

static void test_command_lines_of_followed_processes_if_asked_for(void)
{
    two_processes();
    g_command_lines = true;
    import();
    TEST_ASSERT_TRUE(file_has("app.exe --secret command line"));
    TEST_ASSERT_FALSE(file_has("other.exe --secret"));
    TEST_ASSERT_FALSE(file_has("private"));
    TEST_ASSERT_EQUAL_STRING("app.exe --secret command line", need(TM_KIND_process, 0)->text[1]);
}

static void test_interval_of_the_profile(void)
{
    etl_bytes b = {.len = 0};
    put32(&b, 0);
    put32(&b, 10000); // 1 ms
    put32(&b, 10000);
    etl_kernel(&g_maker, 0x11, 2, 15, 73, 1000 + 20 * US, 0, 0, &b);
    import();
    TEST_ASSERT_EQUAL_INT64(1000000, VALUE(profiling, 0, interval));
    TEST_ASSERT_EQUAL_INT64(0, VALUE(profiling, 0, source));
    TEST_ASSERT_EQUAL_INT64(20000, VALUE(profiling, 0, time));
}

static void session_created(int64_t time, const char *name, uint32_t session)
{
    etl_bytes metadata, data = {.len = 0};
    tlg_name(&metadata, name);
    tlg_field(&metadata, "sessionId", 8);
    put32(&data, session);
    tlg_field(&metadata, "modelFileName", 2);
    put_text(&data, "model.onnx");
    tlg_field(&metadata, "modelGraphName", 2);
    put_text(&data, "graph");
    tlg_field(&metadata, "executionProviderIds", 2);
    put_text(&data, "CPUExecutionProvider");
    tlg_finish(&metadata);
    etl_event(&g_maker, etl_ort_guid, 0, 0, 4, time, 100, 7, &metadata, &data);
}

static void test_sessions_and_runs(void)
{
    etl_ort(&g_maker, "SessionCreationStart", 1000 + 10 * US, 100, 7, 5);
    session_created(1000 + 40 * US, "SessionCreation", 5);
    etl_ort(&g_maker, "EvaluationStart", 1000 + 100 * US, 100, 7, 5);
    etl_ort(&g_maker, "EvaluationStart", 1000 + 120 * US, 100, 8, 5); // another thread
    etl_ort(&g_maker, "EvaluationStop", 1000 + 150 * US, 100, 7, 5);
    etl_ort(&g_maker, "EvaluationStop", 1000 + 180 * US, 100, 8, 5);
    etl_ort(&g_maker, "EvaluationStop", 1000 + 190 * US, 100, 9, 5);  // began before
    etl_ort(&g_maker, "EvaluationStart", 1000 + 200 * US, 100, 7, 5); // does not end
    import();
    TEST_ASSERT_EQUAL_UINT64(1, g_stats.sessions);
    TEST_ASSERT_EQUAL_UINT64(2, g_stats.runs);
    TEST_ASSERT_EQUAL_UINT64(1, g_stats.unfinished_runs);
    TEST_ASSERT_EQUAL_INT64(8, VALUE(session, 0, source));
    TEST_ASSERT_EQUAL_INT64(10000, VALUE(session, 0, time));
    TEST_ASSERT_EQUAL_INT64(30000, VALUE(session, 0, load));
    TEST_ASSERT_EQUAL_STRING("model.onnx", need(TM_KIND_session, 0)->text[0]);
    TEST_ASSERT_NULL(row_of(TM_KIND_session, 1));
    TEST_ASSERT_EQUAL_INT64(100000, VALUE(run, 0, begin));
    TEST_ASSERT_EQUAL_INT64(50000, VALUE(run, 0, duration));
    TEST_ASSERT_EQUAL_INT64(3, VALUE(run, 0, call));
    TEST_ASSERT_EQUAL_INT64(1, VALUE(run, 0, run));
    TEST_ASSERT_EQUAL_INT64(1, VALUE(run, 0, in_flight));
    TEST_ASSERT_EQUAL_INT64(2, VALUE(run, 1, in_flight));
    TEST_ASSERT_EQUAL_INT64(2, VALUE(run, 1, run));
    TEST_ASSERT_EQUAL_INT64(VALUE(session, 0, session), VALUE(run, 1, session));
    TEST_ASSERT_EQUAL_INT64(100, VALUE(process, 0, pid)); // known by its events alone
    TEST_ASSERT_EQUAL_INT64(1, VALUE(process_end, 0, reason));
}

static void test_runs_of_old_versions_have_the_only_session(void)
{
    session_created(1000 + 40 * US, "SessionCreation", 3);
    etl_ort(&g_maker, "EvaluationStart", 1000 + 100 * US, 100, 7, -1);
    etl_ort(&g_maker, "EvaluationStop", 1000 + 150 * US, 100, 7, -1);
    session_created(1000 + 160 * US, "SessionCreation_CaptureState", 4);
    etl_ort(&g_maker, "EvaluationStart", 1000 + 200 * US, 100, 7, -1);
    etl_ort(&g_maker, "EvaluationStop", 1000 + 250 * US, 100, 7, -1);
    import();
    TEST_ASSERT_EQUAL_INT64(VALUE(session, 0, session), VALUE(run, 0, session));
    // With two sessions nobody can tell: one that stands for both.
    TEST_ASSERT_EQUAL_INT64(VALUE(session, 2, session), VALUE(run, 1, session));
}

static void test_failed_run(void)
{
    etl_bytes metadata, data = {.len = 0};
    tlg_name(&metadata, "RuntimeError");
    tlg_field(&metadata, "errorCode", 8);
    put32(&data, 2);
    tlg_field(&metadata, "errorMessage", 2);
    put_text(&data, "bad input");
    tlg_finish(&metadata);
    etl_ort(&g_maker, "EvaluationStart", 1100, 100, 7, 1);
    etl_event(&g_maker, etl_ort_guid, 0, 0, 2, 1200, 100, 7, &metadata, &data);
    etl_ort(&g_maker, "EvaluationStop", 1300, 100, 7, 1);
    import();
    TEST_ASSERT_EQUAL_INT64(2, VALUE(run, 0, status));
    TEST_ASSERT_EQUAL_STRING("bad input", need(TM_KIND_log, 0)->text[0]);
    TEST_ASSERT_EQUAL_INT64(1, VALUE(log, 0, run));
    TEST_ASSERT_EQUAL_STRING("errorCode=2\nerrorMessage=bad input",
                             need(TM_KIND_ort_event, 0)->text[1]);
}

static void test_secrets_are_hidden(void)
{
    etl_bytes metadata, data = {.len = 0};
    tlg_name(&metadata, "ProviderOptionsAppendExecutionProvider");
    tlg_field(&metadata, "Key", 2);
    put_text(&data, "some_API_KEY");
    tlg_field(&metadata, "Value", 2);
    put_text(&data, "hunter2");
    tlg_finish(&metadata);
    etl_event(&g_maker, etl_ort_guid, 0, 0, 4, 1200, 100, 7, &metadata, &data);
    import();
    TEST_ASSERT_EQUAL_STRING("Key=some_API_KEY\nValue=(hidden)",
                             need(TM_KIND_ort_event, 0)->text[1]);
}

static void test_what_the_kernel_tells(void)
{
    etl_bytes b = {.len = 0};
    etl_process(&g_maker, 3, 1000, 0, 0, "Idle");
    etl_process(&g_maker, 3, 1000, 50, 4, "other.exe");
    etl_ort(&g_maker, "ProcessInfo", 1001, 100, 7, -1);
    etl_thread(&g_maker, 3, 1002, 100, 7);
    put32(&b, 100); // it gets a name
    put32(&b, 7);
    put_wide(&b, "worker");
    etl_kernel(&g_maker, 0x11, 2, 5, 72, 1003, 0, 0, &b);
    b.len = 0;
    etl_buffer(&g_maker, 3);
    etl_switch(&g_maker, 1000 + 100 * US, 7, 0, 0, 2);
    put64(&b, 0x7ff812345678u); // a sample
    put32(&b, 7);
    put32(&b, 0x00010001);
    etl_kernel(&g_maker, 0x11, 2, 15, 46, 1000 + 110 * US, 0, 0, &b);
    b.len = 0; // a soft fault says nothing of its thread
    put64(&b, 0x5000);
    put64(&b, 0x6000);
    etl_kernel(&g_maker, 0x11, 2, 2, 11, 1000 + 120 * US, 0, 0, &b);
    b.len = 0; // a thread of the other process is made ready
    put32(&b, 9);
    put32(&b, 0x00000101);
    etl_kernel(&g_maker, 0x11, 2, 5, 50, 1000 + 130 * US, 0, 0, &b);
    etl_switch(&g_maker, 1000 + 140 * US, 9, 7, 32, 1); // preempted by it
    b.len = 0;                                          // read from disk, in 20 us
    put64(&b, 1000 + 150 * US);
    put64(&b, 0);
    put64(&b, 0x7000);
    put64(&b, 0);
    put32(&b, 7);
    put32(&b, 4096);
    etl_kernel(&g_maker, 0x11, 2, 2, 32, 1000 + 170 * US, 0, 0, &b);
    etl_buffer(&g_maker, 0);
    etl_thread(&g_maker, 4, 1000 + 500 * US, 50, 9); // told at the very end
    import();
    int64_t app = process_with_pid(100), other = process_with_pid(50), idle = process_with_pid(0);
    TEST_ASSERT_EQUAL_INT64(2, VALUE(thread, 0, action));
    TEST_ASSERT_EQUAL_INT64(4, VALUE(thread, 1, action));
    TEST_ASSERT_EQUAL_INT64(7, VALUE(thread, 1, thread));
    TEST_ASSERT_EQUAL_STRING("worker", need(TM_KIND_thread, 1)->text[0]);
    TEST_ASSERT_EQUAL_UINT64(2, g_stats.switches);
    TEST_ASSERT_EQUAL_INT64(3, VALUE(sched, 0, cpu));
    TEST_ASSERT_EQUAL_INT64(100000, VALUE(sched, 0, time));
    TEST_ASSERT_EQUAL_INT64(app, VALUE(sched, 0, new_process));
    TEST_ASSERT_EQUAL_INT64(idle, VALUE(sched, 0, old_process));
    TEST_ASSERT_EQUAL_INT64(other, VALUE(sched, 1, new_process));
    TEST_ASSERT_EQUAL_INT64(7, VALUE(sched, 1, old_thread));
    TEST_ASSERT_EQUAL_INT64(32, VALUE(sched, 1, wait_reason));
    TEST_ASSERT_EQUAL_INT64(1, VALUE(sched, 1, state));
    TEST_ASSERT_EQUAL_INT64(app, VALUE(profile, 0, process));
    TEST_ASSERT_EQUAL_INT64(1, VALUE(profile, 0, flags));
    TEST_ASSERT_EQUAL_INT64(1, VALUE(fault, 0, fault));
    TEST_ASSERT_EQUAL_INT64(7, VALUE(fault, 0, thread)); // by its processor
    TEST_ASSERT_EQUAL_INT64(9, VALUE(ready, 0, thread));
    TEST_ASSERT_EQUAL_INT64(7, VALUE(ready, 0, by_thread));
    TEST_ASSERT_EQUAL_INT64(app, VALUE(ready, 0, by_process));
    TEST_ASSERT_EQUAL_INT64(6, VALUE(fault, 1, fault));
    TEST_ASSERT_EQUAL_INT64(150000, VALUE(fault, 1, time));
    TEST_ASSERT_EQUAL_INT64(20000, VALUE(fault, 1, duration));
    TEST_ASSERT_EQUAL_INT64(4096, VALUE(fault, 1, bytes));
}

static void test_thread_numbers_are_used_again(void)
{
    etl_process(&g_maker, 3, 1000, 50, 4, "one.exe");
    etl_process(&g_maker, 3, 1000, 60, 4, "two.exe");
    etl_thread(&g_maker, 1, 2000, 50, 9);
    etl_switch(&g_maker, 2100, 9, 0, 0, 2);
    etl_thread(&g_maker, 2, 3000, 50, 9);
    etl_thread(&g_maker, 1, 4000, 60, 9);
    etl_switch(&g_maker, 4100, 9, 0, 0, 2);
    etl_switch(&g_maker, 3500, 9, 0, 0, 2); // nobody's then
    import();
    TEST_ASSERT_EQUAL_INT64(process_with_pid(50), VALUE(sched, 0, new_process));
    TEST_ASSERT_EQUAL_INT64(process_with_pid(60), VALUE(sched, 1, new_process));
    TEST_ASSERT_EQUAL_INT64(0, VALUE(sched, 2, new_process));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_processes_with_ort_are_followed);
    RUN_TEST(test_nothing_private_is_written);
    RUN_TEST(test_command_lines_of_followed_processes_if_asked_for);
    RUN_TEST(test_interval_of_the_profile);
    RUN_TEST(test_sessions_and_runs);
    RUN_TEST(test_runs_of_old_versions_have_the_only_session);
    RUN_TEST(test_failed_run);
    RUN_TEST(test_secrets_are_hidden);
    RUN_TEST(test_what_the_kernel_tells);
    RUN_TEST(test_thread_numbers_are_used_again);
    return UNITY_END();
}
