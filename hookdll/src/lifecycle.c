// SPDX-License-Identifier: MIT
// Attached and armed, disarmed and dormant. One thread of ours, the watcher, lives as long as we
// are attached: it does what the collector asks and disarms when the collector dies. All disarming
// happens on it, so that there is one way out.
#include "etw.h"
#include "sessions.h"
#include "shapes.h"
#include "shim.h"
#include "tap.h"

hk_state g_hk = {.lock = SRWLOCK_INIT};

// Exported data, read from outside with ReadProcessMemory.
__declspec(dllexport) ort_hook_state ortscope_hook_state = {
    .magic = ORT_HOOK_STATE_MAGIC, .abi = ORT_HOOK_ABI, .version = ORTSCOPE_VERSION};

// ------------------------------------------------------------------------------------- the channel

static bool channel_open(const ort_hook_params *params)
{
    void *view = MapViewOfFile(g_hk.section_handle, FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, 0);
    if (!view)
        return false;
    if (!tl_section_check(view, (size_t)params->section_bytes)) {
        UnmapViewOfFile(view);
        return false;
    }
    g_hk.section = view;
    tl_section_publish_schema(view);
    return true;
}

static void close_handles(void)
{
    HANDLE *handles[] = {&g_hk.section_handle, &g_hk.wake_hook, &g_hk.wake_collector,
                         &g_hk.collector_process};
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++) {
        if (*handles[i])
            CloseHandle(*handles[i]);
        *handles[i] = NULL;
    }
}

// ---------------------------------------------------------------------------------- arm and disarm

static void forget_objects(void)
{
    hk_ops_clear();
    hk_alloc_clear();
    hk_sessions_clear();
    hk_options_clear();
    hk_bindings_clear();
    hk_run_options_clear();
}

// Set while a thread may be inside our code although we are dormant.
static bool g_left_behind;

// What could not be cleared when we left. A thread that is in our code still was killed there, or
// is held: it may have a lock of ours, on which the program's threads would wait for ever if we
// were armed. False: we must stay dormant.
static bool clear_left_behind(void)
{
    if (!g_left_behind)
        return true;
    if (!hk_threads_wait_idle())
        return false;
    forget_objects();
    g_left_behind = false;
    return true;
}

static void arm_all(void)
{
    atomic_fetch_add(&g_hk.epoch, 1); // odd: hooks record from here on
    hk_modules_arm();
    if (g_hk.flags & ORT_HOOK_FOLLOW_CHILDREN)
        hk_children_arm();
}

static void disarm_all(void)
{
    hk_tap_tell_all(false);
    hk_etw_serve();
    AcquireSRWLockExclusive(&g_hk.lock);
    atomic_fetch_add(&g_hk.epoch, 1); // even: nobody begins to record
    hk_children_disarm();
    hk_tap_disarm();
    hk_ops_disarm();
    hk_alloc_disarm();
    hk_modules_disarm();
    ReleaseSRWLockExclusive(&g_hk.lock);
    bool idle = hk_threads_wait_idle();
    hk_etw_disarm(idle);
    SetEvent(g_hk.child_reply);
    if (idle)
        forget_objects();
    g_left_behind = !idle;
    atomic_store(&g_hk.section->phase, TL_HOOK_DETACHED);
    SetEvent(g_hk.wake_collector);
    if (idle) { // else somebody may still write to it: leave it mapped
        UnmapViewOfFile(g_hk.section);
        g_hk.section = NULL;
    }
    close_handles();
    InterlockedExchange((volatile LONG *)&ortscope_hook_state.collector_pid, 0);
    InterlockedExchange((volatile LONG *)&ortscope_hook_state.attached, 0);
}

#define LAST_THREAD_CHECK_MS 500u
#define THREAD_AM_I_LAST     12 // ThreadAmILastThread

NTSYSAPI LONG NTAPI NtQueryInformationThread(HANDLE thread, int kind, void *out, ULONG bytes,
                                             ULONG *out_bytes);

// A process ends when its last thread does: we must not be the one that keeps it alive.
static bool is_last_thread(void)
{
    ULONG last = 0;
    return NtQueryInformationThread(GetCurrentThread(), THREAD_AM_I_LAST, &last, sizeof last,
                                    NULL) == 0 &&
           last != 0;
}

// The exit code of such a process is that of its last thread: the program's, not ours.
static DWORD last_exit_code(void)
{
    DWORD code = 0;
    if (g_hk.last_ended)
        GetExitCodeThread(g_hk.last_ended, &code);
    return code;
}

