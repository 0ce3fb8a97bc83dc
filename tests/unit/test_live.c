// SPDX-License-Identifier: MIT
// The live view's figures, its queue and what it concludes from requests.
#include "common/os.h"
#include "dashboard/control.h"
#include "dashboard/feed.h"
#include "live_state.h"
#include "replay_queue.h"
#include "request.h"
#include "window.h"

#include "unity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static da_live *g_live;

void setUp(void)
{
    const da_about about = {.file = "x.ortl"};
    TEST_ASSERT_EQUAL(CM_OK, da_live_create(&about, &g_live));
}

void tearDown(void)
{
    da_live_destroy(g_live);
    cm_file_remove("test_live.ortl");
}

static void add_run(int64_t session, int64_t run, int64_t begin, int64_t duration, int64_t status)
{
    const int64_t row[TM_run_COUNT] = {
        [TM_run_session] = session,   [TM_run_run] = run,       [TM_run_begin] = begin,
        [TM_run_duration] = duration, [TM_run_status] = status, [TM_run_in_flight] = 1};
    da_live_row(g_live, TM_KIND_run, row);
    da_live_time(g_live, begin + duration);
}

// ---------------------------------------------------------------------------------------- figures

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void test_window_has_nearest_rank_percentiles(void)
{
    uint64_t random = 88172645463325252u;
    for (size_t n = 1; n < 400; n += 7) {
        int64_t values[400];
        da_live_reset(g_live);
        for (size_t i = 0; i < n; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            values[i] = (int64_t)(random % 50); // many are equal
            add_run(1, (int64_t)i + 1, (int64_t)i * 100, values[i], 0);
        }
        qsort(values, n, sizeof *values, by_value);
        da_window w = da_window_of(g_live, g_live->sessions[0], 60);
        TEST_ASSERT_EQUAL_UINT64(n, w.runs);
        TEST_ASSERT_TRUE(w.p50_ns == (double)values[(n * 50 + 99) / 100 - 1]);
        TEST_ASSERT_TRUE(w.p90_ns == (double)values[(n * 90 + 99) / 100 - 1]);
        TEST_ASSERT_TRUE(w.p99_ns == (double)values[(n * 99 + 99) / 100 - 1]);
        TEST_ASSERT_TRUE(w.min_ns == (double)values[0] && w.max_ns == (double)values[n - 1]);
    }
}

static void test_window_forgets_what_is_older(void)
{
    add_run(1, 1, 0, 1000, 0);
    add_run(1, 2, 9000000000, 2000, 3);
    da_window w = da_window_of(g_live, g_live->sessions[0], 1);
    TEST_ASSERT_EQUAL_UINT64(1, w.runs);
    TEST_ASSERT_EQUAL_UINT64(1, w.failed);
    TEST_ASSERT_TRUE(w.max_ns == 0); // latencies are of runs that did not fail
    TEST_ASSERT_EQUAL_UINT64(2, g_live->sessions[0]->runs);
}

static void test_memory_is_bounded(void)
{
    for (int64_t i = 1; i <= 100000; i++)
        add_run(1, i, i * 1000000, 500000 + i % 1000, 0);
    for (int64_t id = 2; id < 300; id++)
        add_run(id, 1, 0, 1, 0);
    TEST_ASSERT_EQUAL(DA_SESSIONS, g_live->session_count);
    TEST_ASSERT_TRUE(g_live->no_room > 0);
    const da_session *s = g_live->sessions[0];
    TEST_ASSERT_EQUAL_UINT64(100000, s->runs);
    TEST_ASSERT_EQUAL(DA_RUNS, s->recent.count);
    TEST_ASSERT_TRUE(s->tiers[0].steps.count <= da_tier_steps[0]);
    const da_run *oldest = da_ring_at(&s->recent, 0);
    TEST_ASSERT_EQUAL_INT64(100000 - DA_RUNS + 1, oldest->run);
}

static void test_a_session_that_ended_makes_room(void)
{
    for (int64_t id = 1; id <= (int64_t)DA_SESSIONS; id++)
        add_run(id, 1, 0, 1, 0);
    const int64_t end[TM_session_end_COUNT] = {
        [TM_session_end_session] = 5, [TM_session_end_time] = 10};
    da_live_row(g_live, TM_KIND_session_end, end);
    add_run(1000, 1, 0, 1, 0);
    TEST_ASSERT_NULL(da_session_find(g_live, 5));
    TEST_ASSERT_NOT_NULL(da_session_find(g_live, 1000));
}

