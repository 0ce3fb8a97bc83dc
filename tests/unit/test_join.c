// SPDX-License-Identifier: MIT
// What the machine did around each run; the answers were worked out by hand.
#define PATH "test_join.ortl"
#include "sched_fixture.h"

#include "analysis/around.h"
#include "analysis/join.h"
#include "analysis/summary.h"

static an_join *g_join;
static an_around *g_around;

void setUp(void)
{
    begin_file();
    people();
    TEST_ASSERT_EQUAL_INT(CM_OK, an_join_create(&g_join));
}

void tearDown(void)
{
    an_join_destroy(g_join);
    an_around_destroy(g_around);
    g_join = NULL;
    g_around = NULL;
    cm_file_remove(PATH);
}

// A run in the file and among those to be joined.
static void run(int64_t number, int64_t thread, int64_t begin_us, int64_t us)
{
    ran(number, thread, begin_us, us);
    TEST_ASSERT_TRUE(
        an_join_add(g_join, &(an_join_run){1, number, thread, begin_us * US, us * US, 1}));
}

static void finish(void)
{
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_close(g_writer));
    TEST_ASSERT_EQUAL_INT(CM_OK, an_join_read(g_join, &g_source));
}

#define EXPECT_US(us, ns) TEST_ASSERT_EQUAL_DOUBLE((us)*1e3, ns)

static void expect(size_t at, double on_cpu, double ready, double preempted, double waiting,
                   double unknown)
{
    const an_joined *n = an_join_get(g_join, at);
    EXPECT_US(on_cpu, n->on_cpu_ns);
    EXPECT_US(ready, n->ready_ns);
    EXPECT_US(preempted, n->preempted_ns);
    EXPECT_US(waiting, n->waiting_ns);
    EXPECT_US(unknown, n->unknown_ns);
}

// Thread 7: runs 100..300, preempted by chrome.exe ..360, runs ..500, waits ..700, ready ..730,
// runs ..900.
static void some_switches(void)
{
    switched(100, 0, 7, 0, 2, 0);
    switched(300, 0, 22, 7, 1, 32);
    switched(360, 0, 7, 22, 5, 6);
    switched(500, 0, 0, 7, 5, 15);
    made_ready(700, 7);
    switched(730, 1, 7, 0, 2, 0);
    switched(900, 1, 0, 7, 5, 6);
}

static void test_parts_of_runs(void)
{
    some_switches();
    run(1, 7, 150, 100); // all of it on the processor
    run(2, 7, 280, 270); // 20 on, 60 preempted, 140 on, 50 waiting
    run(3, 7, 650, 130); // 50 waiting, 30 ready, 50 on
    run(4, 7, 880, 40);  // 20 on, then nobody knows
    run(5, 7, 950, 10);  // nothing is known
    run(6, 8, 150, 100); // another thread
    run(7, 7, 50, 60);   // 50 before the first switch
    finish();
    expect(0, 100, 0, 0, 0, 0);
    expect(1, 160, 0, 60, 50, 0);
    expect(2, 50, 30, 0, 50, 0);
    expect(3, 20, 0, 0, 0, 20);
    for (size_t i = 4; i < 6; i++) {
        TEST_ASSERT_FALSE(an_known(an_join_get(g_join, i)->on_cpu_ns));
        TEST_ASSERT_FALSE(an_known(an_join_get(g_join, i)->unknown_ns));
        TEST_ASSERT_FALSE(an_known(an_join_get(g_join, i)->switches));
    }
    expect(6, 10, 0, 0, 0, 50);
    const an_joined *n = an_join_get(g_join, 1);
    TEST_ASSERT_EQUAL_size_t(1, n->preempted_by.count);
    TEST_ASSERT_EQUAL_STRING("chrome.exe", an_join_process_name(g_join, n->preempted_by.of[0].key));
    TEST_ASSERT_EQUAL_STRING("app.exe", an_join_process_name(g_join, 1)); // without its folder
    EXPECT_US(60, n->preempted_by.of[0].ns);
    TEST_ASSERT_EQUAL_STRING("WrQueue", an_wait_reason_name(n->waits.of[0].key));
    EXPECT_US(50, n->waits.of[0].ns);
    TEST_ASSERT_EQUAL_DOUBLE(2, n->switches);
    TEST_ASSERT_EQUAL_DOUBLE(0, an_join_get(g_join, 0)->switches);
}

