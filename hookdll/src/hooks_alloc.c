// SPDX-License-Identifier: MIT
// What the program itself takes from the C API's default allocator, by AllocatorAlloc and
// AllocatorFree. The allocators of sessions lead to objects that alloc_hook.c sees, and one that
// the program registered is its own business: both are passed by. ORT allocates names and texts
// for the program past these functions: their size is not known when they are released.
#include "alloc.h"

enum { TYPE_C_API = 1, SOURCE_C_API = 1 };
enum { ACTION_ALLOCATED = 0, ACTION_RELEASED = 1, FLAG_FAILED = 4 };

// What is known of each runtime's default allocator, in this epoch.
static struct known {
    _Atomic(uintptr_t) address;
    _Atomic uint32_t epoch, id;
} g_known[HK_MODULES_MAX];

// Its number; 0 if `allocator` is another one.
static uint32_t number_of(hk_thread *t, uint32_t epoch, const hk_module *m,
                          const OrtAllocator *allocator)
{
    struct known *k = &g_known[m - g_hk.modules];
    if (atomic_load_explicit(&k->epoch, memory_order_acquire) == epoch)
        return atomic_load(&k->address) == (uintptr_t)allocator ? atomic_load(&k->id) : 0;
    OrtAllocator *its = NULL;
    OrtStatus *status = ORT_CALL(m, GetAllocatorWithDefaultOptions)(&its);
    if (status)
        ORT_CALL(m, ReleaseStatus)(status);
    if (status || its != allocator)
        return 0;
    tl_Allocator fixed = {.allocator =
                              (uint32_t)InterlockedIncrement((volatile LONG *)&g_hk.next_allocator),
                          .module = m->id,
                          .type = TYPE_C_API,
                          .source = SOURCE_C_API};
    hk_text texts[] = {hk_text_of("Cpu"), hk_text_of("")};
    if (!hk_emit(t, epoch, TL_EVENT_Allocator, hk_ticks(), &fixed, sizeof fixed, texts, 2))
        return 0;
    atomic_store(&k->address, (uintptr_t)allocator);
    atomic_store(&k->id, fixed.allocator); // two threads at once: two numbers, both told
    atomic_store_explicit(&k->epoch, epoch, memory_order_release);
    return fixed.allocator;
}

static bool tells_all(void)
{
    return g_hk.flags & ORT_HOOK_ALLOC_ALL;
}

// What a custom operator takes and releases is its run's.
static void count(hk_run_memory *run, uint64_t bytes, uint8_t action)
{
    if (action == ACTION_RELEASED) {
        run->frees++;
        run->freed_bytes += bytes;
        run->own_bytes -= bytes < run->own_bytes ? bytes : run->own_bytes;
        return;
    }
    run->allocations++;
    run->allocated_bytes += bytes;
    run->own_bytes += bytes;
    if (run->own_bytes > run->peak_bytes)
        run->peak_bytes = run->own_bytes;
}

static void record(hk_thread *t, uint32_t epoch, uint32_t allocator, const void *memory,
                   uint64_t bytes, uint8_t action)
{
    bool in_run = t->run.epoch == epoch;
    if (in_run && memory)
        count(&t->run.memory, bytes, action);
    if (!tells_all())
        return;
    tl_Alloc fixed = {.address = (uint64_t)(uintptr_t)memory,
                      .bytes = bytes,
                      .allocator = allocator,
                      .session = in_run ? t->run.session_id : 0,
                      .run = in_run ? t->run.run : 0,
                      .action = action,
                      .flags = memory ? 0 : FLAG_FAILED};
    if (in_run && t->op_depth && t->ops[t->op_depth - 1].epoch == epoch)
        fixed.kernel = t->ops[t->op_depth - 1].kernel;
    hk_emit(t, epoch, TL_EVENT_Alloc, hk_ticks(), &fixed, sizeof fixed, NULL, 0);
}

// NULL: pass on and say nothing. Outside of runs only `--alloc all` has anything to say.
static hk_thread *begin(uint32_t *epoch)
{
    if (!(g_hk.flags & (ORT_HOOK_ALLOC_STATS | ORT_HOOK_ALLOC_ALL)))
        return NULL;
    hk_thread *t = hk_enter_to_lock(epoch);
    if (t && t->run.epoch != *epoch && !tells_all()) {
        hk_leave(t);
        return NULL;
    }
    return t;
}

HK_HOOK(AllocatorAlloc, OrtStatus *, (OrtAllocator * allocator, size_t bytes, void **out),
        (allocator, bytes, out))
{
    OrtStatus *status = HK_ORIG(m, AllocatorAlloc)(allocator, bytes, out);
    DWORD error = GetLastError();
    uint32_t epoch, number;
    hk_thread *t = begin(&epoch);
    if (!t)
        return status;
    if ((number = number_of(t, epoch, m, allocator)) != 0) {
        const void *memory = status ? NULL : *out;
        if (memory)
            (void)hk_addresses_put(&g_hk_addresses, memory, hk_address_note(bytes, 0));
        record(t, epoch, number, memory, bytes, ACTION_ALLOCATED);
    }
    hk_leave(t);
    SetLastError(error);
    return status;
}

HK_HOOK(AllocatorFree, OrtStatus *, (OrtAllocator * allocator, void *memory), (allocator, memory))
{
    DWORD error = GetLastError();
    uint32_t epoch, number;
    hk_thread *t = memory ? begin(&epoch) : NULL;
    if (t) {
        // Before it is given back: after that it may be another thread's.
        if ((number = number_of(t, epoch, m, allocator)) != 0)
            record(t, epoch, number, memory,
                   hk_address_bytes(hk_addresses_take(&g_hk_addresses, memory)), ACTION_RELEASED);
        hk_leave(t);
        SetLastError(error);
    }
    return HK_ORIG(m, AllocatorFree)(allocator, memory);
}
