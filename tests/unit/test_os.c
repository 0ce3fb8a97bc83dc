// SPDX-License-Identifier: MIT
// The operating-system contract, the same test on every system. With an argument it only checks
// that this argument arrived as UTF-8.
#include "common/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unity.h>

// "gr", u umlaut, sharp s, space, two CJK characters, U+1F600
#define STRANGE "gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2\xe5\xad\x97 \xf0\x9f\x98\x80"

static int g_argc;
static char **g_argv;
static char g_path[256];

void setUp(void)
{
    // Other instances of this test may run at the same time in the same folder.
    snprintf(g_path, sizeof g_path, "test_os_" STRANGE "_%llx.tmp",
             (unsigned long long)cm_utc_ns());
}

void tearDown(void)
{
    cm_file_remove(g_path);
}

static void write_file(const char *path, const void *data, size_t len)
{
    cm_file *f;
    TEST_ASSERT_EQUAL(CM_OK, cm_file_create(path, &f));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_write(f, data, len));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_sync(f));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_close(f));
}

static void test_written_bytes_are_read_back_at_any_offset(void)
{
    char text[] = "0123456789", buffer[16];
    write_file(g_path, text, 10);
    cm_file *f;
    uint64_t size = 0;
    TEST_ASSERT_EQUAL(CM_OK, cm_file_open(g_path, &f));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_size(f, &size));
    TEST_ASSERT_EQUAL_UINT64(10, size);
    for (uint64_t offset = 0; offset <= 12; offset++) {
        size_t got = 99, left = offset < 10 ? 10 - (size_t)offset : 0;
        TEST_ASSERT_EQUAL(CM_OK, cm_file_read_at(f, offset, buffer, 5, &got));
        TEST_ASSERT_EQUAL_size_t(left < 5 ? left : 5, got);
        if (got)
            TEST_ASSERT_EQUAL_MEMORY(text + offset, buffer, got);
    }
    size_t got = 99;
    TEST_ASSERT_EQUAL(CM_OK, cm_file_read_at(f, UINT64_MAX - 2, buffer, 5, &got));
    TEST_ASSERT_EQUAL_size_t(0, got);
    TEST_ASSERT_EQUAL(CM_OK, cm_file_close(f));
}

static void test_create_empties_what_was_there(void)
{
    write_file(g_path, "long content", 12);
    write_file(g_path, "x", 1);
    cm_file *f;
    uint64_t size = 0;
    TEST_ASSERT_EQUAL(CM_OK, cm_file_open(g_path, &f));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_size(f, &size));
    TEST_ASSERT_EQUAL_UINT64(1, size);
    cm_file_close(f);
}

static void test_two_who_append_keep_each_others_lines(void)
{
    cm_file *first, *second, *reader;
    char text[32] = "";
    size_t len = 0;
    write_file(g_path, "begin\n", 6);
    TEST_ASSERT_EQUAL(CM_OK, cm_file_append(g_path, &first));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_append(g_path, &second));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_write(first, "one\n", 4));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_write(second, "two\n", 4));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_write(first, "three\n", 6));
    cm_file_close(first);
    cm_file_close(second);
    TEST_ASSERT_EQUAL(CM_OK, cm_file_open(g_path, &reader));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_read_at(reader, 0, text, sizeof text - 1, &len));
    TEST_ASSERT_EQUAL_STRING("begin\none\ntwo\nthree\n", text);
    cm_file_close(reader);
    TEST_ASSERT_EQUAL(CM_NOT_FOUND, cm_file_append("no_such_folder/x/y", &first));
    TEST_ASSERT_NOT_EQUAL(CM_OK, cm_file_append(".", &first));
}

static void test_asking_whether_a_file_can_be_made_leaves_no_trace(void)
{
    cm_file *f;
    uint64_t size = 0;
    TEST_ASSERT_EQUAL(CM_OK, cm_file_can_create(g_path));
    TEST_ASSERT_EQUAL(CM_NOT_FOUND, cm_file_open(g_path, &f));
    write_file(g_path, "content", 7);
    TEST_ASSERT_EQUAL(CM_OK, cm_file_can_create(g_path));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_open(g_path, &f));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_size(f, &size));
    TEST_ASSERT_EQUAL_UINT64(7, size);
    cm_file_close(f);
    TEST_ASSERT_EQUAL(CM_NOT_FOUND, cm_file_can_create("no_such_folder/x/y"));
    TEST_ASSERT_NOT_EQUAL(CM_OK, cm_file_can_create("."));
}

