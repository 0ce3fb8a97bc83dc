// SPDX-License-Identifier: MIT
// Finding ONNX Runtimes in this process and intercepting them: those that are there when we are
// armed, and each that is loaded later, before its own initialisation runs.
//
// Locks: g_hk.lock guards the slots. The loader calls us with its own lock held, so nothing that
// needs the loader's lock may be called while g_hk.lock is held.
#include "common/utf.h"
#include "emit.h"
#include "hookdll/detour.h"
#include "mapped_image.h"
#include "op_scan.h"
#include "ort_abi.h"
#include "shim.h"
#include "tap.h"

#include <psapi.h>

#define OLDEST_MINOR 8 // the table is append-only since 1.8

// ------------------------------------------------------------------------------------- one runtime

static int parse_minor(const char *version)
{
    if (!version || version[0] != '1' || version[1] != '.')
        return -1;
    int minor = 0, digits = 0;
    for (const char *p = version + 2; *p >= '0' && *p <= '9' && digits < 4; p++, digits++)
        minor = minor * 10 + (*p - '0');
    return digits ? minor : -1;
}

static void copy_string(char *to, size_t capacity, const char *from)
{
    hk_text text = hk_text_of(from);
    size_t len = text.len < capacity - 1 ? text.len : capacity - 1;
    memcpy(to, text.bytes, len);
    to[len] = 0;
}

static bool in_image(const uint8_t *base, const void *address)
{
    return (size_t)((const uint8_t *)address - base) < hk_image_size(base);
}

// What OrtGetApiBase returns, read from its code instead of by calling it: every build has it as
// `lea rax, [base]; ret`, perhaps behind a jump. Anything else is somebody who stands before the
// real runtime, and whose code might do anything at this moment (load modules, wait, not be
// initialised yet); the real one is seen when it is loaded.
static const OrtApiBase *find_api_base(const uint8_t *base)
{
    const uint8_t *code = hk_image_export(base, "OrtGetApiBase");
    int32_t offset;
    for (int jumps = 0; code && code[0] == 0xe9 && jumps < 3; jumps++) {
        memcpy(&offset, code + 1, sizeof offset);
        code += 5 + offset;
        if (!in_image(base, code))
            return NULL;
    }
    if (!code || code[0] != 0x48 || code[1] != 0x8d || code[2] != 0x05 || code[7] != 0xc3)
        return NULL;
    memcpy(&offset, code + 3, sizeof offset);
    const void *found = code + 7 + offset;
    return in_image(base, found) ? found : NULL;
}

// Fills what is about the runtime; false if it is none that we know how to read. GetVersionString
// and GetApi only return addresses: they can be called before the module is initialised.
static bool describe(hk_module *m, uint8_t *base)
{
    const OrtApiBase *api_base = find_api_base(base);
    if (!api_base || !in_image(base, (const void *)api_base->GetApi) ||
        !in_image(base, (const void *)api_base->GetVersionString))
        return false;
    m->base = base;
    m->size = hk_image_size(base);
    memset(&m->layout, 0, sizeof m->layout);
    atomic_store(&m->session_vtable, 0);
    copy_string(m->version, sizeof m->version, api_base->GetVersionString());
    m->minor = parse_minor(m->version);
    m->api = m->minor >= OLDEST_MINOR ? api_base->GetApi(1) : NULL;
    return m->api != NULL;
}

static void *find_by_literal(const hk_module *m, const char *literal)
{
    hk_scan scan;
    uint32_t rva;
    bool found =
        hk_image_scan(&scan, m->base) && hk_scan_mention(&scan, literal, &rva) == HK_SCAN_OK;
    return found ? m->base + rva : NULL;
}

