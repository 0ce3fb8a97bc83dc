// SPDX-License-Identifier: MIT
// A DLL that stands before the real runtime, as applications ship them to choose a build for the
// machine: it exports OrtGetApiBase and loads the real one (ODD_PROXY_REAL) when that is called.
#include <windows.h>

typedef const void *get_api_base_fn(void);

__declspec(dllexport) const void *OrtGetApiBase(void);
__declspec(dllexport) const void *OrtGetApiBase(void)
{
    static get_api_base_fn *real;
    wchar_t path[MAX_PATH];
    if (!real && GetEnvironmentVariableW(L"ODD_PROXY_REAL", path, MAX_PATH)) {
        HMODULE module = LoadLibraryExW(path, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
        if (module)
            real = (get_api_base_fn *)(void (*)(void))GetProcAddress(module, "OrtGetApiBase");
    }
    return real ? real() : NULL;
}
