// SPDX-License-Identifier: MIT
// Files that our writer would not make: of other versions, with other columns and kinds, and ones
// whose checksums fit but whose content does not.
#include "timeline_sample.h"

#include "common/crc32.h"
#include "reader_internal.h"

#include <msgpack/pack.h>
#include <string.h>
#include <unity.h>

static cm_buf g_file, g_columns;
static msgpack_packer g_pack; // into g_columns

static int append(void *buf, const char *bytes, size_t len)
{
    cm_buf_append(buf, bytes, len);
    return 0;
}

static void text(msgpack_packer *pk, const char *t)
{
    msgpack_pack_str(pk, strlen(t));
    msgpack_pack_str_body(pk, t, strlen(t));
}

void setUp(void)
{
    cm_buf_init(&g_file);
    cm_buf_init(&g_columns);
    msgpack_packer_init(&g_pack, &g_columns, append);
}

void tearDown(void)
{
    cm_buf_deinit(&g_file);
    cm_buf_deinit(&g_columns);
}

// `table`: the kinds, as ["name type ...", ...] pairs: kind, then its columns in one string.
static void put_header(const char *const *table, size_t kinds)
{
    msgpack_packer pk;
    msgpack_packer_init(&pk, &g_file, append);
    msgpack_pack_map(&pk, 5);
    text(&pk, "magic");
    text(&pk, "ortl");
    text(&pk, "from_the_future"); // an unknown key with a nested value
    msgpack_pack_array(&pk, 2);
    msgpack_pack_nil(&pk);
    msgpack_pack_double(&pk, 1.5);
    text(&pk, "version");
    msgpack_pack_int(&pk, 1);
    text(&pk, "types");
    msgpack_pack_map(&pk, 4);
    static const char *const types[] = {"id",   "delta", "num", "plain",
                                        "time", "delta", "odd", "zigzag"};
    for (int i = 0; i < 8; i++)
        text(&pk, types[i]);
    text(&pk, "kinds");
    msgpack_pack_map(&pk, kinds);
    for (size_t i = 0; i < kinds; i++) {
        char columns[256], *at = columns;
        size_t count = 1;
        text(&pk, table[2 * i]);
        strcpy(columns, table[2 * i + 1]);
        for (const char *c = columns; *c; c++)
            count += *c == ' ';
        msgpack_pack_array(&pk, count / 2);
        for (size_t k = 0; k < count; k++) {
            char *end = strchr(at, ' ');
            if (end)
                *end = 0;
            if (k % 2 == 0)
                msgpack_pack_array(&pk, 2);
            text(&pk, at);
            at = end ? end + 1 : at;
        }
    }
}

// A block with what is in g_columns and a checksum that fits.
static void put_block(const char *kind, uint64_t rows, uint64_t first, unsigned column_count)
{
    msgpack_packer pk;
    msgpack_packer_init(&pk, &g_file, append);
    msgpack_pack_array(&pk, 2 + (size_t)column_count);
    text(&pk, kind);
    msgpack_pack_map(&pk, first ? 5 : 4);
    text(&pk, "crc");
    msgpack_pack_uint32(
        &pk, tm_block_crc(kind, strlen(kind), rows, first, g_columns.data, g_columns.len));
    text(&pk, "from_the_future");
    msgpack_pack_map(&pk, 1);
    text(&pk, "x");
    msgpack_pack_true(&pk);
    text(&pk, "rows");
    msgpack_pack_uint64(&pk, rows);
    text(&pk, "bytes");
    msgpack_pack_uint64(&pk, g_columns.len);
    if (first) {
        text(&pk, "first");
        msgpack_pack_uint64(&pk, first);
    }
    cm_buf_append(&g_file, g_columns.data, g_columns.len);
    cm_buf_clear(&g_columns);
}

static void numbers(size_t count, const int64_t *values)
{
    msgpack_pack_array(&g_pack, count);
    for (size_t i = 0; i < count; i++)
        msgpack_pack_int64(&g_pack, values[i]);
}

