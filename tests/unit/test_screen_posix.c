// SPDX-License-Identifier: MIT
// Keys as a terminal hands them out, in whatever pieces: scripted instead of a terminal, so that no
// time decides.
#include "screen.h"

#include <unity.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/types.h>

static const char *g_reads[8]; // one piece for each look at the terminal; "": nothing for now
static size_t g_at;
static const char g_interrupted[] = "a signal";

void setUp(void)
{
    memset(g_reads, 0, sizeof g_reads);
    g_at = 0;
}

void tearDown(void) {}

int __wrap_poll(struct pollfd *about, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *about, nfds_t count, int timeout_ms)
{
    (void)about, (void)count, (void)timeout_ms;
    const char *next = g_reads[g_at];
    if (next && next[0] && next != g_interrupted)
        return 1;
    g_at += next ? 1 : 0;
    if (next == g_interrupted)
        errno = EINTR;
    return next == g_interrupted ? -1 : 0;
}

ssize_t __real_read(int file, void *bytes, size_t capacity);
ssize_t __wrap_read(int file, void *bytes, size_t capacity);
ssize_t __wrap_read(int file, void *bytes, size_t capacity)
{
    if (file != 0)
        return __real_read(file, bytes, capacity);
    size_t len = strlen(g_reads[g_at]);
    size_t taken = len < capacity ? len : capacity;
    memcpy(bytes, g_reads[g_at], taken);
    g_reads[g_at] += taken;
    g_at += taken == len;
    return (ssize_t)taken;
}

static void expect_keys(int key, size_t times)
{
    for (size_t i = 0; i < times; i++)
        TEST_ASSERT_EQUAL(key, vw_screen_key(0));
    TEST_ASSERT_EQUAL(VW_KEY_NONE, vw_screen_key(0));
}

static void test_an_arrow_in_pieces_is_an_arrow(void)
{
    static const char *const pieces[][4] = {{"\x1b", "[B"},
                                            {"\x1b[", "B"},
                                            {"\x1bO", "B"},
                                            {"\x1b", "[", "B"},
                                            {"\x1b", g_interrupted, "[B"}};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        setUp();
        memcpy(g_reads, pieces[i], sizeof pieces[i]);
        expect_keys(VW_KEY_DOWN, 1);
    }
}

static void test_more_arrows_than_fit_are_all_arrows(void)
{
    char burst[3 * 60 + 1] = "";
    for (size_t i = 0; i < 60; i++)
        memcpy(burst + 3 * i, "\x1b[A", 4);
    g_reads[0] = burst;
    expect_keys(VW_KEY_UP, 60);
}

static void test_escape_alone_is_escape(void)
{
    g_reads[0] = "\x1b";
    g_reads[1] = "";
    g_reads[2] = "[B"; // typed later
    TEST_ASSERT_EQUAL(27, vw_screen_key(0));
    TEST_ASSERT_EQUAL('[', vw_screen_key(0));
    TEST_ASSERT_EQUAL('B', vw_screen_key(0));
}

static void test_a_sequence_that_never_ends_is_given_up(void)
{
    char endless[201];
    memset(endless, '1', sizeof endless - 1);
    memcpy(endless, "\x1b[", 2);
    endless[200] = 0;
    g_reads[0] = endless;
    TEST_ASSERT_EQUAL(VW_KEY_NONE, vw_screen_key(0));
    TEST_ASSERT_EQUAL('1', vw_screen_key(0));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_an_arrow_in_pieces_is_an_arrow);
    RUN_TEST(test_more_arrows_than_fit_are_all_arrows);
    RUN_TEST(test_escape_alone_is_escape);
    RUN_TEST(test_a_sequence_that_never_ends_is_given_up);
    return UNITY_END();
}
