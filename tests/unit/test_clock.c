// SPDX-License-Identifier: MIT
#include "collector/clock.h"

#include "unity.h"

#define MS 1000000u

void setUp(void) {}

void tearDown(void) {}

// A clock of 2.5 ticks a nanosecond that began at odd numbers.
static co_anchor anchor_at(uint64_t ns)
{
    return (co_anchor){.ticks = 1000000 + ns * 5 / 2, .qpc_ns = 777000 + ns, .utc_ns = ns};
}

static void test_time_is_interpolated_between_anchors(void)
{
    co_clock clock;
    co_clock_start(&clock, anchor_at(0));
    co_clock_add(&clock, anchor_at(1000000));
    TEST_ASSERT_EQUAL_INT64(0, co_clock_time(&clock, 1000000));
    TEST_ASSERT_EQUAL_INT64(400, co_clock_time(&clock, 1001000));
    TEST_ASSERT_EQUAL_INT64(500000, co_clock_time(&clock, 1000000 + 1250000));
    TEST_ASSERT_EQUAL_INT64(1000000, co_clock_time(&clock, 1000000 + 2500000));
}

static void test_a_changing_rate_is_followed(void)
{
    co_clock clock;
    co_clock_start(&clock, (co_anchor){.ticks = 0, .qpc_ns = 0});
    co_clock_add(&clock, (co_anchor){.ticks = 1000, .qpc_ns = 1000});
    co_clock_add(&clock, (co_anchor){.ticks = 2000, .qpc_ns = 3000}); // half as fast from here on
    TEST_ASSERT_EQUAL_INT64(500, co_clock_time(&clock, 500));
    TEST_ASSERT_EQUAL_INT64(2000, co_clock_time(&clock, 1500));
}

static void test_times_outside_the_anchors_are_set_to_the_nearest(void)
{
    co_clock clock;
    co_clock_start(&clock, anchor_at(0));
    co_clock_add(&clock, anchor_at(5000));
    TEST_ASSERT_EQUAL_INT64(0, co_clock_time(&clock, 0));
    TEST_ASSERT_EQUAL_INT64(5000, co_clock_time(&clock, UINT64_MAX));
}

static void test_old_times_are_found_after_many_anchors(void)
{
    co_clock clock;
    co_clock_start(&clock, anchor_at(0));
    for (uint64_t i = 1; i <= 10 * CO_ANCHORS; i++)
        co_clock_add(&clock, anchor_at(i * 1000));
    for (uint64_t ns = 0; ns <= 10 * CO_ANCHORS * 1000; ns += 500)
        TEST_ASSERT_EQUAL_INT64((int64_t)ns, co_clock_time(&clock, anchor_at(ns).ticks));
}

static void test_a_clock_that_goes_back_is_ignored(void)
{
    co_clock clock;
    co_clock_start(&clock, anchor_at(0));
    co_clock_add(&clock, anchor_at(2000));
    co_clock_add(&clock, anchor_at(1000));
    TEST_ASSERT_EQUAL_UINT64(2, clock.count);
}

static void test_ticks_that_differ_a_little_between_processors_begin_nothing(void)
{
    co_clock clock;
    co_clock_start(&clock, anchor_at(0));
    co_clock_add(&clock, anchor_at(200 * MS));
    co_anchor other = anchor_at(200 * MS + 50000);
    other.ticks = anchor_at(200 * MS).ticks - 100;
    co_clock_add(&clock, other);
    TEST_ASSERT_EQUAL_UINT64(2, clock.count);
    TEST_ASSERT_EQUAL_INT64(100 * MS, co_clock_time(&clock, anchor_at(100 * MS).ticks));
}

static void test_spans_use_the_rate_around_them(void)
{
    co_clock clock;
    co_clock_start(&clock, anchor_at(0));
    TEST_ASSERT_EQUAL_INT64(0, co_clock_span(&clock, 1000000, 1000)); // no rate is known yet
    co_clock_add(&clock, anchor_at(1000000));
    TEST_ASSERT_EQUAL_INT64(400, co_clock_span(&clock, 1000000, 1000));
    TEST_ASSERT_EQUAL_INT64(400, co_clock_span(&clock, 0, 1000));
    TEST_ASSERT_EQUAL_INT64(400, co_clock_span(&clock, UINT64_MAX, 1000));
    TEST_ASSERT_EQUAL_INT64(
        INT64_MAX,
        co_clock_span(&(co_clock){.count = 2, .recent = {{0}, {1, 0, 9, 0}}}, 1, UINT64_MAX));
}

