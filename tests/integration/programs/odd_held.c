// SPDX-License-Identifier: MIT
// odd_held RUNTIME.dll MODEL: a program whose thread is stopped at the worst moment, as by a
// debugger. One thread runs the model for ever. Told by lines on standard input:
//   hold  stop that thread while it is inside ortscope_hook.dll
//   go    let it go on
// Each is answered with a line. Ends with 5 at the end of input.
#include "odd_ort.h"

#include <stdio.h>
#include <string.h>

#include <windows.h>

#include <psapi.h>

#define ATTEMPTS 100000

static odd_ort ort;
static volatile LONG g_stop;

static DWORD WINAPI run_for_ever(void *session)
{
    while (!g_stop)
        odd_run(&ort, session);
    return 0;
}

static bool is_inside(HANDLE thread, const MODULEINFO *module)
{
    CONTEXT context = {.ContextFlags = CONTEXT_CONTROL};
    return GetThreadContext(thread, &context) &&
           context.Rip - (DWORD64)(uintptr_t)module->lpBaseOfDll < module->SizeOfImage;
}

static bool hold(HANDLE thread)
{
    MODULEINFO module = {0};
    HMODULE hook = GetModuleHandleW(L"ortscope_hook.dll");
    if (!hook || !GetModuleInformation(GetCurrentProcess(), hook, &module, sizeof module))
        return false;
    for (int i = 0; i < ATTEMPTS; i++) {
        SuspendThread(thread);
        if (is_inside(thread, &module))
            return true;
        ResumeThread(thread);
        if (i % 16 == 0)
            Sleep(1);
    }
    return false;
}

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    char line[64];
    if (argc < 3)
        return 2;
    odd_load(&ort, argv[1], argv[2]);
    OrtSession *session = odd_session(&ort);
    HANDLE thread = CreateThread(NULL, 0, run_for_ever, session, 0, NULL);
    if (!thread)
        return 3;
    printf("pid %lu\n", GetCurrentProcessId());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "hold\n") == 0)
            printf("%s\n", hold(thread) ? "holds" : "never inside");
        else
            printf("goes on, was held %lu times\n", ResumeThread(thread));
        fflush(stdout);
    }
    InterlockedExchange(&g_stop, 1);
    WaitForSingleObject(thread, INFINITE);
    ort.call.ReleaseSession(session);
    return 5;
}