static void test_runs_inside_runs(void)
{
    some_switches();
    run(1, 7, 200, 200);
    run(2, 7, 250, 80); // inside it
    finish();
    expect(0, 140, 0, 60, 0, 0);
    expect(1, 50, 0, 30, 0, 0);
}

static void test_operators_on_other_threads(void)
{
    some_switches();
    switched(210, 2, 9, 0, 2, 0);
    switched(260, 2, 0, 9, 5, 6);
    run(1, 7, 200, 90);
    ROW(op, 1, 1, 1, 9, 215 * US, 5 * US, 0, 0);
    ROW(op, 1, 1, 1, 9, 240 * US, 10 * US, 0, 0);
    ROW(op, 1, 1, 1, 7, 220 * US, 10 * US, 0, 0); // its own
    ROW(op, 1, 1, 1, 9, 255 * US, 30 * US, 0, 2); // ambiguous
    finish();
    TEST_ASSERT_EQUAL_size_t(1, an_join_get(g_join, 0)->other_threads);
    EXPECT_US(35, an_join_get(g_join, 0)->other_on_cpu_ns); // 215 to 250
    expect(0, 90, 0, 0, 0, 0);
}

static void test_faults_and_disks(void)
{
    some_switches();
    ROW(fault, 210 * US, 0, 7, 1, 1, 4096, 0, 0);
    ROW(fault, 220 * US, 0, 7, 1, 6, 4096, 30 * US, 4096);
    ROW(fault, 220 * US, 0, 7, 1, 4, 4096, 0, 0);          // announces the same
    ROW(fault, 290 * US, 0, 7, 1, 6, 4096, 50 * US, 4096); // goes on after the run
    ROW(fault, 230 * US, 0, 22, 2, 1, 4096, 0, 0);         // somebody else's
    ROW(disk, 215 * US, 25 * US, 7, 1, 0, 0, 4096, 0);
    run(1, 7, 200, 100);
    run(2, 7, 310, 100);
    run(3, 7, 950, 10); // after the last row of the system's
    finish();
    const an_joined *n = an_join_get(g_join, 0);
    TEST_ASSERT_EQUAL_DOUBLE(3, n->page_faults);
    TEST_ASSERT_EQUAL_DOUBLE(2, n->hard_faults);
    EXPECT_US(30 + 10, n->hard_fault_ns);
    TEST_ASSERT_EQUAL_DOUBLE(1, n->disk_transfers);
    EXPECT_US(25, n->disk_ns);
    TEST_ASSERT_EQUAL_INT(AN_FAULTS_EVENTS, n->fault_source);
    TEST_ASSERT_EQUAL_DOUBLE(0, an_join_get(g_join, 1)->page_faults);
    TEST_ASSERT_FALSE(an_known(an_join_get(g_join, 2)->page_faults));
}

static void test_faults_that_nobody_recorded(void)
{
    some_switches();
    run(1, 7, 200, 100);
    finish();
    const an_joined *n = an_join_get(g_join, 0);
    TEST_ASSERT_FALSE(an_known(n->page_faults));
    TEST_ASSERT_FALSE(an_known(n->disk_transfers));
    TEST_ASSERT_EQUAL_INT(AN_FAULTS_UNKNOWN, n->fault_source);
    TEST_ASSERT_NULL(an_fault_source_name(n->fault_source));
}

