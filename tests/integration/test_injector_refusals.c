// SPDX-License-Identifier: MIT
// What the injector refuses, with real processes and files: the sentence, the exit code, and that
// nothing was touched. Also the process list and names, which share the programs.
#include "injector_fixture.h"

#include "win32/win_internal.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void setUp(void) {}

void tearDown(void)
{
    inj_hook_directory_for_tests(NULL);
}

static void write_file(const char *name, const char *text)
{
    FILE *file = _wfopen(fx_wide_path(name), L"wb");
    TEST_ASSERT_NOT_NULL(file);
    fputs(text, file);
    fclose(file);
}

static void refuse_launch(char *program, cm_status status, const char *part)
{
    inj_target *target = NULL;
    char *argv[] = {program, "x"};
    TEST_ASSERT_EQUAL_MESSAGE(status, inj_launch(2, argv, &target), program);
    TEST_ASSERT_NULL(target);
    fx_assert_sentence_has(status, part);
}

// ------------------------------------------------------------------------------- program to launch

static void test_programs_that_are_not_there(void)
{
    refuse_launch("no-such-program", CM_NOT_FOUND, "on the PATH");
    refuse_launch(".\\no-such-program.exe", CM_NOT_FOUND, "check the path");
    refuse_launch(fx_path("none\\deeper\\x.exe"), CM_NOT_FOUND, "check the path");
    refuse_launch("", CM_NOT_FOUND, "there is no program");
    refuse_launch("a\"b", CM_NOT_FOUND, "there is no program");
    refuse_launch("*.exe", CM_NOT_FOUND, "there is no program");
    refuse_launch(fx_path("old"), CM_UNSUPPORTED, "is a directory");
    refuse_launch("\xff.exe", CM_USAGE, "not valid text");
    TEST_ASSERT_EQUAL(CM_USAGE, inj_launch(0, NULL, NULL));
}

static void test_scripts_name_the_command_that_runs_them(void)
{
    write_file("script.bat", "@exit 1\r\n");
    write_file("script.py", "print(1)\n");
    write_file("script.js", "1\n");
    write_file("notes.txt", "notes\n");
    write_file("empty.exe", "");
    refuse_launch(fx_path("script.bat"), CM_UNSUPPORTED, "use: ortscope run -- cmd /c ");
    refuse_launch(fx_path("script"), CM_UNSUPPORTED, "a batch file"); // found with its extension
    refuse_launch(fx_path("script.py"), CM_UNSUPPORTED, "use: ortscope run -- python ");
    refuse_launch(fx_path("script.js"), CM_UNSUPPORTED, "use: ortscope run -- node ");
    refuse_launch(fx_path("notes.txt"), CM_UNSUPPORTED, "not a Windows program");
    refuse_launch(fx_path("empty.exe"), CM_UNSUPPORTED, "not a Windows program");
}

static void test_programs_for_other_machines(void)
{
    fx_copy_patched("echo_target.exe", "arm.exe", 4, 0xaa64);
    fx_copy_patched("echo_target.exe", "odd.exe", 4, 0x5064);
    fx_copy_patched("echo_target.exe", "narrow.exe", 4, 0x014c);
    refuse_launch(fx_path("arm.exe"), CM_UNSUPPORTED, "is an ARM64 program");
    refuse_launch(fx_path("odd.exe"), CM_UNSUPPORTED, "machine type 0x5064");
    refuse_launch(fx_path("narrow.exe"), CM_UNSUPPORTED, "damaged"); // its header is still 64-bit
    refuse_launch(fx_path("ortscope_hook.dll"), CM_UNSUPPORTED, "is a DLL");
    // A real 32-bit one: the smallest file that says so.
    HANDLE file =
        CreateFileW(fx_wide_path("x86.exe"), GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL);
    uint8_t bytes[0x200] = {'M', 'Z', [0x3c] = 0x40, [0x40] = 'P', 'E'};
    bytes[0x44] = 0x4c, bytes[0x45] = 0x01;      // machine
    bytes[0x54] = 224, bytes[0x56] = 0x02;       // optional header, characteristics
    bytes[0x58] = 0x0b, bytes[0x59] = 0x01;      // 32-bit header
    bytes[0x58 + 68] = 3, bytes[0x58 + 92] = 16; // console, directories
    DWORD done;
    WriteFile(file, bytes, sizeof bytes, &done, NULL);
    CloseHandle(file);
    refuse_launch(fx_path("x86.exe"), CM_UNSUPPORTED, "is a 32-bit program");
}

