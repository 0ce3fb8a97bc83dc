// SPDX-License-Identifier: MIT
// Known values of XXH64 with seed 0, as xxhsum prints them.
#include "xxh64.h"

#include "unity.h"

#include <string.h>

void setUp(void) {}

void tearDown(void) {}

static uint64_t hash(const char *text)
{
    return hk_xxh64(text, strlen(text));
}

static void test_known_values(void)
{
    TEST_ASSERT_EQUAL_HEX64(0xef46db3751d8e999u, hash(""));
    TEST_ASSERT_EQUAL_HEX64(0xd24ec4f1a98c6e5bu, hash("a"));
    TEST_ASSERT_EQUAL_HEX64(0x44bc2cf5ad770999u, hash("abc"));
    TEST_ASSERT_EQUAL_HEX64(0xfbcea83c8a378bf1u, hash("Nobody inspects the spammish repetition"));
}

static void test_alignment_does_not_matter(void)
{
    char buffer[128];
    const char *text = "Nobody inspects the spammish repetition";
    for (size_t shift = 0; shift < 16; shift++) {
        memcpy(buffer + shift, text, strlen(text));
        TEST_ASSERT_EQUAL_HEX64(hash(text), hk_xxh64(buffer + shift, strlen(text)));
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_known_values);
    RUN_TEST(test_alignment_does_not_matter);
    return UNITY_END();
}
