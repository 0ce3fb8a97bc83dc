// SPDX-License-Identifier: MIT
// What was told once and is still true, as it was told: whoever begins to listen later can't
// understand anything without it. Copies, because asking again would mean to touch objects of ORT
// from a thread that does not own them. Bounded; what finds no room is counted.
#include "etw.h"

#define BUCKETS       512u
#define JOURNAL_BYTES (8u << 20)
// Sets come with every new shape: they leave room for sessions and kernels.
#define SETS_BYTES (6u << 20)

// In the order in which they are told.
typedef enum group { MODULES, SESSIONS, SETS, KERNELS, ALLOCATORS, GROUPS } group;

typedef struct entry {
    struct entry *next;
    uint64_t ticks;
    uint32_t thread, id;
    uint32_t session; // of a set: whose it is, 0: nobody's
    uint16_t bytes;
    uint8_t event;
    uint8_t payload[];
} entry;

static struct {
    SRWLOCK lock;
    entry *buckets[BUCKETS];
} g_groups[GROUPS];

static _Atomic uint32_t g_bytes, g_missed;

// Whom an event is about: a u32 in its fixed fields. Alone: there is one of them.
static const struct {
    uint8_t group, at;
    bool alone, ends;
} g_rules[TL_EVENT_COUNT] = {
#define RULE(event, field, group, alone, ends)                                                     \
    [TL_EVENT_##event] = {group, offsetof(tl_##event, field), alone, ends}
    RULE(Module, module, MODULES, true, false),
    RULE(ModuleEnd, module, MODULES, false, true),
    RULE(Session, session, SESSIONS, true, false),
    RULE(SessionEnd, session, SESSIONS, false, true),
    RULE(Phase, session, SESSIONS, false, false),
    RULE(ShapeSet, set, SETS, true, false),
    RULE(Tensor, set, SETS, false, false),
    RULE(Kernel, kernel, KERNELS, true, false),
    RULE(KernelShapes, kernel, KERNELS, false, false),
    RULE(KernelNames, kernel, KERNELS, false, false),
    RULE(KernelEnd, kernel, KERNELS, false, true),
    RULE(Allocator, allocator, ALLOCATORS, true, false),
#undef RULE
};

static void drop(entry *e)
{
    atomic_fetch_sub(&g_bytes, (uint32_t)sizeof *e + e->bytes);
    hk_free(e);
}

// With the group's lock.
static void forget(group g, uint32_t id)
{
    entry **at = &g_groups[g].buckets[id % BUCKETS];
    while (*at) {
        entry *e = *at;
        if (e->id != id) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        drop(e);
    }
}

static void forget_whole(group g, uint32_t id)
{
    AcquireSRWLockExclusive(&g_groups[g].lock);
    forget(g, id);
    ReleaseSRWLockExclusive(&g_groups[g].lock);
}

// The sets of a session that is gone, with their tensors.
static void forget_sets_of(uint32_t session)
{
    AcquireSRWLockExclusive(&g_groups[SETS].lock);
    for (uint32_t i = 0; i < BUCKETS; i++) {
        entry *e = g_groups[SETS].buckets[i];
        while (e) {
            uint32_t id = e->event == TL_EVENT_ShapeSet && e->session == session ? e->id : 0;
            if (id)
                forget(SETS, id);
            e = id ? g_groups[SETS].buckets[i] : e->next;
        }
    }
    ReleaseSRWLockExclusive(&g_groups[SETS].lock);
}

static entry *make(tl_event event, uint32_t thread, uint64_t ticks, const tl_etw_part *parts,
                   unsigned count)
{
    uint32_t bytes = 0;
    for (unsigned i = 0; i < count; i++)
        bytes += parts[i].len;
    uint32_t whole = (uint32_t)sizeof(entry) + bytes;
    uint32_t most = g_rules[event].group == SETS ? SETS_BYTES : JOURNAL_BYTES;
    if (bytes > UINT16_MAX || atomic_fetch_add(&g_bytes, whole) + whole > most) {
        atomic_fetch_sub(&g_bytes, bytes > UINT16_MAX ? 0 : whole);
        return NULL;
    }
    entry *e = hk_alloc(whole);
    if (!e) {
        atomic_fetch_sub(&g_bytes, whole);
        return NULL;
    }
    e->event = (uint8_t)event;
    e->thread = thread;
    e->ticks = ticks;
    e->bytes = (uint16_t)bytes;
    uint8_t *to = e->payload;
    for (unsigned i = 0; i < count; i++) {
        memcpy(to, parts[i].bytes, parts[i].len);
        to += parts[i].len;
    }
    if (event == TL_EVENT_ShapeSet)
        e->session = ((const tl_ShapeSet *)parts[0].bytes)->session;
    return e;
}

static void add(group g, entry *e)
{
    AcquireSRWLockExclusive(&g_groups[g].lock);
    entry **at = &g_groups[g].buckets[e->id % BUCKETS];
    while (*at) { // at the end: a set comes before its tensors
        if ((*at)->id == e->id && (*at)->event == e->event && g_rules[e->event].alone) {
            drop(e); // told again because the ring was full
            e = NULL;
            break;
        }
        at = &(*at)->next;
    }
    if (e)
        *at = e;
    ReleaseSRWLockExclusive(&g_groups[g].lock);
}

// A session that could not be made: nobody will tell that it is gone, nor its phases.
static bool has_failed(tl_event event, const void *fixed)
{
    return event == TL_EVENT_Session && ((const tl_Session *)fixed)->status != 0;
}

void hk_journal_note(tl_event event, uint32_t thread, uint64_t ticks, const tl_etw_part *parts,
                     unsigned count)
{
    uint32_t id;
    group g = (group)g_rules[event].group;
    if (RtlDllShutdownInProgress()) // a thread that was killed may have held the lock
        return;
    memcpy(&id, (const uint8_t *)parts[0].bytes + g_rules[event].at, sizeof id);
    if (g_rules[event].ends || has_failed(event, parts[0].bytes)) {
        forget_whole(g, id);
        if (event == TL_EVENT_SessionEnd)
            forget_sets_of(id);
        return;
    }
    entry *e = make(event, thread, ticks, parts, count);
    if (!e) {
        atomic_fetch_add(&g_missed, 1);
        return;
    }
    e->id = id;
    add(g, e);
}

void hk_journal_forget_allocator(uint32_t id)
{
    if (!RtlDllShutdownInProgress())
        forget_whole(ALLOCATORS, id);
}

uint32_t hk_journal_walk(hk_journal_fn *fn, void *context)
{
    for (int g = 0; g < GROUPS; g++) {
        for (uint32_t i = 0; i < BUCKETS; i++) {
            AcquireSRWLockShared(&g_groups[g].lock);
            for (const entry *e = g_groups[g].buckets[i]; e; e = e->next) {
                const tl_etw_part payload = {e->payload, e->bytes};
                fn(context, (tl_event)e->event, e->thread, e->ticks, &payload);
            }
            ReleaseSRWLockShared(&g_groups[g].lock);
        }
    }
    return atomic_load(&g_missed);
}

void hk_journal_clear(void)
{
    for (int g = 0; g < GROUPS; g++) {
        AcquireSRWLockExclusive(&g_groups[g].lock);
        for (uint32_t i = 0; i < BUCKETS; i++) {
            entry *e = g_groups[g].buckets[i];
            g_groups[g].buckets[i] = NULL;
            while (e) {
                entry *next = e->next;
                drop(e);
                e = next;
            }
        }
        ReleaseSRWLockExclusive(&g_groups[g].lock);
    }
    atomic_store(&g_missed, 0);
}
