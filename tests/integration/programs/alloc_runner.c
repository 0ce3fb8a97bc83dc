// SPDX-License-Identifier: MIT
// Runs a model of one float input and says what its arena has done, as ORT itself counts it. One
// line of JSON at the end.
//
//   alloc_runner DLL MODEL INPUT OUTPUT DIMS RUNS [no-arena|api|shrink] [PID_FILE]
//
// no-arena: the session allocates without one. api: at the end the program itself allocates.
// shrink: after each run the arena gives back what it does not use. With PID_FILE it runs until
// PID_FILE.stop exists and, whenever PID_FILE.ask appears, notes the hash of the runtime's
// read-only data and of its default allocator.
#include "odd_ort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

enum { LINES = 64, TEXT = 1024 };

static odd_ort ort;
static char g_states[LINES][TEXT]; // after creation, after each run, after the last release
static unsigned g_state_count;
static uint64_t g_hashes[LINES];
static unsigned g_hash_count;

static void must(OrtStatus *status)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", ort.call.GetErrorMessage(status));
    ExitProcess(9);
}

static void note_state(const OrtAllocator *allocator)
{
    OrtKeyValuePairs *pairs = NULL;
    const char *const *keys, *const *values;
    size_t count, len = 0;
    if (!ort.call.AllocatorGetStats || g_state_count == LINES)
        return;
    must(ort.call.AllocatorGetStats(allocator, &pairs));
    ort.call.GetKeyValuePairs(pairs, &keys, &values, &count);
    char *text = g_states[g_state_count++];
    for (size_t i = 0; i < count && len < TEXT - 100; i++)
        len += (size_t)snprintf(text + len, TEXT - len, "%s\"%s\": %s", i ? ", " : "", keys[i],
                                values[i]);
    ort.call.ReleaseKeyValuePairs(pairs);
}

// Sections that are neither code nor writable, and the functions of the default allocator.
static uint64_t hash_read_only(const wchar_t *dll)
{
    const uint8_t *base = (const uint8_t *)GetModuleHandleW(wcsrchr(dll, L'/') + 1);
    const IMAGE_NT_HEADERS64 *nt =
        (const void *)(base + ((const IMAGE_DOS_HEADER *)(const void *)base)->e_lfanew);
    const IMAGE_SECTION_HEADER *sections = IMAGE_FIRST_SECTION(nt);
    uint64_t hash = 0xcbf29ce484222325u;
    for (int i = 0; i < nt->FileHeader.NumberOfSections; i++) {
        DWORD flags = sections[i].Characteristics;
        if (flags & (IMAGE_SCN_MEM_EXECUTE | IMAGE_SCN_MEM_WRITE | IMAGE_SCN_MEM_DISCARDABLE))
            continue;
        for (DWORD at = 0; at + 8 <= sections[i].Misc.VirtualSize; at += 8) {
            uint64_t word;
            memcpy(&word, base + sections[i].VirtualAddress + at, 8);
            hash = (hash ^ word) * 0x100000001b3u;
        }
    }
    uint64_t words[4]; // of the default allocator: version, Alloc, Free, Info
    OrtAllocator *allocator = NULL;
    must(ort.call.GetAllocatorWithDefaultOptions(&allocator));
    memcpy(words, allocator, sizeof words);
    for (size_t i = 0; i < 4; i++)
        hash = (hash ^ words[i]) * 0x100000001b3u;
    return hash;
}

static OrtValue *make_input(const char *text, OrtMemoryInfo *cpu)
{
    int64_t dims[8];
    size_t rank = 0, count = 1;
    OrtValue *value = NULL;
    for (char *end; *text && rank < 8; text = *end ? end + 1 : end) {
        dims[rank] = strtoll(text, &end, 10);
        count *= (size_t)dims[rank++];
    }
    float *data = calloc(count, sizeof *data);
    must(ort.call.CreateTensorWithDataAsOrtValue(cpu, data, count * sizeof *data, dims, rank,
                                                 ORT_FLOAT, &value));
    return value;
}

static bool exists(const wchar_t *file, const wchar_t *end, bool remove)
{
    wchar_t path[512];
    swprintf(path, 512, L"%ls%ls", file, end);
    bool is_there = GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES;
    return is_there && (!remove || DeleteFileW(path));
}

