// SPDX-License-Identifier: MIT
// What sessions do with memory, against numbers that were worked out by hand.
#include "analysis/memory.h"

#include <math.h>
#include <stdlib.h>

#define PATH "test_session_memory.ortl"
#include "summary_fixture.h"

#define KIB 1024
#define MIB (1024 * 1024)

// Arena 5 of session 1 after a run; a microsecond a run.
static void state(int64_t run, int64_t held, int64_t in_use)
{
    ROW(memory, 5, 1, run, run * 1000, held, in_use, in_use, 0, 0, 0, 0, 0, 0, 1);
}

static an_memory_facts facts(void)
{
    an_memory_facts f;
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_close(g_writer));
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_reader_open(PATH, &g_reader));
    TEST_ASSERT_EQUAL_INT(CM_OK, an_summarize(g_reader, &g_summary));
    TEST_ASSERT_EQUAL_size_t(1, g_summary->session_count);
    TEST_ASSERT_NOT_NULL(g_summary->sessions[0].memory);
    an_memory_get(g_summary->sessions[0].memory, &f);
    return f;
}

static void test_leak_of_1_kib_a_run_in_noise(void)
{
    for (int run = 1; run <= 100; run++)
        state(run, 64 * MIB, 10 * MIB + run * KIB + (run % 2 ? 4000 : -4000));
    an_growth g = facts().growth;
    TEST_ASSERT_EQUAL_INT(AN_LEAK, g.verdict);
    TEST_ASSERT_EQUAL_DOUBLE(KIB, g.bytes_per_run); // between runs of the same parity
    TEST_ASSERT_EQUAL_UINT64(50, g.runs);
    TEST_ASSERT_TRUE(g.low > KIB / 2 && g.low <= KIB && g.high >= KIB && g.high < 2 * KIB);
}

static void test_noise_alone_is_steady(void)
{
    for (int run = 1; run <= 100; run++)
        state(run, 64 * MIB, 10 * MIB + (run * 7919 % 101) * 100);
    an_growth g = facts().growth;
    TEST_ASSERT_EQUAL_INT(AN_STEADY, g.verdict);
    TEST_ASSERT_TRUE(g.low <= 0 && g.high >= 0);
}

static void test_what_never_changes_is_steady(void)
{
    for (int run = 1; run <= 20; run++)
        state(run, 64 * MIB, 10 * MIB);
    an_growth g = facts().growth;
    TEST_ASSERT_EQUAL_INT(AN_STEADY, g.verdict);
    TEST_ASSERT_EQUAL_DOUBLE(0, g.bytes_per_run);
    TEST_ASSERT_EQUAL_DOUBLE(0, g.low);
    TEST_ASSERT_EQUAL_DOUBLE(0, g.high);
}

static void test_one_jump_is_no_leak(void)
{
    for (int run = 1; run <= 100; run++)
        state(run, 64 * MIB, run < 75 ? 10 * MIB : 20 * MIB);
    TEST_ASSERT_EQUAL_INT(AN_STEADY, facts().growth.verdict);
}

static void test_19_runs_are_too_few(void)
{
    for (int run = 1; run <= 19; run++)
        state(run, 64 * MIB, run * MIB);
    an_growth g = facts().growth;
    TEST_ASSERT_EQUAL_INT(AN_TOO_FEW_RUNS, g.verdict);
    TEST_ASSERT_FALSE(an_known(g.bytes_per_run));
    TEST_ASSERT_EQUAL_UINT64(0, g.runs);
}

static void test_arena_extended_lately_is_warming(void)
{
    for (int run = 1; run <= 40; run++)
        state(run, run < 35 ? 2 * MIB : 4 * MIB, MIB);
    TEST_ASSERT_EQUAL_INT(AN_WARMING, facts().growth.verdict);
}

static void test_arena_extended_long_ago_is_steady(void)
{
    for (int run = 1; run <= 40; run++)
        state(run, run < 15 ? 2 * MIB : 4 * MIB, MIB);
    TEST_ASSERT_EQUAL_INT(AN_STEADY, facts().growth.verdict);
}

// The slope of a logarithm at 75 is a third of that at 25.
static void test_use_that_levels_off_is_warming(void)
{
    for (int run = 1; run <= 100; run++)
        state(run, 64 * MIB, (int64_t)(MIB * log(run)));
    an_growth g = facts().growth;
    TEST_ASSERT_EQUAL_INT(AN_WARMING, g.verdict);
    TEST_ASSERT_TRUE(g.low > 0);
}

