// SPDX-License-Identifier: MIT
// What the program and its custom operators take from the C API's default allocator. It is no
// object of a class that alloc_hook.c sees, but a struct of functions in the runtime's data: they
// lead to us from the first session on that is seen, or the first AllocatorAlloc. AllocatorAlloc
// and AllocatorFree call them too, and so does ORT where it hands out names and texts. The
// allocators of sessions lead to objects that alloc_hook.c sees, and one that the program
// registered is its own business: both are passed by.
#include "alloc_owner.h"

enum { TYPE_C_API = 1, SOURCE_C_API = 1 };
enum { RESERVE_SINCE = 18 };
#define ADDRESS(function) ((void *)(uintptr_t)(function))

// As onnxruntime_c_api.h has it.
struct OrtAllocator {
    uint32_t version;
    hk_allocate_fn *Alloc;
    hk_release_fn *Free;
    void *Info;
    hk_allocate_fn *Reserve; // since 1.18
};

// What is known of a runtime's default allocator. Stays when we leave, so that a call that is under
// way finds its way.
typedef struct known {
    _Atomic(uintptr_t) self; // 0: not known
    _Atomic uint32_t epoch;  // in which it led to us
    _Atomic uint32_t told;   // in which `id` was
    uint32_t id, module;
    hk_allocate_fn *alloc, *reserve;
    hk_release_fn *free;
} known;

static known g_known[HK_MODULES_MAX];
static _Atomic(known *) g_latest;

// For a copy of the struct, which somebody may have made, any will do: they all take from the
// system.
static known *find(const void *self)
{
    for (int i = 0; self && i < HK_MODULES_MAX; i++) // NULL would be a place that nobody uses
        if (atomic_load_explicit(&g_known[i].self, memory_order_acquire) == (uintptr_t)self)
            return &g_known[i];
    return atomic_load(&g_latest);
}

// --------------------------------------------------------------------------------------- recording

// Its number, which is told at first; 0 if there is no room to tell.
static uint32_t number_of(hk_thread *t, uint32_t epoch, known *k)
{
    if (atomic_load_explicit(&k->told, memory_order_acquire) == epoch)
        return k->id;
    static SRWLOCK lock = SRWLOCK_INIT;
    AcquireSRWLockExclusive(&lock);
    if (atomic_load(&k->told) != epoch) {
        tl_Allocator fixed = {
            .allocator = (uint32_t)InterlockedIncrement((volatile LONG *)&g_hk.next_allocator),
            .module = k->module,
            .type = TYPE_C_API,
            .source = SOURCE_C_API};
        hk_text texts[] = {hk_text_of("Cpu"), hk_text_of("")};
        k->id = fixed.allocator;
        if (hk_emit(t, epoch, TL_EVENT_Allocator, hk_ticks(), &fixed, sizeof fixed, texts, 2))
            atomic_store_explicit(&k->told, epoch, memory_order_release);
    }
    uint32_t id = atomic_load(&k->told) == epoch ? k->id : 0;
    ReleaseSRWLockExclusive(&lock);
    return id;
}

// NULL: not armed, or inside an allocator that is counted itself.
static hk_thread *begin(uint32_t *epoch, uintptr_t stack)
{
    hk_thread *t = hk_enter_to_lock(epoch);
    if (t && t->alloc_mark > stack + 1) {
        hk_leave(t);
        return NULL;
    }
    return t;
}

static void took(known *k, const void *memory, uint64_t bytes, uintptr_t stack)
{
    DWORD error = GetLastError();
    uint32_t epoch;
    hk_alloc_owner o;
    hk_thread *t = bytes ? begin(&epoch, stack) : NULL;
    if (!t)
        return;
    hk_alloc_find_owner(t, epoch, NULL, true, 0, &o);
    if (memory) {
        if (hk_addresses_put(&g_hk_addresses, memory, hk_address_note(bytes, o.tag)))
            hk_alloc_count(&o, bytes);
        else
            hk_alloc_count_unnoted(&o, bytes);
    }
    if (hk_alloc_tells_all())
        hk_alloc_emit(t, epoch, &o, memory, bytes, number_of(t, epoch, k), HK_ALLOC_ALLOCATED,
                      stack);
    hk_leave(t);
    SetLastError(error);
}

static void *seen_alloc(void *self, size_t bytes)
{
    known *k = find(self);
    void *memory = k->alloc(self, bytes);
    took(k, memory, bytes, (uintptr_t)__builtin_frame_address(0));
    return memory;
}

static void *seen_reserve(void *self, size_t bytes)
{
    known *k = find(self);
    void *memory = k->reserve(self, bytes);
    took(k, memory, bytes, (uintptr_t)__builtin_frame_address(0));
    return memory;
}

