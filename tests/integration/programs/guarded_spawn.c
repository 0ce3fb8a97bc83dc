// SPDX-License-Identifier: MIT
// guarded_spawn PROGRAM ARGS...: starts the program as a process that others may watch and wait
// for, and nothing else: nobody may write into it or start threads in it, as in a protected one.
// Ends with its exit code.
#include <windows.h>

#include <sddl.h>

#include <stdio.h>
#include <string.h>
#include <wchar.h>

// Everyone: SYNCHRONIZE and PROCESS_QUERY_LIMITED_INFORMATION.
#define WATCHERS_ONLY L"D:P(A;;0x00101000;;;WD)"

// Our own command line past the first word.
static wchar_t *rest(void)
{
    wchar_t *at = GetCommandLineW();
    int quoted = 0;
    for (; *at && (quoted || (*at != L' ' && *at != L'\t')); at++)
        quoted ^= *at == L'"';
    return at + wcsspn(at, L" \t");
}

int main(void)
{
    SECURITY_ATTRIBUTES security = {.nLength = sizeof security};
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION process;
    DWORD code = 0;
    if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(
            WATCHERS_ONLY, SDDL_REVISION_1, &security.lpSecurityDescriptor, NULL) ||
        !CreateProcessW(NULL, rest(), &security, NULL, TRUE, 0, NULL, NULL, &startup, &process)) {
        fprintf(stderr, "guarded_spawn: error %lu\n", GetLastError());
        return 125;
    }
    WaitForSingleObject(process.hProcess, INFINITE);
    GetExitCodeProcess(process.hProcess, &code);
    return (int)code;
}
