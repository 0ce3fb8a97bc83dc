// SPDX-License-Identifier: MIT
// The arenas that have been used, by address. Finding takes no lock; adding and retiring do. An
// arena is referred to by a handle, place and number together: places are used again.
#include "alloc.h"
#include "etw.h"
#include "op.h"
#include "registry.h"

#define ARENAS_MAX   1024u
#define HELD_MS_MAX  5000u
#define STRING_MINOR 23 // since then the name of what an allocator allocates from is a std::string

enum {
    TYPE_ARENA = 2,
    TYPE_OTHER = 3,
    SOURCE_CLASS = 2,
    SOURCE_LITERAL = 3,
    MEMORY_INFO = 8, // in an IAllocator
    NAME_MAX = 32,
    STRING_LEN = 16, // in a std::string of MSVC
    STRING_INLINE = 15,
};

static hk_registry g_registry;
static SRWLOCK g_lock = SRWLOCK_INIT; // what follows
static hk_arena g_arenas[ARENAS_MAX];
static hk_arena *g_unused;
static uint32_t g_taken; // places that were ever used
static _Atomic uint32_t g_known;

hk_arena *hk_arena_find(const void *self)
{
    return hk_registry_find(&g_registry, self);
}

bool hk_arenas_any(void)
{
    return atomic_load_explicit(&g_known, memory_order_relaxed) != 0;
}

uint64_t hk_arena_handle(const hk_arena *a)
{
    return (uint64_t)a->id << 32 | (uint64_t)(a - g_arenas);
}

hk_arena *hk_arena_at(uint64_t handle)
{
    hk_arena *a = &g_arenas[handle % ARENAS_MAX];
    return handle && a->id == handle >> 32 && atomic_load(&a->self) ? a : NULL;
}

hk_arena *hk_arena_hold(uint64_t handle)
{
    hk_arena *a = hk_arena_at(handle);
    if (!a)
        return NULL;
    atomic_fetch_add(&a->held, 1);
    if (hk_arena_at(handle) == a)
        return a;
    hk_arena_let_go(a);
    return NULL;
}

void hk_arena_let_go(hk_arena *a)
{
    atomic_fetch_sub(&a->held, 1);
}

// Not for ever: whoever holds it may have been killed.
static void wait_until_let_go(const hk_arena *a)
{
    ULONGLONG begin = GetTickCount64();
    while (atomic_load(&a->held) && GetTickCount64() - begin < HELD_MS_MAX)
        Sleep(0);
}

// ------------------------------------------------------------------------------- coming and going

static void drop(void *value)
{
    hk_arena *a = value;
    atomic_store(&a->self, 0);
    atomic_fetch_sub(&g_known, 1);
    a->next_free = g_unused;
    g_unused = a;
}

static hk_arena *take_unused(void)
{
    hk_arena *a = g_unused;
    if (a)
        g_unused = a->next_free;
    else if (g_taken < ARENAS_MAX)
        a = &g_arenas[g_taken++];
    return a;
}

static hk_arena *add(const void *self, const hk_alloc_class *c, bool from_its_beginning)
{
    hk_arena *a = take_unused();
    if (!a)
        return NULL;
    a->alloc_class = c;
    a->id = (uint32_t)InterlockedIncrement((volatile LONG *)&g_hk.next_allocator);
    atomic_store(&a->session, NULL);
    atomic_store(&a->session_id, 0);
    atomic_store(&a->live_bytes, 0);
    atomic_store(&a->announced, 0);
    atomic_store(&a->is_incomplete, !from_its_beginning);
    atomic_store(&a->is_shared, 0);
    atomic_store(&a->unowned, 0);
    atomic_store(&a->self, (uintptr_t)self);
    atomic_fetch_add(&g_known, 1);
    if (!hk_registry_add(&g_registry, self, a)) {
        drop(a);
        return NULL;
    }
    return a;
}

hk_arena *hk_arena_take_up(const void *self, const hk_alloc_class *c, bool from_its_beginning)
{
    if (RtlDllShutdownInProgress()) // see hk_enter_to_lock
        return NULL;
    AcquireSRWLockExclusive(&g_lock);
    hk_arena *a = hk_arena_find(self);
    if (a && a->alloc_class != c) { // that one died unseen
        hk_registry_remove(&g_registry, self);
        drop(a);
        a = NULL;
    }
    if (!a)
        a = add(self, c, from_its_beginning);
    ReleaseSRWLockExclusive(&g_lock);
    return a;
}

void hk_arena_retire(hk_thread *t, uint32_t epoch, const void *self)
{
    hk_arena *a = hk_arena_find(self);
    if (!a)
        return;
    hk_arena_announce(t, epoch, a); // of a session that could not be made, for one
    hk_journal_forget_allocator(a->id);
    AcquireSRWLockExclusive(&g_lock);
    if (hk_registry_remove(&g_registry, self) == a)
        drop(a);
    ReleaseSRWLockExclusive(&g_lock);
    wait_until_let_go(a);
}

