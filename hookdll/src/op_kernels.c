// SPDX-License-Identifier: MIT
// The kernels that have been executed, by address. Finding takes no lock (op.h); adding and
// retiring do. Entries are recycled but never given back to the heap. A kernel that is being
// executed is not destroyed, so an entry with its address that was found stays right meanwhile.
#include "op.h"

_Atomic(hk_kernel *) g_hk_kernels[1u << HK_KERNEL_BITS];

static SRWLOCK g_lock = SRWLOCK_INIT;
static hk_kernel *g_unused; // linked by `next`

static _Atomic(hk_kernel *) *link_to(const void *self)
{
    _Atomic(hk_kernel *) *link = &g_hk_kernels[hk_kernel_place(self)];
    for (hk_kernel *k; (k = atomic_load(link)) != NULL; link = &k->next)
        if (atomic_load(&k->self) == (uintptr_t)self)
            return link;
    return NULL;
}

static void unlink_and_keep(_Atomic(hk_kernel *) *link)
{
    hk_kernel *k = atomic_load(link);
    atomic_store(&k->self, 0);
    atomic_store(link, atomic_load(&k->next));
    // A reader that stands on this entry walks on into the unused ones and finds nothing.
    atomic_store(&k->next, g_unused);
    g_unused = k;
}

static hk_kernel *take_unused(void)
{
    hk_kernel *k = g_unused;
    if (!k)
        return hk_alloc_for_good(sizeof *k);
    g_unused = atomic_load(&k->next);
    return k;
}

static hk_kernel *add(const void *self, const hk_vtable *vtable, uint32_t epoch)
{
    hk_kernel *k = take_unused();
    if (!k)
        return NULL;
    _Atomic(hk_kernel *) *head = &g_hk_kernels[hk_kernel_place(self)];
    k->id = ++g_hk.next_kernel;
    k->epoch = epoch;
    k->vtable = vtable;
    atomic_store(&k->described_count, 0);
    atomic_store(&k->after, NULL);
    atomic_store(&k->session, NULL);
    atomic_store(&k->owner, 0);
    atomic_store(&k->set, HK_SET_UNTOLD);
    atomic_store(&k->set_before, HK_SET_UNTOLD);
    atomic_store(&k->announced, 0);
    atomic_store(&k->losses, 0);
    atomic_store(&k->wait, 0);
    atomic_store(&k->memory, 0);
    atomic_store(&k->next, atomic_load(head));
    atomic_store(&k->self, (uintptr_t)self);
    atomic_store(head, k);
    return k;
}

hk_kernel *hk_kernel_take_up(const void *self, const hk_vtable *vtable, uint32_t epoch)
{
    if (RtlDllShutdownInProgress()) // see hk_enter_to_lock
        return NULL;
    AcquireSRWLockExclusive(&g_lock);
    _Atomic(hk_kernel *) *link = link_to(self);
    hk_kernel *k = link ? atomic_load(link) : NULL;
    // Another class or another arming: that one died unseen.
    if (k && (k->epoch != epoch || k->vtable != vtable)) {
        unlink_and_keep(link);
        k = NULL;
    }
    if (!k)
        k = add(self, vtable, epoch);
    ReleaseSRWLockExclusive(&g_lock);
    return k;
}

uint32_t hk_kernel_retire(const void *self, uint32_t epoch, hk_session_ref *owner)
{
    uint32_t id = 0;
    *owner = (hk_session_ref){0};
    AcquireSRWLockExclusive(&g_lock);
    _Atomic(hk_kernel *) *link = link_to(self);
    if (link) {
        hk_kernel *k = atomic_load(link);
        if (k->epoch == epoch) {
            id = k->id;
            owner->session = atomic_load(&k->session);
            owner->id = atomic_load(&k->session_id);
        }
        unlink_and_keep(link);
    }
    ReleaseSRWLockExclusive(&g_lock);
    return id;
}

