// SPDX-License-Identifier: MIT
// What ORT's modules call instead of EventRegister and EventWriteTransfer. See tap.h.
//
// EvaluationStart and EvaluationStop come with every run: they are recognised by the address of
// their description, and where the run hooks see runs they are dropped at once.
#include "tap.h"

enum { DESCRIPTOR_LEVEL = 4, DESCRIPTOR_KEYWORD = 8, PART_EVENT = 1, PART_VALUES = 2 };

enum { OTHER, RUN_STARTS, RUN_STOPS };

// ------------------------------------------------------------------------------------- registering

static hk_tap_provider *provider_with_block(const void *block)
{
    for (int i = 0; i < HK_TAP_PROVIDERS; i++)
        if (atomic_load(&g_hk_tap[i].description) && g_hk_tap[i].block == block)
            return &g_hk_tap[i];
    return NULL;
}

// A provider is registered with its block as context. It may be registered again, after ORT's last
// environment is gone and a new one is made.
ULONG WINAPI hk_tap_register(const GUID *provider, void *callback, void *context, uint64_t *handle)
{
    uint32_t epoch;
    hk_thread *t = hk_enter_to_lock(&epoch);
    hk_tap_provider *p = t ? provider_with_block(context) : NULL;
    if (p)
        hk_tap_reset(p);
    if (t)
        hk_leave(t);
    ULONG result = g_hk_tap_real_register(provider, callback, context, handle);
    if (p && result == ERROR_SUCCESS && hk_reenter(t, epoch)) {
        DWORD error = GetLastError();
        p->came_with_us = true;
        hk_tap_take(p);
        SetLastError(error);
        hk_leave(t);
        if (p->is_log) {
            atomic_store(&p->told, 1);
            hk_tap_tell_ort(p, true);
        }
    }
    return result;
}

// -------------------------------------------------------------------------------------- sessions

static bool is_creating(const hk_thread *t)
{
    return (t->inside & HK_INSIDE_CREATE) != 0;
}

// The session that an event is about. While one is being created it has no number yet: it is given
// one now, which the session hook will use.
static uint32_t session_of(hk_thread *t, const hk_module *m, const hk_tap_event *e)
{
    if (m->api && is_creating(t)) {
        if (!t->tap.session)
            t->tap.session = (uint32_t)InterlockedIncrement((volatile LONG *)&g_hk.next_session);
        return t->tap.session;
    }
    return e->session ? hk_session_with_ort_id(m, e->session) : 0;
}

static void note_creation(hk_thread *t, const hk_tap_event *e, uint64_t now)
{
    hk_tap_note *n = &t->tap;
    if (hk_tap_is(e->name, "SessionCreationStart"))
        n->creation_start = now;
    else if (hk_tap_is(e->name, "ModelLoadStart"))
        n->model_start = now;
    if (e->session && is_creating(t))
        n->ort_session = e->session;
}

static bool is_error(hk_tap_text name)
{
    return hk_tap_is(name, "RuntimeError") || hk_tap_is(name, "RuntimeInferenceError");
}

static void tell(hk_thread *t, uint32_t epoch, const hk_module *m, const hk_tap_event *e,
                 uint8_t level, uint64_t now)
{
    if (is_error(e->name) && level > TL_LEVEL_ERROR) // 1.16 and older call everything verbose
        level = TL_LEVEL_ERROR;
    tl_OrtEvent fixed = {
        .module = m->id, .session = session_of(t, m, e), .ort_session = e->session, .level = level};
    hk_text texts[] = {{e->name.bytes, e->name.len}, {e->fields, e->fields_len}};
    hk_emit(t, epoch, TL_EVENT_OrtEvent, now, &fixed, sizeof fixed, texts, 2);
}

static void announce(hk_thread *t, uint32_t epoch, hk_module *m, const hk_tap_event *e)
{
    if (atomic_load_explicit(&m->told, memory_order_relaxed) ||
        !hk_hidden_note(m, e ? e->version : (hk_tap_text){"", 0}))
        return;
    tl_Module fixed = {.module = m->id, .base = (uint64_t)(uintptr_t)m->base};
    hk_text texts[] = {hk_text_of(m->path), hk_text_of(m->version), {"", 0}};
    hk_emit(t, epoch, TL_EVENT_Module, hk_ticks(), &fixed, sizeof fixed, texts, 3);
}

static void on_hidden_event(hk_thread *t, uint32_t epoch, hk_tap_provider *p, const hk_tap_event *e,
                            uintptr_t stack, uint64_t now)
{
    announce(t, epoch, p->module, e);
    if (hk_tap_is(e->name, "SessionCreationStart"))
        hk_tap_session_begins(t, epoch, stack);
    else if (hk_tap_is(e->name, "SessionCreation"))
        hk_tap_session_created(t, epoch, p, e, now);
    else if (is_error(e->name))
        hk_tap_run_fails(t, epoch, e, stack, now);
}