void hk_arenas_forget(const hk_alloc_module *module)
{
    AcquireSRWLockExclusive(&g_lock);
    for (uint32_t i = 0; i < g_taken; i++) {
        hk_arena *a = &g_arenas[i];
        uintptr_t self = atomic_load(&a->self);
        if (self && a->alloc_class->module == module &&
            hk_registry_remove(&g_registry, (const void *)self) == a)
            drop(a);
    }
    ReleaseSRWLockExclusive(&g_lock);
}

void hk_arenas_clear(void)
{
    AcquireSRWLockExclusive(&g_lock);
    hk_registry_clear(&g_registry, drop);
    ReleaseSRWLockExclusive(&g_lock);
}

// ----------------------------------------------------------------------------------------- telling

// "Cpu", "Cuda", ...: the first field of the allocator's OrtMemoryInfo. "" if it is not as known.
static void read_name(const hk_alloc_class *c, const void *self, char out[NAME_MAX])
{
    uint64_t words[4], len;
    out[0] = 0;
    if (!hk_copy_readable((uint64_t)(uintptr_t)self + MEMORY_INFO, words, sizeof words))
        return;
    if (c->module->runtime->minor < STRING_MINOR) {
        if (!hk_copy_readable(words[0], out, NAME_MAX))
            out[0] = 0;
        out[NAME_MAX - 1] = 0;
    } else if ((len = words[STRING_LEN / 8]) <= STRING_INLINE && words[3] == STRING_INLINE) {
        memcpy(out, words, (size_t)len);
        out[len] = 0;
    }
    for (size_t i = 0; out[i]; i++)
        if (out[i] < 0x20 || out[i] > 0x7e)
            out[0] = 0;
}

static bool tell(hk_thread *t, uint32_t epoch, const hk_alloc_class *c, const void *self,
                 uint32_t id, uint32_t session)
{
    const hk_alloc_module *m = c->module;
    char name[NAME_MAX], class_name[256] = "";
    read_name(c, self, name);
    const char *decorated =
        hk_scan_class_name(&m->scan, (uint32_t)(atomic_load(&c->address) - (uintptr_t)m->base));
    if (decorated)
        hk_class_text(decorated, class_name, sizeof class_name);
    tl_Allocator fixed = {.allocator = id,
                          .session = session,
                          .module = m->runtime->id,
                          .type = c->is_arena ? TYPE_ARENA : TYPE_OTHER,
                          .source = m->found.by_name ? SOURCE_CLASS : SOURCE_LITERAL};
    hk_text texts[] = {hk_text_of(name), hk_text_of(class_name)};
    return hk_emit(t, epoch, TL_EVENT_Allocator, hk_ticks(), &fixed, sizeof fixed, texts, 2);
}

void hk_arena_announce(hk_thread *t, uint32_t epoch, hk_arena *a)
{
    uint32_t unsaid = 0;
    if (!atomic_compare_exchange_strong(&a->announced, &unsaid, 1))
        return;
    DWORD error = GetLastError();
    if (!tell(t, epoch, a->alloc_class, (const void *)atomic_load(&a->self), a->id,
              atomic_load(&a->session_id)))
        atomic_store(&a->announced, 0); // dropped: once more with the next allocation
    SetLastError(error);
}

uint32_t hk_alloc_class_id(hk_thread *t, uint32_t epoch, hk_alloc_class *c, const void *self)
{
    uint32_t id = atomic_load_explicit(&c->id, memory_order_relaxed);
    if (__builtin_expect(id != 0, 1))
        return id;
    uint32_t mine = (uint32_t)InterlockedIncrement((volatile LONG *)&g_hk.next_allocator);
    if (!atomic_compare_exchange_strong(&c->id, &id, mine))
        return id;
    DWORD error = GetLastError();
    if (!tell(t, epoch, c, self, mine, 0))
        atomic_store(&c->id, 0);
    SetLastError(error);
    return mine;
}

// The environment's arena (session.use_env_allocators): what it holds is no session's own.
static void note_sharing(hk_arena *a, const hk_session *s)
{
    const hk_session *before = atomic_load(&a->session);
    if (!before || before == s || before->id != atomic_load(&a->session_id) ||
        atomic_load(&a->is_shared))
        return;
    atomic_store(&a->is_incomplete, 1);
    atomic_store(&a->is_shared, 1);
}

static void add_to_session(hk_session *s, uint64_t handle)
{
    for (uint32_t i = 0; i < HK_SESSION_ARENAS; i++) {
        uint64_t known = atomic_load(&s->memory.arenas[i]);
        if (known == handle)
            return;
        if (!hk_arena_at(known) &&
            atomic_compare_exchange_strong(&s->memory.arenas[i], &known, handle))
            return;
    }
}

void hk_arena_claim(hk_thread *t, uint32_t epoch, hk_arena *a, hk_session *s)
{
    // Of one that is shared nobody asks any more whose it is, and sessions that run at the same
    // time claim it with every other allocation: nothing is written to it then.
    if (!atomic_load(&a->is_shared)) {
        note_sharing(a, s);
        atomic_store(&a->session_id, s->id);
        atomic_store(&a->session, s);
    }
    add_to_session(s, hk_arena_handle(a));
    if (!atomic_load(&a->announced))
        hk_arena_announce(t, epoch, a);
}
