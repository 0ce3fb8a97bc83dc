// SPDX-License-Identifier: MIT
// Outliers and their causes: over a thousand random timelines each cause that was planted is found,
// and no other; and what the definitions say, case by case.
#include "../timeline_rows.h"
#include "analysis/outliers.h"
#include "common/os.h"
#include "outlier_timelines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unity.h>

#define PATH      "test_outliers.ortl"
#define TIMELINES 1000
#define US        ((int64_t)1000)
#define MS        ((int64_t)1000000)

static tm_writer *g_writer;
static an_summary *g_summary;
static an_outliers *g_outliers;

void setUp(void) {}

static void forget(void)
{
    an_outliers_destroy(g_outliers);
    an_summary_destroy(g_summary);
    g_outliers = NULL;
    g_summary = NULL;
    cm_file_remove(PATH);
}

void tearDown(void)
{
    forget();
}

static cm_status open_again(void *context, tm_reader **out)
{
    (void)context;
    return tm_reader_open(PATH, out);
}

static void find_with(double factor)
{
    const an_source source = {NULL, open_again};
    const an_outlier_options options = {.factor = factor};
    tm_reader *reader;
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_reader_open(PATH, &reader));
    TEST_ASSERT_EQUAL_INT(CM_OK, an_summarize(reader, &g_summary));
    tm_reader_close(reader);
    TEST_ASSERT_EQUAL_INT(CM_OK, an_outliers_find(&source, g_summary, &options, &g_outliers));
}

// ---------------------------------------------------------------------------------------- planted

static void describe(char *text, size_t size, uint64_t seed, const plan *p, const an_outlier *o,
                     const char *what)
{
    int n = snprintf(text, size, "seed %llu (%s), run %lld: %s;", (unsigned long long)seed, p->text,
                     o ? (long long)o->run : -1LL, what);
    for (size_t i = 0; o && i < o->cause_count && n > 0 && (size_t)n < size; i++)
        n += snprintf(text + n, size - (size_t)n, " %s %s %.3f", an_cause_name(o->causes[i].kind),
                      o->causes[i].who, o->causes[i].share);
}

static const an_cause *find_cause(const an_outlier *o, const planted_cause *c)
{
    for (size_t i = 0; i < o->cause_count; i++)
        if (o->causes[i].kind == c->kind && strcmp(o->causes[i].who, c->who) == 0)
            return &o->causes[i];
    return NULL;
}

static void check_run(uint64_t seed, const plan *p, const planted_run *r)
{
    char text[600];
    const an_outlier *o = an_outliers_get(g_outliers, 1, r->run);
    describe(text, sizeof text, seed, p, o, "is an outlier");
    TEST_ASSERT_NOT_NULL_MESSAGE(o, text);
    for (size_t i = 0; i < r->cause_count; i++) {
        char what[100];
        const an_cause *c = find_cause(o, &r->causes[i]);
        snprintf(what, sizeof what, "has %s %s %.3f", an_cause_name(r->causes[i].kind),
                 r->causes[i].who, r->causes[i].share);
        describe(text, sizeof text, seed, p, o, what);
        TEST_ASSERT_NOT_NULL_MESSAGE(c, text);
        TEST_ASSERT_TRUE_MESSAGE(fabs(c->share - r->causes[i].share) < 0.15, text);
    }
    describe(text, sizeof text, seed, p, o, "has no other cause");
    TEST_ASSERT_EQUAL_size_t_MESSAGE(r->cause_count, o->cause_count, text);
}

static void check_timeline(uint64_t seed, size_t *found)
{
    plan p;
    char text[600];
    make_timeline(PATH, seed, &p);
    find_with(0);
    for (size_t i = 0; i < p.count; i++) {
        check_run(seed, &p, &p.runs[i]);
        for (size_t k = 0; k < p.runs[i].cause_count; k++)
            found[p.runs[i].causes[k].kind]++;
        found[AN_CAUSE_UNEXPLAINED] += p.runs[i].cause_count == 0;
    }
    const an_session_outliers *s = an_outliers_of(g_outliers, 1);
    describe(text, sizeof text, seed, &p, NULL, "no other outliers");
    TEST_ASSERT_EQUAL_UINT64_MESSAGE(p.count, s->outliers, text);
    forget();
}