static tm_reader *open_file(void)
{
    tm_reader *r = NULL;
    cm_status status = tm_reader_open_memory(g_file.data, g_file.len, &r);
    TEST_ASSERT_EQUAL_MESSAGE(CM_OK, status, cm_error_text(status));
    return r;
}

static const char *const usual[] = {"mark", "time time text num"};

static void test_unknown_kinds_and_columns_are_passed_over(void)
{
    static const char *const table[] = {
        "gpu_power",
        "device id watts num",
        "mark",
        "color num text num time time shape odd",
    };
    put_header(table, 2);
    msgpack_pack_array(&g_pack, 2); // a column of a later version may be anything
    text(&g_pack, "red");
    msgpack_pack_map(&g_pack, 0);
    numbers(2, (int64_t[]){7, 8});
    numbers(2, (int64_t[]){100, -30});
    numbers(2, (int64_t[]){1, 2});
    put_block("mark", 2, 0, 4);
    msgpack_pack_int(&g_pack, 1);
    numbers(3, (int64_t[]){5, 6, 7});
    put_block("gpu_power", 3, 0, 2);
    msgpack_pack_int(&g_pack, 1);
    put_block("a kind that the header does not name either", 3, 0, 1);
    for (int i = 0; i < 4; i++)
        msgpack_pack_int(&g_pack, -i);
    put_block("mark", 1, 0, 4);
    tm_reader *r = open_file();
    tm_block block;
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_next(r, &block));
    TEST_ASSERT_EQUAL(TM_KIND_mark, block.kind);
    TEST_ASSERT_EQUAL_size_t(2, block.row_count);
    TEST_ASSERT_EQUAL_INT64(100, block.columns[TM_mark_time][0]);
    TEST_ASSERT_EQUAL_INT64(70, block.columns[TM_mark_time][1]); // delta
    TEST_ASSERT_EQUAL_INT64(7, block.columns[TM_mark_text][0]);
    TEST_ASSERT_EQUAL_INT64(8, block.columns[TM_mark_text][1]); // plain
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_next(r, &block));
    TEST_ASSERT_EQUAL_INT64(-2, block.columns[TM_mark_time][0]);
    TEST_ASSERT_EQUAL(CM_END, tm_reader_next(r, &block));
    TEST_ASSERT_NOT_NULL(strstr(tm_reader_damage(r), "no end mark"));
    TEST_ASSERT_EQUAL_STRING("", tm_reader_header(r)->os); // not in this header
    tm_reader_close(r);
}

static void test_missing_columns_and_unknown_encodings_read_as_zero(void)
{
    static const char *const table[] = {"run", "run num duration odd nothing num"};
    put_header(table, 1);
    numbers(2, (int64_t[]){3, 4});
    numbers(2, (int64_t[]){9, 9});
    msgpack_pack_nil(&g_pack);
    put_block("run", 2, 0, 3);
    tm_reader *r = open_file();
    tm_block block;
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_next(r, &block));
    for (unsigned i = 0; i < TM_run_COUNT; i++)
        for (size_t row = 0; row < 2; row++)
            TEST_ASSERT_EQUAL_INT64(i == TM_run_run ? 3 + (int64_t)row : 0, block.columns[i][row]);
    tm_reader_close(r);
}

// One block that is wrong although its checksum fits: nothing comes, and it is told.
static void expect_damage(const char *what)
{
    tm_reader *r = open_file();
    tm_block block;
    TEST_ASSERT_EQUAL(CM_END, tm_reader_next(r, &block));
    TEST_ASSERT_NOT_NULL(tm_reader_damage(r));
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(tm_reader_damage(r), what), tm_reader_damage(r));
    TEST_ASSERT_EQUAL(CM_END, tm_reader_next(r, &block)); // and stays so
    tm_reader_close(r);
    cm_buf_clear(&g_file);
}

