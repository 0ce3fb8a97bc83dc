// SPDX-License-Identifier: MIT
// Suspends every other thread of the process and learns where it stands. Between the first
// suspension and the last resumption only system calls are made: a suspended thread may hold the
// heap's or the loader's lock. All are suspended before the first is asked for its context, since
// the answer waits until that thread has really stopped.
#include "detour_internal.h"

#include <windows.h>

// Declared here because mingw's winternl.h has only some of them.
typedef struct thread_basic_information {
    LONG exit_status;
    void *teb;
    struct {
        HANDLE process;
        HANDLE thread;
    } client_id;
    ULONG_PTR affinity;
    LONG priority;
    LONG base_priority;
} thread_basic_information;

NTSYSAPI LONG NTAPI NtGetNextThread(HANDLE process, HANDLE thread, ACCESS_MASK access,
                                    ULONG attributes, ULONG flags, HANDLE *next);
NTSYSAPI LONG NTAPI NtQueryInformationThread(HANDLE thread, int info_class, void *info, ULONG len,
                                             ULONG *needed);
NTSYSAPI LONG NTAPI NtSuspendThread(HANDLE thread, ULONG *previous);
NTSYSAPI LONG NTAPI NtResumeThread(HANDLE thread, ULONG *previous);
NTSYSAPI LONG NTAPI NtGetContextThread(HANDLE thread, CONTEXT *context);
NTSYSAPI LONG NTAPI NtSetContextThread(HANDLE thread, CONTEXT *context);
NTSYSAPI LONG NTAPI NtClose(HANDLE handle);

enum {
    FIRST_CAPACITY = 1024,
    LAST_CAPACITY = 65536,
    PASSES_MAX = 1000,
    THREAD_BASIC_INFORMATION_CLASS = 0,
};
static const LONG NO_MORE_ENTRIES = (LONG)0x8000001A;
static const LONG SUSPEND_COUNT_EXCEEDED = (LONG)0xC000004A;
static const ACCESS_MASK ACCESS =
    THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT | THREAD_SET_CONTEXT | THREAD_QUERY_INFORMATION;

static struct {
    hk_thread *list;
    size_t count;
    size_t capacity;
} g_threads;

static bool is_known(uint64_t id)
{
    for (size_t i = 0; i < g_threads.count; i++)
        if (g_threads.list[i].id == id)
            return true;
    return false;
}

// Zeroed where the thread can't be asked.
static thread_basic_information ask(HANDLE handle)
{
    thread_basic_information info;
    LONG status =
        NtQueryInformationThread(handle, THREAD_BASIC_INFORMATION_CLASS, &info, sizeof info, NULL);
    return status < 0 ? (thread_basic_information){.teb = NULL} : info;
}

// Returns whether the list keeps the handle.
static bool suspend(HANDLE handle, const thread_basic_information *info)
{
    LONG status = NtSuspendThread(handle, NULL);
    // Anything else than a full counter means that the thread is ending.
    if (status < 0 && status != SUSPEND_COUNT_EXCEEDED)
        return false;
    hk_thread *thread = &g_threads.list[g_threads.count++];
    thread->handle = handle;
    thread->id = (uint64_t)(uintptr_t)info->client_id.thread;
    thread->begun = info->teb != NULL;
    thread->ip = 0;
    thread->suspended = status >= 0;
    return true;
}

typedef enum pass_result { PASS_NOTHING_NEW, PASS_FOUND_NEW, PASS_FULL, PASS_FAILED } pass_result;

// One walk over the threads of the process; suspends those that were not known.
static pass_result walk_once(uint64_t self)
{
    pass_result result = PASS_NOTHING_NEW;
    HANDLE cursor = NULL;
    bool cursor_kept = true;
    for (;;) {
        HANDLE next = NULL;
        LONG status = NtGetNextThread(GetCurrentProcess(), cursor, ACCESS, 0, 0, &next);
        if (!cursor_kept)
            NtClose(cursor);
        if (status < 0)
            return status == NO_MORE_ENTRIES ? result : PASS_FAILED;
        cursor = next;
        cursor_kept = false;
        thread_basic_information info = ask(cursor);
        uint64_t id = (uint64_t)(uintptr_t)info.client_id.thread;
        if (id == 0 || id == self || is_known(id))
            continue;
        if (g_threads.count == g_threads.capacity) {
            NtClose(cursor);
            return PASS_FULL;
        }
        cursor_kept = suspend(cursor, &info);
        if (cursor_kept)
            result = PASS_FOUND_NEW;
    }
}

static bool grow(void)
{
    size_t capacity = g_threads.capacity ? g_threads.capacity * 4 : FIRST_CAPACITY;
    if (capacity > LAST_CAPACITY)
        return false;
    hk_thread *list = hk_memory(capacity * sizeof *list);
    if (!list)
        return false;
    g_threads.list = list;
    g_threads.capacity = capacity;
    return true;
}

// A suspended thread can't start another: only those begun before count, so this ends soon.
static pass_result suspend_all(void)
{
    uint64_t self = GetCurrentThreadId();
    for (int pass = 0; pass < PASSES_MAX; pass++) {
        pass_result result = walk_once(self);
        if (result != PASS_FOUND_NEW)
            return result;
    }
    return PASS_FAILED;
}

// A thread that its maker, suspended halfway, has not let begin (Wine) is not asked: its
// suspension holds before its first instruction, and its context would be waited for for ever.
static void read_positions(void)
{
    for (size_t i = 0; i < g_threads.count; i++) {
        hk_thread *thread = &g_threads.list[i];
        CONTEXT context;
        if (!thread->begun && !ask(thread->handle).teb)
            continue;
        context.ContextFlags = CONTEXT_CONTROL;
        // A thread that has no context any more does not come back to user code.
        if (NtGetContextThread(thread->handle, &context) >= 0)
            thread->ip = context.Rip;
    }
}

hk_detour_reason hk_threads_stop(void)
{
    if (!g_threads.list && !grow())
        return HK_DETOUR_NO_MEMORY;
    for (;;) {
        pass_result result = suspend_all();
        if (result == PASS_NOTHING_NEW)
            break;
        hk_threads_resume();
        if (result != PASS_FULL || !grow())
            return HK_DETOUR_THREADS;
    }
    read_positions();
    return HK_DETOUR_OK;
}

void hk_threads_resume(void)
{
    for (size_t i = 0; i < g_threads.count; i++) {
        hk_thread *thread = &g_threads.list[i];
        if (thread->suspended)
            NtResumeThread(thread->handle, NULL);
        NtClose(thread->handle);
    }
    g_threads.count = 0;
}

size_t hk_threads_count(void)
{
    return g_threads.count;
}

hk_thread *hk_threads_at(size_t index)
{
    return &g_threads.list[index];
}

bool hk_threads_move(hk_thread *thread, uint64_t ip)
{
    CONTEXT context;
    context.ContextFlags = CONTEXT_CONTROL;
    if (NtGetContextThread(thread->handle, &context) < 0)
        return false;
    context.Rip = ip;
    context.ContextFlags = CONTEXT_CONTROL;
    if (NtSetContextThread(thread->handle, &context) < 0)
        return false;
    thread->ip = ip;
    return true;
}