static void test_planted_causes_are_found_and_no_others(void)
{
    const char *wanted = getenv("OUTLIER_SEED");
    size_t found[AN_CAUSE_COUNT] = {0};
    uint64_t from = wanted ? strtoull(wanted, NULL, 10) : 1;
    for (uint64_t seed = from; seed <= (wanted ? from : TIMELINES); seed++)
        check_timeline(seed, found);
    for (int kind = 0; !wanted && kind < AN_CAUSE_COUNT; kind++) {
        printf("%s: planted and found %zu times\n", an_cause_name((an_cause_kind)kind),
               found[kind]);
        TEST_ASSERT_GREATER_THAN_size_t(20, found[kind]); // the generator plants them all
    }
}

// ------------------------------------------------------------------------------------ case by case

// source: 0 created while recording, 7 before.
static void begin(int64_t source)
{
    const tm_header header = {"0.1.0", 1767323045000000000u, "Windows", "CPU", 2};
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_create(PATH, &header, &g_writer));
    ROW(process, 1, 100, 0, 0, 0, TEXT("app.exe"), 0);
    ROW(module, 1, 1, 0, 0, 0, 0, 0, 0);
    ROW(session, 1, 1, 0, 5 * MS, source, 0, TEXT("m.onnx"), 0, 0, 0, 0, 0, 0, 0, 7);
}

static void run_at(int64_t run, int64_t begin_ns, int64_t duration_ns, int64_t status,
                   int64_t inputs)
{
    ROW(run, 1, run, 7, begin_ns, duration_ns, 0, status, 1, inputs, 0);
}

// One each 10 ms, 1 ms long, the given ones excepted.
static void runs(int64_t from, int64_t to, int64_t inputs)
{
    for (int64_t i = from; i <= to; i++)
        run_at(i, i * 10 * MS, MS + i % 7 * US, 0, inputs);
}

static void finish(double factor)
{
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_close(g_writer));
    find_with(factor);
}

static void expect_groups(uint64_t outliers, const char *text)
{
    char groups[400] = "", phrase[100];
    const an_session_outliers *s = an_outliers_of(g_outliers, 1);
    for (size_t i = 0; i < s->group_count; i++) {
        size_t len = strlen(groups);
        an_cause_phrase(s->groups[i].kind, s->groups[i].who, phrase, sizeof phrase);
        snprintf(groups + len, sizeof groups - len, "%s%llu %s", i ? ", " : "",
                 (unsigned long long)s->groups[i].runs, phrase);
    }
    TEST_ASSERT_EQUAL_UINT64(outliers, s->outliers);
    TEST_ASSERT_EQUAL_STRING(text, groups);
}

static void test_the_factor_decides(void)
{
    begin(0);
    runs(1, 60, 1);
    run_at(61, 610 * MS, 29 * MS / 10, 0, 1);
    run_at(62, 620 * MS, 31 * MS / 10, 0, 1);
    run_at(63, 630 * MS, 90 * MS, 1, 1); // failed
    runs(73, 120, 1);
    finish(0);
    expect_groups(1, "1 unexplained");
    TEST_ASSERT_EQUAL_INT64(62, g_outliers->items[0].run);
    TEST_ASSERT_EQUAL_DOUBLE(1, g_outliers->items[0].unexplained);
    TEST_ASSERT_NULL(an_outliers_get(g_outliers, 1, 61));
    forget();
    begin(0);
    runs(1, 60, 1);
    run_at(61, 610 * MS, 29 * MS / 10, 0, 1);
    runs(62, 120, 1);
    finish(2.5);
    expect_groups(1, "1 unexplained");
}

static void test_the_first_run_only_of_sessions_that_were_created_here(void)
{
    for (int64_t source = 0; source <= 7; source += 7) {
        begin(source);
        run_at(1, 10 * MS, 9 * MS, 0, 1);
        runs(2, 60, 1);
        finish(0);
        if (source == 0)
            expect_groups(1, "1 first run");
        else
            expect_groups(0, ""); // part of warming up, for all that can be seen
        forget();
    }
}

