// SPDX-License-Identifier: MIT
// `--ops slow`: operators wait for their run's end and get into the file only if it was slow, in
// whatever order the rings were read.
#include "op_keep.h"

#include "unity.h"

#include <string.h>

enum { MS = 1000000, ROWS = 4096 }; // a tick is a nanosecond here

static co_op_keep g_keep;
static co_pending g_pending;
static co_clock g_clock;
static uint64_t g_now;
static int64_t g_written[ROWS][TM_op_COUNT];
static size_t g_count;

void __wrap_tm_writer_row(tm_writer *w, tm_kind kind, const int64_t *values);
void __wrap_tm_writer_row(tm_writer *w, tm_kind kind, const int64_t *values)
{
    (void)w;
    TEST_ASSERT_EQUAL(TM_KIND_op, kind);
    TEST_ASSERT_TRUE(g_count < ROWS);
    memcpy(g_written[g_count++], values, sizeof *g_written);
}

static co_anchor anchor(uint64_t ns)
{
    return (co_anchor){.ticks = ns, .qpc = ns, .qpc_ns = ns, .utc_ns = ns};
}

static void begin(co_op_mode mode, int64_t value)
{
    g_keep.choice = (co_op_choice){mode, value};
}

void setUp(void)
{
    memset(&g_keep, 0, sizeof g_keep);
    memset(&g_pending, 0, sizeof g_pending);
    g_now = 1000 * MS;
    g_count = 0;
    co_clock_start(&g_clock, anchor(0)); // long before: runs begin after it
}

void tearDown(void)
{
    co_op_keep_deinit(&g_keep);
}

static void op(int64_t session, int64_t run, int64_t kernel)
{
    const int64_t row[TM_op_COUNT] = {[TM_op_kernel] = kernel,
                                      [TM_op_session] = session,
                                      [TM_op_run] = run,
                                      [TM_op_begin] = (int64_t)g_now,
                                      [TM_op_duration] = 1000};
    co_op_keep_hold(&g_keep, &g_pending, row);
}

static void run(int64_t session, int64_t number, int64_t duration)
{
    co_op_keep_run_ended(&g_keep, &g_pending,
                         (co_ended_run){session, number, (int64_t)g_now, duration});
}

static void flush(void)
{
    g_now += 200 * MS;
    co_clock_add(&g_clock, anchor(g_now));
    co_op_keep_write(&g_keep, &g_pending, &g_clock, NULL);
}

static void check_written(size_t i, int64_t session, int64_t number, int64_t kernel)
{
    TEST_ASSERT_TRUE(i < g_count);
    TEST_ASSERT_EQUAL_INT64(session, g_written[i][TM_op_session]);
    TEST_ASSERT_EQUAL_INT64(number, g_written[i][TM_op_run]);
    TEST_ASSERT_EQUAL_INT64(kernel, g_written[i][TM_op_kernel]);
}

static void test_only_longer_runs(void)
{
    begin(CO_OPS_LONGER, 50 * MS);
    TEST_ASSERT_TRUE(co_op_keep_waits(&g_keep));
    for (int64_t i = 1; i <= 4; i++) {
        op(1, i, 10 + i);
        op(1, i, 20 + i);
        run(1, i, i == 3 ? 51 * MS : 50 * MS);
    }
    flush();
    TEST_ASSERT_EQUAL_size_t(2, g_count);
    check_written(0, 1, 3, 13);
    check_written(1, 1, 3, 23);
    TEST_ASSERT_EQUAL_size_t(0, g_keep.held.count);
    TEST_ASSERT_EQUAL_UINT64(0, g_pending.unstored);
}

// Its ring was read before that of an inter-op thread.
static void test_operators_that_come_after_their_run(void)
{
    begin(CO_OPS_LONGER, 50 * MS);
    run(1, 1, 60 * MS);
    run(1, 2, 40 * MS);
    flush();
    op(1, 1, 11);
    op(1, 2, 12);
    flush();
    TEST_ASSERT_EQUAL_size_t(1, g_count);
    check_written(0, 1, 1, 11);
    TEST_ASSERT_EQUAL_size_t(0, g_keep.held.count);
}

// The clock's anchors are long gone when the run ends, but the operators' times are right.
static void test_a_run_over_many_flushes(void)
{
    uint64_t begun = g_now;
    begin(CO_OPS_LONGER, 50 * MS);
    for (int i = 0; i < 100; i++) {
        op(2, 7, 100 + i);
        op(2, 8, 1); // another run under way, which is never heard of again
        flush();
    }
    TEST_ASSERT_EQUAL_size_t(0, g_count);
    run(2, 7, (int64_t)(g_now - begun));
    flush();
    TEST_ASSERT_EQUAL_size_t(100, g_count);
    for (int i = 0; i < 100; i++) {
        check_written((size_t)i, 2, 7, 100 + i);
        TEST_ASSERT_INT64_WITHIN(10, (1000 + i * 200ll) * MS - 1000, g_written[i][TM_op_begin]);
    }
    TEST_ASSERT_EQUAL_size_t(100, g_keep.held.count);
}