static void test_two_anchors_close_together_do_not_make_a_rate(void)
{
    co_clock clock;
    co_clock_start(&clock, anchor_at(0));
    for (uint64_t i = 1; i <= 3 * CO_ANCHORS; i++)
        co_clock_add(&clock, anchor_at(i * 200 * MS));
    co_anchor next = anchor_at(3 * CO_ANCHORS * 200 * MS + 1000);
    next.qpc_ns += 500; // half as much again in a microsecond
    co_clock_add(&clock, next);
    TEST_ASSERT_INT64_WITHIN(10, 400000, co_clock_span(&clock, next.ticks, 1000000));
    TEST_ASSERT_INT64_WITHIN(10, 400000, co_clock_span(&clock, next.ticks - 1, 1000000));
    // far more steps than are kept, all of them short
    for (uint64_t i = 1; i <= 3 * CO_ANCHORS; i++)
        co_clock_add(&clock, anchor_at(3 * CO_ANCHORS * 200 * MS + 10000 + i * 1000));
    TEST_ASSERT_INT64_WITHIN(10, 400000, co_clock_span(&clock, UINT64_MAX, 1000000));
}

static void test_ticks_that_pause_do_not_stretch_what_is_around(void)
{
    const int64_t hour = 3600000 * (int64_t)MS;
    co_clock clock;
    co_clock_start(&clock, anchor_at(0));
    co_clock_add(&clock, anchor_at(200 * MS));
    co_anchor after = anchor_at(300 * MS);
    after.qpc_ns += (uint64_t)hour; // asleep between the two
    co_clock_add(&clock, after);
    uint64_t meanwhile = anchor_at(250 * MS).ticks;
    TEST_ASSERT_EQUAL_INT64(400000, co_clock_span(&clock, meanwhile, 1000000));
    TEST_ASSERT_EQUAL_INT64(400000, co_clock_span(&clock, after.ticks, 1000000));
    TEST_ASSERT_EQUAL_INT64(hour + 300 * MS, co_clock_time(&clock, meanwhile));
    after = anchor_at(500 * MS);
    after.qpc_ns += (uint64_t)hour;
    co_clock_add(&clock, after);
    TEST_ASSERT_EQUAL_INT64(hour + 400 * MS, co_clock_time(&clock, anchor_at(400 * MS).ticks));
    TEST_ASSERT_EQUAL_INT64(400000, co_clock_span(&clock, after.ticks, 1000000));
}

static void test_ticks_that_start_anew_begin_a_segment(void)
{
    const int64_t hour = 3600000 * (int64_t)MS;
    co_clock clock;
    co_clock_start(&clock, anchor_at(0));
    co_clock_add(&clock, anchor_at(200 * MS));
    const uint64_t woken = anchor_at(0).qpc_ns + (uint64_t)hour;
    co_clock_add(&clock, (co_anchor){.ticks = 5000, .qpc_ns = woken});
    TEST_ASSERT_EQUAL_INT64(hour, co_clock_time(&clock, 4000));
    TEST_ASSERT_EQUAL_INT64(400, co_clock_span(&clock, 5000, 1000)); // by the rate before
    co_clock_add(&clock, (co_anchor){.ticks = 5000 + 500 * MS, .qpc_ns = woken + 200 * MS});
    TEST_ASSERT_EQUAL_INT64(hour, co_clock_time(&clock, 4000));
    TEST_ASSERT_EQUAL_INT64(hour + 100 * MS, co_clock_time(&clock, 5000 + 250 * MS));
    TEST_ASSERT_EQUAL_INT64(400, co_clock_span(&clock, 5000 + 250 * MS, 1000));
}

static void test_ticks_that_become_slower_for_good_are_followed(void)
{
    co_clock clock;
    co_clock_start(&clock, (co_anchor){.ticks = 0, .qpc_ns = 0});
    for (uint64_t i = 1; i <= 5; i++)
        co_clock_add(&clock, (co_anchor){.ticks = i * 200 * MS, .qpc_ns = i * 200 * MS});
    for (uint64_t i = 1; i <= 5; i++)
        co_clock_add(&clock,
                     (co_anchor){.ticks = (1000 + i * 100) * MS, .qpc_ns = (1000 + i * 200) * MS});
    TEST_ASSERT_EQUAL_INT64(2000, co_clock_span(&clock, 1450 * MS, 1000));
    TEST_ASSERT_EQUAL_INT64(1900 * MS, co_clock_time(&clock, 1450 * MS));
}

