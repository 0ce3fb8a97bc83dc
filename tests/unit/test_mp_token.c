// SPDX-License-Identifier: MIT
// The MessagePack tokens: every first byte, every cut, counts that lie.
#include "mp_token.h"

#include <stdlib.h>
#include <string.h>
#include <unity.h>

void setUp(void) {}

void tearDown(void) {}

// A copy of its own, so that the address sanitizer sees reads past the end.
static mp_result next_of(const char *bytes, size_t len, mp_token *out, size_t *out_used)
{
    uint8_t *copy = malloc(len ? len : 1);
    memcpy(copy, bytes, len);
    mp_input in = {copy, copy + len};
    mp_result result = mp_next(&in, out);
    *out_used = (size_t)(in.at - copy);
    if (result == MP_OK && out->data)
        TEST_ASSERT_TRUE(out->data >= copy && out->data + out->value <= copy + len);
    free(copy);
    return result;
}

#define TOKEN(bytes, type, value, negative)                                                        \
    expect_token(bytes, sizeof bytes - 1, type, (uint64_t)(value), negative)

// The token, and every shorter input is a cut.
static void expect_token(const char *bytes, size_t len, mp_type type, uint64_t value, bool negative)
{
    mp_token token;
    size_t used;
    TEST_ASSERT_EQUAL(MP_OK, next_of(bytes, len, &token, &used));
    TEST_ASSERT_EQUAL_size_t(len, used);
    TEST_ASSERT_EQUAL(type, token.type);
    TEST_ASSERT_EQUAL_HEX64(value, token.value);
    TEST_ASSERT_EQUAL(negative, token.negative);
    for (size_t cut = 0; cut < len; cut++) {
        TEST_ASSERT_EQUAL(MP_CUT, next_of(bytes, cut, &token, &used));
        TEST_ASSERT_EQUAL_size_t(0, used);
    }
}

static void test_integers(void)
{
    TOKEN("\x00", MP_INT, 0, false);
    TOKEN("\x7f", MP_INT, 127, false);
    TOKEN("\xff", MP_INT, -1, true);
    TOKEN("\xe0", MP_INT, -32, true);
    TOKEN("\xcc\xff", MP_INT, 255, false);
    TOKEN("\xcd\x01\x02", MP_INT, 0x102, false);
    TOKEN("\xce\xff\xff\xff\xff", MP_INT, 0xffffffffu, false);
    TOKEN("\xcf\xff\xff\xff\xff\xff\xff\xff\xfe", MP_INT, UINT64_MAX - 1, false);
    TOKEN("\xd0\x80", MP_INT, -128, true);
    TOKEN("\xd0\x7f", MP_INT, 127, false);
    TOKEN("\xd1\x80\x00", MP_INT, -32768, true);
    TOKEN("\xd2\x80\x00\x00\x00", MP_INT, INT32_MIN, true);
    TOKEN("\xd3\x80\x00\x00\x00\x00\x00\x00\x00", MP_INT, INT64_MIN, true);
    TOKEN("\xd3\x00\x00\x00\x00\x00\x00\x00\x05", MP_INT, 5, false);
}

static void test_everything_else(void)
{
    TOKEN("\xc0", MP_NIL, 0, false);
    TOKEN("\xc2", MP_BOOL, 0, false);
    TOKEN("\xc3", MP_BOOL, 1, false);
    TOKEN("\xa3"
          "abc",
          MP_STR, 3, false);
    TOKEN("\xd9\x02"
          "ab",
          MP_STR, 2, false);
    TOKEN("\xda\x00\x01"
          "a",
          MP_STR, 1, false);
    TOKEN("\xdb\x00\x00\x00\x01"
          "a",
          MP_STR, 1, false);
    TOKEN("\xc4\x01x", MP_BIN, 1, false);
    TOKEN("\xc5\x00\x01x", MP_BIN, 1, false);
    TOKEN("\xc6\x00\x00\x00\x01x", MP_BIN, 1, false);
    TOKEN("\xc7\x01\x05x", MP_EXT, 1, false);
    TOKEN("\xd4\x05x", MP_EXT, 1, false);
    TOKEN("\xd7\x05"
          "12345678",
          MP_EXT, 8, false);
    TOKEN("\x93", MP_ARRAY, 3, false);
    TOKEN("\xdc\x01\x00", MP_ARRAY, 256, false);
    TOKEN("\xdd\xff\xff\xff\xff", MP_ARRAY, UINT32_MAX, false);
    TOKEN("\x8f", MP_MAP, 15, false);
    TOKEN("\xde\x00\x10", MP_MAP, 16, false);
    TOKEN("\xdf\x00\x01\x00\x00", MP_MAP, 65536, false);
    mp_token token;
    size_t used;
    TEST_ASSERT_EQUAL(MP_OK, next_of("\xca\x00\x00\x00\x00", 5, &token, &used));
    TEST_ASSERT_EQUAL(MP_FLOAT, token.type);
    TEST_ASSERT_EQUAL(MP_BAD, next_of("\xc1\x00\x00", 3, &token, &used));
}

