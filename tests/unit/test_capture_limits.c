// SPDX-License-Identifier: MIT
// What a capture has no room for (numbers, texts, memory) is told as lost, and never takes with it
// what is known already. The linker hands us tm_writer_string and realloc, so that they can fail.
#include "collector/capture.h"
#include "common/os.h"
#include "ids.h"
#include "timeline/timeline.h"
#include "tracelogging/channel.h"
#include "tracelogging/codec.h"

#include "unity.h"

#include <stdlib.h>
#include <string.h>

#define RINGS      4u
#define RING_BYTES TL_RING_BYTES_MIN
#define FILE_NAME  "test_capture_limits.ortl"
#define NO_ROOM    4 // timeline/kinds.h: lost.cause

static char *g_block;
static tl_section_header *g_section;
static co_capture *g_capture;
static uint32_t g_target;
static bool g_no_texts, g_no_memory, g_no_tables;
static int64_t g_least_inputs, g_most_inputs; // of the runs that were read back

int64_t __real_tm_writer_string(tm_writer *w, const char *text, size_t len);
int64_t __wrap_tm_writer_string(tm_writer *w, const char *text, size_t len);
int64_t __wrap_tm_writer_string(tm_writer *w, const char *text, size_t len)
{
    return g_no_texts ? 0 : __real_tm_writer_string(w, text, len);
}

void *__real_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes)
{
    return g_no_memory ? NULL : __real_realloc(block, bytes);
}

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
    return g_no_tables ? NULL : __real_calloc(count, bytes);
}

void setUp(void)
{
    g_block = calloc(1, tl_section_bytes(RINGS, RING_BYTES) + 4096);
    TEST_ASSERT_NOT_NULL(g_block);
    g_section = (void *)(g_block + (4096 - (uintptr_t)g_block % 4096));
    tl_section_init(g_section, RINGS, RING_BYTES);
    TEST_ASSERT_TRUE(tl_section_publish_schema(g_section));
    TEST_ASSERT_EQUAL(CM_OK, co_capture_create(FILE_NAME, co_anchor_now(), &g_capture));
    co_target target = {.section = g_section,
                        .ring_count = RINGS,
                        .ring_bytes = RING_BYTES,
                        .pid = 4242,
                        .program = "app.exe"};
    TEST_ASSERT_EQUAL(CM_OK, co_target_add(g_capture, &target, &g_target));
}

void tearDown(void)
{
    g_no_texts = g_no_memory = g_no_tables = false;
    if (g_capture)
        co_capture_close(g_capture);
    g_capture = NULL;
    free(g_block);
    cm_file_remove(FILE_NAME);
}

static void emit_run_with(tl_producer *p, uint32_t session, uint32_t inputs)
{
    tl_Run *run = tl_producer_begin(p, sizeof *run);
    TEST_ASSERT_NOT_NULL(run);
    *run = (tl_Run){.duration_ticks = 1, .session = session, .run = 1, .inputs = inputs};
    tl_producer_end(p, TL_EVENT_Run, __builtin_ia32_rdtsc(), sizeof *run);
}

static void emit_run(tl_producer *p, uint32_t session)
{
    emit_run_with(p, session, 0);
}

static void emit_module(tl_producer *p)
{
    uint8_t *payload = tl_producer_begin(p, 256);
    TEST_ASSERT_NOT_NULL(payload);
    tl_Module fixed = {.module = 1};
    memcpy(payload, &fixed, sizeof fixed);
    tl_encoder e = {payload + sizeof fixed, payload + 256};
    tl_put_string(&e, "a.dll", 5);
    tl_put_string(&e, "1.2.3", 5);
    tl_put_string(&e, "", 0);
    tl_producer_end(p, TL_EVENT_Module, __builtin_ia32_rdtsc(), (uint32_t)(e.at - payload));
}

// The events in rows of this cause, all of them without a process; and how many rows of a kind.
static int64_t close_and_count(int cause, tm_kind kind, size_t *out_rows)
{
    tm_reader *reader;
    tm_block block;
    int64_t events = 0;
    co_capture *capture = g_capture;
    g_capture = NULL;
    TEST_ASSERT_EQUAL(CM_OK, co_capture_close(capture));
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_open(FILE_NAME, &reader));
    *out_rows = 0;
    g_least_inputs = INT64_MAX;
    g_most_inputs = 0;
    while (tm_reader_next(reader, &block) == CM_OK) {
        *out_rows += block.kind == kind ? block.row_count : 0;
        for (size_t i = 0; block.kind == TM_KIND_run && i < block.row_count; i++) {
            int64_t inputs = block.columns[TM_run_inputs][i];
            g_least_inputs = inputs < g_least_inputs ? inputs : g_least_inputs;
            g_most_inputs = inputs > g_most_inputs ? inputs : g_most_inputs;
        }
        for (size_t i = 0; block.kind == TM_KIND_lost && i < block.row_count; i++) {
            TEST_ASSERT_EQUAL_INT64(cause, block.columns[TM_lost_cause][i]);
            TEST_ASSERT_EQUAL_INT64(0, block.columns[TM_lost_process][i]);
            events += block.columns[TM_lost_events][i];
        }
    }
    tm_reader_close(reader);
    return events;
}

