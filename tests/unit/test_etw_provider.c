// SPDX-License-Identifier: MIT
// The provider against a stand-in for ETW: names and GUIDs, who listens to what, batches, sequence
// numbers, events that ETW does not take.
#include "etw_recorder.h"

#include "tracelogging/marks.h"

#include <stdio.h>
#include <string.h>
#include <unity.h>

static tl_provider g_provider;
static tl_etw_thread g_thread, g_other;
static tl_etw_batch g_batches[2];
static unsigned g_changes, g_states;

static void on_changed(void *context, bool state_wanted)
{
    TEST_ASSERT_EQUAL_PTR(&g_changes, context);
    g_changes++;
    g_states += state_wanted;
}

void setUp(void)
{
    etw_recorder_reset();
    memset(&g_provider, 0, sizeof g_provider);
    memset(&g_thread, 0, sizeof g_thread);
    memset(&g_other, 0, sizeof g_other);
    memset(g_batches, 0, sizeof g_batches);
    g_thread.id = 100;
    g_other.id = 200;
    g_thread.batches[TL_BATCH_OP] = &g_batches[0];
    g_other.batches[TL_BATCH_OP] = &g_batches[1];
    g_changes = g_states = 0;
    g_provider.changed = on_changed;
    g_provider.context = &g_changes;
    TEST_ASSERT_TRUE(tl_provider_open_hook(&g_provider, &etw_recorder_api));
}

void tearDown(void)
{
    tl_provider_close(&g_provider);
}

static void test_guids_come_from_names(void)
{
    static const char *const vectors[][2] = {
        {"sonde-gateway", "559e1292-fdb4-551e-6ee3-4e8c6d9da223"},
        {"MySource", "a61ea624-4944-55fc-c2a8-37838829438d"},
        {"PerfView", "a8a71ac1-040f-54a2-07ca-00a89b5ab761"},
        {"Microsoft-Build", "d44a2098-821f-5808-4cea-1e24e982ca37"},
        {"Atum-Hw3d", "2c759654-e0cc-5e69-a99d-480ab2fa0c64"},
        {"CSharpTraceLoggingEventSource", "a214eced-be64-5e23-fac1-1d7b9052efa4"},
        {"Microsoft.Windows.UpdateReserveManager", "6a5ccfd4-cf02-5640-0b5f-d2e031258f16"}};
    uint8_t guid[16];
    char text[TL_GUID_TEXT];
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        tl_guid_of_name(vectors[i][0], guid);
        tl_guid_text(guid, text);
        TEST_ASSERT_EQUAL_STRING(vectors[i][1], text);
    }
    tl_guid_of_name(TL_PROVIDER_NAME, guid);
    TEST_ASSERT_EQUAL_MEMORY(guid, tl_provider_guid, 16);
    tl_guid_of_name(TL_COLLECTOR_PROVIDER_NAME, guid);
    TEST_ASSERT_EQUAL_MEMORY(guid, tl_collector_provider_guid, 16);
}

static void test_registers_with_name_and_guid(void)
{
    TEST_ASSERT_EQUAL(1, g_etw.registered);
    TEST_ASSERT_EQUAL_MEMORY(tl_provider_guid, g_etw.guid, 16);
    TEST_ASSERT_EQUAL_STRING(TL_PROVIDER_NAME, g_etw.traits_set + 2);
    TEST_ASSERT_EQUAL(2 + sizeof TL_PROVIDER_NAME, (uint8_t)g_etw.traits_set[0]);
    tl_provider_close(&g_provider);
    TEST_ASSERT_EQUAL(1, g_etw.unregistered);
    tl_provider_close(&g_provider);
    TEST_ASSERT_EQUAL(1, g_etw.unregistered);
    TEST_ASSERT_TRUE(tl_provider_open_hook(&g_provider, &etw_recorder_api)); // armed again
    TEST_ASSERT_EQUAL(2, g_etw.registered);
}

