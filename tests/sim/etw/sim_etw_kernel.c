// SPDX-License-Identifier: MIT
// The kernel's events that Wine can't tell, from a script: a line each, words separated by blanks.
//
//     base now | base TICKS        what times are counted from; `now` is read again at each use of
//     it thread NAME EXE INDEX        NAME is a thread of the first process of that file, by its
//     position pause MS cswitch US CPU NEW OLD STATE REASON        threads are numbers or names,
//     STATE and REASON of OLD ready US CPU THREAD                        made ready by what runs on
//     CPU profile US CPU THREAD IP hardfault US CPU THREAD BYTES DURATION_US diskread | diskwrite
//     US CPU THREAD BYTES DURATION_US dpc | isr US CPU DURATION_US raw US CPU GROUP OPCODE VERSION
//     HEX        a PERFINFO record
//
// US are microseconds from the base, negative ones are before it; CPU is the processor.
#include "sim_etw_main.h"
#include "sim_etw_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tlhelp32.h>

#define WORDS 10
#define NAMES 64

enum { FLAG_CSWITCH = 0x10, FLAG_DPC = 0x20, FLAG_ISR = 0x40, FLAG_DISK = 0x100 };
enum { FLAG_READY = 0x800, FLAG_HARD_FAULT = 0x2000, FLAG_PROFILE = 0x1000000 };

static struct {
    char name[32];
    uint32_t tid;
} g_names[NAMES];
static uint32_t g_name_count;
static int64_t g_base, g_frequency; // base 0: now

static int64_t ticks(const char *us)
{
    return strtoll(us, NULL, 0) * g_frequency / 1000000;
}

static uint32_t number(const char *word)
{
    return (uint32_t)strtoul(word, NULL, 0);
}

static uint32_t thread_of(const char *word)
{
    for (uint32_t i = 0; i < g_name_count; i++)
        if (strcmp(g_names[i].name, word) == 0)
            return g_names[i].tid;
    return number(word);
}

static uint32_t pid_of(HANDLE snapshot, const char *exe)
{
    PROCESSENTRY32W entry = {.dwSize = sizeof entry};
    for (BOOL more = Process32FirstW(snapshot, &entry); more;
         more = Process32NextW(snapshot, &entry)) {
        char name[MAX_PATH];
        snprintf(name, sizeof name, "%ls", entry.szExeFile);
        if (_stricmp(name, exe) == 0)
            return entry.th32ProcessID;
    }
    return 0;
}

static bool name_thread(char **w)
{
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS | TH32CS_SNAPTHREAD, 0);
    uint32_t pid = pid_of(snapshot, w[2]), index = number(w[3]);
    THREADENTRY32 entry = {.dwSize = sizeof entry};
    bool found = false;
    for (BOOL more = Thread32First(snapshot, &entry); more && !found;
         more = Thread32Next(snapshot, &entry))
        if (pid && entry.th32OwnerProcessID == pid && index-- == 0 && g_name_count < NAMES) {
            snprintf(g_names[g_name_count].name, sizeof g_names[0].name, "%s", w[1]);
            g_names[g_name_count++].tid = entry.th32ThreadID;
            found = true;
        }
    CloseHandle(snapshot);
    return found;
}

// A PERFINFO record at US on CPU, which are the words 1 and 2.
static bool send(char **w, uint32_t flags, uint32_t group, uint32_t opcode, uint32_t version,
                 const void *payload, uint32_t len)
{
    se_kernel_event event = {.group = (uint8_t)group,
                             .opcode = (uint8_t)opcode,
                             .version = (uint8_t)version,
                             .flags = flags,
                             .tid = SE_FOREVER,
                             .stamp = g_base + ticks(w[1]),
                             .stamp_is_given = g_base != 0,
                             .cpu = number(w[2]),
                             .payload = payload,
                             .payload_len = len};
    return se_write_kernel(&event);
}

static bool send_cswitch(char **w)
{
    uint8_t p[24] = {0};
    uint32_t threads[2] = {thread_of(w[3]), thread_of(w[4])};
    memcpy(p, threads, 8);
    p[8] = p[9] = 8; // priorities
    p[12] = (uint8_t)number(w[6]);
    p[13] = 1; // user mode
    p[14] = (uint8_t)number(w[5]);
    return send(w, FLAG_CSWITCH, 5, 36, 2, p, sizeof p);
}

static bool send_ready(char **w)
{
    uint32_t p[2] = {thread_of(w[3]), 1};
    return send(w, FLAG_READY, 5, 50, 2, p, sizeof p);
}

