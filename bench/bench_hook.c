// SPDX-License-Identifier: MIT
#include "bench_hook.h"

#include "common/os.h"
#include "tracelogging/channel.h"
#include "tracelogging/hook_contract.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <windows.h>

static DWORD(WINAPI *g_attach)(ort_hook_params *);
static DWORD(WINAPI *g_detach)(void *);
static tl_section_header *g_view;
static tl_consumer *g_consumer;
static uint64_t g_records;
static bool g_fresh; // memory is left as it is

static void die(const char *what)
{
    fprintf(stderr, "bench: %s failed, error %lu\n", what, GetLastError());
    exit(1);
}

void bench_hook_load(const wchar_t *dll)
{
    HMODULE module = LoadLibraryW(dll);
    if (!module)
        die("loading the hook DLL");
    g_attach = (DWORD(WINAPI *)(ort_hook_params *))(uintptr_t)GetProcAddress(
        module, ORT_HOOK_ATTACH_EXPORT);
    g_detach = (DWORD(WINAPI *)(void *))(uintptr_t)GetProcAddress(module, ORT_HOOK_DETACH_EXPORT);
    if (!g_attach || !g_detach)
        die("finding the hook's exports");
}

// The hook closes what it is given.
static uint64_t copy_of(HANDLE handle, DWORD access)
{
    HANDLE copy = NULL;
    if (!DuplicateHandle(GetCurrentProcess(), handle, GetCurrentProcess(), &copy, access, FALSE, 0))
        die("DuplicateHandle");
    return (uint64_t)(uintptr_t)copy;
}

#define RINGS_USED 4u // a thread each
#define PAGE       4096u

static size_t used_bytes(size_t bytes)
{
    return bytes - (TL_RINGS_DEFAULT - RINGS_USED) * (size_t)TL_RING_BYTES_DEFAULT;
}

// A program writes to fresh memory until its ring has come round, after about a hundred runs. What
// comes after that is measured, for which a round is too short: the channel is one for all
// rounds, and the hook's view of it is touched where it will write.
static void touch_views(size_t bytes)
{
    MEMORY_BASIC_INFORMATION view;
    for (uint8_t *at = NULL; VirtualQuery(at, &view, sizeof view) == sizeof view;
         at = (uint8_t *)view.BaseAddress + view.RegionSize) {
        if (view.Type != MEM_MAPPED || view.State != MEM_COMMIT || view.RegionSize < bytes ||
            view.Protect != PAGE_READWRITE ||
            ((tl_section_header *)view.BaseAddress)->magic != TL_CHANNEL_MAGIC)
            continue;
        for (size_t i = 0; i < used_bytes(bytes); i += PAGE)
            __atomic_fetch_or((uint8_t *)view.BaseAddress + i, 0, __ATOMIC_RELAXED);
    }
}

static HANDLE channel(size_t bytes)
{
    static HANDLE section;
    if (!section) {
        section =
            CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, (DWORD)bytes, NULL);
        g_view = section ? MapViewOfFile(section, FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, 0) : NULL;
        if (!g_view)
            die("making the channel");
    }
    if (!g_fresh)
        memset(g_view, 0, used_bytes(bytes));
    tl_section_init(g_view, TL_RINGS_DEFAULT, TL_RING_BYTES_DEFAULT);
    return section;
}

double bench_hook_arm(uint32_t flags)
{
    size_t bytes = tl_section_bytes(TL_RINGS_DEFAULT, TL_RING_BYTES_DEFAULT);
    HANDLE section = channel(bytes);
    g_consumer = tl_consumer_create(g_view, TL_RINGS_DEFAULT, TL_RING_BYTES_DEFAULT);
    g_records = 0;
    ort_hook_params params = {
        .size = sizeof params,
        .abi = ORT_HOOK_ABI,
        .section = copy_of(section, FILE_MAP_READ | FILE_MAP_WRITE),
        .section_bytes = bytes,
        .wake_hook = (uint64_t)(uintptr_t)CreateEventW(NULL, FALSE, FALSE, NULL),
        .wake_collector = (uint64_t)(uintptr_t)CreateEventW(NULL, FALSE, FALSE, NULL),
        .collector_process = copy_of(GetCurrentProcess(), SYNCHRONIZE),
        .collector_pid = GetCurrentProcessId(),
        .flags = flags};
    uint64_t begin = cm_monotonic_ns();
    if (g_attach(&params) != ORT_HOOK_OK)
        die("attaching");
    double ms = (double)(cm_monotonic_ns() - begin) / 1e6;
    if (!g_fresh)
        touch_views(bytes);
    return ms;
}

void bench_hook_leave_memory(void)
{
    g_fresh = true;
}

static void count(void *context, const tl_record *record, const uint8_t *payload)
{
    (void)context;
    (void)record;
    (void)payload;
    g_records++;
}

uint64_t bench_hook_drain(void)
{
    tl_consumer_drain(g_consumer, count, NULL);
    return g_records;
}

// Losing is quicker than recording, so what was measured with losses means nothing.
void bench_hook_disarm(void)
{
    g_detach(NULL);
    tl_losses losses = tl_consumer_losses(g_consumer);
    if (losses.ring_full || losses.no_ring)
        die("recording everything");
    tl_consumer_destroy(g_consumer);
}