static void test_command_line_that_is_too_long(void)
{
    static char longest[40000];
    memset(longest, 'x', sizeof longest - 1);
    inj_target *target = NULL;
    char *argv[] = {fx_path("echo_target.exe"), longest};
    TEST_ASSERT_EQUAL(CM_USAGE, inj_launch(2, argv, &target));
    fx_assert_sentence_has(CM_USAGE, "32767");
    TEST_ASSERT_NULL(target);
}

// ------------------------------------------------------------------------------ process to attach

static void refuse_open(uint32_t pid, cm_status status, const char *part)
{
    inj_target *target = NULL;
    TEST_ASSERT_EQUAL(status, inj_open(pid, &target));
    TEST_ASSERT_NULL(target);
    fx_assert_sentence_has(status, part);
}

static void test_processes_that_are_not_to_be_attached(void)
{
    refuse_open(GetCurrentProcessId(), CM_UNSUPPORTED, "ortscope itself");
    refuse_open(0, CM_UNSUPPORTED, "part of Windows");
    refuse_open(4, CM_UNSUPPORTED, "part of Windows");
    refuse_open(0xfffffff0u, CM_NOT_FOUND, "there is no process 4294967280");
    fx_idle idle = fx_idle_start("idle_target.exe", "-");
    refuse_open(idle.pid + 1, CM_NOT_FOUND, "there is no process"); // Windows rounds PIDs down
    TerminateProcess(idle.process, 1);
    WaitForSingleObject(idle.process, 10000);
    refuse_open(idle.pid, CM_NOT_FOUND, ""); // our handle keeps the PID: "has exited meanwhile"
    fx_idle_end(&idle);
}

static void test_process_that_denies_access(void)
{
    fx_idle idle = fx_idle_start("idle_target.exe", "deny");
    HANDLE probe = OpenProcess(PROCESS_VM_WRITE, FALSE, idle.pid);
    if (probe != NULL) {
        CloseHandle(probe);
        TEST_ASSERT_EQUAL(42, fx_idle_end(&idle));
        TEST_IGNORE_MESSAGE("this system lets us open a process that denies everybody");
    }
    refuse_open(idle.pid, CM_ACCESS_DENIED, "can't be attached");
    TEST_ASSERT_EQUAL(CM_ACCESS_DENIED, inj_detach_pid(idle.pid));
    TEST_ASSERT_EQUAL(42, fx_idle_end(&idle));
}

// ------------------------------------------------------------------------------------ our own DLL

static void attach_fails(fx_idle *idle, const wchar_t *directory, const char *part)
{
    inj_target *target;
    inj_hook_directory_for_tests(directory);
    TEST_ASSERT_EQUAL(CM_OK, inj_open(idle->pid, &target));
    TEST_ASSERT_EQUAL(CM_FAILED, inj_attach(target, FX_ALL_RINGS, false));
    fx_assert_sentence_has(CM_FAILED, part);
    TEST_ASSERT_NULL(target->section_view);
    TEST_ASSERT_NULL(target->wake_hook);
    inj_target_close(target);
    inj_hook_directory_for_tests(NULL);
}

static void test_own_dll_missing_wrong_or_of_another_version(void)
{
    fx_idle idle = fx_idle_start("idle_target.exe", "-");
    unsigned handles = fx_handle_count(idle.pid);
    CreateDirectoryW(fx_wide_path("none"), NULL);
    attach_fails(&idle, fx_wide_path("none"), "is missing");
    attach_fails(&idle, fx_wide_path("old"), "but of 0.0.9");
    CreateDirectoryW(fx_wide_path("bad"), NULL);
    write_file("bad\\ortscope_hook.dll", "not a DLL");
    attach_fails(&idle, fx_wide_path("bad"), "can't be loaded");
    CreateDirectoryW(fx_wide_path("strange"), NULL); // a program, with none of the exports
    CopyFileW(fx_wide_path("echo_target.exe"), fx_wide_path("strange\\ortscope_hook.dll"), FALSE);
    attach_fails(&idle, fx_wide_path("strange"), "another program or version");
    TEST_ASSERT_EQUAL_UINT(handles, fx_handle_count(idle.pid)); // never touched
    inj_hook_found *found = calloc(1, sizeof *found);
    inj_find_hook(idle.process, found);
    TEST_ASSERT_FALSE(found->mapped);
    free(found);
    TEST_ASSERT_EQUAL(42, fx_idle_end(&idle));
}

