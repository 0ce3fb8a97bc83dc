// SPDX-License-Identifier: MIT
// Leading slots of C++ vtables to us and back: what operators and allocators share. Imports too.
//
// Changing a slot is one aligned 8-byte store, done under g_hk.lock: a thread calls either the old
// or the new function, and both are right.
#pragma once

#include "hook.h"

// Entry points: one per place in a table of vtables, which adds the address of that place as a
// further parameter. They must not ask the object: its class may have a vtable that another tool
// copied from one of ours.
//   name, function, table  symbols of the assembler    parameter  the register of that parameter
//   count, bytes           of places in the table      (all but these two are texts)
#define HK_ENTRY_BYTES      16
#define HK_VTABLE_TEXT(x)   #x
#define HK_VTABLE_DIGITS(x) HK_VTABLE_TEXT(x)
#define HK_VTABLE_ENTRIES(name, function, parameter, table, count, bytes)                          \
    __asm__(".text\n.p2align 4\n" name ":\n.set place, 0\n.rept " HK_VTABLE_DIGITS(                \
        count) "\nleaq " table "+place(%rip), %" parameter "\njmp " function                       \
               "\n.p2align 4\n.set place, place+" HK_VTABLE_DIGITS(bytes) "\n.endr\n")

// Keeps one page writable at a time, and executable if it was: where slots come in ascending order,
// each is opened once.
typedef struct hk_slot_guard {
    uintptr_t page; // 0: none open
    DWORD protection;
} hk_slot_guard;

void *hk_slot_get(void **slot);
// Puts `to` where `from` still is; false if it is not, or the page can't be written to.
bool hk_slot_change(hk_slot_guard *g, void **slot, void *from, void *to);
void hk_slots_close(hk_slot_guard *g); // after the last change
