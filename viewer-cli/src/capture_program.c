// SPDX-License-Identifier: MIT
// The program around the capture of it: what the file is called after, and its end.
#include "capture_loop.h"
#include "capture_stop.h"
#include "output.h"

#include <stdio.h>
#include <string.h>

#include <windows.h>

#define AWAIT_MS 50u

void vw_default_path(const inj_target *target, char *out, size_t capacity)
{
    const char *name = target->program;
    for (const char *p = name; *p; p++)
        if (*p == '\\' || *p == '/')
            name = p + 1;
    size_t len = strlen(name);
    if (len > 4 && _stricmp(name + len - 4, ".exe") == 0)
        len -= 4;
    snprintf(out, capacity, "ortscope-%.*s-%u.ortl", (int)len, name, target->pid);
}

void vw_await_program(vw_capture_result *result)
{
    if (!result->program)
        return;
    bool told = false;
    DWORD code;
    while (!vw_stop_requested(true) &&
           WaitForSingleObject(result->program, AWAIT_MS) == WAIT_TIMEOUT) {
        if (!told)
            vw_message("the recording has ended; waiting for the program (press Ctrl+C twice to "
                       "leave it running)");
        told = true;
    }
    if (WaitForSingleObject(result->program, 0) == WAIT_OBJECT_0 &&
        GetExitCodeProcess(result->program, &code)) {
        result->target_exited = true;
        result->exit_code = code;
    }
    CloseHandle(result->program);
    result->program = NULL;
}
