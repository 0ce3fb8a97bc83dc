// SPDX-License-Identifier: MIT
// Arenas by address and by handle: one that is gone is not found, even if another has its place or
// its address; one that is being asked for its state is not destroyed meanwhile.
#include "alloc.h"
#include "etw.h"
#include "op.h"

#include <unity.h>

hk_state g_hk;
static hk_module g_runtime = {.minor = 30};
static hk_alloc_module g_module = {.runtime = &g_runtime};
static hk_alloc_class g_arena_class = {.module = &g_module, .is_arena = true};
static hk_thread g_thread;
static int g_object, g_other;
static uint32_t g_forgotten; // by the journal

bool hk_emit(hk_thread *t, uint32_t epoch, tl_event event, uint64_t ticks, const void *fixed,
             size_t fixed_bytes, const hk_text *texts, size_t count)
{
    (void)t, (void)epoch, (void)event, (void)ticks;
    (void)fixed, (void)fixed_bytes, (void)texts, (void)count;
    return true;
}

hk_text hk_text_of(const char *text)
{
    return (hk_text){text, 0};
}

size_t hk_class_text(const char *decorated, char *out, size_t capacity)
{
    (void)decorated, (void)out, (void)capacity;
    return 0;
}

void hk_journal_forget_allocator(uint32_t id)
{
    g_forgotten = id;
}

void setUp(void) {}

void tearDown(void)
{
    hk_arenas_clear();
}

static void test_found_until_retired(void)
{
    hk_arena *a = hk_arena_take_up(&g_object, &g_arena_class, true);
    uint64_t handle = hk_arena_handle(a);
    TEST_ASSERT_EQUAL_PTR(a, hk_arena_find(&g_object));
    TEST_ASSERT_EQUAL_PTR(a, hk_arena_at(handle));
    TEST_ASSERT_TRUE(hk_arenas_any());
    uint32_t id = a->id;
    hk_arena_retire(&g_thread, 1, &g_object);
    TEST_ASSERT_FALSE(hk_arenas_any());
    TEST_ASSERT_EQUAL_UINT32(id, g_forgotten);
    TEST_ASSERT_NULL(hk_arena_find(&g_object));
    TEST_ASSERT_NULL(hk_arena_at(handle));
    TEST_ASSERT_NULL(hk_arena_hold(handle));
    hk_arena *next = hk_arena_take_up(&g_other, &g_arena_class, true);
    TEST_ASSERT_EQUAL_PTR(a, next); // the same place
    TEST_ASSERT_NULL(hk_arena_at(handle));
    TEST_ASSERT_NULL(hk_arena_hold(handle));
    TEST_ASSERT_EQUAL_UINT32(0, atomic_load(&next->held));
}

static DWORD WINAPI destroy(void *done)
{
    hk_arena_retire(&g_thread, 1, &g_object);
    atomic_store((_Atomic uint32_t *)done, 1);
    return 0;
}

static void test_not_destroyed_while_held(void)
{
    _Atomic uint32_t done = 0;
    hk_arena *a = hk_arena_take_up(&g_object, &g_arena_class, true);
    uint64_t handle = hk_arena_handle(a);
    TEST_ASSERT_EQUAL_PTR(a, hk_arena_hold(handle));
    HANDLE thread = CreateThread(NULL, 0, destroy, &done, 0, NULL);
    while (hk_arena_at(handle)) // nobody else takes it up from here on
        Sleep(0);
    TEST_ASSERT_NULL(hk_arena_hold(handle));
    TEST_ASSERT_EQUAL_UINT32(WAIT_TIMEOUT, WaitForSingleObject(thread, 100));
    TEST_ASSERT_EQUAL_UINT32(0, atomic_load(&done));
    hk_arena_let_go(a);
    TEST_ASSERT_EQUAL_UINT32(WAIT_OBJECT_0, WaitForSingleObject(thread, 60000));
    CloseHandle(thread);
}

// Who holds it was killed: the program waits a moment, not for ever.
static void test_held_for_ever(void)
{
    hk_arena *a = hk_arena_take_up(&g_object, &g_arena_class, true);
    TEST_ASSERT_EQUAL_PTR(a, hk_arena_hold(hk_arena_handle(a)));
    hk_arena_retire(&g_thread, 1, &g_object);
    TEST_ASSERT_NULL(hk_arena_find(&g_object));
    hk_arena_let_go(a);
}

static void test_used_by_sessions_that_live_at_the_same_time(void)
{
    static hk_session first = {.id = 1}, second = {.id = 2}, third = {.id = 3};
    hk_arena *a = hk_arena_take_up(&g_object, &g_arena_class, true);
    hk_arena_claim(&g_thread, 1, a, &first);
    hk_arena_claim(&g_thread, 1, a, &first);
    TEST_ASSERT_FALSE(atomic_load(&a->is_shared));
    atomic_store(&a->session, NULL); // it has ended
    hk_arena_claim(&g_thread, 1, a, &second);
    second.id = 4; // its place is another's
    hk_arena_claim(&g_thread, 1, a, &third);
    TEST_ASSERT_FALSE(atomic_load(&a->is_shared) || atomic_load(&a->is_incomplete));
    hk_arena_claim(&g_thread, 1, a, &first);
    TEST_ASSERT_TRUE(atomic_load(&a->is_shared) && atomic_load(&a->is_incomplete));
    hk_arena_retire(&g_thread, 1, &g_object);
    a = hk_arena_take_up(&g_object, &g_arena_class, true);
    TEST_ASSERT_FALSE(atomic_load(&a->is_shared));
}

static bool has(const hk_session *s, const hk_arena *a)
{
    for (uint32_t i = 0; i < HK_SESSION_ARENAS; i++)
        if (atomic_load(&s->memory.arenas[i]) == hk_arena_handle(a))
            return true;
    return false;
}

// Threads of several sessions would take its line from each other with every allocation.
static void test_once_shared_it_changes_hands_no_more(void)
{
    static hk_session first = {.id = 1}, second = {.id = 2}, third = {.id = 3};
    hk_arena *a = hk_arena_take_up(&g_object, &g_arena_class, true);
    hk_arena_claim(&g_thread, 1, a, &first);
    hk_arena_claim(&g_thread, 1, a, &second);
    TEST_ASSERT_TRUE(atomic_load(&a->is_shared) && atomic_load(&a->announced));
    TEST_ASSERT_TRUE(has(&first, a) && has(&second, a));
    const hk_arena before = *a;
    for (int i = 0; i < 4; i++) {
        hk_arena_claim(&g_thread, 1, a, i % 2 ? &second : &first);
        TEST_ASSERT_EQUAL_PTR(&second, atomic_load(&a->session));
        TEST_ASSERT_EQUAL_MEMORY(&before, a, sizeof before);
    }
    hk_arena_claim(&g_thread, 1, a, &third); // one that comes later learns of it
    TEST_ASSERT_TRUE(has(&third, a));
    TEST_ASSERT_EQUAL_MEMORY(&before, a, sizeof before);
    atomic_store(&a->announced, 0); // the telling was dropped
    hk_arena_claim(&g_thread, 1, a, &first);
    TEST_ASSERT_TRUE(atomic_load(&a->announced));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_found_until_retired);
    RUN_TEST(test_not_destroyed_while_held);
    RUN_TEST(test_held_for_ever);
    RUN_TEST(test_used_by_sessions_that_live_at_the_same_time);
    RUN_TEST(test_once_shared_it_changes_hands_no_more);
    return UNITY_END();
}