// Whether the recording ends or the program: a run that never came to its end is slow if it has
// taken that long until then. What is around others comes after them, and began before.
static void runs_under_way(void)
{
    op(1, 2, 12);
    flush();
    flush();
    g_now -= 390 * MS;
    op(1, 2, 13);
    g_now += 390 * MS;
    op(1, 1, 11);
    op(1, 3, 14);
    run(1, 1, 10 * MS);
    co_op_keep_end(&g_keep);
    flush(); // 200 ms later
    TEST_ASSERT_EQUAL_size_t(0, g_keep.held.count);
    TEST_ASSERT_EQUAL_UINT64(0, g_keep.left_out);
}

static void test_a_run_under_way_at_the_end(void)
{
    begin(CO_OPS_LONGER, 300 * MS);
    runs_under_way();
    TEST_ASSERT_EQUAL_size_t(2, g_count);
    check_written(0, 1, 2, 12);
    check_written(1, 1, 2, 13);
}

static void test_a_run_under_way_that_is_not_slow_yet(void)
{
    begin(CO_OPS_LONGER, 700 * MS);
    runs_under_way();
    TEST_ASSERT_EQUAL_size_t(0, g_count);
}

static void test_a_run_under_way_among_the_slowest(void)
{
    begin(CO_OPS_SLOWEST, 10000);
    for (int64_t i = 100; i < 400; i++)
        run(1, i, 250 * MS);
    flush();
    runs_under_way();
    TEST_ASSERT_EQUAL_size_t(2, g_count);
    check_written(0, 1, 2, 12);
    check_written(1, 1, 2, 13);
}

// Told long after it ended, when nobody knows any more whether its run was slow.
static void test_an_operator_that_is_told_late(void)
{
    begin(CO_OPS_LONGER, 50 * MS);
    uint64_t then = g_now;
    run(1, 1, 60 * MS);
    op(1, 2, 11); // of a run under way all the time
    for (int i = 0; i < 40; i++)
        flush();
    uint64_t now = g_now;
    g_now = then;
    op(1, 1, 12);
    g_now = now;
    op(1, 2, 13);
    flush();
    TEST_ASSERT_EQUAL_UINT64(1, g_keep.left_out);
    TEST_ASSERT_EQUAL_size_t(2, g_keep.held.count);
    run(1, 2, 8000ll * MS);
    flush();
    TEST_ASSERT_EQUAL_size_t(2, g_count);
    check_written(0, 1, 2, 11);
    check_written(1, 1, 2, 13);
    TEST_ASSERT_EQUAL_UINT64(1, g_keep.left_out);
}

static void test_same_run_number_of_another_session(void)
{
    begin(CO_OPS_LONGER, 50 * MS);
    op(1, 1, 11);
    op(2, 1, 21);
    run(1, 1, 10 * MS);
    run(2, 1, 90 * MS);
    flush();
    TEST_ASSERT_EQUAL_size_t(1, g_count);
    check_written(0, 2, 1, 21);
}

static void test_ambiguous_operators_are_nobodys(void)
{
    begin(CO_OPS_LONGER, 0);
    op(1, 0, 11);
    TEST_ASSERT_EQUAL_size_t(0, g_keep.held.count);
    TEST_ASSERT_EQUAL_UINT64(1, g_keep.left_out);
}

// Runs whose rows were lost must not fill the memory, nor keep later ones out.
static void test_waiting_is_bounded(void)
{
    begin(CO_OPS_LONGER, 50 * MS);
    for (int i = 0; i < 1500000; i++)
        op(1, 1, 1);
    TEST_ASSERT_TRUE(g_keep.held.count <= 1024 * 1024);
    TEST_ASSERT_EQUAL_UINT64(1500000, g_keep.held.count + g_pending.unstored);
    op(1, 2, 22);
    run(1, 2, 60 * MS);
    flush();
    TEST_ASSERT_EQUAL_size_t(1, g_count);
    check_written(0, 1, 2, 22);
}

// ------------------------------------------------------------------------------- the slowest
// percent

// Deterministic, spread over 10 to 20 ms without pattern.
static uint64_t latency_of(uint32_t i)
{
    return 10 * MS + (uint64_t)(i * 2654435761u) % (10 * MS);
}

