// SPDX-License-Identifier: MIT
// Captures that go on for long: many runs without operators, many sessions, many processes. The
// newest must be told whatever was before it, in bounded memory.
#include "common/json.h"
#include "live_state.h"
#include "view.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static da_live *g_live;
static cm_out g_out;

void setUp(void)
{
    const da_about about = {.file = NULL};
    TEST_ASSERT_EQUAL(CM_OK, da_live_create(&about, &g_live));
    cm_out_init_memory(&g_out);
}

void tearDown(void)
{
    cm_out_deinit(&g_out);
    da_live_destroy(g_live);
}

static void add_run(int64_t session, int64_t run)
{
    static int64_t clock = 0;
    const int64_t row[TM_run_COUNT] = {[TM_run_session] = session,
                                       [TM_run_run] = run,
                                       [TM_run_begin] = clock += 1000,
                                       [TM_run_duration] = 900};
    da_live_row(g_live, TM_KIND_run, row);
}

static void add_op(int64_t session, int64_t run, int64_t kernel)
{
    const int64_t row[TM_op_COUNT] = {[TM_op_kernel] = kernel,
                                      [TM_op_session] = session,
                                      [TM_op_run] = run,
                                      [TM_op_duration] = 10};
    da_live_row(g_live, TM_KIND_op, row);
}

static void add_kernel(int64_t session, int64_t kernel, int64_t type)
{
    const int64_t row[TM_kernel_COUNT] = {[TM_kernel_kernel] = kernel,
                                          [TM_kernel_session] = session,
                                          [TM_kernel_node] = 1000 + kernel,
                                          [TM_kernel_op_type] = type};
    da_live_row(g_live, TM_KIND_kernel, row);
}

static void add_session(int64_t session, int64_t module)
{
    const int64_t row[TM_session_COUNT] = {
        [TM_session_session] = session, [TM_session_module] = module};
    da_live_row(g_live, TM_KIND_session, row);
}

static void end_session(int64_t session, int64_t time_ns)
{
    const int64_t row[TM_session_end_COUNT] = {
        [TM_session_end_session] = session, [TM_session_end_time] = time_ns};
    da_live_row(g_live, TM_KIND_session_end, row);
}

// The answer to /timeline; its first run must be this one, with so many operators.
static void expect_timeline(const da_span *q, int64_t session, int64_t run, unsigned ops)
{
    cm_json j;
    char wanted[80];
    cm_out_clear(&g_out);
    cm_json_init(&j, &g_out);
    TEST_ASSERT_EQUAL(CM_OK, da_view_timeline(&j, g_live, 1, q));
    const char *text = cm_out_string(&g_out);
    snprintf(wanted, sizeof wanted, "\"session\": %lld, \"run\": %lld,", (long long)session,
             (long long)run);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(text, wanted), text);
    unsigned count = 0;
    const char *at = strstr(strstr(text, "\"ops\""), "\"failed\"");
    while ((at = strstr(at + 1, "false")))
        count++;
    TEST_ASSERT_EQUAL_UINT(ops, count);
}

// ----------------------------------------------------------------------- runs and their operators

static void test_the_newest_inference_is_one_with_operators(void)
{
    const da_span newest = {0}, of_second = {.has_session = true, .session = 2};
    for (int64_t run = 1; run <= 200; run++) {
        if (run == 100)
            add_op(1, run, 1), add_op(1, run, 2);
        add_run(1, run);
    }
    expect_timeline(&newest, 1, 100, 2);
    add_run(2, 1); // newer, and without operators
    expect_timeline(&newest, 1, 100, 2);
    expect_timeline(&of_second, 2, 1, 0);
    for (int64_t run = 201; run <= 201 + (int64_t)DA_RUNS; run++) // and is no longer in memory
        add_run(1, run);
    expect_timeline(&newest, 1, 100, 2);
}

static void test_operators_come_before_or_after_their_run(void)
{
    for (int64_t run = 1; run <= 1000; run++) // as a flush of a file has them
        add_run(1, run);
    for (int64_t run = 1; run <= 1000; run++)
        add_op(1, run, 1);
    for (int i = 0; i < 3; i++) // two at once
        add_op(1, 1001, 1), add_op(1, 1002, 1);
    add_run(1, 1002), add_run(1, 1001);
    const da_session *s = g_live->sessions[0];
    for (int64_t run = 1; run <= 1000; run++)
        TEST_ASSERT_EQUAL_UINT64(1, da_run_op_count(s, run));
    TEST_ASSERT_EQUAL_UINT64(3, da_run_op_count(s, 1001));
    TEST_ASSERT_EQUAL_UINT64(3, da_run_op_count(s, 1002));
    expect_timeline(&(da_span){.has_session = true, .session = 1, .has_run = true, .run = 2}, 1, 2,
                    1);
}