static void load_into(inj_target *target, const wchar_t *path)
{
    HMODULE kernel32 = GetModuleHandleW(L"kernel32.dll");
    uint64_t load = (uint64_t)(ULONG_PTR)GetProcAddress(kernel32, "LoadLibraryW");
    inj_remote_result result;
    TEST_ASSERT_EQUAL(CM_OK,
                      inj_remote_call(target, load, path, (wcslen(path) + 1) * 2, "load", &result));
    TEST_ASSERT_NOT_EQUAL(0, result.exit_code);
}

static void test_hook_of_another_version_in_the_target(void)
{
    fx_idle idle = fx_idle_start("idle_target.exe", "-");
    inj_target *target;
    TEST_ASSERT_EQUAL(CM_OK, inj_open(idle.pid, &target));
    load_into(target, fx_wide_path("old\\ortscope_hook.dll"));
    inj_target_close(target);
    attach_fails(&idle, NULL, "version 0.0.9");
    TEST_ASSERT_EQUAL(CM_NOT_FOUND, inj_detach_pid(idle.pid)); // it is dormant
    TEST_ASSERT_EQUAL(42, fx_idle_end(&idle));
}

static void test_channel_of_an_impossible_size(void)
{
    fx_idle idle = fx_idle_start("idle_target.exe", "-");
    inj_target *target;
    TEST_ASSERT_EQUAL(CM_OK, inj_open(idle.pid, &target));
    TEST_ASSERT_EQUAL(CM_USAGE, inj_attach(target, (inj_channel_size){4, 12345}, false));
    TEST_ASSERT_EQUAL(CM_USAGE, inj_attach(target, (inj_channel_size){0, 0}, false));
    inj_target_close(target);
    TEST_ASSERT_EQUAL(42, fx_idle_end(&idle));
}

// ---------------------------------------------------------------------------------- names and list

static void test_names(void)
{
    TEST_ASSERT_TRUE(CopyFileW(fx_wide_path("idle_target.exe"), fx_wide_path("Twin.exe"), FALSE));
    uint32_t pid = 0;
    char text[32];
    TEST_ASSERT_EQUAL(CM_NOT_FOUND, inj_resolve("twin", &pid));
    fx_assert_sentence_has(CM_NOT_FOUND, "no process is called twin");
    fx_idle one = fx_idle_start("Twin.exe", "-");
    TEST_ASSERT_EQUAL(CM_OK, inj_resolve("twin", &pid));
    TEST_ASSERT_EQUAL_UINT32(one.pid, pid);
    TEST_ASSERT_EQUAL(CM_OK, inj_resolve("TWIN.EXE", &pid));
    TEST_ASSERT_EQUAL_UINT32(one.pid, pid);
    fx_idle two = fx_idle_start("Twin.exe", "-");
    pid = 7;
    TEST_ASSERT_EQUAL(CM_USAGE, inj_resolve("twin", &pid));
    TEST_ASSERT_EQUAL_UINT32(7, pid);
    fx_assert_sentence_has(CM_USAGE, "2 processes are called twin");
    snprintf(text, sizeof text, "%lu", one.pid);
    fx_assert_sentence_has(CM_USAGE, text);
    snprintf(text, sizeof text, "%lu", two.pid);
    fx_assert_sentence_has(CM_USAGE, text);
    TEST_ASSERT_EQUAL(CM_OK, inj_resolve(text, &pid));
    TEST_ASSERT_EQUAL_UINT32(two.pid, pid);
    TEST_ASSERT_EQUAL(42, fx_idle_end(&one));
    TEST_ASSERT_EQUAL(42, fx_idle_end(&two));
    TEST_ASSERT_EQUAL(CM_USAGE, inj_resolve("", &pid));
    TEST_ASSERT_EQUAL(CM_OK, inj_resolve("99999999999999999999", &pid)); // inj_open refuses it
    refuse_open(pid, CM_NOT_FOUND, "there is no process");
}

typedef struct wanted {
    DWORD pid;
    bool found;
    inj_process process;
} wanted;

