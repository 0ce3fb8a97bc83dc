// SPDX-License-Identifier: MIT
// Runs with IoBindings, and counts how often anybody asks ONNX Runtime for a binding's outputs: it
// has put a function of its own into that slot of the OrtApi table. It never asks itself.
//
//     odd_binding DLL PICK COUNT [wait] WORD
//
// PICK: I int64[n] -> picked float[n]. COUNT: X int64[n] -> where int64[1, how many are not 0].
// Prints one line per part: how many runs were made, how many of them failed, how often the outputs
// were asked for. With wait: binds and runs once, tells its PID, and goes on when it gets a line.
#include "odd_ort.h"

#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

enum { SLOT_OUTPUTS = 140, RUNS = 50 };

static odd_ort ort;
static OrtMemoryInfo *g_cpu;
static unsigned g_asked;

typedef OrtStatus *outputs_fn(const OrtIoBinding *, OrtAllocator *, OrtValue ***, size_t *);
static outputs_fn *g_outputs;

static OrtStatus *count_outputs(const OrtIoBinding *binding, OrtAllocator *allocator,
                                OrtValue ***values, size_t *count)
{
    g_asked++;
    return g_outputs(binding, allocator, values, count);
}

static void must(OrtStatus *status)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", ort.call.GetErrorMessage(status));
    exit(9);
}

static void count_in_table(void)
{
    typedef struct api_base {
        ort_slot *(*GetApi)(uint32_t version);
        const char *(*GetVersionString)(void);
    } api_base;
    HMODULE module = GetModuleHandleW(L"onnxruntime.dll");
    const api_base *(*get_base)(void) =
        (const api_base *(*)(void))(ort_slot)GetProcAddress(module, "OrtGetApiBase");
    ort_slot *slot = get_base()->GetApi(1) + SLOT_OUTPUTS;
    DWORD protection;
    g_outputs = (outputs_fn *)*slot;
    VirtualProtect(slot, sizeof *slot, PAGE_READWRITE, &protection);
    *slot = (ort_slot)count_outputs;
    VirtualProtect(slot, sizeof *slot, protection, &protection);
}

// ------------------------------------------------------------------------------- one binding

typedef struct bound {
    OrtSession *session;
    OrtIoBinding *binding;
    OrtValue *input;
    int64_t data[8];
} bound;

static void bind_input(bound *b, const char *name, int64_t count)
{
    if (b->input)
        ort.call.ReleaseValue(b->input);
    must(ort.call.CreateTensorWithDataAsOrtValue(g_cpu, b->data, (size_t)count * 8, &count, 1,
                                                 ORT_INT64, &b->input));
    must(ort.call.BindInput(b->binding, name, b->input));
}

static void run(const char *part, const bound *b, int runs)
{
    int failed = 0;
    unsigned before = g_asked;
    for (int i = 0; i < runs; i++) {
        OrtStatus *status = ort.call.RunWithBinding(b->session, NULL, b->binding);
        if (status)
            ort.call.ReleaseStatus(status);
        failed += status != NULL;
    }
    printf("%s %d %d %u\n", part, runs, failed, g_asked - before);
    fflush(stdout);
}

static void open(bound *b, const wchar_t *model, const char *input, int64_t count,
                 const char *output)
{
    ort.model = model;
    b->session = odd_session(&ort);
    must(ort.call.CreateIoBinding(b->session, &b->binding));
    bind_input(b, input, count);
    must(ort.call.BindOutputToDevice(b->binding, output, g_cpu));
}

static void close(bound *b)
{
    ort.call.ReleaseIoBinding(b->binding);
    ort.call.ReleaseValue(b->input);
    ort.call.ReleaseSession(b->session);
}

// ------------------------------------------------------------------------------- what it does

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    bound pick = {.data = {0, 1, 2, 3, 4}}, count = {.data = {1, 1, 1, 0, 0, 0}};
    OrtValue *own = NULL;
    float room[2];
    const int64_t two = 2;
    if (argc < 5)
        return 2;
    odd_load(&ort, argv[1], argv[2]);
    must(ort.call.CreateCpuMemoryInfo(1, 0, &g_cpu));
    count_in_table();

    open(&pick, argv[2], "I", 3, "picked");
    if (argc > 5) {
        run("before", &pick, 1);
        printf("pid %lu\n", GetCurrentProcessId());
        fflush(stdout);
        getchar();
    }
    run("same", &pick, RUNS);
    bind_input(&pick, "I", 5);
    must(ort.call.BindOutputToDevice(pick.binding, "picked", g_cpu));
    run("longer", &pick, RUNS);
    bind_input(&pick, "I", 2);
    must(ort.call.CreateTensorWithDataAsOrtValue(g_cpu, room, sizeof room, &two, 1, ORT_FLOAT,
                                                 &own));
    must(ort.call.BindOutput(pick.binding, "picked", own));
    run("own", &pick, RUNS);
    ort.call.ClearBoundOutputs(pick.binding);
    must(ort.call.BindOutputToDevice(pick.binding, "picked", g_cpu));
    run("cleared", &pick, RUNS);
    ort.call.ReleaseValue(own);
    close(&pick);

    // What the output's shape is depends on the contents: does ONNX Runtime allow it to change?
    open(&count, argv[3], "X", 6, "where");
    run("three", &count, 2);
    count.data[3] = count.data[4] = 1;
    run("five", &count, 2);
    close(&count);
    return 0;
}