static void test_warming_up_is_no_outlier(void)
{
    begin(0);
    for (int64_t i = 1; i <= 10; i++)
        run_at(i, i * 10 * MS, 5 * MS, 0, 1);
    runs(11, 100, 1);
    finish(0);
    expect_groups(1, "1 first run");
}

static void test_too_few_runs_have_nothing_usual(void)
{
    begin(7);
    runs(1, 8, 1);
    run_at(9, 90 * MS, 9 * MS, 0, 1);
    finish(0);
    expect_groups(0, "");
    TEST_ASSERT_FALSE(an_known(an_outliers_of(g_outliers, 1)->usual_ns));
}

static void test_each_input_has_its_own_usual_time(void)
{
    begin(0);
    runs(1, 60, 1);
    for (int64_t i = 61; i <= 70; i++) // larger, and not slow for that
        run_at(i, i * 10 * MS, 8 * MS, 0, 2);
    run_at(71, 710 * MS, 30 * MS, 0, 2);
    runs(75, 120, 1);
    finish(0);
    expect_groups(1, "1 unexplained");
    TEST_ASSERT_EQUAL_DOUBLE(8e6, an_outliers_get(g_outliers, 1, 71)->usual_ns);
}

static void test_new_inputs_explain_nothing_where_they_usually_cost_nothing(void)
{
    begin(0);
    runs(1, 60, 1);
    for (int64_t i = 61; i <= 64; i++)
        run_at(i, i * 10 * MS, MS, 0, i); // four that are no slower
    run_at(65, 650 * MS, 9 * MS, 0, 65);
    runs(66, 120, 1);
    finish(0);
    expect_groups(1, "1 unexplained");
}

static void test_idle_time_explains_nothing_where_runs_are_fast_after_it(void)
{
    begin(0);
    runs(1, 60, 1);
    for (int64_t i = 61; i <= 64; i++)
        run_at(i, i * 1000 * MS, i == 64 ? 9 * MS : MS, 0, 1);
    for (int64_t i = 65; i <= 100; i++)
        run_at(i, 64100 * MS + i * 10 * MS, MS, 0, 1);
    finish(0);
    expect_groups(1, "1 unexplained");
}

static void test_little_growth_does_not_explain_much_time(void)
{
    begin(0);
    runs(1, 60, 1);
    run_at(61, 610 * MS, 101 * MS, 0, 1);
    ROW(run_memory, 1, 61, 711 * MS, 4096, 0, 4096, 0, 1, 0, 4096);
    runs(75, 120, 1);
    finish(0);
    expect_groups(1, "1 unexplained");
    TEST_ASSERT_EQUAL_size_t(0, g_outliers->items[0].cause_count);
}

static void counter_row(int64_t id, const char *name, int64_t about, int64_t process,
                        int64_t number)
{
    ROW(counter, id, 0, TEXT("process"), TEXT(name), TEXT("s"), 1000000000, 1, about, process,
        number, 0);
}

// Ten seconds of short runs, one after the other. In the sixth one a run takes 12 ms, and the
// process has 2 ms of it; then `other_core` tells whether somebody else had the rest.
static void crowded_second(const char *providers, double other_core)
{
    int64_t now = 0, process = 0, cores[2] = {0, 0}, sampled = 0, run = 0;
    begin(7);
    ROW(session, 1, 1, 0, 5 * MS, 7, 0, TEXT("m.onnx"), 0, 0, 0, 0, 0, TEXT(providers), 0, 7);
    counter_row(1, "cpu_user", 1, 1, -1);
    counter_row(2, "cpu_user", 3, 0, 0);
    counter_row(3, "cpu_user", 3, 0, 1);
    counter_row(4, "cpu_kernel", 3, 0, 0);
    counter_row(5, "cpu_kernel", 3, 0, 1);
    while (now < 10000 * MS) {
        bool crowded = now >= 5000 * MS && now < 6000 * MS;
        int64_t length = crowded ? 12 * MS : 2 * MS;
        run_at(++run, now, length, 0, 1);
        now += length;
        process += 2 * MS;
        cores[0] += crowded ? (int64_t)((double)length * other_core) : length;
        cores[1] += crowded ? (int64_t)((double)length * other_core) : 0;
        if (now - sampled < 50 * MS)
            continue;
        sampled = now;
        ROW(sample, 1, now, process, 1);
        ROW(sample, 2, now, cores[0], 1);
        ROW(sample, 3, now, cores[1], 1);
    }
    finish(0);
}

