// SPDX-License-Identifier: MIT
// Counters without a system: the pace, the rows that samples become, and what is made of the
// system's answer about all processes.
#include "counter_rows.h"
#include "pace.h"
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

#define MS 1000000u

static atomic_uint g_last_id;
static co_readings g_readings;
static co_series g_series;
static counter_rows g_rows;

void setUp(void)
{
    atomic_store(&g_last_id, 0);
    g_readings = (co_readings){0};
    g_rows = (counter_rows){0};
    co_series_init(&g_series, &g_last_id, &g_readings);
}

void tearDown(void)
{
    co_series_deinit(&g_series);
    co_readings_deinit(&g_readings);
}

// ---------------------------------------------------------------------------------------- the pace

// Notes the same cost often enough for anything to change; how often it did.
static int note(co_pace *p, uint64_t cost_ns, double allowance)
{
    int changes = 0;
    for (unsigned i = 0; i < 2 * CO_PACE_COSTS; i++)
        changes += co_pace_note(p, cost_ns, allowance);
    return changes;
}

static void test_pace_stays_where_it_is_cheap(void)
{
    co_pace p;
    co_pace_init(&p, 50);
    TEST_ASSERT_EQUAL_UINT64(20 * MS, p.interval_ns);
    TEST_ASSERT_EQUAL(0, note(&p, MS / 10, 0.01)); // 0.5 %
    TEST_ASSERT_EQUAL_UINT64(20 * MS, p.interval_ns);
}

static void test_pace_slows_down_to_what_is_allowed(void)
{
    const uint64_t costs[] = {MS, 5 * MS, 50 * MS};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        co_pace p;
        co_pace_init(&p, 1000);
        TEST_ASSERT_TRUE(note(&p, costs[i], 0.01) >= 1);
        TEST_ASSERT_TRUE((double)costs[i] / (double)p.interval_ns <= 0.01);
        TEST_ASSERT_TRUE(co_pace_share(&p) > 0.007); // not slower than needed
        TEST_ASSERT_EQUAL(0, note(&p, costs[i], 0.01));
        TEST_ASSERT_EQUAL(0, note(&p, costs[i] * 11 / 10, 0.01)); // some change is no change
    }
}

static void test_pace_becomes_fast_again(void)
{
    co_pace p;
    co_pace_init(&p, 50);
    note(&p, 10 * MS, 0.01);
    TEST_ASSERT_TRUE(p.interval_ns >= 1000 * MS);
    TEST_ASSERT_TRUE(note(&p, MS / 20, 0.01) >= 1);
    TEST_ASSERT_EQUAL_UINT64(20 * MS, p.interval_ns);
}

static void test_pace_follows_another_wish(void)
{
    co_pace p;
    co_pace_init(&p, 50);
    note(&p, MS / 10, 0.01);
    co_pace_wish(&p, 10);
    TEST_ASSERT_EQUAL_UINT64(100 * MS, p.interval_ns);
    TEST_ASSERT_EQUAL(0, note(&p, MS / 10, 0.01)); // cheap: it stays there
    co_pace_wish(&p, 1000);
    TEST_ASSERT_EQUAL_UINT64(MS, p.interval_ns);
    TEST_ASSERT_TRUE(co_pace_note(&p, MS / 10, 0.01)); // too dear: known from before
    TEST_ASSERT_TRUE(p.interval_ns >= 10 * MS);
}

static void test_pace_ignores_the_first_and_single_slow_ones(void)
{
    co_pace p;
    co_pace_init(&p, 50);
    TEST_ASSERT_FALSE(co_pace_note(&p, 900 * MS, 0.01));
    for (int i = 0; i < 100; i++)
        TEST_ASSERT_FALSE(co_pace_note(&p, i % 4 == 3 ? 30 * MS : MS / 10, 0.01));
    TEST_ASSERT_EQUAL_UINT64(20 * MS, p.interval_ns);
}

static void test_pace_has_an_end(void)
{
    co_pace p;
    co_pace_init(&p, 50);
    note(&p, UINT64_MAX / 2, 0.01);
    TEST_ASSERT_EQUAL_UINT64(CO_PACE_MAX_NS, p.interval_ns);
    co_pace_init(&p, 50);
    note(&p, MS, 0);
    TEST_ASSERT_EQUAL_UINT64(CO_PACE_MAX_NS, p.interval_ns);
}

