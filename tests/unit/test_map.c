// SPDX-License-Identifier: MIT
// The hash map against what was put into it.
#include "common/map.h"

#include <unity.h>

void setUp(void) {}

void tearDown(void) {}

static int64_t key_of(size_t i)
{
    // neighbours, multiples of large powers of two, negative ones, the limits
    switch (i % 4) {
    case 0:
        return (int64_t)i;
    case 1:
        return (int64_t)((uint64_t)i << 40);
    case 2:
        return -(int64_t)i;
    default:
        return i == 3 ? INT64_MAX : i == 7 ? INT64_MIN : INT64_MAX - (int64_t)i;
    }
}

static void test_finds_what_was_put(void)
{
    cm_map m;
    size_t value;
    cm_map_init(&m);
    TEST_ASSERT_FALSE(cm_map_find(&m, 0, &value));
    for (size_t i = 0; i < 20000; i++)
        TEST_ASSERT_TRUE(cm_map_put(&m, key_of(i), i));
    TEST_ASSERT_EQUAL_size_t(20000, m.count);
    for (size_t i = 0; i < 20000; i++) {
        TEST_ASSERT_TRUE(cm_map_find(&m, key_of(i), &value));
        TEST_ASSERT_EQUAL_size_t(i, value);
    }
    TEST_ASSERT_FALSE(cm_map_find(&m, 123456789, &value));
    cm_map_deinit(&m);
}

static void test_a_key_has_one_value(void)
{
    cm_map m;
    size_t value = 0;
    cm_map_init(&m);
    for (size_t i = 0; i < 1000; i++)
        TEST_ASSERT_TRUE(cm_map_put(&m, 5, i));
    TEST_ASSERT_EQUAL_size_t(1, m.count);
    TEST_ASSERT_TRUE(cm_map_find(&m, 5, &value));
    TEST_ASSERT_EQUAL_size_t(999, value);
    cm_map_deinit(&m);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_finds_what_was_put);
    RUN_TEST(test_a_key_has_one_value);
    return UNITY_END();
}
