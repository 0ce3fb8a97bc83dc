// SPDX-License-Identifier: MIT
// Whether the way in would work, without going: for `ortscope doctor`.
#include "win_internal.h"

#include <stdio.h>
#include <string.h>

cm_status inj_check_hook(char *out_path, size_t capacity)
{
    inj_hook_image image;
    cm_status status = inj_hook_image_open(&image);
    inj_utf8(image.path, out_path, capacity);
    if (status == CM_OK)
        inj_hook_image_close(&image);
    return status;
}

// An administrator has it, if switched off.
static bool has_debug_privilege(HANDLE token)
{
    union {
        TOKEN_PRIVILEGES list;
        uint8_t bytes[4096];
    } all;
    LUID debug;
    DWORD len;
    if (!LookupPrivilegeValueW(NULL, L"SeDebugPrivilege", &debug) ||
        !GetTokenInformation(token, TokenPrivileges, &all, sizeof all, &len))
        return false;
    for (DWORD i = 0; i < all.list.PrivilegeCount; i++)
        if (memcmp(&all.list.Privileges[i].Luid, &debug, sizeof debug) == 0)
            return true;
    return false;
}

void inj_own_rights(inj_rights *out)
{
    *out = (inj_rights){0};
    HANDLE token;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token))
        return;
    TOKEN_ELEVATION elevation = {0};
    DWORD len;
    if (GetTokenInformation(token, TokenElevation, &elevation, sizeof elevation, &len))
        out->elevated = elevation.TokenIsElevated != 0;
    out->can_debug = has_debug_privilege(token);
    CloseHandle(token);
}

cm_status inj_check_target(uint32_t pid, inj_process *out)
{
    inj_facts facts;
    HANDLE process;
    inj_gather_facts(pid, &facts, &process);
    inj_reason reason = inj_decide(&facts);
    *out = (inj_process){.pid = pid, .machine = facts.machine};
    snprintf(out->name, sizeof out->name, "%s", facts.name);
    out->can_attach = inj_reason_status(reason);
    snprintf(out->why_not, sizeof out->why_not, "%s", inj_reason_text(reason));
    if (process != NULL) {
        out->parent_pid = inj_parent_pid(process);
        inj_look_inside(process, out);
        CloseHandle(process);
    }
    if (reason == INJ_REASON_NONE && out->attached)
        return cm_fail(CM_FAILED,
                       "the ortscope with PID %u is attached to process %u (%s); end it, or run "
                       "ortscope detach %u",
                       (unsigned)out->collector_pid, (unsigned)pid, facts.name, (unsigned)pid);
    return inj_refuse(reason, &facts);
}
