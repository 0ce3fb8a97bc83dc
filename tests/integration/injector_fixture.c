// SPDX-License-Identifier: MIT
#include "injector_fixture.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <winternl.h>

wchar_t *fx_wide_path(const char *name)
{
    static wchar_t buffers[8][1024];
    static int next;
    wchar_t *path = buffers[next++ % 8];
    DWORD len = GetModuleFileNameW(NULL, path, 1024);
    while (len > 0 && path[len - 1] != L'\\')
        len--;
    MultiByteToWideChar(CP_UTF8, 0, name, -1, path + len, (int)(1024 - len));
    return path;
}

char *fx_path(const char *name)
{
    static char buffers[8][3072];
    static int next;
    char *path = buffers[next++ % 8];
    WideCharToMultiByte(CP_UTF8, 0, fx_wide_path(name), -1, path, 3072, NULL, NULL);
    return path;
}

fx_idle fx_idle_start(const char *program, const char *mode)
{
    static int count;
    char stop_name[64], ready_name[64];
    snprintf(stop_name, sizeof stop_name, "idle-stop-%lu-%d", GetCurrentProcessId(), count);
    snprintf(ready_name, sizeof ready_name, "idle-ready-%lu-%d", GetCurrentProcessId(), count++);
    fx_idle idle = {.stop = CreateEventA(NULL, TRUE, FALSE, stop_name)};
    HANDLE ready = CreateEventA(NULL, TRUE, FALSE, ready_name);
    wchar_t command[2048];
    swprintf(command, 2048, L"idle %hs %hs %hs", stop_name, mode, ready_name);
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION info;
    TEST_ASSERT_TRUE(CreateProcessW(fx_wide_path(program), command, NULL, NULL, FALSE, 0, NULL,
                                    NULL, &startup, &info));
    CloseHandle(info.hThread);
    HANDLE either[2] = {ready, info.hProcess};
    TEST_ASSERT_EQUAL(WAIT_OBJECT_0, WaitForMultipleObjects(2, either, FALSE, 120000));
    CloseHandle(ready);
    idle.process = info.hProcess;
    idle.pid = info.dwProcessId;
    return idle;
}

DWORD fx_idle_end(fx_idle *idle)
{
    SetEvent(idle->stop);
    DWORD code = 0;
    if (WaitForSingleObject(idle->process, 30000) == WAIT_OBJECT_0)
        GetExitCodeProcess(idle->process, &code);
    CloseHandle(idle->process);
    CloseHandle(idle->stop);
    return code;
}

static HANDLE g_saved_input, g_saved_output, g_input, g_output_read, g_output_write;

void fx_capture_begin(const char *input)
{
    HANDLE feed;
    DWORD written;
    TEST_ASSERT_TRUE(CreatePipe(&g_input, &feed, NULL, 65536));
    TEST_ASSERT_TRUE(CreatePipe(&g_output_read, &g_output_write, NULL, 65536));
    WriteFile(feed, input, (DWORD)strlen(input), &written, NULL);
    CloseHandle(feed);
    g_saved_input = GetStdHandle(STD_INPUT_HANDLE);
    g_saved_output = GetStdHandle(STD_OUTPUT_HANDLE);
    SetStdHandle(STD_INPUT_HANDLE, g_input);
    SetStdHandle(STD_OUTPUT_HANDLE, g_output_write);
}

void fx_capture_end(char *output, size_t output_bytes)
{
    SetStdHandle(STD_INPUT_HANDLE, g_saved_input);
    SetStdHandle(STD_OUTPUT_HANDLE, g_saved_output);
    CloseHandle(g_input);
    CloseHandle(g_output_write);
    size_t len = 0;
    DWORD got;
    while (len + 1 < output_bytes &&
           ReadFile(g_output_read, output + len, (DWORD)(output_bytes - 1 - len), &got, NULL) &&
           got > 0)
        len += got;
    output[len] = '\0';
    CloseHandle(g_output_read);
}

cm_status fx_run(int argc, char *argv[], char *output, size_t output_bytes, uint32_t *exit_code)
{
    inj_target *target = NULL;
    fx_capture_begin("a line\n");
    cm_status status = inj_launch(argc, argv, &target);
    if (status == CM_OK)
        status = inj_attach(target, FX_ALL_RINGS, false);
    if (status == CM_OK)
        status = inj_resume(target);
    for (int i = 0; status == CM_OK && i < 300; i++)
        if (inj_target_wait(target, 100) == INJ_WAIT_EXITED)
            break;
    if (status == CM_OK)
        TEST_ASSERT_TRUE(inj_target_exit_code(target, exit_code));
    else if (target != NULL)
        TerminateProcess(target->process, 1);
    fx_capture_end(output, output_bytes);
    inj_target_close(target);
    return status;
}

void fx_copy_patched(const char *from, const char *to, unsigned pe_offset, unsigned value)
{
    wchar_t *target = fx_wide_path(to);
    TEST_ASSERT_TRUE(CopyFileW(fx_wide_path(from), target, FALSE));
    FILE *file = _wfopen(target, L"r+b");
    TEST_ASSERT_NOT_NULL(file);
    uint32_t pe = 0;
    fseek(file, 0x3c, SEEK_SET);
    TEST_ASSERT_EQUAL(1, fread(&pe, 4, 1, file));
    uint8_t bytes[2] = {(uint8_t)value, (uint8_t)(value >> 8)};
    fseek(file, (long)(pe + pe_offset), SEEK_SET);
    TEST_ASSERT_EQUAL(2, fwrite(bytes, 1, 2, file));
    fclose(file);
}

unsigned fx_handle_count(DWORD pid)
{
    ULONG bytes = 1u << 20, len;
    uint8_t *buffer = malloc(bytes);
    unsigned count = 0;
    TEST_ASSERT_NOT_NULL(buffer);
    if (NtQuerySystemInformation(SystemProcessInformation, buffer, bytes, &len) >= 0) {
        for (uint8_t *at = buffer;;) {
            SYSTEM_PROCESS_INFORMATION *info = (void *)at;
            if ((DWORD)(ULONG_PTR)info->UniqueProcessId == pid)
                count = info->HandleCount;
            if (info->NextEntryOffset == 0)
                break;
            at += info->NextEntryOffset;
        }
    }
    free(buffer);
    return count;
}

size_t fx_private_bytes(HANDLE process)
{
    size_t total = 0;
    MEMORY_BASIC_INFORMATION info;
    for (uint8_t *at = NULL; VirtualQueryEx(process, at, &info, sizeof info);
         at = (uint8_t *)info.BaseAddress + info.RegionSize)
        if (info.State == MEM_COMMIT && info.Type == MEM_PRIVATE)
            total += info.RegionSize;
    return total;
}

void fx_assert_sentence_has(cm_status status, const char *part)
{
    const char *sentence = cm_error_text(status);
    if (strstr(sentence, part) == NULL) {
        char message[1400];
        snprintf(message, sizeof message, "\"%s\" is not in: %s", part, sentence);
        TEST_FAIL_MESSAGE(message);
    }
}
