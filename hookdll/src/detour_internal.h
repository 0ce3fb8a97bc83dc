// SPDX-License-Identifier: MIT
// What the files of the detour engine share: the table of hooked functions, the memory near them,
// the operations of a transaction, and the suspended threads. All of it belongs to the thread that
// has begun the transaction; nothing here locks.
#pragma once

#include "hookdll/detour.h"
#include "reloc_x64.h"

// A slot is 128 or 512 bytes within 2 GB of its function: a relay of 16 bytes (jmp [rip+2] and the
// aligned address of the hook, which can so be replaced by one store), then the trampoline.
enum {
    HK_SLOT_SHORT = 128,
    HK_SLOT_LONG = 512,
    HK_SLOT_TRAMPOLINE = 16,
    HK_SLOT_HOOK = 8,
    HK_PAGE_LEN = 4096,
};
_Static_assert(HK_SLOT_TRAMPOLINE + HK_RELOC_SHORT_OUT == HK_SLOT_SHORT, "fills its slot");
_Static_assert(HK_SLOT_TRAMPOLINE + HK_RELOC_OUT_MAX == HK_SLOT_LONG, "fills its slot");

// One function that is or was hooked. Never freed: the same function gets its slot back.
typedef struct hk_entry {
    struct hk_entry *next;
    uint8_t *target;
    uint8_t *slot;
    size_t slot_len;
    void *hook;
    uint8_t original[HK_RELOC_PATCH_LEN];
    uint8_t patch[HK_RELOC_PATCH_LEN];
    bool attached;
    bool pending; // named by an operation of the open transaction
    uint16_t moved_len;
    uint16_t map_count;
    hk_reloc_map map[HK_RELOC_INSNS_MAX + 1];
} hk_entry;

typedef struct hk_op {
    void **pointer;
    void *hook;
    void *target; // what *pointer was when the operation was added
    hk_entry *entry;
    hk_detour_reason *outcome;
    hk_detour_reason reason; // not OK: refused
    bool is_attach;
    bool is_optional;
} hk_op;

typedef struct hk_thread {
    void *handle;
    uint64_t ip; // 0 where the thread can't be asked any more
    uint64_t id;
    bool begun;     // has run its first instruction already when it was found
    bool suspended; // by us, to be resumed by us
} hk_thread;

// detour_memory.c: the functions' table and memory within reach of them.
hk_entry *hk_entry_find_target(const void *target);
hk_entry *hk_entry_find_trampoline(const void *trampoline);
hk_entry *hk_entry_first(void);
hk_entry *hk_entry_add(uint8_t *target); // null: no memory
// Writable until hk_slots_lock; null: none in reach.
uint8_t *hk_slot_take(const uint8_t *near_to, size_t len);
bool hk_memory_code_forbidden(void); // that is why there was none
bool hk_slots_unlock(void);          // makes all slots writable; they stay executable
void hk_slots_lock(void);
void *hk_memory(size_t len); // zeroed, never freed; null: no memory

// detour_prepare.c: everything that can be refused before a thread is suspended.
void hk_op_prepare(hk_op *op);

// detour_pages.c: page protection around the patches.
bool hk_pages_open(uint8_t *at, size_t len); // executable and writable
void hk_pages_restore(void);                 // as they were

// detour_threads.c: all other threads of the process.
hk_detour_reason hk_threads_stop(void); // suspended, and known where; else none is suspended
void hk_threads_resume(void);
size_t hk_threads_count(void);
hk_thread *hk_threads_at(size_t index);
bool hk_threads_move(hk_thread *thread, uint64_t ip);