static void test_allowance_is_what_others_leave(void)
{
    TEST_ASSERT_EQUAL_DOUBLE(0.01, co_pace_allowance(0.01, 1, 0));
    TEST_ASSERT_EQUAL_DOUBLE(0.008, co_pace_allowance(0.01, 4, 0.002));
    TEST_ASSERT_EQUAL_DOUBLE(0.0025, co_pace_allowance(0.01, 4, 0.5)); // its own part in any case
}

// --------------------------------------------------------------------------------- rows, read back

static const row_counter *find(const char *name, int64_t number)
{
    for (int64_t process = 0; process < 2; process++) {
        const row_counter *c = rows_find(&g_rows, name, number, process, "");
        if (c)
            return c;
    }
    TEST_FAIL_MESSAGE(name);
    return NULL;
}

static int64_t last_of(const char *name, int64_t number)
{
    return find(name, number)->last;
}

static co_counter counter(const char *name, int64_t number)
{
    return (co_counter){.source = "test",
                        .name = name,
                        .unit = "1",
                        .per_unit = 1,
                        .about = CO_ABOUT_DEVICE,
                        .number = number};
}

static void test_only_changes_become_rows(void)
{
    co_counter a = counter("a", 1), b = counter("b", 1);
    const int64_t values[] = {5, 5, -7, -7, 0, 0};
    for (size_t i = 0; i < 6; i++) {
        co_series_put(&g_series, &a, 100 + i, true, values[i]);
        co_series_put(&g_series, &b, 100 + i, i >= 3, 9);
        co_series_end_round(&g_series, 100 + i);
    }
    rows_read(&g_rows, &g_readings);
    TEST_ASSERT_EQUAL(2, g_rows.counters);
    TEST_ASSERT_EQUAL(3, find("a", 1)->samples); // 5, -7, 0
    TEST_ASSERT_EQUAL(2, find("b", 1)->samples); // not known, 9
    TEST_ASSERT_EQUAL(0, last_of("a", 1));
    TEST_ASSERT_EQUAL(9, last_of("b", 1));
}

static void test_what_is_gone_is_not_known_and_may_come_back(void)
{
    co_counter a = counter("a", 1);
    co_series_put(&g_series, &a, 1, true, 5);
    co_series_end_round(&g_series, 1);
    co_series_end_round(&g_series, 2);
    co_series_end_round(&g_series, 3);
    co_readings first = {0};
    co_readings_move(&first, &g_readings);
    co_series_put(&g_series, &a, 4, true, 5);
    co_series_end_round(&g_series, 4);
    co_readings_move(&first, &g_readings); // two batches in one
    co_readings_deinit(&g_readings);
    g_readings = first;
    rows_read(&g_rows, &g_readings);
    TEST_ASSERT_EQUAL(1, g_rows.counters);
    TEST_ASSERT_EQUAL(3, find("a", 1)->samples); // 5, not known once, 5
    TEST_ASSERT_EQUAL(5, last_of("a", 1));
}

static void test_counters_are_told_apart_by_all_that_names_them(void)
{
    co_counter variants[] = {counter("a", 1), counter("a", 2), counter("b", 1),
                             counter("a", 1), counter("a", 1), counter("a", 1)};
    variants[3].process = 7;
    strcpy(variants[4].subject, "x");
    variants[5].about = CO_ABOUT_CORE;
    for (size_t i = 0; i < 6; i++)
        co_series_put(&g_series, &variants[i], 1, true, (int64_t)i);
    TEST_ASSERT_EQUAL(6, atomic_load(&g_last_id));
}

static void test_too_many_counters_are_refused(void)
{
    for (int64_t i = 0; i < CO_SERIES_MAX + 10; i++) {
        co_counter a = counter("a", i);
        co_series_put(&g_series, &a, 1, true, i);
    }
    TEST_ASSERT_EQUAL(CO_SERIES_MAX, atomic_load(&g_last_id));
    TEST_ASSERT_EQUAL(10, g_series.refused);
}

