// SPDX-License-Identifier: MIT
// Child processes: started suspended, shown to the collector, which injects us there too, then let
// go. If the collector does not answer, the child runs without us; a program that debugs its child
// keeps it for itself.
#include "emit.h"
#include "hookdll/detour.h"
#include "mapped_image.h"

#define ANSWER_MS 3000u

static SRWLOCK g_one_request = SRWLOCK_INIT;

static void tell_unanswered(hk_thread *t, uint32_t epoch, DWORD pid)
{
    char digits[24], text[128];
    const hk_text parts[] = {hk_text_of("Child process "), hk_text_of_number(pid, digits),
                             hk_text_of(" is not followed: ortscope did not answer.")};
    size_t len = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        memcpy(text + len, parts[i].bytes, parts[i].len);
        len += parts[i].len;
    }
    hk_emit_log(t, epoch, TL_LEVEL_WARNING, 0, 0, pid, (hk_text){text, len});
}

// False: not armed, or the collector owes us an answer since the last time (it hangs, or somebody
// has stopped it): the program does not pay for that again and again.
static bool post_request(DWORD pid)
{
    uint32_t epoch;
    hk_thread *t = hk_enter(&epoch);
    if (!t)
        return false;
    tl_child_mailbox *mailbox = &g_hk.section->child;
    bool answered = atomic_load(&mailbox->request) == atomic_load(&mailbox->reply);
    if (answered) {
        ResetEvent(g_hk.child_reply);
        atomic_store(&mailbox->pid, pid);
        atomic_fetch_add(&mailbox->request, 1);
        SetEvent(g_hk.wake_collector);
    } else {
        tell_unanswered(t, epoch, pid);
    }
    hk_leave(t);
    return answered;
}

static void show_to_collector(DWORD pid)
{
    AcquireSRWLockExclusive(&g_one_request);
    if (post_request(pid))
        WaitForSingleObject(g_hk.child_reply, ANSWER_MS);
    ReleaseSRWLockExclusive(&g_one_request);
}

// Begins a spawn: false if it is not ours to follow (not armed, nested, a debugger's child).
static bool spawn_begin(hk_thread **t, DWORD flags)
{
    uint32_t epoch;
    if (flags & (DEBUG_PROCESS | DEBUG_ONLY_THIS_PROCESS))
        return false;
    *t = hk_enter_to_lock(&epoch);
    if (!*t)
        return false;
    bool nested = (*t)->inside & HK_INSIDE_SPAWN;
    (*t)->inside |= HK_INSIDE_SPAWN;
    hk_leave(*t);
    return !nested;
}

static void spawn_end(hk_thread *t, BOOL created, DWORD flags, const PROCESS_INFORMATION *process)
{
    DWORD error = GetLastError();
    t->inside &= ~HK_INSIDE_SPAWN;
    if (created) {
        show_to_collector(process->dwProcessId);
        if (!(flags & CREATE_SUSPENDED))
            ResumeThread(process->hThread);
    }
    SetLastError(error);
}

// params and args with the creation flags named `flags` and the result named `process`.
#define SPAWN_HOOK(name, params, args, suspended_args, left_alone)                                 \
    typedef BOOL WINAPI name##_fn params;                                                          \
    static name##_fn *real_##name;                                                                 \
    static BOOL WINAPI hook_##name params                                                          \
    {                                                                                              \
        hk_thread *t;                                                                              \
        if (!process || (left_alone) || !spawn_begin(&t, flags))                                   \
            return real_##name args;                                                               \
        BOOL created = real_##name suspended_args;                                                 \
        spawn_end(t, created, flags, process);                                                     \
        return created;                                                                            \
    }

#define SPAWN_FLAGS (flags | CREATE_SUSPENDED)
#define SPAWN_PARAMS(CHAR, STARTUP)                                                                \
    const CHAR *app, CHAR *command, SECURITY_ATTRIBUTES *pa, SECURITY_ATTRIBUTES *ta,              \
        BOOL inherit, DWORD flags, void *env, const CHAR *dir, STARTUP *startup,                   \
        PROCESS_INFORMATION *process
