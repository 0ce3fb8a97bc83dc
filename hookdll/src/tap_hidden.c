// SPDX-License-Identifier: MIT
// Modules that have no C API and yet something of ONNX Runtime inside: all of it (Python's
// extension module, a program that linked it statically) or kernels only (a provider's DLL). Every
// module of the process is asked, so the first questions are cheap: a module of Windows itself is
// none, and neither is one that imports nothing that such a module needs.
#include "common/utf.h"
#include "mapped_image.h"
#include "tap.h"
#include "tap_find.h"

static uint16_t lower(uint16_t unit)
{
    return unit >= 'A' && unit <= 'Z' ? (uint16_t)(unit | 0x20) : unit;
}

static bool is_of_windows(const uint16_t *path, size_t units)
{
    WCHAR folder[MAX_PATH];
    UINT len = GetSystemWindowsDirectoryW(folder, MAX_PATH);
    if (!len || len >= MAX_PATH || units <= len || path[len] != '\\')
        return false;
    for (UINT i = 0; i < len; i++)
        if (lower(path[i]) != lower((uint16_t)folder[i]))
            return false;
    return true;
}

typedef struct finding {
    bool provider; // of events, so ONNX Runtime as a whole
    bool kernels;  // those alone
} finding;

// ORT itself never comes without its provider, and that is quickly looked for.
static finding look_into(const uint8_t *base, const uint16_t *path, size_t units)
{
    hk_scan scan;
    uint32_t block, description;
    finding found = {0};
    bool is_provider = hk_image_imports_from(base, "onnxruntime");
    if ((!is_provider && !hk_image_import(base, "EventWriteTransfer")) ||
        is_of_windows(path, units) || !hk_image_scan(&scan, base))
        return found;
    found.provider = hk_tap_find(&scan, HK_TAP_PROVIDER_NAME, &block, &description) != 0;
    found.kernels = !found.provider && is_provider && hk_scan_mentions_kernels(&scan);
    return found;
}

static void set_up(hk_module *m, uint8_t *base, const uint16_t *path, size_t path_units)
{
    m->base = base;
    m->size = hk_image_size(base);
    m->api = NULL;
    m->minor = 0;
    m->hooked = m->refused = 0;
    m->version[0] = 0;
    m->id = ++g_hk.next_module;
    m->armed = true;
    atomic_store(&m->told, 0);
    memset(&m->layout, 0, sizeof m->layout);
    cm_utf16_to_utf8(path, path_units, m->path, sizeof m->path);
}

void hk_tell_problem_in(const hk_module *m, const char *what, const char *why)
{
    char text[1280];
    size_t at = 0;
    const char *const parts[] = {what, m->path, ": "};
    for (int i = 0; i < 3; i++)
        for (const char *c = parts[i]; *c && at + 1 < sizeof text; c++)
            text[at++] = *c;
    text[at] = 0;
    hk_tell_problem(TL_LEVEL_WARNING, text, why);
}

// A provider's DLL works for the runtime that loaded it. It does not say which that is: where there
// are several, nobody is asked about its kernels.
static hk_module *sole_runtime(void)
{
    hk_module *sole = NULL;
    for (int i = 0; i < HK_MODULES_MAX; i++) {
        hk_module *m = &g_hk.modules[i];
        if (!m->base || !m->armed || !m->api)
            continue;
        if (sole)
            return NULL;
        sole = m;
    }
    return sole;
}

typedef struct reasons {
    const char *ops, *shapes, *events, *alloc;
} reasons;

static void arm_provider(uint8_t *base, reasons *no)
{
    hk_module *runtime = sole_runtime();
    no->ops = hk_ops_arm(base, runtime);
    if (runtime)
        no->alloc = hk_alloc_arm(base, runtime);
    else
        no->shapes = no->alloc = "which of the loaded runtimes it belongs to is not known";
}

// ONNX Runtime as a whole.
static void arm_hidden(hk_module *m, reasons *no)
{
    no->ops = hk_ops_arm(m->base, NULL); // also tells that there are none
    hk_module_intercept_inside(m);
    no->events = g_hk.flags & ORT_HOOK_ORT_EVENTS
                     ? hk_tap_arm(m)
                     : "it has no C API, and listening to its own events is off";
    no->alloc = "it has no C API to tell its version by";
}

void hk_hidden_arm(uint8_t *base, const uint16_t *path, size_t path_units)
{
    finding found = look_into(base, path, path_units);
    if (!found.provider && !found.kernels)
        return;
    reasons no = {0};
    AcquireSRWLockExclusive(&g_hk.lock);
    hk_module *m = hk_module_slot(base);
    if (m && !m->armed && (atomic_load(&g_hk.epoch) & 1)) {
        set_up(m, base, path, path_units);
        if (found.provider)
            arm_hidden(m, &no);
        else
            arm_provider(base, &no);
    }
    ReleaseSRWLockExclusive(&g_hk.lock);
    if (!m)
        hk_tell_problem(TL_LEVEL_ERROR, "An ONNX Runtime is not recorded: ",
                        "more are loaded than can be followed at once (8)");
    if (no.ops)
        hk_tell_problem_in(m, "Operators are not recorded in ", no.ops);
    else if (no.shapes && (g_hk.flags & ORT_HOOK_OPS))
        hk_tell_problem_in(m, "Shapes of operators are not recorded in ", no.shapes);
    if (no.events)
        hk_tell_problem_in(m, "Runs are not recorded in ", no.events);
    if (no.alloc && (g_hk.flags & ORT_HOOK_ALLOC_STATS))
        hk_tell_problem_in(m, "Allocations are not recorded in ", no.alloc);
}

bool hk_hidden_note(hk_module *m, hk_tap_text version)
{
    uint32_t untold = 0;
    if (!atomic_compare_exchange_strong(&m->told, &untold, 1))
        return false;
    size_t len = version.len < sizeof m->version - 1 ? version.len : sizeof m->version - 1;
    if (len)
        memcpy(m->version, version.bytes, len);
    m->version[len] = 0;
    return true;
}
