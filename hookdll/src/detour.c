// SPDX-License-Identifier: MIT
// Transactions: collects operations, lets each be prepared, then changes all functions at once
// while the other threads are suspended. Decides about all or nothing; never patches a function
// that was not prepared.
#include "detour_internal.h"

#include <windows.h>

NTSYSAPI LONG NTAPI NtFlushInstructionCache(HANDLE process, const void *base, SIZE_T len);

enum {
    BUSY_WAITS_MAX = 5000, // times one millisecond
    STOP_TRIES_MAX = 5,    // for a thread that stands where it can't be moved
};

static struct {
    volatile LONG owner; // id of the thread whose transaction is open, 0 for none
    hk_op *ops;
    size_t op_count;
    hk_detour_reason early_reason; // what an attach or detach call has failed with
    void *early_target;
} g_detour;

static bool is_owner(void)
{
    return g_detour.owner == (LONG)GetCurrentThreadId();
}

static bool take_ownership(void)
{
    LONG self = (LONG)GetCurrentThreadId();
    for (int i = 0; i < BUSY_WAITS_MAX; i++) {
        LONG owner = InterlockedCompareExchange(&g_detour.owner, self, 0);
        if (owner == 0)
            return true;
        if (owner == self)
            return false;
        Sleep(1);
    }
    return false;
}

static void release_ownership(void)
{
    for (size_t i = 0; i < g_detour.op_count; i++)
        if (g_detour.ops[i].entry)
            g_detour.ops[i].entry->pending = false;
    g_detour.op_count = 0;
    InterlockedExchange(&g_detour.owner, 0);
}

hk_detour_reason hk_detour_begin(void)
{
    if (!take_ownership())
        return HK_DETOUR_BUSY;
    g_detour.op_count = 0;
    g_detour.early_reason = HK_DETOUR_OK;
    g_detour.early_target = NULL;
    if (!g_detour.ops)
        g_detour.ops = hk_memory(HK_DETOUR_MAX_OPS * sizeof *g_detour.ops);
    if (!g_detour.ops) {
        release_ownership();
        return HK_DETOUR_NO_MEMORY;
    }
    return HK_DETOUR_OK;
}

void hk_detour_abort(void)
{
    if (is_owner())
        release_ownership();
}

static hk_detour_reason refuse_early(hk_detour_reason reason, void *target)
{
    if (g_detour.early_reason == HK_DETOUR_OK) {
        g_detour.early_reason = reason;
        g_detour.early_target = target;
    }
    return reason;
}

static hk_detour_reason add_op(const hk_op *op)
{
    if (!is_owner())
        return HK_DETOUR_NO_TRANSACTION;
    if (!op->pointer || !*op->pointer || !op->hook)
        return refuse_early(HK_DETOUR_BAD_ARGUMENT, op->pointer ? *op->pointer : NULL);
    if (g_detour.op_count == HK_DETOUR_MAX_OPS)
        return refuse_early(HK_DETOUR_TOO_MANY, *op->pointer);
    hk_op *added = &g_detour.ops[g_detour.op_count++];
    *added = *op;
    added->target = *op->pointer;
    return HK_DETOUR_OK;
}

hk_detour_reason hk_detour_attach_ex(void **target_pointer, void *hook, unsigned flags,
                                     hk_detour_reason *outcome)
{
    hk_op op = {.pointer = target_pointer, .hook = hook, .outcome = outcome, .is_attach = true};
    op.is_optional = (flags & HK_DETOUR_OPTIONAL) != 0;
    return add_op(&op);
}

hk_detour_reason hk_detour_detach_ex(void **target_pointer, void *hook, unsigned flags,
                                     hk_detour_reason *outcome)
{
    hk_op op = {.pointer = target_pointer, .hook = hook, .outcome = outcome};
    op.is_optional = (flags & HK_DETOUR_OPTIONAL) != 0;
    return add_op(&op);
}

hk_detour_reason hk_detour_attach(void **target_pointer, void *hook)
{
    return hk_detour_attach_ex(target_pointer, hook, 0, NULL);
}

hk_detour_reason hk_detour_detach(void **target_pointer, void *hook)
{
    return hk_detour_detach_ex(target_pointer, hook, 0, NULL);
}

static void *op_function(const hk_op *op)
{
    return op->entry ? op->entry->target : op->target;
}

// Marks the operation as refused; returns whether that refuses the whole transaction.
static bool refuse_op(hk_op *op, hk_detour_reason reason, hk_detour_result *result)
{
    op->reason = reason;
    if (op->is_optional)
        return false;
    result->reason = reason;
    result->target = op_function(op);
    return true;
}

static bool prepare_all(hk_detour_result *result)
{
    result->reason = g_detour.early_reason;
    result->target = g_detour.early_target;
    if (result->reason == HK_DETOUR_OK && !hk_slots_unlock())
        result->reason = HK_DETOUR_NO_MEMORY;
    if (result->reason != HK_DETOUR_OK)
        return false;
    for (size_t i = 0; i < g_detour.op_count; i++) {
        hk_op *op = &g_detour.ops[i];
        hk_op_prepare(op);
        if (op->reason != HK_DETOUR_OK && refuse_op(op, op->reason, result))
            return false;
    }
    return true;
}

// From here to patch_all the other threads are suspended: system calls only.

static uint64_t offset_in(uint64_t ip, const uint8_t *start)
{
    return ip - (uint64_t)(uintptr_t)start;
}

// A thread at the very first byte has not entered yet and will meet the jump. One behind the patch
// but in moved code could still branch back into it.
static bool stands_in_moved_code(const hk_thread *thread, const hk_op *op)
{
    uint64_t offset = offset_in(thread->ip, op->entry->target);
    return offset > 0 && (offset < HK_RELOC_PATCH_LEN || offset < op->entry->moved_len);
}