static void *resolve(const hk_module *m, const hk_api_row *row)
{
    const void *const *table = m->api;
    if (m->minor < row->since || (!m->api && row->table != HK_TABLE_LITERAL))
        return NULL;
    if (row->table == HK_TABLE_EXPORT)
        return hk_image_export(m->base, row->text);
    if (row->table == HK_TABLE_LITERAL)
        return find_by_literal(m, row->text);
    if (row->table == HK_TABLE_EDITOR)
        table = ORT_CALL(m, GetModelEditorApi)();
    void *target = table ? (void *)(uintptr_t)table[row->slot] : NULL;
    return (uint8_t *)target >= m->base && (uint8_t *)target < m->base + m->size ? target : NULL;
}

// The linker folds functions with identical code into one: the first row keeps it.
static bool is_folded(const hk_module *m, int row)
{
    for (int i = 0; i < row; i++)
        if (m->target[i] == m->target[row])
            return true;
    return false;
}

// Returns why nothing at all could be intercepted, or HK_DETOUR_OK. A function that we could not
// let go of at the last disarming (somebody had patched over us) is still ours.
static hk_detour_reason intercept(hk_module *m, hk_detour_reason outcomes[HK_API_COUNT])
{
    size_t slot = (size_t)(m - g_hk.modules);
    bool asked[HK_API_COUNT] = {0};
    hk_detour_result result = {0};
    result.reason = hk_detour_begin();
    m->hooked = 0;
    for (int i = 0; i < HK_API_COUNT; i++) {
        outcomes[i] = HK_DETOUR_OK;
        m->hooked += m->attached[i];
        if (m->attached[i])
            continue;
        m->target[i] = m->orig[i] = resolve(m, &hk_api_rows[i]);
        asked[i] = result.reason == HK_DETOUR_OK && m->target[i] && !is_folded(m, i);
        if (asked[i])
            hk_detour_attach_ex(&m->orig[i], hk_api_rows[i].entries[slot], HK_DETOUR_OPTIONAL,
                                &outcomes[i]);
    }
    if (result.reason == HK_DETOUR_OK)
        hk_detour_commit(&result);
    for (int i = 0; i < HK_API_COUNT; i++)
        if (asked[i])
            m->attached[i] = result.reason == HK_DETOUR_OK && outcomes[i] == HK_DETOUR_OK;
    m->hooked += result.committed;
    m->refused = result.skipped;
    m->armed = result.reason == HK_DETOUR_OK;
    return result.reason;
}

void hk_module_intercept_inside(hk_module *m)
{
    hk_detour_reason outcomes[HK_API_COUNT];
    intercept(m, outcomes);
    m->armed = true;
}

static void restore(hk_module *m)
{
    hk_detour_reason outcomes[HK_API_COUNT];
    m->armed = false;
    if (!m->hooked)
        return;
    if (hk_detour_begin() != HK_DETOUR_OK)
        return; // everything stays attached; the hooks pass calls on
    size_t slot = (size_t)(m - g_hk.modules);
    for (int i = 0; i < HK_API_COUNT; i++) {
        outcomes[i] = HK_DETOUR_NOT_COMMITTED;
        if (m->attached[i])
            hk_detour_detach_ex(&m->orig[i], hk_api_rows[i].entries[slot], HK_DETOUR_OPTIONAL,
                                &outcomes[i]);
    }
    hk_detour_commit(NULL);
    for (int i = 0; i < HK_API_COUNT; i++)
        m->attached[i] = m->attached[i] && outcomes[i] != HK_DETOUR_OK;
}

// ----------------------------------------------------------------------------------------- telling

static size_t append(char *to, size_t at, size_t capacity, const char *text)
{
    while (*text && at + 1 < capacity)
        to[at++] = *text++;
    to[at] = 0;
    return at;
}

static void tell_refusals(hk_thread *t, uint32_t epoch, const hk_detour_reason *outcomes)
{
    for (int i = 0; i < HK_API_COUNT; i++) {
        if (outcomes[i] == HK_DETOUR_OK)
            continue;
        char text[256];
        size_t len = append(text, 0, sizeof text, hk_api_rows[i].name);
        len = append(text, len, sizeof text, " could not be intercepted: ");
        len = append(text, len, sizeof text, hk_detour_reason_text(outcomes[i]));
        hk_emit_log(t, epoch, 3, 0, 0, (uint32_t)outcomes[i], (hk_text){text, len});
    }
}