static void test_without_etw_nothing_is_wanted(void)
{
    static tl_provider none;
    TEST_ASSERT_FALSE(tl_provider_open_hook(&none, NULL));
    TEST_ASSERT_EQUAL_UINT64(0, tl_provider_wanted(&none));
    TEST_ASSERT_FALSE(tl_etw_write(&none, &g_thread, TL_EVENT_Run, 1, 1, NULL, 0));
    tl_provider_close(&none);
}

static void test_level_and_keyword_choose_events(void)
{
    TEST_ASSERT_EQUAL_UINT64(0, tl_provider_wanted(&g_provider));
    etw_enable(TL_ETW_ENABLE, TL_LEVEL_INFO, TL_KW_RUN | TL_KW_OP);
    TEST_ASSERT_TRUE(tl_provider_wants(&g_provider, TL_EVENT_Run));
    TEST_ASSERT_TRUE(tl_provider_wants(&g_provider, TL_EVENT_Kernel));
    TEST_ASSERT_TRUE(tl_provider_wants(&g_provider, TL_EVENT_Clock));
    TEST_ASSERT_FALSE(tl_provider_wants(&g_provider, TL_EVENT_Op)); // verbose
    TEST_ASSERT_FALSE(tl_provider_wants(&g_provider, TL_EVENT_Session));
    etw_enable(TL_ETW_ENABLE, TL_LEVEL_VERBOSE, TL_KW_OP);
    TEST_ASSERT_TRUE(tl_provider_wants(&g_provider, TL_EVENT_Op));
    TEST_ASSERT_FALSE(tl_provider_wants(&g_provider, TL_EVENT_Run));
    etw_enable(TL_ETW_ENABLE, 0, 0); // everything
    TEST_ASSERT_EQUAL_HEX64(((uint64_t)1 << TL_EVENT_COUNT) - 2, tl_provider_wanted(&g_provider));
    TEST_ASSERT_EQUAL(3, g_changes);
    TEST_ASSERT_EQUAL(3, g_states);
    etw_enable(TL_ETW_CAPTURE_STATE, TL_LEVEL_ERROR, TL_KW_LOG);
    TEST_ASSERT_TRUE(tl_provider_wants(&g_provider, TL_EVENT_Op)); // changes nothing
    TEST_ASSERT_EQUAL(4, g_states);
    etw_enable(TL_ETW_DISABLE, 0, 0);
    TEST_ASSERT_EQUAL_UINT64(0, tl_provider_wanted(&g_provider));
    TEST_ASSERT_EQUAL(5, g_changes);
    TEST_ASSERT_EQUAL(4, g_states);
}

static void write_run(uint32_t run)
{
    tl_Run fixed = {.run = run, .session = 3};
    const tl_etw_part part = {&fixed, sizeof fixed};
    tl_etw_write(&g_provider, &g_thread, TL_EVENT_Run, g_thread.id, 1000 + run, &part, 1);
}

static void test_payload_follows_prefix(void)
{
    etw_enable(TL_ETW_ENABLE, 0, 0);
    write_run(5);
    const etw_recorded *e = etw_find("Run", 0);
    tl_etw_prefix prefix = etw_prefix(e);
    TEST_ASSERT_EQUAL_UINT32(1, prefix.sequence);
    TEST_ASSERT_EQUAL_UINT32(100, prefix.thread);
    TEST_ASSERT_EQUAL_UINT64(1005, prefix.ticks);
    TEST_ASSERT_EQUAL(sizeof prefix + sizeof(tl_Run), e->data_len);
    tl_Run run;
    memcpy(&run, e->data + sizeof prefix, sizeof run);
    TEST_ASSERT_EQUAL_UINT32(5, run.run);
    TEST_ASSERT_EQUAL(TL_LEVEL_INFO, e->level);
    TEST_ASSERT_EQUAL_UINT64(TL_KW_RUN, e->keyword);
    TEST_ASSERT_EQUAL_STRING(TL_PROVIDER_NAME, (const char *)e->traits + 2);
}