// ------------------------------------------------------------------------------------------- tests

// Those that nobody asked for since long make room; the others are found.
static void test_numbers_in_use_are_found_when_too_many_come(void)
{
    enum { IN_USE = CO_IDS_MAX / 8, ALL = 3 * CO_IDS_MAX };
    static uint32_t got[IN_USE];
    co_ids ids = {0};
    for (int64_t number = 1; number <= ALL; number++) {
        TEST_ASSERT_NOT_EQUAL_UINT32(0, co_ids_get(&ids, 1, number));
        size_t again = (size_t)number % IN_USE; // each of these once in as many
        uint32_t id = co_ids_get(&ids, 2, (int64_t)again + 1);
        TEST_ASSERT_TRUE(id && (!got[again] || got[again] == id));
        got[again] = id;
    }
    TEST_ASSERT_TRUE(ids.count <= CO_IDS_MAX);
    TEST_ASSERT_EQUAL_size_t(CO_IDS_MAX * 2, ids.capacity);
    for (int64_t number = ALL - 1000; number <= ALL; number++)
        TEST_ASSERT_TRUE(co_ids_get(&ids, 1, number) <= ALL + IN_USE);  // known
    TEST_ASSERT_EQUAL_UINT32(ALL + IN_USE + 1, co_ids_get(&ids, 1, 1)); // forgotten
    ids.last = UINT32_MAX;
    TEST_ASSERT_EQUAL_UINT32(0, co_ids_get(&ids, 3, 1));
    co_ids_deinit(&ids);
}

// Kernels of sessions that come and go: far more than fit at once, each with a number of its own.
static void test_numbers_that_come_and_go(void)
{
    enum { LIVE = 500, PERIOD = 10000, ALL = 3 * CO_IDS_MAX };
    co_ids ids = {0};
    TEST_ASSERT_EQUAL_UINT32(1, co_ids_get(&ids, 7, 1000)); // stays
    for (int64_t number = 1; number <= ALL; number++) {
        TEST_ASSERT_EQUAL_UINT32(number + 1, co_ids_get(&ids, 1, number));
        if (number > LIVE) {
            // Ended, and heard of again from another ring.
            co_ids_ended(&ids, 1, number - LIVE);
            TEST_ASSERT_EQUAL_UINT32(number - LIVE + 1, co_ids_get(&ids, 1, number - LIVE));
        }
        if (number % PERIOD == 0)
            co_ids_age(&ids);
    }
    TEST_ASSERT_EQUAL_UINT32(1, co_ids_get(&ids, 7, 1000));
    for (int64_t number = ALL - LIVE + 1; number <= ALL; number++)
        TEST_ASSERT_EQUAL_UINT32(number + 1, co_ids_get(&ids, 1, number));
    TEST_ASSERT_TRUE(ids.count <= LIVE + 3 * PERIOD && ids.capacity <= 8 * PERIOD * 2);
    co_ids_age(&ids);
    co_ids_age(&ids);
    TEST_ASSERT_EQUAL_size_t(LIVE + 1, ids.count);
    co_ids_deinit(&ids);
}

static void test_events_without_a_number_are_told_as_lost(void)
{
    tl_producer p = {0};
    TEST_ASSERT_TRUE(tl_producer_claim(&p, g_section, 11));
    g_no_tables = true;
    for (uint32_t i = 1; i <= 7; i++)
        emit_run(&p, i);
    co_capture_drain(g_capture);
    g_no_tables = false;
    emit_run(&p, 1);
    co_capture_drain(g_capture);
    TEST_ASSERT_EQUAL_UINT64(1, co_capture_stats(g_capture).runs);
    size_t runs;
    TEST_ASSERT_EQUAL_INT64(7, close_and_count(NO_ROOM, TM_KIND_run, &runs));
    TEST_ASSERT_EQUAL_size_t(1, runs);
}

static void emit_shape(tl_producer *p, uint32_t set)
{
    tl_ShapeSet *shape = tl_producer_begin(p, sizeof *shape);
    TEST_ASSERT_NOT_NULL(shape);
    *shape = (tl_ShapeSet){.set = set, .session = 1};
    tl_producer_end(p, TL_EVENT_ShapeSet, __builtin_ia32_rdtsc(), sizeof *shape);
}