bool hk_kernel_is_described(const hk_kernel *k, uint32_t set)
{
    uint32_t count = atomic_load_explicit(&k->described_count, memory_order_acquire);
    for (uint32_t i = 0; i < count && i < HK_KERNEL_SETS; i++)
        if (atomic_load_explicit(&k->described[i], memory_order_relaxed) == set)
            return true;
    return false;
}

// 0 stands for what is not known, also while a session is loading: that is not remembered.
void hk_kernel_note_set(hk_kernel *k, uint32_t set)
{
    uint32_t last = atomic_load_explicit(&k->set, memory_order_relaxed);
    if (last && last != set)
        atomic_store_explicit(&k->set_before, last, memory_order_relaxed);
    atomic_store_explicit(&k->set, set, memory_order_relaxed);
}

void hk_kernel_described(hk_kernel *k, uint32_t set)
{
    AcquireSRWLockExclusive(&k->lock);
    uint32_t count = atomic_load(&k->described_count);
    if (!hk_kernel_is_described(k, set)) {
        atomic_store(&k->described[count++ % HK_KERNEL_SETS], set);
        atomic_store(&k->described_count, count);
    }
    ReleaseSRWLockExclusive(&k->lock);
    atomic_store(&k->losses, 0);
    atomic_store(&k->wait, count >= HK_KERNEL_TELLS ? HK_KERNEL_PAUSE : 0);
    hk_kernel_note_set(k, set);
}

void hk_kernel_undescribed(hk_kernel *k)
{
    uint32_t losses = atomic_load(&k->losses);
    atomic_store(&k->wait, 1u << losses);
    atomic_store(&k->losses, losses < 6 ? losses + 1 : losses);
}

bool hk_kernel_waits(hk_kernel *k)
{
    uint32_t wait = atomic_load_explicit(&k->wait, memory_order_relaxed);
    if (wait)
        atomic_store_explicit(&k->wait, wait - 1, memory_order_relaxed);
    return wait != 0;
}

void hk_kernels_retire_of(const hk_session *s, hk_kernel_ended_fn *ended, void *context)
{
    AcquireSRWLockExclusive(&g_lock);
    for (uint32_t i = 0; i < 1u << HK_KERNEL_BITS; i++) {
        _Atomic(hk_kernel *) *link = &g_hk_kernels[i];
        for (hk_kernel *k; (k = atomic_load(link)) != NULL;) {
            if (atomic_load(&k->session) != s) {
                link = &k->next;
                continue;
            }
            ended(context, k->id);
            unlink_and_keep(link);
        }
    }
    ReleaseSRWLockExclusive(&g_lock);
}

void hk_kernels_disown(void)
{
    AcquireSRWLockExclusive(&g_lock);
    for (uint32_t i = 0; i < 1u << HK_KERNEL_BITS; i++)
        for (hk_kernel *k = atomic_load(&g_hk_kernels[i]); k; k = atomic_load(&k->next)) {
            hk_session *s = atomic_load(&k->session); // which may come back at this moment
            if (s && (atomic_load(&s->held) & HK_SESSION_GAVE_WAY))
                (void)atomic_compare_exchange_strong(&k->session, &s, NULL);
        }
    ReleaseSRWLockExclusive(&g_lock);
}

void hk_kernels_forget(uintptr_t base, size_t size)
{
    AcquireSRWLockExclusive(&g_lock);
    for (uint32_t i = 0; i < 1u << HK_KERNEL_BITS; i++) {
        _Atomic(hk_kernel *) *link = &g_hk_kernels[i];
        for (hk_kernel *k; (k = atomic_load(link)) != NULL;) {
            if (k->vtable && atomic_load(&k->vtable->address) - base < size)
                unlink_and_keep(link);
            else
                link = &k->next;
        }
    }
    ReleaseSRWLockExclusive(&g_lock);
}

void hk_kernels_clear(void)
{
    AcquireSRWLockExclusive(&g_lock);
    for (uint32_t i = 0; i < 1u << HK_KERNEL_BITS; i++)
        while (atomic_load(&g_hk_kernels[i]))
            unlink_and_keep(&g_hk_kernels[i]);
    ReleaseSRWLockExclusive(&g_lock);
}
