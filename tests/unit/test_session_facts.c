// SPDX-License-Identifier: MIT
// How sessions were loaded, and what ORT's own events tell of them.

#define PATH "test_session_facts.ortl"
#include "summary_fixture.h"

#define MS ((int64_t)1000000)

static void load(int64_t id, int64_t time, int64_t duration, const char *model, int64_t hash)
{
    ROW(session, id, 1, time, duration, hash ? 1 : 0, 0, TEXT(model), hash ? 1000 : -1, hash, 0, 0,
        0, 0, 0, 1);
}

static const an_session *session(int64_t id)
{
    size_t at;
    if (!g_summary) {
        TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_close(g_writer));
        TEST_ASSERT_EQUAL_INT(CM_OK, tm_reader_open(PATH, &g_reader));
        TEST_ASSERT_EQUAL_INT(CM_OK, an_summarize(g_reader, &g_summary));
    }
    TEST_ASSERT_TRUE(cm_map_find(&g_summary->session_by_id, id, &at));
    return &g_summary->sessions[at];
}

static void test_phases(void)
{
    load(1, 0, 100, "m", 0);
    ROW(phase, 1, 0, 10, 1, 2);
    ROW(phase, 1, 10, 30, 2, 2);
    ROW(phase, 1, 60, 5, 2, 2); // once more
    ROW(phase, 1, 70, -5, 3, 2);
    ROW(phase, 1, 70, 5, 9, 2);
    const an_loading *l = &session(1)->loading;
    TEST_ASSERT_EQUAL_INT64(10, l->read_ns);
    TEST_ASSERT_EQUAL_INT64(35, l->optimise_ns);
    TEST_ASSERT_EQUAL_INT64(-1, l->kernels_ns);
    TEST_ASSERT_EQUAL_INT64(2, l->source);
}

static void test_first_and_later_loads_of_a_model(void)
{
    load(3, 30 * MS, 50, "a.onnx", 0);
    load(1, 10 * MS, 400, "a.onnx", 0);
    load(2, 20 * MS, 90, "a.onnx", 0);
    load(4, 40 * MS, 70, "a.onnx", 0);
    load(5, 50 * MS, 30, "b.onnx", 0);
    const an_repeats *r = &session(3)->repeats;
    TEST_ASSERT_EQUAL_UINT64(4, r->loads);
    TEST_ASSERT_EQUAL_UINT64(3, r->number);
    TEST_ASSERT_EQUAL_INT64(400, r->first_ns);
    TEST_ASSERT_EQUAL_DOUBLE(70, r->later_median_ns);
    TEST_ASSERT_EQUAL_UINT64(1, session(1)->repeats.number);
    TEST_ASSERT_EQUAL_UINT64(0, session(5)->repeats.loads);
}

static void test_models_given_as_bytes_are_known_by_their_hash(void)
{
    load(1, 1, 100, "", 77);
    load(2, 2, 40, "", 78);
    load(3, 3, 20, "", 77);
    load(4, 4, 20, "", 0); // nobody knows what it was
    load(5, 5, 20, "", 0);
    TEST_ASSERT_EQUAL_UINT64(2, session(1)->repeats.loads);
    TEST_ASSERT_EQUAL_UINT64(0, session(2)->repeats.loads);
    TEST_ASSERT_EQUAL_DOUBLE(20, session(3)->repeats.later_median_ns);
    TEST_ASSERT_EQUAL_UINT64(0, session(4)->repeats.loads);
}

static void seen(int64_t id, const char *model, const char *graph, const char *producer)
{
    ROW(session, id, 1, id, 100, 8, 0, TEXT(model), -1, 0, TEXT(graph), TEXT(producer), 0, 0, 0, 1);
}

static void event(int64_t of, int64_t level, const char *name, const char *fields)
{
    ROW(ort_event, 1, 5, of, 1, 1, level, TEXT(name), TEXT(fields));
}

// ORT's own events have the name of the file without its folder: encoder/model.onnx and
// decoder/model.onnx are two models.
static void test_models_seen_by_events_need_more_than_a_name(void)
{
    seen(1, "model.onnx", "encoder", "pytorch");
    seen(2, "model.onnx", "decoder", "pytorch");
    seen(3, "model.onnx", "encoder", "tf2onnx");
    seen(4, "model.onnx", "encoder", "pytorch");
    load(5, 5, 100, "model.onnx", 0);
    load(6, 6, 100, "model.onnx", 0);
    TEST_ASSERT_EQUAL_UINT64(2, session(1)->repeats.loads);
    TEST_ASSERT_EQUAL_UINT64(2, session(4)->repeats.number);
    TEST_ASSERT_EQUAL_UINT64(0, session(2)->repeats.loads);
    TEST_ASSERT_EQUAL_UINT64(0, session(3)->repeats.loads);
    TEST_ASSERT_EQUAL_UINT64(2, session(5)->repeats.loads); // by their paths
}

