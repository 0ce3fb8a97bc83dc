// SPDX-License-Identifier: MIT
// The modules of another process and their exports, read from its memory. What is read there may
// be anything; pe_image.c bounds it.
#include "win_internal.h"

#include <psapi.h>
#include <stdlib.h>

#define MODULES_MAX  4096u
#define LIST_RETRIES 5

// The list changes while it is read; Windows then fails or tells a larger size.
static DWORD read_module_list(HANDLE process, HMODULE *list, DWORD capacity)
{
    for (int attempt = 0; attempt < LIST_RETRIES; attempt++) {
        DWORD bytes = 0;
        if (EnumProcessModulesEx(process, list, capacity * (DWORD)sizeof *list, &bytes,
                                 LIST_MODULES_64BIT)) {
            DWORD count = bytes / (DWORD)sizeof *list;
            return count < capacity ? count : capacity;
        }
        if (GetLastError() != ERROR_PARTIAL_COPY)
            break;
        if (WaitForSingleObject(process, 10) == WAIT_OBJECT_0)
            break;
    }
    return 0;
}

bool inj_each_module(HANDLE process, bool (*fn)(void *context, const inj_module *module),
                     void *context)
{
    HMODULE *list = malloc(MODULES_MAX * sizeof *list);
    inj_module *module = malloc(sizeof *module);
    DWORD count = 0;
    if (list != NULL && module != NULL)
        count = read_module_list(process, list, MODULES_MAX);
    for (DWORD i = 0; i < count; i++) {
        MODULEINFO info;
        DWORD chars = GetModuleFileNameExW(process, list[i], module->path, INJ_PATH_CHARS);
        if (chars == 0 || chars >= INJ_PATH_CHARS ||
            !GetModuleInformation(process, list[i], &info, sizeof info))
            continue; // unloaded meanwhile
        module->base = (uint64_t)(ULONG_PTR)info.lpBaseOfDll;
        module->bytes = info.SizeOfImage;
        if (!fn(context, module))
            break;
    }
    free(list);
    free(module);
    return count > 0;
}

typedef struct remote_image {
    HANDLE process;
    const inj_module *module;
} remote_image;

static bool read_remote_image(void *context, uint32_t rva, void *out, size_t len)
{
    const remote_image *image = context;
    if (rva > image->module->bytes || len > image->module->bytes - rva)
        return false;
    SIZE_T done = 0;
    const void *from = (const void *)(ULONG_PTR)(image->module->base + rva);
    return ReadProcessMemory(image->process, from, out, len, &done) && done == len;
}

bool inj_module_export(HANDLE process, const inj_module *module, const char *name,
                       uint64_t *out_address)
{
    remote_image image = {process, module};
    uint32_t rva;
    if (!inj_image_find_export(read_remote_image, &image, name, &rva) || rva >= module->bytes)
        return false;
    *out_address = module->base + rva;
    return true;
}

static bool file_identity(const wchar_t *path, BY_HANDLE_FILE_INFORMATION *out)
{
    HANDLE file = CreateFileW(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                              OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return false;
    bool ok = GetFileInformationByHandle(file, out);
    CloseHandle(file);
    return ok;
}

bool inj_same_file(const wchar_t *a, const wchar_t *b)
{
    if (inj_same_text(a, b))
        return true;
    // One file has many spellings: short names, substituted drives, junctions.
    BY_HANDLE_FILE_INFORMATION left, right;
    return inj_same_text(inj_file_name(a), inj_file_name(b)) && file_identity(a, &left) &&
           file_identity(b, &right) && left.dwVolumeSerialNumber == right.dwVolumeSerialNumber &&
           left.nFileIndexHigh == right.nFileIndexHigh && left.nFileIndexLow == right.nFileIndexLow;
}
