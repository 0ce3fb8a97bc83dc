// SPDX-License-Identifier: MIT
// The verdicts of a comparison over thousands of generated pairs of recordings, by how the noise
// of their runs behaves: how often pairs without a difference are called better or worse, and how
// often a planted change is found. Prints a table. Seeded: the same every time.
#include "analysis/diff.h"
#include "seeded_random.h"

#include <math.h>
#include <stdio.h>
#include <unity.h>

#define MOST_RUNS 400
#define ALIKE     300 // pairs without a difference, for each noise and number of runs
#define PAIRS     10  // for each noise and change
#define RUNS      400 // of recordings with a change

void setUp(void)
{
    seed_random();
}

void tearDown(void) {}

// ---------------------------------------------------------------------------------------
// recordings

typedef enum noise {
    NORMAL,
    LOGNORMAL,
    LIKE_THE_LAST,
    DRIFTING,
    TWO_HUMPS,
    OUTLIERS,
    NOISES
} noise;

static const char *const noise_names[] = {"independent, normal",
                                          "independent, heavy tail",
                                          "like the last run (0.5)",
                                          "drifting (0.9)",
                                          "two humps",
                                          "rare outliers"};

// The next value of a series of mean 0 and standard deviation 1 (outliers apart). `state` starts as
// any value of it.
static double next_of(noise kind, double *state)
{
    switch (kind) {
    case LOGNORMAL: // skewed: 1.3 times as far up as a normal one at p99
        return (exp(0.5 * normal()) - 1.1331) / 0.6039;
    case LIKE_THE_LAST:
        return *state = 0.5 * *state + sqrt(1 - 0.25) * normal();
    case DRIFTING:
        return *state = 0.9 * *state + sqrt(1 - 0.81) * normal();
    case TWO_HUMPS:
        return 0.3 * normal() + (uniform() < 0.4 ? 1.168 : -0.779);
    case OUTLIERS:
        return normal() + (uniform() < 0.01 ? 10 + 30 * uniform() : 0);
    default:
        return normal();
    }
}

// A summary of runs around `typical_us`, each `spread` off as a share of it.
static an_summary *recording(noise kind, size_t runs, double typical_us, double spread)
{
    static int64_t columns[TM_run_COUNT][MOST_RUNS];
    tm_block block = {.kind = TM_KIND_run, .row_count = runs};
    double state = normal();
    int64_t at = 0;
    for (size_t i = 0; i < runs; i++) {
        double latency = typical_us * exp(spread * next_of(kind, &state));
        columns[TM_run_session][i] = 1;
        columns[TM_run_run][i] = (int64_t)i + 1;
        columns[TM_run_thread][i] = 1;
        columns[TM_run_begin][i] = at;
        columns[TM_run_duration][i] = (int64_t)(latency * 1000);
        columns[TM_run_in_flight][i] = 1;
        at += columns[TM_run_duration][i] + 100000;
    }
    for (unsigned c = 0; c < TM_run_COUNT; c++)
        block.columns[c] = columns[c];
    an_summary *s = NULL;
    TEST_ASSERT_EQUAL_INT(CM_OK, an_summary_create(&an_diff_summary_options, &s));
    TEST_ASSERT_EQUAL_INT(CM_OK, an_summary_add(s, NULL, &block));
    TEST_ASSERT_EQUAL_INT(CM_OK, an_summary_finish(s));
    return s;
}

typedef struct verdicts {
    an_change_verdict latency, p50, p95, mean;
} verdicts;

static verdicts compare(noise kind, size_t runs, double spread, double change)
{
    const tm_header header = {"0.1.0", 1767323045000000000u, "Windows", "CPU", 4};
    const an_diff_options options = {AN_DIFF_MARGIN, {AN_WARMUP_AUTO, 0}};
    an_summary *sides[2];
    an_diff *diff = NULL;
    for (int side = 0; side < 2; side++)
        sides[side] = recording(kind, runs, side ? 1000 * change : 1000, spread);
    TEST_ASSERT_EQUAL_INT(CM_OK,
                          an_diff_make(sides[0], &header, sides[1], &header, &options, &diff));
    const an_change *changes = diff->groups[0].changes;
    verdicts v = {diff->verdict, changes[AN_METRIC_P50].verdict, changes[AN_METRIC_P95].verdict,
                  changes[AN_METRIC_MEAN].verdict};
    an_diff_destroy(diff);
    an_summary_destroy(sides[0]);
    an_summary_destroy(sides[1]);
    return v;
}

static bool is_alarm(an_change_verdict v)
{
    return v == AN_BETTER || v == AN_WORSE;
}

// ------------------------------------------------------------------------------------------- tests

// Of pairs that do not differ, those that were called different by p50, p95 and mean.
static int g_p50, g_p95, g_mean;

