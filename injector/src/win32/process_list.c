// SPDX-License-Identifier: MIT
// Which processes there are, which of them carry ONNX Runtime, and the PID behind a name. Only
// reads.
#include "win_internal.h"

#include "../ort_version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tlhelp32.h>

// Calls `fn` with every process of the system but ours.
static cm_status each_process(bool (*fn)(void *context, const PROCESSENTRY32W *entry),
                              void *context)
{
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    if (snapshot == INVALID_HANDLE_VALUE)
        return cm_fail(CM_FAILED, "the processes can't be listed (Windows error %lu)",
                       GetLastError());
    DWORD own = GetCurrentProcessId();
    PROCESSENTRY32W entry = {.dwSize = sizeof entry};
    for (BOOL more = Process32FirstW(snapshot, &entry); more;
         more = Process32NextW(snapshot, &entry))
        if (entry.th32ProcessID != own && !fn(context, &entry))
            break;
    CloseHandle(snapshot);
    return CM_OK;
}

// -------------------------------------------------------------------------------- finding by name

#define PIDS_SHOWN 12u

typedef struct name_search {
    const wchar_t *name;
    wchar_t with_exe[272];
    uint32_t first;
    uint32_t count;
    char pids[PIDS_SHOWN * 12 + 1];
    size_t pids_len;
} name_search;

static bool match_name(void *context, const PROCESSENTRY32W *entry)
{
    name_search *search = context;
    if (!inj_same_text(entry->szExeFile, search->name) &&
        !inj_same_text(entry->szExeFile, search->with_exe))
        return true;
    if (search->count == 0)
        search->first = entry->th32ProcessID;
    if (search->count < PIDS_SHOWN) {
        int len = snprintf(search->pids + search->pids_len, sizeof search->pids - search->pids_len,
                           "%s%lu", search->count > 0 ? ", " : "", entry->th32ProcessID);
        if (len > 0)
            search->pids_len += (size_t)len;
    }
    search->count++;
    return true;
}

static bool parse_pid(const char *text, uint32_t *out)
{
    uint64_t value = 0;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9')
            return false;
        value = value * 10 + (uint64_t)(*p - '0');
        if (value > UINT32_MAX)
            value = UINT32_MAX; // no PID is: it is then told not to exist
    }
    *out = (uint32_t)value;
    return *text != '\0';
}

cm_status inj_resolve(const char *pid_or_name, uint32_t *out_pid)
{
    if (parse_pid(pid_or_name, out_pid))
        return CM_OK;
    wchar_t *name = inj_wide(pid_or_name);
    if (name == NULL || *name == 0 || wcslen(name) >= 260) {
        free(name);
        return cm_fail(CM_USAGE, "give a PID or a program's name such as node.exe");
    }
    name_search search = {.name = name};
    swprintf(search.with_exe, sizeof search.with_exe / sizeof search.with_exe[0], L"%ls.exe", name);
    cm_status status = each_process(match_name, &search);
    free(name);
    CM_TRY(status);
    if (search.count == 0)
        return cm_fail(CM_NOT_FOUND,
                       "no process is called %s; ortscope list shows the processes "
                       "that use ONNX Runtime",
                       pid_or_name);
    if (search.count > 1)
        return cm_fail(CM_USAGE, "%u processes are called %s; give one of their PIDs: %s%s",
                       (unsigned)search.count, pid_or_name, search.pids,
                       search.count > PIDS_SHOWN ? ", ..." : "");
    *out_pid = search.first;
    return CM_OK;
}

// ------------------------------------------------------------------------------ what is in them

typedef struct ort_search {
    HANDLE process;
    inj_process *out;
    const wchar_t *windows; // the system's directory: nothing in there is looked at twice
    bool any_name;
} ort_search;

// What follows the minor number in ORT's file versions is a date.
static void file_version(const wchar_t *path, char *out, size_t out_bytes)
{
    DWORD unused, bytes = GetFileVersionInfoSizeW(path, &unused);
    void *data = bytes > 0 ? malloc(bytes) : NULL;
    VS_FIXEDFILEINFO *info;
    UINT len;
    if (data != NULL && GetFileVersionInfoW(path, 0, bytes, data) &&
        VerQueryValueW(data, L"\\", (void **)&info, &len) && len >= sizeof *info)
        snprintf(out, out_bytes, "%u.%u", (unsigned)HIWORD(info->dwFileVersionMS),
                 (unsigned)LOWORD(info->dwFileVersionMS));
    free(data);
}

static bool starts_with(const wchar_t *text, const wchar_t *start)
{
    int len = (int)wcslen(start);
    return (int)wcslen(text) >= len &&
           CompareStringOrdinal(text, len, start, len, TRUE) == CSTR_EQUAL;
}

static bool match_ort(void *context, const inj_module *module)
{
    ort_search *search = context;
    bool has_name = starts_with(inj_file_name(module->path), L"onnxruntime");
    // Windows ships a copy of its own among the system's files; it has the name.
    bool is_candidate =
        search->any_name ? !has_name && !starts_with(module->path, search->windows) : has_name;
    uint64_t address;
    if (!is_candidate || !inj_module_export(search->process, module, INJ_ORT_EXPORT, &address))
        return true;
    inj_utf8(module->path, search->out->ort_module, sizeof search->out->ort_module);
    char *version = search->out->ort_version;
    size_t version_bytes = sizeof search->out->ort_version;
    if (!inj_module_ort_version(search->process, module, version, version_bytes))
        file_version(module->path, version, version_bytes);
    return false;
}

void inj_look_inside(HANDLE process, inj_process *out)
{
    wchar_t windows[MAX_PATH];
    UINT chars = GetWindowsDirectoryW(windows, MAX_PATH - 1);
    wcscpy(windows + (chars < MAX_PATH - 1 ? chars : 0), L"\\");
    ort_search search = {.process = process, .out = out, .windows = windows};
    if (inj_each_module(process, match_ort, &search) && out->ort_module[0] == '\0') {
        search.any_name = true;
        inj_each_module(process, match_ort, &search);
    }
    inj_hook_found *found = malloc(sizeof *found);
    if (found == NULL)
        return;
    inj_find_hook(process, found);
    out->attached = found->attached;
    out->collector_pid = found->attached ? found->collector_pid : 0;
    free(found);
}

typedef struct listing {
    bool (*fn)(void *context, const inj_process *process);
    void *context;
} listing;

static bool list_one(void *context, const PROCESSENTRY32W *entry)
{
    listing *list = context;
    inj_facts facts;
    HANDLE process;
    inj_gather_facts(entry->th32ProcessID, &facts, &process);
    inj_reason reason = inj_decide(&facts);
    bool go_on = true;
    if (reason != INJ_REASON_NO_SUCH_PROCESS && reason != INJ_REASON_GONE) {
        inj_process out = {.pid = entry->th32ProcessID, .parent_pid = entry->th32ParentProcessID};
        inj_utf8(entry->szExeFile, out.name, sizeof out.name);
        out.machine = facts.machine;
        out.can_attach = inj_reason_status(reason);
        snprintf(out.why_not, sizeof out.why_not, "%s", inj_reason_text(reason));
        if (process != NULL)
            inj_look_inside(process, &out);
        go_on = list->fn(list->context, &out);
    }
    if (process != NULL)
        CloseHandle(process);
    return go_on;
}

cm_status inj_list(bool (*fn)(void *context, const inj_process *process), void *context)
{
    listing list = {fn, context};
    return each_process(list_one, &list);
}
