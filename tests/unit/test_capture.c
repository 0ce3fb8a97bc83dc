// SPDX-License-Identifier: MIT
// The collector on plain memory: a pretended hook writes events into a channel, the capture makes a
// timeline of them, the reader tells what came out.
#include "collector/capture.h"
#include "common/os.h"
#include "timeline/timeline.h"
#include "tracelogging/channel.h"
#include "tracelogging/codec.h"

#include "unity.h"

#include <stdlib.h>
#include <string.h>

#define RINGS      4u
#define RING_BYTES TL_RING_BYTES_MIN
#define FILE_NAME  "test_capture.ortl"

static char *g_block;
static tl_section_header *g_section;
static co_capture *g_capture;
static tm_reader *g_reader;
static uint32_t g_target;

static void make_section(void)
{
    size_t bytes = tl_section_bytes(RINGS, RING_BYTES);
    g_block = calloc(1, bytes + 4096);
    TEST_ASSERT_NOT_NULL(g_block);
    g_section = (void *)(g_block + (4096 - (uintptr_t)g_block % 4096));
    tl_section_init(g_section, RINGS, RING_BYTES);
    TEST_ASSERT_TRUE(tl_section_publish_schema(g_section));
}

void setUp(void)
{
    make_section();
    TEST_ASSERT_EQUAL(CM_OK, co_capture_create(FILE_NAME, co_anchor_now(), &g_capture));
    co_target target = {.section = g_section,
                        .ring_count = RINGS,
                        .ring_bytes = RING_BYTES,
                        .pid = 4242,
                        .how = 1,
                        .program = "C:\\app.exe"};
    TEST_ASSERT_EQUAL(CM_OK, co_target_add(g_capture, &target, &g_target));
}

void tearDown(void)
{
    if (g_capture)
        co_capture_close(g_capture);
    g_capture = NULL;
    tm_reader_close(g_reader);
    g_reader = NULL;
    free(g_block);
    cm_file_remove(FILE_NAME);
}

// ------------------------------------------------------------------------------ the pretended hook

static tl_producer claim(uint32_t thread)
{
    tl_producer p = {0};
    TEST_ASSERT_TRUE(tl_producer_claim(&p, g_section, thread));
    return p;
}

static bool emit(tl_producer *p, tl_event event, const void *fixed, size_t bytes,
                 const char *const *texts, size_t text_count)
{
    uint8_t *payload = tl_producer_begin(p, 4096);
    if (!payload)
        return false;
    memcpy(payload, fixed, bytes);
    tl_encoder e = {payload + bytes, payload + 4096};
    for (size_t i = 0; i < text_count; i++)
        tl_put_string(&e, texts[i], strlen(texts[i]));
    tl_producer_end(p, (uint16_t)event, __builtin_ia32_rdtsc(), (uint32_t)(e.at - payload));
    return true;
}

static bool emit_run(tl_producer *p, uint32_t session, uint32_t run, uint8_t status)
{
    tl_Run fixed = {.duration_ticks = 1000,
                    .session = session,
                    .run = run,
                    .inputs = 1,
                    .outputs = 2,
                    .in_flight = 3,
                    .call = 2,
                    .status = status};
    return emit(p, TL_EVENT_Run, &fixed, sizeof fixed, NULL, 0);
}

static void emit_session(tl_producer *p, uint32_t session, const char *model)
{
    tl_Session fixed = {.session = session, .module = 1, .model_bytes = 77, .source = 1};
    const char *const texts[] = {model, "graph", "producer", "a=b\nc=d", "X,CPU", ""};
    TEST_ASSERT_TRUE(emit(p, TL_EVENT_Session, &fixed, sizeof fixed, texts, 6));
}

// ------------------------------------------------------------------------------------ reading back

typedef struct rows {
    int64_t values[TM_KIND_COUNT][64][TM_MAX_COLUMNS];
    size_t of_kind[TM_KIND_COUNT];
} rows;

static rows g_rows;

