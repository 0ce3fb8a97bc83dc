// SPDX-License-Identifier: MIT
// odd_thread_ends RUNTIME.dll MODEL THREADS RUNS: every thread, one after the other, runs its own
// session once and releases it in its last moments: in a TLS callback of the program, which is what
// a C++ thread_local destructor becomes. The callbacks of the program come after the
// DLL_THREAD_DETACH of every DLL. Then the main thread makes its runs.
#include "odd_ort.h"

#include <stdio.h>
#include <windows.h>

static odd_ort g_ort;
static DWORD g_mine = TLS_OUT_OF_INDEXES;
static long g_released;

static void NTAPI at_thread_end(void *module, DWORD reason, void *reserved)
{
    (void)module, (void)reserved;
    if (reason != DLL_THREAD_DETACH || g_mine == TLS_OUT_OF_INDEXES || !TlsGetValue(g_mine))
        return;
    g_ort.call.ReleaseSession(TlsGetValue(g_mine));
    TlsSetValue(g_mine, NULL);
    g_released++;
}

extern const PIMAGE_TLS_CALLBACK odd_tls_entry;
__attribute__((section(".CRT$XLB"), used)) const PIMAGE_TLS_CALLBACK odd_tls_entry = at_thread_end;

static DWORD WINAPI work(void *unused)
{
    (void)unused;
    OrtSession *session = odd_session(&g_ort);
    odd_run(&g_ort, session);
    TlsSetValue(g_mine, session);
    return 0;
}

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    if (argc < 5)
        return 2;
    odd_load(&g_ort, argv[1], argv[2]);
    g_mine = TlsAlloc();
    for (long left = wcstol(argv[3], NULL, 10); left > 0; left--) {
        HANDLE thread = CreateThread(NULL, 0, work, NULL, 0, NULL);
        WaitForSingleObject(thread, INFINITE);
        CloseHandle(thread);
    }
    OrtSession *session = odd_session(&g_ort);
    for (long left = wcstol(argv[4], NULL, 10); left > 0; left--)
        odd_run(&g_ort, session);
    g_ort.call.ReleaseSession(session);
    printf("released at the end of a thread: %ld\n", g_released);
    return 6;
}
