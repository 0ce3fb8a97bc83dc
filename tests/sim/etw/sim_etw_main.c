// SPDX-License-Identifier: MIT
// sim_etw: the machine's host, and the door to it. See tests/sim/README.md.
//
//     sim_etw host NAME                  keeps the machine; says "ready" on stdout; ends with `end`
//     sim_etw run NAME PROGRAM ARGS...   the program, and all that it starts, on this machine
//     sim_etw set NAME KEY VALUE...      one of its settings
//     sim_etw status NAME                sessions and processes, as JSON
//     sim_etw kernel NAME FILE           the kernel's events from a script
//     sim_etw end NAME                   the host ends, and the machine with it
#include "sim_etw_main.h"
#include "sim_etw_file.h"
#include "sim_etw_inject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define PACE_MS 10
#define REAP_MS 200

// ------------------------------------------------------------------------------------------- host

static void reap(void)
{
    for (uint32_t i = 0; i < SE_PROCESSES; i++) {
        uint32_t pid = g_se->processes[i].pid;
        if (pid && !se_process_lives(pid))
            g_se->processes[i].pid = 0;
    }
    for (uint32_t i = 0; i < SE_SESSIONS; i++) {
        se_session *s = &g_se->sessions[i];
        uint32_t pid = s->consumer_pid;
        if (s->state == SE_FREE || !pid || se_process_lives(pid))
            continue;
        se_lock();
        if (s->consumer_pid == pid)
            se_session_leave(s);
        se_unlock();
    }
}

static void work(uint64_t now_ms)
{
    for (uint32_t i = 0; i < SE_SESSIONS; i++) {
        se_session *s = &g_se->sessions[i];
        se_lock();
        if (s->state == SE_RUNNING && s->flush_ms && now_ms >= s->next_flush_ms) {
            se_flush(s);
            s->next_flush_ms = now_ms + s->flush_ms;
        }
        bool file = s->file[0] && ((s->state == SE_RUNNING && !g_se->settings.hold_files) ||
                                   s->state == SE_STOPPING);
        se_unlock();
        if (file)
            se_file_work(s);
    }
}

static int host(const WCHAR *name)
{
    if (!se_machine_open(name, true)) {
        fprintf(stderr, "sim_etw: the machine is there already, or there is no memory for it\n");
        return 1;
    }
    HANDLE event = se_event_open("host", 0);
    printf("ready\n");
    fflush(stdout);
    for (uint64_t next_reap = 0; !g_se->leave;) {
        uint64_t now = GetTickCount64();
        work(now);
        if (now >= next_reap) {
            reap();
            next_reap = now + REAP_MS;
        }
        WaitForSingleObject(event, PACE_MS);
    }
    g_se->magic = 0;
    return 0;
}

// -------------------------------------------------------------------------------------------- run

static HANDLE g_child;

// Ctrl+C comes to us alone when it was sent by hand: the program gets it the way the console would.
static BOOL WINAPI pass_on(DWORD code)
{
    LPTHREAD_START_ROUTINE routine = (LPTHREAD_START_ROUTINE)(uintptr_t)GetProcAddress(
        GetModuleHandleW(L"kernelbase.dll"), "CtrlRoutine");
    HANDLE thread = routine && g_child ? CreateRemoteThread(g_child, NULL, 0, routine,
                                                            (void *)(uintptr_t)code, 0, NULL)
                                       : NULL;
    if (thread)
        CloseHandle(thread);
    return TRUE;
}

// The rest of our own command line, as it was given: past `count` arguments.
static WCHAR *command_after(int count)
{
    WCHAR *at = GetCommandLineW();
    for (; count; count--) {
        bool quoted = false;
        for (; *at && (quoted || (*at != L' ' && *at != L'\t')); at++)
            quoted ^= *at == L'"';
        at += wcsspn(at, L" \t");
    }
    return at;
}

static int run(const WCHAR *name)
{
    WCHAR dll[MAX_PATH];
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION process;
    DWORD code = 1, len = GetModuleFileNameW(NULL, dll, MAX_PATH);
    if (len < 4 || len >= MAX_PATH)
        return 125;
    wcscpy(dll + len - 4, L".dll");
    SetEnvironmentVariableW(L"SIM_ETW", name);
    SetConsoleCtrlHandler(pass_on, TRUE);
    if (!CreateProcessW(NULL, command_after(3), NULL, NULL, TRUE, CREATE_SUSPENDED, NULL, NULL,
                        &startup, &process)) {
        fprintf(stderr, "sim_etw: can't start %ls: error %lu\n", command_after(3), GetLastError());
        return 125;
    }
    if (!se_inject(process.hProcess, dll)) {
        fprintf(stderr, "sim_etw: %ls could not be loaded into the program\n", dll);
        TerminateProcess(process.hProcess, 125);
    }
    g_child = process.hProcess;
    ResumeThread(process.hThread);
    WaitForSingleObject(process.hProcess, INFINITE);
    GetExitCodeProcess(process.hProcess, &code);
    return (int)code;
}

// --------------------------------------------------------------------------------------- settings

static const struct {
    const char *key;
    size_t offset;
} g_settings[] = {
    {"deny", offsetof(se_settings, deny)},
    {"deny_system", offsetof(se_settings, deny_system)},
    {"sessions", offsetof(se_settings, sessions)},
    {"provider_limit", offsetof(se_settings, provider_limit)},
    {"backlog", offsetof(se_settings, backlog)},
    {"consumer_delay", offsetof(se_settings, consumer_delay)},
    {"start_error", offsetof(se_settings, start_error)},
    {"enable_error", offsetof(se_settings, enable_error)},
    {"stuck_callbacks", offsetof(se_settings, stuck_callbacks)},
    {"hold_files", offsetof(se_settings, hold_files)},
};

static int set(int argc, WCHAR **argv)
{
    for (int i = 0; i + 1 < argc; i += 2) {
        char key[32];
        size_t k = 0, count = sizeof g_settings / sizeof *g_settings;
        snprintf(key, sizeof key, "%ls", argv[i]);
        while (k < count && strcmp(g_settings[k].key, key) != 0)
            k++;
        if (k == count) {
            fprintf(stderr, "sim_etw: no setting %s\n", key);
            return 2;
        }
        *(uint32_t *)((uint8_t *)&g_se->settings + g_settings[k].offset) =
            (uint32_t)wcstoul(argv[i + 1], NULL, 0);
    }
    return 0;
}

int wmain(int argc, WCHAR **argv);

int wmain(int argc, WCHAR **argv)
{
    if (argc < 3)
        return 2;
    const WCHAR *command = argv[1], *name = argv[2];
    if (wcscmp(command, L"host") == 0)
        return host(name);
    if (!se_machine_open(name, false)) {
        fprintf(stderr, "sim_etw: there is no machine %ls\n", name);
        return 3;
    }
    if (wcscmp(command, L"run") == 0 && argc > 3)
        return run(name);
    if (wcscmp(command, L"set") == 0)
        return set(argc - 3, argv + 3);
    if (wcscmp(command, L"status") == 0)
        return se_status();
    if (wcscmp(command, L"kernel") == 0 && argc == 4)
        return se_kernel(argv[3]);
    if (wcscmp(command, L"end") == 0) {
        InterlockedExchange(&g_se->leave, 1);
        se_signal("host", 0);
        return 0;
    }
    return 2;
}
