// SPDX-License-Identifier: MIT
// Both ways together: which vtables are those of onnxruntime::OpKernel's children, and are we sure?
#include "op_scan_internal.h"

static const char g_class[] = ".?AVOpKernel@onnxruntime@@";
static const char g_literal[] = "onnxruntime::OpKernel::ComputeAsync";

enum { PROOFS = 4 };

static size_t overriding_count(const hk_scan *s, const hk_scan_list *rtti, uint32_t function)
{
    size_t count = 0;
    for (size_t i = 0; i < rtti->count; i++) {
        const uint8_t *slot = s->bytes + rtti->rvas[i] + 8 * HK_KERNEL_ASYNC;
        count += hk_get64(slot) != s->base + function;
    }
    return count;
}

// Both lists are ascending; `rtti` may hold more: classes with a ComputeAsync of their own.
static bool contains_all(const hk_scan_list *rtti, const hk_scan_list *anchor)
{
    size_t at = 0;
    for (size_t i = 0; i < anchor->count; i++) {
        while (at < rtti->count && rtti->rvas[at] < anchor->rvas[i])
            at++;
        if (at == rtti->count || rtti->rvas[at] != anchor->rvas[i])
            return false;
    }
    return true;
}

static hk_kernels_verdict compare(const hk_scan *s, const hk_scan_list *rtti,
                                  const hk_scan_list *anchor, uint32_t function,
                                  hk_kernels_found *found)
{
    found->overriding = overriding_count(s, rtti, function);
    bool agreed = contains_all(rtti, anchor) && anchor->count + found->overriding == rtti->count;
    return agreed ? HK_KERNELS_AGREED : HK_KERNELS_DISAGREE;
}

// Constructors take the address of a vtable's begin: it is where we think. One of several is
// enough, since a class may be there that nobody makes.
static bool is_proven(const hk_scan *s, const hk_scan_list *list)
{
    for (size_t i = 0; i < list->count && i < PROOFS; i++)
        if (hk_scan_is_mentioned(s, list->rvas[i]))
            return true;
    return false;
}

hk_kernels_verdict hk_scan_kernels(const hk_scan *s, uint32_t *first, uint32_t *second,
                                   size_t capacity, size_t *count, hk_kernels_found *found)
{
    hk_scan_list rtti = {first, 0, capacity}, anchor = {second, 0, capacity};
    uint32_t function;
    hk_scan_outcome by_rtti = hk_scan_rtti(s, g_class, HK_KERNEL_SLOTS, &rtti);
    hk_scan_outcome by_anchor = hk_scan_anchor(s, g_literal, HK_KERNEL_ASYNC, &anchor, &function);
    *found = (hk_kernels_found){.by_rtti = rtti.count, .by_anchor = anchor.count};
    *count = 0;
    if (by_rtti == HK_SCAN_ABSENT && by_anchor == HK_SCAN_ABSENT)
        return HK_KERNELS_NONE;
    if (rtti.count > capacity || anchor.count > capacity)
        return HK_KERNELS_TOO_MANY;
    if (by_rtti == HK_SCAN_OK && by_anchor == HK_SCAN_OK) {
        *count = rtti.count;
        return compare(s, &rtti, &anchor, function, found);
    }
    // A way that found its beginning but not its end is no contradiction, only silent.
    if (by_rtti == HK_SCAN_OK && rtti.count) {
        *count = rtti.count;
        return HK_KERNELS_RTTI;
    }
    if (by_anchor == HK_SCAN_OK && is_proven(s, &anchor)) {
        for (size_t i = 0; i < anchor.count; i++)
            first[i] = second[i];
        *count = anchor.count;
        return HK_KERNELS_ANCHOR;
    }
    return HK_KERNELS_UNCLEAR;
}

bool hk_scan_mentions_kernels(const hk_scan *s)
{
    unsigned times;
    hk_scan_find_text(s, g_literal, false, &times);
    if (!times)
        hk_scan_find_text(s, g_class, true, &times);
    return times != 0;
}
