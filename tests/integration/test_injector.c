// SPDX-License-Identifier: MIT
// The way in, with a stub for the hook: launching, attaching, letting go, following a child.
#include "injector_fixture.h"

#include "tracelogging/channel.h"

#include "unity.h"

#include <stdio.h>
#include <string.h>

void setUp(void) {}

void tearDown(void) {}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        char message[4096];
        snprintf(message, sizeof message, "\"%s\" is not in: %.3000s", part, text);
        TEST_FAIL_MESSAGE(message);
    }
}

// ------------------------------------------------------------------------------------------ launch

static void test_launched_program_is_hooked_before_main(void)
{
    char output[8192];
    uint32_t code = 0;
    char *argv[] = {fx_path("echo_target.exe"), "37"};
    TEST_ASSERT_EQUAL(CM_OK, fx_run(2, argv, output, sizeof output, &code));
    assert_has(output, "hooked=1");
    TEST_ASSERT_EQUAL_UINT32(37, code);
}

static void test_exit_code_passes_through(void)
{
    static const uint32_t codes[] = {0, 1, 259, 0xc0000005u, 0xffffffffu};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        char output[8192], text[16];
        uint32_t code = 12345;
        snprintf(text, sizeof text, "0x%x", (unsigned)codes[i]);
        char *argv[] = {fx_path("echo_target.exe"), text};
        TEST_ASSERT_EQUAL(CM_OK, fx_run(2, argv, output, sizeof output, &code));
        TEST_ASSERT_EQUAL_HEX32(codes[i], code);
    }
}

static void test_arguments_arrive_as_given(void)
{
    char output[8192];
    uint32_t code = 0;
    char *argv[] = {fx_path("echo_target.exe"),
                    "0",
                    "two words",
                    "",
                    "say \"hi\"",
                    "C:\\dir with space\\",
                    "back\\\"slash",
                    "gr\xc3\xbc\xc3\x9f\xe6\xbc\xa2\xf0\x9f\x98\x80",
                    "%PATH% ^& | <x>"};
    TEST_ASSERT_EQUAL(CM_OK, fx_run(9, argv, output, sizeof output, &code));
    assert_has(output, "argc=9\r\n");
    assert_has(output, "arg=two words\r\n");
    assert_has(output, "arg=\r\n");
    assert_has(output, "arg=say \"hi\"\r\n");
    assert_has(output, "arg=C:\\dir with space\\\r\n");
    assert_has(output, "arg=back\\\"slash\r\n");
    assert_has(output, "arg=gr\xc3\xbc\xc3\x9f\xe6\xbc\xa2\xf0\x9f\x98\x80\r\n");
    assert_has(output, "arg=%PATH% ^& | <x>\r\n");
}

static void test_standard_input_directory_and_environment_are_ours(void)
{
    char output[8192], expected[1200];
    wchar_t directory[1024];
    uint32_t code = 0;
    SetEnvironmentVariableW(L"ECHO_TARGET", L"gr\x00fc\x00df");
    char *argv[] = {fx_path("echo_target.exe")};
    TEST_ASSERT_EQUAL(CM_OK, fx_run(1, argv, output, sizeof output, &code));
    SetEnvironmentVariableW(L"ECHO_TARGET", NULL);
    assert_has(output, "stdin=a line");
    assert_has(output, "env=gr\xc3\xbc\xc3\x9f\r\n");
    GetCurrentDirectoryW(1024, directory);
    snprintf(expected, sizeof expected, "cwd=%ls\r\n", directory);
    assert_has(output, expected);
}

static void test_program_is_found_on_the_path_and_gets_its_extension(void)
{
    char output[8192];
    uint32_t code = 0;
    wchar_t *directory = fx_wide_path("");
    static wchar_t path[32768];
    TEST_ASSERT_TRUE(GetEnvironmentVariableW(L"PATH", path, 32768) > 0);
    static wchar_t longer[34000];
    swprintf(longer, 34000, L"C:\\none;;\"%ls\";%ls", directory, path);
    SetEnvironmentVariableW(L"PATH", longer);
    char *argv[] = {"echo_target", "7"};
    cm_status status = fx_run(2, argv, output, sizeof output, &code);
    SetEnvironmentVariableW(L"PATH", path);
    TEST_ASSERT_EQUAL_MESSAGE(CM_OK, status, cm_error_text(status));
    assert_has(output, "arg=echo_target\r\n");
    TEST_ASSERT_EQUAL_UINT32(7, code);
}

