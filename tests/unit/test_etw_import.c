// SPDX-License-Identifier: MIT
// From the provider through a recording to a timeline: what the real writer hands to ETW is put
// into an .etl file and imported. Rows must be those that a ring would have given.
#define PATH "test_etw_import.ortl"
#include "etw_recorder.h"
#include "imported_rows.h"

#include "tracelogging/marks.h"

#include <stdio.h>
#include <string.h>
#include <unity.h>

#define PID   321u
#define TID   77u
#define TICKS 90000000000u // of the processor when the recording begins: 2 a nanosecond
#define QPC   1000         // the recording's clock then: 10 MHz (etl_head_usual)

static etl_maker g_maker;
static tl_provider g_provider;
static tl_etw_thread g_thread;
static tl_etw_batch g_batch;

void setUp(void)
{
    etw_recorder_reset();
    etl_begin(&g_maker, &etl_head_usual);
    memset(&g_provider, 0, sizeof g_provider);
    memset(&g_thread, 0, sizeof g_thread);
    memset(&g_batch, 0, sizeof g_batch);
    g_thread.id = TID;
    g_thread.batches[TL_BATCH_OP] = &g_batch;
    g_etw.tid = TID;
    g_etw.time = QPC;
    TEST_ASSERT_TRUE(tl_provider_open_hook(&g_provider, &etw_recorder_api));
    etw_enable(TL_ETW_ENABLE, 0, 0);
}

void tearDown(void)
{
    tl_provider_close(&g_provider);
    etl_free(&g_maker);
    cm_file_remove(PATH);
}

// -------------------------------------------------------------------------------------- writing

static uint64_t ticks_at(int64_t us)
{
    return (uint64_t)((int64_t)TICKS + us * 2000);
}

// ETW gives its time a little after the event's own.
static void write_at(tl_event event, int64_t us, const void *fixed, size_t bytes, const char *text)
{
    uint16_t len = text ? (uint16_t)strlen(text) : 0;
    const tl_etw_part parts[] = {{fixed, (uint32_t)bytes}, {&len, sizeof len}, {text, len}};
    g_etw.time = QPC + us * 10 + 20;
    tl_etw_write(&g_provider, &g_thread, event, TID, ticks_at(us), parts, text ? 3 : 1);
}

static void write_clock(int64_t us)
{
    tl_Clock fixed = {.qpc = (uint64_t)(QPC + us * 10), .qpc_frequency = 10000000};
    write_at(TL_EVENT_Clock, us, &fixed, sizeof fixed, NULL);
}

static void write_run(uint32_t run, int64_t end_us, uint64_t us)
{
    tl_Run fixed = {
        .session = 4, .run = run, .duration_ticks = us * 2000, .in_flight = 1, .call = 1};
    write_at(TL_EVENT_Run, end_us, &fixed, sizeof fixed, NULL);
}

static void write_identities(int64_t us)
{
    tl_Module module = {.module = 2, .hooked = 40};
    tl_Session session = {.session = 4, .module = 2, .load_ticks = 3000 * 2000};
    tl_Kernel kernel = {.kernel = 9, .session = 4, .module = 2, .opset = 13};
    write_at(TL_EVENT_Module, us, &module, sizeof module, "C:\\x\\onnxruntime.dll");
    write_at(TL_EVENT_Session, us, &session, sizeof session, "model.onnx");
    write_at(TL_EVENT_Kernel, us, &kernel, sizeof kernel, "node_1");
}

static void gather_ops(uint32_t run, int64_t end_us, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        tl_Op op = {.kernel = 9, .session = 4, .run = run, .duration_ticks = 2000, .depth = 1};
        tl_etw_gather(&g_provider, &g_thread, TL_EVENT_Op, run, ticks_at(end_us) + i * 200, &op,
                      sizeof op);
    }
    g_etw.time = QPC + end_us * 10 + 50;
    tl_etw_flush(&g_provider, &g_thread, &g_thread, TL_BATCH_OP);
}