static void close_and_read(void)
{
    co_capture *capture = g_capture;
    g_capture = NULL;
    TEST_ASSERT_EQUAL(CM_OK, co_capture_close(capture));
    memset(&g_rows, 0, sizeof g_rows);
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_open(FILE_NAME, &g_reader));
    tm_block block;
    while (tm_reader_next(g_reader, &block) == CM_OK) {
        unsigned columns = tm_kind_get(block.kind)->column_count;
        for (size_t r = 0; r < block.row_count; r++) {
            size_t at = g_rows.of_kind[block.kind]++;
            for (unsigned c = 0; at < 64 && c < columns; c++)
                g_rows.values[block.kind][at][c] = block.columns[c][r];
        }
    }
    TEST_ASSERT_NULL(tm_reader_damage(g_reader));
}

#define CELL(kind, row, column) (g_rows.values[TM_KIND_##kind][row][TM_##kind##_##column])

static const char *text_of(int64_t id)
{
    return tm_reader_string(g_reader, id);
}

// ------------------------------------------------------------------------------------------- tests

static void emit_ort_event(tl_producer *p, const char *name, const char *fields)
{
    tl_OrtEvent event = {.module = 1, .level = 5};
    const char *const texts[] = {name, fields};
    TEST_ASSERT_TRUE(emit(p, TL_EVENT_OrtEvent, &event, sizeof event, texts, 2));
}

#define QNN(message, value, unit, identifier)                                                      \
    "Timestamp=1\nMessage=" message "\nValue=" value "\nUnit of Measurement=" unit                 \
    "\nTiming Source=BACKEND\nEvent Level=ROOT\nEvent Identifier=" identifier

static void test_measurements_of_qnn_become_lanes_with_units(void)
{
    tl_producer p = claim(11);
    emit_ort_event(&p, "QNNProfilingEvent", QNN("EXECUTE", "3100", "US", "NULL"));
    emit_ort_event(&p, "QNNProfilingEvent", QNN("NODE", "6000", "CYCLES", "Conv_1"));
    emit_ort_event(&p, "QNNProfilingEvent", QNN("EXECUTE", "3100", "US", "NULL"));
    emit_ort_event(&p, "QNNProfilingEvent", QNN("NODE", "12.5", "US", "Conv_1"));
    // no numbers, no units, cut texts, another event
    emit_ort_event(&p, "QNNProfilingEvent", QNN("NODE", "x", "US", "Conv_1"));
    emit_ort_event(&p, "QNNProfilingEvent", QNN("NODE", "1", "OBJECT", "Conv_1"));
    emit_ort_event(&p, "QNNProfilingEvent", QNN("NODE", "nan", "US", "Conv_1"));
    emit_ort_event(&p, "QNNProfilingEvent", "Message=EXECUTE\nValue");
    emit_ort_event(&p, "EvaluationStart", QNN("EXECUTE", "1", "US", "NULL"));
    co_capture_drain(g_capture);
    close_and_read();
    TEST_ASSERT_EQUAL_size_t(9, g_rows.of_kind[TM_KIND_ort_event]);
    TEST_ASSERT_EQUAL_size_t(3, g_rows.of_kind[TM_KIND_counter]);
    TEST_ASSERT_EQUAL_size_t(4, g_rows.of_kind[TM_KIND_sample]);
    TEST_ASSERT_EQUAL_STRING("execute", text_of(CELL(counter, 0, subject)));
    TEST_ASSERT_EQUAL_STRING("s", text_of(CELL(counter, 0, unit)));
    TEST_ASSERT_EQUAL_STRING("node: Conv_1", text_of(CELL(counter, 1, subject)));
    TEST_ASSERT_EQUAL_STRING("cycles", text_of(CELL(counter, 1, unit)));
    TEST_ASSERT_EQUAL_INT64(1000000000, CELL(counter, 2, per_unit));
    TEST_ASSERT_EQUAL_INT64(g_target, CELL(counter, 0, process));
    // each measurement is a row, also if it is the same again
    TEST_ASSERT_EQUAL_INT64(3100000, CELL(sample, 0, value));
    TEST_ASSERT_EQUAL_INT64(6000, CELL(sample, 1, value));
    TEST_ASSERT_EQUAL_INT64(3100000, CELL(sample, 2, value));
    TEST_ASSERT_EQUAL_INT64(12500, CELL(sample, 3, value));
    TEST_ASSERT_EQUAL_INT64(CELL(counter, 0, counter), CELL(sample, 2, counter));
}

