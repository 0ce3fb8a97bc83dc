// SPDX-License-Identifier: MIT
// The JSON writer and the buffer under it: exact bytes, hostile strings, failing sinks.
#include "common/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unity.h>

static cm_out g_out;
static cm_json g_json;

void setUp(void)
{
    cm_out_init_memory(&g_out);
    cm_json_init(&g_json, &g_out);
}

void tearDown(void)
{
    cm_out_deinit(&g_out);
}

static void expect(const char *text)
{
    TEST_ASSERT_EQUAL_STRING(text, cm_out_string(&g_out));
}

static void test_nested_document(void)
{
    cm_json_begin_object(&g_json, CM_JSON_INDENTED);
    cm_json_key(&g_json, "a");
    cm_json_int(&g_json, -1);
    cm_json_key(&g_json, "list");
    cm_json_begin_array(&g_json, CM_JSON_INDENTED);
    cm_json_begin_object(&g_json, CM_JSON_ONE_LINE);
    cm_json_key(&g_json, "x");
    cm_json_bool(&g_json, true);
    cm_json_key(&g_json, "y");
    cm_json_begin_array(&g_json, CM_JSON_INDENTED); // stays on the line of what holds it
    cm_json_uint(&g_json, UINT64_MAX);
    cm_json_null(&g_json);
    cm_json_end(&g_json);
    cm_json_end(&g_json);
    cm_json_int(&g_json, INT64_MIN);
    cm_json_end(&g_json);
    cm_json_key(&g_json, "none");
    cm_json_begin_array(&g_json, CM_JSON_INDENTED);
    cm_json_end(&g_json);
    cm_json_key(&g_json, "empty");
    cm_json_begin_object(&g_json, CM_JSON_INDENTED);
    cm_json_end(&g_json);
    cm_json_end(&g_json);
    expect(
        "{\n  \"a\": -1,\n  \"list\": [\n    {\"x\": true, \"y\": [18446744073709551615, null]},\n"
        "    -9223372036854775808\n  ],\n  \"none\": [],\n  \"empty\": {}\n}\n");
}

static void expect_string(const char *bytes, size_t len, const char *expected)
{
    cm_out_clear(&g_out);
    cm_json_bytes(&g_json, bytes, len);
    expect(expected);
}

static void test_escapes(void)
{
    expect_string("plain", 5, "\"plain\"");
    expect_string("", 0, "\"\"");
    expect_string("C:\\a\"b\n\t\r\b\f", 11, "\"C:\\\\a\\\"b\\n\\t\\r\\b\\f\"");
    expect_string("\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\"");
    expect_string("\x1b[31m", 5, "\"\\u001b[31m\"");
    expect_string("a\xc2\x9b\xe2\x80\xae"
                  "b",
                  7, "\"a\\u009b\\u202eb\"");
    expect_string("</script>", 9, "\"</script>\"");
}

static void test_valid_utf8_is_kept_and_broken_is_replaced(void)
{
#define BAD "\xef\xbf\xbd"
    expect_string("\xc3\xa4\xe6\xa8\xa1\xf0\x9f\x98\x80", 9,
                  "\"\xc3\xa4\xe6\xa8\xa1\xf0\x9f\x98\x80\"");
    expect_string("a\xff"
                  "b",
                  3, "\"a" BAD "b\"");
    expect_string("\xc3", 1, "\"" BAD "\"");                         // cut
    expect_string("\xc3\"", 2, "\"" BAD "\\\"\"");                   // a quote can't hide in it
    expect_string("\xc0\x80", 2, "\"" BAD BAD "\"");                 // overlong
    expect_string("\xed\xa0\x80", 3, "\"" BAD BAD BAD "\"");         // surrogate
    expect_string("\xf4\x90\x80\x80", 4, "\"" BAD BAD BAD BAD "\""); // beyond U+10FFFF
}

static void expect_number(double value, int decimals, const char *expected)
{
    cm_out_clear(&g_out);
    cm_json_number(&g_json, value, decimals);
    expect(expected);
}

static void test_numbers(void)
{
    expect_number(1.5, 3, "1.5");
    expect_number(1.0, 3, "1");
    expect_number(100.0, 3, "100");
    expect_number(0.0004, 3, "0");
    expect_number(-0.0004, 3, "0");
    expect_number(1234567.8912, 3, "1234567.891");
    expect_number(0.0, 0, "0");
    expect_number(NAN, 3, "null");
    expect_number(INFINITY, 3, "null");
    expect_number(-INFINITY, 3, "null");
    cm_out_clear(&g_out);
    cm_json_number(&g_json, 1e300, 6);
    TEST_ASSERT_EQUAL_size_t(301, strlen(cm_out_string(&g_out)));
}

static void test_null_text_is_null(void)
{
    cm_json_string(&g_json, NULL);
    expect("null");
}

typedef struct sink {
    size_t taken, limit, calls;
} sink;

static cm_status take(void *context, const void *bytes, size_t len)
{
    sink *s = context;
    (void)bytes;
    s->calls++;
    if (s->taken + len > s->limit)
        return cm_fail(CM_IO, "The sink is full.");
    s->taken += len;
    return CM_OK;
}

static void test_a_sink_gets_everything_in_large_pieces(void)
{
    sink s = {0, SIZE_MAX, 0};
    cm_out out;
    cm_out_init_sink(&out, take, &s);
    for (int i = 0; i < 100000; i++)
        cm_out_printf(&out, "%09d\n", i);
    char *large = calloc(1, 100000);
    cm_out_bytes(&out, large, 100000);
    free(large);
    TEST_ASSERT_EQUAL_INT(CM_OK, cm_out_flush(&out));
    TEST_ASSERT_EQUAL_size_t(1100000, s.taken);
    TEST_ASSERT_TRUE(s.calls < 60);
    cm_out_deinit(&out);
}

static void test_a_failing_sink_is_told_once_and_left_alone(void)
{
    sink s = {0, 50000, 0};
    cm_out out;
    cm_out_init_sink(&out, take, &s);
    for (int i = 0; i < 100000; i++)
        cm_out_text(&out, "0123456789");
    size_t calls = s.calls;
    TEST_ASSERT_TRUE(cm_out_failed(&out));
    TEST_ASSERT_EQUAL_INT(CM_IO, cm_out_flush(&out));
    TEST_ASSERT_EQUAL_STRING("The sink is full.", cm_error_text(CM_IO));
    TEST_ASSERT_EQUAL_size_t(2, calls);
    TEST_ASSERT_EQUAL_size_t(calls, s.calls);
    cm_out_deinit(&out);
}

static void test_long_formatted_text(void)
{
    char *word = malloc(5001);
    memset(word, 'x', 5000);
    word[5000] = '\0';
    cm_out_printf(&g_out, "<%s>", word);
    TEST_ASSERT_EQUAL_size_t(5002, g_out.buf.len);
    free(word);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_nested_document);
    RUN_TEST(test_escapes);
    RUN_TEST(test_valid_utf8_is_kept_and_broken_is_replaced);
    RUN_TEST(test_numbers);
    RUN_TEST(test_null_text_is_null);
    RUN_TEST(test_a_sink_gets_everything_in_large_pieces);
    RUN_TEST(test_a_failing_sink_is_told_once_and_left_alone);
    RUN_TEST(test_long_formatted_text);
    return UNITY_END();
}