static void seen_free(void *self, void *memory)
{
    known *k = find(self);
    uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
    uint32_t epoch;
    hk_alloc_owner o;
    DWORD error = GetLastError();
    // Before it is given back: after that it may be another thread's.
    hk_thread *t = memory ? begin(&epoch, stack) : NULL;
    if (t) {
        uint64_t note = hk_addresses_take(&g_hk_addresses, memory);
        hk_alloc_find_owner(t, epoch, NULL, false, hk_address_tag(note), &o);
        hk_alloc_count_release(&o, note);
        if (hk_alloc_tells_all())
            hk_alloc_emit(t, epoch, &o, memory, hk_address_bytes(note), number_of(t, epoch, k),
                          HK_ALLOC_RELEASED, stack);
        hk_leave(t);
        SetLastError(error);
    }
    k->free(self, memory);
}

// ---------------------------------------------------------------------------------- there and back

static bool is_its_own(const hk_module *m, const void *function)
{
    return (uintptr_t)function - (uintptr_t)m->base < m->size;
}

// What releases is changed first and put back last: memory that we saw allocated is seen released.
static void lead_to_us(const hk_module *m, known *k, OrtAllocator *its)
{
    hk_slot_guard g = {0};
    bool reserves = its->version >= RESERVE_SINCE && its->Reserve;
    if (!is_its_own(m, ADDRESS(its->Alloc)) || !is_its_own(m, ADDRESS(its->Free)) ||
        (reserves && !is_its_own(m, ADDRESS(its->Reserve))))
        return; // another tool's by now
    k->alloc = its->Alloc;
    k->free = its->Free;
    k->reserve = reserves ? its->Reserve : NULL;
    k->module = m->id;
    atomic_store_explicit(&k->self, (uintptr_t)its, memory_order_release);
    atomic_store(&g_latest, k);
    hk_slot_change(&g, (void **)(void *)&its->Free, ADDRESS(k->free), ADDRESS(seen_free));
    if (reserves)
        hk_slot_change(&g, (void **)(void *)&its->Reserve, ADDRESS(k->reserve),
                       ADDRESS(seen_reserve));
    hk_slot_change(&g, (void **)(void *)&its->Alloc, ADDRESS(k->alloc), ADDRESS(seen_alloc));
    hk_slots_close(&g);
}

void hk_alloc_default_disarm(void)
{
    for (int i = 0; i < HK_MODULES_MAX; i++) {
        known *k = &g_known[i];
        OrtAllocator *its = (OrtAllocator *)atomic_load(&k->self);
        if (!its || atomic_exchange(&k->epoch, 0) == 0)
            continue;
        hk_slot_guard g = {0};
        hk_slot_change(&g, (void **)(void *)&its->Alloc, ADDRESS(seen_alloc), ADDRESS(k->alloc));
        if (k->reserve)
            hk_slot_change(&g, (void **)(void *)&its->Reserve, ADDRESS(seen_reserve),
                           ADDRESS(k->reserve));
        hk_slot_change(&g, (void **)(void *)&its->Free, ADDRESS(seen_free), ADDRESS(k->free));
        hk_slots_close(&g);
    }
}

void hk_alloc_default_forget(const hk_module *m)
{
    known *k = &g_known[m - g_hk.modules];
    atomic_store(&k->self, 0);
    atomic_store(&k->epoch, 0);
}

void hk_alloc_default_seen(const hk_module *m)
{
    known *k = &g_known[m - g_hk.modules];
    uint32_t epoch = atomic_load(&g_hk.epoch);
    OrtAllocator *its = NULL;
    if (!(g_hk.flags & (ORT_HOOK_ALLOC_STATS | ORT_HOOK_ALLOC_ALL)) || !(epoch & 1) ||
        atomic_load_explicit(&k->epoch, memory_order_relaxed) == epoch ||
        RtlDllShutdownInProgress())
        return;
    OrtStatus *status = ORT_CALL(m, GetAllocatorWithDefaultOptions)(&its);
    if (status)
        ORT_CALL(m, ReleaseStatus)(status);
    AcquireSRWLockExclusive(&g_hk.lock);
    if (atomic_load(&g_hk.epoch) == epoch && m->base && atomic_load(&k->epoch) != epoch) {
        atomic_store(&k->epoch, epoch);
        if (!status && its)
            lead_to_us(m, k, its);
    }
    ReleaseSRWLockExclusive(&g_hk.lock);
}

// ------------------------------------------------------------------------------------------- hooks

// The struct's function, which is ours by now, has seen it, unless it threw.
static __attribute__((noinline)) void tell_failed(const OrtAllocator *allocator, size_t bytes)
{
    known *k = find(allocator);
    if (k && atomic_load(&k->self) == (uintptr_t)allocator)
        took(k, NULL, bytes, (uintptr_t)__builtin_frame_address(0));
}

HK_HOOK(AllocatorAlloc, OrtStatus *, (OrtAllocator * allocator, size_t bytes, void **out),
        (allocator, bytes, out))
{
    uint32_t epoch;
    hk_thread *t = hk_enter_to_lock(&epoch);
    if (t) {
        hk_alloc_default_seen(m);
        hk_leave(t);
    }
    OrtStatus *status = HK_ORIG(m, AllocatorAlloc)(allocator, bytes, out);
    if (status)
        tell_failed(allocator, bytes);
    return status;
}
