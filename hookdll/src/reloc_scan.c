// SPDX-License-Identifier: MIT
// Finds branches that lead into the instructions about to be moved. Near branches are looked for
// at every byte position, so that data between the instructions can't hide one; short ones by
// decoding what lies within their reach. Too careful is fine (a refusal), too trusting is not.
#include "reloc_x64.h"

#include <string.h>

enum { SHORT_REACH = 128 };

typedef struct scan {
    const hk_reloc_code *body;
    size_t entry;
    size_t after;    // where the moved instructions end
    uint64_t target; // the address of what is patched
    uint64_t len;    // and how many bytes of it must not be led into
    size_t found;    // result of hk_reloc_find_branch
} scan;

// A call of the function by itself is a call like any other and goes to the hook.
static bool leads_in(const scan *s, uint64_t target, bool is_call)
{
    uint64_t offset = target - s->target;
    return offset < s->len && !(is_call && offset == 0);
}

static void note(scan *s, size_t end)
{
    size_t needed = end <= s->entry ? SIZE_MAX : end - s->entry;
    if (needed > s->found)
        s->found = needed;
}

static void note_near_branch(scan *s, size_t pos)
{
    const uint8_t *at = s->body->bytes + pos;
    size_t left = s->body->len - pos;
    size_t opcode_len;
    if (left >= 5 && (at[0] == 0xe8 || at[0] == 0xe9))
        opcode_len = 1;
    else if (left >= 6 && at[0] == 0x0f && (at[1] & 0xf0) == 0x80)
        opcode_len = 2;
    else
        return;
    int32_t rel;
    memcpy(&rel, at + opcode_len, 4);
    size_t end = pos + opcode_len + 4;
    if (leads_in(s, s->body->address + end + (uint64_t)(int64_t)rel, at[0] == 0xe8))
        note(s, end);
}

static void note_short_branches(scan *s, size_t from, size_t to)
{
    size_t pos = from;
    while (pos < to && pos < s->body->len) {
        hk_insn insn;
        if (!hk_insn_decode(s->body, pos, &insn)) {
            pos++;
            continue;
        }
        pos += insn.len;
        if ((insn.kind == HK_INSN_JCC || insn.kind == HK_INSN_JMP || insn.kind == HK_INSN_LOOP) &&
            leads_in(s, insn.target, false))
            note(s, pos);
    }
}

size_t hk_reloc_find_branch(const hk_reloc_code *body, size_t entry, size_t moved_len)
{
    scan s = {.body = body, .entry = entry, .after = entry + moved_len};
    s.target = body->address + entry;
    s.len = moved_len > HK_RELOC_PATCH_LEN ? moved_len : HK_RELOC_PATCH_LEN;
    for (size_t pos = 0; pos < body->len; pos++)
        if (pos < entry || pos >= s.after)
            note_near_branch(&s, pos);
    note_short_branches(&s, 0, entry);
    note_short_branches(&s, s.after, entry + (size_t)s.len + SHORT_REACH);
    return s.found;
}

bool hk_reloc_has_jump_table(const hk_reloc_code *body)
{
    size_t pos = 0;
    while (pos < body->len) {
        hk_insn insn;
        if (!hk_insn_decode(body, pos, &insn)) {
            pos++;
            continue;
        }
        if (insn.is_computed)
            return true;
        pos += insn.len;
    }
    return false;
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
