// SPDX-License-Identifier: MIT
// Sessions of modules without a C API, in the real tables: whose a kernel is among those that run,
// and which one makes room when there are too many.
#include "op.h"
#include "phases.h"
#include "shim.h"

#include <stdlib.h>
#include <string.h>
#include <unity.h>

enum { EPOCH = 1, ROOM = 3072, MANAGER = 0x1000, OTHER_MANAGER = 0x2000 };

hk_state g_hk;
static hk_module *const g_module = &g_hk.modules[0];
static hk_thread g_thread;
static uint32_t g_ended, g_last_ended; // by SessionEnd events

bool hk_emit(hk_thread *t, uint32_t epoch, tl_event event, uint64_t ticks, const void *fixed,
             size_t fixed_bytes, const hk_text *texts, size_t count)
{
    (void)t, (void)epoch, (void)ticks, (void)fixed_bytes, (void)texts, (void)count;
    if (event == TL_EVENT_SessionEnd) {
        g_ended++;
        g_last_ended = ((const tl_SessionEnd *)fixed)->session;
    }
    return true;
}

hk_text hk_text_of(const char *text)
{
    return (hk_text){text, 0};
}

void *hk_alloc(size_t bytes)
{
    return calloc(1, bytes);
}

void *hk_alloc_for_good(size_t bytes)
{
    void *memory = _aligned_malloc(bytes, HK_CACHE_LINE);
    return memory ? memset(memory, 0, bytes) : NULL;
}

void hk_free(void *memory)
{
    free(memory);
}

void hk_phases_emit(hk_thread *t, uint32_t epoch, uint32_t id, const hk_session_origin *origin,
                    bool failed)
{
    (void)t, (void)epoch, (void)id, (void)origin, (void)failed;
}

void hk_options_describe(const OrtSessionOptions *options, char **out_options, char **out_providers)
{
    (void)options, (void)out_options, (void)out_providers;
}

bool hk_shim_in(const OrtSession *session)
{
    (void)session;
    return false;
}

void hk_shim_tell_refusal(hk_thread *t, uint32_t epoch, uint32_t session, const char *why)
{
    (void)t, (void)epoch, (void)session, (void)why;
}

void hk_shim_kernels_end(hk_thread *t, uint32_t epoch, const hk_session *s)
{
    (void)t, (void)epoch, (void)s;
}

void hk_alloc_session_seen(const hk_module *runtime, const OrtSession *session)
{
    (void)runtime, (void)session;
}

void hk_alloc_session_created(hk_thread *t, uint32_t epoch, hk_session *s)
{
    (void)t, (void)epoch, (void)s;
}

void hk_alloc_session_released(hk_thread *t, uint32_t epoch, hk_session *s)
{
    (void)t, (void)epoch, (void)s;
}

void hk_alloc_session_gone(hk_session *s)
{
    (void)s;
}

void setUp(void)
{
    g_module->id = 1;
    g_ended = g_last_ended = 0;
}

void tearDown(void)
{
    hk_sessions_clear();
}

static hk_session *take_up(uint32_t ort_id)
{
    hk_session *s = hk_session_take_up_hidden(&g_thread, EPOCH, g_module, ort_id, HK_SOURCE_EVENTS);
    if (s)
        hk_session_announce(&g_thread, EPOCH, s);
    return s;
}

static void run(hk_session *s)
{
    uint32_t run = atomic_fetch_add(&s->runs, 1) + 1;
    hk_session_run_begins(s, run);
    hk_session_run_ends(s, run);
}

static void fly(hk_session *s, uint64_t manager)
{
    atomic_store(&s->manager, manager);
    hk_session_run_begins(s, 1);
}

// ------------------------------------------------------------------------------ whose a kernel is

