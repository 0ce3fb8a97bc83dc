// SPDX-License-Identifier: MIT
// See child_resume.h. Touches the first thread alone: others are those of the hook, which must not
// run while it patches code. Nothing is done twice, so a child that its parent wanted suspended
// twice stays so.
#include "child_resume.h"

#include <windows.h>

#include <tlhelp32.h>

static uint64_t created_at(HANDLE thread)
{
    FILETIME created, exited, kernel, user;
    if (!GetThreadTimes(thread, &created, &exited, &kernel, &user))
        return UINT64_MAX;
    return (uint64_t)created.dwHighDateTime << 32 | created.dwLowDateTime;
}

// The oldest thread; of several that began in the same tick the one that the system lists first.
static HANDLE first_thread(uint32_t pid)
{
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0), first = NULL;
    if (snapshot == INVALID_HANDLE_VALUE)
        return NULL;
    uint64_t first_created = UINT64_MAX;
    THREADENTRY32 entry = {.dwSize = sizeof entry};
    for (BOOL more = Thread32First(snapshot, &entry); more; more = Thread32Next(snapshot, &entry)) {
        if (entry.th32OwnerProcessID != pid)
            continue;
        HANDLE thread = OpenThread(THREAD_SUSPEND_RESUME | THREAD_QUERY_LIMITED_INFORMATION, FALSE,
                                   entry.th32ThreadID);
        uint64_t created = thread ? created_at(thread) : UINT64_MAX;
        if (thread && (!first || created < first_created)) {
            if (first)
                CloseHandle(first);
            first = thread;
            first_created = created;
        } else if (thread) {
            CloseHandle(thread);
        }
    }
    CloseHandle(snapshot);
    return first;
}

cm_status vw_child_resume(const inj_target *child)
{
    HANDLE thread = first_thread(child->pid); // our handle keeps the PID from being used again
    DWORD before = thread ? ResumeThread(thread) : (DWORD)-1;
    DWORD error = GetLastError();
    if (thread)
        CloseHandle(thread);
    if (before != (DWORD)-1)
        return CM_OK;
    return cm_fail(CM_FAILED,
                   "Process %u was started suspended, its parent is gone, and Windows does not let "
                   "it be resumed (error %lu); end it in the task manager.",
                   (unsigned)child->pid, error);
}
