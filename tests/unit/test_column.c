// SPDX-License-Identifier: MIT
// The integers of a column: every form at every place, cut anywhere, against the plain reader of
// tokens.
#include "reader_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unity.h>

#define MOST 64

static uint64_t g_random;

void setUp(void)
{
    g_random = 88172645463325252u;
}

void tearDown(void) {}

static uint64_t random_bits(void)
{
    g_random ^= g_random << 13;
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    return g_random;
}

// One integer in a form that is chosen by chance, mostly a short one; its length.
static size_t put_integer(uint8_t *out, bool short_ones)
{
    static const uint8_t marks[] = {0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3};
    static const uint8_t bytes[] = {1, 2, 4, 8, 1, 2, 4, 8};
    uint64_t bits = random_bits();
    if (short_ones || bits % 3 == 0) {
        out[0] = (uint8_t)(bits >> 8 & 0x7f);
        if (!short_ones && bits >> 20 & 1)
            out[0] = (uint8_t)(0xe0 | out[0]);
        return 1;
    }
    size_t form = bits >> 4 & 7;
    out[0] = marks[form];
    for (size_t i = 0; i < bytes[form]; i++)
        out[1 + i] = (uint8_t)random_bits();
    return 1u + bytes[form];
}

static size_t put_column(uint8_t *out, size_t rows)
{
    bool short_ones = random_bits() % 3 == 0;
    out[0] = 0xdc;
    out[1] = 0;
    out[2] = (uint8_t)rows;
    size_t len = 3;
    for (size_t i = 0; i < rows; i++)
        len += put_integer(out + len, short_ones && i % 11 != 10);
    return len;
}

// As the format says, token by token.
static bool take_plainly(mp_input *in, uint64_t rows, bool delta, int64_t *out)
{
    mp_token token;
    uint64_t value = 0;
    if (mp_expect(in, MP_ARRAY, &token) != MP_OK || token.value != rows)
        return false;
    for (uint64_t i = 0; i < rows; i++) {
        if (mp_expect(in, MP_INT, &token) != MP_OK)
            return false;
        value = delta ? value + token.value : token.value;
        out[i] = (int64_t)value;
    }
    return true;
}

// A copy of its own, so that the address sanitizer sees reads past the end.
static void compare(const uint8_t *bytes, size_t len, size_t rows, bool delta)
{
    int64_t found[MOST], expected[MOST];
    uint8_t *copy = malloc(len ? len : 1);
    TEST_ASSERT_NOT_NULL(copy);
    memcpy(copy, bytes, len);
    mp_input fast = {copy, copy + len}, plain = fast;
    bool good = take_plainly(&plain, rows, delta, expected);
    TEST_ASSERT_EQUAL(good, tm_take_column(&fast, rows, delta, found));
    if (good) {
        TEST_ASSERT_EQUAL_PTR(plain.at, fast.at);
        TEST_ASSERT_EQUAL_INT64_ARRAY(expected, found, rows);
    }
    free(copy);
}

static void test_every_form_and_every_cut(void)
{
    uint8_t bytes[3 + 9 * MOST + 16];
    for (int round = 0; round < 300; round++) {
        size_t rows = 1 + random_bits() % MOST, len = put_column(bytes, rows);
        compare(bytes, len, rows, round % 2);
        for (size_t cut = len > 24 ? len - 24 : 0; cut < len; cut++)
            compare(bytes, cut, rows, round % 2);
        memset(bytes + len, 0xcf, 16); // what follows is not the column's
        compare(bytes, len + 16, rows, round % 2);
    }
}

static void test_what_is_no_integer_is_refused_at_every_place(void)
{
    static const uint8_t others[] = {0x80, 0x90, 0xa0, 0xc0, 0xc1, 0xc2, 0xc4,
                                     0xca, 0xcb, 0xd4, 0xd9, 0xdc, 0xde};
    uint8_t bytes[3 + 40 + 16];
    for (size_t place = 0; place < 40; place++) {
        for (size_t i = 0; i < sizeof others; i++) {
            memset(bytes, 5, sizeof bytes);
            bytes[0] = 0xdc;
            bytes[1] = 0;
            bytes[2] = 40;
            bytes[3 + place] = others[i];
            mp_input in = {bytes, bytes + sizeof bytes};
            int64_t out[40];
            TEST_ASSERT_FALSE(tm_take_column(&in, 40, true, out));
        }
    }
}

static void test_one_number_stands_for_all_rows(void)
{
    const uint8_t bytes[] = {0xd1, 0xff, 0x00};
    mp_input in = {bytes, bytes + sizeof bytes};
    int64_t out[5];
    TEST_ASSERT_TRUE(tm_take_column(&in, 5, true, out));
    for (int i = 0; i < 5; i++)
        TEST_ASSERT_EQUAL_INT64(-256, out[i]);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_every_form_and_every_cut);
    RUN_TEST(test_what_is_no_integer_is_refused_at_every_place);
    RUN_TEST(test_one_number_stands_for_all_rows);
    return UNITY_END();
}