static void test_counts_that_do_not_fit_are_damage(void)
{
    put_header(usual, 1);
    numbers(3, (int64_t[]){1, 2, 3});
    numbers(2, (int64_t[]){1, 2});
    put_block("mark", 3, 0, 2);
    expect_damage("does not have the block's rows");

    put_header(usual, 1);
    numbers(3, (int64_t[]){1, 2, 3});
    put_block("mark", 3, 0, 1);
    expect_damage("not those of the header");

    put_header(usual, 1);
    numbers(3, (int64_t[]){1, 2, 3});
    msgpack_pack_int(&g_pack, 1);
    msgpack_pack_int(&g_pack, 1);
    put_block("mark", 3, 0, 2);
    expect_damage("left over");

    put_header(usual, 1);
    msgpack_pack_int(&g_pack, 1);
    msgpack_pack_int(&g_pack, 1);
    put_block("mark", 0, 0, 2);
    expect_damage("not those of the header");

    put_header(usual, 1);
    msgpack_pack_int(&g_pack, 1);
    msgpack_pack_double(&g_pack, 1.0);
    put_block("mark", 1, 0, 2);
    expect_damage("does not have the block's rows");
}

static void stretches(size_t count, const int64_t *lengths, size_t more, const int64_t *values)
{
    msgpack_pack_array(&g_pack, 2);
    numbers(count, lengths);
    numbers(more, values);
}

static void test_equal_rows_in_turn(void)
{
    static const int64_t times[] = {7, 7, 7, 5, 9, 9}, texts[] = {-1, 4, 4, 4, 4, 4};
    put_header(usual, 1);
    stretches(3, (int64_t[]){3, 1, 2}, 3, (int64_t[]){7, -2, 4});
    stretches(2, (int64_t[]){1, 5}, 2, (int64_t[]){-1, 4});
    put_block("mark", 6, 0, 2);
    numbers(2, (int64_t[]){1, 1}); // two rows are no stretches
    stretches(1, (int64_t[]){2}, 1, (int64_t[]){8});
    put_block("mark", 2, 0, 2);
    tm_reader *r = open_file();
    tm_block block;
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_next(r, &block));
    TEST_ASSERT_EQUAL_INT64_ARRAY(times, block.columns[TM_mark_time], 6);
    TEST_ASSERT_EQUAL_INT64_ARRAY(texts, block.columns[TM_mark_text], 6);
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_next(r, &block));
    TEST_ASSERT_EQUAL_INT64(2, block.columns[TM_mark_time][1]);
    TEST_ASSERT_EQUAL_INT64(8, block.columns[TM_mark_text][1]);
    tm_reader_close(r);
}

static void expect_bad_stretches(size_t count, const int64_t *lengths, size_t more)
{
    static const int64_t values[8] = {1, 2, 3};
    put_header(usual, 1);
    stretches(count, lengths, more, values);
    msgpack_pack_int(&g_pack, 1);
    put_block("mark", 5, 0, 2);
    expect_damage("does not have the block's rows");
}

static void test_stretches_that_do_not_fit_are_damage(void)
{
    expect_bad_stretches(2, (int64_t[]){2, 2}, 2);                 // fewer rows
    expect_bad_stretches(2, (int64_t[]){2, 4}, 2);                 // more
    expect_bad_stretches(2, (int64_t[]){INT64_MAX, INT64_MAX}, 2); // far more
    expect_bad_stretches(3, (int64_t[]){5, 0, 0}, 3);              // empty ones
    expect_bad_stretches(2, (int64_t[]){-1, 6}, 2);
    expect_bad_stretches(2, (int64_t[]){2, 3}, 1); // without a value
    expect_bad_stretches(1, (int64_t[]){5}, 2);    // with one too many
    expect_bad_stretches(6, (int64_t[]){1, 1, 1, 1, 1, 1}, 6);
    expect_bad_stretches(0, NULL, 0);
    put_header(usual, 1);
    msgpack_pack_array(&g_pack, 2);
    numbers(1, (int64_t[]){1});
    msgpack_pack_int(&g_pack, 1); // no array
    msgpack_pack_int(&g_pack, 1);
    put_block("mark", 1, 0, 2);
    expect_damage("does not have the block's rows");
}

