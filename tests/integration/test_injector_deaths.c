// SPDX-License-Identifier: MIT
// What becomes of it all when the target, the hook or the collector dies, refuses or is late in
// between: one clear answer, never a hang, and a target that runs on.
#include "injector_fixture.h"

#include "win32/win_internal.h"

#include "unity.h"

#include <stdio.h>
#include <string.h>

void setUp(void) {}

void tearDown(void) {}

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
        TEST_ASSERT_EQUAL(WAIT_OBJECT_0, WaitForSingleObject(killer, 120000));
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
    while (inj_target_wait(target, 120000) == INJ_WAIT_WOKEN)
        ;
    fx_capture_end(output, sizeof output);
    TEST_ASSERT_EQUAL_MESSAGE(CM_FAILED, status, cm_error_text(status));
    uint32_t code = 0;
    TEST_ASSERT_TRUE(inj_target_exit_code(target, &code));
    TEST_ASSERT_EQUAL_UINT32(21, code);
    TEST_ASSERT_NOT_NULL(strstr(output, "hooked=0"));
    inj_target_close(target);
}

static void test_hook_that_is_late_lets_go_by_itself(void)
{
    SetEnvironmentVariableW(L"STUB_SLOW_ATTACH", L"6000");
    fx_idle idle = fx_idle_start("idle_target.exe", "-");
    SetEnvironmentVariableW(L"STUB_SLOW_ATTACH", NULL);
    inj_target *target;
    TEST_ASSERT_EQUAL(CM_OK, inj_open(idle.pid, &target));
    inj_hook_image image;
    TEST_ASSERT_EQUAL(CM_OK, inj_hook_image_open(&image)); // the load is not what shall be slow
    inj_remote_result result;
    uint64_t load =
        (uint64_t)(ULONG_PTR)GetProcAddress(GetModuleHandleW(L"kernel32"), "LoadLibraryW");
    TEST_ASSERT_EQUAL(CM_OK, inj_remote_call(target, load, image.path, (wcslen(image.path) + 1) * 2,
                                             "load", &result));
    inj_hook_image_close(&image);
    uint32_t usual = inj_remote_timeout_ms;
    inj_remote_timeout_ms = 2000;
    cm_status status = inj_attach(target, FX_ALL_RINGS, false);
    inj_remote_timeout_ms = usual;
    TEST_ASSERT_EQUAL_MESSAGE(CM_FAILED, status, cm_error_text(status));
    fx_assert_sentence_has(CM_FAILED, "did not attach");
    TEST_ASSERT_NULL(target->section_view);
    // The hook finds its stop flag set and goes; then the place is free.
    for (int i = 0; i < 1000 && (status = inj_attach(target, FX_ALL_RINGS, false)) != CM_OK; i++)
        Sleep(100);
    TEST_ASSERT_EQUAL_MESSAGE(CM_OK, status, cm_error_text(status));
    TEST_ASSERT_EQUAL(CM_OK, inj_disarm(target));
    inj_target_close(target);
    TEST_ASSERT_EQUAL(42, fx_idle_end(&idle));
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
    TEST_ASSERT_TRUE(CreateProcessW(fx_wide_path("test_injector_deaths.exe"), command, NULL, NULL,
                                    FALSE, 0, NULL, NULL, &startup, &info));
    TEST_ASSERT_EQUAL(WAIT_OBJECT_0, WaitForSingleObject(info.hProcess, 120000));
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
    RUN_TEST(test_target_that_dies_while_we_attach);
    RUN_TEST(test_target_killed_before_we_attach);
    RUN_TEST(test_target_killed_at_any_moment_of_attaching);
    RUN_TEST(test_target_that_refuses_the_dll_runs_on);
    RUN_TEST(test_hook_that_is_late_lets_go_by_itself);
    RUN_TEST(test_place_of_a_dead_collector_is_taken_over);
    return UNITY_END();
}