static void test_outliers_are_far_from_the_others(void)
{
    for (int64_t i = 1; i <= 200; i++)
        add_run(1, i, i * 1000000, i == 150 ? 90000 : 1000 + i % 10, 0);
    TEST_ASSERT_EQUAL(1, g_live->outliers.count);
    TEST_ASSERT_EQUAL_INT64(150, ((const da_outlier *)da_ring_at(&g_live->outliers, 0))->run);
}

static void test_self_time_is_without_what_lies_inside(void)
{
    const int64_t inner[TM_op_COUNT] = {[TM_op_kernel] = 2,
                                        [TM_op_run] = 1,
                                        [TM_op_begin] = 10,
                                        [TM_op_duration] = 30,
                                        [TM_op_depth] = 1};
    const int64_t outer[TM_op_COUNT] = {
        [TM_op_kernel] = 1, [TM_op_run] = 1, [TM_op_begin] = 0, [TM_op_duration] = 100};
    da_live_row(g_live, TM_KIND_op, inner);
    da_live_row(g_live, TM_KIND_op, inner);
    da_live_row(g_live, TM_KIND_op, outer);
    da_live_row(g_live, TM_KIND_op, outer);
    TEST_ASSERT_EQUAL_UINT64(60, g_live->kernels[0].self_ns);
    TEST_ASSERT_EQUAL_UINT64(140, g_live->kernels[1].self_ns);
}

// ------------------------------------------------------------------------------------------ queue

// Whatever the other thread's pace: every run is told or counted, and who is who is never lost.
static void test_queue_drops_and_counts(void)
{
    enum { ROUNDS = 400000 };
    tm_writer *writer;
    da_feed *feed;
    const tm_header header = {.ortscope_version = "1", .os = "", .cpu = ""};
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_create("test_live.ortl", &header, &writer));
    TEST_ASSERT_EQUAL(CM_OK, da_feed_start(g_live, &feed));
    da_lock(g_live); // nothing can be taken now, and nobody waits for it
    for (int64_t i = 1; i <= ROUNDS; i++) {
        const int64_t row[TM_run_COUNT] = {[TM_run_session] = 1, [TM_run_run] = i};
        da_feed_row(feed, writer, TM_KIND_run, row);
    }
    const int64_t process[TM_process_COUNT] = {
        [TM_process_process] = 1, [TM_process_program] = tm_writer_string(writer, "a.exe", 5)};
    da_feed_row(feed, writer, TM_KIND_process, process);
    da_unlock(g_live);
    da_feed_stop(feed);
    TEST_ASSERT_TRUE(g_live->dropped > 0);
    TEST_ASSERT_EQUAL_UINT64(ROUNDS, g_live->sessions[0]->runs + g_live->dropped);
    TEST_ASSERT_EQUAL(1, g_live->process_count);
    TEST_ASSERT_EQUAL_STRING("a.exe", da_text(g_live, g_live->processes[0].program));
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_close(writer));
}

static void test_queue_keeps_order(void)
{
    tm_writer *writer;
    da_feed *feed;
    const tm_header header = {.ortscope_version = "1", .os = "", .cpu = ""};
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_create("test_live.ortl", &header, &writer));
    TEST_ASSERT_EQUAL(CM_OK, da_feed_start(g_live, &feed));
    tm_writer_watch(writer, da_feed_row, feed);
    for (int64_t i = 1; i <= 3000; i++) {
        const int64_t row[TM_run_COUNT] = {[TM_run_session] = 1, [TM_run_run] = i};
        tm_writer_row(writer, TM_KIND_run, row);
    }
    da_feed_progress(feed, 77, 1000077, 88);
    da_feed_stop(feed);
    TEST_ASSERT_EQUAL_INT64(77, g_live->now_ns);
    TEST_ASSERT_EQUAL_INT64(1000000, g_live->utc_offset_ns);
    TEST_ASSERT_EQUAL_UINT64(88, g_live->file_bytes);
    for (size_t i = 0; i < 3000; i++)
        TEST_ASSERT_EQUAL_INT64((int64_t)i + 1,
                                ((const da_run *)da_ring_at(&g_live->sessions[0]->recent, i))->run);
    tm_writer_watch(writer, NULL, NULL);
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_close(writer));
}