static void test_events_become_rows(void)
{
    tl_producer p = claim(11);
    tl_Module module = {.module = 1, .hooked = 60, .refused = 1};
    const char *const module_texts[] = {"C:\\onnxruntime.dll", "1.23.2", "build"};
    emit(&p, TL_EVENT_Module, &module, sizeof module, module_texts, 3);
    emit_session(&p, 1, "m.onnx");
    emit_run(&p, 1, 1, 0);
    emit_run(&p, 1, 2, 6);
    TEST_ASSERT_EQUAL_size_t(4, co_capture_drain(g_capture));
    TEST_ASSERT_EQUAL_UINT64(2, co_capture_stats(g_capture).runs);
    TEST_ASSERT_EQUAL_UINT64(1, co_capture_stats(g_capture).failed_runs);
    co_target_end(g_capture, g_target, 0, 9);
    close_and_read();
    TEST_ASSERT_EQUAL_INT64(4242, CELL(process, 0, pid));
    TEST_ASSERT_EQUAL_STRING("C:\\app.exe", text_of(CELL(process, 0, program)));
    TEST_ASSERT_EQUAL_STRING("1.23.2", text_of(CELL(module, 0, version)));
    TEST_ASSERT_EQUAL_INT64(60, CELL(module, 0, hooked));
    TEST_ASSERT_EQUAL_STRING("m.onnx", text_of(CELL(session, 0, model)));
    TEST_ASSERT_EQUAL_STRING("a=b\nc=d", text_of(CELL(session, 0, options)));
    TEST_ASSERT_EQUAL_INT64(77, CELL(session, 0, model_bytes));
    TEST_ASSERT_EQUAL_size_t(2, g_rows.of_kind[TM_KIND_run]);
    TEST_ASSERT_EQUAL_INT64(CELL(session, 0, session), CELL(run, 1, session));
    TEST_ASSERT_EQUAL_INT64(2, CELL(run, 1, run));
    TEST_ASSERT_EQUAL_INT64(6, CELL(run, 1, status));
    TEST_ASSERT_EQUAL_INT64(11, CELL(run, 1, thread));
    TEST_ASSERT_EQUAL_INT64(3, CELL(run, 1, in_flight));
    TEST_ASSERT_TRUE(CELL(run, 1, begin) >= CELL(run, 0, begin));
    TEST_ASSERT_TRUE(CELL(run, 0, duration) > 0);
    TEST_ASSERT_EQUAL_INT64(9, CELL(process_end, 0, exit_code));
}

static void test_shapes_are_text(void)
{
    tl_producer p = claim(11);
    tl_ShapeSet set = {.batch = 4, .set = 7, .session = 1, .tensors = 1};
    emit(&p, TL_EVENT_ShapeSet, &set, sizeof set, NULL, 0);
    tl_Tensor tensor = {.set = 7, .onnx_type = 1, .element_type = 1};
    uint8_t *payload = tl_producer_begin(&p, 256);
    memcpy(payload, &tensor, sizeof tensor);
    tl_encoder e = {payload + sizeof tensor, payload + 256};
    tl_put_string(&e, "x", 1);
    tl_put_i64s(&e, (const int64_t[]){4, -1, 9223372036854775807}, 3);
    tl_producer_end(&p, TL_EVENT_Tensor, 1, (uint32_t)(e.at - payload));
    co_capture_drain(g_capture);
    close_and_read();
    TEST_ASSERT_EQUAL_INT64(4, CELL(shape, 0, batch));
    TEST_ASSERT_EQUAL_INT64(CELL(shape, 0, shape), CELL(tensor, 0, shape));
    TEST_ASSERT_EQUAL_STRING("4,-1,9223372036854775807", text_of(CELL(tensor, 0, dims)));
}

