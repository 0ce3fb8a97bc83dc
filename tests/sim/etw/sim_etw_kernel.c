// SPDX-License-Identifier: MIT
// The kernel's events that Wine can't tell, from a script: a line each, words separated by blanks,
// times in microseconds from a base. README.md of tests/sim describes every line.
#include "sim_etw_main.h"
#include "sim_etw_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tlhelp32.h>

#define WORDS 12
#define NAMES 64

enum { FLAG_CSWITCH = 0x10, FLAG_DPC = 0x20, FLAG_ISR = 0x40, FLAG_DISK = 0x100 };
enum { FLAG_READY = 0x800, FLAG_HARD_FAULT = 0x2000, FLAG_PROFILE = 0x1000000 };

static struct {
    char name[32];
    uint32_t value;
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

static uint32_t named(const char *word)
{
    for (uint32_t i = 0; i < g_name_count; i++)
        if (strcmp(g_names[i].name, word) == 0)
            return g_names[i].value;
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

static bool name_number(const char *name, uint32_t value)
{
    if (value == 0 || g_name_count == NAMES)
        return false;
    snprintf(g_names[g_name_count].name, sizeof g_names[0].name, "%s", name);
    g_names[g_name_count++].value = value;
    return true;
}

static bool name_process(char **w)
{
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    uint32_t pid = pid_of(snapshot, w[2]);
    CloseHandle(snapshot);
    return name_number(w[1], pid);
}

static bool name_thread(char **w)
{
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS | TH32CS_SNAPTHREAD, 0);
    uint32_t pid = pid_of(snapshot, w[2]), index = number(w[3]);
    THREADENTRY32 entry = {.dwSize = sizeof entry};
    uint32_t tid = 0;
    for (BOOL more = Thread32First(snapshot, &entry); more && !tid;
         more = Thread32Next(snapshot, &entry))
        if (pid && entry.th32OwnerProcessID == pid && index-- == 0)
            tid = entry.th32ThreadID;
    CloseHandle(snapshot);
    return name_number(w[1], tid);
}

// US and CPU are the words 1 and 2.
static se_origin origin_of(char **w, uint32_t pid, uint32_t tid)
{
    return (se_origin){.pid = pid,
                       .tid = tid,
                       .cpu = number(w[2]),
                       .stamp = g_base + ticks(w[1]),
                       .stamp_is_given = g_base != 0};
}

// A PERFINFO record.
static bool send(char **w, uint32_t flags, uint32_t group, uint32_t opcode, uint32_t version,
                 const void *payload, uint32_t len)
{
    se_origin origin = origin_of(w, SE_FOREVER, SE_FOREVER);
    se_kernel_event event = {.group = (uint8_t)group,
                             .opcode = (uint8_t)opcode,
                             .version = (uint8_t)version,
                             .flags = flags,
                             .origin = &origin,
                             .payload = payload,
                             .payload_len = len};
    return se_write_kernel(&event);
}

static bool send_cswitch(char **w)
{
    uint8_t p[24] = {0};
    uint32_t threads[2] = {named(w[3]), named(w[4])};
    memcpy(p, threads, 8);
    p[8] = p[9] = 8; // priorities
    p[12] = (uint8_t)number(w[6]);
    p[13] = 1; // user mode
    p[14] = (uint8_t)number(w[5]);
    return send(w, FLAG_CSWITCH, 5, 36, 2, p, sizeof p);
}

static bool send_ready(char **w)
{
    uint32_t p[2] = {named(w[3]), 1};
    return send(w, FLAG_READY, 5, 50, 2, p, sizeof p);
}

static bool send_profile(char **w)
{
    uint64_t ip = strtoull(w[4], NULL, 0);
    uint32_t rest[2] = {named(w[3]), 1};
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
                     (uint64_t)number(w[4]) << 32 | named(w[3])};
    return send(w, FLAG_HARD_FAULT, 2, 32, 0, p, sizeof p);
}

static bool send_disk(char **w, uint32_t opcode)
{
    uint32_t head[4] = {0, 0x60043, number(w[4]), 0}, tid = named(w[3]);
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

static uint32_t read_hex(const char *text, uint8_t *out, uint32_t size)
{
    uint32_t len = 0;
    for (; text[0] && text[1] && len < size; text += 2) {
        char digits[3] = {text[0], text[1], 0};
        out[len++] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return len;
}

static bool send_raw(char **w)
{
    uint8_t p[1024];
    uint32_t len = read_hex(w[6], p, sizeof p);
    return send(w, 0, number(w[3]), number(w[4]), number(w[5]), p, len);
}

static bool read_guid(const char *text, GUID *out)
{
    unsigned v[11];
    if (sscanf(text, "%8x-%4x-%4x-%2x%2x-%2x%2x%2x%2x%2x%2x", &v[0], &v[1], &v[2], &v[3], &v[4],
               &v[5], &v[6], &v[7], &v[8], &v[9], &v[10]) != 11)
        return false;
    *out = (GUID){v[0], (uint16_t)v[1], (uint16_t)v[2], {0}};
    for (int i = 0; i < 8; i++)
        out->Data4[i] = (uint8_t)v[3 + i];
    return true;
}

// Of a provider with a manifest, written by a driver for a process.
static bool send_event(char **w, int count)
{
    uint8_t p[1024];
    uint32_t len = count > 11 ? read_hex(w[11], p, sizeof p) : 0;
    se_origin origin = origin_of(w, named(w[9]), named(w[10]));
    EVENT_DATA_DESCRIPTOR data = {.Ptr = (uintptr_t)p, .Size = len};
    se_event event = {.descriptor = {.Id = (uint16_t)number(w[4]),
                                     .Version = (uint8_t)number(w[5]),
                                     .Opcode = (uint8_t)number(w[6]),
                                     .Level = (uint8_t)number(w[7]),
                                     .Keyword = strtoull(w[8], NULL, 0)},
                      .count = 1,
                      .data = &data,
                      .origin = &origin};
    return read_guid(w[3], &event.provider) && se_write(&event) == ERROR_SUCCESS;
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
    if (strcmp(c, "event") == 0 && count >= 11)
        return send_event(w, count);
    if (strcmp(c, "process") == 0 && count == 3)
        return name_process(w);
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