static void test_sequence_counts_by_level_and_keyword(void)
{
    etw_enable(TL_ETW_ENABLE, 0, 0);
    tl_Session session = {0};
    const tl_etw_part part = {&session, sizeof session};
    write_run(1);
    tl_etw_write(&g_provider, &g_thread, TL_EVENT_Session, 100, 1, &part, 1);
    write_run(2);
    TEST_ASSERT_EQUAL_UINT32(1, etw_prefix(etw_find("Session", 0)).sequence);
    TEST_ASSERT_EQUAL_UINT32(2, etw_prefix(etw_find("Run", 1)).sequence);
    tl_ShapeSet set = {0}; // of the same level and keyword as Run
    const tl_etw_part other = {&set, sizeof set};
    tl_etw_write(&g_provider, &g_thread, TL_EVENT_ShapeSet, 100, 1, &other, 1);
    TEST_ASSERT_EQUAL_UINT32(3, etw_prefix(etw_find("ShapeSet", 0)).sequence);
}

static void test_refused_events_leave_a_gap(void)
{
    etw_enable(TL_ETW_ENABLE, 0, 0);
    write_run(1);
    g_etw.answer = TL_ETW_NO_BUFFER;
    write_run(2);
    write_run(3);
    g_etw.answer = 0;
    write_run(4);
    TEST_ASSERT_EQUAL_UINT64(2, g_provider.failed);
    TEST_ASSERT_EQUAL_UINT32(TL_ETW_NO_BUFFER, g_provider.last_failure);
    TEST_ASSERT_EQUAL(2, etw_count("Run"));
    TEST_ASSERT_EQUAL_UINT32(4, etw_prefix(etw_find("Run", 1)).sequence);
}

// ------------------------------------------------------------------------------------- batches

static void gather(tl_etw_thread *t, uint32_t kernel, uint64_t key)
{
    tl_Op op = {.kernel = kernel, .duration_ticks = 9};
    tl_etw_gather(&g_provider, t, TL_EVENT_Op, key, 2000 + kernel, &op, sizeof op);
}

static unsigned elements(const etw_recorded *e)
{
    uint16_t count;
    TEST_ASSERT_NOT_NULL(e);
    memcpy(&count, e->data + sizeof(tl_etw_prefix), sizeof count);
    TEST_ASSERT_EQUAL(sizeof(tl_etw_prefix) + 2 + count * (8 + sizeof(tl_Op)), e->data_len);
    return count;
}

static void test_operators_of_a_run_are_one_event(void)
{
    etw_enable(TL_ETW_ENABLE, 0, 0);
    for (uint32_t i = 1; i <= 200; i++)
        gather(&g_thread, i, 1);
    TEST_ASSERT_EQUAL(0, g_etw.count);
    TEST_ASSERT_TRUE(tl_etw_flush(&g_provider, &g_thread, &g_thread, TL_BATCH_OP));
    TEST_ASSERT_EQUAL(1, g_etw.count);
    TEST_ASSERT_EQUAL(200, elements(etw_find("Ops", 0)));
    TEST_ASSERT_EQUAL_UINT64(2200, etw_prefix(etw_find("Ops", 0)).ticks);
    TEST_ASSERT_TRUE(tl_etw_flush(&g_provider, &g_thread, &g_thread, TL_BATCH_OP));
    TEST_ASSERT_EQUAL(1, g_etw.count); // nothing was left
}

static void test_full_and_foreign_batches_are_written_first(void)
{
    etw_enable(TL_ETW_ENABLE, 0, 0);
    gather(&g_thread, 1, 1);
    gather(&g_thread, 2, 2); // another run
    TEST_ASSERT_EQUAL(1, etw_count("Ops"));
    unsigned fit = TL_BATCH_BYTES / (8 + sizeof(tl_Op));
    for (uint32_t i = 1; i < fit; i++)
        gather(&g_thread, i, 2);
    TEST_ASSERT_EQUAL(1, etw_count("Ops"));
    gather(&g_thread, 9, 2);
    TEST_ASSERT_EQUAL(2, etw_count("Ops"));
    TEST_ASSERT_EQUAL(fit, elements(etw_find("Ops", 1)));
}