// ORT also makes sessions that no hook sees, to compile a model: what it executes meanwhile belongs
// to no run. One that fails may end without a word: see hk_is_loading.
static void on_unseen_creation(hk_thread *t, uint32_t epoch, const hk_tap_event *e, uintptr_t stack)
{
    if (hk_tap_is(e->name, "SessionCreationStart"))
        hk_creation_begins(t, epoch, stack);
    else if (hk_tap_is(e->name, "SessionCreation") || hk_tap_is(e->name, "SessionCreationEnd") ||
             is_error(e->name))
        t->inside &= ~HK_INSIDE_TAP;
}

static __attribute__((noinline)) void on_event(hk_thread *t, uint32_t epoch, hk_tap_provider *p,
                                               const hk_tap_part *parts, size_t count,
                                               uint8_t level, uintptr_t stack, uint64_t now)
{
    hk_tap_event e;
    DWORD error = GetLastError();
    if (!RtlDllShutdownInProgress() && hk_tap_decode(parts, count, &e)) {
        note_creation(t, &e, now);
        if (!p->module->api && !p->is_log)
            on_hidden_event(t, epoch, p, &e, stack, now);
        else if (!p->is_log && !is_creating(t))
            on_unseen_creation(t, epoch, &e, stack);
        tell(t, epoch, p->module, &e, level, now);
    }
    SetLastError(error);
}

static void on_run(hk_thread *t, uint32_t epoch, hk_tap_provider *p, int kind,
                   const hk_tap_part *parts, size_t count, uintptr_t stack, uint64_t now)
{
    if (__builtin_expect(RtlDllShutdownInProgress(), 0))
        return;
    if (kind == RUN_STOPS) {
        hk_tap_run_ends(t, epoch, stack, now);
        return;
    }
    uint32_t session = 0;
    if (count > PART_VALUES && parts[PART_VALUES].bytes == sizeof session)
        memcpy(&session, (const void *)(uintptr_t)parts[PART_VALUES].address, sizeof session);
    announce(t, epoch, p->module, NULL);
    hk_tap_run_begins(t, epoch, p, session, stack, now);
}

// ----------------------------------------------------------------------------------------- writing

static int frequent_kind(hk_tap_provider *p, const hk_tap_part *parts, size_t count)
{
    const uint8_t *event = (const uint8_t *)(uintptr_t)parts[PART_EVENT].address;
    if (event == atomic_load_explicit(&p->start, memory_order_relaxed))
        return RUN_STARTS;
    if (event == atomic_load_explicit(&p->stop, memory_order_relaxed))
        return RUN_STOPS;
    hk_tap_text name = hk_tap_event_name(parts, count);
    if (hk_tap_is(name, "EvaluationStart")) {
        atomic_store(&p->start, event);
        return RUN_STARTS;
    }
    if (hk_tap_is(name, "EvaluationStop")) {
        atomic_store(&p->stop, event);
        return RUN_STOPS;
    }
    return OTHER;
}

static inline hk_tap_provider *provider_of(const hk_tap_part *parts, ULONG count)
{
    if (count < PART_VALUES || !parts || !parts[0].address)
        return NULL;
    for (int i = 0; i < HK_TAP_PROVIDERS; i++)
        if ((uint64_t)(uintptr_t)atomic_load_explicit(&g_hk_tap[i].description,
                                                      memory_order_acquire) == parts[0].address)
            return &g_hk_tap[i];
    return NULL;
}

ULONG WINAPI hk_tap_write(uint64_t handle, const void *descriptor, const GUID *activity,
                          const GUID *related, ULONG count, const hk_tap_part *parts)
{
    uint64_t now = hk_ticks(), keyword;
    hk_tap_provider *p = provider_of(parts, count);
    if (!p)
        return g_hk_tap_real_write(handle, descriptor, activity, related, count, parts);
    uint8_t level = ((const uint8_t *)descriptor)[DESCRIPTOR_LEVEL];
    memcpy(&keyword, (const uint8_t *)descriptor + DESCRIPTOR_KEYWORD, sizeof keyword);
    int kind = frequent_kind(p, parts, count);
    uint32_t epoch;
    hk_thread *t = kind == OTHER || !p->module->api ? hk_enter(&epoch) : NULL;
    if (t) {
        uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
        if (kind == OTHER)
            on_event(t, epoch, p, parts, count, level, stack, now);
        else
            on_run(t, epoch, p, kind, parts, count, stack, now);
        hk_leave(t);
    }
    return hk_tap_is_wanted(p, level, keyword)
               ? g_hk_tap_real_write(handle, descriptor, activity, related, count, parts)
               : ERROR_SUCCESS;
}
