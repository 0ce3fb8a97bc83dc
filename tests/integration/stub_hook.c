// SPDX-License-Identifier: MIT
// A hook DLL that hooks nothing: it keeps hook_contract.h to the letter (maps the section, reports
// its phase, writes a few records, lets go when told or when its collector dies), so that the
// injector can be tested without the real one. STUB_VERSION makes it one of another release.
#include "tracelogging/channel.h"
#include "tracelogging/hook_contract.h"

#include <stdlib.h>
#include <windows.h>

#ifndef STUB_VERSION
#define STUB_VERSION ORTSCOPE_VERSION
#endif
#define STUB_RECORDS 5

__declspec(dllexport) ort_hook_state ortscope_hook_state = {
    .magic = ORT_HOOK_STATE_MAGIC,
    .abi = ORT_HOOK_ABI,
    .version = STUB_VERSION,
};
__declspec(dllexport) DWORD WINAPI ortscope_hook_attach(ort_hook_params *params);
__declspec(dllexport) DWORD WINAPI ortscope_hook_detach(void *unused);
BOOL WINAPI DllMain(HINSTANCE module, DWORD reason, void *reserved);

static ort_hook_params g_params;
static tl_section_header *g_section;
static HANDLE g_watcher;
static volatile LONG g_detach_asked;

static void let_go(void)
{
    atomic_store(&g_section->phase, TL_HOOK_DETACHED);
    SetEvent((HANDLE)g_params.wake_collector);
    UnmapViewOfFile(g_section);
    g_section = NULL;
    CloseHandle((HANDLE)g_params.section);
    CloseHandle((HANDLE)g_params.wake_hook);
    CloseHandle((HANDLE)g_params.wake_collector);
    CloseHandle((HANDLE)g_params.collector_process);
    ortscope_hook_state.collector_pid = 0;
    InterlockedExchange((volatile LONG *)&ortscope_hook_state.attached, 0);
}

static DWORD WINAPI watch(void *unused)
{
    (void)unused;
    HANDLE handles[2] = {(HANDLE)g_params.collector_process, (HANDLE)g_params.wake_hook};
    // A test can have the stub overlook its collector's death, to be found attached to a dead one.
    DWORD count = 2, first = GetEnvironmentVariableW(L"STUB_IGNORE_DEATH", NULL, 0) > 0 ? 1 : 0;
    while (!g_detach_asked && !atomic_load(&g_section->stop)) {
        DWORD got = WaitForMultipleObjects(count - first, handles + first, FALSE, 10);
        if (first == 0 && got == WAIT_OBJECT_0)
            break;
    }
    let_go();
    return 0;
}

static void write_records(void)
{
    tl_producer producer;
    tl_producer_claim(&producer, g_section, GetCurrentThreadId());
    for (uint32_t i = 0; i < STUB_RECORDS; i++) {
        uint32_t *payload = tl_producer_begin(&producer, sizeof *payload);
        if (payload != NULL) {
            *payload = i;
            tl_producer_end(&producer, (uint16_t)(i + 1), __builtin_ia32_rdtsc(), sizeof *payload);
        }
    }
    tl_producer_release(&producer);
}

DWORD WINAPI ortscope_hook_attach(ort_hook_params *params)
{
    if (params->size != sizeof *params || params->abi != ORT_HOOK_ABI)
        return ORT_HOOK_BAD_PARAMS;
    if (InterlockedCompareExchange((volatile LONG *)&ortscope_hook_state.attached, 1, 0) != 0)
        return ORT_HOOK_ALREADY_ATTACHED;
    g_params = *params;
    g_section = MapViewOfFile((HANDLE)params->section, FILE_MAP_READ | FILE_MAP_WRITE, 0, 0,
                              params->section_bytes);
    if (g_section == NULL || !tl_section_check(g_section, params->section_bytes)) {
        ortscope_hook_state.attached = 0;
        return ORT_HOOK_BAD_PARAMS;
    }
    if (GetEnvironmentVariableW(L"STUB_DIE_IN_ATTACH", NULL, 0) > 0)
        TerminateProcess(GetCurrentProcess(), 77);
    wchar_t slow_ms[16];
    if (GetEnvironmentVariableW(L"STUB_SLOW_ATTACH", slow_ms, 16) > 0)
        Sleep((DWORD)wcstoul(slow_ms, NULL, 10));
    ortscope_hook_state.collector_pid = params->collector_pid;
    g_detach_asked = 0;
    write_records();
    atomic_store(&g_section->phase, TL_HOOK_ARMED);
    SetEvent((HANDLE)g_params.wake_collector);
    if (g_watcher != NULL)
        CloseHandle(g_watcher);
    g_watcher = CreateThread(NULL, 0, watch, NULL, 0, NULL);
    return ORT_HOOK_OK;
}

DWORD WINAPI ortscope_hook_detach(void *unused)
{
    (void)unused;
    if (!ortscope_hook_state.attached)
        return ORT_HOOK_NOT_ATTACHED;
    InterlockedExchange(&g_detach_asked, 1);
    WaitForSingleObject(g_watcher, 10000);
    return ORT_HOOK_OK;
}

BOOL WINAPI DllMain(HINSTANCE module, DWORD reason, void *reserved)
{
    (void)reserved;
    if (reason == DLL_PROCESS_ATTACH) {
        DisableThreadLibraryCalls(module);
        if (GetEnvironmentVariableW(L"STUB_REFUSE_LOAD", NULL, 0) > 0)
            return FALSE;
        if (GetEnvironmentVariableW(L"STUB_DIE_IN_LOAD", NULL, 0) > 0)
            TerminateProcess(GetCurrentProcess(), 78);
    }
    return TRUE;
}
