// SPDX-License-Identifier: MIT
#include "sim_etw_inject.h"

#include <stdint.h>
#include <wchar.h>

bool se_inject(HANDLE process, const WCHAR *dll)
{
    size_t bytes = (wcslen(dll) + 1) * sizeof *dll;
    void *text = VirtualAllocEx(process, NULL, bytes, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
    HANDLE thread = NULL;
    DWORD loaded = 0;
    // Wine has kernel32 at the same address in every process.
    LPTHREAD_START_ROUTINE load = (LPTHREAD_START_ROUTINE)(uintptr_t)GetProcAddress(
        GetModuleHandleW(L"kernel32.dll"), "LoadLibraryW");
    if (text && WriteProcessMemory(process, text, dll, bytes, NULL))
        thread = CreateRemoteThread(process, NULL, 0, load, text, 0, NULL);
    if (thread) {
        WaitForSingleObject(thread, INFINITE);
        GetExitCodeThread(thread, &loaded);
        CloseHandle(thread);
    }
    if (text)
        VirtualFreeEx(process, text, 0, MEM_RELEASE);
    return loaded != 0;
}
