// SPDX-License-Identifier: MIT
// Starts itself as a child for every line on standard input and waits for it; prints how long
// CreateProcess took, the child's exit code, which tells that it ran, and its PID. Ends with 5.
#include <stdio.h>
#include <string.h>
#include <windows.h>

static void spawn(const char *self, unsigned number)
{
    char command[MAX_PATH + 32];
    snprintf(command, sizeof command, "\"%s\" child %u", self, number);
    STARTUPINFOA startup = {.cb = sizeof startup};
    PROCESS_INFORMATION child = {0};
    DWORD code = 0;
    ULONGLONG begin = GetTickCount64();
    BOOL created =
        CreateProcessA(NULL, command, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &child);
    ULONGLONG took = GetTickCount64() - begin;
    if (created) {
        WaitForSingleObject(child.hProcess, 60000);
        GetExitCodeProcess(child.hProcess, &code);
        CloseHandle(child.hThread);
        CloseHandle(child.hProcess);
    }
    printf("spawn %u took %llu ms code %lu pid %lu\n", number, took, code, child.dwProcessId);
    fflush(stdout);
}

int main(int argc, char *argv[])
{
    if (argc > 2 && strcmp(argv[1], "child") == 0)
        return 33;
    char self[MAX_PATH], line[8];
    GetModuleFileNameA(NULL, self, sizeof self);
    printf("ready\n");
    fflush(stdout);
    for (unsigned number = 1; fgets(line, sizeof line, stdin); number++)
        spawn(self, number);
    return 5;
}
