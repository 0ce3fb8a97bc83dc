// SPDX-License-Identifier: MIT
// See alloc_scan.h. Arenas are found by a literal that only BFCArena's Reserve mentions, in every
// build. Where classes have names, all allocators are found by them, and arenas must be among them:
// that also proves that Reserve is in the slot where this version should have it. Without names the
// proof is that code takes the address where the arena's vtable would begin then, as a constructor
// does: a slot that is another function than we think would be called with a parameter lost.
#include "alloc_scan.h"

#include "op_scan_internal.h"

#include <string.h>

enum { OLDEST_MINOR = 15, STREAMS_MINOR = 23 };

static const char g_class[] = ".?AVIAllocator@onnxruntime@@";
static const char g_literal[] = "Reserving memory in BFCArena for ";
// Counts what passes through it to another allocator, which is seen itself.
static const char g_wrapper[] = ".?AVAccountingAllocator@";

static const hk_allocator_slots g_slots = {5, 1, 0, 2, 3, 4};
static const hk_allocator_slots g_slots_with_streams = {7, 1, 3, 4, 5, 6};

static bool contains(const hk_scan_list *list, uint32_t rva)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->rvas[i] == rva)
            return true;
    return false;
}

// An abstract class has the same "pure virtual" function in both.
bool hk_scan_is_allocator(const hk_scan *s, const hk_allocator_slots *slots, uint32_t rva)
{
    const uint8_t *vtable = s->bytes + rva;
    return hk_scan_is_vtable(s, rva, slots->count) &&
           hk_get64(vtable + 8 * slots->alloc) != hk_get64(vtable + 8 * slots->free);
}

bool hk_scan_is_read_only(const hk_scan *s, uint32_t rva)
{
    const hk_scan_section *section = hk_scan_section_of(s, rva, 8);
    return section && !section->writable && !section->executable;
}

static bool is_wrapper(const hk_scan *s, uint32_t rva)
{
    const char *name = hk_scan_class_name(s, rva);
    for (size_t i = 0; name && i < sizeof g_wrapper - 1; i++)
        if (name[i] != g_wrapper[i])
            return false;
    return name != NULL;
}

static void add(hk_allocators *out, uint32_t rva, bool is_arena)
{
    out->rvas[out->count] = rva;
    out->is_arena[out->count++] = is_arena;
}

static void add_concrete(const hk_scan *s, const hk_scan_list *all, const hk_scan_list *arenas,
                         hk_allocators *out)
{
    for (size_t i = 0; i < all->count; i++)
        if (hk_scan_is_allocator(s, &out->slots, all->rvas[i]) && !is_wrapper(s, all->rvas[i]))
            add(out, all->rvas[i], contains(arenas, all->rvas[i]));
}

const char *hk_scan_allocators(const hk_scan *s, int minor, hk_allocators *out)
{
    uint32_t named_rvas[HK_ALLOCATORS_MAX], arena_rvas[HK_ALLOCATORS_MAX], function;
    hk_scan_list named = {named_rvas, 0, HK_ALLOCATORS_MAX};
    hk_scan_list arenas = {arena_rvas, 0, HK_ALLOCATORS_MAX};
    memset(out, 0, sizeof *out);
    if (minor < OLDEST_MINOR)
        return "that works from ONNX Runtime 1.15 on";
    out->slots = minor < STREAMS_MINOR ? g_slots : g_slots_with_streams;
    if (hk_scan_anchor(s, g_literal, out->slots.reserve, &arenas, &function) != HK_SCAN_OK)
        return "no arena was found in this runtime for sure";
    out->by_name = hk_scan_rtti(s, g_class, out->slots.count, &named) == HK_SCAN_OK;
    if (named.count > named.capacity || arenas.count > arenas.capacity)
        return "this runtime has more kinds of allocators than can be followed";
    for (size_t i = 0; i < arenas.count; i++)
        if (out->by_name ? !contains(&named, arenas.rvas[i])
                         : !hk_scan_is_mentioned(s, arenas.rvas[i]))
            return "the two ways to find this runtime's allocators contradict each other";
    add_concrete(s, out->by_name ? &named : &arenas, &arenas, out);
    return NULL;
}

const char *hk_scan_provider_allocators(const hk_scan *s, int minor, hk_allocators *out)
{
    uint32_t rvas[HK_ALLOCATORS_MAX];
    hk_scan_list named = {rvas, 0, HK_ALLOCATORS_MAX}, no_arenas = {0};
    memset(out, 0, sizeof *out);
    out->slots = minor < STREAMS_MINOR ? g_slots : g_slots_with_streams;
    out->by_name = hk_scan_rtti(s, g_class, out->slots.count, &named) == HK_SCAN_OK;
    if (!out->by_name)
        return "it names no allocators of its own";
    if (named.count > named.capacity)
        return "it has more kinds of allocators than can be followed";
    add_concrete(s, &named, &no_arenas, out);
    return NULL;
}
