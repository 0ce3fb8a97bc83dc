// SPDX-License-Identifier: MIT
// Tokens found by the shapes of inputs alone, and what is no generation.
#define PATH "test_generation.ortl"
#include "summary_fixture.h"

#include <stdio.h>

#define MS ((int64_t)1000000)

static int64_t g_shape, g_run, g_now;

static void begin(void)
{
    g_shape = g_run = 0;
    g_now = 1000 * MS;
    ROW(session, 1, 0, 0, MS, 0, 0, TEXT("llm.onnx"), -1, 0, 0, 0, 0, 0, 0, 1);
}

// One run with inputs of these dimensions ("" = not there), `ms` long, `gap` ms after the last.
static void run(int64_t batch, const char *ids, const char *mask, const char *past, int64_t ms,
                int64_t gap)
{
    const char *const dims[] = {ids, mask, past}, *const names[] = {"ids", "mask", "past"};
    int64_t shape = ++g_shape, index = 0;
    ROW(shape, shape, 1, 0, 3, batch);
    for (int i = 0; i < 3; i++)
        if (dims[i][0])
            ROW(tensor, shape, index++, TEXT(names[i]), 1, 1, TEXT(dims[i]));
    g_now += gap * MS;
    ROW(run, 1, ++g_run, 1, g_now, ms * MS, 0, 0, 1, shape, 0);
    g_now += ms * MS;
}

static const an_generation *read_back(void)
{
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_close(g_writer));
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_reader_open(PATH, &g_reader));
    TEST_ASSERT_EQUAL_INT(CM_OK, an_summarize(g_reader, &g_summary));
    return g_summary->sessions[0].generation;
}

static const char *dims(const char *format, long long a)
{
    static char text[4][64];
    static int next;
    char *out = text[next++ % 4];
    snprintf(out, sizeof text[0], format, a);
    return out;
}

static void test_a_cache_that_grows(void)
{
    begin();
    for (int sequence = 0; sequence < 2; sequence++) {
        run(1, "1,7", "1,7", "1,8,0,64", 50, 100);
        for (int64_t i = 0; i < 10; i++)
            run(1, "1,1", dims("1,%lld", 8 + i), dims("1,8,%lld,64", 7 + i), 8, 2);
    }
    const an_generation *g = read_back();
    TEST_ASSERT_NOT_NULL(g);
    TEST_ASSERT_EQUAL_UINT64(2, g->sequences);
    TEST_ASSERT_EQUAL_UINT64(20, g->steps);
    TEST_ASSERT_EQUAL_UINT64(22, g->tokens);
    TEST_ASSERT_EQUAL_UINT64(50 * MS, cm_histogram_percentile(&g->first_token_ns, 500000));
    TEST_ASSERT_EQUAL_UINT64(10 * MS, g->between_ns.min);
    TEST_ASSERT_EQUAL_UINT64(10 * MS, g->between_ns.max);
    TEST_ASSERT_EQUAL_UINT64(8 * MS, g->run_ns.max);
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 100, an_generation_tokens_per_s(g));
}

static void test_a_sequence_that_grows_without_a_cache(void)
{
    begin();
    for (int64_t i = 0; i < 9; i++)
        run(1, dims("1,%lld", 5 + i), "", "", 10, 0);
    const an_generation *g = read_back();
    TEST_ASSERT_EQUAL_UINT64(1, g->sequences);
    TEST_ASSERT_EQUAL_UINT64(8, g->steps);
}

static void test_a_batch_makes_several_tokens_a_step(void)
{
    begin();
    run(4, "4,7", "4,7", "4,8,0,64", 50, 0);
    for (int64_t i = 0; i < 5; i++)
        run(4, "4,1", dims("4,%lld", 8 + i), dims("4,8,%lld,64", 7 + i), 10, 0);
    const an_generation *g = read_back();
    TEST_ASSERT_EQUAL_UINT64(5, g->steps);
    TEST_ASSERT_EQUAL_UINT64(24, g->tokens);
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 400, an_generation_tokens_per_s(g));
}

