// SPDX-License-Identifier: MIT
// sim_etw.dll: puts the simulation in place of Wine's own functions, which do nothing, and goes
// into the processes that this one starts. Which machine it belongs to says the environment
// variable SIM_ETW; without one, or when its host is gone, everything stays as it was.
#include "hookdll/detour.h"
#include "sim_etw_consumer.h"
#include "sim_etw_control.h"
#include "sim_etw_inject.h"
#include "sim_etw_provider.h"
#include "sim_etw_rundown.h"

#include <stdio.h>
#include <string.h>

BOOL WINAPI DllMain(HINSTANCE module, DWORD reason, void *reserved);

typedef BOOL WINAPI create_process_fn(HANDLE token, const WCHAR *app, WCHAR *command,
                                      SECURITY_ATTRIBUTES *pa, SECURITY_ATTRIBUTES *ta,
                                      BOOL inherit, DWORD flags, void *env, const WCHAR *dir,
                                      STARTUPINFOW *startup, PROCESS_INFORMATION *process,
                                      HANDLE *new_token);

static WCHAR g_path[MAX_PATH];
static create_process_fn *real_create_process;

static BOOL WINAPI create_process(HANDLE token, const WCHAR *app, WCHAR *command,
                                  SECURITY_ATTRIBUTES *pa, SECURITY_ATTRIBUTES *ta, BOOL inherit,
                                  DWORD flags, void *env, const WCHAR *dir, STARTUPINFOW *startup,
                                  PROCESS_INFORMATION *process, HANDLE *new_token)
{
    BOOL created =
        real_create_process(token, app, command, pa, ta, inherit, flags | CREATE_SUSPENDED, env,
                            dir, startup, process, new_token);
    DWORD error = GetLastError();
    if (created) {
        se_inject(process->hProcess, g_path);
        if (!(flags & CREATE_SUSPENDED))
            ResumeThread(process->hThread);
    }
    SetLastError(error);
    return created;
}

typedef struct replacement {
    const WCHAR *module;
    const char *name;
    void *function;
    bool optional;
} replacement;

// Trampolines are wanted of CreateProcess alone; the rest replaces its function.
static const replacement g_replacements[] = {
    {L"ntdll.dll", "EtwEventRegister", HK_CODE(se_EventRegister), false},
    {L"ntdll.dll", "EtwEventUnregister", HK_CODE(se_EventUnregister), false},
    {L"ntdll.dll", "EtwEventSetInformation", HK_CODE(se_EventSetInformation), false},
    {L"ntdll.dll", "EtwEventEnabled", HK_CODE(se_EventEnabled), false},
    {L"ntdll.dll", "EtwEventProviderEnabled", HK_CODE(se_EventProviderEnabled), false},
    {L"ntdll.dll", "EtwEventWrite", HK_CODE(se_EventWrite), false},
    {L"ntdll.dll", "EtwEventWriteString", HK_CODE(se_EventWriteString), false},
    {L"ntdll.dll", "EtwEventWriteTransfer", HK_CODE(se_EventWriteTransfer), false},
    {L"ntdll.dll", "EtwEventActivityIdControl", HK_CODE(se_EventActivityIdControl), false},
    {L"sechost.dll", "StartTraceW", HK_CODE(se_StartTraceW), false},
    {L"sechost.dll", "StopTraceW", HK_CODE(se_StopTraceW), false},
    {L"sechost.dll", "ControlTraceW", HK_CODE(se_ControlTraceW), false},
    {L"sechost.dll", "QueryAllTracesW", HK_CODE(se_QueryAllTracesW), false},
    {L"sechost.dll", "EnableTraceEx2", HK_CODE(se_EnableTraceEx2), false},
    {L"sechost.dll", "TraceSetInformation", HK_CODE(se_TraceSetInformation), false},
    {L"sechost.dll", "TraceQueryInformation", HK_CODE(se_TraceQueryInformation), true},
    {L"sechost.dll", "OpenTraceW", HK_CODE(se_OpenTraceW), false},
    {L"sechost.dll", "ProcessTrace", HK_CODE(se_ProcessTrace), false},
    {L"sechost.dll", "CloseTrace", HK_CODE(se_CloseTrace), false},
    {L"kernelbase.dll", "CreateProcessInternalW", HK_CODE(create_process), false},
};
#define REPLACEMENTS (sizeof g_replacements / sizeof *g_replacements)