static void test_gaps(void)
{
    run(3, 7, 500, 100); // rows stand in the order of their ends, or nearly
    ran(1, 7, 100, 50);
    ran(2, 8, 200, 250);                                  // of the same session on another thread
    ROW(run, 9, 1, 7, 300 * US, 180 * US, 0, 0, 1, 0, 0); // of another session on the same
    run(4, 7, 650, 0);
    TEST_ASSERT_TRUE(an_join_add(g_join, &(an_join_run){1, 5, 8, 660 * US, 10 * US, 2}));
    ran(5, 8, 660, 10);
    TEST_ASSERT_TRUE(an_join_add(g_join, &(an_join_run){1, 1, 7, 100 * US, 50 * US, 1}));
    finish();
    EXPECT_US(50, an_join_get(g_join, 0)->gap_ns);        // since 450
    EXPECT_US(20, an_join_get(g_join, 0)->thread_gap_ns); // since 480
    EXPECT_US(50, an_join_get(g_join, 1)->gap_ns);        // not since itself
    EXPECT_US(0, an_join_get(g_join, 2)->gap_ns);         // another was under way
    EXPECT_US(210, an_join_get(g_join, 2)->thread_gap_ns);
    TEST_ASSERT_FALSE(an_known(an_join_get(g_join, 3)->gap_ns)); // the first
    TEST_ASSERT_FALSE(an_known(an_join_get(g_join, 0)->on_cpu_ns));
}

static void counter(int64_t id, const char *name, int64_t per_unit, int64_t total, int64_t about,
                    int64_t process, int64_t number)
{
    ROW(counter, id, 0, TEXT("source"), TEXT(name), TEXT("1"), per_unit, total, about, process,
        number, 0);
}

static void sampled(int64_t id, int64_t ms, int64_t value)
{
    ROW(sample, id, ms * 1000 * US, value, value >= 0);
}

static void test_counters_around_a_run(void)
{
    enum { MACHINE, PROCESS, THREAD, CORE, DEVICE };
    ROW(sampling, 0, TEXT("source"), 20000, 0);
    counter(1, "performance", 10, 0, MACHINE, 0, -1);
    counter(2, "frequency", 1, 0, MACHINE, 0, -1);
    counter(3, "gpu_utilization", 1, 0, DEVICE, 0, 0);
    counter(4, "gpu_utilization", 1, 0, DEVICE, 0, 1);
    counter(5, "page_faults", 1, 1, PROCESS, 1, -1);
    counter(6, "cpu_user", 1000, 1, PROCESS, 1, -1); // in ms
    counter(7, "cpu_kernel", 1000, 1, PROCESS, 1, -1);
    counter(8, "page_faults", 1, 1, PROCESS, 2, -1); // another process
    counter(9, "npu_utilization", 1, 0, DEVICE, 0, 2);
    sampled(1, 20, 900);
    sampled(1, 40, 500); // from 10 ms on, since a sample may be late by half an interval
    sampled(2, 20, 3000);
    sampled(3, 20, 10);
    sampled(4, 20, 20);
    sampled(4, 60, 80); // tells of the time from 30 ms on
    sampled(5, 20, 1000);
    sampled(5, 40, 1007);
    sampled(5, 60, 1010);
    sampled(6, 20, 100);
    sampled(6, 40, 110);
    sampled(7, 20, 50);
    sampled(7, 40, 55);
    sampled(8, 20, 0);
    sampled(8, 40, 5000);
    sampled(9, 20, 50);
    sampled(9, 40, -1); // gone
    run(1, 7, 22000, 3000);
    run(2, 7, 45000, 10000);
    run(3, 7, 1000, 1000);
    finish();
    const an_joined *n = an_join_get(g_join, 0);
    TEST_ASSERT_EQUAL_DOUBLE(50, n->clock_percent);
    TEST_ASSERT_EQUAL_DOUBLE(1500, n->clock_mhz);
    TEST_ASSERT_EQUAL_DOUBLE(20, n->gpu_percent); // the busier one
    TEST_ASSERT_EQUAL_DOUBLE(7, n->page_faults);
    TEST_ASSERT_EQUAL_INT(AN_FAULTS_COUNTERS, n->fault_source);
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0.75, n->process_cpu); // 15 ms in 20 ms
    TEST_ASSERT_FALSE(an_known(n->hard_faults));
    n = an_join_get(g_join, 1);
    TEST_ASSERT_EQUAL_DOUBLE(80, n->gpu_percent);
    TEST_ASSERT_EQUAL_DOUBLE(3, n->page_faults);
    TEST_ASSERT_FALSE(an_known(n->npu_percent));
    n = an_join_get(g_join, 2);
    TEST_ASSERT_FALSE(an_known(n->page_faults)); // before the first sample
    TEST_ASSERT_FALSE(an_known(n->clock_percent));
    TEST_ASSERT_EQUAL_INT(AN_FAULTS_UNKNOWN, n->fault_source);
}

