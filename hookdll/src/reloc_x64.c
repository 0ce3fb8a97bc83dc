// SPDX-License-Identifier: MIT
// Builds a trampoline: decodes the instructions under the 5 patched bytes, then emits each for its
// new address. Near branches where the target is in reach, absolute ones elsewhere; branches inside
// the moved block stay inside it. Must refuse whatever it can't reproduce exactly.
#include "reloc_x64.h"

#include <string.h>

typedef struct block {
    hk_insn insns[HK_RELOC_INSNS_MAX];
    uint16_t offsets[HK_RELOC_INSNS_MAX];
    uint16_t count;
    uint16_t len;
    bool falls_through;
} block;

typedef struct fixup {
    uint16_t at;     // position of a rel32 in the trampoline
    uint16_t target; // offset in the function
} fixup;

typedef struct emitter {
    const hk_reloc_code *code;
    const block *blk;
    uint64_t base;
    hk_reloc_result out;
    fixup fixups[HK_RELOC_INSNS_MAX];
    uint16_t fixup_count;
    bool is_full;
} emitter;

static bool is_branch(hk_insn_kind kind)
{
    return kind == HK_INSN_JCC || kind == HK_INSN_JMP || kind == HK_INSN_LOOP;
}

static bool ends_flow(hk_insn_kind kind)
{
    return kind == HK_INSN_JMP || kind == HK_INSN_END;
}

// What follows a body shorter than the patch must be nothing that is ever executed.
static bool is_padding(const hk_reloc_code *code, size_t pos)
{
    while (pos < HK_RELOC_PATCH_LEN) {
        hk_insn insn;
        if (!hk_insn_decode(code, pos, &insn) || !insn.is_padding)
            return false;
        pos += insn.len;
    }
    return true;
}

static hk_detour_reason check_insn(const hk_insn *insn, size_t pos, uint64_t address)
{
    bool is_call = insn->kind == HK_INSN_CALL || insn->kind == HK_INSN_CALL_INDIRECT;
    if (insn->kind == HK_INSN_BREAKPOINT)
        return HK_DETOUR_BREAKPOINT;
    if (insn->kind == HK_INSN_UNSUPPORTED)
        return HK_DETOUR_NOT_RELOCATABLE;
    if (is_call && pos + insn->len < HK_RELOC_PATCH_LEN)
        return HK_DETOUR_CALL_RETURNS_INSIDE;
    if (insn->disp_offset && insn->reads_memory && insn->target - address < HK_RELOC_PATCH_LEN)
        return HK_DETOUR_READS_ITSELF;
    return HK_DETOUR_OK;
}

// Branches to the inside of the block must meet an instruction; calls must not go there, nor
// return there: a thread in the call would come back to code that has been left.
static hk_detour_reason check_inner_targets(const block *blk, uint64_t address)
{
    for (size_t i = 0; i < blk->count; i++) {
        const hk_insn *insn = &blk->insns[i];
        uint64_t offset = insn->target - address;
        bool is_call = insn->kind == HK_INSN_CALL || insn->kind == HK_INSN_CALL_INDIRECT;
        if (is_call && i + 1 < blk->count)
            return HK_DETOUR_CALL_RETURNS_INSIDE;
        if (insn->kind == HK_INSN_CALL && offset > 0 && offset < blk->len)
            return HK_DETOUR_NOT_RELOCATABLE;
        if (!is_branch(insn->kind) || offset >= blk->len)
            continue;
        size_t k = 0;
        while (k < blk->count && blk->offsets[k] != offset)
            k++;
        if (k == blk->count)
            return HK_DETOUR_NOT_RELOCATABLE;
    }
    return HK_DETOUR_OK;
}

// Whether the next instruction belongs to the block: all that is asked for, but else nothing
// behind a body that ends under the patch, unless a branch before leads there.
static bool goes_on(size_t pos, size_t min_len, bool ended, uint64_t furthest)
{
    if (pos < min_len)
        return true;
    return pos < HK_RELOC_PATCH_LEN && (!ended || furthest >= pos);
}