static void test_two_that_are_not_known_are_nobody(void)
{
    hk_session *first = take_up(1), *second = take_up(2);
    TEST_ASSERT_NULL(hk_session_running_with(MANAGER, g_module));
    fly(first, 0);
    TEST_ASSERT_EQUAL_PTR(first, hk_session_running_with(MANAGER, g_module));
    TEST_ASSERT_NULL(hk_session_running_with(MANAGER, NULL)); // there may be others
    TEST_ASSERT_NULL(hk_session_running_with(MANAGER, &g_hk.modules[1]));
    fly(second, 0);
    TEST_ASSERT_NULL(hk_session_running_with(MANAGER, g_module));
    hk_session_run_ends(first, 1);
    TEST_ASSERT_EQUAL_PTR(second, hk_session_running_with(MANAGER, g_module));
}

static void test_one_that_is_known_beside_one_that_is_not(void)
{
    hk_session *known = take_up(1), *unknown = take_up(2);
    fly(known, MANAGER);
    fly(unknown, 0);
    TEST_ASSERT_EQUAL_PTR(known, hk_session_running_with(MANAGER, g_module));
    TEST_ASSERT_EQUAL_PTR(known, hk_session_running_with(MANAGER, NULL));
    TEST_ASSERT_EQUAL_PTR(unknown, hk_session_running_with(OTHER_MANAGER, g_module));
    atomic_store(&unknown->manager, OTHER_MANAGER);
    TEST_ASSERT_EQUAL_PTR(unknown, hk_session_running_with(OTHER_MANAGER, g_module));
    TEST_ASSERT_NULL(hk_session_running_with(OTHER_MANAGER + 8, g_module));
    hk_session_run_ends(known, 1);
    TEST_ASSERT_NULL(hk_session_running_with(MANAGER, g_module)); // it does not run
}

// What stands for those that ORT does not tell may have kernels of several managers.
static void test_one_without_a_number_stays_possible(void)
{
    hk_session *several = take_up(0), *another = take_up(1);
    fly(several, OTHER_MANAGER);
    TEST_ASSERT_EQUAL_PTR(several, hk_session_running_with(MANAGER, g_module));
    TEST_ASSERT_EQUAL_PTR(several, hk_session_running_with(OTHER_MANAGER, g_module));
    fly(another, 0);
    TEST_ASSERT_NULL(hk_session_running_with(MANAGER, g_module));
    atomic_store(&another->manager, MANAGER);
    TEST_ASSERT_EQUAL_PTR(another, hk_session_running_with(MANAGER, g_module));
}

// ------------------------------------------------------------------------------- making room

static void fill(uint32_t runs)
{
    for (uint32_t i = 1; i <= ROOM; i++) {
        hk_session *s = take_up(i);
        TEST_ASSERT_NOT_NULL(s);
        for (uint32_t n = 0; n < runs; n++)
            run(s);
    }
    TEST_ASSERT_EQUAL_UINT32(0, g_ended);
}

static bool is_known(uint32_t ort_id)
{
    return hk_session_find_hidden(g_module, ort_id) != NULL;
}

static void test_the_oldest_that_never_ran_makes_room(void)
{
    fill(0);
    run(hk_session_find_hidden(g_module, 1));
    fly(hk_session_find_hidden(g_module, 2), 0);
    uint32_t id = hk_session_find_hidden(g_module, 3)->id;
    TEST_ASSERT_NOT_NULL(take_up(ROOM + 1));
    TEST_ASSERT_TRUE(is_known(1) && is_known(2) && !is_known(3) && is_known(4));
    TEST_ASSERT_EQUAL_UINT32(1, g_ended);
    TEST_ASSERT_EQUAL_UINT32(id, g_last_ended);
    TEST_ASSERT_NOT_NULL(take_up(3)); // it lived: it is taken up again
    TEST_ASSERT_TRUE(is_known(3) && !is_known(4));
}

static void test_where_all_ran_the_oldest_that_does_not_run_makes_room(void)
{
    fill(1);
    fly(hk_session_find_hidden(g_module, 1), 0);
    TEST_ASSERT_NOT_NULL(take_up(ROOM + 1));
    TEST_ASSERT_TRUE(is_known(1) && !is_known(2) && is_known(3));
}

