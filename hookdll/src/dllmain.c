// SPDX-License-Identifier: MIT
// Being loaded does nothing but prepare our own state: the target is touched only when a collector
// calls ortscope_hook_attach.
#include "etw.h"

BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, void *reserved);
BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, void *reserved)
{
    (void)instance;
    if (reason == DLL_PROCESS_ATTACH)
        return hk_lifecycle_init();
    if (reason == DLL_THREAD_DETACH)
        hk_thread_end();
    if (reason == DLL_PROCESS_DETACH && reserved && (atomic_load(&g_hk.epoch) & 1))
        hk_etw_process_ends();
    return TRUE;
}
