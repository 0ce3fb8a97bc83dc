// SPDX-License-Identifier: MIT
// Text for people: widths, cleaning, units, CSV, nearest names.
#include "common/text.h"

#include <stdio.h>
#include <string.h>
#include <unity.h>

static cm_out g_out;

void setUp(void)
{
    cm_out_init_memory(&g_out);
}

void tearDown(void)
{
    cm_out_deinit(&g_out);
}

static void expect_clean(const char *text, size_t width, const char *expected)
{
    cm_out_clear(&g_out);
    cm_text_clean(&g_out, text, width);
    TEST_ASSERT_EQUAL_STRING(expected, cm_out_string(&g_out));
}

static void test_clean(void)
{
    expect_clean("model.onnx", 0, "model.onnx");
    expect_clean("\x1b[2Jboo\x07", 0, "?[2Jboo?");
    expect_clean("two\nlines\tand", 0, "two lines and");
    expect_clean("\xc2\x9b"
                 "31m",
                 0, "?31m"); // C1 control
    expect_clean("a\xe2\x80\xae"
                 "b",
                 0, "a?b"); // right-to-left override
    expect_clean("\xff\xfe", 0, "??");
    expect_clean("\xe6\xa8\xa1\xe5\x9e\x8b", 0, "\xe6\xa8\xa1\xe5\x9e\x8b");
}

static void test_clean_shortens_the_middle(void)
{
    expect_clean("C:\\very\\long\\path\\to\\a\\model.onnx", 20, "C:\\ve...a\\model.onnx");
    TEST_ASSERT_TRUE(cm_text_width(cm_out_string(&g_out)) <= 20);
    expect_clean("abcdefgh", 8, "abcdefgh");
    expect_clean("abcdefghij", 5, "abcde");
}

static void test_width(void)
{
    TEST_ASSERT_EQUAL_size_t(5, cm_text_width("abcde"));
    TEST_ASSERT_EQUAL_size_t(4, cm_text_width("\xe6\xa8\xa1\xe5\x9e\x8b")); // two wide ones
    TEST_ASSERT_EQUAL_size_t(1, cm_text_width("e\xcc\x81"));                // with an accent
}

static void expect_ns(double ns, const char *expected)
{
    char text[32];
    cm_format_ns(text, sizeof text, ns);
    TEST_ASSERT_EQUAL_STRING(expected, text);
}

static void test_nanoseconds(void)
{
    expect_ns(0, "0 ns");
    expect_ns(7, "7 ns");
    expect_ns(999, "999 ns");
    expect_ns(999.96, "1.000 us");
    expect_ns(1000, "1.000 us");
    expect_ns(12345, "12.35 us");
    expect_ns(123456, "123.5 us");
    expect_ns(999949, "999.9 us");
    expect_ns(999951, "1.000 ms");
    expect_ns(1234567890, "1.235 s");
    expect_ns(61e9, "1.017 min");
    expect_ns(7200e9, "2.000 h");
    expect_ns(720000e9, "200.0 h");
}

static void test_counts_bytes_and_dates(void)
{
    char text[64];
    cm_format_count(text, sizeof text, 999);
    TEST_ASSERT_EQUAL_STRING("999", text);
    cm_format_count(text, sizeof text, 1234567);
    TEST_ASSERT_EQUAL_STRING("1,234,567", text);
    cm_format_count(text, sizeof text, UINT64_MAX);
    TEST_ASSERT_EQUAL_STRING("18,446,744,073,709,551,615", text);
    cm_format_bytes(text, sizeof text, 999);
    TEST_ASSERT_EQUAL_STRING("999 B", text);
    cm_format_bytes(text, sizeof text, 582663);
    TEST_ASSERT_EQUAL_STRING("582.7 kB", text);
    cm_format_utc(text, sizeof text, 0);
    TEST_ASSERT_EQUAL_STRING("1970-01-01T00:00:00.000000000Z", text);
    cm_format_utc(text, sizeof text, 1709251199123456789u);
    TEST_ASSERT_EQUAL_STRING("2024-02-29T23:59:59.123456789Z", text);
    cm_format_utc(text, sizeof text, 4107542400000000000u);
    TEST_ASSERT_EQUAL_STRING("2100-03-01T00:00:00.000000000Z", text);
}

static void expect_as_printf(double value, int decimals)
{
    char expected[400], actual[400];
    snprintf(expected, sizeof expected, "%.*f", decimals, value);
    if (strchr(expected, '.')) {
        size_t len = strlen(expected);
        while (expected[len - 1] == '0')
            len--;
        len -= expected[len - 1] == '.';
        expected[len] = '\0';
    }
    cm_format_number(actual, sizeof actual, value, decimals);
    TEST_ASSERT_EQUAL_STRING(strcmp(expected, "-0") == 0 ? "0" : expected, actual);
}

static void test_numbers_are_those_of_printf(void)
{
    static const double odd[] = {0,     -0.0, 0.5,  1.5,   2.5,    0.125,   0.0005,   1.0005,
                                 2.675, 1e11, 1e12, 1e300, 1e-300, 0.99999, 999.9995, 1e12 - 0.5};
    uint64_t random = 88172645463325252u;
    for (int decimals = 0; decimals < 12; decimals++) {
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
            expect_as_printf(odd[i], decimals);
            expect_as_printf(-odd[i], decimals);
        }
        for (int i = 0; i < 4000; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            double size = (double)((uint64_t)1 << (random >> 59)) / 1024;
            double value = (double)(int64_t)(random << 6) / 0x1p63 * size * 1024;
            expect_as_printf(value, decimals);
            expect_as_printf((double)(int64_t)(value * 2000) / 2000, decimals); // ties, and nearly
        }
    }
}

static void test_csv(void)
{
    cm_csv_text(&g_out, "plain", true);
    cm_csv_text(&g_out, "", false);
    cm_csv_text(&g_out, "a,b", false);
    cm_csv_text(&g_out, "say \"hi\"", false);
    cm_csv_text(&g_out, "two\nlines", false);
    TEST_ASSERT_EQUAL_STRING("plain,,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\"",
                             cm_out_string(&g_out));
}

static void test_edit_distance(void)
{
    TEST_ASSERT_EQUAL_size_t(0, cm_edit_distance("summary", "summary"));
    TEST_ASSERT_EQUAL_size_t(1, cm_edit_distance("sumary", "summary"));
    TEST_ASSERT_EQUAL_size_t(1, cm_edit_distance("smumary", "summary"));
    TEST_ASSERT_EQUAL_size_t(1, cm_edit_distance("jsno", "json"));
    TEST_ASSERT_EQUAL_size_t(4, cm_edit_distance("", "list"));
    TEST_ASSERT_EQUAL_size_t(3, cm_edit_distance("kitten", "sitting"));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_clean);
    RUN_TEST(test_clean_shortens_the_middle);
    RUN_TEST(test_width);
    RUN_TEST(test_nanoseconds);
    RUN_TEST(test_counts_bytes_and_dates);
    RUN_TEST(test_numbers_are_those_of_printf);
    RUN_TEST(test_csv);
    RUN_TEST(test_edit_distance);
    return UNITY_END();
}
