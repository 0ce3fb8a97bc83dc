// SPDX-License-Identifier: MIT
// One call inside the target: copy an argument there, run a thread on a function, wait for it. The
// target may end at any moment; that is told as such, never as a failed API call.
#include "win_internal.h"

#define GONE_WAIT_MS 500u // between the first failing call and the process handle's signal

uint32_t inj_remote_timeout_ms = 20000;

cm_status inj_gone(inj_target *target)
{
    DWORD code = 0;
    GetExitCodeProcess(target->process, &code);
    // Codes of crashes are known by their hexadecimal form.
    return cm_fail(CM_NOT_FOUND,
                   code < 0x80000000u ? "the target exited meanwhile (process %u, exit code %lu); "
                                        "see what it printed itself"
                                      : "the target exited meanwhile (process %u, exit code "
                                        "0x%lx); see what it printed itself",
                   (unsigned)target->pid, code);
}

cm_status inj_remote_failed(inj_target *target, const char *what, DWORD error)
{
    if (WaitForSingleObject(target->process, GONE_WAIT_MS) == WAIT_OBJECT_0)
        return inj_gone(target);
    return cm_fail(error == ERROR_ACCESS_DENIED ? CM_ACCESS_DENIED : CM_FAILED,
                   "process %u could not %s (Windows error %lu); security software may forbid it",
                   (unsigned)target->pid, what, error);
}

static cm_status run_thread(inj_target *target, uint64_t address, void *argument, const char *what,
                            inj_remote_result *out)
{
    LPTHREAD_START_ROUTINE start = (LPTHREAD_START_ROUTINE)(ULONG_PTR)address;
    HANDLE thread = CreateRemoteThread(target->process, NULL, 0, start, argument, 0, NULL);
    if (thread == NULL)
        return inj_remote_failed(target, what, GetLastError());
    out->started = true;
    cm_status status = CM_OK;
    HANDLE handles[2] = {target->process, thread};
    switch (WaitForMultipleObjects(2, handles, FALSE, inj_remote_timeout_ms)) {
    case WAIT_OBJECT_0:
        status = inj_gone(target);
        break;
    case WAIT_OBJECT_0 + 1:
        out->finished = true;
        if (!GetExitCodeThread(thread, &out->exit_code))
            status = inj_remote_failed(target, what, GetLastError());
        break;
    case WAIT_TIMEOUT:
        status = cm_fail(CM_FAILED,
                         "process %u did not %s within %u s: it is frozen, or one of its threads "
                         "holds the loader's lock; try again when it is less busy",
                         (unsigned)target->pid, what, inj_remote_timeout_ms / 1000u);
        break;
    default:
        status = inj_remote_failed(target, what, GetLastError());
        break;
    }
    CloseHandle(thread);
    return status;
}

cm_status inj_remote_call(inj_target *target, uint64_t address, const void *argument,
                          size_t argument_bytes, const char *what, inj_remote_result *out)
{
    *out = (inj_remote_result){0};
    void *remote = NULL;
    if (argument_bytes > 0) {
        remote = VirtualAllocEx(target->process, NULL, argument_bytes, MEM_RESERVE | MEM_COMMIT,
                                PAGE_READWRITE);
        if (remote == NULL)
            return inj_remote_failed(target, what, GetLastError());
        SIZE_T written = 0;
        if (!WriteProcessMemory(target->process, remote, argument, argument_bytes, &written)) {
            DWORD error = GetLastError();
            VirtualFreeEx(target->process, remote, 0, MEM_RELEASE);
            return inj_remote_failed(target, what, error);
        }
    }
    cm_status status = run_thread(target, address, remote, what, out);
    // A thread that is still running may yet read its argument.
    if (remote != NULL && (out->finished || !out->started))
        VirtualFreeEx(target->process, remote, 0, MEM_RELEASE);
    return status;
}
