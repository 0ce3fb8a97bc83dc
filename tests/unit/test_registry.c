// SPDX-License-Identifier: MIT
// The hook's table of ORT's objects, against a simple model.
#include "registry.h"

#include "unity.h"

#include <stdlib.h>

hk_state g_hk; // the registry itself uses none of it

static hk_registry *g_registry;
static unsigned g_dropped;

void setUp(void)
{
    g_registry = calloc(1, sizeof *g_registry);
    g_dropped = 0;
}

void tearDown(void)
{
    free(g_registry);
}

static void *key_of(size_t i)
{
    return (void *)(0x10000 + i * 16);
}

static void drop(void *value)
{
    (void)value;
    g_dropped++;
}

static void test_found_until_removed(void)
{
    int a, b;
    TEST_ASSERT_NULL(hk_registry_find(g_registry, key_of(1)));
    TEST_ASSERT_TRUE(hk_registry_add(g_registry, key_of(1), &a));
    TEST_ASSERT_TRUE(hk_registry_add(g_registry, key_of(2), &b));
    TEST_ASSERT_EQUAL_PTR(&a, hk_registry_find(g_registry, key_of(1)));
    TEST_ASSERT_EQUAL_PTR(&a, hk_registry_remove(g_registry, key_of(1)));
    TEST_ASSERT_NULL(hk_registry_find(g_registry, key_of(1)));
    TEST_ASSERT_NULL(hk_registry_remove(g_registry, key_of(1)));
    TEST_ASSERT_EQUAL_PTR(&b, hk_registry_find(g_registry, key_of(2)));
}

static void test_adding_again_replaces(void)
{
    int a, b;
    hk_registry_add(g_registry, key_of(1), &a);
    hk_registry_add(g_registry, key_of(1), &b);
    TEST_ASSERT_EQUAL_PTR(&b, hk_registry_remove(g_registry, key_of(1)));
    TEST_ASSERT_NULL(hk_registry_find(g_registry, key_of(1)));
}

static void test_full_is_told_and_room_comes_back(void)
{
    size_t added = 0;
    while (hk_registry_add(g_registry, key_of(added), key_of(added)))
        added++;
    TEST_ASSERT_EQUAL_size_t(HK_REGISTRY_SLOTS / 4 * 3, added);
    TEST_ASSERT_NOT_NULL(hk_registry_remove(g_registry, key_of(7)));
    TEST_ASSERT_TRUE(hk_registry_add(g_registry, key_of(added), key_of(added)));
    hk_registry_clear(g_registry, drop);
    TEST_ASSERT_EQUAL_UINT(added, g_dropped);
    TEST_ASSERT_NULL(hk_registry_find(g_registry, key_of(8)));
}

static uint32_t count_seen(const void *value)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < hk_registry_used(g_registry); i++)
        seen += hk_registry_at(g_registry, i) == value;
    return seen;
}

static void test_looking_at_all_touches_only_what_is_used(void)
{
    for (size_t i = 1; i <= 5; i++)
        hk_registry_add(g_registry, key_of(i), key_of(i));
    hk_registry_add(g_registry, key_of(5), key_of(6)); // replaced, not added
    TEST_ASSERT_EQUAL_UINT32(5, hk_registry_used(g_registry));
    hk_registry_remove(g_registry, key_of(4));
    TEST_ASSERT_EQUAL_UINT32(5, hk_registry_used(g_registry)); // what comes after it stays there
    TEST_ASSERT_EQUAL_UINT32(0, count_seen(key_of(4)));
    TEST_ASSERT_EQUAL_UINT32(1, count_seen(key_of(6)));
    hk_registry_remove(g_registry, key_of(5));
    TEST_ASSERT_EQUAL_UINT32(3, hk_registry_used(g_registry));
    TEST_ASSERT_NULL(hk_registry_at(g_registry, 3));
    hk_registry_add(g_registry, key_of(4), key_of(4));
    TEST_ASSERT_EQUAL_UINT32(4, hk_registry_used(g_registry));
    for (size_t i = 1; i <= 4; i++)
        TEST_ASSERT_EQUAL_UINT32(1, count_seen(key_of(i)));
    hk_registry_clear(g_registry, drop);
    TEST_ASSERT_EQUAL_UINT32(0, hk_registry_used(g_registry));
}

// Objects that come and go for hours must not leave the table full of removed entries.
static void test_agrees_with_a_model_over_a_long_time(void)
{
    enum { KEYS = 5000 };
    static bool present[KEYS];
    uint32_t state = 1, live = 0;
    for (int step = 0; step < 1000000; step++) {
        state = state * 1664525u + 1013904223u;
        size_t i = (state >> 8) % KEYS;
        if (present[i]) {
            TEST_ASSERT_EQUAL_PTR(key_of(i), hk_registry_remove(g_registry, key_of(i)));
            live--;
        } else if (live < 2000) {
            TEST_ASSERT_TRUE(hk_registry_add(g_registry, key_of(i), key_of(i)));
            live++;
        } else {
            TEST_ASSERT_NULL(hk_registry_find(g_registry, key_of(i)));
            continue;
        }
        present[i] = !present[i];
    }
    for (size_t i = 0; i < KEYS; i++) {
        TEST_ASSERT_EQUAL_PTR(present[i] ? key_of(i) : NULL,
                              hk_registry_find(g_registry, key_of(i)));
        TEST_ASSERT_EQUAL_UINT32(present[i], count_seen(key_of(i)));
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_found_until_removed);
    RUN_TEST(test_adding_again_replaces);
    RUN_TEST(test_full_is_told_and_room_comes_back);
    RUN_TEST(test_looking_at_all_touches_only_what_is_used);
    RUN_TEST(test_agrees_with_a_model_over_a_long_time);
    return UNITY_END();
}
