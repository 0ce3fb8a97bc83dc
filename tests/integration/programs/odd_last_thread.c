// SPDX-License-Identifier: MIT
// A process that nobody ends: its main thread leaves by ExitThread, and it is over, with the exit
// code 7, when its last thread returns (at a line on standard input, or its end).
#include <stdio.h>
#include <windows.h>

static DWORD WINAPI last_thread(void *main_thread)
{
    char line[8];
    WaitForSingleObject(main_thread, INFINITE);
    if (fgets(line, sizeof line, stdin) == NULL)
        Sleep(10);
    return 7;
}

int main(void)
{
    HANDLE self = NULL;
    DuplicateHandle(GetCurrentProcess(), GetCurrentThread(), GetCurrentProcess(), &self, 0, FALSE,
                    DUPLICATE_SAME_ACCESS);
    printf("pid %lu\n", GetCurrentProcessId());
    fflush(stdout);
    if (!CreateThread(NULL, 0, last_thread, self, 0, NULL))
        return 2;
    ExitThread(3);
}