// Slopes between (1, 1), (2, 4), ... (10, 100) are the 45 sums of two different numbers up to 10:
// 3 4 5 5 6 6 7 7 7 8 8 8 ..., symmetric about 11. Kendall's variance for 10 points is 10 * 9 * 25
// / 18 = 125; 45 - 1.96 * 11.18 = 23.1, half of it 11.5: the 11th from either end bounds them.
static void test_interval_by_hand(void)
{
    for (int run = 1; run <= 20; run++)
        state(run, 4096, run <= 10 ? 0 : (run - 10) * (run - 10));
    an_growth g = facts().growth;
    TEST_ASSERT_EQUAL_DOUBLE(11, g.bytes_per_run);
    TEST_ASSERT_EQUAL_DOUBLE(8, g.low);
    TEST_ASSERT_EQUAL_DOUBLE(14, g.high);
    TEST_ASSERT_EQUAL_UINT64(10, g.runs);
    TEST_ASSERT_EQUAL_INT(AN_LEAK, g.verdict);
}

static void test_a_million_runs(void)
{
    for (int64_t run = 1; run <= 1000000; run++)
        state(run, 4000 * (int64_t)MIB, run * KIB + run * 7919 % 100003);
    an_growth g = facts().growth;
    TEST_ASSERT_EQUAL_INT(AN_LEAK, g.verdict);
    TEST_ASSERT_DOUBLE_WITHIN(1, KIB, g.bytes_per_run);
    TEST_ASSERT_UINT64_WITHIN(20000, 500000, g.runs);
}

static void test_held_in_use_peak_and_fragmentation(void)
{
    // arena, session, run, time, held, in use, peak, largest, limit, allocations, reserves, ext.,
    // shr.
    ROW(memory, 5, 1, 1, 10, 8 * MIB, 2 * MIB, 4 * MIB, 0, 0, 100, 0, 3, 0, 2);
    ROW(memory, 6, 1, 1, 11, 1 * MIB, 1 * MIB, 1 * MIB, 0, 0, 7, 0, 1, 0, 2);
    ROW(memory, 5, 1, 3, 40, 32 * MIB, 3 * MIB, 9 * MIB, 0, 0, 130, 0, 6, 1, 2); // before the next
    ROW(memory, 5, 1, 2, 30, 16 * MIB, 5 * MIB, 9 * MIB, 0, 0, 115, 0, 4, 0, 2);
    an_memory_facts f = facts();
    TEST_ASSERT_EQUAL_INT(AN_MEMORY_ARENA, f.source);
    TEST_ASSERT_EQUAL_size_t(2, f.arenas);
    TEST_ASSERT_EQUAL_DOUBLE(33 * MIB, f.held_bytes);
    TEST_ASSERT_EQUAL_DOUBLE(4 * MIB, f.in_use_bytes);
    TEST_ASSERT_EQUAL_DOUBLE(10 * MIB, f.peak_bytes);
    TEST_ASSERT_EQUAL_DOUBLE(29 * MIB, f.unused_bytes);
    TEST_ASSERT_EQUAL_DOUBLE(29.0 / 33, f.unused_share);
    TEST_ASSERT_EQUAL_DOUBLE(7 * MIB, f.unused_at_peak_bytes); // 16 + 1 held, 9 + 1 used
    TEST_ASSERT_EQUAL_DOUBLE(7.0 / 17, f.unused_at_peak_share);
    TEST_ASSERT_EQUAL_DOUBLE(24 * MIB, f.grown_bytes);
    TEST_ASSERT_EQUAL_DOUBLE(3, f.extensions);
    TEST_ASSERT_EQUAL_DOUBLE(1, f.shrinks);
    TEST_ASSERT_EQUAL_DOUBLE(15, f.allocations_per_run); // 30 in two runs
    TEST_ASSERT_EQUAL_UINT64(0, f.allocated->count);
    TEST_ASSERT_FALSE(an_known(f.run_peak_bytes));
}

