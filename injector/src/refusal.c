// SPDX-License-Identifier: MIT
// The order of the checks is the order in which an answer is useful: what can never work comes
// before what other rights would cure.
#include "refusal.h"

#include "pe_image.h"

#include <stdio.h>

#define ERROR_CODE_ACCESS_DENIED 5u

inj_reason inj_decide(const inj_facts *f)
{
    if (f->pid == f->own_pid)
        return INJ_REASON_OWN_PROCESS;
    if (f->pid == 0 || f->pid == 4) // the idle process and the kernel's
        return INJ_REASON_SYSTEM_PROCESS;
    if (!f->exists)
        return INJ_REASON_NO_SUCH_PROCESS;
    if (f->exited)
        return INJ_REASON_GONE;
    if (f->machine == INJ_MACHINE_X86)
        return INJ_REASON_X86;
    if (f->machine == INJ_MACHINE_ARM64)
        return INJ_REASON_ARM64;
    if (f->machine != 0 && f->machine != INJ_MACHINE_X64)
        return INJ_REASON_OTHER_MACHINE;
    if (f->is_protected)
        return INJ_REASON_PROTECTED;
    if (!f->opened) {
        if (f->open_error != ERROR_CODE_ACCESS_DENIED)
            return INJ_REASON_OPEN_FAILED;
        if (f->integrity != 0 && f->own_integrity != 0 && f->integrity > f->own_integrity)
            return INJ_REASON_HIGHER_INTEGRITY;
        if (f->user_known && !f->same_user)
            return INJ_REASON_OTHER_USER;
        return INJ_REASON_DENIED;
    }
    if (f->machine == 0)
        return INJ_REASON_MACHINE_UNKNOWN;
    if (f->only_signed_modules)
        return INJ_REASON_SIGNED_ONLY;
    if (f->no_generated_code)
        return INJ_REASON_NO_GENERATED_CODE;
    return INJ_REASON_NONE;
}

static const struct {
    cm_status status;
    const char *text;
} reasons[] = {
    [INJ_REASON_NONE] = {CM_OK, ""},
    [INJ_REASON_OWN_PROCESS] = {CM_UNSUPPORTED, "ortscope itself"},
    [INJ_REASON_SYSTEM_PROCESS] = {CM_UNSUPPORTED, "part of Windows"},
    [INJ_REASON_NO_SUCH_PROCESS] = {CM_NOT_FOUND, "no such process"},
    [INJ_REASON_GONE] = {CM_NOT_FOUND, "has exited"},
    [INJ_REASON_X86] = {CM_UNSUPPORTED, "32-bit"},
    [INJ_REASON_ARM64] = {CM_UNSUPPORTED, "ARM64"},
    [INJ_REASON_OTHER_MACHINE] = {CM_UNSUPPORTED, "not an x64 program"},
    [INJ_REASON_PROTECTED] = {CM_ACCESS_DENIED, "protected process"},
    [INJ_REASON_HIGHER_INTEGRITY] = {CM_ACCESS_DENIED, "runs as administrator"},
    [INJ_REASON_OTHER_USER] = {CM_ACCESS_DENIED, "another user's"},
    [INJ_REASON_DENIED] = {CM_ACCESS_DENIED, "access denied"},
    [INJ_REASON_OPEN_FAILED] = {CM_FAILED, "can't be opened"},
    [INJ_REASON_MACHINE_UNKNOWN] = {CM_UNSUPPORTED, "machine type unknown"},
    [INJ_REASON_SIGNED_ONLY] = {CM_UNSUPPORTED, "loads only DLLs signed by Microsoft"},
    [INJ_REASON_NO_GENERATED_CODE] = {CM_UNSUPPORTED, "forbids generated code"},
};

cm_status inj_reason_status(inj_reason reason)
{
    return reasons[reason].status;
}

const char *inj_reason_text(inj_reason reason)
{
    return reasons[reason].text;
}