#define SPAWN_ARGS(f) app, command, pa, ta, inherit, f, env, dir, startup, process

SPAWN_HOOK(CreateProcessW, (SPAWN_PARAMS(WCHAR, STARTUPINFOW)), (SPAWN_ARGS(flags)),
           (SPAWN_ARGS(SPAWN_FLAGS)), false)
SPAWN_HOOK(CreateProcessA, (SPAWN_PARAMS(char, STARTUPINFOA)), (SPAWN_ARGS(flags)),
           (SPAWN_ARGS(SPAWN_FLAGS)), false)
// Another user's token and suspended: a sandbox (browsers, Electron) that is not ready for a
// foreign thread yet. It is left alone.
SPAWN_HOOK(CreateProcessAsUserW, (HANDLE token, SPAWN_PARAMS(WCHAR, STARTUPINFOW)),
           (token, SPAWN_ARGS(flags)), (token, SPAWN_ARGS(SPAWN_FLAGS)), flags &CREATE_SUSPENDED)
SPAWN_HOOK(CreateProcessAsUserA, (HANDLE token, SPAWN_PARAMS(char, STARTUPINFOA)),
           (token, SPAWN_ARGS(flags)), (token, SPAWN_ARGS(SPAWN_FLAGS)), flags &CREATE_SUSPENDED)

static const struct {
    const char *name;
    void **real;
    void *hook;
} g_spawners[] = {
    {"CreateProcessW", (void **)&real_CreateProcessW, (void *)hook_CreateProcessW},
    {"CreateProcessA", (void **)&real_CreateProcessA, (void *)hook_CreateProcessA},
    {"CreateProcessAsUserW", (void **)&real_CreateProcessAsUserW,
     (void *)hook_CreateProcessAsUserW},
    {"CreateProcessAsUserA", (void **)&real_CreateProcessAsUserA,
     (void *)hook_CreateProcessAsUserA},
};
#define SPAWNERS (sizeof g_spawners / sizeof *g_spawners)

static bool g_attached[SPAWNERS]; // our detour is in place

void hk_children_arm(void)
{
    const uint8_t *base = (const uint8_t *)GetModuleHandleW(L"kernelbase.dll");
    hk_detour_reason outcomes[SPAWNERS];
    if (!base || hk_detour_begin() != HK_DETOUR_OK)
        return;
    for (size_t i = 0; i < SPAWNERS; i++) {
        outcomes[i] = HK_DETOUR_NOT_COMMITTED;
        if (g_attached[i]) // could not be let go of at the last disarming
            continue;
        *g_spawners[i].real = hk_image_export(base, g_spawners[i].name);
        if (*g_spawners[i].real)
            hk_detour_attach_ex(g_spawners[i].real, g_spawners[i].hook, HK_DETOUR_OPTIONAL,
                                &outcomes[i]);
    }
    bool committed = hk_detour_commit(NULL) == HK_DETOUR_OK;
    for (size_t i = 0; i < SPAWNERS; i++)
        g_attached[i] = g_attached[i] || (committed && outcomes[i] == HK_DETOUR_OK);
}

void hk_children_disarm(void)
{
    hk_detour_reason outcomes[SPAWNERS];
    if (hk_detour_begin() != HK_DETOUR_OK)
        return;
    for (size_t i = 0; i < SPAWNERS; i++) {
        outcomes[i] = HK_DETOUR_NOT_COMMITTED;
        if (g_attached[i])
            hk_detour_detach_ex(g_spawners[i].real, g_spawners[i].hook, HK_DETOUR_OPTIONAL,
                                &outcomes[i]);
    }
    hk_detour_commit(NULL);
    for (size_t i = 0; i < SPAWNERS; i++)
        g_attached[i] = g_attached[i] && outcomes[i] != HK_DETOUR_OK;
}