// All that was written but the event at `dropped` (or -1).
static void import_without(int dropped)
{
    for (unsigned i = 0; i < g_etw.count; i++) {
        const etw_recorded *r = &g_etw.events[i];
        const etl_given given = {g_etw.guid,  r->traits,     r->metadata,
                                 r->data,     r->traits_len, r->metadata_len,
                                 r->data_len, r->level,      r->keyword};
        if (g_maker.records.len + r->data_len + 700 > 8000) // a buffer has 8 KB
            etl_buffer(&g_maker, 0);
        if ((int)i != dropped)
            etl_event_given(&g_maker, &given, r->time, PID, r->tid);
    }
    import_recording(&g_maker, false, 0);
}

// --------------------------------------------------------------------------------------- tests

static void test_events_become_rows(void)
{
    write_clock(10);
    write_identities(5000);
    gather_ops(1, 6000, 200);
    write_run(1, 6100, 150);
    write_clock(100000);
    import_without(-1);
    TEST_ASSERT_EQUAL(1, rows_of(TM_KIND_process));
    TEST_ASSERT_EQUAL_INT64(PID, VALUE(process, 0, pid));
    TEST_ASSERT_EQUAL(1, rows_of(TM_KIND_module));
    TEST_ASSERT_EQUAL_STRING("C:\\x\\onnxruntime.dll", need(TM_KIND_module, 0)->text[0]);
    TEST_ASSERT_EQUAL_INT64(40, VALUE(module, 0, hooked));
    TEST_ASSERT_EQUAL_STRING("model.onnx", need(TM_KIND_session, 0)->text[0]);
    TEST_ASSERT_EQUAL_INT64(VALUE(module, 0, module), VALUE(session, 0, module));
    TEST_ASSERT_EQUAL_INT64(2000000, VALUE(session, 0, time));
    TEST_ASSERT_EQUAL_INT64(3000000, VALUE(session, 0, load));
    TEST_ASSERT_EQUAL_INT64(VALUE(session, 0, session), VALUE(run, 0, session));
    // Times are the hook's, not those of the writing.
    TEST_ASSERT_EQUAL_INT64(5950000, VALUE(run, 0, begin));
    TEST_ASSERT_EQUAL_INT64(150000, VALUE(run, 0, duration));
    TEST_ASSERT_EQUAL_INT64(TID, VALUE(run, 0, thread));
    TEST_ASSERT_EQUAL_INT64(1, VALUE(run, 0, call));
    TEST_ASSERT_EQUAL(200, rows_of(TM_KIND_op));
    TEST_ASSERT_EQUAL_INT64(VALUE(kernel, 0, kernel), VALUE(op, 7, kernel));
    TEST_ASSERT_EQUAL_INT64(5999700, VALUE(op, 7, begin));
    TEST_ASSERT_EQUAL_INT64(1000, VALUE(op, 7, duration));
    TEST_ASSERT_EQUAL_INT64(1, VALUE(op, 7, depth));
    TEST_ASSERT_NULL(row_of(TM_KIND_lost, 0));
    TEST_ASSERT_EQUAL_UINT64(1, g_stats.runs);
    TEST_ASSERT_EQUAL_UINT64(1, g_stats.sessions);
    TEST_ASSERT_EQUAL_UINT64(0, g_stats.unread);
}

static void test_what_is_told_again_counts_once(void)
{
    write_clock(10);
    write_identities(20);
    write_run(1, 500, 100);
    write_identities(20);
    write_clock(2000);
    write_run(2, 90000, 100);
    import_without(-1);
    TEST_ASSERT_EQUAL(1, rows_of(TM_KIND_module));
    TEST_ASSERT_EQUAL(1, rows_of(TM_KIND_session));
    TEST_ASSERT_EQUAL(1, rows_of(TM_KIND_kernel));
    TEST_ASSERT_EQUAL(2, rows_of(TM_KIND_run));
    // Behind the last reading of the clock its rate goes on.
    TEST_ASSERT_INT64_WITHIN(1000, 89900000, VALUE(run, 1, begin));
}