static hk_detour_reason read_block(const hk_reloc_code *code, size_t min_len, block *blk)
{
    size_t pos = 0;
    uint64_t furthest = 0; // last offset under the patch that a branch in the block leads to
    bool ended = false;
    while (goes_on(pos, min_len, ended, furthest)) {
        hk_insn insn;
        if (blk->count == HK_RELOC_INSNS_MAX)
            return HK_DETOUR_NOT_RELOCATABLE;
        if (!hk_insn_decode(code, pos, &insn))
            return HK_DETOUR_UNDECODABLE;
        if (ended && insn.kind == HK_INSN_BREAKPOINT)
            insn.kind = HK_INSN_END; // padding
        hk_detour_reason reason = check_insn(&insn, pos, code->address);
        if (reason != HK_DETOUR_OK)
            return reason;
        uint64_t offset = insn.target - code->address;
        if (is_branch(insn.kind) && offset < HK_RELOC_PATCH_LEN && offset > furthest)
            furthest = offset;
        blk->insns[blk->count] = insn;
        blk->offsets[blk->count++] = (uint16_t)pos;
        pos += insn.len;
        ended = ends_flow(insn.kind);
    }
    if (pos < HK_RELOC_PATCH_LEN && !is_padding(code, pos))
        return HK_DETOUR_TOO_SMALL;
    blk->len = (uint16_t)pos;
    blk->falls_through = !ended;
    return check_inner_targets(blk, code->address);
}

static void put(emitter *e, const void *bytes, size_t len)
{
    if (e->is_full || len > HK_RELOC_OUT_MAX - (size_t)e->out.len) {
        e->is_full = true;
        return;
    }
    memcpy(e->out.bytes + e->out.len, bytes, len);
    e->out.len = (uint16_t)(e->out.len + len);
}

static void put_byte(emitter *e, unsigned byte)
{
    uint8_t value = (uint8_t)byte;
    put(e, &value, 1);
}

// The displacement from the end of the next `len` bytes to `target`.
static bool reach(const emitter *e, uint64_t target, size_t len, int32_t *rel)
{
    int64_t distance = (int64_t)(target - (e->base + e->out.len + len));
    *rel = (int32_t)distance;
    return distance == *rel;
}

static bool stays_inside(const emitter *e, const hk_insn *insn)
{
    return insn->target - e->code->address < e->blk->len;
}

static void put_inner_rel32(emitter *e, const hk_insn *insn)
{
    fixup *fix = &e->fixups[e->fixup_count++];
    fix->at = e->out.len;
    fix->target = (uint16_t)(insn->target - e->code->address);
    put(e, "\0\0\0", 4);
}

static void put_absolute_jump(emitter *e, uint64_t target)
{
    put(e, "\xff\x25\0\0\0", 6); // jmp [rip+0]
    put(e, &target, 8);
}

static void put_jump(emitter *e, uint64_t target)
{
    int32_t rel;
    if (!reach(e, target, 5, &rel)) {
        put_absolute_jump(e, target);
        return;
    }
    put_byte(e, 0xe9);
    put(e, &rel, 4);
}

static void put_branch_jump(emitter *e, const hk_insn *insn)
{
    if (!stays_inside(e, insn)) {
        put_jump(e, insn->target);
        return;
    }
    put_byte(e, 0xe9);
    put_inner_rel32(e, insn);
}

static void put_jcc(emitter *e, const hk_insn *insn)
{
    int32_t rel = 0;
    bool inside = stays_inside(e, insn);
    if (!inside && !reach(e, insn->target, 6, &rel)) {
        put_byte(e, 0x70u | (insn->condition ^ 1u)); // the opposite condition skips the jump
        put_byte(e, 14);
        put_absolute_jump(e, insn->target);
        return;
    }
    put_byte(e, 0x0f);
    put_byte(e, 0x80u | insn->condition);
    if (inside)
        put_inner_rel32(e, insn);
    else
        put(e, &rel, 4);
}

static void put_loop(emitter *e, const hk_insn *insn, const uint8_t *bytes)
{
    put(e, bytes, insn->len - 1u);
    put_byte(e, 2); // taken: over the short jump
    put_byte(e, 0xeb);
    size_t skip_at = e->out.len;
    put_byte(e, 0);
    put_branch_jump(e, insn);
    if (!e->is_full)
        e->out.bytes[skip_at] = (uint8_t)(e->out.len - skip_at - 1);
}

static void put_call(emitter *e, const hk_insn *insn)
{
    int32_t rel;
    if (reach(e, insn->target, 5, &rel)) {
        put_byte(e, 0xe8);
        put(e, &rel, 4);
        return;
    }
    put(e, "\xff\x15\x02\0\0\0\xeb\x08", 8); // call [rip+2]; jmp over the address
    put(e, &insn->target, 8);
}