// The thread may be kept waiting between the readings of the two clocks.
static void test_clocks_are_paired_by_the_least_difference(void)
{
    static const int64_t late_ns[] = {0, 900, 5000, 40, 7000, 7000, 7000, 60, 7000};
    for (size_t i = 0; i < sizeof late_ns / sizeof *late_ns; i++) {
        int64_t now = (int64_t)i * 300000000;
        da_take_utc(g_live, now, (uint64_t)(now + 1000000 + late_ns[i]));
        TEST_ASSERT_TRUE(g_live->utc_offset_ns <= 1000060);
        TEST_ASSERT_TRUE(g_live->utc_offset_ns >= 1000000);
    }
    da_take_utc(g_live, 10000000000, 10000000000 + 2000000); // the machine's clock was set
    da_take_utc(g_live, 11000000000, 11000000000 + 2000000);
    TEST_ASSERT_EQUAL_INT64(2000000, g_live->utc_offset_ns);
}

// ----------------------------------------------------------------------------------------- replay

static tm_block block_of_runs(const int64_t *all_columns, size_t rows)
{
    tm_block b = {.kind = TM_KIND_run, .row_count = rows};
    for (size_t i = 0; i < TM_run_COUNT; i++)
        b.columns[i] = all_columns;
    return b;
}

static void test_rows_wait_for_their_end(void)
{
    static da_replay_queue queue;
    static const int64_t zero[4], session[] = {1, 1, 1, 1}, run[] = {1, 2, 3, 4};
    static const int64_t begin[] = {0, 100, 200, 100}, duration[] = {1000, 50, 10, 50};
    tm_block b = block_of_runs(zero, 4);
    b.columns[TM_run_session] = session;
    b.columns[TM_run_run] = run;
    b.columns[TM_run_begin] = begin;
    b.columns[TM_run_duration] = duration;
    int64_t first;
    TEST_ASSERT_TRUE(da_queue_add(&queue, &b, &first));
    TEST_ASSERT_EQUAL_INT64(150, first);
    da_queue_tell(&queue, g_live, NULL, 149);
    TEST_ASSERT_EQUAL(0, g_live->session_count);
    da_queue_tell(&queue, g_live, NULL, 999);
    TEST_ASSERT_EQUAL_UINT64(3, g_live->sessions[0]->runs);
    TEST_ASSERT_EQUAL(1, queue.count);
    da_queue_tell(&queue, g_live, NULL, 1000);
    static const int64_t order[] = {2, 4, 3, 1};
    for (size_t i = 0; i < 4; i++)
        TEST_ASSERT_EQUAL_INT64(order[i],
                                ((da_run *)da_ring_at(&g_live->sessions[0]->recent, i))->run);
    TEST_ASSERT_EQUAL(0, queue.count);
    TEST_ASSERT_EQUAL(0, queue.bytes);
}

static void test_a_replay_that_waits_for_ever_is_bounded(void)
{
    static da_replay_queue queue;
    enum { ROWS = DA_WAITING_BYTES / (TM_run_COUNT * 8 + 16) / 4 + 1 };
    int64_t *never = malloc(ROWS * sizeof *never), first;
    TEST_ASSERT_NOT_NULL(never);
    for (size_t i = 0; i < ROWS; i++)
        never[i] = INT64_MAX - 5;
    tm_block large = block_of_runs(never, ROWS), small = block_of_runs(never, 1);
    for (int i = 0; i < 4; i++) {
        TEST_ASSERT_FALSE(da_queue_is_full(&queue));
        TEST_ASSERT_TRUE(da_queue_add(&queue, &large, &first));
    }
    TEST_ASSERT_TRUE(da_queue_is_full(&queue)); // by its bytes
    da_queue_tell_oldest(&queue, g_live, NULL);
    TEST_ASSERT_FALSE(da_queue_is_full(&queue));
    TEST_ASSERT_EQUAL_UINT64(ROWS, g_live->sessions[0]->runs); // early, and not lost
    da_queue_clear(&queue);
    for (size_t i = 0; i < DA_WAITING_BLOCKS; i++)
        TEST_ASSERT_TRUE(da_queue_add(&queue, &small, &first));
    TEST_ASSERT_TRUE(da_queue_is_full(&queue)); // by its blocks
    TEST_ASSERT_FALSE(da_queue_add(&queue, &small, &first));
    da_queue_clear(&queue);
    free(never);
}