static void test_sizes_beyond_the_limits_are_damage(void)
{
    put_header(usual, 1);
    msgpack_pack_int(&g_pack, 1);
    msgpack_pack_int(&g_pack, 1);
    put_block("mark", TM_ROWS_MAX + 1, 0, 2);
    expect_damage("larger than a block may be");

    put_header(usual, 1);
    msgpack_pack_int(&g_pack, 1);
    put_block("a kind of some later version", UINT64_MAX, 0, 1);
    expect_damage("larger than a block may be");

    put_header(usual, 1);
    static const char huge[] = "\x93\xa4mark\x83\xa4rows\x01\xa3"
                               "crc\x00\xa5"
                               "bytes\xcf\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    cm_buf_append(&g_file, huge, sizeof huge - 1);
    expect_damage("larger than a block may be");
}

static void test_the_largest_block_is_fine(void)
{
    put_header(usual, 1);
    msgpack_pack_int(&g_pack, 5);
    msgpack_pack_int64(&g_pack, INT64_MIN);
    put_block("mark", TM_ROWS_MAX, 0, 2);
    tm_reader *r = open_file();
    tm_block block;
    TEST_ASSERT_EQUAL(CM_OK, tm_reader_next(r, &block));
    TEST_ASSERT_EQUAL_size_t(TM_ROWS_MAX, block.row_count);
    TEST_ASSERT_EQUAL_INT64(INT64_MIN, block.columns[TM_mark_text][TM_ROWS_MAX - 1]);
    tm_reader_close(r);
}

static void test_strings_that_do_not_fit_are_damage(void)
{
    put_header(usual, 1);
    msgpack_pack_array(&g_pack, 1);
    text(&g_pack, "x");
    put_block("string", 1, 2, 1);
    expect_damage("strings before it are missing");

    put_header(usual, 1);
    msgpack_pack_array(&g_pack, 2);
    text(&g_pack, "x");
    msgpack_pack_int(&g_pack, 5);
    put_block("string", 2, 1, 1);
    expect_damage("does not hold the strings");

    put_header(usual, 1);
    msgpack_pack_array(&g_pack, 1);
    text(&g_pack, "x");
    put_block("string", 2, 1, 1);
    expect_damage("does not hold the strings");
}

static void test_invalid_text_is_repaired(void)
{
    put_header(usual, 1);
    msgpack_pack_array(&g_pack, 2);
    text(&g_pack, "\xff\xff");
    text(&g_pack, "fine");
    put_block("string", 2, 1, 1);
    tm_reader *r = open_file();
    tm_block block;
    TEST_ASSERT_EQUAL(CM_END, tm_reader_next(r, &block));
    TEST_ASSERT_EQUAL_STRING("\xef\xbf\xbd\xef\xbf\xbd", tm_reader_string(r, 1));
    TEST_ASSERT_EQUAL_STRING("fine", tm_reader_string(r, 2));
    tm_reader_close(r);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_unknown_kinds_and_columns_are_passed_over);
    RUN_TEST(test_missing_columns_and_unknown_encodings_read_as_zero);
    RUN_TEST(test_counts_that_do_not_fit_are_damage);
    RUN_TEST(test_equal_rows_in_turn);
    RUN_TEST(test_stretches_that_do_not_fit_are_damage);
    RUN_TEST(test_sizes_beyond_the_limits_are_damage);
    RUN_TEST(test_the_largest_block_is_fine);
    RUN_TEST(test_strings_that_do_not_fit_are_damage);
    RUN_TEST(test_invalid_text_is_repaired);
    return UNITY_END();
}
