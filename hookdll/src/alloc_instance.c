// SPDX-License-Identifier: MIT
// Builds without class names show arenas by a literal (alloc_scan.c), but not what arenas take
// their memory from, which is also what sessions without an arena use. That class is found once in
// a live object: the public API wraps a session's allocator in a struct of its own, which refers to
// the C++ object; if that is an arena, it refers to the other one.
#include "alloc.h"
#include "op.h"

#define ATTEMPTS_MAX 8u

enum {
    DEVICE = 0, // OrtAllocatorType
    ARENA = 1,
    WRAPPER_BYTES = 32, // the shortest OrtAllocator: version, Alloc, Free, Info
    WRAPPER_WORDS = 12, // in which the reference to another object is looked for
    ARENA_WORDS = 192,  // its bins come first
};

// The RVA of the vtable that this object would have; 0 if it is none of the module's.
static uint32_t vtable_of(const hk_alloc_module *m, uint64_t object)
{
    uint64_t vtable;
    if ((object & 7) || !hk_copy_readable(object, &vtable, sizeof vtable))
        return 0;
    uint64_t rva = vtable - m->scan.base;
    return rva < m->scan.size && !(rva & 7) && hk_scan_is_read_only(&m->scan, (uint32_t)rva)
               ? (uint32_t)rva
               : 0;
}

static bool is_arena(const hk_alloc_module *m, uint32_t rva)
{
    for (uint32_t i = 0; i < m->found.count; i++)
        if (m->found.rvas[i] == rva)
            return m->found.is_arena[i];
    return false;
}

// The default body of Reserve calls slot 1, Alloc: who has that in the slot of Reserve is an
// allocator. mov rax, [rcx]; mov rax, [rax + 8]; jmp ... or mov rax, [rcx]; jmp [rax + 8]
static bool reserves_by_allocating(const hk_alloc_module *m, uint32_t rva)
{
    static const uint8_t guarded[] = {0x48, 0x8b, 0x01, 0x48, 0x8b, 0x40, 0x08};
    static const uint8_t direct[] = {0x48, 0x8b, 0x01, 0x48, 0xff, 0x60, 0x08};
    static const uint8_t shorter[] = {0x48, 0x8b, 0x01, 0xff, 0x60, 0x08};
    const uint8_t *code;
    memcpy(&code, m->base + rva + 8 * m->found.slots.reserve, sizeof code);
    return memcmp(code, guarded, sizeof guarded) == 0 || memcmp(code, direct, sizeof direct) == 0 ||
           memcmp(code, shorter, sizeof shorter) == 0;
}

static bool is_plain(const hk_alloc_module *m, uint32_t rva)
{
    return hk_scan_is_allocator(&m->scan, &m->found.slots, rva) && reserves_by_allocating(m, rva);
}

// The class that the object at `address` refers to first, between two of its words.
static uint32_t class_behind(const hk_alloc_module *m, uint64_t address, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        uint64_t object;
        uint32_t rva =
            hk_copy_readable(address + 8 * i, &object, sizeof object) ? vtable_of(m, object) : 0;
        if (rva && is_arena(m, rva) && to == WRAPPER_WORDS)
            return class_behind(m, object, 1, ARENA_WORDS);
        if (rva && is_plain(m, rva))
            return rva;
    }
    return 0;
}

static uint32_t ask(const hk_alloc_module *m, const OrtSession *session, int type)
{
    hk_module *r = m->runtime;
    OrtMemoryInfo *info = NULL;
    OrtAllocator *wrapper = NULL;
    uint32_t rva = 0;
    OrtStatus *status = ORT_CALL(r, CreateCpuMemoryInfo)(type, 0, &info);
    if (!status)
        status = ORT_CALL(r, CreateAllocator)(session, info, &wrapper);
    if (status)
        ORT_CALL(r, ReleaseStatus)(status);
    if (wrapper) {
        rva = class_behind(m, (uint64_t)(uintptr_t)wrapper, WRAPPER_BYTES / 8, WRAPPER_WORDS);
        ORT_CALL(r, ReleaseAllocator)(wrapper);
    }
    if (info)
        ORT_CALL(r, ReleaseMemoryInfo)(info);
    return rva;
}

void hk_alloc_session_seen(const hk_module *runtime, const OrtSession *session)
{
    hk_alloc_default_seen(runtime);
    hk_alloc_module *m =
        g_hk.flags & ORT_HOOK_ALLOC_STATS ? hk_alloc_module_of(runtime->base) : NULL;
    if (!m || m->found.by_name || m->has_plain ||
        atomic_fetch_add(&m->attempts, 1) >= ATTEMPTS_MAX || RtlDllShutdownInProgress())
        return;
    uint32_t rva = ask(m, session, ARENA);
    if (!rva)
        rva = ask(m, session, DEVICE);
    if (rva)
        hk_alloc_add_class(m, rva);
}