static void test_memory_answers_only_with_all_operators(void)
{
    cm_json j;
    enum { EACH = 300 };
    const int64_t runs = 2 * (int64_t)DA_OPS / EACH;
    for (int64_t run = 1; run <= runs; run++)
        add_run(1, run);
    for (int64_t run = 1; run <= runs; run++)
        for (int i = 0; i < EACH; i++)
            add_op(1, run, 1);
    const int64_t whole = (int64_t)DA_OPS / EACH;
    cm_json_init(&j, &g_out);
    for (int64_t run = 1; run <= runs; run++) {
        const da_span q = {.has_session = true, .session = 1, .has_run = true, .run = run};
        if (run > runs - whole)
            expect_timeline(&q, 1, run, EACH);
        else // there is no file here
            TEST_ASSERT_EQUAL(CM_NOT_FOUND, da_view_timeline(&j, g_live, 1, &q));
    }
}

// --------------------------------------------------------------------------- sessions and kernels

enum { KERNELS = 235, TYPES = 10 };

static void add_whole_session(int64_t session)
{
    add_session(session, 1);
    for (int64_t i = 1; i <= KERNELS; i++) {
        int64_t kernel = session * 1000 + i;
        add_kernel(session, kernel, 1 + i % TYPES);
        for (int64_t k = 0; k < 5; k++) {
            const int64_t row[TM_kernel_tensor_COUNT] = {[TM_kernel_tensor_kernel] = kernel,
                                                         [TM_kernel_tensor_index] = k % 4,
                                                         [TM_kernel_tensor_direction] = k == 4,
                                                         [TM_kernel_tensor_name] =
                                                             k == 4 ? i + 1 : i};
            da_live_row(g_live, TM_KIND_kernel_tensor, row);
        }
        add_op(session, 1, kernel);
    }
    add_run(session, 1);
}

static uint64_t total_calls(void)
{
    uint64_t calls = 0;
    for (size_t i = 0; i < g_live->kernel_count; i++)
        calls += g_live->kernels[i].calls;
    return calls;
}

static void test_sessions_come_and_go_for_ever(void)
{
    enum { SESSIONS = 1000 };
    for (int64_t session = 1; session <= SESSIONS; session++) {
        add_whole_session(session);
        if (session < SESSIONS)
            end_session(session, session * 1000);
        if (session % 100 == 0)
            expect_timeline(&(da_span){0}, session, 1, KERNELS);
    }
    TEST_ASSERT_EQUAL_UINT64(0, g_live->no_room);
    TEST_ASSERT_EQUAL_UINT64(SESSIONS * KERNELS, total_calls());
    TEST_ASSERT_TRUE(g_live->kernel_count <= DA_KERNELS);
    TEST_ASSERT_TRUE(g_live->tensors.len / sizeof(da_tensor) <= DA_TENSORS);
    const char *text = cm_out_string(&g_out); // of the last session
    TEST_ASSERT_NOT_NULL(strstr(text, "\"producers\": [0]"));
    TEST_ASSERT_NULL(strstr(text, "\"producers\": null"));
}

// Sessions that are still told of keep totals of their own, and the operators of the others stay.
static void test_ended_sessions_give_places_if_none_else_can(void)
{
    const da_span by_type = {.has_session = true, .session = 1, .limit = 50};
    cm_json j;
    int64_t kernel = 0;
    for (int64_t session = 1; session <= 3; session++) {
        add_session(session, 1);
        for (size_t i = 0; i < DA_KERNELS / 3; i++) {
            kernel++;
            add_kernel(session, kernel, 1 + kernel % TYPES);
            if (i < 1000)
                add_op(session, 1, kernel);
        }
        add_run(session, 1);
    }
    end_session(1, 5);
    add_session(4, 1);
    for (int i = 0; i < KERNELS; i++)
        add_kernel(4, ++kernel, 1);
    add_op(4, 1, kernel);
    add_op(1, 1, 7); // late
    add_run(4, 1);
    TEST_ASSERT_EQUAL_UINT64(0, g_live->no_room);
    TEST_ASSERT_EQUAL_UINT64(3000 + 2, total_calls());
    expect_timeline(&(da_span){0}, 4, 1, 1);
    expect_timeline(&(da_span){.has_session = true, .session = 2}, 2, 1, 1000);
    cm_out_clear(&g_out);
    cm_json_init(&j, &g_out);
    TEST_ASSERT_EQUAL(
        CM_NOT_FOUND,
        da_view_timeline(&j, g_live, 1, &(da_span){.has_session = true, .session = 1})); // the file
    cm_out_clear(&g_out);
    cm_json_init(&j, &g_out);
    TEST_ASSERT_EQUAL(CM_OK, da_view_ops(&j, g_live, 1, &by_type));
    TEST_ASSERT_NOT_NULL(strstr(cm_out_string(&g_out), "\"calls\": 1001, "));
    TEST_ASSERT_NOT_NULL(strstr(cm_out_string(&g_out), "\"more\": 0"));
}

