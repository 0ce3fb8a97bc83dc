// SPDX-License-Identifier: MIT
// Whose events we listen to: the module's imports and the provider's block. See tap.h. Possibly
// under the loader's lock: nothing here may wait for the loader.
#include "mapped_image.h"
#include "tap.h"
#include "tap_find.h"
#include "vtable_slots.h"

#define QUIET_SINCE 17 // from 1.17 on only the two events of each run need level 5

#define LOG_PROVIDER_NAME "ONNXRuntimeTraceLoggingProvider" // since 1.17
#define KEYWORD_LOG       2u

static const uint64_t g_keywords = 0x400000000001; // measures, sessions

hk_tap_register_fn *g_hk_tap_real_register;
hk_tap_write_fn *g_hk_tap_real_write;

// ----------------------------------------------------------------------------------------- imports

static bool set_import(void **slot, void *from, void *to)
{
    hk_slot_guard g = {0};
    bool set = hk_slot_change(&g, slot, from, to);
    hk_slots_close(&g);
    return set;
}

// All modules that we listen to must import the very same function.
static bool lead_to_us(const uint8_t *base, const char *name, void **real, void *ours)
{
    void **slot = hk_image_import(base, name);
    void *there = slot ? __atomic_load_n(slot, __ATOMIC_ACQUIRE) : NULL;
    if (!there || (*real && *real != there && there != ours))
        return false;
    if (there == ours)
        return true;
    __atomic_store_n(real, there, __ATOMIC_SEQ_CST);
    return set_import(slot, there, ours);
}

static void lead_back(const uint8_t *base, const char *name, void *real, void *ours)
{
    void **slot = hk_image_import(base, name);
    if (slot && __atomic_load_n(slot, __ATOMIC_ACQUIRE) == ours)
        set_import(slot, ours, real);
}

static bool take_imports(const uint8_t *base)
{
    return lead_to_us(base, "EventRegister", (void **)(void *)&g_hk_tap_real_register,
                      (void *)(uintptr_t)hk_tap_register) &&
           lead_to_us(base, "EventWriteTransfer", (void **)(void *)&g_hk_tap_real_write,
                      (void *)(uintptr_t)hk_tap_write);
}

static void return_imports(const uint8_t *base)
{
    lead_back(base, "EventWriteTransfer", (void *)(uintptr_t)g_hk_tap_real_write,
              (void *)(uintptr_t)hk_tap_write);
    lead_back(base, "EventRegister", (void *)(uintptr_t)g_hk_tap_real_register,
              (void *)(uintptr_t)hk_tap_register);
}

// --------------------------------------------------------------------------------------- providers

static hk_tap_provider *unused(void)
{
    for (int i = 0; i < HK_TAP_PROVIDERS; i++)
        if (!atomic_load(&g_hk_tap[i].description))
            return &g_hk_tap[i];
    return NULL;
}

static hk_tap_provider *add(hk_module *m, uint32_t block, uint32_t description, hk_tap_wish ours,
                            bool is_log)
{
    hk_tap_provider *p = unused();
    if (!p)
        return NULL;
    p->module = m;
    p->block = (hk_tap_block *)(void *)(m->base + block);
    p->taken = false;
    p->callback = NULL;
    p->came_with_us = false;
    p->real = (hk_tap_wish){0};
    p->ours = ours;
    p->is_log = is_log;
    atomic_store(&p->told, 0);
    atomic_store(&p->start, NULL);
    atomic_store(&p->stop, NULL);
    atomic_store(&p->description, m->base + description);
    return p;
}

static const char *listen(hk_module *m, const hk_scan *scan, const char *name, hk_tap_wish ours,
                          bool is_log)
{
    uint32_t block, description;
    unsigned count = hk_tap_find(scan, name, &block, &description);
    if (count != 1)
        return count    ? "it has more than one provider"
               : is_log ? "it has no provider of its log (there is one since 1.17)"
                        : "it has no provider of events";
    hk_tap_provider *p = add(m, block, description, ours, is_log);
    if (!p)
        return "too many modules have providers";
    if (!take_imports(m->base)) {
        return_imports(m->base);
        atomic_store(&p->description, NULL);
        return "its imports are not those of other modules, or another tool has changed them";
    }
    if (!__atomic_load_n(&p->block->handle, __ATOMIC_SEQ_CST))
        return NULL; // EventRegister will tell us
    if (is_log && m->minor < HK_TAP_SAFE_MINOR) {
        atomic_store(&p->description, NULL);
        return "its log is not: turning it up could stop a program that runs already with a "
               "runtime "
               "before 1.30";
    }
    hk_tap_take(p);
    return NULL;
}

const char *hk_tap_arm(hk_module *m)
{
    hk_scan scan;
    if (!(g_hk.flags & ORT_HOOK_ORT_EVENTS))
        return NULL;
    if (!hk_image_scan(&scan, m->base))
        return "its sections could not be read";
    bool needs_runs = !m->api || m->minor < QUIET_SINCE;
    hk_tap_wish events = {needs_runs ? TL_LEVEL_VERBOSE + 1 : TL_LEVEL_INFO + 1, g_keywords, 0};
    const char *problem = listen(m, &scan, HK_TAP_PROVIDER_NAME, events, false);
    hk_tap_wish log = {TL_LEVEL_INFO + 1, KEYWORD_LOG, 0};
    if (!problem && g_hk.flags & ORT_HOOK_ORT_LOG)
        problem = listen(m, &scan, LOG_PROVIDER_NAME, log, true);
    return problem;
}

// The base of the module whose provider is to be told, NULL: none is. It is told only once.
static uint8_t *next_to_tell(hk_tap_provider *p, bool listens)
{
    uint32_t before = !listens;
    bool is_it = atomic_load(&p->description) && p->is_log && p->taken &&
                 p->module->minor >= HK_TAP_SAFE_MINOR &&
                 atomic_compare_exchange_strong(&p->told, &before, listens);
    return is_it ? p->module->base : NULL;
}

void hk_tap_tell_all(bool listens)
{
    for (int i = 0; i < HK_TAP_PROVIDERS; i++) {
        HMODULE module;
        AcquireSRWLockShared(&g_hk.lock);
        uint8_t *base = next_to_tell(&g_hk_tap[i], listens);
        ReleaseSRWLockShared(&g_hk.lock);
        if (!base || !GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                                         (LPCWSTR)(void *)base, &module))
            continue;
        hk_tap_tell_ort(&g_hk_tap[i], listens);
        FreeLibrary(module);
    }
}

void hk_tap_disarm(void)
{
    for (int i = 0; i < HK_TAP_PROVIDERS; i++) {
        hk_tap_provider *p = &g_hk_tap[i];
        if (!atomic_load(&p->description))
            continue;
        hk_tap_give_back(p);
        return_imports(p->module->base);
        atomic_store(&p->description, NULL);
    }
}

void hk_tap_forget(const hk_module *m)
{
    for (int i = 0; i < HK_TAP_PROVIDERS; i++)
        if (g_hk_tap[i].module == m && atomic_load(&g_hk_tap[i].description))
            atomic_store(&g_hk_tap[i].description, NULL);
}
