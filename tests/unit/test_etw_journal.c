// SPDX-License-Identifier: MIT
// What a listener who comes late is told: all that is still true, and only that, so that a program
// that makes and releases for weeks does not fill the journal.
#include "etw.h"

#include <stdlib.h>
#include <unity.h>

static size_t g_blocks; // that the journal holds
static unsigned g_told[TL_EVENT_COUNT];

void *hk_alloc(size_t bytes)
{
    void *memory = calloc(1, bytes);
    g_blocks += memory != NULL;
    return memory;
}

void hk_free(void *memory)
{
    g_blocks -= memory != NULL;
    free(memory);
}

void setUp(void) {}

void tearDown(void)
{
    hk_journal_clear();
    TEST_ASSERT_EQUAL(0, g_blocks);
}

static void note(tl_event event, const void *fixed, size_t bytes)
{
    const tl_etw_part part = {fixed, (uint32_t)bytes};
    hk_journal_note(event, 1, 2, &part, 1);
}

static void tell(void *context, tl_event event, uint32_t thread, uint64_t ticks,
                 const tl_etw_part *payload)
{
    (void)context, (void)thread, (void)ticks, (void)payload;
    g_told[event]++;
}

static uint32_t walk(void)
{
    memset(g_told, 0, sizeof g_told);
    return hk_journal_walk(tell, NULL);
}

static void note_session(uint32_t id, uint32_t status)
{
    const tl_Phase phase = {.session = id};
    const tl_Session session = {.session = id, .status = status};
    note(TL_EVENT_Phase, &phase, sizeof phase);
    note(TL_EVENT_Session, &session, sizeof session);
}

static void note_set(uint32_t id, uint32_t session)
{
    const tl_ShapeSet set = {.set = id, .session = session, .tensors = 1};
    const tl_Tensor tensor = {.set = id};
    note(TL_EVENT_ShapeSet, &set, sizeof set);
    note(TL_EVENT_Tensor, &tensor, sizeof tensor);
}

static void test_what_is_gone_is_forgotten(void)
{
    const tl_SessionEnd end = {.session = 7};
    const tl_Kernel kernel = {.kernel = 3, .session = 7};
    const tl_KernelShapes shapes = {.kernel = 3};
    const tl_KernelEnd kernel_end = {.kernel = 3};
    note_session(7, 0);
    note_session(8, 0);
    note_set(1, 7);
    note_set(2, 8);
    note(TL_EVENT_Kernel, &kernel, sizeof kernel);
    note(TL_EVENT_KernelShapes, &shapes, sizeof shapes);
    TEST_ASSERT_EQUAL(0, walk());
    TEST_ASSERT_EQUAL(2, g_told[TL_EVENT_Session]);
    TEST_ASSERT_EQUAL(2, g_told[TL_EVENT_Tensor]);
    TEST_ASSERT_EQUAL(1, g_told[TL_EVENT_KernelShapes]);
    note(TL_EVENT_KernelEnd, &kernel_end, sizeof kernel_end);
    note(TL_EVENT_SessionEnd, &end, sizeof end);
    TEST_ASSERT_EQUAL(0, walk());
    TEST_ASSERT_EQUAL(1, g_told[TL_EVENT_Session]);
    TEST_ASSERT_EQUAL(1, g_told[TL_EVENT_Phase]);
    TEST_ASSERT_EQUAL(1, g_told[TL_EVENT_ShapeSet]);
    TEST_ASSERT_EQUAL(1, g_told[TL_EVENT_Tensor]);
    TEST_ASSERT_EQUAL(0, g_told[TL_EVENT_Kernel]);
    TEST_ASSERT_EQUAL(4, g_blocks);
}

// Nothing tells of its end: a program that tries again and again must not fill the journal.
static void test_sessions_that_failed_are_not_kept(void)
{
    for (uint32_t i = 1; i <= 1000; i++)
        note_session(i, 1);
    TEST_ASSERT_EQUAL(0, g_blocks);
    note_session(1001, 0);
    TEST_ASSERT_EQUAL(2, g_blocks);
}

static void test_allocators_are_forgotten_with_their_arenas(void)
{
    const tl_Allocator one = {.allocator = 5, .session = 7}, other = {.allocator = 6};
    note(TL_EVENT_Allocator, &one, sizeof one);
    note(TL_EVENT_Allocator, &other, sizeof other);
    hk_journal_forget_allocator(5);
    hk_journal_forget_allocator(99);
    TEST_ASSERT_EQUAL(0, walk());
    TEST_ASSERT_EQUAL(1, g_told[TL_EVENT_Allocator]);
}

// Shapes that change with every run (a text that grows) leave room for who comes after them.
static void test_many_shapes_leave_room_for_sessions(void)
{
    uint32_t sets = 0;
    note_session(7, 0);
    while (walk() == 0)
        for (int i = 0; i < 10000; i++)
            note_set(++sets, 7);
    uint32_t missed = walk();
    note_session(8, 0);
    TEST_ASSERT_EQUAL(missed, walk());
    TEST_ASSERT_EQUAL(2, g_told[TL_EVENT_Session]);
    TEST_ASSERT_EQUAL(2, g_told[TL_EVENT_Phase]);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_what_is_gone_is_forgotten);
    RUN_TEST(test_sessions_that_failed_are_not_kept);
    RUN_TEST(test_allocators_are_forgotten_with_their_arenas);
    RUN_TEST(test_many_shapes_leave_room_for_sessions);
    return UNITY_END();
}
