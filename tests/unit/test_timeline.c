// SPDX-License-Identifier: MIT
// Writing and reading good timelines: what goes in comes out, and how many bytes it takes.
#include "timeline_sample.h"

#include "common/os.h"
#include "format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unity.h>

#if defined(__linux__)
#include <signal.h>
#include <sys/resource.h>
#endif

static char g_path[64];
static const tm_header g_header = {"9.9", 1790000000000000001u, "an os", "a cpu", 64};

void setUp(void)
{
    snprintf(g_path, sizeof g_path, "test_timeline_%llx.ortl", (unsigned long long)cm_utc_ns());
}

void tearDown(void)
{
    cm_file_remove(g_path);
}

static tm_writer *create(void)
{
    tm_writer *w = NULL;
    TEST_ASSERT_EQUAL_MESSAGE(CM_OK, tm_writer_create(g_path, &g_header, &w), g_path);
    return w;
}

static tm_reader *open_reader(void)
{
    tm_reader *r = NULL;
    cm_status status = tm_reader_open(g_path, &r);
    TEST_ASSERT_EQUAL_MESSAGE(CM_OK, status, cm_error_text(status));
    return r;
}

static void test_header_comes_back(void)
{
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_close(create()));
    tm_reader *r = open_reader();
    const tm_header *h = tm_reader_header(r);
    TEST_ASSERT_EQUAL_STRING("9.9", h->ortscope_version);
    TEST_ASSERT_EQUAL_UINT64(1790000000000000001u, h->start_utc_ns);
    TEST_ASSERT_EQUAL_STRING("an os", h->os);
    TEST_ASSERT_EQUAL_STRING("a cpu", h->cpu);
    TEST_ASSERT_EQUAL_INT(64, h->cpu_count);
    tm_block block;
    TEST_ASSERT_EQUAL(CM_END, tm_reader_next(r, &block));
    TEST_ASSERT_NULL(tm_reader_damage(r));
    tm_reader_close(r);
}

// Whoever prints rows calls what they are "kind".
static void test_no_column_is_named_kind(void)
{
    for (tm_kind kind = 0; kind < TM_KIND_COUNT; kind++)
        for (unsigned k = 0; k < tm_kind_get(kind)->column_count; k++)
            TEST_ASSERT_TRUE(strcmp(tm_kind_get(kind)->columns[k].name, "kind") != 0);
}

// Every kind with 1, 2 and 200 rows of values from the whole range of int64: the differences
// between them overflow, too.
static void test_every_kind_round_trips_with_extreme_values(void)
{
    static const int64_t extremes[] = {INT64_MIN, INT64_MAX,  -1,  0,   INT64_MIN,    1, INT64_MAX,
                                       INT32_MIN, UINT32_MAX, -33, 128, INT64_MAX - 1};
    static const size_t counts[] = {1, 2, 200};
    for (size_t c = 0; c < 3; c++) {
        for (tm_kind kind = 0; kind < TM_KIND_COUNT; kind++) {
            const tm_kind_info *info = tm_kind_get(kind);
            uint64_t state = kind;
            int64_t rows[200][TM_MAX_COLUMNS];
            tm_writer *w = create();
            for (size_t i = 0; i < counts[c]; i++) {
                for (unsigned k = 0; k < info->column_count; k++)
                    rows[i][k] = i % 2 ? (int64_t)sample_random(&state)
                                       : extremes[sample_random(&state) % 12];
                tm_writer_row(w, kind, rows[i]);
            }
            TEST_ASSERT_EQUAL(CM_OK, tm_writer_close(w));
            tm_reader *r = open_reader();
            tm_block block;
            TEST_ASSERT_EQUAL(CM_OK, tm_reader_next(r, &block));
            TEST_ASSERT_EQUAL(kind, block.kind);
            TEST_ASSERT_EQUAL_size_t(counts[c], block.row_count);
            for (size_t i = 0; i < counts[c]; i++)
                for (unsigned k = 0; k < info->column_count; k++)
                    TEST_ASSERT_EQUAL_INT64(rows[i][k], block.columns[k][i]);
            TEST_ASSERT_EQUAL(CM_END, tm_reader_next(r, &block));
            TEST_ASSERT_NULL(tm_reader_damage(r));
            tm_reader_close(r);
        }
    }
}

