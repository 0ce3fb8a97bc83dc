// SPDX-License-Identifier: MIT
// The byte buffer and the checksum.
#include "common/buf.h"
#include "common/crc32.h"

#include <string.h>
#include <unity.h>

static cm_buf g_buf;

void setUp(void)
{
    cm_buf_init(&g_buf);
}

void tearDown(void)
{
    cm_buf_deinit(&g_buf);
}

static void test_empty_buffer_is_an_empty_text(void)
{
    TEST_ASSERT_EQUAL_STRING("", cm_buf_text(&g_buf));
    TEST_ASSERT_EQUAL_size_t(0, g_buf.len);
    TEST_ASSERT_EQUAL(CM_OK, cm_buf_status(&g_buf));
}

static void test_appends_of_every_size_keep_the_bytes(void)
{
    uint8_t block[300];
    size_t total = 0;
    for (size_t len = 0; len < sizeof block; len++) {
        memset(block, (int)(len & 0xff), len);
        cm_buf_append(&g_buf, block, len);
        total += len;
    }
    TEST_ASSERT_EQUAL_size_t(total, g_buf.len);
    size_t at = 0;
    for (size_t len = 0; len < sizeof block; len++)
        for (size_t i = 0; i < len; i++)
            TEST_ASSERT_EQUAL_UINT8(len & 0xff, g_buf.data[at++]);
}

static void test_text_is_terminated_at_every_length(void)
{
    char expected[600] = "";
    for (size_t i = 0; i < sizeof expected - 1; i++) {
        expected[i] = 'a';
        cm_buf_append_byte(&g_buf, 'a');
        TEST_ASSERT_EQUAL_STRING(expected, cm_buf_text(&g_buf));
    }
}

static void test_printf_and_text_append(void)
{
    cm_buf_append_text(&g_buf, "x=");
    cm_buf_printf(&g_buf, "%d %s", -5,
                  "and a text that is longer than the smallest capacity of "
                  "the buffer, so that it has to grow");
    TEST_ASSERT_EQUAL_STRING("x=-5 and a text that is longer than the smallest capacity of the "
                             "buffer, so that it has to grow",
                             cm_buf_text(&g_buf));
}

static void test_extend_gives_writable_bytes(void)
{
    char *p = cm_buf_extend(&g_buf, 3);
    TEST_ASSERT_NOT_NULL(p);
    memcpy(p, "abc", 3);
    TEST_ASSERT_NOT_NULL(cm_buf_extend(&g_buf, 0));
    TEST_ASSERT_EQUAL_STRING("abc", cm_buf_text(&g_buf));
}

static void test_error_is_sticky_until_cleared(void)
{
    cm_buf_append_text(&g_buf, "kept");
    TEST_ASSERT_NULL(cm_buf_extend(&g_buf, SIZE_MAX));
    TEST_ASSERT_NULL(cm_buf_extend(&g_buf, SIZE_MAX / 2));
    cm_buf_append_text(&g_buf, "dropped");
    cm_buf_printf(&g_buf, "%s", "dropped");
    TEST_ASSERT_TRUE(g_buf.failed);
    TEST_ASSERT_EQUAL(CM_NO_MEMORY, cm_buf_status(&g_buf));
    TEST_ASSERT_EQUAL_STRING("kept", cm_buf_text(&g_buf));
    cm_buf_clear(&g_buf);
    cm_buf_append_text(&g_buf, "again");
    TEST_ASSERT_EQUAL_STRING("again", cm_buf_text(&g_buf));
    TEST_ASSERT_EQUAL(CM_OK, cm_buf_status(&g_buf));
}

static void test_crc32_has_the_standard_check_value(void)
{
    TEST_ASSERT_EQUAL_HEX32(0xcbf43926, cm_crc32(0, "123456789", 9));
    TEST_ASSERT_EQUAL_HEX32(0, cm_crc32(0, "", 0));
    TEST_ASSERT_EQUAL_HEX32(0xcbf43926, cm_crc32(cm_crc32(0, "1234", 4), "56789", 5));
}

// Bit by bit, as the definition has it.
static uint32_t crc_by_bits(const uint8_t *bytes, size_t len)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void test_crc32_of_every_byte_at_every_place(void)
{
    uint8_t bytes[48] = {0};
    for (unsigned value = 0; value < 256; value++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)(value + i * 37);
        for (size_t begin = 0; begin < 9; begin++)
            for (size_t len = 0; begin + len <= sizeof bytes; len += 1 + len / 8)
                TEST_ASSERT_EQUAL_HEX32(crc_by_bits(bytes + begin, len),
                                        cm_crc32(0, bytes + begin, len));
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_empty_buffer_is_an_empty_text);
    RUN_TEST(test_appends_of_every_size_keep_the_bytes);
    RUN_TEST(test_text_is_terminated_at_every_length);
    RUN_TEST(test_printf_and_text_append);
    RUN_TEST(test_extend_gives_writable_bytes);
    RUN_TEST(test_error_is_sticky_until_cleared);
    RUN_TEST(test_crc32_has_the_standard_check_value);
    RUN_TEST(test_crc32_of_every_byte_at_every_place);
    return UNITY_END();
}
