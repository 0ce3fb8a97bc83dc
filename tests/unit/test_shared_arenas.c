// SPDX-License-Identifier: MIT
// Arenas that several sessions use, after one had them to itself.
#include "analysis/memory.h"

#define PATH "test_shared_arenas.ortl"
#include "summary_fixture.h"

#define MIB (1024 * 1024)

static an_memory_facts facts(void)
{
    an_memory_facts f;
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_writer_close(g_writer));
    TEST_ASSERT_EQUAL_INT(CM_OK, tm_reader_open(PATH, &g_reader));
    TEST_ASSERT_EQUAL_INT(CM_OK, an_summarize(g_reader, &g_summary));
    TEST_ASSERT_EQUAL_size_t(1, g_summary->session_count);
    TEST_ASSERT_NOT_NULL(g_summary->sessions[0].memory);
    an_memory_get(g_summary->sessions[0].memory, &f);
    return f;
}

// Arena `id` as it is at a time; session 0: several have it.
static void arena_at(int64_t id, int64_t session, int64_t run, int64_t time, int64_t held)
{
    ROW(memory, id, session, run, time, held, held / 2, held / 2, 0, 0, run * 3, 0, 0, 0, 2);
}

static void test_shared_arena_is_no_sessions_own(void)
{
    arena_at(5, 1, 1, 10, 100);
    arena_at(5, 0, 0, 20, 700);
    arena_at(5, 0, 0, 30, 900);
    an_memory_facts f = facts();
    TEST_ASSERT_TRUE(f.shared);
    TEST_ASSERT_EQUAL_INT(AN_MEMORY_ARENA, f.source);
    TEST_ASSERT_EQUAL_size_t(0, f.arenas);
    TEST_ASSERT_FALSE(an_known(f.held_bytes));
    TEST_ASSERT_FALSE(an_known(f.in_use_bytes));
    TEST_ASSERT_FALSE(an_known(f.peak_bytes));
    TEST_ASSERT_FALSE(an_known(f.grown_bytes));
    an_shared_bytes shared = an_summary_shared(g_summary);
    TEST_ASSERT_EQUAL_size_t(1, g_summary->shared_count);
    TEST_ASSERT_EQUAL_DOUBLE(900, shared.held);
    TEST_ASSERT_EQUAL_DOUBLE(450, shared.in_use);
}

// Rows may stand in any order.
static void test_shared_arena_told_before_its_first_owner(void)
{
    arena_at(5, 0, 0, 30, 900);
    arena_at(5, 0, 0, 20, 700);
    arena_at(5, 1, 1, 10, 100);
    TEST_ASSERT_FALSE(an_known(facts().held_bytes));
    TEST_ASSERT_EQUAL_DOUBLE(900, an_summary_shared(g_summary).held);
}

static void test_own_arena_beside_a_shared_one(void)
{
    arena_at(5, 1, 1, 10, 100);
    arena_at(6, 1, 1, 10, 60);
    arena_at(5, 0, 0, 20, 900);
    an_memory_facts f = facts();
    TEST_ASSERT_TRUE(f.shared);
    TEST_ASSERT_EQUAL_size_t(1, f.arenas);
    TEST_ASSERT_EQUAL_DOUBLE(60, f.held_bytes);
    TEST_ASSERT_EQUAL_DOUBLE(30, f.in_use_bytes);
    TEST_ASSERT_FALSE(an_known(f.allocations_per_run)); // those of the other are missing
}

// What grew while the session was alone says nothing about the time after.
static void test_growth_before_sharing_is_not_told(void)
{
    double course[AN_MEMORY_COURSE];
    for (int run = 1; run <= 30; run++) {
        arena_at(5, 1, run, run * 1000, run * MIB);
        ROW(run_memory, 1, run, run * 1000, 640, 640, 640, run * 40, 1, 1, 0);
    }
    arena_at(5, 0, 0, 40000, 900);
    an_memory_facts f = facts();
    TEST_ASSERT_FALSE(an_known(f.growth.bytes_per_run));
    TEST_ASSERT_TRUE(f.growth.verdict != AN_LEAK);
    TEST_ASSERT_FALSE(an_known(f.in_use_bytes)); // nor does what was counted
    TEST_ASSERT_EQUAL_DOUBLE(640, f.allocated->mean);
    TEST_ASSERT_EQUAL_size_t(0, an_memory_course(g_summary->sessions[0].memory, course));
}

static void test_session_that_ended_before_the_sharing_keeps_its_figures(void)
{
    arena_at(5, 1, 1, 10, 100);
    ROW(session_end, 1, 15, 1);
    arena_at(5, 0, 0, 20, 900);
    an_memory_facts f = facts();
    TEST_ASSERT_FALSE(f.shared);
    TEST_ASSERT_EQUAL_DOUBLE(100, f.held_bytes);
}

static void test_session_that_ended_while_sharing_does_not(void)
{
    ROW(session_end, 1, 25, 1);
    arena_at(5, 1, 1, 10, 100);
    arena_at(5, 0, 0, 20, 900);
    TEST_ASSERT_FALSE(an_known(facts().held_bytes));
}

static void test_shared_bytes_that_are_not_known(void)
{
    arena_at(5, 1, 1, 10, 100);
    TEST_ASSERT_EQUAL_DOUBLE(100, facts().held_bytes);
    TEST_ASSERT_FALSE(an_known(an_summary_shared(g_summary).held)); // none is shared
}

static void test_shared_arena_that_does_not_tell_all(void)
{
    arena_at(5, 1, 1, 10, 100);
    arena_at(7, 0, 0, 20, 900);
    ROW(memory, 8, 0, 0, 20, 50, -1, -1, 0, 0, 0, 0, 0, 0, 2);
    TEST_ASSERT_FALSE(facts().shared); // others' arenas
    TEST_ASSERT_EQUAL_DOUBLE(950, an_summary_shared(g_summary).held);
    TEST_ASSERT_FALSE(an_known(an_summary_shared(g_summary).in_use));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_shared_arena_is_no_sessions_own);
    RUN_TEST(test_shared_arena_told_before_its_first_owner);
    RUN_TEST(test_own_arena_beside_a_shared_one);
    RUN_TEST(test_growth_before_sharing_is_not_told);
    RUN_TEST(test_session_that_ended_before_the_sharing_keeps_its_figures);
    RUN_TEST(test_session_that_ended_while_sharing_does_not);
    RUN_TEST(test_shared_bytes_that_are_not_known);
    RUN_TEST(test_shared_arena_that_does_not_tell_all);
    return UNITY_END();
}
