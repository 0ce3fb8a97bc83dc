// SPDX-License-Identifier: MIT
// The hook DLL: our own file beside the executable, checked before it goes anywhere, and the one
// that a process may have already. Runs nothing of either.
#include "win_internal.h"

#include "tracelogging/hook_contract.h"

#include <string.h>

static const wchar_t *g_directory_for_tests;

void inj_hook_directory_for_tests(const wchar_t *directory)
{
    g_directory_for_tests = directory;
}

static bool own_path(wchar_t *out)
{
    if (g_directory_for_tests != NULL) {
        wcscpy(out, g_directory_for_tests);
    } else {
        DWORD chars = GetModuleFileNameW(NULL, out, INJ_PATH_CHARS);
        if (chars == 0 || chars >= INJ_PATH_CHARS)
            return false;
        out[inj_file_name(out) - out] = 0;
    }
    size_t len = wcslen(out);
    static const wchar_t name[] = L"\\ortscope_hook.dll";
    const wchar_t *tail = len > 0 && out[len - 1] == L'\\' ? name + 1 : name;
    if (len + sizeof name / sizeof name[0] >= INJ_PATH_CHARS)
        return false;
    wcscpy(out + len, tail);
    return true;
}

static bool local_export(HMODULE module, const char *name, size_t bytes, const void **out)
{
    // A forwarder would lead out of the image.
    const uint8_t *base = (const uint8_t *)module;
    const IMAGE_DOS_HEADER *dos = (const IMAGE_DOS_HEADER *)(const void *)base;
    const IMAGE_NT_HEADERS *nt = (const IMAGE_NT_HEADERS *)(const void *)(base + dos->e_lfanew);
    const uint8_t *address = (const uint8_t *)(ULONG_PTR)GetProcAddress(module, name);
    if (address < base || address + bytes > base + nt->OptionalHeader.SizeOfImage)
        return false;
    *out = address;
    return true;
}

static bool is_hook_state(const ort_hook_state *state)
{
    return state->magic == ORT_HOOK_STATE_MAGIC && state->abi == ORT_HOOK_ABI &&
           memchr(state->version, 0, sizeof state->version) != NULL;
}

cm_status inj_hook_image_open(inj_hook_image *out)
{
    memset(out, 0, sizeof *out);
    char shown[1024];
    if (!own_path(out->path))
        return cm_fail(CM_FAILED, "the path of ortscope.exe is too long; move it to a shorter one");
    inj_utf8(out->path, shown, sizeof shown);
    if (GetFileAttributesW(out->path) == INVALID_FILE_ATTRIBUTES)
        return cm_fail(CM_FAILED,
                       "%s is missing; it has to lie beside ortscope.exe: unpack the "
                       "release again or build it",
                       shown);
    // Mapped like an image, but no code of it runs and nothing is resolved.
    HMODULE module = LoadLibraryExW(out->path, NULL, DONT_RESOLVE_DLL_REFERENCES);
    if (module == NULL)
        return cm_fail(CM_FAILED,
                       "%s can't be loaded (Windows error %lu); unpack the release "
                       "again or build it",
                       shown, GetLastError());
    const void *attach = NULL, *state_there = NULL;
    ort_hook_state state;
    memset(&state, 0, sizeof state);
    if (local_export(module, ORT_HOOK_STATE_EXPORT, sizeof state, &state_there))
        memcpy(&state, state_there, sizeof state);
    if (!local_export(module, ORT_HOOK_ATTACH_EXPORT, 1, &attach) || !is_hook_state(&state) ||
        strcmp(state.version, ORTSCOPE_VERSION) != 0) {
        FreeLibrary(module);
        return cm_fail(CM_FAILED,
                       "%s is not the DLL of this ortscope (%s) but of %s; put the two "
                       "files of one release side by side",
                       shown, ORTSCOPE_VERSION,
                       is_hook_state(&state) ? state.version : "another program or version");
    }
    out->file = module;
    out->attach_rva = (uint32_t)((const uint8_t *)attach - (const uint8_t *)module);
    return CM_OK;
}

void inj_hook_image_close(inj_hook_image *image)
{
    if (image->file != NULL)
        FreeLibrary(image->file);
    image->file = NULL;
}

static bool take_hook_module(void *context, const inj_module *module)
{
    inj_hook_found *found = context;
    if (!inj_same_text(inj_file_name(module->path), L"ortscope_hook.dll"))
        return true;
    found->mapped = true;
    found->module = *module;
    return false;
}

void inj_find_hook(HANDLE process, inj_hook_found *out)
{
    memset(out, 0, sizeof *out);
    inj_each_module(process, take_hook_module, out);
    uint64_t address;
    ort_hook_state state;
    SIZE_T done = 0;
    if (!out->mapped ||
        !inj_module_export(process, &out->module, ORT_HOOK_STATE_EXPORT, &address) ||
        !ReadProcessMemory(process, (const void *)(ULONG_PTR)address, &state, sizeof state,
                           &done) ||
        done != sizeof state || !is_hook_state(&state))
        return;
    out->readable = true;
    out->attached = state.attached != 0;
    out->collector_pid = state.collector_pid;
    memcpy(out->version, state.version, sizeof out->version);
    if (inj_module_export(process, &out->module, ORT_HOOK_DETACH_EXPORT, &address))
        out->detach = address;
}