// ----------------------------------------------------------------------------------------- running

typedef struct seen {
    unsigned count;
    bool in_order;
} seen;

static void count_record(void *context, const tl_record *record, const uint8_t *payload)
{
    seen *s = context;
    uint32_t value;
    memcpy(&value, payload, sizeof value);
    if (record->size != 20 || value != s->count || record->event != s->count + 1)
        s->in_order = false;
    s->count++;
}

static void test_attach_to_a_running_program_and_read_its_records(void)
{
    fx_idle idle = fx_idle_start("idle_target.exe", "-");
    inj_target *target;
    TEST_ASSERT_EQUAL(CM_OK, inj_open(idle.pid, &target));
    TEST_ASSERT_EQUAL_UINT32(idle.pid, target->pid);
    TEST_ASSERT_EQUAL_UINT32(GetCurrentProcessId(), target->parent_pid);
    TEST_ASSERT_NOT_EQUAL(0, target->created_100ns);
    assert_has(target->program, "idle_target.exe");
    cm_status status = inj_attach(target, FX_ALL_RINGS, true);
    TEST_ASSERT_EQUAL_MESSAGE(CM_OK, status, cm_error_text(status));
    tl_section_header *header = target->section_view;
    TEST_ASSERT_EQUAL(TL_HOOK_ARMED, atomic_load(&header->phase));
    TEST_ASSERT_EQUAL(INJ_WAIT_WOKEN, inj_target_wait(target, 60000));
    TEST_ASSERT_EQUAL(INJ_WAIT_TIMEOUT, inj_target_wait(target, 20));

    tl_consumer *consumer = tl_consumer_create(target->section_view, 4, FX_RING_BYTES);
    seen s = {.in_order = true};
    TEST_ASSERT_EQUAL(5, tl_consumer_drain(consumer, count_record, &s));
    TEST_ASSERT_TRUE(s.in_order);
    tl_consumer_destroy(consumer);

    uint32_t code;
    TEST_ASSERT_FALSE(inj_target_exit_code(target, &code));
    TEST_ASSERT_EQUAL(CM_OK, inj_disarm(target));
    TEST_ASSERT_EQUAL(TL_HOOK_DETACHED, atomic_load(&header->phase));
    TEST_ASSERT_EQUAL(42, fx_idle_end(&idle));
    TEST_ASSERT_EQUAL(INJ_WAIT_EXITED, inj_target_wait(target, 60000));
    TEST_ASSERT_TRUE(inj_target_exit_code(target, &code));
    TEST_ASSERT_EQUAL_UINT32(42, code);
    TEST_ASSERT_EQUAL(CM_OK, inj_disarm(target)); // gone is no error
    inj_target_close(target);
}

static void test_twenty_times_in_and_out_leave_nothing_behind(void)
{
    fx_idle idle = fx_idle_start("idle_target.exe", "-");
    unsigned theirs = 0, ours = 0;
    size_t bytes = 0;
    for (int i = 0; i < 20; i++) {
        inj_target *target;
        TEST_ASSERT_EQUAL(CM_OK, inj_open(idle.pid, &target));
        cm_status status = inj_attach(target, FX_ALL_RINGS, false);
        TEST_ASSERT_EQUAL_MESSAGE(CM_OK, status, cm_error_text(status));
        TEST_ASSERT_EQUAL(CM_OK, inj_disarm(target));
        inj_target_close(target);
        // The stub closes its handles right after it has reported its phase.
        for (int wait = 0; wait < 12000; wait++) {
            if (inj_detach_pid(idle.pid) == CM_NOT_FOUND)
                break;
            Sleep(5);
        }
        if (i == 1) { // the first time loads the DLL and the stub's watcher
            theirs = fx_handle_count(idle.pid);
            ours = fx_handle_count(GetCurrentProcessId());
            bytes = fx_private_bytes(idle.process);
        }
    }
    TEST_ASSERT_NOT_EQUAL(0, theirs);
    TEST_ASSERT_UINT_WITHIN(1, theirs, fx_handle_count(idle.pid)); // a watcher that is ending
    TEST_ASSERT_EQUAL_UINT(ours, fx_handle_count(GetCurrentProcessId()));
    TEST_ASSERT_UINT_WITHIN(2u << 20, bytes, fx_private_bytes(idle.process));
    TEST_ASSERT_EQUAL(42, fx_idle_end(&idle));
}

