// SPDX-License-Identifier: MIT
// Memory of the detour engine: the table of functions, and blocks of executable memory within
// 2 GB of them, carved into slots. Nothing is ever given back: a thread may be in a trampoline.
// Blocks are writable only while a transaction fills slots, and executable always.
#include "detour_internal.h"

#include <windows.h>

enum {
    BLOCK_LEN = 65536, // the system's allocation granularity
    META_LEN = 65536,
    DYNAMIC_CODE_BLOCKED = 1655, // ERROR_DYNAMIC_CODE_BLOCKED, not in mingw's headers
};

// Below 2 GB by more than any prologue's operand can be away from its function within a module.
static const uint64_t REACH = 0x60000000;

typedef struct slot_block {
    struct slot_block *next;
    uint8_t *base;
    size_t used;
    bool writable;
} slot_block;

static struct {
    hk_entry *entries;
    slot_block *blocks;
    uint8_t *meta;
    size_t meta_left;
    bool code_forbidden; // by the process's dynamic code policy: no use in trying elsewhere
} g_memory;

void *hk_memory(size_t len)
{
    len = (len + 15) & ~(size_t)15;
    if (len > META_LEN / 4)
        return VirtualAlloc(NULL, len, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (len > g_memory.meta_left) {
        uint8_t *fresh = VirtualAlloc(NULL, META_LEN, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
        if (!fresh)
            return NULL;
        g_memory.meta = fresh;
        g_memory.meta_left = META_LEN;
    }
    void *memory = g_memory.meta;
    g_memory.meta += len;
    g_memory.meta_left -= len;
    return memory;
}

hk_entry *hk_entry_first(void)
{
    return g_memory.entries;
}

hk_entry *hk_entry_find_target(const void *target)
{
    hk_entry *entry = g_memory.entries;
    while (entry && entry->target != target)
        entry = entry->next;
    return entry;
}

hk_entry *hk_entry_find_trampoline(const void *trampoline)
{
    hk_entry *entry = g_memory.entries;
    while (entry && (!entry->slot || entry->slot + HK_SLOT_TRAMPOLINE != trampoline))
        entry = entry->next;
    return entry;
}

hk_entry *hk_entry_add(uint8_t *target)
{
    hk_entry *entry = hk_memory(sizeof *entry);
    if (!entry)
        return NULL;
    entry->target = target;
    entry->next = g_memory.entries;
    g_memory.entries = entry;
    return entry;
}

static bool is_near(const uint8_t *block, const uint8_t *target)
{
    uint64_t a = (uint64_t)(uintptr_t)block;
    uint64_t b = (uint64_t)(uintptr_t)target;
    return (a > b ? a - b : b - a) < REACH;
}

static uint8_t *allocate_block_at(uint64_t address)
{
    uint8_t *block = VirtualAlloc((void *)(uintptr_t)address, BLOCK_LEN, MEM_RESERVE | MEM_COMMIT,
                                  PAGE_EXECUTE_READWRITE);
    g_memory.code_forbidden = !block && GetLastError() == DYNAMIC_CODE_BLOCKED;
    return block;
}

static uint8_t *allocate_below(uint64_t target)
{
    uint64_t lowest = target > REACH ? target - REACH : BLOCK_LEN;
    uint64_t at = target;
    while (at > lowest && !g_memory.code_forbidden) {
        MEMORY_BASIC_INFORMATION info;
        if (!VirtualQuery((void *)(uintptr_t)at, &info, sizeof info))
            return NULL;
        uint64_t start = (uint64_t)(uintptr_t)info.BaseAddress;
        if (info.State == MEM_FREE) {
            uint64_t end = start + info.RegionSize;
            uint64_t place = end >= BLOCK_LEN ? (end - BLOCK_LEN) & ~(uint64_t)(BLOCK_LEN - 1) : 0;
            if (place >= start && place >= lowest) {
                uint8_t *block = allocate_block_at(place);
                if (block)
                    return block;
            }
        } else {
            start = (uint64_t)(uintptr_t)info.AllocationBase;
        }
        if (start == 0)
            return NULL;
        at = start - 1;
    }
    return NULL;
}

static uint8_t *allocate_above(uint64_t target)
{
    uint64_t at = target;
    while (at < target + REACH && !g_memory.code_forbidden) {
        MEMORY_BASIC_INFORMATION info;
        if (!VirtualQuery((void *)(uintptr_t)at, &info, sizeof info))
            return NULL;
        uint64_t start = (uint64_t)(uintptr_t)info.BaseAddress;
        uint64_t end = start + info.RegionSize;
        if (info.State == MEM_FREE) {
            uint64_t place = (start + BLOCK_LEN - 1) & ~(uint64_t)(BLOCK_LEN - 1);
            if (place + BLOCK_LEN <= end) {
                uint8_t *block = allocate_block_at(place);
                if (block)
                    return block;
            }
        }
        at = end;
    }
    return NULL;
}

static slot_block *add_block(const uint8_t *target)
{
    slot_block *block = hk_memory(sizeof *block);
    if (!block)
        return NULL;
    uint64_t address = (uint64_t)(uintptr_t)target;
    g_memory.code_forbidden = false;
    block->base = allocate_below(address);
    if (!block->base)
        block->base = allocate_above(address);
    if (!block->base)
        return NULL;
    memset(block->base, 0xcc, BLOCK_LEN);
    block->writable = true;
    block->next = g_memory.blocks;
    g_memory.blocks = block;
    return block;
}

bool hk_memory_code_forbidden(void)
{
    return g_memory.code_forbidden;
}

uint8_t *hk_slot_take(const uint8_t *near_to, size_t len)
{
    slot_block *block = g_memory.blocks;
    while (block && (BLOCK_LEN - block->used < len || !is_near(block->base, near_to)))
        block = block->next;
    if (!block)
        block = add_block(near_to);
    if (!block)
        return NULL;
    uint8_t *slot = block->base + block->used;
    block->used += len;
    return slot;
}

bool hk_slots_unlock(void)
{
    for (slot_block *block = g_memory.blocks; block; block = block->next) {
        DWORD old;
        if (!block->writable)
            block->writable = VirtualProtect(block->base, BLOCK_LEN, PAGE_EXECUTE_READWRITE, &old);
        if (!block->writable)
            return false;
    }
    return true;
}

void hk_slots_lock(void)
{
    for (slot_block *block = g_memory.blocks; block; block = block->next) {
        DWORD old;
        if (block->writable && VirtualProtect(block->base, BLOCK_LEN, PAGE_EXECUTE_READ, &old))
            block->writable = false;
    }
}
