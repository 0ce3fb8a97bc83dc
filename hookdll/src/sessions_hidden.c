// SPDX-License-Identifier: MIT
// Sessions of modules without a C API. They have no address: ORT's own number stands for it. Of
// those that never ran nothing tells the end, so they must make room for others some day.
#include "sessions_own.h"

_Atomic uint32_t g_hk_hidden_changes;

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
    // ORT never gives a number twice, so the key is that of no other session.
    hk_session_released(t, epoch, hidden_key(m, ort_id));
    atomic_fetch_add(&g_hk_hidden_changes, 1);
}

// Of hidden sessions only those that ran are seen to end: the oldest of the others makes room.
bool hk_session_make_room(hk_thread *t, uint32_t epoch)
{
    hk_session_ref oldest = {0};
    uint64_t lowest = UINT64_MAX;
    for (uint32_t i = 0; i < HK_REGISTRY_SLOTS; i++) {
        hk_session *s = hk_session_at(i);
        if (!s || s->address || !s->ort_id || atomic_load(&s->flying))
            continue;
        uint64_t rank = (uint64_t)(atomic_load(&s->runs) != 0) << 32 | s->id;
        if (rank < lowest)
            lowest = rank, oldest = (hk_session_ref){s, s->id};
    }
    hk_session_hidden_ends(t, epoch, oldest);
    return oldest.session;
}

// ------------------------------------------------------------------------------------ which one

hk_session *hk_session_sole_hidden(const hk_module *m)
{
    hk_session *sole = NULL;
    for (uint32_t i = 0; i < HK_REGISTRY_SLOTS; i++) {
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
    for (uint32_t i = 0; i < HK_REGISTRY_SLOTS; i++) {
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