// Anchors whose rates differ: each reading is a little wrong.
static void unsteady_clock(co_clock *clock)
{
    co_clock_start(clock, (co_anchor){.ticks = 1000 * MS, .qpc_ns = 5});
    for (uint64_t i = 1; i <= CO_ANCHORS; i++)
        co_clock_add(clock, (co_anchor){.ticks = (1000 + i * 200) * MS,
                                        .qpc_ns = i * 200 * MS + i * 7919 % 1000});
}

static void test_spans_that_follow_each_other_do_so_in_nanoseconds(void)
{
    const uint64_t step = 33333333;
    co_clock clock;
    unsteady_clock(&clock);
    const uint64_t from = 1000 * MS + 17, until = 3000 * MS;
    int64_t at = co_clock_time(&clock, from);
    for (uint64_t ticks = from; ticks + step < until; ticks += step) {
        co_span span = co_clock_span_until(&clock, ticks + step, step);
        TEST_ASSERT_EQUAL_INT64(at, span.begin_ns);
        TEST_ASSERT_INT64_WITHIN(2000, step, span.duration_ns);
        at = span.begin_ns + span.duration_ns;
        co_span whole = co_clock_span_until(&clock, ticks + step, ticks + step - from);
        TEST_ASSERT_EQUAL_INT64(co_clock_time(&clock, from), whole.begin_ns);
        TEST_ASSERT_EQUAL_INT64(at, whole.begin_ns + whole.duration_ns);
    }
}

static void test_spans_from_before_the_capture_begin_with_it(void)
{
    co_clock clock;
    co_clock_start(&clock, anchor_at(0));
    co_clock_add(&clock, anchor_at(200 * MS));
    co_span span = co_clock_span_until(&clock, anchor_at(1000).ticks, 1000000);
    TEST_ASSERT_EQUAL_INT64(0, span.begin_ns);
    TEST_ASSERT_EQUAL_INT64(1000, span.duration_ns);
    span = co_clock_span_until(&clock, anchor_at(1000).ticks, UINT64_MAX);
    TEST_ASSERT_EQUAL_INT64(0, span.begin_ns);
    TEST_ASSERT_EQUAL_INT64(1000, span.duration_ns);
}

static void test_spans_across_a_pause_are_as_long_as_their_ticks(void)
{
    const int64_t hour = 3600000 * (int64_t)MS;
    co_clock clock;
    co_clock_start(&clock, anchor_at(0));
    co_clock_add(&clock, anchor_at(200 * MS));
    for (uint64_t at = 300 * MS; at <= 500 * MS; at += 200 * MS) {
        co_anchor after = anchor_at(at);
        after.qpc_ns += (uint64_t)hour;
        co_clock_add(&clock, after);
    }
    co_span span = co_clock_span_until(&clock, anchor_at(400 * MS).ticks, 500 * MS);
    TEST_ASSERT_EQUAL_INT64(200 * MS, span.duration_ns);
    TEST_ASSERT_EQUAL_INT64(hour + 200 * MS, span.begin_ns);
}

static void test_a_real_anchor_moves_forward(void)
{
    co_anchor a = co_anchor_now();
    co_anchor b = co_anchor_now();
    TEST_ASSERT_TRUE(b.ticks > a.ticks);
    TEST_ASSERT_TRUE(b.qpc_ns >= a.qpc_ns);
    TEST_ASSERT_TRUE(a.utc_ns > 1600000000000000000u); // after 2020
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_time_is_interpolated_between_anchors);
    RUN_TEST(test_a_changing_rate_is_followed);
    RUN_TEST(test_times_outside_the_anchors_are_set_to_the_nearest);
    RUN_TEST(test_old_times_are_found_after_many_anchors);
    RUN_TEST(test_a_clock_that_goes_back_is_ignored);
    RUN_TEST(test_ticks_that_differ_a_little_between_processors_begin_nothing);
    RUN_TEST(test_spans_use_the_rate_around_them);
    RUN_TEST(test_two_anchors_close_together_do_not_make_a_rate);
    RUN_TEST(test_ticks_that_pause_do_not_stretch_what_is_around);
    RUN_TEST(test_ticks_that_start_anew_begin_a_segment);
    RUN_TEST(test_ticks_that_become_slower_for_good_are_followed);
    RUN_TEST(test_spans_that_follow_each_other_do_so_in_nanoseconds);
    RUN_TEST(test_spans_from_before_the_capture_begin_with_it);
    RUN_TEST(test_spans_across_a_pause_are_as_long_as_their_ticks);
    RUN_TEST(test_a_real_anchor_moves_forward);
    return UNITY_END();
}