static void tell_module(const hk_module *m, const hk_detour_reason *outcomes)
{
    uint32_t epoch;
    hk_thread *t = hk_enter(&epoch);
    if (!t)
        return;
    tl_Module fixed = {.module = m->id,
                       .hooked = m->hooked,
                       .refused = m->refused,
                       .base = (uint64_t)(uintptr_t)m->base};
    const char *build = ORT_HAS(m, GetBuildInfoString) ? ORT_CALL(m, GetBuildInfoString)() : NULL;
    hk_text texts[] = {hk_text_of(m->path), hk_text_of(m->version), hk_text_of(build)};
    hk_emit(t, epoch, TL_EVENT_Module, hk_ticks(), &fixed, sizeof fixed, texts, 3);
    tell_refusals(t, epoch, outcomes);
    hk_leave(t);
}

void hk_tell_problem(uint8_t level, const char *what, const char *why)
{
    uint32_t epoch;
    hk_thread *t = hk_enter(&epoch);
    if (!t)
        return;
    char sentence[1280];
    size_t len = append(sentence, 0, sizeof sentence, what);
    len = append(sentence, len, sizeof sentence, why);
    hk_emit_log(t, epoch, level, 0, 0, 0, (hk_text){sentence, len});
    hk_leave(t);
}

// ----------------------------------------------------------------------------------- coming, going

hk_module *hk_module_slot(const uint8_t *base)
{
    hk_module *unused = NULL;
    for (int i = 0; i < HK_MODULES_MAX; i++) {
        if (g_hk.modules[i].base == base)
            return &g_hk.modules[i];
        if (!g_hk.modules[i].base && !unused)
            unused = &g_hk.modules[i];
    }
    return unused;
}

// Called with the loader's lock held (a module that comes) or a reference on the module.
static void arm(uint8_t *base, const uint16_t *path, size_t path_units)
{
    hk_detour_reason outcomes[HK_API_COUNT];
    hk_module copy = {0};
    const char *problem = NULL, *no_ops = NULL, *no_alloc = NULL, *no_events = NULL;
    bool is_runtime = true;
    AcquireSRWLockExclusive(&g_hk.lock);
    bool still_armed = atomic_load(&g_hk.epoch) & 1;
    hk_module *m = hk_module_slot(base);
    if (!m) {
        problem = "more are loaded than can be followed at once (8)";
    } else if (still_armed && !m->armed) {
        if (describe(m, base)) {
            cm_utf16_to_utf8(path, path_units, m->path, sizeof m->path);
            m->id = ++g_hk.next_module;
            // Operators first: a run that is seen to begin is seen with all of them.
            no_ops = hk_ops_arm(base, m);
            no_events = hk_tap_arm(m);
            no_alloc = hk_alloc_arm(base, m);
            hk_detour_reason reason = intercept(m, outcomes);
            if (reason != HK_DETOUR_OK)
                problem = hk_detour_reason_text(reason);
            copy = *m;
        } else {
            m->base = NULL;
            is_runtime = false;
        }
    }
    ReleaseSRWLockExclusive(&g_hk.lock);
    if (copy.id)
        tell_module(&copy, outcomes);
    if (problem)
        hk_tell_problem(TL_LEVEL_ERROR, "An ONNX Runtime is not recorded: ", problem);
    if (!is_runtime) {
        char name[sizeof copy.path];
        cm_utf16_to_utf8(path, path_units, name, sizeof name);
        hk_tell_problem(
            TL_LEVEL_WARNING,
            "A module that exports OrtGetApiBase is not itself a runtime of 1.8 or later "
            "and is not recorded: ",
            name);
    }
    if (no_ops)
        hk_tell_problem_in(&copy, "Operators are not recorded in ", no_ops);
    if (no_events)
        hk_tell_problem_in(&copy, "ONNX Runtime's own events are not all recorded in ", no_events);
    if (no_alloc)
        hk_tell_problem_in(&copy, "Allocations are not recorded in ", no_alloc);
}

