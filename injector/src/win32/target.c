// SPDX-License-Identifier: MIT
// The life of a target after it was opened: waiting for it, its exit code, asking the hook to let
// go, closing. Never ends a process that ran before us.
#include "win_internal.h"

#include "tracelogging/channel.h"

#include <stdlib.h>

#define DISARM_TIMEOUT_MS 5000u
#define DISARM_STEP_MS    20u

cm_status inj_target_create(HANDLE process, HANDLE thread, uint32_t pid, inj_target **out)
{
    inj_target *target = calloc(1, sizeof *target);
    if (target == NULL) {
        if (thread != NULL) { // launched by us and still before its first instruction
            TerminateProcess(process, 1);
            CloseHandle(thread);
        }
        CloseHandle(process);
        return cm_fail(CM_NO_MEMORY, "out of memory");
    }
    target->pid = pid;
    target->process = process;
    target->main_thread = thread;
    target->created_100ns = inj_creation_time(process);
    wchar_t path[INJ_PATH_CHARS];
    DWORD chars = INJ_PATH_CHARS;
    if (QueryFullProcessImageNameW(process, 0, path, &chars))
        inj_utf8(path, target->program, sizeof target->program);
    *out = target;
    return CM_OK;
}

cm_status inj_resume(inj_target *target)
{
    if (target->main_thread == NULL)
        return CM_OK;
    if (ResumeThread(target->main_thread) == (DWORD)-1)
        return inj_remote_failed(target, "be resumed", GetLastError());
    return CM_OK;
}

inj_wait inj_target_wait(inj_target *target, uint32_t timeout_ms)
{
    return inj_target_wait_or(target, NULL, timeout_ms);
}

inj_wait inj_target_wait_or(inj_target *target, void *event, uint32_t timeout_ms)
{
    HANDLE handles[3] = {target->process};
    DWORD count = 1;
    if (target->wake_collector != NULL)
        handles[count++] = target->wake_collector;
    if (event != NULL)
        handles[count++] = event;
    switch (WaitForMultipleObjects(count, handles, FALSE, timeout_ms)) {
    case WAIT_OBJECT_0:
        return INJ_WAIT_EXITED;
    case WAIT_OBJECT_0 + 1:
    case WAIT_OBJECT_0 + 2:
        return INJ_WAIT_WOKEN;
    case WAIT_FAILED: // never a busy loop in the caller
        Sleep(timeout_ms < 100 ? timeout_ms : 100);
        return INJ_WAIT_TIMEOUT;
    default:
        return INJ_WAIT_TIMEOUT;
    }
}

bool inj_target_exit_code(const inj_target *target, uint32_t *out)
{
    DWORD code;
    if (WaitForSingleObject(target->process, 0) != WAIT_OBJECT_0 ||
        !GetExitCodeProcess(target->process, &code))
        return false;
    *out = code;
    return true;
}

cm_status inj_disarm(inj_target *target)
{
    if (target->section_view == NULL)
        return CM_OK;
    tl_section_header *header = target->section_view;
    atomic_store(&header->stop, 1);
    SetEvent(target->wake_hook);
    ULONGLONG end = GetTickCount64() + DISARM_TIMEOUT_MS;
    for (;;) {
        if (atomic_load(&header->phase) == TL_HOOK_DETACHED)
            return CM_OK;
        if (inj_target_wait(target, DISARM_STEP_MS) == INJ_WAIT_EXITED)
            return CM_OK;
        if (GetTickCount64() >= end)
            break;
    }
    return cm_fail(CM_FAILED,
                   "the hook in process %u did not let go within %u s; it will as soon as ortscope "
                   "ends and the threads that are inside ONNX Runtime have left it",
                   (unsigned)target->pid, DISARM_TIMEOUT_MS / 1000u);
}

static void close_handle(void **handle)
{
    if (*handle != NULL)
        CloseHandle(*handle);
    *handle = NULL;
}

void inj_target_close(inj_target *target)
{
    if (target == NULL)
        return;
    if (target->section_view != NULL)
        UnmapViewOfFile(target->section_view);
    close_handle(&target->wake_hook);
    close_handle(&target->wake_collector);
    close_handle(&target->main_thread);
    close_handle(&target->process);
    free(target);
}
