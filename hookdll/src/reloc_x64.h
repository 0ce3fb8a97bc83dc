// SPDX-License-Identifier: MIT
// Moving the first instructions of a function elsewhere, as pure arithmetic on bytes: code is a
// buffer plus the address at which it runs, the result is bytes for another address. Nothing here
// reads outside the given buffer, allocates, or calls the operating system.
#pragma once

#include "hookdll/detour.h"

#include <stdbool.h>

enum {
    HK_RELOC_PATCH_LEN = 5,   // jmp rel32
    HK_RELOC_MOVED_MAX = 96,  // bytes of a function that are moved at most
    HK_RELOC_INSNS_MAX = 40,  // and instructions
    HK_RELOC_OUT_MAX = 496,   // a trampoline
    HK_RELOC_SHORT_OUT = 112, // enough for what lies under the 5 bytes alone, in any form
    HK_RELOC_BOUND = 1024,    // how far an unknown function is looked through
};

typedef struct hk_reloc_code {
    const uint8_t *bytes;
    size_t len;
    uint64_t address; // where bytes[0] runs
} hk_reloc_code;

// `from`: offset of an instruction in the function; `to`: of its counterpart in the trampoline.
typedef struct hk_reloc_map {
    uint16_t from;
    uint16_t to;
} hk_reloc_map;

typedef struct hk_reloc_result {
    uint8_t bytes[HK_RELOC_OUT_MAX];
    uint16_t len;
    uint16_t moved_len; // bytes of the function that have been moved
    uint16_t map_count;
    hk_reloc_map map[HK_RELOC_INSNS_MAX + 1]; // the instructions, and the jump back
} hk_reloc_result;

// Moves the instructions under the first 5 bytes of `code` and on to `min_len` bytes (0: no more
// than needed) to `trampoline`, followed by a jump back where control can fall through. `*result`
// is left alone on failure.
hk_detour_reason hk_reloc_move(const hk_reloc_code *code, uint64_t trampoline, size_t min_len,
                               hk_reloc_result *result);

// The same for a function known as a whole: `body` is the function's extent, `code` what can be
// read from the patched place on. Where a branch elsewhere in the function leads back into the
// moved instructions, more of them are moved until all such branches are among them; refuses where
// that can't be.
hk_detour_reason hk_reloc_move_function(const hk_reloc_code *body, const hk_reloc_code *code,
                                        uint64_t trampoline, hk_reloc_result *result);

// The end (counted from `entry`) of the last branch in `body` outside the moved instructions that
// leads into them; 0 for none, SIZE_MAX for one that comes before `entry`.
size_t hk_reloc_find_branch(const hk_reloc_code *body, size_t entry, size_t moved_len);

// True when the function jumps to computed places, as a switch does.
bool hk_reloc_has_jump_table(const hk_reloc_code *body);

// The length of a function that nothing else is known about: up to its first unconditional end
// that no branch before it jumps over, at most HK_RELOC_BOUND bytes.
size_t hk_reloc_guess_extent(const hk_reloc_code *code);

// Offset in the trampoline for an offset in the function, and back; -1 where there is none.
int hk_reloc_to_trampoline(const hk_reloc_map *map, size_t count, uint64_t from);
int hk_reloc_to_function(const hk_reloc_map *map, size_t count, uint64_t to);

// One decoded instruction, as far as moving it is concerned.
typedef enum hk_insn_kind {
    HK_INSN_PLAIN,         // falls through; may have a RIP-relative operand
    HK_INSN_JCC,           // conditional, target known
    HK_INSN_LOOP,          // loop, loope, loopne, jrcxz, jecxz: short form only
    HK_INSN_JMP,           // unconditional, target known
    HK_INSN_CALL,          // target known
    HK_INSN_CALL_INDIRECT, // may have a RIP-relative operand
    HK_INSN_END,           // ret, indirect jump, ud2, fast fail: control does not come back
    HK_INSN_BREAKPOINT,
    HK_INSN_UNSUPPORTED, // valid, but can't be moved
} hk_insn_kind;

typedef struct hk_insn {
    hk_insn_kind kind;
    uint8_t len;
    uint8_t condition;   // JCC: the condition's 4 bits
    uint8_t disp_offset; // position of a RIP-relative displacement, 0 where there is none
    bool reads_memory;   // false for lea and nop, whose operand is only an address
    bool is_padding;     // int3 or a nop of any length
    bool is_computed;    // a jump through a register or a table
    uint64_t target;     // of the branch or the RIP-relative operand
} hk_insn;

// False when the bytes at `offset` are no instruction or run over the end of the buffer.
bool hk_insn_decode(const hk_reloc_code *code, size_t offset, hk_insn *insn);