static void test_a_prompt_in_pieces(void)
{
    begin();
    for (int64_t i = 0; i < 3; i++)
        run(1, "1,16", dims("1,%lld", 16 + 16 * i), dims("1,8,%lld,64", 16 * i), 20, i ? 5 : 100);
    for (int64_t i = 0; i < 6; i++)
        run(1, "1,1", dims("1,%lld", 49 + i), dims("1,8,%lld,64", 48 + i), 10, 0);
    const an_generation *g = read_back();
    TEST_ASSERT_EQUAL_UINT64(1, g->sequences);
    TEST_ASSERT_EQUAL_UINT64(6, g->steps);
    TEST_ASSERT_EQUAL_UINT64(70 * MS, g->first_token_ns.max);
}

static void test_two_sequences_at_once(void)
{
    begin();
    run(1, "1,7", "1,7", "1,8,0,64", 10, 0);
    run(1, "1,30", "1,30", "1,8,0,64", 10, 0);
    for (int64_t i = 0; i < 6; i++) {
        run(1, "1,1", dims("1,%lld", 8 + i), dims("1,8,%lld,64", 7 + i), 5, 0);
        run(1, "1,1", dims("1,%lld", 31 + i), dims("1,8,%lld,64", 30 + i), 5, 0);
    }
    const an_generation *g = read_back();
    TEST_ASSERT_EQUAL_UINT64(2, g->sequences);
    TEST_ASSERT_EQUAL_UINT64(12, g->steps);
    TEST_ASSERT_EQUAL_UINT64(10 * MS, cm_histogram_percentile(&g->between_ns, 500000));
}

static void test_what_is_no_generation(void)
{
    begin();
    for (int64_t i = 1; i <= 20; i++) // batches that grow
        run(i, dims("%lld,3", i), "", "", 5, 0);
    for (int64_t i = 1; i <= 20; i++) // pictures of any width
        run(1, dims("1,%lld", 100 + (i * 37) % 64), "", "", 5, 0);
    for (int64_t i = 1; i <= 20; i++) // growing by eight
        run(1, dims("1,%lld", 8 * i), "", "", 5, 0);
    for (int64_t i = 0; i < 20; i++) // by one now and then
        run(1, dims("1,%lld", 500 + i % 3), "", "", 5, 0);
    const an_generation *g = read_back();
    TEST_ASSERT_EQUAL_UINT64(0, g->sequences);
    TEST_ASSERT_EQUAL_UINT64(0, g->steps);
}

static void test_one_shape_is_none_at_all(void)
{
    begin();
    ROW(shape, 1, 1, 0, 1, 1);
    ROW(tensor, 1, 0, TEXT("x"), 1, 1, TEXT("1,3"));
    for (int64_t i = 1; i <= 30; i++)
        ROW(run, 1, i, 1, i * 10 * MS, MS, 0, 0, 1, 1, 0);
    TEST_ASSERT_NULL(read_back());
}

static void test_odd_dimensions(void)
{
    static const char *const odd[] = {
        "", "x", "1,", "9223372036854775807,1", "-1,5", "1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9"};
    begin();
    for (int i = 0; i < 60; i++)
        run(-1, odd[i % 6], odd[i % 5], odd[i % 4], i % 7, i % 3);
    read_back();
    TEST_ASSERT_EQUAL_UINT64(60, g_summary->sessions[0].runs);
}

// ------------------------------------------------------------------- stability and batch memory

// Runs of `early` and in the end `late` milliseconds, after eight slow ones.
static void steps_of_time(int64_t early, int64_t late, an_stability *out)
{
    begin();
    for (int64_t i = 1; i <= 200; i++) {
        int64_t noise = (i * 7919) % 13 * MS / 20;
        int64_t duration = (i <= 8 ? 90 * MS : early * MS + (late - early) * i * MS / 200) + noise;
        ROW(run, 1, i, 1, i * 100 * MS, duration, 0, 0, 1, 0, 0);
    }
    read_back();
    TEST_ASSERT_EQUAL_INT(CM_OK, an_session_stability(&g_summary->sessions[0], out));
}

static void test_warming_up_and_then_steady(void)
{
    an_stability s;
    steps_of_time(20, 20, &s);
    TEST_ASSERT_EQUAL_UINT64(8, s.warmup_runs);
    TEST_ASSERT_EQUAL_STRING("steady", s.verdict);
    TEST_ASSERT_DOUBLE_WITHIN(0.02, (8 * 90 + 192 * 20.3) / 20000,
                              an_session_concurrency(&g_summary->sessions[0]));
}

