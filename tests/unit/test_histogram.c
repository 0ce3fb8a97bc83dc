// SPDX-License-Identifier: MIT
// The histogram against what it stands for: the sorted list of all values.
#include "common/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unity.h>

static const uint32_t quantiles[] = {0,      1,      1000,   10000,  100000, 250000, 500000,
                                     750000, 900000, 950000, 990000, 999000, 999999, 1000000};
#define QUANTILE_COUNT (sizeof quantiles / sizeof *quantiles)

static uint64_t g_state;

void setUp(void)
{
    g_state = 0x9e3779b97f4a7c15u;
}

void tearDown(void) {}

static uint64_t next_random(void)
{
    g_state ^= g_state << 13;
    g_state ^= g_state >> 7;
    g_state ^= g_state << 17;
    return g_state;
}

static double next_unit(void)
{
    return (double)(next_random() >> 11) / 9007199254740992.0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t nearest_rank(const uint64_t *sorted, uint64_t n, uint32_t millionths)
{
    uint64_t rank = (n * millionths + 999999) / 1000000;
    return sorted[rank == 0 ? 0 : rank - 1];
}

static void assert_close(uint64_t expected, uint64_t actual, double tolerance, const char *what)
{
    double off = fabs((double)expected - (double)actual);
    if (off > (double)expected * tolerance) {
        char text[160];
        snprintf(text, sizeof text, "%s: expected %llu, got %llu", what,
                 (unsigned long long)expected, (unsigned long long)actual);
        TEST_FAIL_MESSAGE(text);
    }
}

static void check_moments(const cm_histogram *h, const uint64_t *values, uint64_t n)
{
    long double sum = 0, squares = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += (long double)values[i];
    long double mean = sum / (long double)n;
    for (uint64_t i = 0; i < n; i++)
        squares += ((long double)values[i] - mean) * ((long double)values[i] - mean);
    TEST_ASSERT_EQUAL_UINT64(n, h->count);
    if (sum < 1.8e19L)
        TEST_ASSERT_EQUAL_UINT64((uint64_t)sum, h->sum);
    else
        TEST_ASSERT_EQUAL_UINT64(UINT64_MAX, h->sum);
    TEST_ASSERT_EQUAL_UINT64(values[0], h->min);
    TEST_ASSERT_EQUAL_UINT64(values[n - 1], h->max);
    TEST_ASSERT_TRUE(fabsl((long double)h->mean - mean) <= 1e-9L * mean);
    if (n > 1) {
        long double stddev = sqrtl(squares / (long double)(n - 1));
        TEST_ASSERT_TRUE(fabsl((long double)cm_histogram_stddev(h) - stddev) <=
                         1e-6L * stddev + 1e-6L);
    }
}

static void check_against_list(uint64_t *values, uint64_t n, const char *what)
{
    cm_histogram h;
    cm_histogram_init(&h);
    for (uint64_t i = 0; i < n; i++)
        cm_histogram_add(&h, values[i]);
    qsort(values, n, sizeof *values, compare);
    check_moments(&h, values, n);
    double tolerance = n <= CM_HISTOGRAM_EXACT ? 0.0 : 0.001;
    for (size_t q = 0; q < QUANTILE_COUNT; q++)
        assert_close(nearest_rank(values, n, quantiles[q]),
                     cm_histogram_percentile(&h, quantiles[q]), tolerance, what);
    TEST_ASSERT_EQUAL_UINT64(n, cm_histogram_count_between(&h, 0, UINT64_MAX));
    cm_histogram_deinit(&h);
}

typedef uint64_t (*distribution)(void);

static uint64_t uniform(void)
{
    return 1000 + next_random() % 1000000;
}

static uint64_t long_tail(void) // 1 ns to days: the sum of millions of these overflows
{
    return (uint64_t)pow(10.0, next_unit() * 14.5);
}

static uint64_t two_peaks(void)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += next_unit();
    double normal = sum - 6.0;
    return (uint64_t)(next_random() % 10 == 0 ? 48e6 + normal * 1e6 : 5e6 + normal * 2e5);
}

static uint64_t constant(void)
{
    return 123456789;
}

static uint64_t tiny(void)
{
    return next_random() % 5;
}

static void run_distribution(distribution draw, uint64_t n, const char *what)
{
    uint64_t *values = malloc(n * sizeof *values);
    TEST_ASSERT_NOT_NULL(values);
    for (uint64_t i = 0; i < n; i++)
        values[i] = draw();
    check_against_list(values, n, what);
    free(values);
}

static void test_few_values_are_exact(void)
{
    for (uint64_t n = 1; n <= CM_HISTOGRAM_EXACT; n++)
        run_distribution(long_tail, n, "few");
}

static void test_many_values_are_within_a_thousandth(void)
{
    static const uint64_t sizes[] = {129, 1000, 99999};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        run_distribution(uniform, sizes[i], "uniform");
        run_distribution(long_tail, sizes[i], "long tail");
        run_distribution(two_peaks, sizes[i], "two peaks");
        run_distribution(constant, sizes[i], "constant");
        run_distribution(tiny, sizes[i], "tiny");
    }
}

