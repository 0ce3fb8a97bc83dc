// SPDX-License-Identifier: MIT
// Summaries of timelines made with the real writer, against what was put into them.

#include <math.h>
#include <stdlib.h>

#define PATH "test_summary.ortl"
#include "summary_fixture.h"

#define MS ((int64_t)1000000)

static void session(int64_t id, int64_t source, int64_t status)
{
    ROW(session, id, 1, 5 * MS, 3 * MS, source, status, TEXT("model.onnx"), -1, 0, 0, 0, 0,
        TEXT("CPUExecutionProvider"), 0, 1);
}

static void run(int64_t of, int64_t number, int64_t begin, int64_t duration, int64_t status,
                int64_t inputs)
{
    ROW(run, of, number, 1, begin, duration, 0, status, 1, inputs, 0);
}

static const an_summary *summarize(void)
{
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_close(g_writer));
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_reader_open(PATH, &g_reader));
    TEST_ASSERT_EQUAL_INT(CM_OK, an_summarize(g_reader, &g_summary));
    return g_summary;
}

static void test_empty_file(void)
{
    const an_summary *s = summarize();
    TEST_ASSERT_EQUAL_size_t(0, s->session_count);
    TEST_ASSERT_NULL(an_summary_target(s));
    TEST_ASSERT_EQUAL_INT64(-1, an_summary_overhead_ns(s));
    TEST_ASSERT_FALSE(an_known(an_summary_overhead_share(s)));
    TEST_ASSERT_NULL(s->damage);
}

static void test_latencies_of_successful_runs_only(void)
{
    session(1, 0, 0);
    static const int64_t latencies[] = {90, 10, 20, 40, 30};
    for (int i = 0; i < 5; i++)
        run(1, i + 1, 100 * (i + 1), latencies[i], 0, 0);
    run(1, 6, 700, 1000000, 6, 0);
    const an_session *n = &summarize()->sessions[0];
    TEST_ASSERT_EQUAL_UINT64(6, n->runs);
    TEST_ASSERT_EQUAL_UINT64(1, n->failed_runs);
    TEST_ASSERT_EQUAL_UINT64(5, n->latency.count);
    TEST_ASSERT_EQUAL_UINT64(90, n->latency.max);
    TEST_ASSERT_EQUAL_UINT64(30, cm_histogram_percentile(&n->latency, 500000));
    TEST_ASSERT_EQUAL_DOUBLE(38, n->latency.mean);
    TEST_ASSERT_EQUAL_DOUBLE(90, an_session_first_ns(n));
    // |10-90| + |20-10| + |40-20| + |30-40| over four pairs
    TEST_ASSERT_EQUAL_DOUBLE(30, an_session_jitter_ns(n));
    // five runs from 100 to the end of the failed one
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 5e9 / 1000600.0, an_session_throughput(n));
    TEST_ASSERT_EQUAL_DOUBLE(3e6, an_session_load_ns(n));
}

static void test_one_run_has_no_spread(void)
{
    session(1, 0, 0);
    run(1, 1, 100, 50, 0, 0);
    const an_session *n = &summarize()->sessions[0];
    TEST_ASSERT_FALSE(an_known(an_session_stddev_ns(n)));
    TEST_ASSERT_FALSE(an_known(an_session_jitter_ns(n)));
    TEST_ASSERT_EQUAL_DOUBLE(50, an_session_first_ns(n));
}

static void test_nothing_is_invented_for_a_session_from_before(void)
{
    session(1, 7, 0);
    run(1, 1, 100, 50, 0, 0);
    run(2, 1, 100, 50, 0, 0); // and one that nothing declares
    const an_summary *s = summarize();
    for (int i = 0; i < 2; i++) {
        TEST_ASSERT_FALSE(an_known(an_session_first_ns(&s->sessions[i])));
        TEST_ASSERT_FALSE(an_known(an_session_load_ns(&s->sessions[i])));
    }
    TEST_ASSERT_EQUAL_STRING("", s->sessions[1].model);
}