static void test_other_threads_flush(void)
{
    etw_enable(TL_ETW_ENABLE, 0, 0);
    gather(&g_other, 1, 1);
    TEST_ASSERT_TRUE(tl_etw_flush(&g_provider, &g_thread, &g_other, TL_BATCH_OP));
    TEST_ASSERT_EQUAL_UINT32(200, etw_prefix(etw_find("Ops", 0)).thread);
    // The sequence is the writer's: a reader sees who wrote it.
    TEST_ASSERT_EQUAL_UINT32(1, g_thread.sequence[g_provider.leader[TL_EVENT_Op]]);
    TEST_ASSERT_EQUAL_UINT32(0, g_other.sequence[g_provider.leader[TL_EVENT_Op]]);
}

static void test_nothing_waits_for_a_batch_in_use(void)
{
    etw_enable(TL_ETW_ENABLE, 0, 0);
    g_batches[0].lock = 1;
    gather(&g_thread, 1, 1);
    TEST_ASSERT_EQUAL(1, elements(etw_find("Ops", 0)));                            // alone
    TEST_ASSERT_TRUE(tl_etw_flush(&g_provider, &g_other, &g_thread, TL_BATCH_OP)); // is empty
    g_batches[0].lock = 0;
    gather(&g_thread, 2, 1);
    g_batches[0].lock = 1;
    TEST_ASSERT_FALSE(tl_etw_flush(&g_provider, &g_other, &g_thread, TL_BATCH_OP));
    g_batches[0].lock = 0;
    g_thread.batches[TL_BATCH_OP] = NULL; // no memory for one
    gather(&g_thread, 3, 1);
    TEST_ASSERT_EQUAL(2, etw_count("Ops"));
}

static void test_small_buffers_make_small_batches(void)
{
    etw_enable(TL_ETW_ENABLE, 0, 0);
    g_etw.answer = TL_ETW_TOO_BIG;
    for (uint32_t i = 1; i <= 10; i++)
        gather(&g_thread, i, 1);
    tl_etw_flush(&g_provider, &g_thread, &g_thread, TL_BATCH_OP);
    TEST_ASSERT_EQUAL_UINT64(10, g_provider.failed); // operators, not batches
    TEST_ASSERT_EQUAL_UINT32(TL_BATCH_BYTES / 2, g_provider.batch_bytes);
    for (uint32_t i = 0; i < 20; i++)
        write_run(i);
    TEST_ASSERT_GREATER_OR_EQUAL(512, g_provider.batch_bytes);
}

static void test_marks_have_metadata(void)
{
    static tl_provider marks;
    TEST_ASSERT_TRUE(tl_provider_open(&marks, &etw_recorder_api, TL_COLLECTOR_PROVIDER_NAME,
                                      tl_collector_provider_guid, tl_mark_get((tl_mark)1),
                                      TL_MARK_COUNT, tl_mark_metadata));
    etw_enable(TL_ETW_ENABLE, TL_LEVEL_WARNING, 0);
    TEST_ASSERT_EQUAL_HEX64(1u << TL_MARK_Loss, tl_provider_wanted(&marks));
    tl_mark_Loss fixed = {.events = 4, .process = 1, .cause = 2};
    const tl_etw_part part = {&fixed, sizeof fixed};
    TEST_ASSERT_TRUE(tl_etw_write(&marks, &g_thread, TL_MARK_Loss, 1, 2, &part, 1));
    TEST_ASSERT_EQUAL(1, etw_count("Loss"));
    tl_provider_close(&marks);
    g_etw.unregistered = 0;
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_guids_come_from_names);
    RUN_TEST(test_registers_with_name_and_guid);
    RUN_TEST(test_without_etw_nothing_is_wanted);
    RUN_TEST(test_level_and_keyword_choose_events);
    RUN_TEST(test_payload_follows_prefix);
    RUN_TEST(test_sequence_counts_by_level_and_keyword);
    RUN_TEST(test_refused_events_leave_a_gap);
    RUN_TEST(test_operators_of_a_run_are_one_event);
    RUN_TEST(test_full_and_foreign_batches_are_written_first);
    RUN_TEST(test_other_threads_flush);
    RUN_TEST(test_nothing_waits_for_a_batch_in_use);
    RUN_TEST(test_small_buffers_make_small_batches);
    RUN_TEST(test_marks_have_metadata);
    return UNITY_END();
}