static void test_constant_columns_take_no_room(void)
{
    tm_writer *w = create();
    uint64_t before = tm_writer_file_bytes(w);
    for (int i = 0; i < 10000; i++)
        tm_writer_row(w, TM_KIND_mark, (int64_t[TM_mark_COUNT]){INT64_MIN, 7});
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_flush(w));
    TEST_ASSERT_TRUE(tm_writer_file_bytes(w) - before < 64);
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_close(w));
    tm_reader *r = open_reader();
    tm_block block;
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_next(r, &block));
    TEST_ASSERT_EQUAL_size_t(10000, block.row_count);
    for (int i = 0; i < 10000; i++) {
        TEST_ASSERT_EQUAL_INT64(INT64_MIN, block.columns[TM_mark_time][i]);
        TEST_ASSERT_EQUAL_INT64(7, block.columns[TM_mark_text][i]);
    }
    tm_reader_close(r);
}

static void test_strings_are_interned_and_come_before_their_use(void)
{
    tm_writer *w = create();
    TEST_ASSERT_EQUAL_INT64(0, tm_writer_string(w, "", 0));
    int64_t one = tm_writer_string(w, "one", 3), two = tm_writer_string(w, "two and more", 3);
    TEST_ASSERT_EQUAL_INT64(1, one);
    TEST_ASSERT_EQUAL_INT64(2, two);
    TEST_ASSERT_EQUAL_INT64(one, tm_writer_string(w, "one", 3));
    tm_writer_row(w, TM_KIND_mark, (int64_t[TM_mark_COUNT]){5, two});
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_flush(w));
    int64_t three = tm_writer_string(w, "three \xff", 7); // not UTF-8
    TEST_ASSERT_EQUAL_INT64(3, three);
    tm_writer_row(w, TM_KIND_mark, (int64_t[TM_mark_COUNT]){6, three});
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_close(w));

    tm_reader *r = open_reader();
    tm_block block;
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_next(r, &block));
    TEST_ASSERT_EQUAL_STRING("two", tm_reader_string(r, block.columns[TM_mark_text][0]));
    TEST_ASSERT_EQUAL_STRING("one", tm_reader_string(r, one));
    TEST_ASSERT_EQUAL_STRING("", tm_reader_string(r, 3)); // not yet
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_next(r, &block));
    TEST_ASSERT_EQUAL_STRING("three \xef\xbf\xbd", tm_reader_string(r, 3));
    static const int64_t unknown[] = {0, 4, -1, INT64_MIN, INT64_MAX};
    for (int i = 0; i < 5; i++)
        TEST_ASSERT_EQUAL_STRING("", tm_reader_string(r, unknown[i]));
    tm_reader_close(r);
}

static void test_many_strings_keep_their_ids(void)
{
    enum { COUNT = 50000 };
    tm_writer *w = create();
    char text[32];
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < COUNT; i++) {
            int len = snprintf(text, sizeof text, "string %d", i * 7919);
            TEST_ASSERT_EQUAL_INT64(i + 1, tm_writer_string(w, text, (size_t)len));
        }
    size_t long_len = TM_STRING_BYTES_MAX + 100;
    char *long_text = malloc(long_len);
    memset(long_text, 'x', long_len);
    TEST_ASSERT_EQUAL_INT64(COUNT + 1, tm_writer_string(w, long_text, long_len));
    free(long_text);
    tm_writer_row(w, TM_KIND_mark, (int64_t[TM_mark_COUNT]){1, 1});
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_close(w));
    tm_reader *r = open_reader();
    tm_block block;
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_next(r, &block));
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "string %d", i * 7919);
        TEST_ASSERT_EQUAL_STRING(text, tm_reader_string(r, i + 1));
    }
    TEST_ASSERT_EQUAL_size_t(TM_STRING_BYTES_MAX, strlen(tm_reader_string(r, COUNT + 1)));
    TEST_ASSERT_EQUAL(CM_END, tm_reader_next(r, &block));
    TEST_ASSERT_NULL(tm_reader_damage(r));
    tm_reader_close(r);
}

