// SPDX-License-Identifier: MIT
// A launcher: starts the program that its arguments name as a suspended child, prints the child's
// PID, waits for a line on standard input, lets the child run and exits with the child's code.
#include <stdio.h>
#include <windows.h>

int main(int argc, char *argv[])
{
    if (argc < 2)
        return 2;
    char command[1024];
    snprintf(command, sizeof command, "\"%s\" %s", argv[1], argc > 2 ? argv[2] : "");
    STARTUPINFOA startup = {.cb = sizeof startup};
    PROCESS_INFORMATION info;
    if (!CreateProcessA(argv[1], command, NULL, NULL, FALSE, CREATE_SUSPENDED, NULL, NULL, &startup,
                        &info))
        return 3;
    printf("%lu\n", info.dwProcessId);
    fflush(stdout);
    char line[16];
    if (fgets(line, sizeof line, stdin) == NULL)
        return 4;
    ResumeThread(info.hThread);
    WaitForSingleObject(info.hProcess, 60000);
    DWORD code = 5;
    GetExitCodeProcess(info.hProcess, &code);
    return (int)code;
}