// What to do about a denial depends on whether we have the rights of an administrator already.
static cm_status refuse_denied(inj_reason reason, const inj_facts *f, const char *who)
{
    const char *why = reason == INJ_REASON_HIGHER_INTEGRITY
                          ? "it runs with higher rights than ortscope"
                      : reason == INJ_REASON_OTHER_USER ? "it belongs to another user"
                                                        : "Windows denies access to it";
    const char *advice =
        f->own_elevated
            ? "ortscope runs as administrator already, so the process or a security product "
              "forbids it; launch the program with ortscope run instead"
            : "start ortscope from a terminal that runs as administrator";
    return cm_fail(CM_ACCESS_DENIED, "%s can't be attached: %s; %s", who, why, advice);
}

static cm_status refuse_machine(inj_reason reason, const inj_facts *f, const char *who)
{
    char kind[40];
    if (reason == INJ_REASON_OTHER_MACHINE)
        snprintf(kind, sizeof kind, "a program for machine type 0x%04x", (unsigned)f->machine);
    else
        snprintf(kind, sizeof kind, "%s program",
                 reason == INJ_REASON_X86 ? "a 32-bit" : "an ARM64");
    return cm_fail(CM_UNSUPPORTED,
                   "%s is %s and ortscope sees only 64-bit x64 ones; use the program's x64 build",
                   who, kind);
}

cm_status inj_refuse(inj_reason reason, const inj_facts *f)
{
    cm_status status = inj_reason_status(reason);
    char who[320];
    if (f->name[0])
        snprintf(who, sizeof who, "process %u (%s)", (unsigned)f->pid, f->name);
    else
        snprintf(who, sizeof who, "process %u", (unsigned)f->pid);
    switch (reason) {
    case INJ_REASON_NONE:
        return CM_OK;
    case INJ_REASON_OWN_PROCESS:
        return cm_fail(status, "%s is ortscope itself; give the PID of another process", who);
    case INJ_REASON_SYSTEM_PROCESS:
        return cm_fail(status, "%s is part of Windows itself; give the PID of a program", who);
    case INJ_REASON_NO_SUCH_PROCESS:
        return cm_fail(status,
                       "there is no process %u; ortscope list shows the processes that use "
                       "ONNX Runtime",
                       (unsigned)f->pid);
    case INJ_REASON_GONE:
        return cm_fail(status,
                       "%s has exited meanwhile; start it again, or launch it with "
                       "ortscope run",
                       who);
    case INJ_REASON_X86:
    case INJ_REASON_ARM64:
    case INJ_REASON_OTHER_MACHINE:
        return refuse_machine(reason, f, who);
    case INJ_REASON_PROTECTED:
        return cm_fail(status,
                       "%s is a protected process, which Windows lets nobody open, "
                       "administrators included; it can't be profiled",
                       who);
    case INJ_REASON_HIGHER_INTEGRITY:
    case INJ_REASON_OTHER_USER:
    case INJ_REASON_DENIED:
        return refuse_denied(reason, f, who);
    case INJ_REASON_OPEN_FAILED:
        return cm_fail(status, "%s can't be opened (Windows error %u); check that it still runs",
                       who, (unsigned)f->open_error);
    case INJ_REASON_MACHINE_UNKNOWN:
        return cm_fail(status,
                       "it can't be found out whether %s is an x64 program, so it is left "
                       "alone; launch the program with ortscope run instead",
                       who);
    case INJ_REASON_SIGNED_ONLY:
        return cm_fail(status,
                       "%s accepts only DLLs signed by Microsoft (a policy of that "
                       "program), so ortscope's DLL can't be loaded into it",
                       who);
    case INJ_REASON_NO_GENERATED_CODE:
        return cm_fail(status,
                       "%s forbids new executable memory (a policy of that program), so "
                       "nothing can be hooked in it",
                       who);
    }
    return cm_fail(CM_FAILED, "%s can't be attached", who);
}
