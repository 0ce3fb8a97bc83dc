// SPDX-License-Identifier: MIT
// Intervals against known numbers, and by simulation: how often they miss when nothing changed, and
// whether they find a change. Seeded: the same every time.
#include "../../analysis/src/distributions.h"
#include "analysis/intervals.h"
#include "analysis/series.h"
#include "seeded_random.h"

#include <math.h>
#include <stdlib.h>
#include <unity.h>

void setUp(void)
{
    seed_random();
}

void tearDown(void) {}

// ------------------------------------------------------------------------------ known numbers

static void test_quantiles_of_distributions(void)
{
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, 1.959963985, an_normal_quantile(0.975));
    TEST_ASSERT_DOUBLE_WITHIN(1e-6, -3.090232306, an_normal_quantile(0.001));
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, 12.706205, an_t_quantile(0.975, 1));
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, 2.262157, an_t_quantile(0.975, 9));
    TEST_ASSERT_DOUBLE_WITHIN(1e-5, 1.984217, an_t_quantile(0.975, 99));
    TEST_ASSERT_DOUBLE_WITHIN(1e-4, 1.960201, an_t_quantile(0.975, 10000));
}

static void test_beta(void)
{
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.3, an_beta_below(0.3, 1, 1));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.5, an_beta_below(0.5, 7.5, 7.5));
    // P(Binomial(10, 0.3) >= 4) = 0.3503892816
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0.3503892816, an_beta_below(0.3, 4, 7));
    // P(Binomial(100000, 0.99) >= 99000) by the normal distribution, about
    TEST_ASSERT_DOUBLE_WITHIN(0.01, 0.506, an_beta_below(0.99, 99000, 1001));
}

// The numbers from 1 to count, in any order, so that neighbours do not resemble each other.
static void shuffle(double *out, int count)
{
    for (int i = 0; i < count; i++)
        out[i] = i + 1;
    do {
        for (int i = count - 1; i > 0; i--) {
            int k = (int)(uniform() * (i + 1));
            double value = out[i];
            out[i] = out[k];
            out[k] = value;
        }
    } while (an_inflation(out, (size_t)count) > 1);
}

// The ranks of tables of the sign test: n = 20, median: ranks 6 and 15; n = 100: 40 and 61.
static void test_ranks_of_the_median(void)
{
    double values[100];
    an_interval i;
    shuffle(values, 100);
    TEST_ASSERT_EQUAL_INT(CM_OK, an_quantile_interval(values, 100, 0.5, 0.05, &i));
    TEST_ASSERT_EQUAL_DOUBLE(50, i.value);
    TEST_ASSERT_EQUAL_DOUBLE(40, i.low);
    TEST_ASSERT_EQUAL_DOUBLE(61, i.high);
    shuffle(values, 20);
    TEST_ASSERT_EQUAL_INT(CM_OK, an_quantile_interval(values, 20, 0.5, 0.05, &i));
    TEST_ASSERT_EQUAL_DOUBLE(6, i.low);
    TEST_ASSERT_EQUAL_DOUBLE(15, i.high);
}

// 0.99 ^ 368 < 0.025: before that many values no rank is above the 99th percentile for sure.
static void test_too_few_values_for_a_tail(void)
{
    double values[1000];
    an_interval i;
    shuffle(values, 360);
    TEST_ASSERT_EQUAL_INT(CM_OK, an_quantile_interval(values, 360, 0.99, 0.05, &i));
    TEST_ASSERT_TRUE(__builtin_isinf(i.high));
    TEST_ASSERT_FALSE(an_interval_bounded(i));
    shuffle(values, 1000);
    TEST_ASSERT_EQUAL_INT(CM_OK, an_quantile_interval(values, 1000, 0.99, 0.05, &i));
    TEST_ASSERT_TRUE(an_interval_bounded(i));
    TEST_ASSERT_TRUE(i.low < 990 && i.high > 990);
}