// ----------------------------------------------------------------------------- the system's answer

typedef struct fake_thread {
    uint64_t tid;
    int64_t created, user, kernel;
    uint32_t switches;
} fake_thread;

static uint8_t g_answer[8192] __attribute__((aligned(8)));
static size_t g_len, g_last_entry;

static void store(size_t at, const void *value, size_t bytes)
{
    memcpy(g_answer + at, value, bytes);
}

static void begin_answer(void)
{
    memset(g_answer, 0, sizeof g_answer);
    g_len = g_last_entry = 0;
}

static void add_process(uint64_t pid, int64_t user, int64_t kernel, uint32_t hard_faults,
                        const fake_thread *threads, uint32_t count)
{
    uint32_t next = (uint32_t)(g_len - g_last_entry);
    if (g_len)
        store(g_last_entry, &next, 4);
    g_last_entry = g_len;
    int64_t created = (int64_t)pid * 1000;
    uint32_t handles = 32;
    store(g_len + 0x04, &count, 4);
    store(g_len + 0x10, &hard_faults, 4);
    store(g_len + 0x20, &created, 8);
    store(g_len + 0x28, &user, 8);
    store(g_len + 0x30, &kernel, 8);
    store(g_len + 0x50, &pid, 8);
    store(g_len + 0x60, &handles, 4);
    g_len += 0x100;
    for (uint32_t i = 0; i < count; i++, g_len += 0x50) {
        store(g_len + 0x00, &threads[i].kernel, 8);
        store(g_len + 0x08, &threads[i].user, 8);
        store(g_len + 0x10, &threads[i].created, 8);
        store(g_len + 0x30, &threads[i].tid, 8);
        store(g_len + 0x40, &threads[i].switches, 4);
    }
}

static const co_followed g_followed[] = {{1, 400}};

static void test_snapshot_tells_processes_and_threads(void)
{
    const fake_thread threads[] = {{11, 1, 20000, 3000, 7}, {12, 2, 50, 0, 9}};
    co_snapshot s;
    co_snapshot_init(&s, &g_last_id, &g_readings);
    s.process_times = true;
    begin_answer();
    add_process(4, 0, 0, 5, NULL, 0);
    add_process(400, 20050, 3000, 3, threads, 2);
    co_snapshot_add(&s, g_answer, g_len, 1, g_followed, 1);
    co_snapshot_deinit(&s);
    rows_read(&g_rows, &g_readings);
    TEST_ASSERT_EQUAL(2005, last_of("cpu_user", -1));
    TEST_ASSERT_EQUAL(300, last_of("cpu_kernel", -1));
    TEST_ASSERT_EQUAL(16, last_of("context_switches", -1));
    TEST_ASSERT_EQUAL(3, last_of("hard_faults", -1));
    TEST_ASSERT_EQUAL(32, last_of("handles", -1));
    TEST_ASSERT_EQUAL(2, last_of("processes", -1));
    TEST_ASSERT_EQUAL(2000, last_of("cpu_user", 11));
    TEST_ASSERT_EQUAL(300, last_of("cpu_kernel", 11));
    TEST_ASSERT_EQUAL(9, last_of("context_switches", 12));
}

static void test_what_nobody_has_is_not_told(void)
{
    const fake_thread threads[] = {{11, 1, 20000, 3000, 0}};
    co_snapshot s;
    co_snapshot_init(&s, &g_last_id, &g_readings);
    begin_answer();
    add_process(400, 0, 0, 0, threads, 1);
    co_snapshot_add(&s, g_answer, g_len, 1, g_followed, 1);
    co_snapshot_deinit(&s);
    rows_read(&g_rows, &g_readings);
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last_of("context_switches", -1));
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last_of("context_switches", 11));
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last_of("hard_faults", -1));
}