static void test_what_runs_allocate(void)
{
    static const int64_t bytes[] = {900, 100, 200};
    for (int i = 0; i < 3; i++)
        ROW(run_memory, 1, i + 1, 10 * i, bytes[i], 50, bytes[i] - 10, 1000 + i, 2 + i, 1, 0);
    an_memory_facts f = facts();
    TEST_ASSERT_EQUAL_INT(AN_MEMORY_COUNTED, f.source);
    TEST_ASSERT_FALSE(an_known(f.held_bytes));
    TEST_ASSERT_FALSE(an_known(f.peak_bytes));
    TEST_ASSERT_FALSE(an_known(f.unused_bytes));
    TEST_ASSERT_FALSE(an_known(f.unused_share));
    TEST_ASSERT_EQUAL_DOUBLE(1002, f.in_use_bytes);
    TEST_ASSERT_EQUAL_DOUBLE(400, f.allocated->mean);
    TEST_ASSERT_EQUAL_UINT64(200, cm_histogram_percentile(f.allocated, 500000));
    TEST_ASSERT_EQUAL_UINT64(900, f.allocated->max);
    TEST_ASSERT_EQUAL_DOUBLE(3, f.allocations_per_run);
    TEST_ASSERT_EQUAL_DOUBLE(890, f.run_peak_bytes);
}

static void four_runs(void)
{
    ROW(process, 1, 4242, 0, 0, 0, 0, 0);
    ROW(process, 2, 4243, 0, 0, 0, 0, 0);
    ROW(module, 1, 1, 0, 0, 0, 0, 0, 0);
    ROW(session, 1, 1, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0);
    for (int i = 1; i <= 4; i++)
        ROW(run, 1, i, 1, i * 100, 50, 0, 0, 1, 0, 0);
    ROW(run_memory, 1, 2, 10, 600, 50, 300, 1000, 6, 1, 0);
}

// Runs that allocated nothing have no row.
static void test_runs_that_allocate_nothing_count(void)
{
    four_runs();
    an_memory_facts f = facts();
    TEST_ASSERT_FALSE(f.overlapped);
    TEST_ASSERT_EQUAL_UINT64(4, f.allocated->count);
    TEST_ASSERT_EQUAL_DOUBLE(150, f.allocated->mean);
    TEST_ASSERT_EQUAL_DOUBLE(150, f.allocated_per_run);
    TEST_ASSERT_EQUAL_UINT64(0, cm_histogram_percentile(f.allocated, 500000));
    TEST_ASSERT_EQUAL_DOUBLE(1.5, f.allocations_per_run);
    TEST_ASSERT_EQUAL_DOUBLE(300, f.run_peak_bytes);
}

// Rows of no run belong to several: what each of them took nobody knows.
static void test_runs_that_overlap_have_a_mean_only(void)
{
    four_runs();
    ROW(run_memory, 1, 0, 11, 5000, 50, 300, 1000, 60, 1, 0);
    an_memory_facts f = facts();
    TEST_ASSERT_TRUE(f.overlapped);
    TEST_ASSERT_EQUAL_UINT64(0, f.allocated->count);
    TEST_ASSERT_EQUAL_UINT64(0, f.allocations->count);
    TEST_ASSERT_EQUAL_DOUBLE(1400, f.allocated_per_run); // (600 + 5000) / 4
    TEST_ASSERT_EQUAL_DOUBLE(16.5, f.allocations_per_run);
    TEST_ASSERT_FALSE(an_known(f.run_peak_bytes));
    TEST_ASSERT_EQUAL_size_t(0, g_summary->sessions[0].run_peaks.count);
}

// RunAsync: everything happens on threads that are nobody's.
static void test_overlapping_runs_without_a_row_of_their_own(void)
{
    for (int i = 1; i <= 4; i++)
        ROW(run, 1, i, 1, i * 100, 50, 0, 0, 1, 0, 0);
    ROW(run_memory, 1, 0, 11, 5000, 50, 300, 1000, 60, 1, 0);
    ROW(run_memory, 1, 0, 12, 1000, 50, 300, 1000, 4, 1, 0);
    an_memory_facts f = facts();
    TEST_ASSERT_EQUAL_DOUBLE(1500, f.allocated_per_run);
    TEST_ASSERT_EQUAL_DOUBLE(16, f.allocations_per_run);
    TEST_ASSERT_FALSE(an_known(f.run_peak_bytes));
}