// Inputs that keep changing: each set is told anew when it comes back, and 256 are in use at once.
static void test_shape_sets_come_and_never_end(void)
{
    enum { LIVE = 256, ALL = CO_IDS_MAX + CO_IDS_MAX / 8 };
    tl_producer p = {0};
    size_t shapes;
    TEST_ASSERT_TRUE(tl_producer_claim(&p, g_section, 11));
    for (uint32_t set = 1; set <= ALL; set++) {
        emit_shape(&p, set);
        emit_run_with(&p, 1, set > LIVE ? set - LIVE + 1 : 1);
        emit_run_with(&p, 1, 1); // inputs that stay
        if (set % 256 == 0)
            co_capture_drain(g_capture);
    }
    co_capture_drain(g_capture);
    TEST_ASSERT_EQUAL_INT64(0, close_and_count(NO_ROOM, TM_KIND_shape, &shapes));
    TEST_ASSERT_EQUAL_size_t(ALL, shapes);
    // Every set has one number, in their order.
    TEST_ASSERT_EQUAL_INT64(1, g_least_inputs);
    TEST_ASSERT_EQUAL_INT64(ALL - LIVE + 1, g_most_inputs);
}

static void test_texts_without_room_are_told_once_per_event(void)
{
    tl_producer p = {0};
    TEST_ASSERT_TRUE(tl_producer_claim(&p, g_section, 11));
    emit_module(&p);
    co_capture_drain(g_capture);
    g_no_texts = true;
    emit_module(&p);
    emit_module(&p);
    co_capture_drain(g_capture);
    co_capture_log(g_capture, 0, 3, "a remark");
    size_t modules;
    TEST_ASSERT_EQUAL_INT64(3, close_and_count(NO_ROOM, TM_KIND_module, &modules));
    TEST_ASSERT_EQUAL_size_t(3, modules);
}

static void test_rows_without_memory_are_told_when_there_is_some(void)
{
    tl_producer p = {0};
    TEST_ASSERT_TRUE(tl_producer_claim(&p, g_section, 11));
    TEST_ASSERT_EQUAL(CM_OK, co_capture_flush(g_capture));
    for (int i = 0; i < 7; i++)
        emit_run(&p, 1);
    g_no_memory = true;
    co_capture_drain(g_capture);
    co_capture_flush(g_capture); // no memory to tell it either
    TEST_ASSERT_EQUAL_UINT64(0, co_capture_stats(g_capture).lost_events);
    g_no_memory = false;
    TEST_ASSERT_EQUAL(CM_OK, co_capture_flush(g_capture));
    TEST_ASSERT_EQUAL_UINT64(7, co_capture_stats(g_capture).lost_events);
    size_t runs;
    TEST_ASSERT_EQUAL_INT64(7, close_and_count(NO_ROOM, TM_KIND_run, &runs));
    TEST_ASSERT_EQUAL_size_t(0, runs);
}

static size_t log_rows_with(const char *part)
{
    tm_reader *reader;
    tm_block block;
    size_t count = 0;
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_open(FILE_NAME, &reader));
    while (tm_reader_next(reader, &block) == CM_OK)
        for (size_t i = 0; block.kind == TM_KIND_log && i < block.row_count; i++)
            count +=
                strstr(tm_reader_string(reader, block.columns[TM_log_message][i]), part) != NULL;
    tm_reader_close(reader);
    return count;
}

// `--ops slow` can't keep what no run is known of: the file says so at once, since nobody knows
// whether the recording is killed, and how many these were at the end.
static void test_operators_that_no_run_is_known_of(void)
{
    tl_producer p = {0};
    co_capture_choose_ops(g_capture, (co_op_choice){CO_OPS_LONGER, 1});
    TEST_ASSERT_TRUE(tl_producer_claim(&p, g_section, 11));
    TEST_ASSERT_EQUAL(CM_OK, co_capture_flush(g_capture));
    TEST_ASSERT_EQUAL_size_t(0, log_rows_with("these are left out"));
    for (uint32_t run = 0; run < 4; run++) {
        tl_Op *op = tl_producer_begin(&p, sizeof *op);
        TEST_ASSERT_NOT_NULL(op);
        *op = (tl_Op){.kernel = 1, .session = 1, .run = run % 2};
        tl_producer_end(&p, TL_EVENT_Op, __builtin_ia32_rdtsc(), sizeof *op);
        co_capture_drain(g_capture);
        TEST_ASSERT_EQUAL(CM_OK, co_capture_flush(g_capture));
    }
    TEST_ASSERT_EQUAL_size_t(1, log_rows_with("these are left out"));
    TEST_ASSERT_EQUAL_size_t(0, log_rows_with("2 executions of operators left out"));
    TEST_ASSERT_EQUAL(CM_OK, co_capture_close(g_capture));
    g_capture = NULL;
    TEST_ASSERT_EQUAL_size_t(1, log_rows_with("these are left out"));
    TEST_ASSERT_EQUAL_size_t(1, log_rows_with("2 executions of operators left out"));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_numbers_in_use_are_found_when_too_many_come);
    RUN_TEST(test_numbers_that_come_and_go);
    RUN_TEST(test_events_without_a_number_are_told_as_lost);
    RUN_TEST(test_shape_sets_come_and_never_end);
    RUN_TEST(test_texts_without_room_are_told_once_per_event);
    RUN_TEST(test_rows_without_memory_are_told_when_there_is_some);
    RUN_TEST(test_operators_that_no_run_is_known_of);
    return UNITY_END();
}