static void test_facts_from_before_the_recording_have_time_zero(void)
{
    write_clock(10);
    write_identities(-5000000); // told again to who came late
    write_run(7, 3000, 100);
    write_clock(150000);
    import_without(-1);
    TEST_ASSERT_EQUAL_INT64(0, VALUE(session, 0, time));
    TEST_ASSERT_INT64_WITHIN(1, 3000000, VALUE(session, 0, load));
    TEST_ASSERT_EQUAL_INT64(0, VALUE(module, 0, time));
    TEST_ASSERT_EQUAL_INT64(2900000, VALUE(run, 0, begin));
}

static void test_gaps_are_losses(void)
{
    write_clock(10);
    write_identities(20);
    for (uint32_t i = 1; i <= 5; i++)
        write_run(i, 1000 * i, 100);
    write_clock(100000);
    import_without(6); // the third run
    TEST_ASSERT_EQUAL(4, rows_of(TM_KIND_run));
    TEST_ASSERT_EQUAL(1, rows_of(TM_KIND_lost));
    TEST_ASSERT_EQUAL_INT64(10, VALUE(lost, 0, cause));
    TEST_ASSERT_EQUAL_INT64(1, VALUE(lost, 0, events));
    TEST_ASSERT_EQUAL_INT64(VALUE(process, 0, process), VALUE(lost, 0, process));
}

static void test_events_that_etw_refused_are_losses(void)
{
    write_clock(10);
    write_identities(20);
    write_run(1, 1000, 100);
    g_etw.answer = TL_ETW_NO_BUFFER;
    gather_ops(2, 1500, 3);
    write_run(2, 2000, 100);
    g_etw.answer = 0;
    gather_ops(3, 2500, 3);
    write_run(3, 3000, 100);
    write_clock(100000);
    import_without(-1);
    TEST_ASSERT_EQUAL(2, rows_of(TM_KIND_run));
    TEST_ASSERT_EQUAL_INT64(1, VALUE(lost, 0, events)); // the first Ops was refused: unseen
    TEST_ASSERT_EQUAL_UINT64(4, g_provider.failed);     // but the writer knows
}

static void test_a_thread_number_used_again_is_no_loss(void)
{
    write_clock(10);
    write_identities(20);
    for (uint32_t i = 1; i <= 100; i++)
        write_run(i, 1000 * i, 100);
    memset(g_thread.sequence, 0, sizeof g_thread.sequence);
    write_run(101, 200000, 100);
    write_run(102, 201000, 100);
    import_without(-1);
    TEST_ASSERT_EQUAL(102, rows_of(TM_KIND_run));
    TEST_ASSERT_NULL(row_of(TM_KIND_lost, 0));
}

static void test_without_clock_events_times_are_near(void)
{
    write_identities(20);
    write_run(1, 1000, 100);
    write_run(2, 50000, 100);
    import_without(-1);
    TEST_ASSERT_EQUAL(2, rows_of(TM_KIND_run));
    TEST_ASSERT_INT64_WITHIN(5000, 49900000, VALUE(run, 1, begin));
}

static void test_hooked_process_has_no_runs_of_ort_itself(void)
{
    etl_ort(&g_maker, "EvaluationStart", QPC + 900 * 10, PID, TID, 1);
    etl_ort(&g_maker, "EvaluationStop", QPC + 990 * 10, PID, TID, 1);
    etl_ort(&g_maker, "EvaluationStart", QPC + 900 * 10, PID + 1, TID + 1, 1);
    etl_ort(&g_maker, "EvaluationStop", QPC + 990 * 10, PID + 1, TID + 1, 1);
    write_clock(10);
    write_identities(20);
    write_run(1, 1000, 100);
    write_clock(100000);
    import_without(-1);
    TEST_ASSERT_EQUAL(2, rows_of(TM_KIND_run)); // ours, and that of the other process
    TEST_ASSERT_EQUAL(2, rows_of(TM_KIND_process));
    TEST_ASSERT_EQUAL(2, rows_of(TM_KIND_session));
    TEST_ASSERT_TRUE(VALUE(session, 0, session) != VALUE(session, 1, session));
    TEST_ASSERT_TRUE(VALUE(module, 0, module) != VALUE(module, 1, module));
}