static void test_a_file_is_readable_while_it_is_written(void)
{
    cm_file *writer, *reader;
    char buffer[8];
    size_t got = 0;
    TEST_ASSERT_EQUAL(CM_OK, cm_file_create(g_path, &writer));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_open(g_path, &reader));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_write(writer, "one", 3));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_read_at(reader, 0, buffer, 8, &got));
    TEST_ASSERT_EQUAL_size_t(3, got);
    TEST_ASSERT_EQUAL(CM_OK, cm_file_write(writer, "two", 3));
    TEST_ASSERT_EQUAL(CM_OK, cm_file_read_at(reader, 3, buffer, 8, &got));
    TEST_ASSERT_EQUAL_size_t(3, got);
    TEST_ASSERT_EQUAL_MEMORY("two", buffer, 3);
    cm_file_close(reader);
    cm_file_close(writer);
}

static void test_failures_name_the_path_and_leave_the_output_alone(void)
{
    cm_file *f = (cm_file *)g_path;
    TEST_ASSERT_EQUAL(CM_NOT_FOUND, cm_file_open(g_path, &f));
    TEST_ASSERT_EQUAL_PTR(g_path, f);
    TEST_ASSERT_NOT_NULL(strstr(cm_error_text(CM_NOT_FOUND), g_path));
    TEST_ASSERT_EQUAL(CM_NOT_FOUND, cm_file_create("no_such_folder/x/y", &f));
    TEST_ASSERT_EQUAL(CM_NOT_FOUND, cm_file_remove(g_path));
    TEST_ASSERT_NOT_EQUAL(CM_OK, cm_file_open(".", &f));
    TEST_ASSERT_NOT_EQUAL(CM_OK, cm_file_create(".", &f));
    TEST_ASSERT_NOT_EQUAL(CM_OK, cm_file_remove("."));
    TEST_ASSERT_EQUAL_PTR(g_path, f);
    TEST_ASSERT_EQUAL(CM_OK, cm_file_close(NULL));
}

#if defined(__linux__)
static void test_a_full_disk_is_told(void)
{
    cm_file *f;
    if (cm_file_create("/dev/full", &f) != CM_OK)
        TEST_IGNORE_MESSAGE("this system has no /dev/full");
    TEST_ASSERT_EQUAL(CM_IO, cm_file_write(f, "x", 1));
    TEST_ASSERT_NOT_NULL(strstr(cm_error_text(CM_IO), "/dev/full"));
    TEST_ASSERT_NOT_NULL(strstr(cm_error_text(CM_IO), "No space left"));
    cm_file_close(f);
}
#endif

static void test_time_moves_forward(void)
{
    uint64_t utc = cm_utc_ns();
    TEST_ASSERT_TRUE(utc > 1600000000u * (uint64_t)1000000000u);  // after 2020
    TEST_ASSERT_TRUE(utc < 16000000000u * (uint64_t)1000000000u); // and not in other units
    uint64_t last = cm_monotonic_ns(), begin = last;
    for (int i = 0; i < 10000; i++) {
        uint64_t now = cm_monotonic_ns();
        TEST_ASSERT_TRUE(now >= last);
        last = now;
    }
    cm_sleep_ms(20);
    // Half of it, since a timer's own granularity may cut a little off.
    TEST_ASSERT_TRUE(cm_monotonic_ns() - begin >= 10 * 1000000u);
    cm_sleep_ms(0);
}

static void test_terminal_width_fits_is_terminal(void)
{
    static const cm_stream streams[] = {CM_STDOUT, CM_STDERR};
    for (int i = 0; i < 2; i++)
        if (!cm_is_terminal(streams[i]))
            TEST_ASSERT_EQUAL_UINT(0, cm_terminal_width(streams[i]));
}

static void test_arguments_are_utf8(void)
{
    int argc = 0;
    char **argv = NULL;
    TEST_ASSERT_EQUAL(CM_OK, cm_args_utf8(g_argc, g_argv, &argc, &argv));
    TEST_ASSERT_EQUAL_INT(g_argc, argc);
    TEST_ASSERT_NOT_NULL(strstr(argv[0], "test_os"));
    TEST_ASSERT_NULL(argv[argc]);
    if (argc > 1)
        TEST_ASSERT_EQUAL_STRING(STRANGE, argv[1]);
}

int main(int argc, char **argv)
{
    g_argc = argc;
    g_argv = argv;
    cm_console_init();
    UNITY_BEGIN();
    RUN_TEST(test_arguments_are_utf8);
    if (argc == 1) {
        RUN_TEST(test_written_bytes_are_read_back_at_any_offset);
        RUN_TEST(test_create_empties_what_was_there);
        RUN_TEST(test_two_who_append_keep_each_others_lines);
        RUN_TEST(test_asking_whether_a_file_can_be_made_leaves_no_trace);
        RUN_TEST(test_a_file_is_readable_while_it_is_written);
        RUN_TEST(test_failures_name_the_path_and_leave_the_output_alone);
#if defined(__linux__)
        RUN_TEST(test_a_full_disk_is_told);
#endif
        RUN_TEST(test_time_moves_forward);
        RUN_TEST(test_terminal_width_fits_is_terminal);
    }
    return UNITY_END();
}