// Of few values that hang together the greatest one lies below a high percentile for sure.
static void test_a_tail_beyond_all_values(void)
{
    an_interval i;
    for (size_t count = 10; count <= 100; count++) {
        double *own = malloc(count * sizeof *own); // so that the address sanitizer sees its end
        TEST_ASSERT_NOT_NULL(own);
        for (size_t k = 0; k < count; k++)
            own[k] = k % 10 < 5 ? (double)(k % 5) : 10 + (double)k;
        TEST_ASSERT_EQUAL_INT(CM_OK, an_quantile_interval(own, count, 0.999, 0.05, &i));
        TEST_ASSERT_TRUE(i.low <= i.value && __builtin_isinf(i.high));
        free(own);
    }
}

static void test_shift_of_constants_is_exact(void)
{
    double a[20], b[30];
    an_interval i;
    for (int k = 0; k < 30; k++)
        a[k % 20] = 5, b[k] = 7;
    TEST_ASSERT_EQUAL_INT(CM_OK, an_shift_interval(a, 20, b, 30, 0.05, &i));
    TEST_ASSERT_EQUAL_DOUBLE(2, i.value);
    TEST_ASSERT_EQUAL_DOUBLE(2, i.low);
    TEST_ASSERT_EQUAL_DOUBLE(2, i.high);
}

static void test_shift_is_the_median_of_differences(void)
{
    const double a[] = {1, 2, 4}, b[] = {3, 7, 8, 20};
    an_interval i; // 3-1 3-2 3-4 7-1 7-2 7-4 8-1 8-2 8-4 20-1 20-2 20-4: -1 1 2 3 4 5 6 6 7 ...
    TEST_ASSERT_EQUAL_INT(CM_OK, an_shift_interval(a, 3, b, 4, 0.05, &i));
    TEST_ASSERT_EQUAL_DOUBLE(5.5, i.value);
    TEST_ASSERT_FALSE(an_interval_bounded(i)); // far too few
}

static void test_empty_and_single(void)
{
    double one = 3;
    an_interval i;
    TEST_ASSERT_EQUAL_INT(CM_OK, an_shift_interval(&one, 1, &one, 0, 0.05, &i));
    TEST_ASSERT_TRUE(__builtin_isnan(i.value));
    TEST_ASSERT_EQUAL_INT(CM_OK, an_quantile_interval(&one, 0, 0.5, 0.05, &i));
    TEST_ASSERT_TRUE(__builtin_isnan(i.value));
    TEST_ASSERT_EQUAL_INT(CM_OK, an_quantile_interval(&one, 1, 0.99, 0.05, &i));
    TEST_ASSERT_EQUAL_DOUBLE(3, i.value);
    TEST_ASSERT_FALSE(an_interval_bounded(i));
    TEST_ASSERT_TRUE(__builtin_isnan(an_mean_interval(&one, 0, 0.05).value));
    TEST_ASSERT_TRUE(__builtin_isnan(an_interval_ratio(an_no_interval, an_only_value(2)).value));
}

// ----------------------------------------------------------------------------------- simulation

typedef enum noise { PLAIN, TAILS, LIKE_THE_LAST, TWO_HUMPS, NOISIER, NOISES } noise;

// Logarithms of latencies with a spread of about 5 %.
static void fill(double *out, size_t count, noise kind, bool second)
{
    double state = normal();
    for (size_t i = 0; i < count; i++) {
        switch (kind) {
        case TAILS:
            out[i] = 0.05 * normal() + (uniform() < 0.02 ? 1.6 * uniform() : 0);
            break;
        case LIKE_THE_LAST:
            state = 0.5 * state + sqrt(0.75) * normal();
            out[i] = 0.05 * state;
            break;
        case TWO_HUMPS:
            out[i] = 0.02 * normal() + (uniform() < 0.4 ? 0.3 : 0);
            break;
        case NOISIER:
            out[i] = (second ? 0.15 : 0.05) * normal();
            break;
        default:
            out[i] = 0.05 * normal();
        }
    }
}

typedef struct outcome {
    int shift_missed, median_missed, tail_missed, mean_missed, found;
} outcome;