static hk_detour_reason put_copy(emitter *e, const hk_insn *insn, const uint8_t *bytes)
{
    int32_t rel = 0;
    if (insn->disp_offset && !reach(e, insn->target, insn->len, &rel))
        return HK_DETOUR_OUT_OF_RANGE;
    size_t start = e->out.len;
    put(e, bytes, insn->len);
    if (insn->disp_offset && !e->is_full)
        memcpy(e->out.bytes + start + insn->disp_offset, &rel, 4);
    return HK_DETOUR_OK;
}

static hk_detour_reason put_insn(emitter *e, const hk_insn *insn, const uint8_t *bytes)
{
    switch (insn->kind) {
    case HK_INSN_JCC:
        put_jcc(e, insn);
        return HK_DETOUR_OK;
    case HK_INSN_LOOP:
        put_loop(e, insn, bytes);
        return HK_DETOUR_OK;
    case HK_INSN_JMP:
        put_branch_jump(e, insn);
        return HK_DETOUR_OK;
    case HK_INSN_CALL:
        put_call(e, insn);
        return HK_DETOUR_OK;
    default:
        return put_copy(e, insn, bytes);
    }
}

static void add_to_map(emitter *e, size_t from)
{
    hk_reloc_map *m = &e->out.map[e->out.map_count++];
    m->from = (uint16_t)from;
    m->to = e->out.len;
}

static void apply_fixups(emitter *e)
{
    for (size_t i = 0; i < e->fixup_count; i++) {
        const fixup *fix = &e->fixups[i];
        int to = hk_reloc_to_trampoline(e->out.map, e->out.map_count, fix->target);
        int32_t rel = to - (fix->at + 4);
        memcpy(e->out.bytes + fix->at, &rel, 4);
    }
}

hk_detour_reason hk_reloc_move(const hk_reloc_code *code, uint64_t trampoline, size_t min_len,
                               hk_reloc_result *result)
{
    block blk = {.count = 0};
    if (min_len > HK_RELOC_MOVED_MAX)
        return HK_DETOUR_NOT_RELOCATABLE;
    hk_detour_reason reason = read_block(code, min_len, &blk);
    if (reason != HK_DETOUR_OK)
        return reason;

    emitter e = {.code = code, .blk = &blk, .base = trampoline};
    for (size_t i = 0; i < blk.count; i++) {
        add_to_map(&e, blk.offsets[i]);
        reason = put_insn(&e, &blk.insns[i], code->bytes + blk.offsets[i]);
        if (reason != HK_DETOUR_OK)
            return reason;
    }
    if (blk.falls_through) {
        add_to_map(&e, blk.len);
        put_jump(&e, code->address + blk.len);
    }
    if (e.is_full)
        return HK_DETOUR_NOT_RELOCATABLE;
    apply_fixups(&e);
    e.out.moved_len = blk.len;
    *result = e.out;
    return HK_DETOUR_OK;
}

hk_detour_reason hk_reloc_move_function(const hk_reloc_code *body, const hk_reloc_code *code,
                                        uint64_t trampoline, hk_reloc_result *result)
{
    size_t entry = (size_t)(code->address - body->address);
    size_t min_len = 0;
    hk_reloc_result moved;
    for (;;) {
        hk_detour_reason reason = hk_reloc_move(code, trampoline, min_len, &moved);
        // What follows an early end may be more of the same function, if a branch leads there.
        bool may_go_on = reason == HK_DETOUR_TOO_SMALL && min_len == 0;
        if (reason != HK_DETOUR_OK && !may_go_on)
            return min_len ? HK_DETOUR_BRANCH_INTO : reason;
        size_t moved_len = may_go_on ? HK_RELOC_PATCH_LEN : moved.moved_len;
        size_t needed = hk_reloc_find_branch(body, entry, moved_len);
        if (needed == 0 && may_go_on)
            return reason;
        if (needed == 0)
            break;
        if (needed <= moved_len || needed > HK_RELOC_MOVED_MAX)
            return HK_DETOUR_BRANCH_INTO;
        min_len = needed;
    }
    // A computed jump could lead to what was left behind, and from there into the patch.
    if (min_len && hk_reloc_has_jump_table(body))
        return HK_DETOUR_BRANCH_INTO;
    *result = moved;
    return HK_DETOUR_OK;
}

int hk_reloc_to_trampoline(const hk_reloc_map *map, size_t count, uint64_t from)
{
    for (size_t i = 0; i < count; i++)
        if (map[i].from == from)
            return map[i].to;
    return -1;
}

int hk_reloc_to_function(const hk_reloc_map *map, size_t count, uint64_t to)
{
    for (size_t i = 0; i < count; i++)
        if (map[i].to == to)
            return map[i].from;
    return -1;
}
