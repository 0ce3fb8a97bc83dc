// SPDX-License-Identifier: MIT
#include "sim_etw_rundown.h"

#include <string.h>

#include <tlhelp32.h>

#define GROUP_PROCESS 3u
#define GROUP_THREAD  5u
#define GROUP_IMAGE   20u
#define DC_START      3u
#define DC_END        4u

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

static void send(const payload *p, uint32_t group, bool begins, uint32_t version, uint32_t flag)
{
    se_kernel_event event = {.group = (uint8_t)group,
                             .opcode = begins ? DC_START : DC_END,
                             .version = (uint8_t)version,
                             .flags = flag,
                             .pid = GetCurrentProcessId(),
                             .tid = GetCurrentThreadId(),
                             .cpu = SE_FOREVER,
                             .payload = p->bytes,
                             .payload_len = p->len};
    se_write_kernel(&event);
}

// Process, version 4. No SID, no command line, no package.
static void tell_process(const PROCESSENTRY32W *entry, bool begins)
{
    payload p = {.len = 0};
    char name[64];
    uint16_t end = 0;
    int len = WideCharToMultiByte(CP_UTF8, 0, entry->szExeFile, -1, name, sizeof name, NULL, NULL);
    add_u64(&p, 0xFFFF800000000000u | (uint64_t)entry->th32ProcessID << 12);
    add_u32(&p, entry->th32ProcessID);
    add_u32(&p, entry->th32ParentProcessID);
    add_u32(&p, 1);   // session
    add_u32(&p, 259); // still active
    add_u64(&p, 0);   // directory table base
    add_u32(&p, 0);   // flags
    add_u32(&p, 0);   // no SID
    add(&p, len > 0 ? name : "", len > 0 ? (uint32_t)len : 1);
    add(&p, &end, 2);
    add(&p, &end, 2);
    add(&p, &end, 2);
    send(&p, GROUP_PROCESS, begins, 4, SE_FLAG_PROCESS);
}

// Thread, version 3.
static void tell_thread(const THREADENTRY32 *entry, bool begins)
{
    payload p = {.len = 0};
    add_u32(&p, entry->th32OwnerProcessID);
    add_u32(&p, entry->th32ThreadID);
    for (int i = 0; i < 4; i++) // stacks
        add_u64(&p, 0);
    add_u64(&p, 3);             // affinity
    for (int i = 0; i < 2; i++) // start address, TEB
        add_u64(&p, 0);
    add_u32(&p, 0);                 // service tag
    add(&p, "\x08\x08\x05\x02", 4); // base, page and I/O priority, flags
    send(&p, GROUP_THREAD, begins, 3, SE_FLAG_THREAD);
}

// Image, version 3.
static void tell_image(const MODULEENTRY32W *entry, bool begins)
{
    payload p = {.len = 0};
    add_u64(&p, (uintptr_t)entry->modBaseAddr);
    add_u64(&p, entry->modBaseSize);
    add_u32(&p, entry->th32ProcessID);
    for (int i = 0; i < 3; i++) // checksum, time stamp, signature
        add_u32(&p, 0);
    add_u64(&p, (uintptr_t)entry->modBaseAddr);
    for (int i = 0; i < 4; i++)
        add_u32(&p, 0);
    add(&p, entry->szExePath, (uint32_t)(wcslen(entry->szExePath) + 1) * 2);
    send(&p, GROUP_IMAGE, begins, 3, SE_FLAG_IMAGE);
}

static void tell_images(uint32_t pid, bool begins)
{
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPMODULE, pid);
    MODULEENTRY32W entry = {.dwSize = sizeof entry};
    if (snapshot == INVALID_HANDLE_VALUE)
        return;
    for (BOOL more = Module32FirstW(snapshot, &entry); more; more = Module32NextW(snapshot, &entry))
        tell_image(&entry, begins);
    CloseHandle(snapshot);
}

void se_rundown(uint32_t flags, bool begins)
{
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS | TH32CS_SNAPTHREAD, 0);
    if (snapshot == INVALID_HANDLE_VALUE)
        return;
    PROCESSENTRY32W process = {.dwSize = sizeof process};
    for (BOOL more = Process32FirstW(snapshot, &process); more;
         more = Process32NextW(snapshot, &process)) {
        if (flags & SE_FLAG_PROCESS)
            tell_process(&process, begins);
        if (flags & SE_FLAG_IMAGE)
            tell_images(process.th32ProcessID, begins);
    }
    THREADENTRY32 thread = {.dwSize = sizeof thread};
    for (BOOL more = flags & SE_FLAG_THREAD ? Thread32First(snapshot, &thread) : FALSE; more;
         more = Thread32Next(snapshot, &thread))
        tell_thread(&thread, begins);
    CloseHandle(snapshot);
}