static void test_second_ortscope_is_refused_and_detach_frees_the_place(void)
{
    fx_idle idle = fx_idle_start("idle_target.exe", "-");
    inj_target *first, *second;
    char expected[80];
    TEST_ASSERT_EQUAL(CM_OK, inj_open(idle.pid, &first));
    TEST_ASSERT_EQUAL(CM_NOT_FOUND, inj_detach_pid(idle.pid)); // nothing there yet
    fx_assert_sentence_has(CM_NOT_FOUND, "no ortscope is attached");
    TEST_ASSERT_EQUAL(CM_OK, inj_attach(first, FX_ALL_RINGS, false));
    TEST_ASSERT_EQUAL(CM_OK, inj_open(idle.pid, &second));
    TEST_ASSERT_EQUAL(CM_FAILED, inj_attach(second, FX_ALL_RINGS, false));
    snprintf(expected, sizeof expected, "already being profiled by ortscope (PID %lu)",
             GetCurrentProcessId());
    fx_assert_sentence_has(CM_FAILED, expected);
    TEST_ASSERT_NULL(second->section_view);

    TEST_ASSERT_EQUAL(CM_OK, inj_detach_pid(idle.pid));
    tl_section_header *header = first->section_view;
    TEST_ASSERT_EQUAL(TL_HOOK_DETACHED, atomic_load(&header->phase));
    TEST_ASSERT_EQUAL(CM_NOT_FOUND, inj_detach_pid(idle.pid));
    TEST_ASSERT_EQUAL(CM_OK, inj_attach(second, FX_ALL_RINGS, false));
    TEST_ASSERT_EQUAL(CM_OK, inj_disarm(second));
    inj_target_close(first);
    inj_target_close(second);
    TEST_ASSERT_EQUAL(42, fx_idle_end(&idle));
}

static DWORD WINAPI attach_now(void *context)
{
    inj_target *target = context;
    cm_status status = inj_attach(target, FX_ALL_RINGS, false);
    return status == CM_FAILED && strstr(cm_error_text(status), "already being profiled") == NULL
               ? (DWORD)-1
               : (DWORD)status;
}

static void test_of_two_at_once_exactly_one_gets_in(void)
{
    for (int round = 0; round < 5; round++) {
        fx_idle idle = fx_idle_start("idle_target.exe", "-");
        inj_target *targets[2];
        HANDLE threads[2];
        DWORD results[2];
        for (int i = 0; i < 2; i++)
            TEST_ASSERT_EQUAL(CM_OK, inj_open(idle.pid, &targets[i]));
        for (int i = 0; i < 2; i++)
            threads[i] = CreateThread(NULL, 0, attach_now, targets[i], 0, NULL);
        TEST_ASSERT_EQUAL(WAIT_OBJECT_0, WaitForMultipleObjects(2, threads, TRUE, 60000));
        for (int i = 0; i < 2; i++) {
            GetExitCodeThread(threads[i], &results[i]);
            CloseHandle(threads[i]);
        }
        int winner = results[0] == CM_OK ? 0 : 1;
        TEST_ASSERT_EQUAL(CM_OK, results[winner]);
        TEST_ASSERT_EQUAL(CM_FAILED, results[1 - winner]);
        tl_section_header *header = targets[winner]->section_view;
        TEST_ASSERT_EQUAL(TL_HOOK_ARMED, atomic_load(&header->phase));
        TEST_ASSERT_EQUAL(CM_OK, inj_disarm(targets[winner]));
        inj_target_close(targets[0]);
        inj_target_close(targets[1]);
        TEST_ASSERT_EQUAL(42, fx_idle_end(&idle));
    }
}

static void test_second_target_inherits_nothing_of_the_first(void)
{
    inj_target *first, *second;
    char *argv[] = {fx_path("idle_target.exe")};
    TEST_ASSERT_EQUAL(CM_OK, inj_launch(1, argv, &first));
    unsigned handles = fx_handle_count(first->pid);
    TEST_ASSERT_EQUAL(CM_OK, inj_attach(first, FX_ALL_RINGS, false));
    TEST_ASSERT_EQUAL(CM_OK, inj_launch(1, argv, &second));
    TEST_ASSERT_EQUAL_UINT(handles, fx_handle_count(second->pid));
    inj_target *both[] = {first, second};
    for (int i = 0; i < 2; i++) {
        TEST_ASSERT_EQUAL(CM_OK, inj_resume(both[i]));
        uint32_t code = 0;
        for (int k = 0; k < 300 && !inj_target_exit_code(both[i], &code); k++)
            inj_target_wait(both[i], 100);
        TEST_ASSERT_EQUAL_UINT32(43, code);
        inj_target_close(both[i]);
    }
}