static bool excludes(an_interval i, double value)
{
    return i.low > value || i.high < value;
}

static outcome simulate(noise kind, size_t count, int trials)
{
    double *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b);
    outcome o = {0};
    TEST_ASSERT_NOT_NULL(a);
    TEST_ASSERT_NOT_NULL(b);
    for (int t = 0; t < trials; t++) {
        an_interval i, x, y;
        fill(a, count, kind, false);
        fill(b, count, kind, true);
        TEST_ASSERT_EQUAL_INT(CM_OK, an_shift_interval(a, count, b, count, 0.05, &i));
        o.shift_missed += excludes(i, 0);
        for (int tail = 0; tail < 2; tail++) {
            double share = tail ? 0.95 : 0.5;
            TEST_ASSERT_EQUAL_INT(CM_OK, an_quantile_interval(a, count, share, 0.05, &x));
            TEST_ASSERT_EQUAL_INT(CM_OK, an_quantile_interval(b, count, share, 0.05, &y));
            *(tail ? &o.tail_missed : &o.median_missed) +=
                excludes(an_interval_difference(x, y), 0);
        }
        x = an_mean_interval(a, count, 0.05);
        o.mean_missed += excludes(an_interval_difference(x, an_mean_interval(b, count, 0.05)), 0);
        for (size_t k = 0; k < count; k++)
            b[k] += log(1.05);
        TEST_ASSERT_EQUAL_INT(CM_OK, an_shift_interval(a, count, b, count, 0.05, &i));
        o.found += i.low > 0;
    }
    free(a);
    free(b);
    return o;
}

#define TRIALS 100
#define MOST   5 // 5 % of them

// The false alarms of a rank test are exactly at their rate in the long run; over all noises
// together chance does not lift them above it.
static void test_no_difference_is_rarely_called_one(void)
{
    int shift = 0, median = 0, tail = 0, mean = 0;
    for (noise kind = PLAIN; kind < NOISES; kind++) {
        outcome o = simulate(kind, 100, TRIALS);
        shift += o.shift_missed;
        median += o.median_missed;
        tail += kind == NOISIER ? 0 : o.tail_missed; // there the tails do differ
        mean += o.mean_missed;
        TEST_ASSERT_LESS_OR_EQUAL_INT(2 * MOST, o.shift_missed);
    }
    TEST_ASSERT_LESS_OR_EQUAL_INT(NOISES * MOST, shift);
    TEST_ASSERT_LESS_OR_EQUAL_INT(NOISES * MOST, median);
    TEST_ASSERT_LESS_OR_EQUAL_INT(NOISES * MOST, tail);
    TEST_ASSERT_LESS_OR_EQUAL_INT(NOISES * MOST, mean);
}

static void test_a_slowdown_of_5_percent_is_found(void)
{
    TEST_ASSERT_GREATER_OR_EQUAL_INT(58, simulate(PLAIN, 100, 60).found);
    TEST_ASSERT_GREATER_OR_EQUAL_INT(58, simulate(TAILS, 100, 60).found);
    TEST_ASSERT_GREATER_OR_EQUAL_INT(58, simulate(TWO_HUMPS, 100, 60).found);
    TEST_ASSERT_GREATER_OR_EQUAL_INT(58, simulate(LIKE_THE_LAST, 300, 60).found);
}

// Two recordings that drift slowly look different everywhere; they must not be called so.
static void test_drift_widens_the_interval(void)
{
    double a[400], b[400];
    an_interval drifting, steady;
    double wander_a = 0, wander_b = 0;
    for (int k = 0; k < 400; k++) {
        a[k] = (wander_a += 0.02 * normal());
        b[k] = (wander_b += 0.02 * normal());
    }
    TEST_ASSERT_EQUAL_INT(CM_OK, an_shift_interval(a, 400, b, 400, 0.05, &drifting));
    TEST_ASSERT_FALSE(an_interval_bounded(drifting) && excludes(drifting, 0));
    TEST_ASSERT_TRUE(an_inflation(a, 400) > 20);
    fill(a, 400, PLAIN, false);
    fill(b, 400, PLAIN, false);
    TEST_ASSERT_EQUAL_INT(CM_OK, an_shift_interval(a, 400, b, 400, 0.05, &steady));
    TEST_ASSERT_TRUE(steady.high - steady.low < 0.02);
    TEST_ASSERT_TRUE(an_inflation(a, 400) < 2);
}

