// SPDX-License-Identifier: MIT
// The contract of common/os.h on Windows. Only kernel32 is used here, so that whoever links one of
// these functions imports nothing else; the arguments (shell32) are in args_win32.c.
#include "common/os.h"
#include "common/utf.h"

#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <timeapi.h>

struct cm_file {
    HANDLE handle;
    char path[]; // for the sentences
};

#define CHUNK_BYTES ((size_t)1 << 30) // ReadFile and WriteFile count in 32 bits

// Ticks of 100 ns between 1601 and 1970
#define EPOCH_DIFFERENCE 116444736000000000u

static cm_status fail_win32(DWORD error, const char *what, const char *path)
{
    cm_status status = error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND ||
                               error == ERROR_INVALID_NAME
                           ? CM_NOT_FOUND
                       : error == ERROR_ACCESS_DENIED || error == ERROR_SHARING_VIOLATION ||
                               error == ERROR_WRITE_PROTECT
                           ? CM_ACCESS_DENIED
                           : CM_IO;
    wchar_t wide[256];
    char reason[512];
    DWORD len = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL,
                               error, MAKELANGID(LANG_ENGLISH, SUBLANG_DEFAULT), wide, 256, NULL);
    if (len == 0) // no English messages on this system: then in its own language
        len = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL,
                             error, 0, wide, 256, NULL);
    while (len > 0 && (wide[len - 1] <= L' ' || wide[len - 1] == L'.'))
        len--;
    cm_utf16_to_utf8((const uint16_t *)wide, len, reason, sizeof reason);
    return cm_fail(status, "Cannot %s \"%s\": %s (Windows error %lu).", what, path,
                   len ? reason : "no reason given", (unsigned long)error);
}

// NULL when there is no memory; free() it.
static wchar_t *widen(const char *text)
{
    size_t count = cm_utf8_to_utf16(text, CM_UTF_NUL, NULL, 0) + 1;
    wchar_t *wide = malloc(count * sizeof *wide);
    if (wide)
        cm_utf8_to_utf16(text, CM_UTF_NUL, (uint16_t *)wide, count);
    return wide;
}

static cm_status open_handle(const char *path, DWORD access, DWORD share, DWORD disposition,
                             DWORD flags, const char *what, cm_file **out)
{
    cm_status status;
    size_t path_size = strlen(path) + 1;
    cm_file *f = malloc(sizeof *f + path_size);
    wchar_t *wide = widen(path);
    if (!f || !wide) {
        status = cm_fail(CM_NO_MEMORY, "There is not enough memory to open \"%s\".", path);
        goto failed;
    }
    memcpy(f->path, path, path_size);
    f->handle = CreateFileW(wide, access, share, NULL, disposition, flags, NULL);
    if (f->handle == INVALID_HANDLE_VALUE) {
        status = fail_win32(GetLastError(), what, path);
        goto failed;
    }
    free(wide);
    *out = f;
    return CM_OK;
failed:
    free(wide);
    free(f);
    return status;
}

cm_status cm_file_open(const char *path, cm_file **out)
{
    return open_handle(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                       OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, "open", out);
}

cm_status cm_file_create(const char *path, cm_file **out)
{
    return open_handle(path, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE, CREATE_ALWAYS,
                       FILE_ATTRIBUTE_NORMAL, "create", out);
}

cm_status cm_file_append(const char *path, cm_file **out)
{
    return open_handle(path, FILE_APPEND_DATA | SYNCHRONIZE,
                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, OPEN_ALWAYS,
                       FILE_ATTRIBUTE_NORMAL, "write to", out);
}

cm_status cm_file_can_create(const char *path)
{
    cm_file *f;
    DWORD share = FILE_SHARE_READ | FILE_SHARE_DELETE;
    cm_status status =
        open_handle(path, GENERIC_WRITE, share, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, "create", &f);
    if (status == CM_NOT_FOUND)
        status = open_handle(path, GENERIC_WRITE | DELETE, share, CREATE_NEW,
                             FILE_FLAG_DELETE_ON_CLOSE, "create", &f);
    return status == CM_OK ? cm_file_close(f) : status;
}