static void test_getting_slower(void)
{
    an_stability s;
    steps_of_time(20, 30, &s);
    TEST_ASSERT_EQUAL_STRING("slower", s.verdict);
    TEST_ASSERT_TRUE(s.drift.value > 1.2);
}

static void test_memory_by_batch_size(void)
{
    begin();
    for (int64_t i = 1; i <= 40; i++) {
        bool large = i % 4 == 0, memory_first = i % 3 == 0;
        if (i == 1) {
            ROW(shape, 1, 1, 0, 1, 1);
            ROW(shape, 2, 1, 0, 1, 8);
        }
        if (memory_first)
            ROW(run_memory, 1, i, i * 10 * MS, 5, 5, large ? 800 : 100, 0, 1, 1, 0);
        ROW(run, 1, i, 1, i * 10 * MS, MS, 0, 0, 1, large ? 2 : 1, 0);
        if (!memory_first)
            ROW(run_memory, 1, i, i * 10 * MS, 5, 5, large ? 800 : 100, 0, 1, 1, 0);
    }
    read_back();
    const an_session *n = &g_summary->sessions[0];
    TEST_ASSERT_EQUAL_UINT64(2, n->batch_count);
    TEST_ASSERT_EQUAL_UINT64(30, n->batches[0].peak_bytes.count);
    TEST_ASSERT_EQUAL_UINT64(100, n->batches[0].peak_bytes.max);
    TEST_ASSERT_EQUAL_UINT64(10, n->batches[1].peak_bytes.count);
    TEST_ASSERT_EQUAL_UINT64(800, n->batches[1].peak_bytes.min);
}

// A flush of a fast model: thousands of runs, then the memory of all of them; their shapes' own
// rows come last.
static void test_memory_by_batch_size_of_fast_runs(void)
{
    const int64_t runs = 6000;
    begin();
    for (int64_t i = 1; i <= runs; i++)
        ROW(run, 1, i, 1, i * MS, MS / 2, 0, 0, 1, i % 2 ? 1 : 2, 0);
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_flush(g_writer));
    for (int64_t i = 1; i <= runs; i++)
        ROW(run_memory, 1, i, i * MS, 5, 5, i % 2 ? 1000000 : 4000000, 0, 1, 1, 0);
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_flush(g_writer));
    ROW(shape, 1, 1, 0, 1, 1);
    ROW(shape, 2, 1, 0, 1, 8);
    read_back();
    const an_session *n = &g_summary->sessions[0];
    TEST_ASSERT_EQUAL_UINT64(2, n->batch_count);
    for (size_t i = 0; i < 2; i++) {
        TEST_ASSERT_EQUAL_UINT64(3000, n->batches[i].latency.count);
        TEST_ASSERT_EQUAL_UINT64(3000, n->batches[i].peak_bytes.count);
    }
    TEST_ASSERT_DOUBLE_WITHIN(1e3, 1e6, an_batch_peak_bytes(&n->batches[0]));
    TEST_ASSERT_DOUBLE_WITHIN(1e-2, 1, an_batch_samples_per_mb(&n->batches[0]));
    TEST_ASSERT_DOUBLE_WITHIN(1e3, 5e5, an_batch_bytes_per_sample(&n->batches[1]));
    TEST_ASSERT_DOUBLE_WITHIN(1e-2, 2, an_batch_samples_per_mb(&n->batches[1]));
    TEST_ASSERT_DOUBLE_IS_NAN(an_batch_samples_per_mb(&(an_batch){.size = 8}));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_cache_that_grows);
    RUN_TEST(test_a_sequence_that_grows_without_a_cache);
    RUN_TEST(test_a_batch_makes_several_tokens_a_step);
    RUN_TEST(test_a_prompt_in_pieces);
    RUN_TEST(test_two_sequences_at_once);
    RUN_TEST(test_what_is_no_generation);
    RUN_TEST(test_one_shape_is_none_at_all);
    RUN_TEST(test_odd_dimensions);
    RUN_TEST(test_warming_up_and_then_steady);
    RUN_TEST(test_getting_slower);
    RUN_TEST(test_memory_by_batch_size);
    RUN_TEST(test_memory_by_batch_size_of_fast_runs);
    return UNITY_END();
}
