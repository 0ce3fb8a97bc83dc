// SPDX-License-Identifier: MIT
// A process's own command line, read from its parameters: only where the user asked for it. What
// stands there is the process's to change, so sizes are checked and the text is repaired.
#include "win_internal.h"

#include "common/utf.h"
#include "injector/injector.h"

#include <stdlib.h>

#include <windows.h>
#include <winternl.h>

static bool read_from(HANDLE process, const void *address, void *out, size_t size)
{
    SIZE_T got = 0;
    return address && ReadProcessMemory(process, address, out, size, &got) && got == size;
}

static char *read_line(HANDLE process)
{
    PROCESS_BASIC_INFORMATION info;
    PEB peb;
    RTL_USER_PROCESS_PARAMETERS parameters;
    ULONG len;
    if (NtQueryInformationProcess(process, ProcessBasicInformation, &info, sizeof info, &len) < 0 ||
        !read_from(process, info.PebBaseAddress, &peb, sizeof peb) ||
        !read_from(process, peb.ProcessParameters, &parameters, sizeof parameters))
        return NULL;
    size_t count = parameters.CommandLine.Length / sizeof(wchar_t);
    uint16_t *wide = calloc(count + 1, sizeof *wide);
    char *line = malloc(3 * count + 1);
    if (!wide || !line ||
        !read_from(process, parameters.CommandLine.Buffer, wide, count * sizeof *wide)) {
        free(line);
        line = NULL;
    } else {
        line[cm_utf16_to_utf8(wide, count, line, 3 * count + 1)] = '\0';
    }
    free(wide);
    return line;
}

char *inj_command_line_of(const inj_target *target)
{
    HANDLE process = OpenProcess(PROCESS_QUERY_INFORMATION | PROCESS_VM_READ, FALSE, target->pid);
    char *line = process ? read_line(process) : NULL;
    if (process)
        CloseHandle(process);
    return line;
}
