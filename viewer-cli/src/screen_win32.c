// SPDX-License-Identifier: MIT
// See screen.h. common/os.h has made the console obey escape sequences already. A closing console
// or Ctrl+C is told as VW_KEY_QUIT, so that a capture can end well (capture_stop.c); a crash puts
// the console back before the system's own handling.
#include "screen.h"

#include "common/os.h"

#include <stdlib.h>
#include <string.h>

#include <windows.h>

static HANDLE g_input, g_output;
static DWORD g_input_mode;
static volatile LONG g_open, g_quit;

static BOOL WINAPI on_control(DWORD event)
{
    (void)event;
    InterlockedExchange(&g_quit, 1);
    return FALSE; // the capture's own handler decides what becomes of us
}

static LONG WINAPI on_crash(EXCEPTION_POINTERS *exception)
{
    (void)exception;
    vw_screen_close();
    return EXCEPTION_CONTINUE_SEARCH;
}

cm_status vw_screen_open(void)
{
    DWORD output_mode;
    g_input = GetStdHandle(STD_INPUT_HANDLE);
    g_output = GetStdHandle(STD_OUTPUT_HANDLE);
    if (!GetConsoleMode(g_input, &g_input_mode) || !GetConsoleMode(g_output, &output_mode))
        return cm_fail(CM_USAGE, "Standard input and output are no console; --once prints the "
                                 "numbers without one.");
    if (!(output_mode & ENABLE_VIRTUAL_TERMINAL_PROCESSING))
        return cm_fail(CM_UNSUPPORTED, "This console does not know escape sequences (Windows 10 "
                                       "1607 and later do); --once prints the numbers without "
                                       "them.");
    SetConsoleMode(g_input, ENABLE_PROCESSED_INPUT | ENABLE_WINDOW_INPUT | ENABLE_EXTENDED_FLAGS);
    SetConsoleCtrlHandler(on_control, TRUE);
    SetUnhandledExceptionFilter(on_crash);
    atexit(vw_screen_close);
    InterlockedExchange(&g_open, 1);
    cm_stream_write(CM_STDOUT, VW_SCREEN_ENTER, strlen(VW_SCREEN_ENTER));
    return CM_OK;
}

void vw_screen_close(void)
{
    if (!InterlockedExchange(&g_open, 0))
        return;
    cm_stream_write(CM_STDOUT, VW_SCREEN_LEAVE, strlen(VW_SCREEN_LEAVE));
    SetConsoleMode(g_input, g_input_mode);
}

void vw_screen_size(unsigned *columns, unsigned *rows)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    bool known = GetConsoleScreenBufferInfo(g_output, &info);
    *columns = known ? (unsigned)(info.srWindow.Right - info.srWindow.Left + 1) : 80;
    *rows = known ? (unsigned)(info.srWindow.Bottom - info.srWindow.Top + 1) : 24;
}

static int key_of(const KEY_EVENT_RECORD *event)
{
    char c = event->uChar.AsciiChar;
    switch (event->wVirtualKeyCode) {
    case VK_UP:
        return VW_KEY_UP;
    case VK_DOWN:
        return VW_KEY_DOWN;
    case VK_LEFT:
        return VW_KEY_LEFT;
    case VK_RIGHT:
        return VW_KEY_RIGHT;
    default:
        return c == 3 ? VW_KEY_QUIT : c > 0 ? c : VW_KEY_NONE;
    }
}

int vw_screen_key(unsigned timeout_ms)
{
    uint64_t end = cm_monotonic_ns() + timeout_ms * 1000000ull;
    for (;;) {
        uint64_t now = cm_monotonic_ns();
        DWORD left = now < end ? (DWORD)((end - now) / 1000000u) : 0;
        if (g_quit)
            return VW_KEY_QUIT;
        DWORD waited = WaitForSingleObject(g_input, left);
        if (waited != WAIT_OBJECT_0)
            return waited == WAIT_TIMEOUT ? VW_KEY_NONE : VW_KEY_QUIT;
        INPUT_RECORD record;
        DWORD got = 0;
        if (!ReadConsoleInputW(g_input, &record, 1, &got) || got == 0)
            return VW_KEY_QUIT;
        if (record.EventType == WINDOW_BUFFER_SIZE_EVENT)
            return VW_KEY_RESIZED;
        if (record.EventType == KEY_EVENT && record.Event.KeyEvent.bKeyDown) {
            int key = key_of(&record.Event.KeyEvent);
            if (key != VW_KEY_NONE)
                return key;
        }
    }
}
