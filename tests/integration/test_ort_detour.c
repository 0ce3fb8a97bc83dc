// SPDX-License-Identifier: MIT
// The detour engine on the real onnxruntime.dll. For each version found, in a process of its own:
// every function of the OrtApi table is hooked with a pass-through, a small model is run through
// the hooks on every path, everything is unhooked, and the whole .text is compared with what it
// was. The functions that ortscope hooks must not be refused; the rest is a bonus.
//
//     test_ort_detour FOLDER            runs itself on each FOLDER\ort-*\onnxruntime.dll
//     test_ort_detour PATH\some.dll     one DLL
#include "hookdll/detour.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unity.h>
#include <wchar.h>

#include <windows.h>

enum { SKIPPED = 77, SLOTS_MAX = 512, CHILD_TIMEOUT_MS = 300000 };

// Slots per minor version, from 1.15 on (the table only grows).
static const unsigned slot_counts[] = {255, 266, 276, 280, 280, 285, 285, 318,
                                       390, 415, 419, 419, 422, 424, 425, 426};
enum { FIRST_MINOR = 15, LAST_MINOR = 30 };

// The slots that are of use to a profiler.
static const uint16_t needed_slots[] = {
    3,   4,   7,   8,   9,   10,  12,  13,  14,  15,  16,  17,  18,  19,  20,  21,  22,
    23,  24,  25,  28,  29,  39,  42,  46,  48,  49,  75,  76,  78,  92,  95,  96,  97,
    100, 110, 119, 120, 130, 131, 132, 133, 134, 135, 136, 137, 138, 140, 141, 142, 144,
    151, 152, 153, 154, 159, 165, 168, 169, 170, 176, 177, 195, 196, 198, 202, 203, 204,
    209, 216, 219, 220, 226, 228, 229, 239, 259, 260, 266, 275, 276, 280, 281, 283, 284,
    291, 292, 293, 294, 301, 302, 304, 305, 306, 317, 375, 376, 377, 406, 415, 416, 422};

// y = Identity(x), both float[2].
static const uint8_t model[] = {
    0x08, 7,   0x42, 2,   0x10, 13,   0x3a, 55,                    // version, opset
    0x0a, 16,  0x0a, 1,   'x',  0x12, 1,    'y',  0x22, 8,         // node
    'I',  'd', 'e',  'n', 't',  'i',  't',  'y',  0x12, 1,    'g', //
    0x5a, 15,  0x0a, 1,   'x',  0x12, 10,   0x0a, 8,    0x08, 1,   // input
    0x12, 4,   0x0a, 2,   0x08, 2,                                 //
    0x62, 15,  0x0a, 1,   'y',  0x12, 10,   0x0a, 8,    0x08, 1,   // output
    0x12, 4,   0x0a, 2,   0x08, 2,
};

// A hook that keeps every register and the stack: lock inc [calls]; jmp [real].
typedef struct passer {
    uint8_t code[16];
    volatile LONG64 calls;
    void *real;
} passer;
_Static_assert(sizeof(passer) == 32, "the displacements below rely on it");

// Arguments are integers and pointers only, so one variadic type serves for all.
typedef void *(*ort_function)(uintptr_t first, ...);
#define ARG(x) ((uintptr_t)(x))

static const wchar_t *g_dll;
static void **g_table;
static unsigned g_slot_count;
static passer *g_passers;
static hk_detour_reason g_outcomes[SLOTS_MAX];
static uint8_t *g_text;
static uint8_t *g_text_before;
static size_t g_text_len;

void setUp(void) {}

void tearDown(void) {}

static ort_function api(unsigned slot)
{
    return (ort_function)(uintptr_t)g_table[slot];
}

static void ok(void *status, const char *what)
{
    if (status)
        printf("%s: %s\n", what, (const char *)api(2)(ARG(status)));
    TEST_ASSERT_NULL_MESSAGE(status, what);
}