static void test_no_room_while_all_run(void)
{
    fill(1);
    for (uint32_t i = 1; i <= ROOM; i++)
        fly(hk_session_find_hidden(g_module, i), 0);
    TEST_ASSERT_NULL(take_up(ROOM + 1));
    TEST_ASSERT_EQUAL_UINT32(0, g_ended);
    hk_session_run_ends(hk_session_find_hidden(g_module, 5), 1);
    TEST_ASSERT_NOT_NULL(take_up(ROOM + 1));
    TEST_ASSERT_FALSE(is_known(5));
}

// It stands for many, and nothing would tell that its kernels are new.
static void test_what_stands_for_those_without_a_number_stays(void)
{
    TEST_ASSERT_NOT_NULL(take_up(0));
    for (uint32_t i = 1; i <= ROOM; i++)
        take_up(i);
    TEST_ASSERT_TRUE(is_known(0) && !is_known(1));
}

// All others live and run: it just has not had the time.
static void test_one_that_has_just_come_does_not_go_at_once(void)
{
    fill(1);
    TEST_ASSERT_NOT_NULL(take_up(ROOM + 1));
    TEST_ASSERT_NOT_NULL(take_up(ROOM + 2));
    TEST_ASSERT_TRUE(is_known(ROOM + 1) && is_known(ROOM + 2) && !is_known(1) && !is_known(2));
    for (uint32_t i = 3; i <= 64; i++)
        TEST_ASSERT_NOT_NULL(take_up(ROOM + i));
    TEST_ASSERT_TRUE(is_known(ROOM + 1) && !is_known(64) && is_known(65));
    TEST_ASSERT_NOT_NULL(take_up(ROOM + 65));
    TEST_ASSERT_TRUE(!is_known(ROOM + 1) && is_known(65));
}

// A thread has found it and is about to run it, or is still describing it.
static void test_one_that_is_held_stays(void)
{
    fill(0);
    hk_session *first = hk_session_find_hidden(g_module, 1);
    uint32_t id = first->id;
    TEST_ASSERT_TRUE(hk_session_hold(first, g_module, 1));
    TEST_ASSERT_NOT_NULL(take_up(ROOM + 1));
    TEST_ASSERT_TRUE(is_known(1) && !is_known(2));
    fly(first, 0);
    hk_session_let_go(first);
    TEST_ASSERT_NOT_NULL(take_up(ROOM + 2));
    TEST_ASSERT_TRUE(is_known(1) && !is_known(3));
    TEST_ASSERT_EQUAL_UINT32(id, first->id);
}

// It was found before it made room.
static void test_one_that_is_gone_can_not_be_held(void)
{
    fill(0);
    hk_session *first = hk_session_find_hidden(g_module, 1);
    TEST_ASSERT_NOT_NULL(take_up(ROOM + 1));
    TEST_ASSERT_FALSE(hk_session_hold(first, g_module, 1));
    uint32_t number = ROOM + 2;
    hk_session *next = take_up(number);
    while (next != first && number < 2 * ROOM)
        next = take_up(++number);
    TEST_ASSERT_EQUAL_PTR(first, next); // the same place
    TEST_ASSERT_FALSE(hk_session_hold(first, g_module, 1));
    TEST_ASSERT_TRUE(hk_session_hold(next, g_module, number));
    TEST_ASSERT_TRUE(hk_session_hold(next, g_module, 0));
    TEST_ASSERT_FALSE(hk_session_hold(next, &g_hk.modules[1], 0));
    TEST_ASSERT_EQUAL_UINT32(2, atomic_load(&next->held));
    hk_session_let_go(next);
    hk_session_let_go(next);
}

