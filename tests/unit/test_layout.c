// SPDX-License-Identifier: MIT
// Text that fits a terminal: broken lines, tables that give way, filled paragraphs, lines of
// columns.
#include "options.h"
#include "spark.h"
#include "table.h"
#include "wrap.h"

#include <math.h>
#include <string.h>
#include <unity.h>

static vw_io g_io;
static cm_out g_out;

void setUp(void)
{
    memset(&g_io, 0, sizeof g_io);
    cm_out_init_memory(&g_io.out);
    cm_out_init_memory(&g_out);
    g_io.width = 40;
    g_io.unicode = true;
}

void tearDown(void)
{
    cm_out_deinit(&g_io.out);
    cm_out_deinit(&g_out);
}

static void expect_wrapped(const char *line, unsigned width, const char *expected)
{
    cm_out_clear(&g_out);
    vw_wrap_line(&g_out, line, width);
    TEST_ASSERT_EQUAL_STRING(expected, cm_out_string(&g_out));
}

static void test_lines_are_broken_at_blanks(void)
{
    expect_wrapped("", 40, "");
    expect_wrapped("short", 40, "short");
    expect_wrapped("any length where there is no terminal", 0,
                   "any length where there is no terminal");
    expect_wrapped("one two three four five", 12, "one two\n  three four\n  five");
    expect_wrapped("  one two three", 12, "  one two\n    three");
    expect_wrapped("exactly ten", 11, "exactly ten");
    expect_wrapped("exactly ten   ", 11, "exactly ten");
    expect_wrapped("a  #", 40, "a  #");
    expect_wrapped("p50 51.04 ms, p99 124.4 ms", 24, "p50 51.04 ms,\n  p99 124.4 ms");
    expect_wrapped("a, 51.04 ms and p99 124.4 ms", 24, "a, 51.04 ms and p99\n  124.4 ms");
}

static void test_words_are_broken_where_there_is_no_blank(void)
{
    expect_wrapped("abcdefghijklmnop", 10, "abcdefghij\n  klmnop");
    expect_wrapped("a bcdefghijklmnop", 10, "a\n  bcdefghi\n  jklmnop");
    expect_wrapped("                                x", 10, "\n     x");
}

static void test_colours_take_no_column(void)
{
    expect_wrapped("\x1b[31mone two\x1b[0m three", 13, "\x1b[31mone two\x1b[0m three");
    expect_wrapped("\x1b[31mone two\x1b[0m three", 12, "\x1b[31mone two\x1b[0m\n  three");
}

static void test_wide_characters_take_two(void)
{
    expect_wrapped("\u6a21\u578b\u6a21\u578b", 8, "\u6a21\u578b\u6a21\u578b");
    expect_wrapped("\u6a21\u578b \u6a21\u578b", 8, "\u6a21\u578b\n  \u6a21\u578b");
}

static const vw_table_column columns[] = {
    {"time", true, 0}, {"extra", true, 0}, {"more", true, 0}, {"name", false, 60}};

static const char *table_of(const char *name, size_t rows)
{
    vw_table t;
    vw_table_begin(&t, &g_io, "  ", columns, 4);
    vw_table_may_leave_out(&t, 1, 2);
    vw_table_may_leave_out(&t, 2, 1);
    for (size_t i = 0; i < rows; i++) {
        vw_table_text(&t, i < VW_TABLE_HELD_ROWS ? "1 ms" : "10000000 ms");
        vw_table_text(&t, "22222222");
        vw_table_text(&t, "333");
        vw_table_text(&t, name);
    }
    vw_table_end(&t);
    return cm_out_string(&g_io.out);
}

static void test_a_table_that_fits_is_left_alone(void)
{
    TEST_ASSERT_EQUAL_STRING("  time     extra  more  name\n"
                             "  1 ms  22222222   333  /conv1/Conv\n",
                             table_of("/conv1/Conv", 1));
}

static void test_names_shrink_before_columns_go(void)
{
    TEST_ASSERT_EQUAL_STRING("  time     extra  more  name\n"
                             "  1 ms  22222222   333  /mod...v1/Conv_7\n",
                             table_of("/model/layers/conv1/Conv_7", 1));
}

static void test_columns_go_by_their_rank(void)
{
    g_io.width = 30;
    TEST_ASSERT_EQUAL_STRING("  time  more  name\n"
                             "  1 ms   333  /mod...v1/Conv_7\n",
                             table_of("/model/layers/conv1/Conv_7", 1));
}

static void test_late_rows_fit_too(void)
{
    const char *text = table_of("/model/layers/conv1/Conv_7", VW_TABLE_HELD_ROWS + 1);
    const char *last = strstr(text, "10000000 ms");
    TEST_ASSERT_NOT_NULL(last);
    TEST_ASSERT_EQUAL_STRING("10000000 ms  22222222   333  /mo...Conv_7\n", last);
}

static void test_styles_and_no_trailing_blanks(void)
{
    static const vw_table_column three[] = {{"a", false, 0}, {"b", false, 0}, {"", false, 0}};
    vw_table t;
    g_io.color = true;
    vw_table_begin(&t, &g_io, "", three, 3);
    vw_table_style(&t, 0, VW_BOLD);
    vw_table_text(&t, "x");
    vw_table_next_style(&t, VW_BAD);
    vw_table_text(&t, "bad");
    vw_table_text(&t, "");
    vw_table_text(&t, "y");
    vw_table_text(&t, "");
    vw_table_text(&t, "z");
    vw_table_end(&t);
    TEST_ASSERT_EQUAL_STRING("\x1b[2ma\x1b[0m  \x1b[2mb\x1b[0m\n"
                             "\x1b[1mx\x1b[0m  \x1b[31mbad\x1b[0m\n"
                             "\x1b[1my\x1b[0m       z\n",
                             cm_out_string(&g_io.out));
}

static void test_paragraphs_are_filled(void)
{
    cm_out_text(&g_io.out, "  --limit N ");
    vw_fill(&g_io, "at most so many rows,\n   and that is a lot of words", 14, 12);
    TEST_ASSERT_EQUAL_STRING("  --limit N   at most so many rows, and\n"
                             "              that is a lot of words\n",
                             cm_out_string(&g_io.out));
}

static void test_lines_of_columns(void)
{
    const double values[] = {1, 2, NAN, 4.5, 8};
    vw_spark_line(&g_out, values, 5, 1, 8, true);
    TEST_ASSERT_EQUAL_STRING("\u2581\u2582 \u2584\u2588", cm_out_string(&g_out));
    cm_out_clear(&g_out);
    vw_spark_line(&g_out, values, 5, 1, 8, false);
    TEST_ASSERT_EQUAL_STRING(".: =@", cm_out_string(&g_out));
    cm_out_clear(&g_out);
    vw_spark_line(&g_out, values, 1, 1, 1, false); // all the same
    TEST_ASSERT_EQUAL_STRING(".", cm_out_string(&g_out));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_lines_are_broken_at_blanks);
    RUN_TEST(test_words_are_broken_where_there_is_no_blank);
    RUN_TEST(test_colours_take_no_column);
    RUN_TEST(test_wide_characters_take_two);
    RUN_TEST(test_a_table_that_fits_is_left_alone);
    RUN_TEST(test_names_shrink_before_columns_go);
    RUN_TEST(test_columns_go_by_their_rank);
    RUN_TEST(test_late_rows_fit_too);
    RUN_TEST(test_styles_and_no_trailing_blanks);
    RUN_TEST(test_paragraphs_are_filled);
    RUN_TEST(test_lines_of_columns);
    return UNITY_END();
}
