// SPDX-License-Identifier: MIT
// odd_image RUNTIME.dll MODEL: watches the runtime's own image while somebody comes and goes. Told
// by lines on standard input:
//   sum     a hash of all that must never change in it: code, read-only data and their protection
//   run     run the model once
//   unload  release everything and unload the runtime
//   forget  unload it as it is, with a session that nobody released
//   load    load it again
//   block   after an unload: keep the place where it was, so that it is loaded elsewhere
// Each is answered with a line. Ends with 7 at the end of input.
#include "odd_ort.h"

#include <stdio.h>
#include <windows.h>

static odd_ort g_ort;
static OrtSession *g_session;
static wchar_t **g_arguments;
static void *g_base;

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const uint8_t *)data)[i]) * 0x100000001b3u;
    return hash;
}

static uint64_t sum(void)
{
    const uint8_t *base = (const uint8_t *)GetModuleHandleW(L"onnxruntime.dll");
    const IMAGE_NT_HEADERS *nt =
        (const IMAGE_NT_HEADERS *)(base + ((const IMAGE_DOS_HEADER *)base)->e_lfanew);
    const IMAGE_SECTION_HEADER *section = IMAGE_FIRST_SECTION(nt);
    uint64_t hash = 0xcbf29ce484222325u;
    for (int i = 0; i < nt->FileHeader.NumberOfSections; i++, section++) {
        if (section->Characteristics & IMAGE_SCN_MEM_WRITE)
            continue;
        const uint8_t *at = base + section->VirtualAddress, *end = at + section->Misc.VirtualSize;
        hash = hash_bytes(hash, at, section->Misc.VirtualSize);
        for (MEMORY_BASIC_INFORMATION region; at < end && VirtualQuery(at, &region, sizeof region);
             at = (const uint8_t *)region.BaseAddress + region.RegionSize) {
            uint64_t part[] = {(uint64_t)((const uint8_t *)region.BaseAddress - base),
                               region.Protect};
            hash = hash_bytes(hash, part, sizeof part);
        }
    }
    return hash;
}

static void load(void)
{
    odd_load(&g_ort, g_arguments[1], g_arguments[2]);
    g_session = odd_session(&g_ort);
    g_base = GetModuleHandleW(L"onnxruntime.dll");
}

static void unload(bool release)
{
    if (release) {
        g_ort.call.ReleaseSession(g_session);
        g_ort.call.ReleaseSessionOptions(g_ort.options);
        g_ort.call.ReleaseEnv(g_ort.env);
    }
    FreeLibrary(GetModuleHandleW(L"onnxruntime.dll"));
}

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    char line[32];
    if (argc < 3)
        return 2;
    g_arguments = argv;
    load();
    printf("pid %lu\n", GetCurrentProcessId());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (line[0] == 's')
            printf("sum %016llx\n", (unsigned long long)sum());
        else if (line[0] == 'r')
            printf("ran %d\n", odd_run(&g_ort, g_session));
        else if (line[0] == 'u' || line[0] == 'f') {
            unload(line[0] == 'u');
            printf("%s\n", GetModuleHandleW(L"onnxruntime.dll") ? "stays" : "unloaded");
        } else if (line[0] == 'b')
            printf("blocked %d\n", VirtualAlloc(g_base, 1, MEM_RESERVE, PAGE_NOACCESS) == g_base);
        else {
            load();
            printf("loaded\n");
        }
        fflush(stdout);
    }
    return 7;
}