static void write_pid(const wchar_t *file)
{
    wchar_t temporary[512];
    swprintf(temporary, 512, L"%ls.new", file);
    FILE *out = _wfopen(temporary, L"w");
    if (!out)
        ExitProcess(8);
    fprintf(out, "%lu", GetCurrentProcessId());
    fclose(out);
    MoveFileExW(temporary, file, MOVEFILE_REPLACE_EXISTING);
}

static void report(int runs)
{
    printf("{\"program\": \"alloc_runner\", \"runs\": %d, \"states\": [", runs);
    for (unsigned i = 0; i < g_state_count; i++)
        printf("%s{%s}", i ? ", " : "", g_states[i]);
    printf("], \"hashes\": [");
    for (unsigned i = 0; i < g_hash_count; i++)
        printf("%s\"%016llx\"", i ? ", " : "", (unsigned long long)g_hashes[i]);
    printf("]}\n");
}

// What a program takes from the C API itself: 1000, 2000 and 3000 bytes, and from the session's
// allocator, which is an arena's.
static void use_api(OrtAllocator *of_session)
{
    OrtAllocator *allocator = NULL;
    void *taken[3];
    must(ort.call.GetAllocatorWithDefaultOptions(&allocator));
    for (size_t i = 0; i < 3; i++)
        must(ort.call.AllocatorAlloc(allocator, 1000 * (i + 1), &taken[i]));
    for (size_t i = 0; i < 3; i++)
        must(ort.call.AllocatorFree(allocator, taken[i]));
    must(ort.call.AllocatorAlloc(of_session, 5000, &taken[0]));
    must(ort.call.AllocatorFree(of_session, taken[0]));
}

static OrtRunOptions *make_shrinking(void)
{
    OrtRunOptions *options = NULL;
    must(ort.call.CreateRunOptions(&options));
    must(ort.call.AddRunConfigEntry(options, "memory.enable_memory_arena_shrinkage", "cpu:0"));
    return options;
}

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    char input[64], output[64], dims[64];
    OrtMemoryInfo *cpu = NULL;
    OrtAllocator *allocator = NULL;
    if (argc < 7)
        return 2;
    bool no_arena = argc > 7 && wcscmp(argv[7], L"no-arena") == 0;
    bool uses_api = argc > 7 && wcscmp(argv[7], L"api") == 0;
    bool shrinks = argc > 7 && wcscmp(argv[7], L"shrink") == 0;
    int file = 7 + (no_arena || uses_api || shrinks);
    const wchar_t *pid_file = argc > file ? argv[file] : NULL;
    snprintf(input, sizeof input, "%ls", argv[3]);
    snprintf(output, sizeof output, "%ls", argv[4]);
    snprintf(dims, sizeof dims, "%ls", argv[5]);
    odd_load(&ort, argv[1], argv[2]);
    if (no_arena)
        must(ort.call.DisableCpuMemArena(ort.options));
    OrtSession *session = odd_session(&ort);
    must(ort.call.CreateCpuMemoryInfo(1, 0, &cpu));
    must(ort.call.CreateAllocator(session, cpu, &allocator));
    OrtValue *in = make_input(dims, cpu);
    OrtRunOptions *options = shrinks ? make_shrinking() : NULL;
    const char *names[] = {input, output};
    note_state(allocator);
    if (pid_file)
        write_pid(pid_file);
    int runs = 0;
    for (int left = _wtoi(argv[6]); left > 0 || pid_file; left--, runs++) {
        OrtValue *out = NULL;
        if (pid_file && exists(pid_file, L".stop", false))
            break;
        if (pid_file && exists(pid_file, L".ask", true) && g_hash_count < LINES)
            g_hashes[g_hash_count++] = hash_read_only(argv[1]);
        must(ort.call.Run(session, options, &names[0], (const OrtValue *const *)&in, 1, &names[1],
                          1, &out));
        if (!pid_file)
            note_state(allocator);
        ort.call.ReleaseValue(out);
    }
    note_state(allocator);
    if (uses_api)
        use_api(allocator);
    ort.call.ReleaseValue(in);
    if (options)
        ort.call.ReleaseRunOptions(options);
    ort.call.ReleaseAllocator(allocator);
    ort.call.ReleaseSession(session);
    ort.call.ReleaseSessionOptions(ort.options);
    ort.call.ReleaseEnv(ort.env);
    report(runs);
    return 0;
}
