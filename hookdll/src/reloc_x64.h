// SPDX-License-Identifier: MIT
// Moving the first instructions of a function elsewhere, as pure arithmetic on bytes: code is a
// buffer plus the address at which it runs, the result is bytes for another address. Nothing here
// reads outside the given buffer, allocates, or calls the operating system.
#pragma once

#include "hookdll/detour.h"

#include <stdbool.h>

enum {
    HK_RELOC_PATCH_LEN = 5,  // jmp rel32
    HK_RELOC_OUT_MAX = 112,  // more than the longest possible trampoline
    HK_RELOC_MAP_MAX = 6,    // at most 5 instructions begin in the patched bytes, and the end
    HK_RELOC_MOVED_MAX = 19, // 4 one-byte instructions and the longest possible
    HK_RELOC_BOUND = 1024,   // how far an unknown function is looked through
};

typedef struct hk_reloc_code {
    const uint8_t *bytes;
    size_t len;
    uint64_t address; // where bytes[0] runs
} hk_reloc_code;

// `from`: offset of an instruction in the function; `to`: of its counterpart in the trampoline.
typedef struct hk_reloc_map {
    uint8_t from;
    uint8_t to;
} hk_reloc_map;

typedef struct hk_reloc_result {
    uint8_t bytes[HK_RELOC_OUT_MAX];
    uint8_t len;
    uint8_t moved_len; // bytes of the function that have been moved
    uint8_t map_count;
    hk_reloc_map map[HK_RELOC_MAP_MAX];
} hk_reloc_result;

// Moves the instructions under the first 5 bytes of `code` to `trampoline`, followed by a jump back
// where control can fall through. `*result` is left alone on failure.
hk_detour_reason hk_reloc_move(const hk_reloc_code *code, uint64_t trampoline,
                               hk_reloc_result *result);

// Refuses when a branch in `body` outside the moved instructions leads into the patched bytes.
// `body` is the whole function, `entry` the offset in it where the 5 bytes are patched.
hk_detour_reason hk_reloc_check_branches(const hk_reloc_code *body, size_t entry, size_t moved_len);

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
    uint64_t target;     // of the branch or the RIP-relative operand
} hk_insn;

// False when the bytes at `offset` are no instruction or run over the end of the buffer.
bool hk_insn_decode(const hk_reloc_code *code, size_t offset, hk_insn *insn);