static void find_text(const uint8_t *image)
{
    const IMAGE_DOS_HEADER *dos = (const void *)image;
    const IMAGE_NT_HEADERS64 *nt = (const void *)(image + dos->e_lfanew);
    const IMAGE_SECTION_HEADER *section = IMAGE_FIRST_SECTION(nt);
    for (unsigned i = 0; i < nt->FileHeader.NumberOfSections; i++, section++) {
        if (memcmp(section->Name, ".text", 6) != 0)
            continue;
        g_text = (uint8_t *)(uintptr_t)image + section->VirtualAddress;
        g_text_len = section->Misc.VirtualSize;
    }
    TEST_ASSERT_NOT_NULL(g_text);
    g_text_before = VirtualAlloc(NULL, g_text_len, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    TEST_ASSERT_NOT_NULL(g_text_before);
    memcpy(g_text_before, g_text, g_text_len);
}

static void test_load(void)
{
    HMODULE module = LoadLibraryExW(g_dll, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
    TEST_ASSERT_NOT_NULL(module);
    find_text((const uint8_t *)module);
    typedef void *const *(*get_base_fn)(void);
    get_base_fn get_base = (get_base_fn)(uintptr_t)GetProcAddress(module, "OrtGetApiBase");
    TEST_ASSERT_TRUE(get_base != NULL);
    void *const *base = get_base();
    const char *version = ((const char *(*)(void))(uintptr_t)base[1])();
    unsigned minor = 0;
    TEST_ASSERT_EQUAL(1, sscanf(version, "1.%u", &minor));
    TEST_ASSERT_GREATER_OR_EQUAL(FIRST_MINOR, minor);
    g_slot_count = slot_counts[(minor > LAST_MINOR ? LAST_MINOR : minor) - FIRST_MINOR];
    g_table = (void **)((void *(*)(uint32_t))(uintptr_t)base[0])(1);
    TEST_ASSERT_NOT_NULL(g_table);
    printf("ORT %s, %u slots\n", version, g_slot_count);
}

static void make_passer(passer *p, void *real)
{
    static const uint8_t code[16] = {0xf0, 0x48, 0xff, 0x05, 8, 0, 0, 0, // lock inc [rip+8]
                                     0xff, 0x25, 10,   0,    0, 0};      // jmp [rip+10]
    memcpy(p->code, code, sizeof code);
    p->calls = 0;
    p->real = real;
}

// Several slots may share one body: only the first of them is hooked.
static bool is_first_with_body(unsigned slot)
{
    for (unsigned i = 0; i < slot; i++)
        if (g_table[i] == g_table[slot])
            return false;
    return true;
}

static void test_attach_all(void)
{
    SIZE_T len = SLOTS_MAX * sizeof *g_passers;
    g_passers = VirtualAlloc(NULL, len, MEM_RESERVE | MEM_COMMIT, PAGE_EXECUTE_READWRITE);
    TEST_ASSERT_NOT_NULL(g_passers);
    TEST_ASSERT_EQUAL(HK_DETOUR_OK, hk_detour_begin());
    for (unsigned i = 0; i < g_slot_count; i++) {
        make_passer(&g_passers[i], g_table[i]);
        g_outcomes[i] = HK_DETOUR_ALREADY_ATTACHED;
        if (g_table[i] && is_first_with_body(i))
            hk_detour_attach_ex(&g_passers[i].real, &g_passers[i], HK_DETOUR_OPTIONAL,
                                &g_outcomes[i]);
    }
    hk_detour_result result;
    LARGE_INTEGER start;
    LARGE_INTEGER end;
    LARGE_INTEGER frequency;
    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&start);
    TEST_ASSERT_EQUAL(HK_DETOUR_OK, hk_detour_commit(&result));
    QueryPerformanceCounter(&end);
    printf("%u hooked, %u refused, in %lld us\n", result.committed, result.skipped,
           (end.QuadPart - start.QuadPart) * 1000000 / frequency.QuadPart);
    for (unsigned i = 0; i < g_slot_count; i++)
        if (g_outcomes[i] != HK_DETOUR_OK && g_outcomes[i] != HK_DETOUR_ALREADY_ATTACHED)
            printf("  slot %u: %s\n", i, hk_detour_reason_text(g_outcomes[i]));
}

static void test_needed_functions_are_hooked(void)
{
    for (size_t i = 0; i < sizeof needed_slots / sizeof needed_slots[0]; i++) {
        unsigned slot = needed_slots[i];
        char what[32];
        snprintf(what, sizeof what, "slot %u", slot);
        if (slot >= g_slot_count || !g_table[slot])
            continue;
        unsigned first = 0;
        while (g_table[first] != g_table[slot])
            first++;
        TEST_ASSERT_EQUAL_STRING_MESSAGE("OK", hk_detour_reason_name(g_outcomes[first]), what);
    }
}

typedef struct driver {
    void *env;
    void *options;
    void *run_options;
    void *allocator;
    void *session;
    void *input;
    HANDLE async_done;
} driver;

static void open_session(driver *d)
{
    void *clone = NULL;
    void *bytes = NULL;
    int64_t shape[] = {2};
    float *data = NULL;
    ok(api(3)(3, ARG("detour"), ARG(&d->env)), "CreateEnv");
    ok(api(10)(ARG(&d->options)), "CreateSessionOptions");
    ok(api(24)(ARG(d->options), ARG(2)), "SetIntraOpNumThreads");
    ok(api(23)(ARG(d->options), ARG(1)), "SetSessionGraphOptimizationLevel");
    ok(api(130)(ARG(d->options), ARG("some.key"), ARG("1")), "AddSessionConfigEntry");
    ok(api(12)(ARG(d->options), ARG(&clone)), "CloneSessionOptions");
    api(100)(ARG(clone));
    ok(api(39)(ARG(&d->run_options)), "CreateRunOptions");
    ok(api(42)(ARG(d->run_options), ARG("tag")), "RunOptionsSetRunTag");
    ok(api(78)(ARG(&d->allocator)), "GetAllocatorWithDefaultOptions");
    ok(api(75)(ARG(d->allocator), ARG(100), ARG(&bytes)), "AllocatorAlloc");
    ok(api(76)(ARG(d->allocator), ARG(bytes)), "AllocatorFree");
    ok(api(8)(ARG(d->env), ARG(model), ARG(sizeof model), ARG(d->options), ARG(&d->session)),
       "CreateSessionFromArray");
    ok(api(48)(ARG(d->allocator), ARG(shape), ARG(1), ARG(1), ARG(&d->input)),
       "CreateTensorAsOrtValue");
    ok(api(51)(ARG(d->input), ARG(&data)), "GetTensorMutableData");
    data[0] = 1.5f;
    data[1] = -2.5f;
}

static void check_output(void *output)
{
    const float *data = NULL;
    TEST_ASSERT_NOT_NULL(output);
    ok(api(51)(ARG(output), ARG(&data)), "GetTensorMutableData");
    TEST_ASSERT_TRUE(data[0] == 1.5f && data[1] == -2.5f);
    api(96)(ARG(output));
}

static void run_directly(const driver *d)
{
    const char *in[] = {"x"};
    const char *out[] = {"y"};
    const char *bad[] = {"z"};
    void *output = NULL;
    ok(api(9)(ARG(d->session), ARG(d->run_options), ARG(in), ARG(&d->input), ARG(1), ARG(out),
              ARG(1), ARG(&output)),
       "Run");
    check_output(output);
    output = NULL;
    void *status = api(9)(ARG(d->session), ARG(NULL), ARG(bad), ARG(&d->input), ARG(1), ARG(out),
                          ARG(1), ARG(&output));
    TEST_ASSERT_NOT_NULL(status);
    TEST_ASSERT_EQUAL(2, (int)ARG(api(1)(ARG(status)))); // invalid argument
    api(93)(ARG(status));
}

static void run_bound(const driver *d)
{
    void *binding = NULL;
    void *output = NULL;
    int64_t shape[] = {2};
    ok(api(48)(ARG(d->allocator), ARG(shape), ARG(1), ARG(1), ARG(&output)),
       "CreateTensorAsOrtValue");
    ok(api(134)(ARG(d->session), ARG(&binding)), "CreateIoBinding");
    ok(api(136)(ARG(binding), ARG("x"), ARG(d->input)), "BindInput");
    ok(api(137)(ARG(binding), ARG("y"), ARG(output)), "BindOutput");
    ok(api(133)(ARG(d->session), ARG(d->run_options), ARG(binding)), "RunWithBinding");
    api(135)(ARG(binding));
    check_output(output);
}

static void async_callback(void *user_data, void **outputs, size_t count, void *status)
{
    driver *d = user_data;
    (void)outputs;
    if (count == 1 && !status)
        SetEvent(d->async_done);
}

static void run_async(driver *d)
{
    static const char *in[] = {"x"};
    static const char *out[] = {"y"};
    static void *output;
    output = NULL;
    d->async_done = CreateEventW(NULL, TRUE, FALSE, NULL);
    ok(api(260)(ARG(d->session), ARG(d->run_options), ARG(in), ARG(&d->input), ARG(1), ARG(out),
                ARG(1), ARG(&output), ARG(async_callback), ARG(d)),
       "RunAsync");
    TEST_ASSERT_EQUAL(WAIT_OBJECT_0, WaitForSingleObject(d->async_done, 60000));
    CloseHandle(d->async_done);
    check_output(output);
}

static void drive(void)
{
    driver d = {.env = NULL};
    open_session(&d);
    run_directly(&d);
    run_bound(&d);
    if (g_slot_count > 260)
        run_async(&d);
    api(96)(ARG(d.input));
    api(95)(ARG(d.session));
    api(97)(ARG(d.run_options));
    api(100)(ARG(d.options));
    api(92)(ARG(d.env));
}

static LONG64 total_calls(void)
{
    LONG64 calls = 0;
    for (unsigned i = 0; i < g_slot_count; i++)
        calls += g_passers[i].calls;
    return calls;
}

static void test_call_through_the_hooks(void)
{
    static const uint16_t called[] = {1,  3,  8,  9,  10, 12, 23,  24,  39,  42,  48,  75,  76,
                                      78, 92, 93, 95, 96, 97, 100, 130, 133, 134, 135, 136, 137};
    TEST_ASSERT_EQUAL(0, total_calls());
    drive();
    for (size_t i = 0; i < sizeof called / sizeof called[0]; i++) {
        char what[32];
        snprintf(what, sizeof what, "slot %u", called[i]);
        unsigned first = 0;
        while (g_table[first] != g_table[called[i]])
            first++;
        TEST_ASSERT_GREATER_THAN_INT64_MESSAGE(0, g_passers[first].calls, what);
    }
}

static void check_restored(const LONG64 calls)
{
    for (size_t i = 0; i < g_text_len; i++)
        if (g_text[i] != g_text_before[i])
            TEST_FAIL_MESSAGE("a byte of .text differs");
    for (unsigned i = 0; i < g_slot_count; i++) {
        MEMORY_BASIC_INFORMATION info;
        if (!g_table[i])
            continue;
        TEST_ASSERT_EQUAL_PTR(g_table[i], g_passers[i].real);
        TEST_ASSERT_TRUE(VirtualQuery(g_table[i], &info, sizeof info) != 0);
        TEST_ASSERT_EQUAL_HEX32(PAGE_EXECUTE_READ, info.Protect);
    }
    drive();
    TEST_ASSERT_EQUAL_INT64(calls, total_calls());
}

static void test_detach_all_and_compare(void)
{
    TEST_ASSERT_EQUAL(HK_DETOUR_OK, hk_detour_begin());
    for (unsigned i = 0; i < g_slot_count; i++)
        if (g_outcomes[i] == HK_DETOUR_OK)
            hk_detour_detach(&g_passers[i].real, &g_passers[i]);
    TEST_ASSERT_EQUAL(HK_DETOUR_OK, hk_detour_commit(NULL));
    check_restored(total_calls());
}

static int test_one_dll(const wchar_t *path)
{
    g_dll = path;
    UNITY_BEGIN();
    RUN_TEST(test_load);
    if (Unity.TestFailures == 0) {
        RUN_TEST(test_attach_all);
        RUN_TEST(test_needed_functions_are_hooked);
        RUN_TEST(test_call_through_the_hooks);
        RUN_TEST(test_detach_all_and_compare);
    }
    return UNITY_END();
}

static int run_child(const wchar_t *self, const wchar_t *dll)
{
    wchar_t command[2 * MAX_PATH + 8];
    STARTUPINFOW startup = {.cb = sizeof startup};
    PROCESS_INFORMATION child;
    DWORD exit_code = 1;
    _snwprintf(command, sizeof command / sizeof command[0] - 1, L"\"%ls\" \"%ls\"", self, dll);
    command[sizeof command / sizeof command[0] - 1] = 0;
    if (!CreateProcessW(self, command, NULL, NULL, TRUE, 0, NULL, NULL, &startup, &child))
        return 1;
    if (WaitForSingleObject(child.hProcess, CHILD_TIMEOUT_MS) != WAIT_OBJECT_0)
        TerminateProcess(child.hProcess, 1);
    GetExitCodeProcess(child.hProcess, &exit_code);
    CloseHandle(child.hThread);
    CloseHandle(child.hProcess);
    return (int)exit_code;
}

static int test_folder(const wchar_t *folder)
{
    wchar_t self[MAX_PATH];
    wchar_t pattern[MAX_PATH];
    WIN32_FIND_DATAW found;
    int tested = 0;
    int failed = 0;
    GetModuleFileNameW(NULL, self, MAX_PATH);
    _snwprintf(pattern, MAX_PATH - 1, L"%ls\\ort-*", folder);
    pattern[MAX_PATH - 1] = 0;
    HANDLE search = FindFirstFileW(pattern, &found);
    for (BOOL more = search != INVALID_HANDLE_VALUE; more; more = FindNextFileW(search, &found)) {
        wchar_t dll[MAX_PATH];
        _snwprintf(dll, MAX_PATH - 1, L"%ls\\%ls\\onnxruntime.dll", folder, found.cFileName);
        dll[MAX_PATH - 1] = 0;
        if (GetFileAttributesW(dll) == INVALID_FILE_ATTRIBUTES)
            continue;
        tested++;
        if (run_child(self, dll) != 0)
            failed++;
    }
    if (tested == 0) {
        printf("No ort-*\\onnxruntime.dll here: run scripts/targets first.\n");
        return SKIPPED;
    }
    printf("%d versions of ORT, %d failed\n", tested, failed);
    return failed ? 1 : 0;
}

int wmain(int argc, wchar_t **argv); // no header declares it

int wmain(int argc, wchar_t **argv)
{
    if (argc != 2) {
        printf("usage: test_ort_detour FOLDER|DLL\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    DWORD attributes = GetFileAttributesW(argv[1]);
    if (attributes != INVALID_FILE_ATTRIBUTES && !(attributes & FILE_ATTRIBUTE_DIRECTORY))
        return test_one_dll(argv[1]);
    return test_folder(argv[1]);
}