static void test_full_blocks_are_written_without_being_asked(void)
{
    tm_writer *w = create();
    for (int64_t i = 0; i < 40000; i++)
        tm_writer_row(w, TM_KIND_overhead, (int64_t[TM_overhead_COUNT]){1, i * 1000, i});
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_close(w));
    tm_reader *r = open_reader();
    tm_block block;
    int64_t next = 0;
    while (tm_reader_next(r, &block) == CM_OK) {
        TEST_ASSERT_TRUE(block.row_count <= TM_WRITER_BLOCK_ROWS);
        for (size_t i = 0; i < block.row_count; i++, next++)
            TEST_ASSERT_EQUAL_INT64(next, block.columns[TM_overhead_per_run][i]);
    }
    TEST_ASSERT_EQUAL_INT64(40000, next);
    tm_reader_close(r);
}

// What refers to another row stands behind it, whatever the order of the calls was.
static void test_a_flush_defines_things_before_their_use(void)
{
    static const tm_kind order[] = {TM_KIND_run,     TM_KIND_tensor, TM_KIND_shape,
                                    TM_KIND_session, TM_KIND_module, TM_KIND_process};
    tm_writer *w = create();
    int64_t zeros[TM_MAX_COLUMNS] = {0};
    for (int i = 0; i < 6; i++)
        tm_writer_row(w, order[i], zeros);
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_close(w));
    tm_reader *r = open_reader();
    tm_block block;
    for (int i = 5; i >= 0; i--) {
        TEST_ASSERT_EQUAL(CM_OK, tm_reader_next(r, &block));
        TEST_ASSERT_EQUAL(order[i], block.kind);
    }
    tm_reader_close(r);
}

static void test_only_the_wanted_kinds_come(void)
{
    sample_content all, some;
    static const uint64_t masks[] = {TM_BIT(run), TM_BIT(mark) | TM_BIT(tensor), 0, TM_BIT(process),
                                     UINT64_MAX};
    TEST_ASSERT_EQUAL(CM_OK, sample_write(g_path));
    tm_reader *r = open_reader();
    TEST_ASSERT_EQUAL(CM_OK, sample_read(r, &all));
    TEST_ASSERT_NULL(all.damage);
    TEST_ASSERT_TRUE(all.count > TM_KIND_COUNT);
    tm_reader_close(r);
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        for (size_t before = 0; before < all.count; before += 5) { // from any place on
            r = open_reader();
            tm_block block;
            for (size_t i = 0; i < before; i++)
                TEST_ASSERT_EQUAL(CM_OK, tm_reader_next(r, &block));
            tm_reader_only(r, masks[m]);
            TEST_ASSERT_EQUAL(CM_OK, sample_read(r, &some));
            TEST_ASSERT_NULL(some.damage);
            size_t next = 0;
            for (size_t i = before; i < all.count; i++)
                if (masks[m] >> all.blocks[i].kind & 1) {
                    TEST_ASSERT_TRUE(next < some.count);
                    TEST_ASSERT_TRUE(sample_same_block(&all.blocks[i], &some.blocks[next++]));
                }
            TEST_ASSERT_EQUAL_size_t(next, some.count);
            TEST_ASSERT_EQUAL_STRING("model.onnx", tm_reader_string(r, 1));
            sample_free(&some);
            tm_reader_close(r);
        }
    }
    sample_free(&all);
}

static bool is_in_range(void *context, int64_t first, int64_t last)
{
    const int64_t *range = context;
    return last >= range[0] && first <= range[1];
}

static void test_blocks_of_other_times_are_skipped(void)
{
    tm_writer *w = create();
    tm_block block;
    for (int64_t i = 0; i < 20; i++) { // a block each
        const int64_t mark[TM_mark_COUNT] = {[TM_mark_time] = i * 100};
        tm_writer_row(w, TM_KIND_mark, mark);
        tm_writer_flush(w);
    }
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_close(w));
    int64_t range[2] = {450, 700}, expected = 500;
    tm_reader *r = open_reader();
    tm_reader_only(r, TM_BIT(mark));
    tm_reader_only_times(r, range, is_in_range);
    for (; tm_reader_next(r, &block) == CM_OK; expected += 100)
        TEST_ASSERT_EQUAL_INT64(expected, block.columns[TM_mark_time][0]);
    TEST_ASSERT_EQUAL_INT64(800, expected);
    TEST_ASSERT_NULL(tm_reader_damage(r));
    tm_reader_only(r, TM_BIT(mark)); // asks for all again: those behind
    for (expected = 800; tm_reader_next(r, &block) == CM_OK; expected += 100)
        TEST_ASSERT_EQUAL_INT64(expected, block.columns[TM_mark_time][0]);
    TEST_ASSERT_EQUAL_INT64(2000, expected);
    tm_reader_close(r);
}