cm_status cm_file_size(cm_file *f, uint64_t *out_bytes)
{
    LARGE_INTEGER size;
    if (!GetFileSizeEx(f->handle, &size))
        return fail_win32(GetLastError(), "get the size of", f->path);
    *out_bytes = (uint64_t)size.QuadPart;
    return CM_OK;
}

cm_status cm_file_read_at(cm_file *f, uint64_t offset, void *buffer, size_t len, size_t *out_len)
{
    size_t done = 0;
    while (done < len && offset + done <= INT64_MAX) {
        DWORD chunk = (DWORD)(len - done < CHUNK_BYTES ? len - done : CHUNK_BYTES);
        DWORD got = 0;
        uint64_t at = offset + done;
        OVERLAPPED position = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
        if (!ReadFile(f->handle, (char *)buffer + done, chunk, &got, &position)) {
            DWORD error = GetLastError();
            if (error == ERROR_HANDLE_EOF)
                break;
            return fail_win32(error, "read", f->path);
        }
        if (got == 0)
            break;
        done += got;
    }
    *out_len = done;
    return CM_OK;
}

cm_status cm_file_write(cm_file *f, const void *data, size_t len)
{
    for (size_t done = 0; done < len;) {
        DWORD chunk = (DWORD)(len - done < CHUNK_BYTES ? len - done : CHUNK_BYTES);
        DWORD put = 0;
        if (!WriteFile(f->handle, (const char *)data + done, chunk, &put, NULL))
            return fail_win32(GetLastError(), "write to", f->path);
        if (put == 0)
            return fail_win32(ERROR_DISK_FULL, "write to", f->path);
        done += put;
    }
    return CM_OK;
}

cm_status cm_file_sync(cm_file *f)
{
    if (FlushFileBuffers(f->handle))
        return CM_OK;
    DWORD error = GetLastError();
    // A console or a device that has no buffers has nothing to lose either.
    if (error == ERROR_INVALID_HANDLE || error == ERROR_INVALID_FUNCTION)
        return CM_OK;
    return fail_win32(error, "write to", f->path);
}

cm_status cm_file_close(cm_file *f)
{
    cm_status status = CM_OK;
    if (!f)
        return CM_OK;
    if (!CloseHandle(f->handle))
        status = fail_win32(GetLastError(), "close", f->path);
    free(f);
    return status;
}

cm_status cm_file_remove(const char *path)
{
    wchar_t *wide = widen(path);
    if (!wide)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to remove \"%s\".", path);
    cm_status status = DeleteFileW(wide) ? CM_OK : fail_win32(GetLastError(), "remove", path);
    free(wide);
    return status;
}

void cm_file_discard(const char *path)
{
    wchar_t *wide = widen(path);
    if (wide)
        DeleteFileW(wide); // refuses devices by itself
    free(wide);
}

static bool identify(const char *path, BY_HANDLE_FILE_INFORMATION *out)
{
    wchar_t *wide = widen(path);
    HANDLE handle = wide ? CreateFileW(wide, FILE_READ_ATTRIBUTES,
                                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                       OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL)
                         : INVALID_HANDLE_VALUE;
    free(wide);
    if (handle == INVALID_HANDLE_VALUE)
        return false;
    bool known = GetFileInformationByHandle(handle, out);
    CloseHandle(handle);
    return known;
}

bool cm_file_is_same(const char *a, const char *b)
{
    BY_HANDLE_FILE_INFORMATION of_a, of_b;
    return identify(a, &of_a) && identify(b, &of_b) &&
           of_a.dwVolumeSerialNumber == of_b.dwVolumeSerialNumber &&
           of_a.nFileIndexHigh == of_b.nFileIndexHigh && of_a.nFileIndexLow == of_b.nFileIndexLow;
}