static void test_names_of_tensors_are_rows(void)
{
    tl_producer p = claim(11);
    tl_KernelNames names = {.kernel = 5}, none = {.kernel = 6};
    const char *const texts[] = {"a\n\nb", "c"};
    emit(&p, TL_EVENT_KernelNames, &names, sizeof names, texts, 2);
    emit(&p, TL_EVENT_KernelNames, &none, sizeof none, NULL, 0); // ends early
    co_capture_drain(g_capture);
    close_and_read();
    TEST_ASSERT_EQUAL_size_t(3, g_rows.of_kind[TM_KIND_kernel_tensor]);
    TEST_ASSERT_EQUAL_STRING("a", text_of(CELL(kernel_tensor, 0, name)));
    TEST_ASSERT_EQUAL_STRING("b", text_of(CELL(kernel_tensor, 1, name)));
    TEST_ASSERT_EQUAL_INT64(2, CELL(kernel_tensor, 1, index)); // the second is left out
    TEST_ASSERT_EQUAL_INT64(1, CELL(kernel_tensor, 2, direction));
    TEST_ASSERT_EQUAL_STRING("c", text_of(CELL(kernel_tensor, 2, name)));
    TEST_ASSERT_EQUAL_INT64(CELL(kernel_tensor, 0, kernel), CELL(kernel_tensor, 2, kernel));
}

static void test_two_targets_keep_their_numbers_apart(void)
{
    char *first_block = g_block;
    tl_producer first = claim(11);
    emit_session(&first, 1, "first.onnx");
    make_section();
    co_target target = {.section = g_section,
                        .ring_count = RINGS,
                        .ring_bytes = RING_BYTES,
                        .pid = 4343,
                        .parent_id = g_target,
                        .how = 2,
                        .program = "child.exe"};
    uint32_t child;
    TEST_ASSERT_EQUAL(CM_OK, co_target_add(g_capture, &target, &child));
    tl_producer second = claim(12);
    emit_session(&second, 1, "second.onnx");
    co_capture_drain(g_capture);
    close_and_read();
    TEST_ASSERT_EQUAL_size_t(2, g_rows.of_kind[TM_KIND_session]);
    TEST_ASSERT_NOT_EQUAL_INT64(CELL(session, 0, session), CELL(session, 1, session));
    TEST_ASSERT_NOT_EQUAL_INT64(CELL(session, 0, module), CELL(session, 1, module));
    TEST_ASSERT_EQUAL_INT64(CELL(process, 0, process), CELL(process, 1, parent));
    free(first_block);
}

static void test_lost_events_are_told_by_cause(void)
{
    tl_producer p = claim(11);
    unsigned written = 0, dropped = 0;
    for (uint32_t i = 1; i <= 4000; i++)
        emit_run(&p, 1, i, 0) ? written++ : dropped++;
    TEST_ASSERT_TRUE(dropped > 0);
    atomic_fetch_add(&g_section->dropped, 5); // threads without a ring
    TEST_ASSERT_EQUAL_size_t(written, co_capture_drain(g_capture));
    uint8_t *payload = tl_producer_begin(&p, 3);
    memset(payload, 0, 3);
    tl_producer_end(&p, TL_EVENT_Run, 1, 3); // too short for a Run
    co_capture_drain(g_capture);
    co_target_end(g_capture, g_target, 0, 0);
    TEST_ASSERT_EQUAL_UINT64(dropped + 5 + 1, co_capture_stats(g_capture).lost_events);
    close_and_read();
    int64_t by_cause[4] = {0};
    for (size_t i = 0; i < g_rows.of_kind[TM_KIND_lost]; i++)
        by_cause[CELL(lost, i, cause)] += CELL(lost, i, events);
    TEST_ASSERT_EQUAL_INT64(dropped, by_cause[0]);
    TEST_ASSERT_EQUAL_INT64(5, by_cause[1]);
    TEST_ASSERT_EQUAL_INT64(1, by_cause[3]);
}