static void test_short_runs_lack_a_processor_where_all_are_busy(void)
{
    crowded_second("CPUExecutionProvider", 1);
    const an_session_outliers *s = an_outliers_of(g_outliers, 1);
    TEST_ASSERT_EQUAL_UINT64(84, s->outliers); // one begins before the second does
    for (size_t i = 1; i + 1 < g_outliers->count; i++) {
        TEST_ASSERT_EQUAL_size_t(1, g_outliers->items[i].cause_count);
        TEST_ASSERT_EQUAL_INT(AN_CAUSE_WAITING_FOR_CORE, g_outliers->items[i].causes[0].kind);
        TEST_ASSERT_TRUE(g_outliers->items[i].causes[0].share > 0.85);
        TEST_ASSERT_TRUE(g_outliers->items[i].causes[0].measured);
    }
}

static void test_they_do_not_where_a_core_was_free_or_the_work_is_elsewhere(void)
{
    crowded_second("CPUExecutionProvider", 0.5);
    expect_groups(84, "84 unexplained");
    forget();
    crowded_second("DmlExecutionProvider,CPUExecutionProvider", 1);
    expect_groups(84, "84 unexplained");
}

static void test_of_too_many_outliers_the_slowest_are_explained(void)
{
    const int64_t each = 3; // every third run is slow
    int64_t all = (AN_OUTLIERS_MOST + 100) * each, slow = 0;
    begin(7);
    for (int64_t i = 1; i <= all; i++) {
        bool is_slow = i > 1000 && i % each == 0;
        run_at(i, i * 100 * MS, is_slow ? 5 * MS + i * US : MS, 0, 1);
        slow += is_slow;
    }
    finish(0);
    const an_session_outliers *s = an_outliers_of(g_outliers, 1);
    TEST_ASSERT_EQUAL_UINT64(slow, s->outliers);
    TEST_ASSERT_EQUAL_size_t(slow < AN_OUTLIERS_MOST ? (size_t)slow : AN_OUTLIERS_MOST,
                             s->explained);
    TEST_ASSERT_NOT_NULL(an_outliers_get(g_outliers, 1, all));
}

static void test_hostile_numbers(void)
{
    static const int64_t odd[] = {INT64_MIN, INT64_MAX, -1, 0, 1, INT64_MAX - 1};
    begin(0);
    runs(1, 60, 1);
    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 6; k++) {
            ROW(run, 1, odd[i], odd[k], odd[k], odd[i], odd[k], 0, odd[i], odd[k], 0);
            ROW(run, odd[k], odd[i], odd[k], odd[i], odd[k], 0, 0, odd[i], odd[k], 0);
            ROW(run_memory, 1, odd[i], odd[k], odd[i], 0, odd[i], 0, 1, 0, odd[k]);
            ROW(op, odd[i], 1, odd[k], odd[i], odd[k], odd[i], 0, 0);
        }
    finish(0);
    TEST_ASSERT_NOT_NULL(an_outliers_of(g_outliers, 1));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_planted_causes_are_found_and_no_others);
    RUN_TEST(test_the_factor_decides);
    RUN_TEST(test_the_first_run_only_of_sessions_that_were_created_here);
    RUN_TEST(test_warming_up_is_no_outlier);
    RUN_TEST(test_too_few_runs_have_nothing_usual);
    RUN_TEST(test_each_input_has_its_own_usual_time);
    RUN_TEST(test_new_inputs_explain_nothing_where_they_usually_cost_nothing);
    RUN_TEST(test_idle_time_explains_nothing_where_runs_are_fast_after_it);
    RUN_TEST(test_little_growth_does_not_explain_much_time);
    RUN_TEST(test_short_runs_lack_a_processor_where_all_are_busy);
    RUN_TEST(test_they_do_not_where_a_core_was_free_or_the_work_is_elsewhere);
    RUN_TEST(test_of_too_many_outliers_the_slowest_are_explained);
    RUN_TEST(test_hostile_numbers);
    return UNITY_END();
}