static void test_clock_of_the_core(void)
{
    counter(1, "performance", 1, 0, 3, 0, 0);
    counter(2, "performance", 1, 0, 3, 0, 1);
    counter(3, "performance", 1, 0, 0, 0, -1);
    sampled(1, 0, 40);
    sampled(2, 0, 60);
    sampled(3, 0, 80);
    some_switches();
    run(1, 7, 200, 50);
    run(2, 7, 750, 50); // on processor 1
    run(3, 8, 750, 50); // nobody knows where
    finish();
    TEST_ASSERT_EQUAL_DOUBLE(40, an_join_get(g_join, 0)->clock_percent);
    TEST_ASSERT_EQUAL_DOUBLE(60, an_join_get(g_join, 1)->clock_percent);
    TEST_ASSERT_EQUAL_DOUBLE(80, an_join_get(g_join, 2)->clock_percent);
    TEST_ASSERT_FALSE(an_known(an_join_get(g_join, 0)->clock_mhz));
}

static double g_pieces[AN_DOING_COUNT];

static void add_piece(void *context, size_t at, const an_piece *p)
{
    TEST_ASSERT_NULL(context);
    TEST_ASSERT_EQUAL_size_t(0, at);
    g_pieces[p->doing] += (double)(p->end_ns - p->begin_ns);
}

static void test_pieces_are_told(void)
{
    some_switches();
    run(1, 7, 280, 500);
    an_join_tell_pieces(g_join, NULL, add_piece);
    memset(g_pieces, 0, sizeof g_pieces);
    finish();
    EXPECT_US(20 + 140 + 50, g_pieces[AN_DOING_RUN]);
    EXPECT_US(60, g_pieces[AN_DOING_PREEMPTED]);
    EXPECT_US(200, g_pieces[AN_DOING_WAIT]);
    EXPECT_US(30, g_pieces[AN_DOING_READY]);
}

static void test_sessions_add_up(void)
{
    some_switches();
    ran(1, 7, 150, 100);
    ran(2, 7, 280, 270);
    ran(3, 7, 950, 10);
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_close(g_writer));
    TEST_ASSERT_EQUAL_INT(CM_OK, an_around_read(&g_source, &g_around));
    const an_around_session *s = an_around_of(g_around, 1);
    TEST_ASSERT_NOT_NULL(s);
    TEST_ASSERT_EQUAL_UINT64(3, s->runs);
    TEST_ASSERT_EQUAL_UINT64(2, s->covered);
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 260.0 / 370, an_around_share(s, s->on_cpu_ns));
    TEST_ASSERT_DOUBLE_WITHIN(1e-12, 60.0 / 370, an_around_share(s, s->preempted_ns));
    TEST_ASSERT_EQUAL_STRING("chrome.exe",
                             an_around_process_name(g_around, s->preempted_by.of[0].key));
    EXPECT_US((30 + 400) / 2.0, an_mean_of(s->gap_ns));
    TEST_ASSERT_FALSE(an_known(an_mean_of(s->page_faults)));
    TEST_ASSERT_NULL(an_around_of(g_around, 2));
}

