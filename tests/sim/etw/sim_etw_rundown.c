// SPDX-License-Identifier: MIT
#include "sim_etw_rundown.h"

#include <string.h>
#include <wchar.h>

#include <tlhelp32.h>
#include <winternl.h>

#define GROUP_PROCESS 3u
#define GROUP_THREAD  5u
#define GROUP_IMAGE   20u
#define IMAGE_LOAD    10u

typedef struct payload {
    uint8_t bytes[2048];
    uint32_t len;
} payload;

static void add(payload *p, const void *value, uint32_t len)
{
    if (len <= sizeof p->bytes - p->len) {
        memcpy(p->bytes + p->len, value, len);
        p->len += len;
    }
}

static void add_u32(payload *p, uint32_t value)
{
    add(p, &value, 4);
}

static void add_u64(payload *p, uint64_t value)
{
    add(p, &value, 8);
}

static void send(const payload *p, uint32_t group, uint32_t opcode, uint32_t version, uint32_t flag)
{
    se_kernel_event event = {.group = (uint8_t)group,
                             .opcode = (uint8_t)opcode,
                             .version = (uint8_t)version,
                             .flags = flag,
                             .payload = p->bytes,
                             .payload_len = p->len};
    se_write_kernel(&event);
}

static void add_text(payload *p, const WCHAR *text)
{
    size_t len = wcslen(text), room = (sizeof p->bytes - p->len) / 4;
    uint16_t end = 0;
    add(p, text, (uint32_t)(len < room ? len : room) * 2);
    add(p, &end, 2);
}

// Process, version 4. No SID, no package.
static void tell_process(uint32_t pid, uint32_t parent, const WCHAR *exe, const WCHAR *command,
                         se_life life)
{
    payload p = {.len = 0};
    char name[64] = "";
    if (!WideCharToMultiByte(CP_UTF8, 0, exe, -1, name, sizeof name, NULL, NULL))
        strcpy(name, "?");
    add_u64(&p, 0xFFFF800000000000u | (uint64_t)pid << 12);
    add_u32(&p, pid);
    add_u32(&p, parent);
    add_u32(&p, 1);                          // session
    add_u32(&p, life == SE_GOES ? 0 : 259u); // exit status: still active
    add_u64(&p, 0);                          // directory table base
    add_u32(&p, 0);                          // flags
    add_u32(&p, 0);                          // no SID
    add(&p, name, (uint32_t)strlen(name) + 1);
    add_text(&p, command);
    add_text(&p, L"");
    add_text(&p, L"");
    send(&p, GROUP_PROCESS, life, 4, SE_FLAG_PROCESS);
}

// Thread, version 3.
static void tell_thread(uint32_t pid, uint32_t tid, se_life life)
{
    payload p = {.len = 0};
    add_u32(&p, pid);
    add_u32(&p, tid);
    for (int i = 0; i < 4; i++) // stacks
        add_u64(&p, 0);
    add_u64(&p, 3);             // affinity
    for (int i = 0; i < 2; i++) // start address, TEB
        add_u64(&p, 0);
    add_u32(&p, 0);                 // service tag
    add(&p, "\x08\x08\x05\x02", 4); // base, page and I/O priority, flags
    send(&p, GROUP_THREAD, life, 3, SE_FLAG_THREAD);
}

// Image, version 3. A load is in another group than the rest.
static void tell_image(uint32_t pid, const void *base, uint64_t bytes, const WCHAR *path,
                       se_life life)
{
    payload p = {.len = 0};
    add_u64(&p, (uintptr_t)base);
    add_u64(&p, bytes);
    add_u32(&p, pid);
    for (int i = 0; i < 3; i++) // checksum, time stamp, signature
        add_u32(&p, 0);
    add_u64(&p, (uintptr_t)base);
    for (int i = 0; i < 4; i++)
        add_u32(&p, 0);
    add_text(&p, path);
    send(&p, life == SE_COMES ? GROUP_PROCESS : GROUP_IMAGE, life == SE_COMES ? IMAGE_LOAD : life,
         3, SE_FLAG_IMAGE);
}

// ------------------------------------------------------------------------------------ own process

void se_tell_own_process(se_life life)
{
    WCHAR path[MAX_PATH] = L"";
    GetModuleFileNameW(NULL, path, MAX_PATH - 1);
    const WCHAR *name = wcsrchr(path, L'\\');
    uintptr_t basic[6] = {0}; // PROCESS_BASIC_INFORMATION: its last word is the parent
    NtQueryInformationProcess(GetCurrentProcess(), 0, basic, sizeof basic, NULL);
    tell_process(GetCurrentProcessId(), (uint32_t)basic[5], name ? name + 1 : path,
                 GetCommandLineW(), life);
}

void se_tell_own_thread(se_life life)
{
    tell_thread(GetCurrentProcessId(), GetCurrentThreadId(), life);
}

void se_tell_own_image(const void *base, uint32_t bytes, const WCHAR *path, se_life life)
{
    tell_image(GetCurrentProcessId(), base, bytes, path, life);
}

// ---------------------------------------------------------------------------------------- rundown

static void tell_images(uint32_t pid, se_life life)
{
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPMODULE, pid);
    MODULEENTRY32W entry = {.dwSize = sizeof entry};
    if (snapshot == INVALID_HANDLE_VALUE)
        return;
    for (BOOL more = Module32FirstW(snapshot, &entry); more; more = Module32NextW(snapshot, &entry))
        tell_image(pid, entry.modBaseAddr, entry.modBaseSize, entry.szExePath, life);
    CloseHandle(snapshot);
}

void se_rundown(uint32_t flags, bool begins)
{
    se_life life = begins ? SE_IS_THERE : SE_WAS_THERE;
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS | TH32CS_SNAPTHREAD, 0);
    if (snapshot == INVALID_HANDLE_VALUE)
        return;
    PROCESSENTRY32W process = {.dwSize = sizeof process};
    for (BOOL more = Process32FirstW(snapshot, &process); more;
         more = Process32NextW(snapshot, &process)) {
        if (flags & SE_FLAG_PROCESS)
            tell_process(process.th32ProcessID, process.th32ParentProcessID, process.szExeFile, L"",
                         life);
        if (flags & SE_FLAG_IMAGE)
            tell_images(process.th32ProcessID, life);
    }
    THREADENTRY32 thread = {.dwSize = sizeof thread};
    for (BOOL more = flags & SE_FLAG_THREAD ? Thread32First(snapshot, &thread) : FALSE; more;
         more = Thread32Next(snapshot, &thread))
        tell_thread(thread.th32OwnerProcessID, thread.th32ThreadID, life);
    CloseHandle(snapshot);
}
