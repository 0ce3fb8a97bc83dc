// SPDX-License-Identifier: MIT
// Finds branches that lead into the bytes about to be patched. Near branches are looked for at
// every byte position, so that data between the instructions can't hide one; short ones by decoding
// what lies within their reach. Too careful is fine (a refusal), too trusting is not.
#include "reloc_x64.h"

#include <string.h>

enum { SHORT_REACH = 128 };

static bool leads_in(uint64_t target, uint64_t patch, bool is_call)
{
    uint64_t offset = target - patch;
    // A call of the function by itself is a call like any other and goes to the hook.
    if (is_call && offset == 0)
        return false;
    return offset < HK_RELOC_PATCH_LEN;
}

static bool near_branch_leads_in(const hk_reloc_code *body, size_t pos, uint64_t patch)
{
    const uint8_t *at = body->bytes + pos;
    size_t left = body->len - pos;
    size_t opcode_len;
    if (left >= 5 && (at[0] == 0xe8 || at[0] == 0xe9))
        opcode_len = 1;
    else if (left >= 6 && at[0] == 0x0f && (at[1] & 0xf0) == 0x80)
        opcode_len = 2;
    else
        return false;
    int32_t rel;
    memcpy(&rel, at + opcode_len, 4);
    uint64_t target = body->address + pos + opcode_len + 4 + (uint64_t)(int64_t)rel;
    return leads_in(target, patch, at[0] == 0xe8);
}

static bool short_branch_leads_in(const hk_reloc_code *body, size_t from, size_t to, uint64_t patch)
{
    size_t pos = from;
    while (pos < to && pos < body->len) {
        hk_insn insn;
        if (!hk_insn_decode(body, pos, &insn)) {
            pos++;
            continue;
        }
        if ((insn.kind == HK_INSN_JCC || insn.kind == HK_INSN_JMP || insn.kind == HK_INSN_LOOP) &&
            leads_in(insn.target, patch, false))
            return true;
        pos += insn.len;
    }
    return false;
}

hk_detour_reason hk_reloc_check_branches(const hk_reloc_code *body, size_t entry, size_t moved_len)
{
    uint64_t patch = body->address + entry;
    size_t after = entry + moved_len;
    for (size_t pos = 0; pos < body->len; pos++) {
        if (pos >= entry && pos < after)
            continue;
        if (near_branch_leads_in(body, pos, patch))
            return HK_DETOUR_BRANCH_INTO;
    }
    size_t reach_end = entry + HK_RELOC_PATCH_LEN + SHORT_REACH;
    if (short_branch_leads_in(body, 0, entry, patch) ||
        short_branch_leads_in(body, after, reach_end, patch))
        return HK_DETOUR_BRANCH_INTO;
    return HK_DETOUR_OK;
}

size_t hk_reloc_guess_extent(const hk_reloc_code *code)
{
    size_t limit = code->len < HK_RELOC_BOUND ? code->len : HK_RELOC_BOUND;
    size_t pos = 0;
    uint64_t furthest = 0;
    while (pos < limit) {
        hk_insn insn;
        if (!hk_insn_decode(code, pos, &insn) || insn.kind == HK_INSN_BREAKPOINT) {
            if (furthest <= pos)
                break;
            pos = (size_t)furthest; // data or padding that a branch jumps over
            continue;
        }
        // A near jmp forward is as likely a call of the next function: it tells nothing.
        bool is_inner = insn.kind == HK_INSN_JCC || insn.kind == HK_INSN_LOOP ||
                        (insn.kind == HK_INSN_JMP && insn.len == 2);
        uint64_t offset = insn.target - code->address;
        if (is_inner && offset < limit && offset > furthest)
            furthest = offset;
        pos += insn.len;
        if ((insn.kind == HK_INSN_JMP || insn.kind == HK_INSN_END) && furthest < pos)
            break;
    }
    return pos < limit ? pos : limit;
}