static void forget(const uint8_t *base, size_t size)
{
    uint32_t id = 0;
    AcquireSRWLockExclusive(&g_hk.lock);
    hk_module *m = hk_module_slot(base);
    hk_ops_forget(base, size);
    hk_alloc_forget(base, size);
    if (m && m->base == base) {
        hk_detour_forget(m->base, m->size);
        hk_tap_forget(m);
        hk_shim_forget(m);
        id = !m->api && !atomic_load(&m->told) ? 0 : m->id;
        m->armed = false;
        m->base = NULL;
        memset(m->attached, 0, sizeof m->attached);
    }
    ReleaseSRWLockExclusive(&g_hk.lock);
    uint32_t epoch;
    hk_thread *t = id ? hk_enter(&epoch) : NULL;
    if (!t)
        return;
    tl_ModuleEnd fixed = {.module = id};
    hk_emit(t, epoch, TL_EVENT_ModuleEnd, hk_ticks(), &fixed, sizeof fixed, NULL, 0);
    hk_leave(t);
}

static void arm_any(uint8_t *base, const uint16_t *path, size_t path_units)
{
    if (hk_image_export(base, "OrtGetApiBase"))
        arm(base, path, path_units);
    else
        hk_hidden_arm(base, path, path_units);
}

typedef struct loader_text {
    USHORT bytes, capacity;
    const uint16_t *units;
} loader_text;

typedef struct loader_notice {
    ULONG flags;
    const loader_text *full_name;
    const loader_text *base_name;
    uint8_t *base;
    ULONG size;
} loader_notice;

enum { LOADED = 1, UNLOADED = 2 };

NTSYSAPI LONG NTAPI LdrRegisterDllNotification(ULONG flags,
                                               void(CALLBACK *fn)(ULONG, const loader_notice *,
                                                                  void *),
                                               void *context, void **cookie);

static void CALLBACK on_module(ULONG reason, const loader_notice *notice, void *context)
{
    (void)context;
    if (RtlDllShutdownInProgress()) // see hk_enter_to_lock
        return;
    DWORD error = GetLastError();
    if (reason == LOADED && (atomic_load(&g_hk.epoch) & 1))
        arm_any(notice->base, notice->full_name->units, notice->full_name->bytes / 2u);
    else if (reason == UNLOADED)
        forget(notice->base, notice->size);
    SetLastError(error);
}

void hk_modules_watch(void)
{
    void *cookie;
    LdrRegisterDllNotification(0, on_module, NULL, &cookie);
}

// A reference keeps the module from being unloaded while we patch it.
static void arm_referenced(HMODULE module)
{
    HMODULE referenced;
    WCHAR path[1024];
    if (!GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, (LPCWSTR)module, &referenced))
        return;
    DWORD units = GetModuleFileNameW(referenced, path, 1024);
    arm_any((uint8_t *)referenced, (const uint16_t *)path, units < 1024 ? units : 1023);
    FreeLibrary(referenced);
}

void hk_modules_arm(void)
{
    HMODULE list[1024];
    DWORD bytes = 0;
    if (!EnumProcessModules(GetCurrentProcess(), list, sizeof list, &bytes))
        return;
    DWORD count = bytes / sizeof *list < 1024 ? (DWORD)(bytes / sizeof *list) : 1024;
    for (DWORD i = 0; i < count; i++)
        arm_referenced(list[i]);
    hk_tap_tell_all(true);
}

void hk_modules_disarm(void)
{
    for (int i = 0; i < HK_MODULES_MAX; i++)
        if (g_hk.modules[i].base)
            restore(&g_hk.modules[i]);
}