static bool take_wanted(void *context, const inj_process *process)
{
    wanted *w = context;
    TEST_ASSERT_NOT_EQUAL(GetCurrentProcessId(), process->pid);
    TEST_ASSERT_EQUAL(process->can_attach == CM_OK, process->why_not[0] == '\0');
    if (process->pid == w->pid) {
        w->found = true;
        w->process = *process;
    }
    return true;
}

static void test_list_tells_who_is_attached(void)
{
    fx_idle idle = fx_idle_start("idle_target.exe", "-");
    wanted w = {.pid = idle.pid};
    TEST_ASSERT_EQUAL(CM_OK, inj_list(take_wanted, &w));
    TEST_ASSERT_TRUE(w.found);
    TEST_ASSERT_EQUAL_STRING("idle_target.exe", w.process.name);
    TEST_ASSERT_EQUAL_HEX16(0x8664, w.process.machine);
    TEST_ASSERT_EQUAL(CM_OK, w.process.can_attach);
    TEST_ASSERT_EQUAL_UINT32(GetCurrentProcessId(), w.process.parent_pid);
    TEST_ASSERT_EQUAL_STRING("", w.process.ort_module);
    TEST_ASSERT_FALSE(w.process.attached);

    inj_target *target;
    TEST_ASSERT_EQUAL(CM_OK, inj_open(idle.pid, &target));
    TEST_ASSERT_EQUAL(CM_OK, inj_attach(target, FX_ALL_RINGS, false));
    TEST_ASSERT_EQUAL(CM_OK, inj_list(take_wanted, &w));
    TEST_ASSERT_TRUE(w.process.attached);
    TEST_ASSERT_EQUAL_UINT32(GetCurrentProcessId(), w.process.collector_pid);
    TEST_ASSERT_EQUAL(CM_OK, inj_disarm(target));
    inj_target_close(target);
    TEST_ASSERT_EQUAL(42, fx_idle_end(&idle));
}

// Under its own name, under another one (as in a Python extension), both, and one that does not
// tell its whole version.
static void test_list_finds_the_runtime(void)
{
    static const struct {
        const char *stub, *file, *loaded_first, *version;
    } cases[] = {
        {"stub_ort.dll", "onnxruntime.dll", NULL, "1.99.4"},
        {"stub_ort.dll", "native_part.pyd", NULL, "1.99.4"},
        {"stub_ort.dll", "onnxruntime.dll", "native_part.pyd", "1.99.4"},
        {"stub_ort_opaque.dll", "onnxruntime.dll", NULL, "1.99"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fx_idle idle = fx_idle_start("idle_target.exe", "-");
        inj_target *target;
        TEST_ASSERT_EQUAL(CM_OK, inj_open(idle.pid, &target));
        const char *load_these[] = {cases[i].loaded_first, cases[i].file};
        for (int k = 0; k < 2; k++) {
            if (load_these[k] == NULL)
                continue;
            wchar_t *path = fx_wide_path(load_these[k]);
            TEST_ASSERT_TRUE(CopyFileW(fx_wide_path(cases[i].stub), path, FALSE));
            load_into(target, path);
        }
        wanted w = {.pid = idle.pid};
        TEST_ASSERT_EQUAL(CM_OK, inj_list(take_wanted, &w));
        TEST_ASSERT_TRUE(w.found);
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(w.process.ort_module, cases[i].file),
                                     w.process.ort_module);
        TEST_ASSERT_EQUAL_STRING(cases[i].version, w.process.ort_version);
        inj_target_close(target);
        TEST_ASSERT_EQUAL(42, fx_idle_end(&idle));
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_programs_that_are_not_there);
    RUN_TEST(test_scripts_name_the_command_that_runs_them);
    RUN_TEST(test_programs_for_other_machines);
    RUN_TEST(test_command_line_that_is_too_long);
    RUN_TEST(test_processes_that_are_not_to_be_attached);
    RUN_TEST(test_process_that_denies_access);
    RUN_TEST(test_own_dll_missing_wrong_or_of_another_version);
    RUN_TEST(test_hook_of_another_version_in_the_target);
    RUN_TEST(test_channel_of_an_impossible_size);
    RUN_TEST(test_names);
    RUN_TEST(test_list_tells_who_is_attached);
    RUN_TEST(test_list_finds_the_runtime);
    return UNITY_END();
}
