// SPDX-License-Identifier: MIT
// Checks one operation of a transaction and gets its trampoline ready, with all threads running:
// here everything that allocates, takes a lock or may be refused has its place. Changes nothing
// that a running thread could see.
#include "detour_internal.h"

#include <windows.h>

enum { UNWIND_CHAINED = 4, FUNCTION_PIECES_MAX = 64, LONGEST_INSN = 15 };

// Bytes that can be read and executed from `at` on, up to `wanted`.
static size_t executable_len(const uint8_t *at, size_t wanted)
{
    const DWORD readable = PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
    size_t len = 0;
    while (len < wanted) {
        MEMORY_BASIC_INFORMATION info;
        if (!VirtualQuery(at + len, &info, sizeof info))
            break;
        if (info.State != MEM_COMMIT || !(info.Protect & readable) || (info.Protect & PAGE_GUARD))
            break;
        len = (size_t)((uint8_t *)info.BaseAddress + info.RegionSize - at);
    }
    return len < wanted ? len : wanted;
}

static bool is_piece_of(const uint8_t *image, const RUNTIME_FUNCTION *piece,
                        const RUNTIME_FUNCTION *function)
{
    const uint8_t *unwind = image + piece->UnwindData;
    if ((piece->UnwindData & 3) || !((unwind[0] >> 3) & UNWIND_CHAINED))
        return false;
    size_t codes = ((size_t)unwind[2] + 1) & ~(size_t)1;
    RUNTIME_FUNCTION parent;
    memcpy(&parent, unwind + 4 + 2 * codes, sizeof parent);
    return parent.BeginAddress == function->BeginAddress;
}

// The function around `target` as the unwind data tells it, else as far as its code tells.
static hk_reloc_code find_body(uint8_t *target)
{
    DWORD64 image = 0;
    const RUNTIME_FUNCTION *function =
        RtlLookupFunctionEntry((DWORD64)(uintptr_t)target, &image, NULL);
    hk_reloc_code body = {.bytes = target, .address = (uint64_t)(uintptr_t)target};
    if (!function) {
        body.len = executable_len(target, HK_RELOC_BOUND);
        body.len = hk_reloc_guess_extent(&body);
        return body;
    }
    DWORD end = function->EndAddress;
    for (int i = 0; i < FUNCTION_PIECES_MAX; i++) {
        DWORD64 base = 0;
        const RUNTIME_FUNCTION *piece = RtlLookupFunctionEntry(image + end, &base, NULL);
        if (!piece || base != image || piece->BeginAddress != end ||
            !is_piece_of((const uint8_t *)(uintptr_t)image, piece, function))
            break;
        end = piece->EndAddress;
    }
    body.address = image + function->BeginAddress;
    body.bytes = (const uint8_t *)(uintptr_t)body.address;
    body.len = executable_len(body.bytes, end - function->BeginAddress);
    return body;
}

static hk_detour_reason check_neighbours(const uint8_t *target)
{
    for (const hk_entry *other = hk_entry_first(); other; other = other->next) {
        if (!other->attached && !other->pending)
            continue;
        if (other->target == target)
            return HK_DETOUR_ALREADY_ATTACHED;
        ptrdiff_t distance = other->target - target;
        if (distance > -HK_RELOC_PATCH_LEN && distance < HK_RELOC_PATCH_LEN)
            return HK_DETOUR_OVERLAPS;
    }
    return HK_DETOUR_OK;
}

static hk_detour_reason move_to(uint8_t *target, const uint8_t *slot, hk_reloc_result *moved)
{
    hk_reloc_code body = find_body(target);
    hk_reloc_code code = {.bytes = target, .address = (uint64_t)(uintptr_t)target};
    code.len = executable_len(target, HK_RELOC_MOVED_MAX + LONGEST_INSN);
    uint64_t trampoline = (uint64_t)(uintptr_t)slot + HK_SLOT_TRAMPOLINE;
    return hk_reloc_move_function(&body, &code, trampoline, moved);
}

static void fill_slot(uint8_t *slot, const hk_reloc_result *moved)
{
    memcpy(slot, "\xff\x25\x02\0\0\0\xcc\xcc", 8); // jmp [rip+2], the hook's address follows
    memcpy(slot + HK_SLOT_TRAMPOLINE, moved->bytes, moved->len);
    FlushInstructionCache(GetCurrentProcess(), slot, HK_SLOT_TRAMPOLINE + (SIZE_T)moved->len);
}