static mp_result skip(const char *bytes, size_t len, size_t *out_used)
{
    uint8_t *copy = malloc(len ? len : 1);
    memcpy(copy, bytes, len);
    mp_input in = {copy, copy + len};
    mp_result result = mp_skip(&in);
    *out_used = (size_t)(in.at - copy);
    free(copy);
    return result;
}

static void test_skip_takes_whole_objects(void)
{
    size_t used;
    // {"a": [1, {"b": nil}], "c": "text"}, then one byte more
    static const char nested[] = "\x82\xa1"
                                 "a\x92\x01\x81\xa1"
                                 "b\xc0\xa1"
                                 "c\xa4text\x07";
    size_t len = sizeof nested - 1;
    TEST_ASSERT_EQUAL(MP_OK, skip(nested, len, &used));
    TEST_ASSERT_EQUAL_size_t(len - 1, used);
    for (size_t cut = 0; cut < len - 1; cut++) {
        TEST_ASSERT_EQUAL(MP_CUT, skip(nested, cut, &used));
        TEST_ASSERT_EQUAL_size_t(0, used);
    }
    TEST_ASSERT_EQUAL(MP_BAD, skip("\x92\x01\xc1", 3, &used));
}

static void test_skip_does_not_believe_counts(void)
{
    size_t used;
    TEST_ASSERT_EQUAL(MP_CUT, skip("\xdd\xff\xff\xff\xff\x01", 6, &used));
    TEST_ASSERT_EQUAL(MP_CUT, skip("\xdf\xff\xff\xff\xff\x01", 6, &used));
    TEST_ASSERT_EQUAL(MP_CUT, skip("\xdb\xff\xff\xff\xff\x01", 6, &used));
    TEST_ASSERT_EQUAL(MP_CUT, skip("\xc9\xff\xff\xff\xff\x01", 6, &used));
    // A million arrays in each other need no stack here.
    enum { DEPTH = 1000000 };
    char *deep = malloc(DEPTH + 1);
    memset(deep, '\x91', DEPTH);
    deep[DEPTH] = 1;
    TEST_ASSERT_EQUAL(MP_CUT, skip(deep, DEPTH, &used));
    TEST_ASSERT_EQUAL(MP_OK, skip(deep, DEPTH + 1, &used));
    TEST_ASSERT_EQUAL_size_t(DEPTH + 1, used);
    free(deep);
}

static void test_typed_reads_refuse_other_types(void)
{
    static const uint8_t bytes[] = {0xff, 0x05, 0xa1, 'x'};
    mp_input in = {bytes, bytes + sizeof bytes};
    mp_token token;
    uint64_t number = 99;
    TEST_ASSERT_EQUAL(MP_BAD, mp_unsigned(&in, &number)); // negative
    TEST_ASSERT_EQUAL_UINT64(99, number);
    in.at = bytes + 1;
    TEST_ASSERT_EQUAL(MP_BAD, mp_expect(&in, MP_STR, &token));
    TEST_ASSERT_EQUAL_PTR(bytes + 1, in.at); // not moved
    TEST_ASSERT_EQUAL(MP_OK, mp_unsigned(&in, &number));
    TEST_ASSERT_EQUAL_UINT64(5, number);
    TEST_ASSERT_EQUAL(MP_OK, mp_expect(&in, MP_STR, &token));
    TEST_ASSERT_TRUE(mp_text_is(&token, "x"));
    TEST_ASSERT_FALSE(mp_text_is(&token, "xy"));
    TEST_ASSERT_FALSE(mp_text_is(&token, ""));
    TEST_ASSERT_EQUAL(MP_CUT, mp_unsigned(&in, &number));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_integers);
    RUN_TEST(test_everything_else);
    RUN_TEST(test_skip_takes_whole_objects);
    RUN_TEST(test_skip_does_not_believe_counts);
    RUN_TEST(test_typed_reads_refuse_other_types);
    return UNITY_END();
}
