// SPDX-License-Identifier: MIT
// ETW's functions as ntdll has them (advapi32 only passes on): every process has ntdll, and the
// hook DLL may import nothing else. Looked up by name, because not every Windows has all of them.
#include "tracelogging/etw.h"

#include <string.h>

#include <windows.h>

static void look_up(HMODULE module, const char *name, void *to)
{
    FARPROC function = GetProcAddress(module, name);
    memcpy(to, &function, sizeof function);
}

const tl_etw_api *tl_etw_system(void)
{
    static tl_etw_api api; // whoever comes second stores the same
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    if (!ntdll)
        return NULL;
    look_up(ntdll, "EtwEventRegister", &api.register_provider);
    look_up(ntdll, "EtwEventUnregister", &api.unregister_provider);
    look_up(ntdll, "EtwEventSetInformation", &api.set_information);
    look_up(ntdll, "EtwEventWriteTransfer", &api.write_transfer);
    return api.register_provider && api.unregister_provider && api.write_transfer ? &api : NULL;
}