uint64_t cm_monotonic_ns(void)
{
    LARGE_INTEGER now, frequency;
    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&now);
    uint64_t ticks = (uint64_t)now.QuadPart, per_s = (uint64_t)frequency.QuadPart;
    // In two parts: ticks * 10^9 overflows after half an hour at 10 MHz.
    return ticks / per_s * 1000000000u + ticks % per_s * 1000000000u / per_s;
}

uint64_t cm_utc_ns(void)
{
    FILETIME now;
    GetSystemTimePreciseAsFileTime(&now);
    uint64_t ticks = (uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime;
    return (ticks - EPOCH_DIFFERENCE) * 100;
}

void cm_sleep_ms(uint32_t ms)
{
    Sleep(ms);
}

void cm_fine_timer(bool on)
{
    if (on)
        timeBeginPeriod(1);
    else
        timeEndPeriod(1);
}

static HANDLE stream_handle(cm_stream stream)
{
    return GetStdHandle(stream == CM_STDOUT ? STD_OUTPUT_HANDLE : STD_ERROR_HANDLE);
}

#define WRITE_MAX 16384u

// As much as goes into one write, not ending inside a UTF-8 character.
static DWORD portion(const char *bytes, size_t len)
{
    if (len <= WRITE_MAX)
        return (DWORD)len;
    DWORD cut = WRITE_MAX;
    while (cut > WRITE_MAX - 4 && ((unsigned char)bytes[cut] & 0xc0) == 0x80)
        cut--;
    return cut;
}

cm_status cm_stream_write(cm_stream stream, const void *bytes, size_t len)
{
    const char *at = bytes;
    HANDLE handle = stream_handle(stream);
    while (len > 0) {
        DWORD done = 0;
        if (!WriteFile(handle, at, portion(at, len), &done, NULL)) {
            DWORD error = GetLastError();
            if (error == ERROR_BROKEN_PIPE || error == ERROR_NO_DATA ||
                error == ERROR_PIPE_NOT_CONNECTED)
                return CM_END;
            return cm_fail(CM_IO, "The output could not be written (error %lu).", error);
        }
        at += done;
        len -= done;
    }
    return CM_OK;
}

bool cm_is_terminal(cm_stream stream)
{
    DWORD mode;
    return GetConsoleMode(stream_handle(stream), &mode) != 0;
}

unsigned cm_terminal_width(cm_stream stream)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    if (!GetConsoleScreenBufferInfo(stream_handle(stream), &info))
        return 0;
    int width = info.srWindow.Right - info.srWindow.Left + 1;
    return width > 0 ? (unsigned)width : 0;
}

bool cm_terminal_is_utf8(void)
{
    return GetConsoleOutputCP() == CP_UTF8;
}

static struct {
    UINT code_page;
    HANDLE handle[2];
    DWORD mode[2];
    bool changed[2];
} g_console;

static void restore_console(void)
{
    if (g_console.code_page)
        SetConsoleOutputCP(g_console.code_page);
    for (int i = 0; i < 2; i++)
        if (g_console.changed[i])
            SetConsoleMode(g_console.handle[i], g_console.mode[i]);
}

void cm_console_init(void)
{
    _setmode(_fileno(stdout), _O_BINARY);
    _setmode(_fileno(stderr), _O_BINARY);
    g_console.code_page = GetConsoleOutputCP(); // 0: no console
    if (g_console.code_page)
        SetConsoleOutputCP(CP_UTF8);
    for (int i = 0; i < 2; i++) {
        HANDLE handle = stream_handle(i == 0 ? CM_STDOUT : CM_STDERR);
        g_console.handle[i] = handle;
        g_console.changed[i] =
            GetConsoleMode(handle, &g_console.mode[i]) &&
            SetConsoleMode(handle, g_console.mode[i] | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
    atexit(restore_console);
}
