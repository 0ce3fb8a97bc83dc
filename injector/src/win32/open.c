// SPDX-License-Identifier: MIT
// Into a running process, into a child of one, and out of one that somebody else is attached to:
// what can't be done is refused here, before the process is touched.
#include "win_internal.h"

#include "tracelogging/hook_contract.h"

cm_status inj_open(uint32_t pid, inj_target **out)
{
    inj_facts facts;
    HANDLE process;
    inj_gather_facts(pid, &facts, &process);
    inj_reason reason = inj_decide(&facts);
    if (reason != INJ_REASON_NONE) {
        if (process != NULL)
            CloseHandle(process);
        return inj_refuse(reason, &facts);
    }
    uint32_t parent_pid = inj_parent_pid(process);
    CM_TRY(inj_target_create(process, NULL, pid, out));
    (*out)->parent_pid = parent_pid;
    return CM_OK;
}

// Our handle keeps the parent's PID from being used again, so the PID is proof; a child that was
// there before its parent is the child of an earlier process with that PID.
static cm_status check_parent(const inj_target *parent, inj_target *child, inj_target **out)
{
    unsigned pid = child->pid;
    if (child->parent_pid != parent->pid || child->created_100ns < parent->created_100ns) {
        inj_target_close(child);
        return cm_fail(CM_UNSUPPORTED,
                       "process %u is not a child of process %u and is not followed", pid,
                       (unsigned)parent->pid);
    }
    *out = child;
    return CM_OK;
}

cm_status inj_open_to_watch(uint32_t pid, const inj_target *parent, inj_target **out)
{
    HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, FALSE, pid);
    DWORD error = GetLastError();
    if (process == NULL && error == ERROR_ACCESS_DENIED)
        return cm_fail(
            CM_ACCESS_DENIED,
            "Windows denies even watching process %u; start ortscope as its user or from "
            "a terminal that runs as administrator",
            (unsigned)pid);
    if (process == NULL)
        return cm_fail(CM_NOT_FOUND, "there is no process %u any more", (unsigned)pid);
    inj_target *target;
    uint32_t parent_pid = inj_parent_pid(process);
    CM_TRY(inj_target_create(process, NULL, pid, &target));
    target->parent_pid = parent_pid;
    if (parent)
        return check_parent(parent, target, out);
    *out = target;
    return CM_OK;
}

cm_status inj_open_child(const inj_target *parent, uint32_t pid, inj_target **out)
{
    inj_target *child;
    CM_TRY(inj_open(pid, &child));
    return check_parent(parent, child, out);
}

static cm_status detach_target(inj_target *target)
{
    inj_hook_found found;
    inj_find_hook(target->process, &found);
    unsigned pid = target->pid;
    if (!found.mapped || (found.readable && !found.attached))
        return cm_fail(CM_NOT_FOUND,
                       "no ortscope is attached to process %u; there is nothing to do", pid);
    if (!found.readable || found.detach == 0)
        return cm_fail(CM_FAILED,
                       "process %u has the hook of another ortscope version loaded; "
                       "detach with that version",
                       pid);
    inj_remote_result result;
    CM_TRY(inj_remote_call(target, found.detach, NULL, 0, "detach", &result));
    switch (result.exit_code) {
    case ORT_HOOK_OK:
        return CM_OK;
    case ORT_HOOK_NOT_ATTACHED:
        return cm_fail(CM_NOT_FOUND,
                       "no ortscope is attached to process %u any more; there is "
                       "nothing to do",
                       pid);
    default:
        if (WaitForSingleObject(target->process, 500) == WAIT_OBJECT_0)
            return inj_gone(target);
        return cm_fail(CM_FAILED,
                       "the hook in process %u answered 0x%08lx when asked to detach; "
                       "end the ortscope that is attached (PID %u)",
                       pid, result.exit_code, (unsigned)found.collector_pid);
    }
}

cm_status inj_detach_pid(uint32_t pid)
{
    inj_target *target;
    CM_TRY(inj_open(pid, &target));
    cm_status status = detach_target(target);
    inj_target_close(target);
    return status;
}
