// SPDX-License-Identifier: MIT
// Starts a program suspended, the way a shell would have started it: same console, standard
// handles, working directory and environment. Nothing of ours leaks into it.
#include "win_internal.h"

#include "../command_line.h"

#include <stdlib.h>

#define COMMAND_LINE_MAX_CHARS 32767
#define ELEVATION_REQUIRED     740 // the headers at hand lack it

static cm_status make_command_line(int argc, char *const argv[], wchar_t **out)
{
    size_t len = inj_command_line(argc, argv, NULL, 0);
    char *utf8 = malloc(len + 1);
    if (utf8 == NULL)
        return cm_fail(CM_NO_MEMORY, "out of memory");
    inj_command_line(argc, argv, utf8, len + 1);
    wchar_t *wide = inj_wide(utf8);
    free(utf8);
    if (wide == NULL)
        return cm_fail(CM_USAGE, "the program's arguments are not valid UTF-8 text");
    if (wcslen(wide) >= COMMAND_LINE_MAX_CHARS) {
        free(wide);
        return cm_fail(CM_USAGE, "the command line is longer than the 32767 characters that "
                                 "Windows allows; pass some of it in a file");
    }
    *out = wide;
    return CM_OK;
}

static HANDLE inheritable_standard_handle(DWORD which, bool *any)
{
    HANDLE handle = GetStdHandle(which);
    if (handle == NULL || handle == INVALID_HANDLE_VALUE)
        return NULL;
    *any = true;
    SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    return handle;
}

// Also hands on the C runtime's table of inherited files (lpReserved2): a program that got, say, a
// pipe as file 3 from its parent still gets it with us in between.
static STARTUPINFOW startup_like_ours(void)
{
    STARTUPINFOW ours, theirs = {.cb = sizeof theirs};
    GetStartupInfoW(&ours);
    theirs.cbReserved2 = ours.cbReserved2;
    theirs.lpReserved2 = ours.lpReserved2;
    theirs.dwFlags = ours.dwFlags & STARTF_USESHOWWINDOW;
    theirs.wShowWindow = ours.wShowWindow;
    bool any = false;
    theirs.hStdInput = inheritable_standard_handle(STD_INPUT_HANDLE, &any);
    theirs.hStdOutput = inheritable_standard_handle(STD_OUTPUT_HANDLE, &any);
    theirs.hStdError = inheritable_standard_handle(STD_ERROR_HANDLE, &any);
    if (any)
        theirs.dwFlags |= STARTF_USESTDHANDLES;
    return theirs;
}

static cm_status launch_failed(const char *program, DWORD error)
{
    switch (error) {
    case ELEVATION_REQUIRED:
        return cm_fail(CM_ACCESS_DENIED,
                       "%s has to run as administrator; start ortscope from a "
                       "terminal that runs as administrator",
                       program);
    case ERROR_ACCESS_DENIED:
        return cm_fail(CM_ACCESS_DENIED,
                       "Windows denies starting %s; check its permissions and "
                       "what security software says",
                       program);
    case ERROR_BAD_EXE_FORMAT:
    case ERROR_EXE_MACHINE_TYPE_MISMATCH:
        return cm_fail(CM_UNSUPPORTED, "%s is not a program that this Windows can run", program);
    default:
        return cm_fail(CM_FAILED, "%s could not be started (Windows error %lu)", program, error);
    }
}

cm_status inj_launch(int argc, char *const argv[], inj_target **out)
{
    if (argc < 1)
        return cm_fail(CM_USAGE, "no program was given; use: ortscope run -- PROGRAM [ARGS...]");
    wchar_t path[INJ_PATH_CHARS];
    CM_TRY(inj_find_program(argv[0], path));
    wchar_t *command_line = NULL;
    CM_TRY(make_command_line(argc, argv, &command_line));

    STARTUPINFOW startup = startup_like_ours();
    PROCESS_INFORMATION info;
    BOOL ok = CreateProcessW(path, command_line, NULL, NULL, TRUE, CREATE_SUSPENDED, NULL, NULL,
                             &startup, &info);
    DWORD error = GetLastError();
    free(command_line);
    if (!ok)
        return launch_failed(argv[0], error);
    cm_status status = inj_target_create(info.hProcess, info.hThread, info.dwProcessId, out);
    if (status != CM_OK)
        return status;
    (*out)->parent_pid = GetCurrentProcessId();
    return CM_OK;
}
