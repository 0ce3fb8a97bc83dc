// SPDX-License-Identifier: MIT
// The table of what is allocated: alone, full, and with threads that hand addresses to each other
// as programs do. Meant for the thread sanitizer too; nothing here depends on timing.
#include "alloc_addresses.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unity.h>

static hk_addresses *g_table;

void setUp(void)
{
    g_table = calloc(1, sizeof *g_table);
    TEST_ASSERT_NOT_NULL(g_table);
}

void tearDown(void)
{
    free(g_table);
}

static const void *address(uint64_t n)
{
    return (const void *)(uintptr_t)(0x10000000u + n * 256);
}

static void test_a_note_holds_size_and_run(void)
{
    uint64_t note = hk_address_note(123456789, 0xabcdef);
    TEST_ASSERT_EQUAL_UINT64(123456789, hk_address_bytes(note));
    TEST_ASSERT_EQUAL_HEX32(0xabcdef, hk_address_tag(note));
    note = hk_address_note(UINT64_MAX, 7);
    TEST_ASSERT_EQUAL_UINT64(((uint64_t)1 << 40) - 1, hk_address_bytes(note));
    TEST_ASSERT_EQUAL_HEX32(7, hk_address_tag(note));
}

static void test_what_was_put_is_taken_once(void)
{
    TEST_ASSERT_EQUAL_UINT64(0, hk_addresses_take(g_table, address(1)));
    TEST_ASSERT_TRUE(hk_addresses_put(g_table, address(1), 11));
    TEST_ASSERT_TRUE(hk_addresses_put(g_table, address(2), 22));
    TEST_ASSERT_EQUAL_UINT64(11, hk_addresses_take(g_table, address(1)));
    TEST_ASSERT_EQUAL_UINT64(0, hk_addresses_take(g_table, address(1)));
    TEST_ASSERT_EQUAL_UINT64(22, hk_addresses_take(g_table, address(2)));
}

static void test_an_address_whose_release_was_missed_is_replaced(void)
{
    TEST_ASSERT_TRUE(hk_addresses_put(g_table, address(5), 1));
    TEST_ASSERT_TRUE(hk_addresses_put(g_table, address(5), 2));
    TEST_ASSERT_EQUAL_UINT64(2, hk_addresses_take(g_table, address(5)));
    TEST_ASSERT_EQUAL_UINT64(0, hk_addresses_take(g_table, address(5)));
}

static void test_half_full_holds_all_and_overfull_says_so(void)
{
    const uint64_t room = (uint64_t)HK_ADDRESS_BUCKETS * HK_ADDRESS_WAYS;
    uint64_t held = 0, refused = 0;
    for (uint64_t i = 0; i < room / 2; i++)
        TEST_ASSERT_TRUE(hk_addresses_put(g_table, address(i), i + 1));
    for (uint64_t i = room / 2; i < 2 * room; i++)
        refused += !hk_addresses_put(g_table, address(i), i + 1);
    TEST_ASSERT_TRUE(refused >= room);
    for (uint64_t i = 0; i < 2 * room; i++) {
        uint64_t note = hk_addresses_take(g_table, address(i));
        TEST_ASSERT_TRUE(note == 0 || note == i + 1);
        held += note != 0;
    }
    TEST_ASSERT_EQUAL_UINT64(2 * room, held + refused);
    for (uint64_t i = 0; i < room / 2; i++) // nothing is left in the way
        TEST_ASSERT_TRUE(hk_addresses_put(g_table, address(i), 1));
}

static void test_cleared_is_empty(void)
{
    for (uint64_t i = 0; i < 1000; i++)
        hk_addresses_put(g_table, address(i), 1);
    hk_addresses_clear(g_table);
    for (uint64_t i = 0; i < 1000; i++)
        TEST_ASSERT_EQUAL_UINT64(0, hk_addresses_take(g_table, address(i)));
}

// ----------------------------------------------------------------------------------------- threads

enum { THREADS = 6, PLACES = 64, ROUNDS = 20000 };

// A made-up heap: whoever takes a place out of it owns the address, and puts it back.
static _Atomic uint32_t g_owned[PLACES];
static _Atomic uint64_t g_sizes[PLACES]; // what the owner wrote into the table, 0: not there
static _Atomic uint32_t g_wrong;

static void *allocate_and_release(void *parameter)
{
    uint64_t state = (uintptr_t)parameter;
    for (int i = 0; i < ROUNDS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t place = (uint32_t)(state >> 33) % PLACES, unowned = 0;
        if (!atomic_compare_exchange_strong(&g_owned[place], &unowned, 1))
            continue;
        uint64_t size = atomic_load(&g_sizes[place]);
        if (!size) {
            size = hk_addresses_put(g_table, address(place), state | 1) ? state | 1 : 0;
        } else {
            if (hk_addresses_take(g_table, address(place)) != size)
                atomic_fetch_add(&g_wrong, 1);
            size = 0;
        }
        atomic_store(&g_sizes[place], size);
        atomic_store(&g_owned[place], 0);
    }
    return NULL;
}

static void test_threads_pass_addresses_on(void)
{
    pthread_t threads[THREADS];
    memset(g_sizes, 0, sizeof g_sizes);
    for (uintptr_t i = 0; i < THREADS; i++)
        TEST_ASSERT_EQUAL_INT(
            0, pthread_create(&threads[i], NULL, allocate_and_release, (void *)(i + 1)));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    TEST_ASSERT_EQUAL_UINT32(0, atomic_load(&g_wrong));
    for (uint32_t i = 0; i < PLACES; i++)
        TEST_ASSERT_EQUAL_UINT64(g_sizes[i], hk_addresses_take(g_table, address(i)));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_note_holds_size_and_run);
    RUN_TEST(test_what_was_put_is_taken_once);
    RUN_TEST(test_an_address_whose_release_was_missed_is_replaced);
    RUN_TEST(test_half_full_holds_all_and_overfull_says_so);
    RUN_TEST(test_cleared_is_empty);
    RUN_TEST(test_threads_pass_addresses_on);
    return UNITY_END();
}