// Runs of eight threads end in another order than they begin; jitter goes by the begin.
static void test_nothing_is_invented_for_a_session_that_events_told_late(void)
{
    ROW(session, 1, 1, 5 * MS, 0, 8, 0, 0, -1, 0, 0, 0, 0, 0, 0, 1);
    ROW(session, 2, 1, 5 * MS, 3 * MS, 8, 0, 0, -1, 0, 0, 0, 0, 0, 0, 1);
    run(1, 1, 100, 50, 0, 0);
    run(2, 1, 100, 50, 0, 0);
    const an_summary *s = summarize();
    TEST_ASSERT_FALSE(an_known(an_session_load_ns(&s->sessions[0])));
    TEST_ASSERT_FALSE(an_known(an_session_first_ns(&s->sessions[0])));
    TEST_ASSERT_EQUAL_DOUBLE(3e6, an_session_load_ns(&s->sessions[1]));
    TEST_ASSERT_EQUAL_DOUBLE(50, an_session_first_ns(&s->sessions[1]));
}

static void test_jitter_in_order_of_begin(void)
{
    enum { COUNT = 20000 };
    int64_t *latency = malloc(COUNT * sizeof *latency);
    double expected = 0;
    session(1, 0, 0);
    for (int i = 0; i < COUNT; i++) {
        latency[i] = (i * 7919) % 1000 + 1;
        if (i > 0)
            expected += fabs((double)(latency[i] - latency[i - 1]));
    }
    for (int group = 0; group < COUNT; group += 8)
        for (int i = 7; i >= 0; i--) // in each group the last one ends first
            run(1, group + i + 1, (group + i) * 10, latency[group + i], 0, 0);
    const an_session *n = &summarize()->sessions[0];
    TEST_ASSERT_EQUAL_UINT64(COUNT - 1, n->jitter.differences);
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, expected / (COUNT - 1), an_session_jitter_ns(n));
    TEST_ASSERT_EQUAL_DOUBLE((double)latency[0], an_session_first_ns(n));
    free(latency);
}

static void test_batches_and_shapes(void)
{
    session(1, 0, 0);
    run(1, 1, 100, 10, 0, 3); // before its shape is known
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_flush(g_writer));
    ROW(shape, 1, 1, 0, 1, 8);
    ROW(tensor, 1, 0, TEXT("x"), 1, 1, TEXT("8,3"));
    ROW(shape, 2, 1, 0, 1, 8);
    ROW(shape, 3, 1, 0, 1, 1);
    ROW(shape, 4, 1, 0, 0, -1);
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_flush(g_writer));
    run(1, 2, 200, 80, 0, 1);
    run(1, 3, 300, 88, 0, 1);
    run(1, 4, 400, 96, 0, 2);
    run(1, 5, 500, 5, 0, 4);  // no batch
    run(1, 6, 600, 5, 0, 0);  // no shape
    run(1, 7, 700, 99, 1, 1); // failed
    const an_summary *s = summarize();
    const an_session *n = &s->sessions[0];
    TEST_ASSERT_EQUAL_size_t(2, n->batch_count);
    TEST_ASSERT_EQUAL_INT64(1, n->batches[0].size);
    TEST_ASSERT_EQUAL_UINT64(1, n->batches[0].latency.count);
    TEST_ASSERT_EQUAL_INT64(8, n->batches[1].size);
    TEST_ASSERT_EQUAL_UINT64(3, n->batches[1].latency.count);
    TEST_ASSERT_EQUAL_UINT64(88, cm_histogram_percentile(&n->batches[1].latency, 500000));
    TEST_ASSERT_EQUAL_UINT64(2, n->runs_without_batch);
    TEST_ASSERT_EQUAL_size_t(4, n->shape_count);
    TEST_ASSERT_EQUAL_INT64(1, n->shapes[0].shape); // used twice: first
    TEST_ASSERT_EQUAL_UINT64(1, n->runs_without_shape);
    cm_out out;
    cm_out_init_memory(&out);
    an_shape_text(&out, an_shapes_find(&s->shapes, 1));
    TEST_ASSERT_EQUAL_STRING("x 8x3 float32", cm_out_string(&out));
    cm_out_deinit(&out);
}

// More shapes and batch sizes than there is room for: counted, not kept.
static void test_tables_are_bounded(void)
{
    session(1, 0, 0);
    for (int64_t i = 1; i <= AN_MAX_SHAPES + 100; i++) {
        ROW(shape, i, 1, 0, 1, i);
        run(1, i, i * 100, 10, 0, i);
    }
    const an_session *n = &summarize()->sessions[0];
    TEST_ASSERT_EQUAL_UINT64(AN_MAX_SHAPES + 100, n->latency.count);
    TEST_ASSERT_EQUAL_size_t(AN_MAX_SHAPES, n->shape_count);
    TEST_ASSERT_EQUAL_UINT64(100, n->runs_without_shape);
    TEST_ASSERT_EQUAL_size_t(AN_MAX_BATCHES, n->batch_count);
    TEST_ASSERT_EQUAL_UINT64(AN_MAX_SHAPES + 100 - AN_MAX_BATCHES, n->runs_without_batch);
}