// Verdicts of pairs that do not differ, in a row of the table; how many were called different.
static int try_alike(noise kind, size_t runs)
{
    int alarms = 0, same = 0, p50 = 0, p95 = 0, mean = 0;
    for (int i = 0; i < ALIKE; i++) {
        verdicts v = compare(kind, runs, 0.05, 1);
        alarms += is_alarm(v.latency);
        same += v.latency == AN_SAME;
        p50 += is_alarm(v.p50);
        p95 += is_alarm(v.p95);
        mean += is_alarm(v.mean);
    }
    g_p50 += p50;
    g_p95 += p95;
    g_mean += mean;
    double percent = 100.0 / ALIKE;
    printf("%-24s %5zu %7.1f%% %6.1f%% %11.1f%% %7.1f%% %5.1f%% %5.1f%%\n", noise_names[kind], runs,
           alarms * percent, same * percent, (ALIKE - alarms - same) * percent, p50 * percent,
           p95 * percent, mean * percent);
    return alarms;
}

static void test_pairs_without_a_difference_are_rarely_called_different(void)
{
    static const size_t lengths[] = {100, 400};
    int alarms[NOISES] = {0};
    printf("\n%d pairs without a difference, noise of 5 %%; how often they are called different:\n",
           ALIKE);
    printf("%-24s %5s %8s %7s %12s %8s %6s %6s\n", "noise", "runs", "verdict", "(same)",
           "(inconcl.)", "p50", "p95", "mean");
    for (noise kind = 0; kind < NOISES; kind++)
        for (size_t i = 0; i < 2; i++)
            alarms[kind] += try_alike(kind, lengths[i]);
    for (noise kind = 0; kind < NOISES; kind++)
        TEST_ASSERT_LESS_OR_EQUAL_INT_MESSAGE(2 * ALIKE * 5 / 100, alarms[kind], noise_names[kind]);
    TEST_ASSERT_LESS_OR_EQUAL_INT(NOISES * 2 * ALIKE * 5 / 100, g_p50);
    TEST_ASSERT_LESS_OR_EQUAL_INT(NOISES * 2 * ALIKE * 5 / 100, g_p95);
    TEST_ASSERT_LESS_OR_EQUAL_INT(NOISES * 2 * ALIKE * 5 / 100, g_mean);
}

static const double changes[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5};
#define CHANGES (sizeof changes / sizeof *changes)

// How many of PAIRS slowdowns, and of as many speedups, are found; none may be called the opposite.
static int found(noise kind, double spread, double change, int *opposite)
{
    int count = 0;
    for (int i = 0; i < PAIRS; i++) {
        an_change_verdict slower = compare(kind, RUNS, spread, 1 + change).latency;
        an_change_verdict faster = compare(kind, RUNS, spread, 1 / (1 + change)).latency;
        count += (slower == AN_WORSE) + (faster == AN_BETTER);
        *opposite += (slower == AN_BETTER) + (faster == AN_WORSE);
    }
    return count;
}

static void print_head(const char *title)
{
    printf("\n%s, %d runs:\n%-24s", title, RUNS, "noise");
    for (size_t i = 0; i < CHANGES; i++)
        printf(" %6.0f %%", changes[i] * 100);
    printf("\n");
}

static void test_changes_of_twice_the_noise_are_found(void)
{
    int missed[NOISES] = {0}, opposite = 0;
    print_head("changes of twice the noise that are found");
    for (noise kind = 0; kind < NOISES; kind++) {
        printf("%-24s", noise_names[kind]);
        for (size_t i = 0; i < CHANGES; i++) {
            int count = found(kind, log(1 + changes[i]) / 2, changes[i], &opposite);
            printf(" %7.0f%%", count * 50.0 / PAIRS);
            missed[kind] += 2 * PAIRS - count;
        }
        printf("\n");
    }
    TEST_ASSERT_EQUAL_INT(0, opposite);
    for (noise kind = 0; kind < NOISES; kind++)
        TEST_ASSERT_LESS_OR_EQUAL_INT_MESSAGE((int)CHANGES * 2 * PAIRS * 5 / 100, missed[kind],
                                              noise_names[kind]);
}

// For information: what is found when the noise is 5 %, whatever the change is.
static void test_changes_within_the_noise_are_told(void)
{
    int opposite = 0;
    print_head("changes that are found in a noise of 5 %");
    for (noise kind = 0; kind < NOISES; kind++) {
        printf("%-24s", noise_names[kind]);
        for (size_t i = 0; i < CHANGES; i++)
            printf(" %7.0f%%", found(kind, 0.05, changes[i], &opposite) * 50.0 / PAIRS);
        printf("\n");
    }
    TEST_ASSERT_LESS_OR_EQUAL_INT((int)CHANGES * NOISES * 2 * PAIRS / 100, opposite);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_pairs_without_a_difference_are_rarely_called_different);
    RUN_TEST(test_changes_of_twice_the_noise_are_found);
    RUN_TEST(test_changes_within_the_noise_are_told);
    return UNITY_END();
}
