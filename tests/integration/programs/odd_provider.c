// SPDX-License-Identifier: MIT
// What a provider's DLL (CUDA's, say) looks like from outside: it imports from ONNX Runtime, has no
// C API of its own, and its kernels and allocators are classes that MSVC described. ORT calls no
// kernel of ours, so odd_custom_op does, with what ORT gave to its operator.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

__declspec(dllimport) const void *OrtGetApiBase(void);
__declspec(dllexport) void odd_provider_compute(const void *info, void *context, size_t bytes);

// A class with one base, as MSVC describes it on x64: type descriptors, base classes, hierarchy,
// locator, and before the functions the locator's address.
#define CLASS(id, name, base_name, functions)                                                      \
    __asm__(".data\n.balign 8\n"                                                                   \
            "base_type_" #id ": .quad 0, 0\n.asciz \"" base_name "\"\n.balign 8\n"                 \
            "type_" #id ": .quad 0, 0\n.asciz \"" name "\"\n"                                      \
            ".section .rdata,\"dr\"\n.balign 8\n"                                                  \
            "own_" #id ": .rva type_" #id "\n.long 1, 0, -1, 0, 64\n"                              \
            "base_" #id ": .rva base_type_" #id "\n.long 0, 0, -1, 0, 64\n"                        \
            "bases_" #id ": .rva own_" #id ", base_" #id "\n"                                      \
            "hierarchy_" #id ": .long 0, 0, 2\n.rva bases_" #id "\n"                               \
            "locator_" #id ": .long 1, 0, 0\n.rva type_" #id ", hierarchy_" #id ", locator_" #id   \
            "\n.balign 8\n.quad locator_" #id "\n"                                                 \
            "vtable_" #id ": .quad " functions "\n.text\n")

CLASS(kernel, ".?AVProbe@cuda@onnxruntime@@", ".?AVOpKernel@onnxruntime@@",
      "probe_destroy, probe_compute, probe_is_async, probe_compute_async");
CLASS(allocator, ".?AVCUDAAllocator@onnxruntime@@", ".?AVIAllocator@onnxruntime@@",
      "device_destroy, device_alloc, device_is_on_stream, device_alloc_on_stream, device_free, "
      "device_reserve, device_stats");

typedef void *compute_fn(void *self, void *status, void *context);
typedef void *alloc_fn(void *self, size_t bytes);
typedef void free_fn(void *self, void *memory);

extern void *const kernel_vtable[] __asm__("vtable_kernel");
extern void *const allocator_vtable[] __asm__("vtable_allocator");

enum { COMPUTE = 1, ALLOC = 1, FREE = 4 }; // of 1.23 and later

// As IAllocator has it from 1.23 on: what follows the vtable is an OrtMemoryInfo, which begins with
// its name.
static struct {
    void *const *volatile vtable;
    char name[16];
    uint64_t len, capacity, more[16];
} g_device = {allocator_vtable, "Cuda", 4, 15, {0}};
static size_t g_bytes;

#define MEMBER __attribute__((used)) static

MEMBER void probe_destroy(void) __asm__("probe_destroy");
MEMBER void probe_destroy(void) {}

MEMBER int probe_is_async(void) __asm__("probe_is_async");
MEMBER int probe_is_async(void)
{
    return 0;
}

MEMBER void probe_compute_async(void) __asm__("probe_compute_async");
MEMBER void probe_compute_async(void)
{
    abort();
}

MEMBER void *probe_compute(void *self, void **status, void *context) __asm__("probe_compute");
MEMBER void *probe_compute(void *self, void **status, void *context)
{
    (void)self, (void)context;
    if (g_bytes) {
        void *const *vtable = g_device.vtable;
        void *memory = ((alloc_fn *)(uintptr_t)vtable[ALLOC])(&g_device, g_bytes);
        ((free_fn *)(uintptr_t)vtable[FREE])(&g_device, memory);
    }
    *status = NULL;
    return status;
}

MEMBER void device_destroy(void) __asm__("device_destroy");
MEMBER void device_destroy(void) {}

MEMBER void *device_alloc(void *self, size_t bytes) __asm__("device_alloc");
MEMBER void *device_alloc(void *self, size_t bytes)
{
    (void)self;
    return malloc(bytes);
}

MEMBER int device_is_on_stream(void) __asm__("device_is_on_stream");
MEMBER int device_is_on_stream(void)
{
    return 0;
}

MEMBER void *device_alloc_on_stream(void *self, size_t bytes) __asm__("device_alloc_on_stream");
MEMBER void *device_alloc_on_stream(void *self, size_t bytes)
{
    return device_alloc(self, bytes);
}

MEMBER void device_free(void *self, void *memory) __asm__("device_free");
MEMBER void device_free(void *self, void *memory)
{
    (void)self;
    free(memory);
}

MEMBER void *device_reserve(void *self, size_t bytes) __asm__("device_reserve");
MEMBER void *device_reserve(void *self, size_t bytes)
{
    return device_alloc(self, bytes);
}

MEMBER void device_stats(void) __asm__("device_stats");
MEMBER void device_stats(void) {}

// What ORT tells a kernel about itself, with a definition that names the device's provider: an
// OpKernelInfo has it at 16; a KernelDef begins with name, opset, domain and provider, and texts
// are MSVC's std::string. Both stay where they are: who asks about the kernel may ask later.
static const uint8_t *described(const uint8_t *info, uint8_t own_info[96])
{
    enum { DEFINITION = 16, PROVIDER = 72, PROVIDER_END = PROVIDER + 32 };
    static const char name[] = "CUDAExecutionProvider";
    static uint64_t own[512 / 8];
    const struct {
        const char *text;
        uint64_t none, len, capacity;
    } provider = {name, 0, sizeof name - 1, sizeof name - 1};
    const void *definition, *mine = own;
    memcpy(&definition, info + DEFINITION, sizeof definition);
    memcpy(own, definition, PROVIDER);
    memcpy((uint8_t *)own + PROVIDER, &provider, PROVIDER_END - PROVIDER);
    memcpy(own_info, info, 96);
    memcpy(own_info + DEFINITION, &mine, sizeof mine);
    return own_info;
}

void odd_provider_compute(const void *info, void *context, size_t bytes)
{
    static uint64_t own_info[96 / 8];
    struct {
        void *const *volatile vtable;
        const void *info;
    } kernel = {kernel_vtable, described(info, (uint8_t *)own_info)};
    void *status = NULL;
    g_bytes = OrtGetApiBase() ? bytes : 0;
    ((compute_fn *)(uintptr_t)kernel.vtable[COMPUTE])(&kernel, &status, context);
}
