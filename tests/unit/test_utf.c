// SPDX-License-Identifier: MIT
// UTF-16 and UTF-8: exact on valid text, U+FFFD for the rest, never past either end.
#include "common/utf.h"

#include <stdlib.h>
#include <string.h>
#include <unity.h>

void setUp(void) {}

void tearDown(void) {}

// Every scalar value there and back.
static void test_every_character_round_trips(void)
{
    for (uint32_t c = 1; c <= 0x10ffff; c++) {
        if (c >= 0xd800 && c <= 0xdfff)
            continue;
        uint16_t in[2] = {(uint16_t)c, 0}, back[4];
        size_t units = 1;
        if (c > 0xffff) {
            in[0] = (uint16_t)(0xd7c0 + (c >> 10));
            in[1] = (uint16_t)(0xdc00 | (c & 0x3ff));
            units = 2;
        }
        char text[8];
        size_t len = cm_utf16_to_utf8(in, units, text, sizeof text);
        size_t expected = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        TEST_ASSERT_EQUAL_size_t(expected, len);
        TEST_ASSERT_TRUE(cm_utf8_valid(text, len));
        TEST_ASSERT_EQUAL_size_t(units, cm_utf8_to_utf16(text, len, back, 4));
        TEST_ASSERT_EQUAL_MEMORY(in, back, units * 2);
        TEST_ASSERT_EQUAL_UINT16(0, back[units]);
    }
}

static void test_known_encodings(void)
{
    uint16_t units[16];
    // a, u umlaut, euro sign, U+1F600
    static const char text[] = "a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80";
    static const uint16_t expected[] = {'a', 0xfc, 0x20ac, 0xd83d, 0xde00, 0};
    TEST_ASSERT_EQUAL_size_t(5, cm_utf8_to_utf16(text, CM_UTF_NUL, NULL, 0));
    TEST_ASSERT_EQUAL_size_t(5, cm_utf8_to_utf16(text, CM_UTF_NUL, units, 16));
    TEST_ASSERT_EQUAL_MEMORY(expected, units, sizeof expected);
    char back[16];
    TEST_ASSERT_EQUAL_size_t(10, cm_utf16_to_utf8(expected, CM_UTF_NUL, NULL, 0));
    TEST_ASSERT_EQUAL_size_t(10, cm_utf16_to_utf8(expected, CM_UTF_NUL, back, sizeof back));
    TEST_ASSERT_EQUAL_STRING(text, back);
}

static void test_lone_surrogates_are_replaced(void)
{
    static const uint16_t in[] = {0xd800, 'x', 0xdc00, 0xd83d, 0xd83d, 0xde00, 0xdbff};
    char out[32];
    cm_utf16_to_utf8(in, 7, out, sizeof out);
    TEST_ASSERT_EQUAL_STRING("\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80\xef\xbf\xbd",
                             out);
}

static void expect_repair(const char *in, const char *expected)
{
    char out[64];
    TEST_ASSERT_FALSE(cm_utf8_valid(in, CM_UTF_NUL));
    size_t len = cm_utf8_repair(in, CM_UTF_NUL, out, sizeof out);
    TEST_ASSERT_EQUAL_STRING(expected, out);
    TEST_ASSERT_EQUAL_size_t(strlen(expected), len);
    TEST_ASSERT_EQUAL_size_t(len, cm_utf8_repair(in, CM_UTF_NUL, NULL, 0));
}

static void test_invalid_utf8_is_repaired(void)
{
#define FFFD "\xef\xbf\xbd"
    expect_repair("\x80", FFFD);
    expect_repair("a\xff"
                  "b",
                  "a" FFFD "b");
    expect_repair("\xc0\xaf", FFFD FFFD);                       // overlong
    expect_repair("\xe0\x80\xaf", FFFD FFFD FFFD);              // overlong
    expect_repair("\xed\xa0\x80", FFFD FFFD FFFD);              // a surrogate
    expect_repair("\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD);     // past U+10FFFF
    expect_repair("\xe2\x82", FFFD);                            // cut
    expect_repair("\xf0\x9f\x98z", FFFD "z");                   // broken off
    expect_repair("\xe2\x82\xe2\x82\xac", FFFD "\xe2\x82\xac"); // broken off by a good one
}

// Exactly as much memory as claimed, so that the address sanitizer sees a byte too many.
static void test_output_is_cut_at_whole_characters(void)
{
    static const uint16_t in[] = {'a', 0x20ac, 0xd83d, 0xde00};
    static const size_t expected[] = {0, 0, 1, 1, 1, 4, 4, 4, 4, 8, 8};
    for (size_t cap = 0; cap <= 10; cap++) {
        char *out = malloc(cap ? cap : 1);
        size_t len = cm_utf16_to_utf8(in, 4, out, cap);
        TEST_ASSERT_EQUAL_size_t(expected[cap], len);
        if (cap)
            TEST_ASSERT_EQUAL_CHAR(0, out[len]);
        free(out);
    }
    static const size_t expected_units[] = {0, 0, 1, 2, 2, 4};
    for (size_t cap = 0; cap <= 5; cap++) {
        uint16_t *out = malloc(cap ? cap * 2 : 1);
        size_t count = cm_utf8_to_utf16("a\xe2\x82\xac\xf0\x9f\x98\x80", 8, out, cap);
        TEST_ASSERT_EQUAL_size_t(expected_units[cap], count);
        if (cap)
            TEST_ASSERT_EQUAL_UINT16(0, out[count]);
        free(out);
    }
}

static void test_input_is_not_read_past_its_end(void)
{
    static const char text[] = "\xf0\x9f\x98\x80";
    for (size_t len = 0; len <= 4; len++) {
        char *in = malloc(len ? len : 1);
        memcpy(in, text, len);
        TEST_ASSERT_EQUAL_size_t(len == 0   ? 0
                                 : len == 4 ? 2
                                            : 1,
                                 cm_utf8_to_utf16(in, len, NULL, 0));
        free(in);
    }
    uint16_t *half = malloc(2);
    *half = 0xd83d;
    TEST_ASSERT_EQUAL_size_t(3, cm_utf16_to_utf8(half, 1, NULL, 0));
    free(half);
}

static void test_a_given_length_includes_nuls(void)
{
    TEST_ASSERT_EQUAL_size_t(3, cm_utf8_to_utf16("a\0b", 3, NULL, 0));
    TEST_ASSERT_EQUAL_size_t(1, cm_utf8_to_utf16("a\0b", CM_UTF_NUL, NULL, 0));
    TEST_ASSERT_TRUE(cm_utf8_valid("a\0b", 3));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_character_round_trips);
    RUN_TEST(test_known_encodings);
    RUN_TEST(test_lone_surrogates_are_replaced);
    RUN_TEST(test_invalid_utf8_is_repaired);
    RUN_TEST(test_output_is_cut_at_whole_characters);
    RUN_TEST(test_input_is_not_read_past_its_end);
    RUN_TEST(test_a_given_length_includes_nuls);
    return UNITY_END();
}