static void test_millions_of_values(void)
{
    run_distribution(two_peaks, 3000000, "three million, two peaks");
    run_distribution(long_tail, 2000000, "two million, long tail");
}

static void test_every_power_of_two_and_its_neighbours(void)
{
    uint64_t values[64 * 3];
    uint64_t n = 0;
    for (unsigned bit = 0; bit < 53; bit++)
        for (uint64_t d = 0; d < 3; d++)
            values[n++] = ((uint64_t)1 << bit) + d - 1;
    check_against_list(values, n, "powers of two");
}

static void test_largest_values_saturate_and_do_not_wrap(void)
{
    cm_histogram h;
    cm_histogram_init(&h);
    for (int i = 0; i < 1000; i++)
        cm_histogram_add(&h, UINT64_MAX - (uint64_t)i);
    TEST_ASSERT_EQUAL_UINT64(UINT64_MAX, h.sum);
    TEST_ASSERT_EQUAL_UINT64(UINT64_MAX, h.max);
    TEST_ASSERT_EQUAL_UINT64(UINT64_MAX - 999, h.min);
    uint64_t median = cm_histogram_percentile(&h, 500000);
    TEST_ASSERT_TRUE(median >= h.min);
    cm_histogram_deinit(&h);
}

static void test_empty(void)
{
    cm_histogram h;
    cm_histogram_init(&h);
    TEST_ASSERT_EQUAL_UINT64(0, cm_histogram_percentile(&h, 500000));
    TEST_ASSERT_EQUAL_DOUBLE(0.0, cm_histogram_stddev(&h));
    TEST_ASSERT_EQUAL_UINT64(0, cm_histogram_count_between(&h, 0, UINT64_MAX));
    cm_histogram_deinit(&h);
}

static void test_stddev_of_large_values_with_a_small_spread(void)
{
    cm_histogram h; // a naive sum of squares gives nonsense here
    cm_histogram_init(&h);
    for (int i = 0; i < 1000000; i++)
        cm_histogram_add(&h, 3600000000000u + (uint64_t)(i % 2));
    TEST_ASSERT_DOUBLE_WITHIN(1e-3, 0.5, cm_histogram_stddev(&h));
    cm_histogram_deinit(&h);
}

static void merge_parts(unsigned parts, uint64_t n)
{
    cm_histogram whole, merged, part[8];
    cm_histogram_init(&whole);
    cm_histogram_init(&merged);
    for (unsigned i = 0; i < parts; i++)
        cm_histogram_init(&part[i]);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t value = two_peaks();
        cm_histogram_add(&whole, value);
        cm_histogram_add(&part[value % parts], value);
    }
    for (unsigned i = 0; i < parts; i++) {
        cm_histogram_merge(&merged, &part[i]);
        cm_histogram_deinit(&part[i]);
    }
    TEST_ASSERT_EQUAL_UINT64(whole.count, merged.count);
    TEST_ASSERT_EQUAL_UINT64(whole.sum, merged.sum);
    TEST_ASSERT_EQUAL_UINT64(whole.min, merged.min);
    TEST_ASSERT_EQUAL_UINT64(whole.max, merged.max);
    for (size_t q = 0; q < QUANTILE_COUNT; q++)
        TEST_ASSERT_EQUAL_UINT64(cm_histogram_percentile(&whole, quantiles[q]),
                                 cm_histogram_percentile(&merged, quantiles[q]));
    double stddev = cm_histogram_stddev(&whole);
    TEST_ASSERT_DOUBLE_WITHIN(stddev * 1e-9, stddev, cm_histogram_stddev(&merged));
    cm_histogram_deinit(&whole);
    cm_histogram_deinit(&merged);
}

static void test_merging_is_the_same_as_adding(void)
{
    merge_parts(1, 50);
    merge_parts(3, 100); // lists into a list
    merge_parts(3, 300); // lists into what becomes buckets
    merge_parts(7, 800); // lists of 114 and buckets
    merge_parts(5, 50000);
}

static void test_nearest_rank_by_hand(void)
{
    cm_histogram h;
    cm_histogram_init(&h);
    for (uint64_t v = 1; v <= 10; v++)
        cm_histogram_add(&h, v * 10);
    TEST_ASSERT_EQUAL_UINT64(50, cm_histogram_percentile(&h, 500000)); // rank 5, not 55
    TEST_ASSERT_EQUAL_UINT64(60, cm_histogram_percentile(&h, 500001)); // rank 6
    TEST_ASSERT_EQUAL_UINT64(90, cm_histogram_percentile(&h, 900000));
    TEST_ASSERT_EQUAL_UINT64(100, cm_histogram_percentile(&h, 999000));
    cm_histogram_deinit(&h);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_empty);
    RUN_TEST(test_nearest_rank_by_hand);
    RUN_TEST(test_few_values_are_exact);
    RUN_TEST(test_many_values_are_within_a_thousandth);
    RUN_TEST(test_millions_of_values);
    RUN_TEST(test_every_power_of_two_and_its_neighbours);
    RUN_TEST(test_largest_values_saturate_and_do_not_wrap);
    RUN_TEST(test_stddev_of_large_values_with_a_small_spread);
    RUN_TEST(test_merging_is_the_same_as_adding);
    return UNITY_END();
}
