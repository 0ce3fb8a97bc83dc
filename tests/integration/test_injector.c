// SPDX-License-Identifier: MIT
// The way in, with a stub for the hook: launching, attaching, letting go, following a child, and
// what becomes of it all when the target or the collector dies in between.
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
    TEST_ASSERT_EQUAL(INJ_WAIT_WOKEN, inj_target_wait(target, 5000));
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
    TEST_ASSERT_EQUAL(INJ_WAIT_EXITED, inj_target_wait(target, 5000));
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
        for (int wait = 0; wait < 200; wait++) {
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

// ------------------------------------------------------------------------------------------ deaths

static void test_target_that_dies_while_we_attach(void)
{
    static const struct {
        const wchar_t *variable;
        const char *code;
    } deaths[] = {{L"STUB_DIE_IN_LOAD", "exit code 78"}, {L"STUB_DIE_IN_ATTACH", "exit code 77"}};
    for (int i = 0; i < 2; i++) {
        inj_target *target;
        char *argv[] = {fx_path("echo_target.exe")};
        SetEnvironmentVariableW(deaths[i].variable, L"1");
        TEST_ASSERT_EQUAL(CM_OK, inj_launch(1, argv, &target));
        SetEnvironmentVariableW(deaths[i].variable, NULL);
        cm_status status = inj_attach(target, FX_ALL_RINGS, false);
        TEST_ASSERT_EQUAL_MESSAGE(CM_NOT_FOUND, status, cm_error_text(status));
        fx_assert_sentence_has(CM_NOT_FOUND, deaths[i].code);
        TEST_ASSERT_NULL(target->section_view);
        inj_target_close(target);
    }
}

static void test_target_killed_before_we_attach(void)
{
    fx_idle idle = fx_idle_start("idle_target.exe", "-");
    inj_target *target;
    TEST_ASSERT_EQUAL(CM_OK, inj_open(idle.pid, &target));
    TerminateProcess(idle.process, 99);
    cm_status status = inj_attach(target, FX_ALL_RINGS, false);
    TEST_ASSERT_EQUAL_MESSAGE(CM_NOT_FOUND, status, cm_error_text(status));
    fx_assert_sentence_has(CM_NOT_FOUND, "exit code 99");
    inj_target_close(target);
    TEST_ASSERT_EQUAL(99, fx_idle_end(&idle));
}

static DWORD WINAPI kill_later(void *context)
{
    const DWORD *what = context;
    HANDLE process = OpenProcess(PROCESS_TERMINATE, FALSE, what[0]);
    Sleep(what[1]);
    TerminateProcess(process, 55);
    CloseHandle(process);
    return 0;
}

static void test_target_killed_at_any_moment_of_attaching(void)
{
    for (DWORD delay = 0; delay < 12; delay++) {
        fx_idle idle = fx_idle_start("idle_target.exe", "-");
        DWORD what[2] = {idle.pid, delay};
        HANDLE killer = CreateThread(NULL, 0, kill_later, what, 0, NULL);
        inj_target *target = NULL;
        cm_status status = inj_open(idle.pid, &target);
        if (status == CM_OK)
            status = inj_attach(target, FX_ALL_RINGS, false);
        // It may have been quick enough; else there is one answer only.
        if (status != CM_OK)
            TEST_ASSERT_EQUAL_MESSAGE(CM_NOT_FOUND, status, cm_error_text(status));
        TEST_ASSERT_EQUAL(WAIT_OBJECT_0, WaitForSingleObject(killer, 30000));
        CloseHandle(killer);
        if (target != NULL && status == CM_OK)
            TEST_ASSERT_EQUAL(CM_OK, inj_disarm(target));
        inj_target_close(target);
        TEST_ASSERT_EQUAL(55, fx_idle_end(&idle));
    }
}

static void test_target_that_refuses_the_dll_runs_on(void)
{
    inj_target *target;
    char *argv[] = {fx_path("echo_target.exe"), "21"};
    char output[4096];
    SetEnvironmentVariableW(L"STUB_REFUSE_LOAD", L"1");
    fx_capture_begin("x\n");
    TEST_ASSERT_EQUAL(CM_OK, inj_launch(2, argv, &target));
    SetEnvironmentVariableW(L"STUB_REFUSE_LOAD", NULL);
    cm_status status = inj_attach(target, FX_ALL_RINGS, false);
    TEST_ASSERT_EQUAL(CM_OK, inj_resume(target));
    while (inj_target_wait(target, 30000) == INJ_WAIT_WOKEN)
        ;
    fx_capture_end(output, sizeof output);
    TEST_ASSERT_EQUAL_MESSAGE(CM_FAILED, status, cm_error_text(status));
    uint32_t code = 0;
    TEST_ASSERT_TRUE(inj_target_exit_code(target, &code));
    TEST_ASSERT_EQUAL_UINT32(21, code);
    assert_has(output, "hooked=0");
    inj_target_close(target);
}

// This program again, as a collector that attaches and dies.
static int be_a_collector_that_dies(const char *pid)
{
    uint32_t number;
    inj_target *target;
    if (inj_resolve(pid, &number) != CM_OK || inj_open(number, &target) != CM_OK ||
        inj_attach(target, FX_ALL_RINGS, false) != CM_OK)
        return 1;
    TerminateProcess(GetCurrentProcess(), 66);
    return 0;
}

static void attach_and_die(DWORD pid)
{
    wchar_t command[64];
    swprintf(command, 64, L"test --attach-and-die %lu", pid);
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION info;
    TEST_ASSERT_TRUE(CreateProcessW(fx_wide_path("test_injector.exe"), command, NULL, NULL, FALSE,
                                    0, NULL, NULL, &startup, &info));
    TEST_ASSERT_EQUAL(WAIT_OBJECT_0, WaitForSingleObject(info.hProcess, 30000));
    DWORD code = 0;
    GetExitCodeProcess(info.hProcess, &code);
    TEST_ASSERT_EQUAL(66, code);
    CloseHandle(info.hThread);
    CloseHandle(info.hProcess);
}

static void test_place_of_a_dead_collector_is_taken_over(void)
{
    // Once with a hook that has noticed the death, once with one that has not.
    for (int overlooks = 0; overlooks < 2; overlooks++) {
        SetEnvironmentVariableW(L"STUB_IGNORE_DEATH", overlooks ? L"1" : NULL);
        fx_idle idle = fx_idle_start("idle_target.exe", "-");
        SetEnvironmentVariableW(L"STUB_IGNORE_DEATH", NULL);
        attach_and_die(idle.pid);
        inj_target *target;
        TEST_ASSERT_EQUAL(CM_OK, inj_open(idle.pid, &target));
        cm_status status = inj_attach(target, FX_ALL_RINGS, false);
        TEST_ASSERT_EQUAL_MESSAGE(CM_OK, status, cm_error_text(status));
        TEST_ASSERT_EQUAL(CM_OK, inj_disarm(target));
        inj_target_close(target);
        TEST_ASSERT_EQUAL(42, fx_idle_end(&idle));
    }
}

int main(int argc, char *argv[])
{
    if (argc == 3 && strcmp(argv[1], "--attach-and-die") == 0)
        return be_a_collector_that_dies(argv[2]);
    UNITY_BEGIN();
    RUN_TEST(test_launched_program_is_hooked_before_main);
    RUN_TEST(test_exit_code_passes_through);
    RUN_TEST(test_arguments_arrive_as_given);
    RUN_TEST(test_standard_input_directory_and_environment_are_ours);
    RUN_TEST(test_program_is_found_on_the_path_and_gets_its_extension);
    RUN_TEST(test_attach_to_a_running_program_and_read_its_records);
    RUN_TEST(test_twenty_times_in_and_out_leave_nothing_behind);
    RUN_TEST(test_second_ortscope_is_refused_and_detach_frees_the_place);
    RUN_TEST(test_child_is_opened_and_a_stranger_is_not);
    RUN_TEST(test_target_that_dies_while_we_attach);
    RUN_TEST(test_target_killed_before_we_attach);
    RUN_TEST(test_target_killed_at_any_moment_of_attaching);
    RUN_TEST(test_target_that_refuses_the_dll_runs_on);
    RUN_TEST(test_place_of_a_dead_collector_is_taken_over);
    return UNITY_END();
}