static void test_the_slowest_percent(void)
{
    static co_slowest s;
    uint32_t kept = 0, early = 0;
    co_slowest_init(&s);
    for (uint32_t i = 0; i < 100000; i++) {
        uint64_t ns = latency_of(i);
        bool slow = co_slowest_add(&s, ns, 10000);
        kept += slow;
        early += slow && i < 100;
        if (i == 0)
            TEST_ASSERT_TRUE(slow); // the first is the slowest so far
        if (i > 1000 && ns > 19950000)
            TEST_ASSERT_TRUE(slow);
        if (i > 1000 && ns < 19700000)
            TEST_ASSERT_FALSE(slow);
    }
    TEST_ASSERT_TRUE_MESSAGE(kept >= 700 && kept <= 1100, "about one in a hundred");
    TEST_ASSERT_TRUE(early <= 20);
}

static void test_equal_runs_are_not_slow(void)
{
    static co_slowest s;
    uint32_t kept = 0;
    co_slowest_init(&s);
    for (uint32_t i = 0; i < 10000; i++)
        kept += co_slowest_add(&s, 5 * MS, 10000);
    TEST_ASSERT_EQUAL_UINT32(1, kept);
    TEST_ASSERT_TRUE(co_slowest_add(&s, 6 * MS, 10000));
    TEST_ASSERT_TRUE(co_slowest_add(&s, UINT64_MAX, 10000));
    TEST_ASSERT_FALSE(co_slowest_add(&s, 0, 10000));
}

static void test_sessions_have_their_own_slowest(void)
{
    begin(CO_OPS_SLOWEST, 10000);
    for (int64_t i = 1; i <= 500; i++) {
        run(1, i, 5 * MS);
        run(2, i, 50 * MS);
        flush();
    }
    op(1, 501, 1);
    run(1, 501, 8 * MS); // slow for this one, though faster than all of the other
    op(2, 501, 2);
    run(2, 501, 50 * MS);
    op(257 + 1, 1, 3); // the same place in the table
    run(257 + 1, 1, 1 * MS);
    flush();
    TEST_ASSERT_EQUAL_size_t(2, g_count);
    check_written(0, 1, 501, 1);
    check_written(1, 258, 1, 3);
}

// The first run of each, and no other: whatever their numbers are, they do not share a place.
static void test_sessions_take_turns(void)
{
    begin(CO_OPS_SLOWEST, 10000);
    for (int64_t i = 1; i <= 500; i++)
        for (int64_t session = 1; session <= 257; session += 256) {
            op(session, i, 1);
            run(session, i, 5 * MS);
            flush();
        }
    TEST_ASSERT_EQUAL_size_t(2, g_count);
}

// Runs of a session that has ended are still compared with those before them; then it is forgotten.
static void test_ended_sessions_are_forgotten_late(void)
{
    begin(CO_OPS_SLOWEST, 10000);
    run(1, 1, 5 * MS);
    flush();
    co_op_keep_session_ended(&g_keep, 1);
    op(1, 2, 1);
    run(1, 2, 5 * MS);
    for (int i = 0; i < 8; i++)
        flush();
    TEST_ASSERT_EQUAL_size_t(0, g_count);
    TEST_ASSERT_EQUAL_size_t(1, g_keep.sessions.count);
    for (int i = 0; i < 8; i++)
        flush();
    TEST_ASSERT_EQUAL_size_t(0, g_keep.sessions.count);
    co_op_keep_session_ended(&g_keep, 1);
}

static void test_sessions_are_bounded(void)
{
    begin(CO_OPS_SLOWEST, 10000);
    for (int64_t i = 1; i <= 3 * (int64_t)CO_KEEP_SESSIONS; i++) {
        run(i, 1, 5 * MS); // these never end
        run(0x7000000000, i, 5 * MS);
        if (i % 1000 == 0)
            flush();
    }
    flush();
    TEST_ASSERT_EQUAL_size_t(CO_KEEP_SESSIONS, g_keep.sessions.count);
    op(0x7000000000, 100000, 1); // the one that runs all the time is still known
    run(0x7000000000, 100000, 5 * MS);
    flush();
    TEST_ASSERT_EQUAL_size_t(0, g_count);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_only_longer_runs);
    RUN_TEST(test_operators_that_come_after_their_run);
    RUN_TEST(test_a_run_over_many_flushes);
    RUN_TEST(test_a_run_under_way_at_the_end);
    RUN_TEST(test_a_run_under_way_that_is_not_slow_yet);
    RUN_TEST(test_a_run_under_way_among_the_slowest);
    RUN_TEST(test_an_operator_that_is_told_late);
    RUN_TEST(test_same_run_number_of_another_session);
    RUN_TEST(test_ambiguous_operators_are_nobodys);
    RUN_TEST(test_waiting_is_bounded);
    RUN_TEST(test_the_slowest_percent);
    RUN_TEST(test_equal_runs_are_not_slow);
    RUN_TEST(test_sessions_have_their_own_slowest);
    RUN_TEST(test_sessions_take_turns);
    RUN_TEST(test_ended_sessions_are_forgotten_late);
    RUN_TEST(test_sessions_are_bounded);
    return UNITY_END();
}