// --------------------------------------------------------------------------------------- series

static void add(an_series *s, int64_t at, double value)
{
    TEST_ASSERT_EQUAL_INT(CM_OK, an_series_add(s, (an_point_in_time){at, at + 1, value}));
}

static void test_a_long_series_keeps_its_head_and_its_mix(void)
{
    an_series s;
    an_series_init(&s, 4096);
    for (int64_t i = 0; i < 1000000; i++)
        add(&s, i, i % 2 ? 1 : 3); // every second run is of another sort
    an_series_finish(&s);
    TEST_ASSERT_LESS_OR_EQUAL_UINT64(4096, s.count);
    TEST_ASSERT_GREATER_THAN_UINT64(2048, s.count);
    double sum = 0;
    for (size_t i = 0; i < s.count; i++) {
        if (i < AN_SERIES_HEAD)
            TEST_ASSERT_EQUAL_INT64(i, s.points[i].time_ns);
        else
            TEST_ASSERT_TRUE(s.points[i].time_ns > s.points[i - 1].time_ns);
        sum += s.points[i].value;
    }
    TEST_ASSERT_DOUBLE_WITHIN(0.15, 2, sum / (double)s.count);
    TEST_ASSERT_GREATER_THAN_INT64(990000, s.points[s.count - 1].time_ns);
    an_series_deinit(&s);
}

static size_t warmup_of(size_t count, size_t slow, double factor, double drift)
{
    an_series s;
    an_series_init(&s, 4096);
    for (size_t i = 0; i < count; i++) {
        double value = exp(0.05 * normal()) * (1 + drift * (double)i / (double)count);
        add(&s, (int64_t)i, i < slow ? value * factor : value);
    }
    an_series_finish(&s);
    size_t end = an_series_warmup(&s);
    an_series_deinit(&s);
    return end;
}

static void test_the_end_of_warming_up_is_found(void)
{
    int wrong = 0, alarms = 0;
    for (int i = 0; i < 50; i++) {
        size_t one = warmup_of(200, 1, 5, 0), ten = warmup_of(200, 10, 1.5, 0);
        size_t many = warmup_of(20000, 300, 1.3, 0);
        wrong += one < 1 || one > 4; // the next ones may be slow by chance
        wrong += ten < 10 || ten > 13;
        wrong += many < 297 || many > 303;
        alarms += warmup_of(200, 0, 1, 0) > 0;
    }
    TEST_ASSERT_LESS_OR_EQUAL_INT(3, wrong);
    TEST_ASSERT_LESS_OR_EQUAL_INT(1, alarms);
    TEST_ASSERT_EQUAL_UINT64(0, warmup_of(19, 1, 50, 0));  // too few to say
    TEST_ASSERT_EQUAL_UINT64(0, warmup_of(1000, 0, 1, 1)); // getting slower is no warming up
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_quantiles_of_distributions);
    RUN_TEST(test_beta);
    RUN_TEST(test_ranks_of_the_median);
    RUN_TEST(test_too_few_values_for_a_tail);
    RUN_TEST(test_a_tail_beyond_all_values);
    RUN_TEST(test_shift_of_constants_is_exact);
    RUN_TEST(test_shift_is_the_median_of_differences);
    RUN_TEST(test_empty_and_single);
    RUN_TEST(test_no_difference_is_rarely_called_one);
    RUN_TEST(test_a_slowdown_of_5_percent_is_found);
    RUN_TEST(test_drift_widens_the_interval);
    RUN_TEST(test_a_long_series_keeps_its_head_and_its_mix);
    RUN_TEST(test_the_end_of_warming_up_is_found);
    return UNITY_END();
}