static DWORD WINAPI watcher(void *unused)
{
    (void)unused;
    HANDLE handles[] = {g_hk.wake_hook, g_hk_etw_wake, g_hk.collector_process, g_hk.detach_event};
    // The collector may have given up on us before this thread began.
    while (!atomic_load(&g_hk.section->stop)) {
        DWORD which = WaitForMultipleObjects(4, handles, FALSE, LAST_THREAD_CHECK_MS);
        if (which == WAIT_OBJECT_0) {
            SetEvent(g_hk.child_reply);
        } else if (which != WAIT_TIMEOUT && which != WAIT_OBJECT_0 + 1) {
            break; // the collector is dead, or somebody asked us to detach
        } else if (is_last_thread()) {
            return last_exit_code(); // nobody is left to restore anything for
        }
        hk_etw_serve();
    }
    disarm_all();
    return 0;
}

// ----------------------------------------------------------------------------------------- exports

bool hk_lifecycle_init(void)
{
    g_hk.heap = HeapCreate(0, 0, 0);
    g_hk.detach_event = CreateEventW(NULL, FALSE, FALSE, NULL);
    g_hk.child_reply = CreateEventW(NULL, FALSE, FALSE, NULL);
    g_hk_etw_wake = CreateEventW(NULL, FALSE, FALSE, NULL);
    return g_hk.heap && g_hk.detach_event && g_hk.child_reply && g_hk_etw_wake && hk_threads_init();
}

// What needs to happen once but not under the loader's lock in DllMain.
static bool first_time(void)
{
    static bool done;
    HMODULE self;
    if (done)
        return true;
    // We stay for ever: a thread may be inside one of our functions at any time.
    if (!GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                            (LPCWSTR)(uintptr_t)first_time, &self))
        return false;
    hk_modules_watch();
    done = true;
    return true;
}

static void take_handles(const ort_hook_params *params)
{
    g_hk.section_handle = (HANDLE)(uintptr_t)params->section;
    g_hk.wake_hook = (HANDLE)(uintptr_t)params->wake_hook;
    g_hk.wake_collector = (HANDLE)(uintptr_t)params->wake_collector;
    g_hk.collector_process = (HANDLE)(uintptr_t)params->collector_process;
    g_hk.flags = params->flags;
}

static DWORD attach(const ort_hook_params *params)
{
    take_handles(params);
    if (!clear_left_behind())
        return ORT_HOOK_THREAD_LEFT;
    if (!channel_open(params))
        return ORT_HOOK_BAD_PARAMS;
    ResetEvent(g_hk.detach_event);
    ResetEvent(g_hk.child_reply);
    ortscope_hook_state.collector_pid = params->collector_pid;
    hk_etw_arm();
    arm_all();
    atomic_store(&g_hk.section->phase, TL_HOOK_ARMED);
    SetEvent(g_hk.wake_collector);
    HANDLE thread = CreateThread(NULL, 64 * 1024, watcher, NULL, 0, NULL);
    if (!thread) {
        disarm_all();
        return ORT_HOOK_NO_MEMORY;
    }
    CloseHandle(thread);
    return ORT_HOOK_OK;
}

__declspec(dllexport) DWORD WINAPI ortscope_hook_attach(ort_hook_params *params);
__declspec(dllexport) DWORD WINAPI ortscope_hook_attach(ort_hook_params *params)
{
    if (!params || params->size != sizeof *params || params->abi != ORT_HOOK_ABI)
        return ORT_HOOK_BAD_PARAMS;
    if (!first_time())
        return ORT_HOOK_NO_MEMORY;
    volatile LONG *attached = (volatile LONG *)&ortscope_hook_state.attached;
    if (InterlockedCompareExchange(attached, 1, 0) != 0)
        return ORT_HOOK_ALREADY_ATTACHED;
    DWORD result = attach(params);
    if (result == ORT_HOOK_BAD_PARAMS || result == ORT_HOOK_THREAD_LEFT) {
        close_handles();
        InterlockedExchange(attached, 0);
    }
    return result;
}

__declspec(dllexport) DWORD WINAPI ortscope_hook_detach(void *unused);
__declspec(dllexport) DWORD WINAPI ortscope_hook_detach(void *unused)
{
    (void)unused;
    if (!*(volatile uint32_t *)&ortscope_hook_state.attached)
        return ORT_HOOK_NOT_ATTACHED;
    SetEvent(g_hk.detach_event);
    for (int i = 0; i < 500 && *(volatile uint32_t *)&ortscope_hook_state.attached; i++)
        Sleep(10);
    return ORT_HOOK_OK;
}