static hk_detour_reason take_slot(hk_entry *entry, hk_reloc_result *moved)
{
    // First as if in place: what doesn't depend on the slot is refused without spending one.
    hk_detour_reason reason = move_to(entry->target, entry->target, moved);
    if (reason != HK_DETOUR_OK)
        return reason;
    size_t len = moved->len > HK_RELOC_SHORT_OUT ? HK_SLOT_LONG : HK_SLOT_SHORT;
    uint8_t *slot = hk_slot_take(entry->target, len);
    if (!slot)
        return hk_memory_code_forbidden() ? HK_DETOUR_CODE_FORBIDDEN : HK_DETOUR_NO_NEAR_MEMORY;
    reason = move_to(entry->target, slot, moved);
    if (reason != HK_DETOUR_OK)
        return reason;
    if (moved->len > len - HK_SLOT_TRAMPOLINE)
        return HK_DETOUR_OUT_OF_RANGE;
    fill_slot(slot, moved);
    entry->slot = slot;
    entry->slot_len = len;
    return HK_DETOUR_OK;
}

// Gives the entry a slot whose trampoline is right for the function as it is now. A slot that was
// filled for other bytes is left as it is: a thread may still be in it.
static hk_detour_reason find_slot(hk_entry *entry, hk_reloc_result *moved)
{
    if (!entry->slot)
        return take_slot(entry, moved);
    hk_detour_reason reason = move_to(entry->target, entry->slot, moved);
    if (reason != HK_DETOUR_OK)
        return reason;
    if (moved->len <= entry->slot_len - HK_SLOT_TRAMPOLINE &&
        memcmp(entry->slot + HK_SLOT_TRAMPOLINE, moved->bytes, moved->len) == 0)
        return HK_DETOUR_OK;
    return take_slot(entry, moved);
}

static void make_patch(hk_entry *entry, void *hook, const hk_reloc_result *moved)
{
    int32_t rel = (int32_t)(entry->slot - (entry->target + HK_RELOC_PATCH_LEN));
    entry->patch[0] = 0xe9;
    memcpy(entry->patch + 1, &rel, sizeof rel);
    memcpy(entry->original, entry->target, HK_RELOC_PATCH_LEN);
    entry->hook = hook;
    *(void *volatile *)(void *)(entry->slot + HK_SLOT_HOOK) = hook;
    entry->moved_len = moved->moved_len;
    entry->map_count = moved->map_count;
    memcpy(entry->map, moved->map, sizeof entry->map);
}

static hk_detour_reason prepare_attach(hk_op *op)
{
    uint8_t *target = op->target;
    if (executable_len(target, HK_RELOC_PATCH_LEN) < HK_RELOC_PATCH_LEN)
        return HK_DETOUR_NOT_EXECUTABLE;
    hk_detour_reason reason = check_neighbours(target);
    if (reason != HK_DETOUR_OK)
        return reason;
    hk_entry *entry = hk_entry_find_target(target);
    if (!entry)
        entry = hk_entry_add(target);
    if (!entry)
        return HK_DETOUR_NO_MEMORY;
    hk_reloc_result moved;
    reason = find_slot(entry, &moved);
    if (reason != HK_DETOUR_OK)
        return reason;
    make_patch(entry, op->hook, &moved);
    op->entry = entry;
    return HK_DETOUR_OK;
}

static hk_detour_reason prepare_detach(hk_op *op)
{
    hk_entry *entry = hk_entry_find_trampoline(op->target);
    if (!entry || !entry->attached || entry->pending || entry->hook != op->hook)
        return HK_DETOUR_NOT_ATTACHED;
    if (executable_len(entry->target, HK_RELOC_PATCH_LEN) < HK_RELOC_PATCH_LEN)
        return HK_DETOUR_TARGET_GONE;
    if (memcmp(entry->target, entry->patch, HK_RELOC_PATCH_LEN) != 0)
        return HK_DETOUR_OVERWRITTEN;
    op->entry = entry;
    return HK_DETOUR_OK;
}

void hk_op_prepare(hk_op *op)
{
    op->reason = op->is_attach ? prepare_attach(op) : prepare_detach(op);
    if (op->reason == HK_DETOUR_OK && !hk_pages_open(op->entry->target, HK_RELOC_PATCH_LEN))
        op->reason = HK_DETOUR_NOT_WRITABLE;
    if (op->reason == HK_DETOUR_OK)
        op->entry->pending = true;
}
