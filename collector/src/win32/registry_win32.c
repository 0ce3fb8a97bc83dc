// SPDX-License-Identifier: MIT
// HKEY_LOCAL_MACHINE, and the devices that are plugged in (cfgmgr32). Only reads.
#include "registry_win32.h"

#include "common/utf.h"
#include "libraries.h"

#include <stdlib.h>
#include <string.h>

#include <windows.h>

#define KEY_CHARS    512u
#define VALUE_CHARS  512u
#define LIST_CHARS   (1u << 20)
#define FILTER_CLASS 0x200u // CM_GETIDLIST_FILTER_CLASS, CM_GETIDLIST_FILTER_PRESENT
#define PRESENT      0x100u

typedef struct devices_api {
    DWORD(WINAPI *size)(ULONG *chars, const wchar_t *filter, ULONG flags);
    DWORD(WINAPI *list)(const wchar_t *filter, wchar_t *out, ULONG chars, ULONG flags);
} devices_api;

static const co_function functions[] = {
    {"CM_Get_Device_ID_List_SizeW", offsetof(devices_api, size), true},
    {"CM_Get_Device_ID_ListW", offsetof(devices_api, list), true},
};

static const wchar_t *wide(const char *text, uint16_t *out, size_t chars)
{
    cm_utf8_to_utf16(text, CM_UTF_NUL, out, chars);
    return (const wchar_t *)out;
}

// At most VALUE_CHARS characters, and a NUL behind them. False if there is no such value.
static bool read_value(const char *key, const char *value, DWORD *type, uint16_t *out, DWORD *len)
{
    uint16_t key_wide[KEY_CHARS], value_wide[128];
    HKEY opened;
    if (RegOpenKeyExW(HKEY_LOCAL_MACHINE, wide(key, key_wide, KEY_CHARS), 0,
                      KEY_READ | KEY_WOW64_64KEY, &opened) != ERROR_SUCCESS)
        return false;
    *len = VALUE_CHARS * sizeof *out;
    bool read = RegQueryValueExW(opened, wide(value, value_wide, 128), NULL, type, (BYTE *)out,
                                 len) == ERROR_SUCCESS;
    RegCloseKey(opened);
    if (read)
        out[*len / sizeof *out] = 0;
    return read;
}

static bool read_text(void *context, const char *key, const char *value, char *out, size_t capacity)
{
    (void)context;
    uint16_t text[VALUE_CHARS + 1];
    DWORD type, len;
    if (!read_value(key, value, &type, text, &len) || (type != REG_SZ && type != REG_EXPAND_SZ))
        return false;
    cm_utf16_to_utf8(text, CM_UTF_NUL, out, capacity);
    return true;
}

static bool read_number(void *context, const char *key, const char *value, uint64_t *out)
{
    (void)context;
    uint16_t bytes[VALUE_CHARS + 1];
    DWORD type, len;
    if (!read_value(key, value, &type, bytes, &len) || (len != 4 && len != 8) ||
        (type != REG_DWORD && type != REG_QWORD && type != REG_BINARY))
        return false;
    *out = 0;
    memcpy(out, bytes, len);
    return true;
}

static bool read_subkey(void *context, const char *key, unsigned index, char *out, size_t capacity)
{
    (void)context;
    uint16_t key_wide[KEY_CHARS];
    wchar_t name[256];
    DWORD chars = sizeof name / sizeof *name;
    HKEY opened;
    if (RegOpenKeyExW(HKEY_LOCAL_MACHINE, wide(key, key_wide, KEY_CHARS), 0,
                      KEY_READ | KEY_WOW64_64KEY, &opened) != ERROR_SUCCESS)
        return false;
    bool read = RegEnumKeyExW(opened, index, name, &chars, NULL, NULL, NULL, NULL) == ERROR_SUCCESS;
    RegCloseKey(opened);
    if (read)
        cm_utf16_to_utf8((const uint16_t *)name, CM_UTF_NUL, out, capacity);
    return read;
}

// The list is one text after the other, with an empty one behind the last.
static bool find_device(void *context, const char *device_class, unsigned index, char *out,
                        size_t capacity)
{
    devices_api api;
    uint16_t filter_wide[64];
    const wchar_t *filter = wide(device_class, filter_wide, 64);
    ULONG chars = 0;
    if (!context ||
        !co_library_functions(context, functions, sizeof functions / sizeof *functions, &api) ||
        api.size(&chars, filter, FILTER_CLASS | PRESENT) != 0 || chars == 0 || chars > LIST_CHARS)
        return false;
    wchar_t *list = calloc(chars + 2, sizeof *list); // ends in NULs whatever is written
    bool found = false;
    if (list && api.list(filter, list, chars, FILTER_CLASS | PRESENT) == 0) {
        const wchar_t *at = list;
        for (unsigned i = 0; i < index && *at; i++)
            at += wcslen(at) + 1;
        found = *at != 0;
        if (found)
            cm_utf16_to_utf8((const uint16_t *)at, CM_UTF_NUL, out, capacity);
    }
    free(list);
    return found;
}

void co_registry_open(co_registry *out)
{
    *out = (co_registry){.context = co_library_open(L"cfgmgr32.dll", NULL),
                         .text = read_text,
                         .number = read_number,
                         .subkey = read_subkey,
                         .device = find_device};
}

void co_registry_close(co_registry *r)
{
    co_library_close(r->context);
}
