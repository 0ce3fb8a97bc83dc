// SPDX-License-Identifier: MIT
// Which releases are the program's: what an arena gives back when it shrinks is not, what was
// allocated is, also if the table of addresses had no room for it.
#include "alloc.h"
#include "etw.h"

#include <unity.h>

enum { EPOCH = 1 };

hk_state g_hk;
tl_provider g_hk_etw;
static hk_thread g_thread;
static void *g_memory; // what the allocators hand out
static uint32_t g_released;

static void *allocate(void *self, size_t bytes)
{
    (void)self, (void)bytes;
    return g_memory;
}

static void release(void *self, void *memory)
{
    (void)self, (void)memory;
    g_released++;
}

static hk_alloc_class g_plain = {.alloc = allocate, .free = release};
static hk_alloc_class g_arena = {.alloc = allocate, .free = release, .is_arena = true};
static hk_arena g_its;

hk_arena *hk_arena_find(const void *self)
{
    (void)self;
    return &g_its;
}

hk_arena *hk_arena_take_up(const void *self, const hk_alloc_class *c, bool from_its_beginning)
{
    (void)self, (void)c, (void)from_its_beginning;
    return &g_its;
}

bool hk_arenas_any(void)
{
    return true;
}

uint64_t hk_arena_handle(const hk_arena *a)
{
    return a->id;
}

void hk_arena_claim(hk_thread *t, uint32_t epoch, hk_arena *a, hk_session *s)
{
    (void)t, (void)epoch, (void)a, (void)s;
}

void hk_arena_announce(hk_thread *t, uint32_t epoch, hk_arena *a)
{
    (void)t, (void)epoch, (void)a;
}

void hk_arena_retire(hk_thread *t, uint32_t epoch, const void *self)
{
    (void)t, (void)epoch, (void)self;
}

void hk_arenas_clear(void) {}

void hk_alloc_classes_clear(void) {}

uint32_t hk_alloc_class_id(hk_thread *t, uint32_t epoch, hk_alloc_class *c, const void *self)
{
    (void)t, (void)epoch, (void)c, (void)self;
    return 1;
}

void hk_etw_gather(hk_thread *t, tl_event event, uint64_t key, uint64_t ticks, const void *fixed,
                   size_t fixed_bytes)
{
    (void)t, (void)event, (void)key, (void)ticks, (void)fixed, (void)fixed_bytes;
}

hk_thread *hk_thread_slow(void)
{
    return NULL;
}

hk_thread *hk_enter_to_release(uint32_t *epoch)
{
    (void)epoch;
    return NULL;
}

void hk_leave_release(hk_thread *t)
{
    (void)t;
}

// Every address that comes after has no room: all places are taken.
static void fill_table(void)
{
    for (uint32_t i = 0; i < HK_ADDRESS_BUCKETS; i++)
        for (uint32_t way = 0; way < HK_ADDRESS_WAYS; way++)
            atomic_store(&g_hk_addresses.buckets[i].keys[way], 1);
}

void setUp(void)
{
    atomic_store(&g_hk.epoch, EPOCH);
    g_thread = (hk_thread){.run = {.epoch = EPOCH, .session_id = 1, .run = 1}};
    g_its = (hk_arena){.alloc_class = &g_arena, .announced = 1};
    g_memory = &g_memory;
    g_released = 0;
    hk_alloc_clear();
}

void tearDown(void) {}

static void test_what_an_arena_gives_back_is_not_the_programs(void)
{
    hk_alloc_alloc(&g_plain, 100, &g_plain);
    hk_alloc_free(&g_plain, g_memory, &g_plain);
    TEST_ASSERT_EQUAL_UINT32(1, g_thread.run.memory.frees);
    hk_alloc_free(&g_plain, g_memory, &g_plain);
    TEST_ASSERT_EQUAL_UINT32(1, g_thread.run.memory.frees);
    TEST_ASSERT_EQUAL_UINT32(2, g_released);
}

static void test_a_release_of_what_had_no_room_is_told(void)
{
    fill_table();
    hk_alloc_alloc(&g_plain, 100, &g_plain);
    hk_alloc_free(&g_plain, g_memory, &g_plain);
    TEST_ASSERT_EQUAL_UINT32(1, g_thread.run.memory.allocations);
    TEST_ASSERT_EQUAL_UINT32(1, g_thread.run.memory.frees);
    TEST_ASSERT_EQUAL_UINT64(0, g_thread.run.memory.freed_bytes); // nobody knows
    hk_alloc_clear();                                             // we come again
    hk_alloc_free(&g_plain, g_memory, &g_plain);
    TEST_ASSERT_EQUAL_UINT32(1, g_thread.run.memory.frees);
}

// The release of an arena's memory is never taken for its shrinking.
static void test_an_arena_without_room_changes_nothing_for_others(void)
{
    fill_table();
    hk_alloc_alloc(&g_arena, 100, &g_arena);
    TEST_ASSERT_TRUE(atomic_load(&g_its.is_incomplete));
    hk_alloc_free(&g_plain, g_memory, &g_plain);
    TEST_ASSERT_EQUAL_UINT32(0, g_thread.run.memory.frees);
    hk_alloc_free(&g_arena, g_memory, &g_arena);
    TEST_ASSERT_EQUAL_UINT32(1, g_thread.run.memory.frees);
}

int main(void)
{
    g_hk.tls = TlsAlloc();
    TlsSetValue(g_hk.tls, &g_thread);
    UNITY_BEGIN();
    RUN_TEST(test_what_an_arena_gives_back_is_not_the_programs);
    RUN_TEST(test_a_release_of_what_had_no_room_is_told);
    RUN_TEST(test_an_arena_without_room_changes_nothing_for_others);
    return UNITY_END();
}