static void test_memory_that_others_only_released_changes_nothing(void)
{
    four_runs();
    ROW(run_memory, 1, 0, 11, 0, 5000, 0, 1000, 0, 7, 0);
    an_memory_facts f = facts();
    TEST_ASSERT_FALSE(f.overlapped);
    TEST_ASSERT_EQUAL_DOUBLE(150, f.allocated_per_run);
    TEST_ASSERT_EQUAL_DOUBLE(300, f.run_peak_bytes);
}

// The rows of the other three may be among what was lost.
static void test_runs_without_a_row_are_left_out_where_events_were_lost(void)
{
    four_runs();
    ROW(lost, 1, 20, 0, 3);
    an_memory_facts f = facts();
    TEST_ASSERT_TRUE(f.lost);
    TEST_ASSERT_EQUAL_UINT64(1, f.counted_runs);
    TEST_ASSERT_EQUAL_UINT64(3, f.untold_runs);
    TEST_ASSERT_EQUAL_UINT64(1, f.allocated->count);
    TEST_ASSERT_EQUAL_DOUBLE(600, f.allocated_per_run);
    TEST_ASSERT_EQUAL_DOUBLE(6, f.allocations_per_run);
}

static void test_overlapping_runs_of_which_events_were_lost_have_no_mean(void)
{
    four_runs();
    ROW(run_memory, 1, 0, 11, 5000, 50, 300, 1000, 60, 1, 0);
    ROW(lost, 0, 20, 4, 3); // of any process
    an_memory_facts f = facts();
    TEST_ASSERT_TRUE(f.overlapped && f.lost);
    TEST_ASSERT_FALSE(an_known(f.allocated_per_run));
    TEST_ASSERT_FALSE(an_known(f.allocations_per_run));
}

// Nor do events of the kernel, which Windows loses.
static void test_events_lost_elsewhere_change_nothing(void)
{
    four_runs();
    ROW(lost, 2, 20, 0, 3);
    ROW(lost, 0, 20, 8, 3);
    an_memory_facts f = facts();
    TEST_ASSERT_FALSE(f.lost);
    TEST_ASSERT_EQUAL_DOUBLE(150, f.allocated_per_run);
}

// Told after creation, after runs, and before the release.
static void test_states_that_follow_no_run(void)
{
    ROW(memory, 5, 1, 0, 10, 8 * MIB, 2 * MIB, 2 * MIB, 0, 0, 100, 0, 3, 0, 2);
    ROW(memory, 5, 1, 10, 20, 8 * MIB, 2 * MIB, 4 * MIB, 0, 0, 150, 0, 3, 0, 2);
    ROW(memory, 5, 1, 0, 30, 8 * MIB, 1 * MIB, 4 * MIB, 0, 0, 150, 0, 3, 0, 2);
    an_memory_facts f = facts();
    TEST_ASSERT_EQUAL_DOUBLE(5, f.allocations_per_run); // 50 in 10
    TEST_ASSERT_EQUAL_DOUBLE(MIB, f.in_use_bytes);
    TEST_ASSERT_EQUAL_INT(AN_TOO_FEW_RUNS, f.growth.verdict);
}

static void test_run_that_makes_an_arena_grow_lately(void)
{
    for (int run = 1; run <= 40; run++)
        ROW(run_memory, 1, run, run * 1000, 100, 100, 100, 5000, 1, 1, run == 35 ? MIB : 0);
    TEST_ASSERT_EQUAL_INT(AN_WARMING, facts().growth.verdict);
}

// Arenas are asked now and then only, what runs hold is counted in each.
static void test_arena_extended_lately_while_counted_use_is_steady(void)
{
    for (int run = 1; run <= 40; run++) {
        ROW(run_memory, 1, run, run * 1000, 100, 100, 100, 5000, 1, 1, 0);
        if (run % 10 == 0)
            state(run, run < 40 ? 2 * MIB : 4 * MIB, MIB);
    }
    TEST_ASSERT_EQUAL_INT(AN_WARMING, facts().growth.verdict);
}

// Runs with memory.enable_memory_arena_shrinkage: the arena takes the same from the system again
// and again, and gives it back.
static void test_arena_that_shrinks_after_each_run_is_steady(void)
{
    for (int run = 1; run <= 100; run++) {
        ROW(run_memory, 1, run, run * 1000, 100, 100, 100, 5000, 1, 1, MIB);
        if (run % 10 == 1)
            state(run, 2 * MIB, 5000);
    }
    TEST_ASSERT_EQUAL_INT(AN_STEADY, facts().growth.verdict);
}