static void test_switches_of_ended_threads_stay(void)
{
    const fake_thread before[] = {{11, 1, 0, 0, 100}, {12, 2, 0, 0, 50}};
    const fake_thread after[] = {{11, 1, 0, 0, 101}, {12, 3, 0, 0, 5}}; // another thread 12
    co_snapshot s;
    co_snapshot_init(&s, &g_last_id, &g_readings);
    begin_answer();
    add_process(400, 0, 0, 0, before, 2);
    co_snapshot_add(&s, g_answer, g_len, 1, g_followed, 1);
    begin_answer();
    add_process(400, 0, 0, 0, after, 2);
    co_snapshot_add(&s, g_answer, g_len, 2, g_followed, 1);
    begin_answer();
    add_process(400, 0, 0, 0, after, 1);
    co_snapshot_add(&s, g_answer, g_len, 3, g_followed, 1);
    co_snapshot_deinit(&s);
    rows_read(&g_rows, &g_readings);
    TEST_ASSERT_EQUAL(150 + 1 + 5, last_of("context_switches", -1));
    TEST_ASSERT_EQUAL_INT64(NOT_KNOWN, last_of("context_switches", 12)); // it has ended
}

static void test_other_processes_count_once_they_do_something(void)
{
    co_snapshot s;
    co_snapshot_init(&s, &g_last_id, &g_readings);
    s.own_pid = 600;
    for (int64_t round = 0; round < 3; round++) {
        begin_answer();
        add_process(0, round * 9000000, 0, 0, NULL, 0); // idle
        add_process(500, 7000000 + round * 150000, 0, 0, NULL, 0);
        add_process(600, round * 9000000, 0, 0, NULL, 0);
        add_process(700, 7000000 + round, 0, 0, NULL, 0);
        co_snapshot_add(&s, g_answer, g_len, (uint64_t)round + 1, NULL, 0);
    }
    co_snapshot_deinit(&s);
    rows_read(&g_rows, &g_readings);
    TEST_ASSERT_EQUAL(730000, last_of("cpu", 500));
    TEST_ASSERT_EQUAL(3, g_rows.counters); // processes, threads, and that one
}

static void test_any_answer_is_survived(void)
{
    const fake_thread threads[] = {{11, 1, 1, 1, 1}, {12, 1, 1, 1, 1}};
    begin_answer();
    add_process(400, 1, 1, 1, threads, 2);
    add_process(500, 1, 1, 1, threads, 2);
    srand(1);
    for (unsigned i = 0; i < 20000; i++) {
        // A block of its own, so that the sanitizer sees the end of the answer.
        size_t len = i < g_len ? i : g_len;
        uint8_t *copy = malloc(len + 1);
        TEST_ASSERT_NOT_NULL(copy);
        memcpy(copy, g_answer, len);
        for (int flips = 0; len && i >= g_len && flips < 4; flips++)
            copy[(unsigned)rand() % 0x60 + (rand() % 2 ? 0x1a0u : 0)] = (uint8_t)rand();
        uint8_t *exact = realloc(copy, len ? len : 1);
        co_snapshot s;
        co_snapshot_init(&s, &g_last_id, &g_readings);
        co_snapshot_add(&s, exact, len, 1, g_followed, 1);
        co_snapshot_deinit(&s);
        free(exact);
        co_readings_deinit(&g_readings);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_pace_stays_where_it_is_cheap);
    RUN_TEST(test_pace_slows_down_to_what_is_allowed);
    RUN_TEST(test_pace_becomes_fast_again);
    RUN_TEST(test_pace_follows_another_wish);
    RUN_TEST(test_pace_ignores_the_first_and_single_slow_ones);
    RUN_TEST(test_pace_has_an_end);
    RUN_TEST(test_allowance_is_what_others_leave);
    RUN_TEST(test_only_changes_become_rows);
    RUN_TEST(test_what_is_gone_is_not_known_and_may_come_back);
    RUN_TEST(test_counters_are_told_apart_by_all_that_names_them);
    RUN_TEST(test_too_many_counters_are_refused);
    RUN_TEST(test_snapshot_tells_processes_and_threads);
    RUN_TEST(test_what_nobody_has_is_not_told);
    RUN_TEST(test_switches_of_ended_threads_stay);
    RUN_TEST(test_other_processes_count_once_they_do_something);
    RUN_TEST(test_any_answer_is_survived);
    return UNITY_END();
}