static void test_a_file_that_is_being_written_can_be_read(void)
{
    tm_writer *w = create();
    tm_reader *r = open_reader();
    tm_block block;
    for (int64_t i = 0; i < 5; i++) {
        TEST_ASSERT_EQUAL(CM_END, tm_reader_next(r, &block));
        TEST_ASSERT_NOT_NULL(strstr(tm_reader_damage(r), "still being written"));
        tm_writer_row(w, TM_KIND_mark, (int64_t[TM_mark_COUNT]){i, 0});
        TEST_ASSERT_EQUAL(CM_END, tm_reader_next(r, &block)); // not yet flushed
        TEST_ASSERT_EQUAL(CM_OK, tm_writer_flush(w));
        TEST_ASSERT_EQUAL(CM_OK, tm_reader_next(r, &block));
        TEST_ASSERT_EQUAL_INT64(i, block.columns[TM_mark_time][0]);
    }
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_close(w));
    TEST_ASSERT_EQUAL(CM_END, tm_reader_next(r, &block));
    TEST_ASSERT_NULL(tm_reader_damage(r));
    tm_reader_close(r);
}

// Two threads, two sessions in turn, a flush every 250 ms, a clock row every second, 1.5 ms from
// run to run with jitter in everything: the price of a run, header and index included.
static void test_a_run_takes_at_most_24_bytes(void)
{
    enum { RUNS = 200000 };
    tm_writer *w = create();
    uint64_t state = 7;
    int64_t now = 5000000, flushed = 0, clocked = 0, numbers[2] = {0, 0};
    for (int i = 0; i < RUNS; i++) {
        now += 1300000 + (int64_t)(sample_random(&state) % 400000);
        int which = (int)(sample_random(&state) % 2);
        int64_t duration = 1100000 + (int64_t)(sample_random(&state) % 350000);
        tm_writer_row(w, TM_KIND_run,
                      (int64_t[TM_run_COUNT]){
                          1 + which, ++numbers[which], 11848 + 4096 * which, now, duration, 0, 0,
                          1 + (int64_t)(sample_random(&state) % 2), 1 + 2 * which, 2 + 2 * which});
        if (now - clocked > 1000000000) {
            clocked = now;
            tm_writer_row(
                w, TM_KIND_clock,
                (int64_t[TM_clock_COUNT]){now, now * 3, now / 100, 1790000000000000000 + now});
        }
        if (now - flushed > 250000000) {
            flushed = now;
            TEST_ASSERT_EQUAL(CM_OK, tm_writer_flush(w));
        }
    }
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_close(w));
    cm_buf file = sample_load(g_path);
    double per_run = (double)file.len / RUNS;
    cm_buf_deinit(&file);
    printf("bytes per run: %.2f\n", per_run);
    TEST_ASSERT_TRUE(per_run <= 24.0);
    TEST_ASSERT_TRUE(per_run > 8.0); // less would mean that rows are missing
}

// 300 operators of 30 us each, again and again: their run is written once. With each of them it
// would be one byte more.
static void test_operators_of_a_run_share_its_number(void)
{
    enum { RUNS = 50, OPS = 300 };
    tm_writer *w = create();
    for (int64_t i = 0; i < RUNS * OPS; i++)
        tm_writer_row(
            w, TM_KIND_op,
            (int64_t[TM_op_COUNT]){1 + i % OPS, 1, 1 + i / OPS, 7, i * 31000, 30000, 0, 0});
    TEST_ASSERT_EQUAL(CM_OK, tm_writer_close(w));
    cm_buf file = sample_load(g_path);
    TEST_ASSERT_TRUE(file.len < RUNS * OPS * 7.5);
    cm_buf_deinit(&file);
    tm_reader *r = open_reader();
    tm_block block;
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_next(r, &block));
    TEST_ASSERT_EQUAL_size_t(RUNS * OPS, block.row_count);
    for (int64_t i = 0; i < RUNS * OPS; i++) {
        TEST_ASSERT_EQUAL_INT64(1 + i / OPS, block.columns[TM_op_run][i]);
        TEST_ASSERT_EQUAL_INT64(1 + i % OPS, block.columns[TM_op_kernel][i]);
    }
    TEST_ASSERT_EQUAL(CM_END, tm_reader_next(r, &block));
    tm_reader_close(r);
}

