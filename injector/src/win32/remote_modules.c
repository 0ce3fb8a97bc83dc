// SPDX-License-Identifier: MIT
// The modules of another process and their exports, read from its memory. What is read there may
// be anything; pe_image.c bounds it.
#include "win_internal.h"

#include "../ort_version.h"

#include <stdlib.h>
#include <string.h>
#include <winternl.h>

// The loader's list is walked by hand: EnumProcessModulesEx needs a walk of its own for each
// module's name, and under Wine each step is a call to another process. Offsets are those of every
// 64-bit Windows; a debugger shows them under these names.
enum {
    PEB_LDR = 0x18,
    LDR_IN_LOAD_ORDER = 0x10,
    ENTRY_BYTES = 0x58,
    ENTRY_BASE = 0x30,
    ENTRY_SIZE_OF_IMAGE = 0x40,
    ENTRY_FULL_NAME = 0x48, // UNICODE_STRING: length in bytes, then at 8 its address
    MODULES_MAX = 4096,
    WALK_TRIES = 5,
    WALK_PAUSE_MS = 10,
};

typedef struct list_entry {
    uint64_t base;
    uint64_t name; // its address there
    uint32_t image_bytes;
    uint16_t name_bytes;
} list_entry;

static bool read_there(HANDLE process, uint64_t address, void *out, size_t len)
{
    SIZE_T done = 0;
    return ReadProcessMemory(process, (const void *)(ULONG_PTR)address, out, len, &done) &&
           done == len;
}

// The number of modules, or -1 if the list changed under our hands.
static int walk_list(HANDLE process, uint64_t head, list_entry *out)
{
    uint64_t at;
    if (!read_there(process, head, &at, sizeof at))
        return -1;
    int count = 0;
    for (; at != head && at != 0 && count < MODULES_MAX; count++) {
        uint8_t entry[ENTRY_BYTES];
        if (!read_there(process, at, entry, sizeof entry))
            return -1;
        memcpy(&out[count].base, entry + ENTRY_BASE, 8);
        memcpy(&out[count].image_bytes, entry + ENTRY_SIZE_OF_IMAGE, 4);
        memcpy(&out[count].name_bytes, entry + ENTRY_FULL_NAME, 2);
        memcpy(&out[count].name, entry + ENTRY_FULL_NAME + 8, 8);
        memcpy(&at, entry, 8);
    }
    return at == head ? count : -1;
}

static int list_modules(HANDLE process, list_entry *out)
{
    PROCESS_BASIC_INFORMATION info;
    ULONG len = 0;
    uint64_t loader = 0;
    memset(&info, 0, sizeof info);
    if (NtQueryInformationProcess(process, ProcessBasicInformation, &info, sizeof info, &len) < 0 ||
        !read_there(process, (uint64_t)(ULONG_PTR)info.PebBaseAddress + PEB_LDR, &loader, 8) ||
        loader == 0) // its loader has not run yet
        return 0;
    int count = -1;
    for (int i = 0; i < WALK_TRIES && count < 0; i++) {
        if (i > 0 && WaitForSingleObject(process, WALK_PAUSE_MS) == WAIT_OBJECT_0)
            break;
        count = walk_list(process, loader + LDR_IN_LOAD_ORDER, out);
    }
    return count;
}

bool inj_each_module(HANDLE process, bool (*fn)(void *context, const inj_module *module),
                     void *context)
{
    list_entry *list = malloc(MODULES_MAX * sizeof *list);
    inj_module *module = malloc(sizeof *module);
    int count = list != NULL && module != NULL ? list_modules(process, list) : 0;
    for (int i = 0; i < count; i++) {
        size_t bytes = list[i].name_bytes;
        if (list[i].base == 0 || bytes % sizeof(wchar_t) != 0 || bytes >= sizeof module->path ||
            !read_there(process, list[i].name, module->path, bytes))
            continue; // unloaded meanwhile
        module->path[bytes / sizeof(wchar_t)] = 0;
        module->base = list[i].base;
        module->bytes = list[i].image_bytes;
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
    return read_there(image->process, image->module->base + rva, out, len);
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

bool inj_module_ort_version(HANDLE process, const inj_module *module, char *out, size_t out_bytes)
{
    remote_image image = {process, module};
    return inj_ort_version(read_remote_image, &image, module->base, out, out_bytes);
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
