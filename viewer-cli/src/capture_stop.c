// SPDX-License-Identifier: MIT
#include "capture_stop.h"

#include "output.h"

#include <limits.h>

#include <windows.h>

static volatile LONG g_presses;
static volatile LONG g_closing;
static HANDLE g_done;

static BOOL WINAPI on_control(DWORD event)
{
    if (event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT) {
        InterlockedIncrement(&g_presses);
        return TRUE;
    }
    // Whoever returns from here ends the process. Windows itself does so some seconds after a
    // console was closed, so there is no limit of our own.
    InterlockedExchange(&g_closing, 1);
    WaitForSingleObject(g_done, INFINITE);
    return FALSE;
}

void vw_stop_install(void)
{
    g_done = CreateEventW(NULL, TRUE, FALSE, NULL);
    SetConsoleCtrlHandler(on_control, TRUE);
}

long vw_stop_presses(void)
{
    return g_closing ? LONG_MAX : g_presses;
}

bool vw_stop_requested(bool launched)
{
    static bool told;
    long presses = vw_stop_presses();
    if (launched && presses == 1 && !told) {
        told = true;
        vw_message("waiting for the program to end; press Ctrl+C again to stop profiling and "
                   "leave it running");
    }
    return presses >= (launched ? 2 : 1);
}

void vw_stop_done(void)
{
    SetEvent(g_done);
}