static bool send_profile(char **w)
{
    uint64_t ip = strtoull(w[4], NULL, 0);
    uint32_t rest[2] = {thread_of(w[3]), 1};
    uint8_t p[16];
    memcpy(p, &ip, 8);
    memcpy(p + 8, rest, 8);
    return send(w, FLAG_PROFILE, 15, 46, 2, p, sizeof p);
}

static int64_t stamp_of(char **w)
{
    LARGE_INTEGER now;
    QueryPerformanceCounter(&now);
    return (g_base ? g_base : now.QuadPart) + ticks(w[1]);
}

static bool send_hard_fault(char **w)
{
    uint64_t p[5] = {(uint64_t)(stamp_of(w) - ticks(w[5])), 4096, 0x10000, 0xFFFF800000001000u,
                     (uint64_t)number(w[4]) << 32 | thread_of(w[3])};
    return send(w, FLAG_HARD_FAULT, 2, 32, 0, p, sizeof p);
}

static bool send_disk(char **w, uint32_t opcode)
{
    uint32_t head[4] = {0, 0x60043, number(w[4]), 0}, tid = thread_of(w[3]);
    uint64_t rest[4] = {1 << 20, 0xFFFF800000001000u, 0xFFFF800000002000u, (uint64_t)ticks(w[5])};
    uint8_t p[52];
    memcpy(p, head, 16);
    memcpy(p + 16, rest, 32);
    memcpy(p + 48, &tid, 4);
    return send(w, FLAG_DISK, 1, opcode, 3, p, sizeof p);
}

static bool send_interrupt(char **w, bool isr)
{
    uint64_t p[3] = {(uint64_t)(stamp_of(w) - ticks(w[3])), 0xFFFFF80000001000u, 1};
    return send(w, isr ? FLAG_ISR : FLAG_DPC, 15, isr ? 67 : 68, 2, p, isr ? 18 : 16);
}

static bool send_raw(char **w)
{
    uint8_t p[1024];
    uint32_t len = 0;
    for (const char *at = w[6]; at[0] && at[1] && len < sizeof p; at += 2) {
        char digits[3] = {at[0], at[1], 0};
        p[len++] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return send(w, 0, number(w[3]), number(w[4]), number(w[5]), p, len);
}

static bool set_base(char **w)
{
    g_base = strcmp(w[1], "now") == 0 ? 0 : strtoll(w[1], NULL, 0);
    return true;
}

static bool obey(char **w, int count)
{
    const char *c = w[0];
    if (strcmp(c, "base") == 0 && count == 2)
        return set_base(w);
    if (strcmp(c, "thread") == 0 && count == 4)
        return name_thread(w);
    if (strcmp(c, "pause") == 0 && count == 2)
        return Sleep(number(w[1])), true;
    if (strcmp(c, "cswitch") == 0 && count == 7)
        return send_cswitch(w);
    if (strcmp(c, "ready") == 0 && count == 4)
        return send_ready(w);
    if (strcmp(c, "profile") == 0 && count == 5)
        return send_profile(w);
    if (strcmp(c, "hardfault") == 0 && count == 6)
        return send_hard_fault(w);
    if ((strcmp(c, "diskread") == 0 || strcmp(c, "diskwrite") == 0) && count == 6)
        return send_disk(w, c[4] == 'r' ? 10 : 11);
    if ((strcmp(c, "dpc") == 0 || strcmp(c, "isr") == 0) && count == 4)
        return send_interrupt(w, c[0] == 'i');
    if (strcmp(c, "raw") == 0 && count == 7)
        return send_raw(w);
    return false;
}

int se_kernel(const WCHAR *path)
{
    char line[4096];
    FILE *file = _wfopen(path, L"r");
    LARGE_INTEGER frequency;
    int failed = 0;
    QueryPerformanceFrequency(&frequency);
    g_frequency = frequency.QuadPart;
    if (!file)
        return 1;
    for (int at = 1; fgets(line, sizeof line, file); at++) {
        char *words[WORDS];
        int count = 0;
        for (char *w = strtok(line, " \t\r\n"); w && count < WORDS && *w != '#';
             w = strtok(NULL, " \t\r\n"))
            words[count++] = w;
        if (count && !obey(words, count)) {
            fprintf(stderr, "sim_etw: line %d (%s) was not understood, or its event was lost\n", at,
                    words[0]);
            failed = 1;
        }
    }
    fclose(file);
    return failed;
}