static void test_failures_are_told_with_path_and_reason(void)
{
    tm_writer *w = NULL;
    tm_reader *r = NULL;
    TEST_ASSERT_EQUAL(CM_NOT_FOUND, tm_writer_create("no_folder/x.ortl", &g_header, &w));
    TEST_ASSERT_NOT_NULL(strstr(cm_error_text(CM_NOT_FOUND), "no_folder/x.ortl"));
    TEST_ASSERT_EQUAL(CM_NOT_FOUND, tm_reader_open(g_path, &r));
    TEST_ASSERT_NULL(w);
    TEST_ASSERT_NULL(r);
}

#if defined(__linux__)
static void test_a_full_disk_is_told(void)
{
    tm_writer *w = NULL;
    cm_status status = tm_writer_create("/dev/full", &g_header, &w);
    if (status == CM_ACCESS_DENIED || status == CM_NOT_FOUND)
        TEST_IGNORE_MESSAGE("this system has no /dev/full");
    // The header is the first thing written, so creation tells already.
    TEST_ASSERT_EQUAL(CM_IO, status);
    TEST_ASSERT_NOT_NULL(strstr(cm_error_text(CM_IO), "/dev/full"));
    TEST_ASSERT_NOT_NULL(strstr(cm_error_text(CM_IO), "No space left"));
}

// As when the disk gets full in the middle: the first failed flush is the last write, every later
// call tells the same, and what was whole before is readable.
static void test_a_failed_write_ends_the_file_at_a_readable_place(void)
{
    struct rlimit before, small;
    tm_writer *w = create();
    int64_t written = 0;
    cm_status status = CM_OK;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 10000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    for (int64_t i = 0; i < 1000 && status == CM_OK; i++) {
        tm_writer_row(w, TM_KIND_clock, (int64_t[TM_clock_COUNT]){i, INT64_MAX - i, -i, i});
        status = tm_writer_flush(w);
        written += status == CM_OK;
    }
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    TEST_ASSERT_EQUAL(CM_IO, status);
    TEST_ASSERT_NOT_NULL(strstr(cm_error_text(CM_IO), g_path));
    tm_writer_row(w, TM_KIND_clock, (int64_t[TM_clock_COUNT]){0, 0, 0, 0});
    TEST_ASSERT_EQUAL(CM_IO, tm_writer_flush(w));
    cm_fail(CM_IO, "something else");
    TEST_ASSERT_EQUAL(CM_IO, tm_writer_close(w));
    TEST_ASSERT_NOT_NULL(strstr(cm_error_text(CM_IO), g_path));
    tm_reader *r = open_reader();
    tm_block block;
    int64_t read = 0;
    while (tm_reader_next(r, &block) == CM_OK)
        TEST_ASSERT_EQUAL_INT64(read++, block.columns[TM_clock_time][0]);
    TEST_ASSERT_EQUAL_INT64(written, read);
    TEST_ASSERT_TRUE(read > 10);
    TEST_ASSERT_NOT_NULL(strstr(tm_reader_damage(r), "ends in the middle of a block"));
    tm_reader_close(r);
}
#endif

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_header_comes_back);
    RUN_TEST(test_no_column_is_named_kind);
    RUN_TEST(test_every_kind_round_trips_with_extreme_values);
    RUN_TEST(test_constant_columns_take_no_room);
    RUN_TEST(test_strings_are_interned_and_come_before_their_use);
    RUN_TEST(test_many_strings_keep_their_ids);
    RUN_TEST(test_full_blocks_are_written_without_being_asked);
    RUN_TEST(test_a_flush_defines_things_before_their_use);
    RUN_TEST(test_only_the_wanted_kinds_come);
    RUN_TEST(test_blocks_of_other_times_are_skipped);
    RUN_TEST(test_a_file_that_is_being_written_can_be_read);
    RUN_TEST(test_a_run_takes_at_most_24_bytes);
    RUN_TEST(test_operators_of_a_run_share_its_number);
    RUN_TEST(test_failures_are_told_with_path_and_reason);
#if defined(__linux__)
    RUN_TEST(test_a_full_disk_is_told);
    RUN_TEST(test_a_failed_write_ends_the_file_at_a_readable_place);
#endif
    return UNITY_END();
}
