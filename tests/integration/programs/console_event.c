// SPDX-License-Identifier: MIT
// console_event PID EVENT: tells a process of an event of its console, the way Windows itself does:
// by a thread in it that calls the console's handlers. 0 Ctrl+C, 1 Ctrl+Break, 2 the window closes,
// 5 the user signs out, 6 the system goes down. Ends with 0 once the thread runs.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <windows.h>

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    HANDLE process = OpenProcess(PROCESS_ALL_ACCESS, FALSE, strtoul(argv[1], NULL, 10));
    LPTHREAD_START_ROUTINE routine = (LPTHREAD_START_ROUTINE)(uintptr_t)GetProcAddress(
        GetModuleHandleW(L"kernelbase.dll"), "CtrlRoutine");
    HANDLE thread = process && routine
                        ? CreateRemoteThread(process, NULL, 0, routine,
                                             (void *)(uintptr_t)strtoul(argv[2], NULL, 10), 0, NULL)
                        : NULL;
    if (!thread) {
        fprintf(stderr, "console_event: error %lu\n", GetLastError());
        return 1;
    }
    return 0;
}