static void *g_originals[REPLACEMENTS];

static void complain(const char *what, const char *why)
{
    fprintf(stderr, "sim_etw: %s: %s\n", what, why);
    fflush(stderr);
}

static bool install(void)
{
    hk_detour_result result;
    hk_detour_reason reason = hk_detour_begin();
    for (size_t i = 0; reason == HK_DETOUR_OK && i < REPLACEMENTS; i++) {
        const replacement *r = &g_replacements[i];
        HMODULE module = LoadLibraryW(r->module);
        g_originals[i] = (void *)(uintptr_t)GetProcAddress(module, r->name);
        if (!g_originals[i] && r->optional)
            continue;
        if (!g_originals[i]) {
            complain(r->name, "is not there");
            hk_detour_abort();
            return false;
        }
        hk_detour_attach_ex(&g_originals[i], r->function, r->optional ? HK_DETOUR_OPTIONAL : 0,
                            NULL);
    }
    if (reason == HK_DETOUR_OK)
        reason = hk_detour_commit(&result);
    for (size_t i = 0; i < REPLACEMENTS && reason != HK_DETOUR_OK; i++)
        if (g_originals[i] == result.target)
            complain(g_replacements[i].name, hk_detour_reason_text(reason));
    real_create_process = (create_process_fn *)(uintptr_t)g_originals[REPLACEMENTS - 1];
    return reason == HK_DETOUR_OK;
}

// What LdrRegisterDllNotification passes, of both reasons.
typedef struct text {
    USHORT len, max_len; // bytes
    const WCHAR *chars;
} text;

typedef struct notification {
    ULONG flags;
    const text *path, *name;
    void *base;
    ULONG bytes;
} notification;

static void CALLBACK on_image(ULONG reason, const notification *n, void *context)
{
    WCHAR path[MAX_PATH];
    (void)context;
    if (g_se->system_loggers == 0)
        return;
    size_t len = n->path->len / sizeof *path;
    len = len < MAX_PATH - 1 ? len : MAX_PATH - 1;
    memcpy(path, n->path->chars, len * sizeof *path);
    path[len] = 0;
    se_tell_own_image(n->base, n->bytes, path, reason == 1 ? SE_COMES : SE_GOES);
}

static void watch_images(void)
{
    typedef LONG NTAPI register_fn(ULONG, void CALLBACK (*)(ULONG, const notification *, void *),
                                   void *, void **);
    void *cookie;
    register_fn *watch = (register_fn *)(uintptr_t)GetProcAddress(GetModuleHandleW(L"ntdll.dll"),
                                                                  "LdrRegisterDllNotification");
    if (watch)
        watch(0, on_image, NULL, &cookie);
}

static void come(HINSTANCE module)
{
    WCHAR name[64];
    DWORD len = GetEnvironmentVariableW(L"SIM_ETW", name, 64);
    if (len == 0 || len >= 64 || !GetModuleFileNameW(module, g_path, MAX_PATH) ||
        !se_machine_open(name, false))
        return;
    if (!install())
        complain("sim_etw.dll", "event tracing stays Wine's");
    watch_images();
    se_tell_own_process(SE_COMES);
}

BOOL WINAPI DllMain(HINSTANCE module, DWORD reason, void *reserved)
{
    (void)reserved;
    if (reason == DLL_PROCESS_ATTACH)
        come(module);
    if (!g_se)
        return TRUE;
    if (reason == DLL_THREAD_ATTACH || reason == DLL_THREAD_DETACH)
        se_tell_own_thread(reason == DLL_THREAD_ATTACH ? SE_COMES : SE_GOES);
    if (reason == DLL_PROCESS_DETACH) {
        se_tell_own_process(SE_GOES);
        se_provider_end();
    }
    return TRUE;
}