// What an exporter calls every graph tells nothing; the hashes of ORT 1.23 do.
static void test_models_seen_by_events_are_told_apart_by_hashes(void)
{
    static const char first[] = "modelGraphHash=11\nmodelWeightHash=22\nx=1";
    for (int64_t id = 1; id <= 4; id++)
        seen(id, "model.onnx", "main_graph", "pytorch");
    event(1, 4, "SessionCreation", first);
    event(2, 4, "SessionCreation", "modelGraphHash=11\nmodelWeightHash=23");
    event(3, 4, "SessionCreation", "modelGraphHash=112\nmodelWeightHash=2");
    event(4, 4, "SessionCreation", first);
    TEST_ASSERT_EQUAL_UINT64(2, session(1)->repeats.loads);
    TEST_ASSERT_EQUAL_UINT64(2, session(4)->repeats.number);
    TEST_ASSERT_EQUAL_UINT64(0, session(2)->repeats.loads);
    TEST_ASSERT_EQUAL_UINT64(0, session(3)->repeats.loads);
}

static void test_failed_loads_and_sessions_from_before_do_not_count(void)
{
    load(1, 1, 100, "m", 0);
    ROW(session, 2, 1, 2, 50, 0, 3, TEXT("m"), -1, 0, 0, 0, 0, 0, TEXT("gone"), 1);
    ROW(session, 3, 1, 3, 0, 7, 0, TEXT("m"), -1, 0, 0, 0, 0, 0, 0, 1);
    TEST_ASSERT_EQUAL_UINT64(0, session(1)->repeats.loads);
}

static void test_errors_among_events_are_messages(void)
{
    load(1, 1, 100, "m", 0);
    ROW(log, 1, 1, 2, 1, 7, 2, TEXT("Non-zero status: bad shape in node x"));
    event(1, 2, "RuntimeError", "errorCode=1\nerrorMessage=bad shape\nline=5"); // told already
    event(1, 2, "RuntimeError", "errorCode=1\nerrorMessage=two\nlines \nline=5");
    event(1, 2, "RuntimeError", "errorCode=1\nerrorMessage=two\nlines \nline=5");
    event(1, 4, "ModelLoadEnd", "isSuccess=1\nerrorMessage=\nx=1");
    event(1, 3, "ONNXRuntimeLogEvent", "logger=d\nmessage=nodes were not assigned");
    event(1, 4, "ONNXRuntimeLogEvent", "logger=d\nmessage=all is well");
    event(1, 4, "SessionCreationStart", "");
    session(1);
    TEST_ASSERT_EQUAL_UINT64(7, g_summary->ort_events);
    TEST_ASSERT_EQUAL_size_t(3, g_summary->message_count);
    const an_message *m = g_summary->messages;
    TEST_ASSERT_TRUE(!m[0].from_event && m[1].from_event && m[2].from_event);
    TEST_ASSERT_EQUAL_STRING("two\nlines ", m[1].text);
    TEST_ASSERT_EQUAL_UINT64(2, m[1].count);
    TEST_ASSERT_EQUAL_STRING("nodes were not assigned", m[2].text);
    TEST_ASSERT_EQUAL_INT64(3, m[2].level);
}

static void test_devices_of_providers(void)
{
    static const char gpu[] = "executionProviderType=DmlExecutionProvider\nhardwareDeviceType=GPU\n"
                              "hardwareVendorId=1\nhardwareVendor=AMD\nassignedNodeCount=12";
    load(1, 1, 100, "m", 0);
    event(1, 4, "EpDeviceUsage", gpu);
    event(1, 4, "EpDeviceUsage", gpu);
    event(2, 4, "EpDeviceUsage", "hardwareDeviceType=NPU");
    session(1);
    TEST_ASSERT_EQUAL_size_t(2, g_summary->device_count);
    TEST_ASSERT_EQUAL_STRING("DmlExecutionProvider", g_summary->devices[0].provider);
    TEST_ASSERT_EQUAL_STRING("GPU", g_summary->devices[0].type);
    TEST_ASSERT_EQUAL_STRING("AMD", g_summary->devices[0].vendor);
    TEST_ASSERT_EQUAL_INT64(12, g_summary->devices[0].nodes);
    TEST_ASSERT_EQUAL_INT64(-1, g_summary->devices[1].nodes);
    TEST_ASSERT_EQUAL_STRING("", g_summary->devices[1].provider);
    TEST_ASSERT_EQUAL_STRING("NPU", g_summary->devices[1].type);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_phases);
    RUN_TEST(test_first_and_later_loads_of_a_model);
    RUN_TEST(test_models_given_as_bytes_are_known_by_their_hash);
    RUN_TEST(test_models_seen_by_events_need_more_than_a_name);
    RUN_TEST(test_models_seen_by_events_are_told_apart_by_hashes);
    RUN_TEST(test_failed_loads_and_sessions_from_before_do_not_count);
    RUN_TEST(test_errors_among_events_are_messages);
    RUN_TEST(test_devices_of_providers);
    return UNITY_END();
}
