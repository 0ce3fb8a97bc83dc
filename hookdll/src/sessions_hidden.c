// SPDX-License-Identifier: MIT
// Sessions of modules without a C API. They have no address: ORT's own number stands for it. Of
// those that never ran nothing tells the end, so they must make room for others some day.
#include "sessions_own.h"

#define NEWEST   64u // sessions that may not have had the time to run yet
#define ATTEMPTS 16  // to find one that makes room, while others find or run them

_Atomic uint32_t g_hk_hidden_changes;
static SRWLOCK g_room_lock = SRWLOCK_INIT; // while one makes room

// Odd, so that it is no address.
static const OrtSession *hidden_key(const hk_module *m, uint32_t ort_id)
{
    uintptr_t slot = (uintptr_t)(m - g_hk.modules) + 1;
    return (const OrtSession *)(((uintptr_t)ort_id * 2 * HK_MODULES_MAX + slot) * 2 + 1);
}

hk_session *hk_session_find_hidden(const hk_module *m, uint32_t ort_id)
{
    return hk_session_find(hidden_key(m, ort_id));
}

// -------------------------------------------------------------------------------- coming and going

hk_session *hk_session_take_up_hidden(hk_thread *t, uint32_t epoch, hk_module *m, uint32_t ort_id,
                                      uint8_t source)
{
    static SRWLOCK lock = SRWLOCK_INIT;
    if (RtlDllShutdownInProgress())
        return NULL;
    AcquireSRWLockExclusive(&lock);
    hk_session *s = hk_session_find_hidden(m, ort_id);
    if (!s && (s = hk_session_alloc(m, 0)) != NULL) {
        s->created_ticks = hk_ticks();
        s->facts.source = source;
        s->ort_id = ort_id;
        if (!hk_session_remember(t, epoch, hidden_key(m, ort_id), s)) {
            hk_session_free(s);
            s = NULL;
        }
        atomic_fetch_add(&g_hk_hidden_changes, 1);
    }
    ReleaseSRWLockExclusive(&lock);
    return s;
}

void hk_session_hidden_ends(hk_thread *t, uint32_t epoch, hk_session_ref ref)
{
    uint32_t ort_id;
    const hk_module *m = ref.session ? hk_session_hidden_module(ref, &ort_id) : NULL;
    if (!m)
        return;
    // A runtime that was loaded again counts from the beginning: the key may be another's by now.
    if (hk_session_find_hidden(m, ort_id) != ref.session)
        return;
    hk_session_released(t, epoch, hidden_key(m, ort_id));
    atomic_fetch_add(&g_hk_hidden_changes, 1);
}

// --------------------------------------------------------------------------------- making room

// It is still to be found for a moment.
static void wait_until_gone(void)
{
    AcquireSRWLockShared(&g_room_lock);
    ReleaseSRWLockShared(&g_room_lock);
}

// Its place may be another's by now, so that it is looked up again once nobody can take it away.
bool hk_session_hold(hk_session *s, const hk_module *m, uint32_t ort_id)
{
    uint32_t held = atomic_load(&s->held);
    do {
        if (held & HK_SESSION_GAVE_WAY) {
            wait_until_gone();
            return false;
        }
    } while (!atomic_compare_exchange_weak(&s->held, &held, held + 1));
    if (hk_session_find_hidden(m, ort_id ? ort_id : s->ort_id) == s)
        return true;
    hk_session_let_go(s);
    return false;
}

void hk_session_let_go(hk_session *s)
{
    atomic_fetch_sub(&s->held, 1);
}

static bool could_go(const hk_session *s)
{
    return !s->address && s->ort_id && !atomic_load(&s->flying) && !atomic_load(&s->held);
}

// Of hidden sessions only those that ran are seen to end, so the oldest of the others goes first.
static hk_session_ref find_oldest(uint32_t newest)
{
    hk_session_ref oldest = {0};
    uint64_t lowest = UINT64_MAX;
    for (uint32_t i = 0; i < hk_sessions_used(); i++) {
        hk_session *s = hk_session_at(i);
        uint32_t id = s ? s->id : 0;
        if (!id || !could_go(s))
            continue;
        bool idle = !atomic_load(&s->runs) && (int32_t)(newest - id) >= (int32_t)NEWEST;
        uint64_t rank = (uint64_t)!idle << 32 | id;
        if (rank < lowest)
            lowest = rank, oldest = (hk_session_ref){s, id};
    }
    return oldest;
}

// From here on nobody can begin to run it. False: somebody has, or it is another one by now.
static bool make_it_go(hk_session_ref ref)
{
    uint32_t nobody = 0, ort_id;
    hk_session *s = ref.session;
    if (!atomic_compare_exchange_strong(&s->held, &nobody, HK_SESSION_GAVE_WAY))
        return false;
    if (!atomic_load(&s->flying) && hk_session_hidden_module(ref, &ort_id))
        return true;
    atomic_fetch_and(&s->held, ~HK_SESSION_GAVE_WAY);
    return false;
}

static bool make_room(hk_thread *t, uint32_t epoch, uint32_t newest)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        hk_session_ref oldest = find_oldest(newest);
        if (!oldest.session)
            return false;
        if (!make_it_go(oldest))
            continue;
        hk_session_hidden_ends(t, epoch, oldest);
        return true;
    }
    return false;
}

bool hk_session_make_room(hk_thread *t, uint32_t epoch, uint32_t newest)
{
    AcquireSRWLockExclusive(&g_room_lock);
    bool made = make_room(t, epoch, newest);
    ReleaseSRWLockExclusive(&g_room_lock);
    return made;
}

// ------------------------------------------------------------------------------------ which one

hk_session *hk_session_sole_hidden(const hk_module *m)
{
    hk_session *sole = NULL;
    for (uint32_t i = 0; i < hk_sessions_used(); i++) {
        hk_session *s = hk_session_at(i);
        if (!s || s->module != m || !s->ort_id)
            continue;
        if (sole)
            return NULL;
        sole = s;
    }
    return sole;
}

hk_session *hk_session_running_with(uint64_t manager, const hk_module *seen)
{
    hk_session *its = NULL, *perhaps = NULL;
    uint32_t known = 0, unknown = 0;
    for (uint32_t i = 0; i < hk_sessions_used(); i++) {
        hk_session *s = hk_session_at(i);
        if (!s || !atomic_load_explicit(&s->flying, memory_order_relaxed))
            continue;
        uint64_t has = atomic_load_explicit(&s->manager, memory_order_relaxed);
        if (has == manager)
            its = s, known++;
        else if (s->module == seen && (!has || !s->ort_id)) // without a number: it is several
            perhaps = s, unknown++;
    }
    return known == 1 ? its : !known && unknown == 1 ? perhaps : NULL;
}