// ---------------------------------------------------------------------------------------- children

static void test_child_is_opened_and_a_stranger_is_not(void)
{
    fx_idle stranger = fx_idle_start("idle_target.exe", "-");
    HANDLE input_read, input_write, output_read, output_write;
    TEST_ASSERT_TRUE(CreatePipe(&input_read, &input_write, NULL, 0));
    TEST_ASSERT_TRUE(CreatePipe(&output_read, &output_write, NULL, 0));
    HANDLE saved_input = GetStdHandle(STD_INPUT_HANDLE);
    HANDLE saved_output = GetStdHandle(STD_OUTPUT_HANDLE);
    SetStdHandle(STD_INPUT_HANDLE, input_read);
    SetStdHandle(STD_OUTPUT_HANDLE, output_write);
    inj_target *parent, *child;
    char *argv[] = {fx_path("parent_target.exe"), fx_path("idle_target.exe")};
    cm_status status = inj_launch(2, argv, &parent);
    SetStdHandle(STD_INPUT_HANDLE, saved_input);
    SetStdHandle(STD_OUTPUT_HANDLE, saved_output);
    TEST_ASSERT_EQUAL_MESSAGE(CM_OK, status, cm_error_text(status));
    TEST_ASSERT_EQUAL(CM_OK, inj_resume(parent));
    char line[64] = "";
    DWORD done;
    TEST_ASSERT_TRUE(ReadFile(output_read, line, sizeof line - 1, &done, NULL));
    unsigned pid = 0;
    TEST_ASSERT_EQUAL(1, sscanf(line, "%u", &pid));

    TEST_ASSERT_EQUAL(CM_UNSUPPORTED, inj_open_child(parent, stranger.pid, &child));
    fx_assert_sentence_has(CM_UNSUPPORTED, "is not a child of process");
    status = inj_open_child(parent, pid, &child);
    TEST_ASSERT_EQUAL_MESSAGE(CM_OK, status, cm_error_text(status));
    TEST_ASSERT_EQUAL_UINT32(parent->pid, child->parent_pid);
    status = inj_attach(child, FX_ALL_RINGS, true); // it has not run an instruction yet
    TEST_ASSERT_EQUAL_MESSAGE(CM_OK, status, cm_error_text(status));
    WriteFile(input_write, "go\n", 3, &done, NULL);
    TEST_ASSERT_EQUAL(CM_OK, inj_resume(child)); // not ours to resume: nothing happens
    uint32_t code = 0;
    for (int i = 0; i < 300 && !inj_target_exit_code(parent, &code); i++)
        inj_target_wait(parent, 100);
    TEST_ASSERT_EQUAL_UINT32(43, code); // as idle_target answers without an event
    inj_target_close(child);
    inj_target_close(parent);
    HANDLE pipes[] = {input_read, input_write, output_read, output_write};
    for (int i = 0; i < 4; i++)
        CloseHandle(pipes[i]);
    TEST_ASSERT_EQUAL(42, fx_idle_end(&stranger));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_launched_program_is_hooked_before_main);
    RUN_TEST(test_exit_code_passes_through);
    RUN_TEST(test_arguments_arrive_as_given);
    RUN_TEST(test_standard_input_directory_and_environment_are_ours);
    RUN_TEST(test_program_is_found_on_the_path_and_gets_its_extension);
    RUN_TEST(test_attach_to_a_running_program_and_read_its_records);
    RUN_TEST(test_twenty_times_in_and_out_leave_nothing_behind);
    RUN_TEST(test_second_ortscope_is_refused_and_detach_frees_the_place);
    RUN_TEST(test_of_two_at_once_exactly_one_gets_in);
    RUN_TEST(test_second_target_inherits_nothing_of_the_first);
    RUN_TEST(test_child_is_opened_and_a_stranger_is_not);
    return UNITY_END();
}
