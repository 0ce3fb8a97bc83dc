// SPDX-License-Identifier: MIT
// One call inside the target: copy an argument there, run a thread on a function, wait for it. The
// target may end at any moment; that is told as such, never as a failed API call, and never hangs.
#include "win_internal.h"

#include <stdlib.h>
#include <string.h>

#define GONE_WAIT_MS  500u  // between the first failing call and the process handle's signal
#define JOB_MARGIN_MS 2000u // the job has a time limit itself; this one is for when it hangs

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

// --------------------------------------------------------------------------------------- one call

// Done on a helper thread that the caller can leave behind: Windows' calls into another process
// return when that process dies, but Wine's wait for ever if it is killed while it serves one.
// Whoever is last to need the job frees it.
typedef struct remote_job {
    volatile LONG owners;
    HANDLE process; // its own: the caller may close his meanwhile
    uint64_t address;
    uint32_t timeout_ms;
    inj_remote_result result;
    bool timed_out;
    DWORD error; // of the call that failed
    size_t argument_bytes;
    uint8_t argument[];
} remote_job;

static void job_release(remote_job *job)
{
    if (InterlockedDecrement(&job->owners) != 0)
        return;
    if (job->process != NULL)
        CloseHandle(job->process);
    free(job);
}

static bool run_remote_thread(remote_job *job, void *argument)
{
    LPTHREAD_START_ROUTINE start = (LPTHREAD_START_ROUTINE)(ULONG_PTR)job->address;
    HANDLE thread = CreateRemoteThread(job->process, NULL, 0, start, argument, 0, NULL);
    if (thread == NULL)
        return false;
    job->result.started = true;
    bool ok = true;
    HANDLE handles[2] = {job->process, thread};
    switch (WaitForMultipleObjects(2, handles, FALSE, job->timeout_ms)) {
    case WAIT_OBJECT_0: // gone; the caller sees that himself
        break;
    case WAIT_OBJECT_0 + 1:
        job->result.finished = true;
        ok = GetExitCodeThread(thread, &job->result.exit_code);
        break;
    case WAIT_TIMEOUT:
        job->timed_out = true;
        break;
    default:
        ok = false;
        break;
    }
    CloseHandle(thread);
    return ok;
}

static DWORD WINAPI run_job(void *context)
{
    remote_job *job = context;
    void *argument = NULL;
    bool ok = true;
    if (job->argument_bytes > 0) {
        argument = VirtualAllocEx(job->process, NULL, job->argument_bytes, MEM_RESERVE | MEM_COMMIT,
                                  PAGE_READWRITE);
        ok = argument != NULL &&
             WriteProcessMemory(job->process, argument, job->argument, job->argument_bytes, NULL);
    }
    ok = ok && run_remote_thread(job, argument);
    if (!ok) {
        DWORD error = GetLastError();
        job->error = error != 0 ? error : ERROR_GEN_FAILURE;
    }
    // A thread that is still running may yet read its argument.
    if (argument != NULL && (job->result.finished || !job->result.started))
        VirtualFreeEx(job->process, argument, 0, MEM_RELEASE);
    job_release(job);
    return 0;
}

static remote_job *job_create(inj_target *target, uint64_t address, const void *argument,
                              size_t argument_bytes)
{
    remote_job *job = calloc(1, sizeof *job + argument_bytes);
    if (job == NULL)
        return NULL;
    job->owners = 2;
    job->address = address;
    job->timeout_ms = inj_remote_timeout_ms;
    job->argument_bytes = argument_bytes;
    if (argument_bytes > 0)
        memcpy(job->argument, argument, argument_bytes);
    if (!DuplicateHandle(GetCurrentProcess(), target->process, GetCurrentProcess(), &job->process,
                         0, FALSE, DUPLICATE_SAME_ACCESS)) {
        free(job);
        return NULL;
    }
    return job;
}

static cm_status did_not_finish(const inj_target *target, const char *what)
{
    return cm_fail(CM_FAILED,
                   "process %u did not %s within %u s: it is frozen, or one of its threads holds "
                   "the loader's lock; try again when it is less busy",
                   (unsigned)target->pid, what, (unsigned)(inj_remote_timeout_ms / 1000u));
}

// True if the job came to its end; false if it was left behind, with a sentence.
static bool wait_for_job(inj_target *target, HANDLE helper, const char *what, cm_status *status)
{
    HANDLE handles[2] = {helper, target->process};
    DWORD got = WaitForMultipleObjects(2, handles, FALSE, inj_remote_timeout_ms + JOB_MARGIN_MS);
    if (got == WAIT_OBJECT_0 + 1) // the helper notices as well, as a rule
        got = WaitForSingleObject(helper, GONE_WAIT_MS);
    if (got == WAIT_OBJECT_0)
        return true;
    *status = WaitForSingleObject(target->process, 0) == WAIT_OBJECT_0
                  ? inj_gone(target)
                  : did_not_finish(target, what);
    return false;
}

cm_status inj_remote_call(inj_target *target, uint64_t address, const void *argument,
                          size_t argument_bytes, const char *what, inj_remote_result *out)
{
    *out = (inj_remote_result){0};
    remote_job *job = job_create(target, address, argument, argument_bytes);
    if (job == NULL)
        return cm_fail(CM_NO_MEMORY, "out of memory");
    HANDLE helper = CreateThread(NULL, 0, run_job, job, 0, NULL);
    if (helper == NULL) {
        job_release(job);
        job_release(job);
        return cm_fail(CM_NO_MEMORY, "no thread could be started");
    }
    cm_status status = CM_OK;
    if (wait_for_job(target, helper, what, &status)) {
        *out = job->result;
        if (job->error != 0)
            status = inj_remote_failed(target, what, job->error);
        else if (job->timed_out)
            status = did_not_finish(target, what);
        else if (!job->result.finished)
            status = inj_gone(target);
    } else {
        out->started = true; // it may yet
    }
    CloseHandle(helper);
    job_release(job);
    return status;
}