// --------------------------------------------------------------------------------------- requests

static void test_heads_of_frames(void)
{
    static const size_t lengths[] = {0, 125, 126, 65535, 65536, 123456789};
    static const size_t heads[] = {2, 2, 4, 4, 10, 10};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        unsigned char head[DA_FRAME_HEAD];
        size_t bytes = da_frame_head(head, lengths[i]), told = 0;
        TEST_ASSERT_EQUAL(heads[i], bytes);
        TEST_ASSERT_EQUAL_HEX8(0x81, head[0]);
        TEST_ASSERT_EQUAL(bytes == 2 ? lengths[i] : bytes == 4 ? 126u : 127u, head[1]);
        for (size_t k = 2; k < bytes; k++)
            told = told << 8 | head[k];
        TEST_ASSERT_EQUAL_UINT64(bytes == 2 ? 0 : lengths[i], told);
    }
}

static void test_query(void)
{
    char text[16];
    TEST_ASSERT_TRUE(da_query_text("a=1&bc=x%20y+z&d", "bc", text, sizeof text));
    TEST_ASSERT_EQUAL_STRING("x y z", text);
    TEST_ASSERT_FALSE(da_query_text("bc=%2", "bc", text, sizeof text));
    TEST_ASSERT_FALSE(da_query_text("bc=%", "bc", text, sizeof text));
    TEST_ASSERT_FALSE(da_query_text("bc=%00", "bc", text, sizeof text));
    TEST_ASSERT_FALSE(da_query_text("bc=01234567890123456789", "bc", text, sizeof text));
    TEST_ASSERT_FALSE(da_query_text("abc=1", "bc", text, sizeof text));
    TEST_ASSERT_FALSE(da_query_text(NULL, "bc", text, sizeof text));
}

static void test_tokens_are_compared_whole(void)
{
    TEST_ASSERT_TRUE(da_token_equal("abc", "abc"));
    TEST_ASSERT_FALSE(da_token_equal("abd", "abc"));
    TEST_ASSERT_FALSE(da_token_equal("ab", "abc"));
    TEST_ASSERT_FALSE(da_token_equal("abcabc", "abc"));
    TEST_ASSERT_FALSE(da_token_equal("", "abc"));
    TEST_ASSERT_FALSE(da_token_equal("", ""));
}

static void test_control(void)
{
    da_control c;
    static const char good[] = " {\"action\": \"mark\", \"x\": null, \"text\": \"a\\u00e9\\n\"} ";
    TEST_ASSERT_EQUAL(CM_OK, da_control_parse(good, sizeof good - 1, true, &c));
    TEST_ASSERT_EQUAL(DA_MARK, c.action);
    TEST_ASSERT_EQUAL_STRING("a\xc3\xa9\n", c.text);
    static const char *const bad[] = {"",
                                      "{",
                                      "{}",
                                      "{\"action\":\"pause\",}",
                                      "{\"action\":\"pause\"}}",
                                      "{\"action\":[\"pause\"]}",
                                      "{\"action\":\"rates\",\"hz\":61}",
                                      "{\"action\":\"rates\",\"hz\":0x10}",
                                      "{\"action\":\"attach\",\"pid\":1.5}",
                                      "{\"action\":\"mark\",\"text\":\"\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        TEST_ASSERT_EQUAL_MESSAGE(CM_USAGE, da_control_parse(bad[i], strlen(bad[i]), true, &c),
                                  bad[i]);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_window_has_nearest_rank_percentiles);
    RUN_TEST(test_window_forgets_what_is_older);
    RUN_TEST(test_memory_is_bounded);
    RUN_TEST(test_a_session_that_ended_makes_room);
    RUN_TEST(test_outliers_are_far_from_the_others);
    RUN_TEST(test_self_time_is_without_what_lies_inside);
    RUN_TEST(test_queue_drops_and_counts);
    RUN_TEST(test_queue_keeps_order);
    RUN_TEST(test_clocks_are_paired_by_the_least_difference);
    RUN_TEST(test_rows_wait_for_their_end);
    RUN_TEST(test_a_replay_that_waits_for_ever_is_bounded);
    RUN_TEST(test_heads_of_frames);
    RUN_TEST(test_query);
    RUN_TEST(test_tokens_are_compared_whole);
    RUN_TEST(test_control);
    return UNITY_END();
}