static void test_growth_of_what_was_counted(void)
{
    for (int run = 1; run <= 30; run++)
        ROW(run_memory, 1, run, run, 100, 60, 100, run * 40, 1, 1, 0);
    an_growth g = facts().growth;
    TEST_ASSERT_EQUAL_INT(AN_LEAK, g.verdict);
    TEST_ASSERT_EQUAL_DOUBLE(40, g.bytes_per_run);
}

static void test_what_is_not_known_is_not_invented(void)
{
    ROW(memory, 5, 1, 1, 10, 8 * MIB, -1, -1, -1, 0, -1, -1, -1, -1, 2);
    ROW(memory, 5, 1, 2, 20, 9 * MIB, -1, -1, -1, 0, -1, -1, -1, -1, 2);
    ROW(run_memory, 1, 1, 10, -1, -1, -1, -1, -1, -1, 0);
    an_memory_facts f = facts();
    TEST_ASSERT_EQUAL_DOUBLE(9 * MIB, f.held_bytes);
    TEST_ASSERT_EQUAL_DOUBLE(MIB, f.grown_bytes);
    TEST_ASSERT_FALSE(an_known(f.in_use_bytes));
    TEST_ASSERT_FALSE(an_known(f.peak_bytes));
    TEST_ASSERT_FALSE(an_known(f.unused_bytes));
    TEST_ASSERT_FALSE(an_known(f.unused_at_peak_share));
    TEST_ASSERT_FALSE(an_known(f.extensions));
    TEST_ASSERT_FALSE(an_known(f.allocations_per_run));
    TEST_ASSERT_FALSE(an_known(f.run_peak_bytes));
}

static void test_absurd_rows_do_no_harm(void)
{
    for (int64_t i = 0; i < 100; i++) {
        ROW(memory, i, 1, i % 3 ? INT64_MAX : 1, INT64_MIN, INT64_MAX, INT64_MAX - i, INT64_MAX,
            INT64_MIN, -5, INT64_MAX, 0, INT64_MAX, INT64_MIN, 99);
        ROW(run_memory, 1, 7, i, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MAX, INT64_MAX, -1, 0);
    }
    ROW(memory, 500, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1); // of no session
    an_memory_facts f = facts();
    TEST_ASSERT_EQUAL_size_t(16, f.arenas);
    TEST_ASSERT_EQUAL_INT(AN_TOO_FEW_RUNS, f.growth.verdict); // all of one run
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_leak_of_1_kib_a_run_in_noise);
    RUN_TEST(test_noise_alone_is_steady);
    RUN_TEST(test_what_never_changes_is_steady);
    RUN_TEST(test_one_jump_is_no_leak);
    RUN_TEST(test_19_runs_are_too_few);
    RUN_TEST(test_arena_extended_lately_is_warming);
    RUN_TEST(test_arena_extended_long_ago_is_steady);
    RUN_TEST(test_use_that_levels_off_is_warming);
    RUN_TEST(test_interval_by_hand);
    RUN_TEST(test_a_million_runs);
    RUN_TEST(test_held_in_use_peak_and_fragmentation);
    RUN_TEST(test_what_runs_allocate);
    RUN_TEST(test_runs_that_allocate_nothing_count);
    RUN_TEST(test_runs_that_overlap_have_a_mean_only);
    RUN_TEST(test_overlapping_runs_without_a_row_of_their_own);
    RUN_TEST(test_memory_that_others_only_released_changes_nothing);
    RUN_TEST(test_runs_without_a_row_are_left_out_where_events_were_lost);
    RUN_TEST(test_overlapping_runs_of_which_events_were_lost_have_no_mean);
    RUN_TEST(test_events_lost_elsewhere_change_nothing);
    RUN_TEST(test_states_that_follow_no_run);
    RUN_TEST(test_run_that_makes_an_arena_grow_lately);
    RUN_TEST(test_arena_extended_lately_while_counted_use_is_steady);
    RUN_TEST(test_arena_that_shrinks_after_each_run_is_steady);
    RUN_TEST(test_growth_of_what_was_counted);
    RUN_TEST(test_what_is_not_known_is_not_invented);
    RUN_TEST(test_absurd_rows_do_no_harm);
    return UNITY_END();
}
