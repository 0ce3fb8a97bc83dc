// SPDX-License-Identifier: MIT
// Command lines: known strings for known arguments, and (under Windows) random arguments that
// CommandLineToArgvW has to split back into themselves.
#include "command_line.h"

#include "unity.h"

#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include "common/utf.h"

#include <windows.h>

#include <shellapi.h>
#endif

void setUp(void) {}

void tearDown(void) {}

static void check(const char *expected, int argc, char *const argv[])
{
    char line[256];
    size_t len = inj_command_line(argc, argv, line, sizeof line);
    TEST_ASSERT_EQUAL_STRING(expected, line);
    TEST_ASSERT_EQUAL(strlen(expected), len);
}

#define CHECK_ARGUMENT(expected, argument) check("p " expected, 2, (char *[]){"p", argument})

static void test_plain_arguments_get_no_quotes(void)
{
    CHECK_ARGUMENT("abc", "abc");
    CHECK_ARGUMENT("a\\b\\", "a\\b\\");
    CHECK_ARGUMENT("--x=y,z;%P%^&|", "--x=y,z;%P%^&|");
    CHECK_ARGUMENT("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
    check("p a b c", 4, (char *[]){"p", "a", "b", "c"});
}

static void test_spaces_quotes_and_backslashes(void)
{
    CHECK_ARGUMENT("\"\"", "");
    CHECK_ARGUMENT("\"a b\"", "a b");
    CHECK_ARGUMENT("\"a\tb\"", "a\tb");
    CHECK_ARGUMENT("\"a\nb\"", "a\nb");
    CHECK_ARGUMENT("\"\\\"\"", "\"");
    CHECK_ARGUMENT("\"say \\\"hi\\\"\"", "say \"hi\"");
    CHECK_ARGUMENT("\"a b\\\\\"", "a b\\");
    CHECK_ARGUMENT("\"a \\b\"", "a \\b");
    CHECK_ARGUMENT("\"a\\\\\\\"b\"", "a\\\"b");
    CHECK_ARGUMENT("\"\\\\\\\\\\\"\"", "\\\\\"");
}

static void test_program_has_rules_of_its_own(void)
{
    check("C:\\x.exe", 1, (char *[]){"C:\\x.exe"});
    check("\"C:\\Program Files\\x.exe\" a", 2, (char *[]){"C:\\Program Files\\x.exe", "a"});
    check("\"C:\\a b\\\"", 1, (char *[]){"C:\\a b\\"}); // a backslash escapes nothing here
}

static void test_short_buffer_tells_the_length(void)
{
    char *argv[] = {"p", "a b"};
    for (size_t size = 0; size < 12; size++) {
        char *line = malloc(size > 0 ? size : 1);
        TEST_ASSERT_NOT_NULL(line);
        TEST_ASSERT_EQUAL(7, inj_command_line(2, argv, line, size));
        if (size > 7)
            TEST_ASSERT_EQUAL_STRING("p \"a b\"", line);
        free(line);
    }
    TEST_ASSERT_EQUAL(7, inj_command_line(2, argv, NULL, 0));
}

#ifdef _WIN32
static unsigned g_random = 7;

static unsigned next_random(unsigned below)
{
    g_random = g_random * 1664525u + 1013904223u;
    return (g_random >> 8) % below;
}

static void test_windows_splits_it_back(void)
{
    static const char *const pieces[] = {
        "a", " ", "\\", "\"", "\t", "\xc3\xbc", "\xf0\x9f\x98\x80"};
    for (int round = 0; round < 5000; round++) {
        char storage[6][64], *argv[6] = {"program"};
        int argc = 1 + (int)next_random(5);
        for (int i = 1; i < argc; i++) {
            storage[i][0] = '\0';
            for (unsigned n = next_random(12); n > 0; n--)
                strcat(storage[i], pieces[next_random(sizeof pieces / sizeof pieces[0])]);
            argv[i] = storage[i];
        }
        char line[1024];
        uint16_t wide[1024];
        TEST_ASSERT_TRUE(inj_command_line(argc, argv, line, sizeof line) < sizeof line);
        cm_utf8_to_utf16(line, CM_UTF_NUL, wide, 1024);
        int count = 0;
        wchar_t **split = CommandLineToArgvW((wchar_t *)wide, &count);
        TEST_ASSERT_EQUAL_MESSAGE(argc, count, line);
        for (int i = 0; i < argc; i++) {
            char back[256];
            cm_utf16_to_utf8((uint16_t *)split[i], CM_UTF_NUL, back, sizeof back);
            TEST_ASSERT_EQUAL_STRING_MESSAGE(argv[i], back, line);
        }
        LocalFree(split);
    }
}
#endif

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_plain_arguments_get_no_quotes);
    RUN_TEST(test_spaces_quotes_and_backslashes);
    RUN_TEST(test_program_has_rules_of_its_own);
    RUN_TEST(test_short_buffer_tells_the_length);
#ifdef _WIN32
    RUN_TEST(test_windows_splits_it_back);
#endif
    return UNITY_END();
}
