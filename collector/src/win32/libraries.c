// SPDX-License-Identifier: MIT
// Never by the search path: whoever can put a file into the current folder must not become part of
// ortscope.
#include "libraries.h"

#include <string.h>

#include <windows.h>

void *co_library_open(const wchar_t *name, const wchar_t *folder)
{
    HMODULE library = LoadLibraryExW(
        name, NULL, LOAD_LIBRARY_SEARCH_APPLICATION_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32);
    wchar_t path[MAX_PATH];
    DWORD len = folder ? GetEnvironmentVariableW(L"ProgramW6432", path, MAX_PATH) : 0;
    if (library || len == 0 || len + wcslen(folder) + wcslen(name) + 3 > MAX_PATH)
        return library;
    wcscat(path, L"\\");
    wcscat(path, folder);
    wcscat(path, L"\\");
    wcscat(path, name);
    return LoadLibraryExW(path, NULL,
                          LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32);
}

void co_library_close(void *library)
{
    if (library)
        FreeLibrary(library);
}

bool co_library_functions(void *library, const co_function *functions, size_t count, void *table)
{
    for (size_t i = 0; i < count; i++) {
        FARPROC function = GetProcAddress(library, functions[i].name);
        if (!function && functions[i].needed)
            return false;
        memcpy((char *)table + functions[i].offset, &function, sizeof function);
    }
    return true;
}