// A kernel whose session seems to be the same as before keeps the number that it knows.
static void test_kernels_of_one_that_comes_back_notice(void)
{
    enum { COUNT = 200 };
    static const hk_vtable vtable;
    static int objects[COUNT];
    static hk_kernel *kernels[COUNT];
    fill(1);
    for (uint32_t i = 0; i < COUNT; i++) {
        kernels[i] = hk_kernel_take_up(&objects[i], &vtable, EPOCH);
        hk_kernel_belongs(kernels[i], hk_session_find_hidden(g_module, 1 + i));
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        for (uint32_t more = 0; is_known(1 + i); more++)
            run(take_up(ROOM * 2 + i * 100 + more));
        hk_session *s = take_up(1 + i);
        run(s);
        TEST_ASSERT_TRUE(atomic_load(&kernels[i]->session) != s);
        hk_kernel_belongs(kernels[i], s);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < COUNT; i++)
        kept += atomic_load(&kernels[i]->session) == hk_session_find_hidden(g_module, 1 + i);
    TEST_ASSERT_EQUAL_UINT32(COUNT, kept); // those that live keep theirs
    hk_kernels_clear();
}

enum { THREADS = 3, STEPS = 4000, MORE = 40 };
static _Atomic uint32_t g_wrong;

static DWORD WINAPI run_what_makes_room(void *seed)
{
    static _Thread_local hk_thread thread;
    uint32_t state = (uint32_t)(uintptr_t)seed;
    for (int i = 0; i < STEPS; i++) {
        state = state * 1664525u + 1013904223u;
        uint32_t ort_id = 1 + (state >> 8) % MORE + ((state >> 28) % 2) * (ROOM - MORE / 2);
        hk_session *s =
            hk_session_take_up_hidden(&thread, EPOCH, g_module, ort_id, HK_SOURCE_EVENTS);
        if (!s || !hk_session_hold(s, g_module, ort_id))
            continue;
        uint32_t id = s->id;
        hk_session_run_begins(s, 1);
        hk_session_let_go(s);
        SwitchToThread();
        if (s->id != id || s->ort_id != ort_id)
            atomic_fetch_add(&g_wrong, 1);
        hk_session_run_ends(s, 1);
        atomic_store(&s->runs, 0); // so that it may go at once
    }
    return 0;
}

static void test_threads_that_run_them_while_others_make_room(void)
{
    HANDLE threads[THREADS];
    fill(0);
    for (uintptr_t i = 0; i < THREADS; i++)
        threads[i] = CreateThread(NULL, 0, run_what_makes_room, (void *)(i + 1), 0, NULL);
    TEST_ASSERT_EQUAL_UINT32(WAIT_OBJECT_0,
                             WaitForMultipleObjects(THREADS, threads, TRUE, INFINITE));
    for (uint32_t i = 0; i < THREADS; i++)
        CloseHandle(threads[i]);
    TEST_ASSERT_EQUAL_UINT32(0, atomic_load(&g_wrong));
    for (uint32_t i = 1; i <= ROOM + MORE; i++) {
        hk_session *s = hk_session_find_hidden(g_module, i);
        TEST_ASSERT_TRUE(!s || (!atomic_load(&s->flying) && !atomic_load(&s->held)));
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_two_that_are_not_known_are_nobody);
    RUN_TEST(test_one_that_is_known_beside_one_that_is_not);
    RUN_TEST(test_one_without_a_number_stays_possible);
    RUN_TEST(test_the_oldest_that_never_ran_makes_room);
    RUN_TEST(test_where_all_ran_the_oldest_that_does_not_run_makes_room);
    RUN_TEST(test_no_room_while_all_run);
    RUN_TEST(test_what_stands_for_those_without_a_number_stays);
    RUN_TEST(test_one_that_has_just_come_does_not_go_at_once);
    RUN_TEST(test_one_that_is_held_stays);
    RUN_TEST(test_one_that_is_gone_can_not_be_held);
    RUN_TEST(test_kernels_of_one_that_comes_back_notice);
    RUN_TEST(test_threads_that_run_them_while_others_make_room);
    return UNITY_END();
}