static void test_no_room_is_not_searched_for_each_time(void)
{
    for (int64_t kernel = 1; kernel <= (int64_t)DA_KERNELS + 300000; kernel++)
        add_op(1, 1, kernel);
    TEST_ASSERT_EQUAL_UINT64(300000, g_live->no_room);
    TEST_ASSERT_FALSE(g_live->some_over);
}

// -------------------------------------------------------------------------------------- processes

static void add_process(int64_t id)
{
    const int64_t process[TM_process_COUNT] = {[TM_process_process] = id, [TM_process_pid] = id};
    const int64_t module[TM_module_COUNT] = {[TM_module_module] = id, [TM_module_process] = id};
    da_live_row(g_live, TM_KIND_process, process);
    da_live_row(g_live, TM_KIND_module, module);
    for (int64_t i = 0; i < 14; i++) {
        const int64_t counter[TM_counter_COUNT] = {
            [TM_counter_counter] = id * 20 + i, [TM_counter_about] = 1, [TM_counter_process] = id};
        const int64_t sample[TM_sample_COUNT] = {
            [TM_sample_counter] = id * 20 + i, [TM_sample_known] = 1, [TM_sample_value] = id};
        da_live_row(g_live, TM_KIND_counter, counter);
        da_live_row(g_live, TM_KIND_sample, sample);
    }
}

static void end_process(int64_t id, int64_t reason)
{
    const int64_t end[TM_process_end_COUNT] = {[TM_process_end_process] = id,
                                               [TM_process_end_time] = id,
                                               [TM_process_end_reason] = reason};
    da_live_row(g_live, TM_KIND_process_end, end);
}

static void test_processes_come_and_go_for_ever(void)
{
    enum { PROCESSES = 1000 };
    for (int64_t id = 1; id <= PROCESSES; id++) {
        add_process(id);
        add_session(id, id);
        add_run(id, 1);
        end_process(id, id % 3 == 0); // exited, some detached
    }
    TEST_ASSERT_EQUAL_UINT64(0, g_live->no_room);
    TEST_ASSERT_EQUAL(DA_SESSIONS, g_live->session_count);
    for (size_t i = 0; i < DA_SESSIONS; i++) {
        const da_session *s = g_live->sessions[i];
        TEST_ASSERT_EQUAL_INT64(PROCESSES - DA_SESSIONS + 1 + i, s->id);
        TEST_ASSERT_EQUAL_INT64(s->id % 3 == 0 ? -1 : s->id, s->ended_ns);
        TEST_ASSERT_EQUAL_INT64(s->id, da_session_process(g_live, s));
        TEST_ASSERT_NOT_NULL(da_process_find(g_live, s->id));
    }
    TEST_ASSERT_NOT_NULL(da_module_find(g_live, PROCESSES));
    const da_counter *newest = g_live->counters[g_live->counter_count - 1];
    TEST_ASSERT_EQUAL_INT64(PROCESSES * 20 + 13, newest->id);
    TEST_ASSERT_TRUE(newest->known && newest->value > 999);
}

static void test_a_session_told_after_the_end_of_its_process_has_ended(void)
{
    add_process(1);
    end_process(1, 0); // a file has it in this order
    add_session(1, 1);
    TEST_ASSERT_EQUAL_INT64(1, g_live->sessions[0]->ended_ns);
}

static void test_sessions_that_were_never_made_give_way(void)
{
    for (int64_t id = 1; id <= 200; id++) {
        const int64_t failed[TM_session_COUNT] = {
            [TM_session_session] = id, [TM_session_status] = 3};
        da_live_row(g_live, TM_KIND_session, failed);
    }
    TEST_ASSERT_EQUAL_UINT64(0, g_live->no_room);
    TEST_ASSERT_NOT_NULL(da_session_find(g_live, 200));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_the_newest_inference_is_one_with_operators);
    RUN_TEST(test_operators_come_before_or_after_their_run);
    RUN_TEST(test_memory_answers_only_with_all_operators);
    RUN_TEST(test_sessions_come_and_go_for_ever);
    RUN_TEST(test_ended_sessions_give_places_if_none_else_can);
    RUN_TEST(test_no_room_is_not_searched_for_each_time);
    RUN_TEST(test_processes_come_and_go_for_ever);
    RUN_TEST(test_a_session_told_after_the_end_of_its_process_has_ended);
    RUN_TEST(test_sessions_that_were_never_made_give_way);
    return UNITY_END();
}