static void test_times_of_the_target_stay_inside_the_capture(void)
{
    tl_producer p = claim(11);
    tl_Run fixed = {.duration_ticks = UINT64_MAX, .session = 1, .run = 1};
    uint8_t *payload = tl_producer_begin(&p, sizeof fixed);
    memcpy(payload, &fixed, sizeof fixed);
    tl_producer_end(&p, TL_EVENT_Run, UINT64_MAX, sizeof fixed);
    co_capture_drain(g_capture);
    co_capture_flush(g_capture);
    uint64_t elapsed = co_capture_stats(g_capture).elapsed_ns;
    close_and_read();
    TEST_ASSERT_TRUE(CELL(run, 0, begin) >= 0);
    TEST_ASSERT_TRUE(CELL(run, 0, duration) <= (int64_t)elapsed);
}

static void test_made_up_numbers_do_not_grow_memory_without_limit(void)
{
    tl_producer p = claim(11);
    for (uint32_t round = 0; round < 400; round++) {
        for (uint32_t i = 0; i < 2000; i++)
            emit_run(&p, round * 2000 + i + 1, 1, 0);
        co_capture_drain(g_capture);
    }
    TEST_ASSERT_EQUAL_UINT64(800000, co_capture_stats(g_capture).runs);
    close_and_read();
}

static void test_a_channel_without_a_schema_is_refused(void)
{
    char *own = g_block;
    make_section();
    atomic_store(&g_section->schema_bytes, 0);
    co_target target = {.section = g_section,
                        .ring_count = RINGS,
                        .ring_bytes = RING_BYTES,
                        .pid = 1,
                        .program = "x"};
    uint32_t id = 99;
    TEST_ASSERT_EQUAL(CM_CORRUPT, co_target_add(g_capture, &target, &id));
    TEST_ASSERT_EQUAL_UINT32(99, id);
    free(g_block);
    g_block = own;
}

static void test_a_file_that_cannot_be_made_is_told(void)
{
    co_capture *other = NULL;
    TEST_ASSERT_NOT_EQUAL(CM_OK,
                          co_capture_create("no/such/folder/x.ortl", co_anchor_now(), &other));
    TEST_ASSERT_NULL(other);
    TEST_ASSERT_EQUAL(CM_IO, co_capture_check("no/such/folder/x.ortl"));
    TEST_ASSERT_EQUAL(CM_OK, co_capture_check("test_capture_check.ortl"));
    TEST_ASSERT_EQUAL(CM_NOT_FOUND, cm_file_remove("test_capture_check.ortl"));
}

// A target is armed before there is a file: what it did meanwhile has its own times.
static void test_events_from_before_the_file_keep_their_times(void)
{
    co_capture *late = NULL;
    co_capture_close(g_capture); // it would read them away
    g_capture = NULL;
    tl_producer p = claim(11);
    co_anchor start = co_anchor_now();
    cm_sleep_ms(2);
    emit_run(&p, 1, 1, 0);
    cm_sleep_ms(2);
    emit_run(&p, 1, 2, 0);
    TEST_ASSERT_EQUAL(CM_OK, co_capture_create(FILE_NAME, start, &late));
    co_target target = {.section = g_section,
                        .ring_count = RINGS,
                        .ring_bytes = RING_BYTES,
                        .pid = 4242,
                        .program = "x"};
    TEST_ASSERT_EQUAL(CM_OK, co_target_add(late, &target, &g_target));
    co_capture_drain(late);
    g_capture = late;
    close_and_read();
    TEST_ASSERT_TRUE(CELL(run, 0, begin) >= 1000000);
    TEST_ASSERT_TRUE(CELL(run, 1, begin) >= CELL(run, 0, begin) + 1000000);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_measurements_of_qnn_become_lanes_with_units);
    RUN_TEST(test_events_become_rows);
    RUN_TEST(test_shapes_are_text);
    RUN_TEST(test_names_of_tensors_are_rows);
    RUN_TEST(test_two_targets_keep_their_numbers_apart);
    RUN_TEST(test_lost_events_are_told_by_cause);
    RUN_TEST(test_times_of_the_target_stay_inside_the_capture);
    RUN_TEST(test_made_up_numbers_do_not_grow_memory_without_limit);
    RUN_TEST(test_a_channel_without_a_schema_is_refused);
    RUN_TEST(test_a_file_that_cannot_be_made_is_told);
    RUN_TEST(test_events_from_before_the_file_keep_their_times);
    return UNITY_END();
}
