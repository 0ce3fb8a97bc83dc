// SPDX-License-Identifier: MIT
// The version of ONNX Runtime out of a module's memory: found where the code is as compilers make
// it, and not found, without reading outside, wherever it is anything else.
#include "ort_version.h"

#include "unity.h"

#include <string.h>

void setUp(void) {}

void tearDown(void) {}

enum {
    IMAGE_BYTES = 0x800,
    GET_API_BASE = 0x400,
    GET_VERSION = 0x480,
    API_BASE = 0x500,
    TEXT = 0x3f0 // before the function: a negative offset
};
#define BASE 0x7ff612340000u

static uint8_t g_image[IMAGE_BYTES];

static bool read_image(void *context, uint32_t rva, void *out, size_t len)
{
    (void)context;
    if (rva > IMAGE_BYTES || len > IMAGE_BYTES - rva)
        return false;
    memcpy(out, g_image + rva, len);
    return true;
}

static void put32(uint32_t at, uint32_t value)
{
    memcpy(g_image + at, &value, sizeof value);
}

static void put_function(uint32_t at, uint32_t result)
{
    memcpy(g_image + at, "\x48\x8d\x05", 3);
    put32(at + 3, result - (at + 7));
    g_image[at + 7] = 0xc3;
}

static void make_image(const char *version)
{
    memset(g_image, 0, sizeof g_image);
    memcpy(g_image, "MZ", 2);
    put32(0x3c, 0x40);
    memcpy(g_image + 0x40, "PE\0\0", 4);
    g_image[0x58] = 0x0b;
    g_image[0x59] = 0x02;
    put32(0x58 + 108, 16);    // directories
    put32(0x58 + 112, 0x200); // exports
    put32(0x58 + 116, 0x80);
    put32(0x200 + 20, 1);
    put32(0x200 + 24, 1);
    put32(0x200 + 28, 0x240);
    put32(0x200 + 32, 0x250);
    put32(0x200 + 36, 0x260);
    put32(0x240, GET_API_BASE);
    put32(0x250, 0x270);
    strcpy((char *)g_image + 0x270, INJ_ORT_EXPORT);
    put_function(GET_API_BASE, API_BASE);
    uint64_t get_version = BASE + GET_VERSION;
    memcpy(g_image + API_BASE + 8, &get_version, 8);
    put_function(GET_VERSION, TEXT);
    strncpy((char *)g_image + TEXT, version, 16);
}

static bool find(char *out, size_t out_bytes)
{
    return inj_ort_version(read_image, NULL, BASE, out, out_bytes);
}

static void test_version_is_found(void)
{
    char version[32] = "";
    make_image("1.23.2");
    TEST_ASSERT_TRUE(find(version, sizeof version));
    TEST_ASSERT_EQUAL_STRING("1.23.2", version);
    make_image("1.31.0-dev+a1");
    TEST_ASSERT_TRUE(find(version, sizeof version));
    TEST_ASSERT_EQUAL_STRING("1.31.0-dev+a1", version);
}

static void test_other_code_is_not_followed(void)
{
    char version[32] = "untouched";
    make_image("1.23.2");
    g_image[GET_API_BASE] = 0xe9; // a detour
    TEST_ASSERT_FALSE(find(version, sizeof version));
    make_image("1.23.2");
    g_image[GET_VERSION + 7] = 0x90;
    TEST_ASSERT_FALSE(find(version, sizeof version));
    make_image("1.23.2");
    memset(g_image + API_BASE + 8, 0xff, 8);
    TEST_ASSERT_FALSE(find(version, sizeof version));
    make_image("1.23.2");
    put32(GET_API_BASE + 3, 0x7fffffff);
    TEST_ASSERT_FALSE(find(version, sizeof version));
    make_image("");
    TEST_ASSERT_FALSE(find(version, sizeof version));
    make_image("1.2\x01");
    TEST_ASSERT_FALSE(find(version, sizeof version));
    make_image("1.23.2");
    TEST_ASSERT_FALSE(find(version, 4)); // does not fit
    TEST_ASSERT_EQUAL_STRING("untouched", version);
}

static void test_every_garbled_byte_is_survived(void)
{
    char version[32];
    for (uint32_t at = 0; at < 0x510; at++)
        for (unsigned value = 0; value < 256; value += 51) {
            make_image("1.23.2");
            g_image[at] = (uint8_t)value;
            find(version, sizeof version);
        }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_version_is_found);
    RUN_TEST(test_other_code_is_not_followed);
    RUN_TEST(test_every_garbled_byte_is_survived);
    return UNITY_END();
}
