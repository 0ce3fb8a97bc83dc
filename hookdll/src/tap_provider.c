// SPDX-License-Identifier: MIT
// One provider's state block: what ETW asks for, what we want, and the sum of both in the block.
#include "mapped_image.h"
#include "tap.h"
#include "tap_find.h"

hk_tap_provider g_hk_tap[HK_TAP_PROVIDERS];

typedef void NTAPI enable_fn(const GUID *source, ULONG code, UCHAR level, ULONGLONG any,
                             ULONGLONG all, void *filter, void *context);

enum { CODE_DISABLE = 0, CODE_ENABLE = 1 };

static uint64_t get64(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}

static hk_tap_wish read_block(const hk_tap_block *b)
{
    return (hk_tap_wish){__atomic_load_n(&b->level_plus1, __ATOMIC_SEQ_CST), get64(&b->any),
                         get64(&b->all)};
}

static void write_block(hk_tap_block *b, const hk_tap_wish *wish)
{
    __atomic_store_n(&b->any, wish->any, __ATOMIC_SEQ_CST);
    __atomic_store_n(&b->all, wish->all, __ATOMIC_SEQ_CST);
    __atomic_store_n(&b->level_plus1, wish->level_plus1, __ATOMIC_SEQ_CST);
}

// Lets through what either side wants.
static hk_tap_wish sum(const hk_tap_provider *p)
{
    bool listens = p->real.level_plus1 != 0;
    return (hk_tap_wish){p->real.level_plus1 > p->ours.level_plus1 ? p->real.level_plus1
                                                                   : p->ours.level_plus1,
                         p->ours.any | (listens ? p->real.any : 0), 0};
}

const hk_module *hk_tap_seen_whole(const uint8_t *base)
{
    for (int i = 0; i < HK_TAP_PROVIDERS; i++) {
        const hk_tap_provider *p = &g_hk_tap[i];
        if (atomic_load_explicit(&p->description, memory_order_acquire) && !p->is_log &&
            p->module->base == base)
            return p->came_with_us ? p->module : NULL;
    }
    return NULL;
}

bool hk_tap_is_wanted(const hk_tap_provider *p, uint8_t level, uint64_t keyword)
{
    const hk_tap_wish *real = &p->real;
    uint64_t any = __atomic_load_n(&real->any, __ATOMIC_RELAXED);
    uint64_t all = __atomic_load_n(&real->all, __ATOMIC_RELAXED);
    return __atomic_load_n(&real->level_plus1, __ATOMIC_RELAXED) > level &&
           (!keyword || ((keyword & any) && (keyword & all) == all));
}

bool hk_tap_others_listen(const hk_module *m)
{
    for (int i = 0; i < HK_TAP_PROVIDERS; i++) {
        const hk_tap_provider *p = &g_hk_tap[i];
        if (atomic_load(&p->description) && p->module == m && p->taken && !p->is_log)
            return __atomic_load_n(&p->real.level_plus1, __ATOMIC_RELAXED) != 0;
    }
    hk_scan scan;
    uint32_t block, description;
    if (!hk_image_scan(&scan, m->base) ||
        hk_tap_find(&scan, HK_TAP_PROVIDER_NAME, &block, &description) != 1)
        return false;
    return read_block((const hk_tap_block *)(const void *)(m->base + block)).level_plus1 != 0;
}

// ---------------------------------------------------------------------------- what ETW tells ORT

static void on_change(hk_tap_provider *p, const GUID *source, ULONG code, UCHAR level,
                      ULONGLONG any, ULONGLONG all, void *filter, void *context)
{
    bool ending = RtlDllShutdownInProgress(); // see hk_enter_to_lock
    if (!ending)
        AcquireSRWLockExclusive(&p->lock);
    enable_fn *callback = (enable_fn *)(uintptr_t)p->callback;
    // The block was written before we were called.
    if (p->taken && code <= CODE_ENABLE) {
        p->real = read_block(p->block);
        hk_tap_wish both = sum(p);
        write_block(p->block, &both);
        code = CODE_ENABLE;
        level = (UCHAR)(both.level_plus1 - 1);
        any = both.any;
        all = both.all;
    } else if (code <= CODE_ENABLE) { // we left in this moment, and may have written after ETW
        hk_tap_wish told = {code ? (level ? level + 1u : 256u) : 0, any, all};
        write_block(p->block, &told);
    }
    if (!ending)
        ReleaseSRWLockExclusive(&p->lock);
    if (callback)
        callback(source, code, level, any, all, filter, context);
}

// The callback's context is ORT's, so each provider has a function of its own.
#define ENTRIES(XX)                                                                                \
    XX(0)                                                                                          \
    XX(1) XX(2) XX(3) XX(4) XX(5) XX(6) XX(7) XX(8) XX(9) XX(10) XX(11) XX(12) XX(13) XX(14) XX(15)
#define XX(n)                                                                                      \
    static void NTAPI on_change_##n(const GUID *source, ULONG code, UCHAR level, ULONGLONG any,    \
                                    ULONGLONG all, void *filter, void *context)                    \
    {                                                                                              \
        on_change(&g_hk_tap[n], source, code, level, any, all, filter, context);                   \
    }
ENTRIES(XX)
#undef XX

static void *entry_of(const hk_tap_provider *p)
{
    static enable_fn *const entries[HK_TAP_PROVIDERS] = {
#define XX(n) on_change_##n,
        ENTRIES(XX)
#undef XX
    };
    return (void *)(uintptr_t)entries[p - g_hk_tap];
}

// ------------------------------------------------------------------------------------ take, return

void hk_tap_take(hk_tap_provider *p)
{
    AcquireSRWLockExclusive(&p->lock);
    if (!p->taken) {
        void *was = __atomic_exchange_n(&p->block->callback, entry_of(p), __ATOMIC_SEQ_CST);
        if (was != entry_of(p))
            p->callback = was;
        // Whoever still called ORT's callback has written the block before this.
        FlushProcessWriteBuffers();
        p->real = read_block(p->block);
        p->taken = true;
        hk_tap_wish both = sum(p);
        write_block(p->block, &both);
    }
    ReleaseSRWLockExclusive(&p->lock);
}

void hk_tap_give_back(hk_tap_provider *p)
{
    AcquireSRWLockExclusive(&p->lock);
    if (p->taken) {
        void *ours = entry_of(p);
        p->taken = false;
        write_block(p->block, &p->real);
        __atomic_compare_exchange_n(&p->block->callback, &ours, p->callback, false,
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
    ReleaseSRWLockExclusive(&p->lock);
}

void hk_tap_reset(hk_tap_provider *p)
{
    AcquireSRWLockExclusive(&p->lock);
    p->taken = false;
    p->real = (hk_tap_wish){0};
    write_block(p->block, &p->real);
    ReleaseSRWLockExclusive(&p->lock);
}

void hk_tap_tell_ort(const hk_tap_provider *p, bool listens)
{
    static const GUID nobody;
    enable_fn *callback = (enable_fn *)(uintptr_t)p->callback;
    if (!callback || RtlDllShutdownInProgress())
        return;
    hk_tap_wish wish = listens ? sum(p) : p->real;
    callback(&nobody, wish.level_plus1 ? CODE_ENABLE : CODE_DISABLE,
             wish.level_plus1 ? (UCHAR)(wish.level_plus1 - 1) : 0, wish.any, wish.all, NULL,
             p->block->context);
}