static bool move_thread_out(hk_thread *thread, const hk_op *op, hk_detour_result *result)
{
    const hk_entry *entry = op->entry;
    int to =
        hk_reloc_to_trampoline(entry->map, entry->map_count, offset_in(thread->ip, entry->target));
    uint64_t trampoline = (uint64_t)(uintptr_t)(entry->slot + HK_SLOT_TRAMPOLINE);
    if (to < 0 || !hk_threads_move(thread, trampoline + (uint64_t)to))
        return false;
    result->threads_moved++;
    return true;
}

// Threads under bytes that are about to be patched go to the trampoline, where they may stay even
// if nothing is patched in the end.
static hk_detour_reason clear_target(const hk_op *op, hk_detour_result *result)
{
    const uint8_t *expected = op->is_attach ? op->entry->original : op->entry->patch;
    if (memcmp(op->entry->target, expected, HK_RELOC_PATCH_LEN) != 0)
        return op->is_attach ? HK_DETOUR_CHANGED : HK_DETOUR_OVERWRITTEN;
    if (!op->is_attach)
        return HK_DETOUR_OK;
    for (size_t i = 0; i < hk_threads_count(); i++) {
        hk_thread *thread = hk_threads_at(i);
        if (stands_in_moved_code(thread, op) && !move_thread_out(thread, op, result))
            return HK_DETOUR_THREAD_INSIDE;
    }
    return HK_DETOUR_OK;
}

static void move_threads_back(const hk_entry *entry, hk_detour_result *result)
{
    const uint8_t *trampoline = entry->slot + HK_SLOT_TRAMPOLINE;
    for (size_t i = 0; i < hk_threads_count(); i++) {
        hk_thread *thread = hk_threads_at(i);
        int from =
            hk_reloc_to_function(entry->map, entry->map_count, offset_in(thread->ip, trampoline));
        if (from < 0)
            continue;
        if (hk_threads_move(thread, (uint64_t)(uintptr_t)entry->target + (uint64_t)from))
            result->threads_moved++;
    }
}

static void change(const hk_op *op, hk_detour_result *result)
{
    hk_entry *entry = op->entry;
    memcpy(entry->target, op->is_attach ? entry->patch : entry->original, HK_RELOC_PATCH_LEN);
    NtFlushInstructionCache(GetCurrentProcess(), entry->target, HK_RELOC_PATCH_LEN);
    entry->attached = op->is_attach;
    if (op->is_attach) {
        *op->pointer = entry->slot + HK_SLOT_TRAMPOLINE;
    } else {
        *op->pointer = entry->target;
        move_threads_back(entry, result);
    }
    result->committed++;
}

// Moves threads out of the way of all operations. False: one of them refuses the transaction.
static bool clear_all(hk_detour_result *result, bool *thread_inside)
{
    *thread_inside = false;
    for (size_t i = 0; i < g_detour.op_count; i++) {
        hk_op *op = &g_detour.ops[i];
        if (op->reason != HK_DETOUR_OK && op->reason != HK_DETOUR_THREAD_INSIDE)
            continue;
        op->reason = clear_target(op, result);
        *thread_inside |= op->reason == HK_DETOUR_THREAD_INSIDE;
        if (op->reason != HK_DETOUR_OK && refuse_op(op, op->reason, result))
            return false;
    }
    return true;
}

static void change_all(hk_detour_result *result)
{
    for (size_t i = 0; i < g_detour.op_count; i++)
        if (g_detour.ops[i].reason == HK_DETOUR_OK)
            change(&g_detour.ops[i], result);
}

// A thread that can't be moved (the system may forbid it) will most likely be elsewhere in a
// millisecond.
static bool patch_all(hk_detour_result *result)
{
    for (int try = 1;; try++) {
        bool thread_inside;
        result->reason = hk_threads_stop();
        if (result->reason != HK_DETOUR_OK)
            return false;
        result->threads = (uint32_t)hk_threads_count();
        bool cleared = clear_all(result, &thread_inside);
        bool goes_again = thread_inside && try < STOP_TRIES_MAX;
        if (cleared && !goes_again)
            change_all(result);
        hk_threads_resume();
        if (!goes_again)
            return cleared;
        result->target = NULL;
        Sleep(1);
    }
}

static void tell_outcomes(bool changed, hk_detour_result *result)
{
    for (size_t i = 0; i < g_detour.op_count; i++) {
        const hk_op *op = &g_detour.ops[i];
        hk_detour_reason reason = op->reason;
        if (!changed && reason == HK_DETOUR_OK)
            reason = HK_DETOUR_NOT_COMMITTED;
        if (changed && reason != HK_DETOUR_OK)
            result->skipped++;
        if (op->outcome)
            *op->outcome = reason;
    }
}

hk_detour_reason hk_detour_commit(hk_detour_result *result)
{
    hk_detour_result ignored;
    if (!result)
        result = &ignored;
    *result = (hk_detour_result){.reason = HK_DETOUR_NO_TRANSACTION};
    if (!is_owner())
        return result->reason;
    bool changed = prepare_all(result) && patch_all(result);
    hk_pages_restore();
    hk_slots_lock();
    tell_outcomes(changed, result);
    hk_detour_reason reason = result->reason;
    release_ownership();
    return reason;
}

void hk_detour_forget(const void *base, size_t len)
{
    bool was_owner = is_owner();
    if (!was_owner && !take_ownership())
        return;
    for (hk_entry *entry = hk_entry_first(); entry; entry = entry->next)
        if ((uintptr_t)entry->target - (uintptr_t)base < len)
            entry->attached = false;
    if (!was_owner)
        InterlockedExchange(&g_detour.owner, 0);
}
