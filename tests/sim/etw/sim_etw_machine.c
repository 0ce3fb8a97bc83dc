// SPDX-License-Identifier: MIT
#include "sim_etw_machine.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>

se_machine *g_se;

static WCHAR g_name[64];

static uint64_t section_bytes(void)
{
    return ((sizeof(se_machine) + 0xFFFF) & ~(uint64_t)0xFFFF) + SE_ARENA_BYTES;
}

static void set_defaults(se_machine *m)
{
    m->settings.sessions = 64;
    m->settings.provider_limit = 8;
    m->host_pid = GetCurrentProcessId();
    m->magic = SE_MAGIC;
}

bool se_machine_open(const WCHAR *name, bool create)
{
    WCHAR full[96];
    if (wcslen(name) >= sizeof g_name / sizeof *g_name)
        return false;
    wcscpy(g_name, name);
    swprintf(full, sizeof full / sizeof *full, L"Local\\sim_etw.%ls", name);
    uint64_t bytes = section_bytes();
    HANDLE section = create ? CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE,
                                                 (DWORD)(bytes >> 32), (DWORD)bytes, full)
                            : OpenFileMappingW(FILE_MAP_ALL_ACCESS, FALSE, full);
    if (!section)
        return false;
    bool existed = create && GetLastError() == ERROR_ALREADY_EXISTS;
    se_machine *m = existed ? NULL : MapViewOfFile(section, FILE_MAP_ALL_ACCESS, 0, 0, 0);
    if (m && create)
        set_defaults(m);
    if (!m || m->magic != SE_MAGIC) {
        if (m)
            UnmapViewOfFile(m);
        CloseHandle(section); // the host keeps its own: the machine is there as long as it is
        return false;
    }
    if (!create)
        CloseHandle(section);
    g_se = m;
    return true;
}

// ------------------------------------------------------------------------------------------- locks

static bool thread_lives(DWORD tid)
{
    HANDLE thread = OpenThread(SYNCHRONIZE, FALSE, tid);
    if (!thread)
        return GetLastError() == ERROR_ACCESS_DENIED;
    bool lives = WaitForSingleObject(thread, 0) == WAIT_TIMEOUT;
    CloseHandle(thread);
    return lives;
}

void se_lock_word(volatile LONG *word)
{
    LONG self = (LONG)GetCurrentThreadId();
    for (uint32_t tries = 1;; tries++) {
        LONG holder = InterlockedCompareExchange(word, self, 0);
        if (holder == 0)
            return;
        if (tries < 200)
            YieldProcessor();
        else if (tries < 400)
            SwitchToThread();
        else
            Sleep(1);
        // Rare: the holder was ended inside. The next one goes on from there.
        if (tries > 400 && tries % 32 == 0 && !thread_lives((DWORD)holder) &&
            InterlockedCompareExchange(word, self, holder) == holder)
            return;
    }
}

void se_unlock_word(volatile LONG *word)
{
    InterlockedExchange(word, 0);
}

bool se_word_held(const volatile LONG *word)
{
    return *word == (LONG)GetCurrentThreadId();
}

void se_lock(void)
{
    se_lock_word(&g_se->lock);
}

void se_unlock(void)
{
    se_unlock_word(&g_se->lock);
}

bool se_process_lives(uint32_t pid)
{
    HANDLE process = OpenProcess(SYNCHRONIZE, FALSE, pid);
    if (!process)
        return GetLastError() == ERROR_ACCESS_DENIED;
    bool lives = WaitForSingleObject(process, 0) == WAIT_TIMEOUT;
    CloseHandle(process);
    return lives;
}

// ------------------------------------------------------------------------------------------ events

HANDLE se_event_open(const char *kind, uint32_t number)
{
    WCHAR full[128];
    swprintf(full, sizeof full / sizeof *full, L"Local\\sim_etw.%ls.%hs%u", g_name, kind, number);
    return CreateEventW(NULL, FALSE, FALSE, full);
}

void se_signal(const char *kind, uint32_t number)
{
    HANDLE event = se_event_open(kind, number);
    if (event) {
        SetEvent(event);
        CloseHandle(event);
    }
}
