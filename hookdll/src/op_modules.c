// SPDX-License-Identifier: MIT
// Which modules have kernels, and whether we are sure. Called with g_hk.lock held, possibly under
// the loader's lock: nothing here may wait for the loader.
#include "mapped_image.h"
#include "op.h"
#include "shim.h"

#define MODULES_MAX  16
#define VTABLES_MAX  4096u
#define OLDEST_MINOR 15  // kernels of older runtimes were never looked at
#define EXPECTED_MIN 32u // a runtime with fewer kernel classes is none that we know

static hk_op_module g_modules[MODULES_MAX];

static hk_op_module *module_of(const uint8_t *base)
{
    for (int i = 0; i < MODULES_MAX; i++)
        if (g_modules[i].base == base)
            return &g_modules[i];
    return NULL;
}

static const char *problem_of(hk_kernels_verdict verdict)
{
    switch (verdict) {
    case HK_KERNELS_AGREED:
    case HK_KERNELS_RTTI:
    case HK_KERNELS_ANCHOR:
        return NULL;
    case HK_KERNELS_DISAGREE:
        return "the two ways to find this runtime's kernels contradict each other";
    case HK_KERNELS_TOO_MANY:
        return "this runtime has more kernel classes than can be followed";
    case HK_KERNELS_NONE:
        return "no kernels were found in this runtime";
    case HK_KERNELS_UNCLEAR:
        break;
    }
    return "the kernels of this runtime could not be found for sure";
}

// Fills the list of vtables; NULL if all is well.
static const char *search(hk_op_module *o)
{
    static uint32_t first[VTABLES_MAX], second[VTABLES_MAX];
    hk_kernels_found found;
    size_t count = 0;
    if (!hk_image_scan(&o->scan, o->base))
        return problem_of(HK_KERNELS_UNCLEAR);
    const char *problem =
        problem_of(hk_scan_kernels(&o->scan, first, second, VTABLES_MAX, &count, &found));
    bool is_whole = o->runtime && o->runtime->base == o->base; // not a provider's kernels only
    if (!problem && count < EXPECTED_MIN && is_whole)
        problem = problem_of(HK_KERNELS_UNCLEAR);
    if (problem)
        return problem;
    o->vtable_rvas = hk_alloc(count * sizeof *o->vtable_rvas);
    if (!o->vtable_rvas)
        return "the process is short of memory";
    memcpy(o->vtable_rvas, first, count * sizeof *o->vtable_rvas);
    o->vtable_count = (uint32_t)count;
    return NULL;
}

static void release(hk_op_module *o)
{
    hk_free(o->vtable_rvas);
    o->vtable_rvas = NULL;
    o->vtable_count = 0;
    o->swapped = false;
    o->base = NULL;
}

const char *hk_ops_arm(uint8_t *base, hk_module *runtime)
{
    if (!(g_hk.flags & ORT_HOOK_OPS) || module_of(base))
        return NULL;
    if (g_hk.flags & ORT_HOOK_OPS_SHIM)
        return !runtime ? "the shim needs ORT's C interface; use --ops all instead"
               : runtime->minor < HK_SHIM_OLDEST_MINOR
                   ? "the shim needs ONNX Runtime 1.25 or later; use --ops all instead"
                   : NULL;
    if (runtime && runtime->minor < OLDEST_MINOR)
        return "that works from ONNX Runtime 1.15 on";
    hk_op_module *o = module_of(NULL);
    if (!o)
        return "too many modules with kernels are loaded";
    o->base = base;
    o->runtime = runtime;
    memset(&o->context, 0, sizeof o->context);
    atomic_store(&o->trusted, 0);
    atomic_store(&o->session_distance, 0);
    atomic_store(&o->searches, 0);
    const char *problem = search(o);
    if (problem) {
        release(o);
        return problem;
    }
    bool full;
    if (hk_vtables_swap(o, &full) == o->vtable_count)
        return NULL;
    if (full)
        return "more kernel classes are loaded than can be followed at once (6144)";
    return "another tool has changed some of the kernels, which are left alone";
}

void hk_ops_disarm(void)
{
    for (int i = 0; i < MODULES_MAX; i++)
        if (g_modules[i].base) {
            hk_vtables_restore(&g_modules[i]);
            release(&g_modules[i]);
        }
}

// Who spoke for a provider's kernels is gone: they are left alone.
static void let_go_of_providers(const uint8_t *runtime)
{
    for (int i = 0; i < MODULES_MAX; i++) {
        hk_op_module *o = &g_modules[i];
        if (o->base && o->base != runtime && o->runtime && o->runtime->base == runtime) {
            hk_vtables_restore(o);
            release(o);
        }
    }
}

void hk_ops_forget(const uint8_t *base, size_t size)
{
    hk_op_module *o = base ? module_of(base) : NULL;
    if (o)
        release(o);
    if (base)
        let_go_of_providers(base);
    hk_vtables_forget(base, size);
}