static void test_messages_are_grouped(void)
{
    session(1, 0, 0);
    for (int64_t i = 1; i <= 10; i++)
        ROW(log, 1, i, 2, 1, i, 2, TEXT(i % 2 ? "odd" : "even"));
    ROW(log, 1, 11, 3, 0, 0, 0, TEXT("odd"));
    const an_summary *s = summarize();
    TEST_ASSERT_EQUAL_size_t(3, s->message_count);
    TEST_ASSERT_EQUAL_STRING("odd", s->messages[0].text);
    TEST_ASSERT_EQUAL_UINT64(5, s->messages[0].count);
    TEST_ASSERT_EQUAL_INT64(1, s->messages[0].first_run);
    TEST_ASSERT_TRUE(s->messages[0].of_runs);
    TEST_ASSERT_FALSE(s->messages[2].of_runs);
}

static void test_target_losses_and_overhead(void)
{
    ROW(process, 2, 20, 1, 0, 2, TEXT("child.exe"), 0);
    ROW(process, 1, 10, 0, 1, 0, TEXT("parent.exe"), 0);
    ROW(process_end, 1, 50 * MS, 0, 42);
    ROW(overhead, 1, 1, 100);
    ROW(overhead, 2, 1, 9000); // interrupted: the median is what counts
    ROW(overhead, 2, 1, 150);
    ROW(lost, 1, 1, 0, 5);
    ROW(lost, 1, 2, 0, 6);
    ROW(lost, 1, 2, 3, 1);
    ROW(lost, 1, 2, 99, 2);
    session(1, 0, 0);
    run(1, 1, 100, 1000, 0, 0);
    run(1, 2, 200, 2000, 0, 0);
    const an_summary *s = summarize();
    TEST_ASSERT_EQUAL_INT64(10, an_summary_target(s)->pid);
    TEST_ASSERT_EQUAL_INT64(42, an_summary_target(s)->exit_code);
    TEST_ASSERT_EQUAL_UINT64(14, s->lost_total);
    TEST_ASSERT_EQUAL_UINT64(11, s->lost[0]);
    TEST_ASSERT_EQUAL_UINT64(2, s->lost[AN_LOST_CAUSES - 1]);
    TEST_ASSERT_EQUAL_INT64(150, an_summary_overhead_ns(s));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.1, an_summary_overhead_share(s));
    TEST_ASSERT_EQUAL_INT64(50 * MS, s->end_ns);
}

static void counter(int64_t id, const char *name, int64_t per_unit, int64_t total)
{
    ROW(counter, id, 0, TEXT("process"), TEXT(name), TEXT("s"), per_unit, total, 1, 1, -1, 0);
}

static void test_processor_and_memory_of_the_target(void)
{
    ROW(process, 1, 4242, 0, 0, 0, TEXT("app.exe"), 0);
    counter(1, "cpu_user", 1000000, 1);
    counter(2, "cpu_kernel", 1000000, 1);
    counter(3, "peak_working_set", 1, 0);
    ROW(sample, 1, 100 * MS, 5000000, 1); // what came before the attach does not count
    ROW(sample, 2, 100 * MS, 700000, 1);
    ROW(sample, 3, 100 * MS, 111, 1);
    ROW(sample, 1, 200 * MS, 5900000, 1);
    ROW(sample, 2, 300 * MS, 1000000, 1);
    ROW(sample, 3, 300 * MS, 333, 1);
    ROW(sample, 1, 600 * MS, 0, 0); // it has gone: not a value
    ROW(sample, 3, 600 * MS, 0, 0);
    ROW(process_end, 1, 500 * MS, 0, 0);
    const an_summary *s = summarize();
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, (0.9 + 0.3) / 0.4, an_summary_cpu(s));
    TEST_ASSERT_EQUAL_DOUBLE(333, an_summary_peak_memory(s));
}

