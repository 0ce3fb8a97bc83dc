// SPDX-License-Identifier: MIT
#include "runner_system.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <windows.h>

static size_t in_use(HANDLE heap)
{
    PROCESS_HEAP_ENTRY entry = {0};
    size_t bytes = 0;
    HeapLock(heap);
    while (HeapWalk(heap, &entry))
        if (entry.wFlags & PROCESS_HEAP_ENTRY_BUSY)
            bytes += entry.cbData;
    HeapUnlock(heap);
    return bytes;
}

runner_memory runner_measure(void)
{
    HANDLE heaps[64];
    DWORD count = GetProcessHeaps(64, heaps);
    runner_memory m = {0};
    for (DWORD i = 0; i < count && i < 64; i++)
        if (heaps[i] != GetProcessHeap() && heaps[i] != (HANDLE)_get_heap_handle())
            m.other_heaps_bytes += in_use(heaps[i]);
    MEMORY_BASIC_INFORMATION region;
    for (uint8_t *at = NULL; VirtualQuery(at, &region, sizeof region);
         at = (uint8_t *)region.BaseAddress + region.RegionSize)
        if (region.State == MEM_COMMIT && region.Type == MEM_PRIVATE)
            m.private_bytes += region.RegionSize;
    return m;
}

bool runner_await_go(const wchar_t *pid_file, const wchar_t *go_file)
{
    if (pid_file) {
        wchar_t temporary[512];
        swprintf(temporary, 512, L"%ls.new", pid_file);
        FILE *file = _wfopen(temporary, L"w");
        if (!file)
            return false;
        fprintf(file, "%lu", GetCurrentProcessId());
        fclose(file);
        MoveFileExW(temporary, pid_file, MOVEFILE_REPLACE_EXISTING);
    }
    while (go_file && GetFileAttributesW(go_file) == INVALID_FILE_ATTRIBUTES)
        Sleep(5);
    return true;
}

void runner_log(void *param, int severity, const char *category, const char *log_id,
                const char *location, const char *message)
{
    (void)param;
    (void)location;
    fprintf(stderr, "log %d %s %s: %s\n", severity, category, log_id, message);
}

FILE *runner_open_progress(const wchar_t *prefix, size_t number)
{
    wchar_t path[512];
    if (!prefix)
        return NULL;
    swprintf(path, 512, L"%ls%zu", prefix, number);
    return _wfopen(path, L"wb");
}
