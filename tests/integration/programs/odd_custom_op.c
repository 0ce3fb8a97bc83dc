// SPDX-License-Identifier: MIT
// odd_custom_op RUNTIME.dll MODEL RUNS BYTES [wait] [provider:DLL] [also:RUNTIME.dll]: an operator
// of the program's own. Each time it takes BYTES from the C API's allocator by AllocatorAlloc,
// twice as many from the same allocator by the functions in its struct, and three times as many
// from the session's; it gives all back, each the other way round. With a provider's DLL
// (odd_provider.c) the operator does its work by a kernel of that DLL instead, which takes BYTES
// from an allocator of its own. "also" loads one more runtime first. With "wait" the session is
// there first: prints the process's number and goes on after a line on standard input. Prints how
// often the operator ran.
#include "odd_ort.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtKernelInfo OrtKernelInfo;

// As onnxruntime_c_api.h has it.
struct OrtAllocator {
    uint32_t version;
    void *(*Alloc)(OrtAllocator *, size_t);
    void (*Free)(OrtAllocator *, void *);
};

// OrtCustomOp as it was in version 8: ORT reads no more of it.
typedef struct custom_op {
    uint32_t version;
    void *(*CreateKernel)(const struct custom_op *, const void *api, const void *info);
    const char *(*GetName)(const struct custom_op *);
    const char *(*GetExecutionProviderType)(const struct custom_op *);
    int (*GetInputType)(const struct custom_op *, size_t);
    size_t (*GetInputTypeCount)(const struct custom_op *);
    int (*GetOutputType)(const struct custom_op *, size_t);
    size_t (*GetOutputTypeCount)(const struct custom_op *);
    void (*KernelCompute)(void *, OrtKernelContext *);
    void (*KernelDestroy)(void *);
    int (*GetInputCharacteristic)(const struct custom_op *, size_t);
    int (*GetOutputCharacteristic)(const struct custom_op *, size_t);
} custom_op;

static odd_ort ort;
static OrtMemoryInfo *g_cpu;
static size_t g_bytes;
static int g_computed;

static void must(OrtStatus *status)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", ort.call.GetErrorMessage(status));
    ExitProcess(9);
}

// What a provider's DLL does; NULL without one.
typedef void compute_with_fn(const void *info, void *context, size_t bytes);
static compute_with_fn *g_compute_with;

// Made by ORT, released by destroy_kernel().
static void *create_kernel(const custom_op *op, const void *api, const void *info)
{
    OrtKernelInfo *kept = NULL;
    (void)op, (void)api;
    must(ort.call.CopyKernelInfo(info, &kept)); // ORT's own is gone after this
    return kept;
}

static const char *name_of(const custom_op *op)
{
    (void)op;
    return "Taker";
}

static const char *provider_of(const custom_op *op)
{
    (void)op;
    return NULL;
}

static int type_of(const custom_op *op, size_t index)
{
    (void)op, (void)index;
    return ORT_FLOAT;
}

static size_t one_of(const custom_op *op)
{
    (void)op;
    return 1;
}

static int required(const custom_op *op, size_t index)
{
    (void)op, (void)index;
    return 0;
}

static void destroy_kernel(void *kernel)
{
    ort.call.ReleaseKernelInfo(kernel);
}

static void take_and_release(const OrtKernelContext *context)
{
    OrtAllocator *plain = NULL, *of_session = NULL;
    void *taken[3];
    must(ort.call.GetAllocatorWithDefaultOptions(&plain));
    must(ort.call.KernelContext_GetAllocator(context, g_cpu, &of_session));
    must(ort.call.AllocatorAlloc(plain, g_bytes, &taken[0]));
    taken[1] = plain->Alloc(plain, 2 * g_bytes);
    must(ort.call.AllocatorAlloc(of_session, 3 * g_bytes, &taken[2]));
    plain->Free(plain, taken[0]);
    must(ort.call.AllocatorFree(plain, taken[1]));
    of_session->Free(of_session, taken[2]);
    ort.call.ReleaseAllocator(of_session);
}

static void compute(void *kernel, OrtKernelContext *context)
{
    const int64_t one = 1;
    OrtValue *out = NULL;
    void *data = NULL;
    if (g_compute_with)
        g_compute_with(kernel, context, g_bytes);
    else if (g_bytes)
        take_and_release(context);
    must(ort.call.KernelContext_GetOutput(context, 0, &one, 1, &out));
    must(ort.call.GetTensorMutableData(out, &data));
    *(float *)data = (float)++g_computed;
}

static void wait_for_a_line(void)
{
    printf("pid %lu\n", GetCurrentProcessId());
    fflush(stdout);
    if (getchar() == EOF)
        ExitProcess(7);
}

static void load_provider(const wchar_t *path)
{
    HMODULE provider = LoadLibraryW(path);
    g_compute_with =
        provider ? (compute_with_fn *)(uintptr_t)GetProcAddress(provider, "odd_provider_compute")
                 : NULL;
    if (!g_compute_with)
        ExitProcess(8);
}

int wmain(int argc, wchar_t **argv);
int wmain(int argc, wchar_t **argv)
{
    static const custom_op op = {8,       create_kernel,  name_of,  provider_of,
                                 type_of, one_of,         type_of,  one_of,
                                 compute, destroy_kernel, required, required};
    if (argc < 5)
        return 2;
    OrtCustomOpDomain *domain = NULL;
    OrtValue *in = NULL;
    float number = 0;
    const int64_t one = 1;
    const char *names[] = {"X", "Y"};
    g_bytes = (size_t)wcstol(argv[4], NULL, 10);
    bool waits = false;
    for (int i = 5; i < argc; i++)
        if (wcsncmp(argv[i], L"also:", 5) == 0 && !LoadLibraryW(argv[i] + 5))
            return 3;
    odd_load(&ort, argv[1], argv[2]);
    for (int i = 5; i < argc; i++) {
        waits |= wcscmp(argv[i], L"wait") == 0;
        if (wcsncmp(argv[i], L"provider:", 9) == 0)
            load_provider(argv[i] + 9);
    }
    must(ort.call.CreateCustomOpDomain("test", &domain));
    must(ort.call.CustomOpDomain_Add(domain, &op));
    must(ort.call.AddCustomOpDomain(ort.options, domain));
    must(ort.call.CreateCpuMemoryInfo(1, 0, &g_cpu)); // what its arena is known by
    must(ort.call.CreateTensorWithDataAsOrtValue(g_cpu, &number, sizeof number, &one, 1, ORT_FLOAT,
                                                 &in));
    OrtSession *session = odd_session(&ort);
    if (waits)
        wait_for_a_line();
    for (long i = 0; i < wcstol(argv[3], NULL, 10); i++) {
        OrtValue *out = NULL;
        must(ort.call.Run(session, NULL, &names[0], (const OrtValue *const *)&in, 1, &names[1], 1,
                          &out));
        ort.call.ReleaseValue(out);
    }
    ort.call.ReleaseValue(in);
    ort.call.ReleaseSession(session);
    ort.call.ReleaseSessionOptions(ort.options);
    ort.call.ReleaseCustomOpDomain(domain);
    ort.call.ReleaseMemoryInfo(g_cpu);
    ort.call.ReleaseEnv(ort.env);
    printf("{\"computed\": %d}\n", g_computed);
    return 0;
}