// More runs than are joined at once, and a row of each kind of switch for every one.
static void test_more_runs_than_a_portion(void)
{
    const int64_t count = AN_JOIN_MAX_RUNS + 1000;
    for (int64_t i = 0; i < count; i++) {
        switched(i * 10, 0, 7, 0, 2, 0);
        ran(i + 1, 7, i * 10 + 1, 6);
        switched(i * 10 + 5, 0, 0, 7, 5, 6); // on for 4, waiting for 2
    }
    switched(count * 10, 0, 7, 0, 2, 0);
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_close(g_writer));
    TEST_ASSERT_EQUAL_INT(CM_OK, an_around_read(&g_source, &g_around));
    const an_around_session *s = an_around_of(g_around, 1);
    TEST_ASSERT_EQUAL_UINT64((uint64_t)count, s->covered);
    EXPECT_US((double)count * 4, s->on_cpu_ns);
    EXPECT_US((double)count * 2, s->waiting_ns);
    TEST_ASSERT_FALSE(an_known(an_mean_of(s->gap_ns)));
}

static void test_absurd_numbers(void)
{
    ROW(sched, INT64_MIN, -5, INT64_MAX, -1, INT64_MIN, 99, 0, 0, 77, -3, 0, 0);
    ROW(sched, INT64_MAX, INT64_MAX, 7, 1, 7, 1, 0, 0, 5, 6, 0, 0);
    ROW(sched, INT64_MAX, 1, 7, 1, 7, 1, 0, 0, 5, INT64_MAX, 0, 0);
    ROW(sched, INT64_MIN, 1, 7, 1, 8, 1, 0, 0, 1, 6, 0, 0);
    ROW(ready, INT64_MIN, 0, -1, 0, 0, 0, 0, 0, 0);
    ROW(fault, INT64_MAX, 0, 7, 1, 6, 0, INT64_MAX, INT64_MAX);
    ROW(disk, INT64_MIN, INT64_MAX, 7, 1, 0, 0, -1, 0);
    ROW(op, 1, 1, 1, INT64_MIN, INT64_MIN, INT64_MAX, 0, 0);
    counter(1, "cpu_user", 0, 1, 1, 1, 0);
    counter(2, "performance", INT64_MIN, 0, 0, 0, 0);
    ROW(sample, 1, INT64_MIN, INT64_MIN, 1);
    ROW(sample, 1, INT64_MAX, INT64_MAX, 1);
    ROW(sample, 2, INT64_MIN, INT64_MAX, 1);
    ROW(sampling, 0, TEXT("source"), INT64_MAX, 0);
    const an_join_run odd[] = {{1, 1, 7, INT64_MIN, INT64_MAX, 1},
                               {1, 1, 7, INT64_MAX, INT64_MAX, 0},
                               {INT64_MIN, INT64_MAX, INT64_MIN, 0, INT64_MIN, INT64_MAX},
                               {1, 2, -1, 0, 0, -1}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        TEST_ASSERT_TRUE(an_join_add(g_join, &odd[i]));
        ROW(run, odd[i].session, odd[i].run, odd[i].thread, odd[i].begin_ns, odd[i].duration_ns, 0,
            0, 1, 0, 0);
    }
    finish();
    TEST_ASSERT_EQUAL_INT(CM_OK, an_around_read(&g_source, &g_around));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_parts_of_runs);
    RUN_TEST(test_runs_inside_runs);
    RUN_TEST(test_operators_on_other_threads);
    RUN_TEST(test_faults_and_disks);
    RUN_TEST(test_faults_that_nobody_recorded);
    RUN_TEST(test_gaps);
    RUN_TEST(test_counters_around_a_run);
    RUN_TEST(test_clock_of_the_core);
    RUN_TEST(test_pieces_are_told);
    RUN_TEST(test_sessions_add_up);
    RUN_TEST(test_more_runs_than_a_portion);
    RUN_TEST(test_absurd_numbers);
    return UNITY_END();
}