static void test_means_are_weighted_by_time(void)
{
    counter(1, "level", 10, 0);
    ROW(sample, 1, 100 * MS, 50, 1);
    ROW(sample, 1, 200 * MS, -10, 1);
    ROW(sample, 1, 500 * MS, 0, 0); // nobody knows for 400 ms
    ROW(sample, 1, 900 * MS, 20, 1);
    ROW(mark, 1000 * MS, 0);
    const an_summary *s = summarize();
    const an_counter *n = &s->counters.items[0];
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, (5.0 * 100 - 1.0 * 300 + 2.0 * 100) / 500, an_counter_mean(n));
    TEST_ASSERT_EQUAL_INT64(-10, n->min);
    TEST_ASSERT_EQUAL_INT64(50, n->max);
    TEST_ASSERT_FALSE(an_known(an_summary_cpu(s)));
    TEST_ASSERT_FALSE(an_known(an_summary_peak_memory(s)));
}

// Slowed down to a tenth, then the same rate was asked for: since then it is what was wanted.
static void test_another_rate_that_was_asked_for_is_not_slower(void)
{
    const int64_t second = 1000 * MS;
    session(1, 0, 0);
    ROW(sampling, 0, TEXT("process"), 20000, 0);
    ROW(sampling, second, TEXT("process"), 200000, 1);
    ROW(sampling, 9 * second, TEXT("process"), 200000, 4);
    run(1, 1, 20 * second, 50, 0, 0);
    const an_counters *c = &summarize()->counters;
    TEST_ASSERT_EQUAL_size_t(1, c->source_count);
    TEST_ASSERT_EQUAL_INT64(200000, c->sources[0].asked_us);
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 1, an_sampling_pace(&c->sources[0]));
}

static void test_absurd_numbers_do_no_harm(void)
{
    run(1, 1, INT64_MAX, INT64_MAX, 0, INT64_MIN);
    run(1, 2, INT64_MIN, INT64_MIN, 0, INT64_MAX);
    run(INT64_MIN, INT64_MIN, 0, 0, INT64_MIN, -1);
    ROW(lost, 1, INT64_MIN, INT64_MIN, INT64_MAX);
    ROW(lost, 1, INT64_MAX, INT64_MAX, INT64_MAX);
    const an_summary *s = summarize();
    TEST_ASSERT_EQUAL_size_t(2, s->session_count);
    TEST_ASSERT_EQUAL_UINT64((uint64_t)INT64_MAX, s->sessions[0].latency.max);
    TEST_ASSERT_EQUAL_UINT64(0, s->sessions[0].latency.min);
}

// A million runs in many sessions: percentiles as exact as they must be.
static void test_a_million_runs(void)
{
    for (int64_t i = 1; i <= 1000000; i++) {
        run(1 + i % 3, i, i * 1000, i, 0, 0);
        if (i % 10000 == 0)
            TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_flush(g_writer));
    }
    const an_summary *s = summarize();
    uint64_t total = 0;
    for (size_t i = 0; i < s->session_count; i++) {
        const cm_histogram *h = &s->sessions[i].latency;
        total += h->count;
        TEST_ASSERT_DOUBLE_WITHIN(500000 * 0.001 + 3, 500000,
                                  (double)cm_histogram_percentile(h, 500000));
        TEST_ASSERT_DOUBLE_WITHIN(999000 * 0.001 + 3, 999000,
                                  (double)cm_histogram_percentile(h, 999000));
        TEST_ASSERT_EQUAL_DOUBLE(3, an_session_jitter_ns(&s->sessions[i]));
    }
    TEST_ASSERT_EQUAL_UINT64(1000000, total);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_empty_file);
    RUN_TEST(test_latencies_of_successful_runs_only);
    RUN_TEST(test_one_run_has_no_spread);
    RUN_TEST(test_nothing_is_invented_for_a_session_from_before);
    RUN_TEST(test_nothing_is_invented_for_a_session_that_events_told_late);
    RUN_TEST(test_jitter_in_order_of_begin);
    RUN_TEST(test_batches_and_shapes);
    RUN_TEST(test_tables_are_bounded);
    RUN_TEST(test_messages_are_grouped);
    RUN_TEST(test_target_losses_and_overhead);
    RUN_TEST(test_processor_and_memory_of_the_target);
    RUN_TEST(test_means_are_weighted_by_time);
    RUN_TEST(test_another_rate_that_was_asked_for_is_not_slower);
    RUN_TEST(test_absurd_numbers_do_no_harm);
    RUN_TEST(test_a_million_runs);
    return UNITY_END();
}
