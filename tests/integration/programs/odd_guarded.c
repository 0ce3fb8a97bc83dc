// SPDX-License-Identifier: MIT
// odd_guarded RUNTIME.dll MODEL: has taken the access to a page of its own read-only data away, and
// to the header of a library, as programs do that guard themselves, and holds all thread-local
// slots that lie in the thread block. Tells its PID; for each line on standard input it calls ONNX
// Runtime, which does not touch the last error in that call, and tells the last error. Ends with 6
// at the end of input.
#include "odd_ort.h"

#include <stdio.h>
#include <windows.h>

enum { PAGE = 4096, SLOTS = 64, MINE = 1234 };

// Whoever imports this may have ONNX Runtime inside. Called at the end.
extern __declspec(dllimport) ULONG WINAPI
    EventWriteTransfer(uint64_t, const void *, const GUID *, const GUID *, ULONG, void *);
static __attribute__((aligned(4096))) const uint8_t odd_pages[3 * PAGE] = {1};

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    odd_ort ort;
    char line[32];
    DWORD before;
    if (argc < 3 ||
        !VirtualProtect((void *)(uintptr_t)(odd_pages + PAGE), PAGE, PAGE_NOACCESS, &before))
        return 2;
    HMODULE library = LoadLibraryW(L"msacm32.dll");
    if (!library || !DisableThreadLibraryCalls(library) ||
        !VirtualProtect(library, PAGE, PAGE_NOACCESS, &before))
        return 2;
    for (DWORD slot = 0; slot < SLOTS;)
        slot = TlsAlloc();
    odd_load(&ort, argv[1], argv[2]);
    printf("pid %lu\n", GetCurrentProcessId());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        SetLastError(MINE);
        ort.call.SetSessionExecutionMode(ort.options, 0);
        printf("last error %lu\n", GetLastError());
        fflush(stdout);
    }
    return EventWriteTransfer(0, odd_pages, NULL, NULL, 0, NULL) == MINE ? 3 : 6;
}
