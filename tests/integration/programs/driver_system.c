// SPDX-License-Identifier: MIT
// Everything of ort_driver that is about the operating system and not about ONNX Runtime: files,
// the go file, the counter file, ways to crash, children. It must never touch a runtime.
#include "driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static volatile LONG g_gone; // the go file was seen
static volatile LONG64 *g_counter;
static LONG64 g_private_counter;
static ULONGLONG g_loop_start;

void drv_take(drv_lock *lock)
{
    AcquireSRWLockExclusive((PSRWLOCK)&lock->word);
}

void drv_give(drv_lock *lock)
{
    ReleaseSRWLockExclusive((PSRWLOCK)&lock->word);
}

void drv_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "ort_driver: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    fflush(stderr);
    va_end(args);
    TerminateProcess(GetCurrentProcess(), 99);
    abort();
}

void *drv_allocate(size_t size)
{
    void *memory = calloc(1, size ? size : 1);
    if (!memory)
        drv_die("out of memory");
    return memory;
}

char *drv_copy(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(drv_allocate(size), text, size);
}

char *drv_utf8(const wchar_t *text)
{
    int size = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *out = drv_allocate((size_t)size);
    WideCharToMultiByte(CP_UTF8, 0, text, -1, out, size, NULL, NULL);
    return out;
}

void drv_read_file(const wchar_t *path, drv_file *out)
{
    FILE *file = _wfopen(path, L"rb");
    if (!file)
        drv_die("cannot open the model %ls", path);
    fseek(file, 0, SEEK_END);
    out->size = (size_t)ftell(file);
    fseek(file, 0, SEEK_SET);
    out->bytes = drv_allocate(out->size);
    if (fread(out->bytes, 1, out->size, file) != out->size)
        drv_die("cannot read the model %ls", path);
    fclose(file);
    wcsncpy(out->path, path, sizeof out->path / sizeof *out->path - 1);
}

void drv_write_file(const wchar_t *path, const char *data, size_t size)
{
    // WriteFile and not stdio: a report must be whole also when the process dies right after it.
    HANDLE file =
        path ? CreateFileW(path, GENERIC_WRITE, FILE_SHARE_READ, NULL, CREATE_ALWAYS, 0, NULL)
             : GetStdHandle(STD_OUTPUT_HANDLE);
    if (path && file == INVALID_HANDLE_VALUE)
        drv_die("cannot write %ls", path);
    while (size > 0) {
        DWORD written = 0;
        if (!WriteFile(file, data, (DWORD)size, &written, NULL) || written == 0)
            break;
        data += written;
        size -= written;
    }
    if (path)
        CloseHandle(file);
}

bool drv_file_exists(const wchar_t *path)
{
    return GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES;
}

void drv_open_counter(const wchar_t *path)
{
    g_counter = &g_private_counter;
    if (!path)
        return;
    HANDLE file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE,
                              FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, CREATE_ALWAYS, 0, NULL);
    HANDLE map = CreateFileMappingW(file, NULL, PAGE_READWRITE, 0, 4096, NULL);
    void *view = map ? MapViewOfFile(map, FILE_MAP_WRITE, 0, 0, 4096) : NULL;
    if (!view)
        drv_die("cannot map the counter file %ls", path);
    g_counter = view;
}

void drv_count_run(void)
{
    InterlockedIncrement64(g_counter);
}

bool drv_early(void)
{
    return g_drv.go_file && !g_gone;
}

void drv_await_go(void)
{
    if (g_drv.pid_file) {
        // Under another name first: who sees the file must see all of it.
        wchar_t unfinished[600];
        char text[32];
        _snwprintf(unfinished, 599, L"%ls.new", g_drv.pid_file);
        unfinished[599] = 0;
        int size = snprintf(text, sizeof text, "%lu\n", GetCurrentProcessId());
        drv_write_file(unfinished, text, (size_t)size);
        MoveFileExW(unfinished, g_drv.pid_file, MOVEFILE_REPLACE_EXISTING);
    }
    while (g_drv.go_file && !drv_file_exists(g_drv.go_file))
        Sleep(5);
    InterlockedExchange(&g_gone, 1);
    g_loop_start = GetTickCount64();
}

bool drv_keep_looping(void)
{
    if (g_drv.loop_seconds < 0)
        return false;
    if (g_drv.stop_file && drv_file_exists(g_drv.stop_file))
        return false;
    return (double)(GetTickCount64() - g_loop_start) < g_drv.loop_seconds * 1000.0;
}

uint64_t drv_next(drv_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int drv_below(drv_random *random, int bound)
{
    return (int)(drv_next(random) % (uint64_t)bound);
}

static DWORD WINAPI exit_here(void *code)
{
    ExitProcess((UINT)(ULONG_PTR)code);
}

void drv_crash(const char *kind)
{
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);
    if (!strcmp(kind, "av")) {
        volatile int *volatile nowhere = NULL;
        *nowhere = 1;
    } else if (!strcmp(kind, "abort")) {
        abort();
    } else if (!strcmp(kind, "fastfail")) {
        __asm__ volatile("int $0x29" : : "c"(7));
    } else if (!strcmp(kind, "terminate")) {
        TerminateProcess(GetCurrentProcess(), g_drv.exit_code);
    } else if (!strcmp(kind, "exit-thread")) {
        HANDLE thread =
            CreateThread(NULL, 0, exit_here, (void *)(ULONG_PTR)g_drv.exit_code, 0, NULL);
        WaitForSingleObject(thread, INFINITE);
    } else if (!strcmp(kind, "raise")) {
        RaiseException(0xE0001234u, EXCEPTION_NONCONTINUABLE, 0, NULL);
    }
    drv_die("unknown way to crash: %s", kind);
}

// The same command line without the switches that ask for a child.
static wchar_t *child_command_line(int argc, wchar_t **argv)
{
    size_t room = 16;
    for (int i = 0; i < argc; i++)
        room += wcslen(argv[i]) + 3;
    wchar_t *line = drv_allocate(room * sizeof *line);
    for (int i = 0; i < argc; i++) {
        if (!wcscmp(argv[i], L"--spawn") || !wcscmp(argv[i], L"--spawn-suspended"))
            continue;
        wcscat(line, i ? L" \"" : L"\"");
        wcscat(line, argv[i]);
        wcscat(line, L"\"");
    }
    return line;
}

int drv_spawn(int argc, wchar_t **argv)
{
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION child;
    wchar_t *line = child_command_line(argc, argv);
    DWORD flags = g_drv.spawn_suspended ? CREATE_SUSPENDED : 0;
    if (!CreateProcessW(NULL, line, NULL, NULL, TRUE, flags, NULL, NULL, &startup, &child))
        drv_die("cannot start the child, error %lu", GetLastError());
    if (g_drv.spawn_suspended) {
        // Whoever follows children must leave the suspension to us.
        Sleep(200);
        DWORD count = ResumeThread(child.hThread);
        if (count != 1)
            drv_die("the child's suspend count was %lu instead of 1", count);
    }
    WaitForSingleObject(child.hProcess, INFINITE);
    DWORD code = 98;
    GetExitCodeProcess(child.hProcess, &code);
    char text[160];
    int size = snprintf(text, sizeof text,
                        "{\"program\":\"ort_driver\",\"role\":\"parent\",\"pid\":%lu,"
                        "\"child_pid\":%lu,\"child_exit_code\":%lu}\n",
                        GetCurrentProcessId(), child.dwProcessId, code);
    drv_write_file(NULL, text, (size_t)size);
    free(line);
    return (int)code;
}