static void test_nonsense_is_counted(void)
{
    write_clock(10);
    write_identities(20);
    write_run(1, 1000, 100);
    gather_ops(1, 1500, 4);
    etw_recorded *ops = &g_etw.events[g_etw.count - 1];
    ops->data[sizeof(tl_etw_prefix)] = 200; // more than there are
    g_etw.events[4].data_len = 9;           // the run
    write_clock(100000);
    import_without(-1);
    TEST_ASSERT_EQUAL(0, rows_of(TM_KIND_run));
    TEST_ASSERT_EQUAL(0, rows_of(TM_KIND_op));
    TEST_ASSERT_EQUAL_UINT64(2, g_stats.unread);
    TEST_ASSERT_EQUAL_INT64(3, VALUE(lost, 0, cause));
    TEST_ASSERT_EQUAL_INT64(2, VALUE(lost, 0, events));
}

// Times from anywhere give times of some kind.
static void test_clocks_may_say_anything(void)
{
    static const uint64_t odd[] = {UINT64_MAX, (uint64_t)INT64_MAX + 1, INT64_MAX, 1, 0};
    for (size_t i = 0; i < 25; i++) {
        tl_Clock fixed = {.qpc = odd[i % 5], .qpc_frequency = odd[i / 5]};
        const tl_etw_part part = {&fixed, sizeof fixed};
        g_etw.time = QPC + (int64_t)i * 1000000;
        tl_etw_write(&g_provider, &g_thread, TL_EVENT_Clock, TID, odd[i / 5], &part, 1);
        write_run((uint32_t)i + 1, (int64_t)i * 100000 + 50, 100);
    }
    import_without(-1);
    TEST_ASSERT_EQUAL(25, rows_of(TM_KIND_run));
}

static void test_marks_of_the_collector(void)
{
    static tl_provider marks;
    TEST_ASSERT_TRUE(tl_provider_open(&marks, &etw_recorder_api, TL_COLLECTOR_PROVIDER_NAME,
                                      tl_collector_provider_guid, tl_mark_get((tl_mark)1),
                                      TL_MARK_COUNT, tl_mark_metadata));
    etw_enable(TL_ETW_ENABLE, 0, 0);
    tl_mark_TargetBegin fixed = {.pid = 9, .process = 1, .how = 1};
    uint16_t len = 7;
    const tl_etw_part parts[] = {{&fixed, sizeof fixed}, {&len, 2}, {"app.exe", 7}};
    g_etw.time = QPC + 50 * 10;
    tl_etw_write(&marks, &g_thread, TL_MARK_TargetBegin, TID, 1, parts, 3);
    import_without(-1);
    TEST_ASSERT_EQUAL_INT64(50000, VALUE(mark, 0, time));
    TEST_ASSERT_EQUAL_STRING("ortscope: TargetBegin pid=9 process=1 how=1 program=app.exe",
                             need(TM_KIND_mark, 0)->text[0]);
    tl_provider_close(&marks);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_events_become_rows);
    RUN_TEST(test_what_is_told_again_counts_once);
    RUN_TEST(test_facts_from_before_the_recording_have_time_zero);
    RUN_TEST(test_gaps_are_losses);
    RUN_TEST(test_events_that_etw_refused_are_losses);
    RUN_TEST(test_a_thread_number_used_again_is_no_loss);
    RUN_TEST(test_without_clock_events_times_are_near);
    RUN_TEST(test_hooked_process_has_no_runs_of_ort_itself);
    RUN_TEST(test_nonsense_is_counted);
    RUN_TEST(test_clocks_may_say_anything);
    RUN_TEST(test_marks_of_the_collector);
    return UNITY_END();
}
