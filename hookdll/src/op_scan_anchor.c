// SPDX-License-Identifier: MIT
// From a literal to the function that mentions it to the vtables that hold the function. See
// op_scan.h.
#include "op_scan_internal.h"

enum {
    LEA = 0x8d,
    CALL = 0xe8,
    PDATA_BYTES = 12, // RUNTIME_FUNCTION: begin, end, unwind data
    UNWIND_CHAINED = 4,
    CHAIN_MAX = 8,
};

// Where in a section `test` holds; the place of the last one and, in *count, how many.
typedef bool place_test(const hk_scan *s, const hk_scan_section *code, uint32_t at,
                        uint32_t target);

// `lea r64, [rip + displacement]` with the opcode at `at`.
static bool is_lea_of(const hk_scan *s, const hk_scan_section *code, uint32_t at, uint32_t target)
{
    if (at == code->rva || at + 6 > code->rva + code->bytes)
        return false;
    const uint8_t *p = s->bytes + at;
    return (p[-1] & 0xf8) == 0x48 && (p[1] & 0xc7) == 0x05 && at + 6 + hk_get32(p + 2) == target;
}

static bool is_call_of(const hk_scan *s, const hk_scan_section *code, uint32_t at, uint32_t target)
{
    return at + 5 <= code->rva + code->bytes && at + 5 + hk_get32(s->bytes + at + 1) == target;
}

static uint32_t find_in_code(const hk_scan *s, uint8_t opcode, place_test *test, uint32_t target,
                             unsigned *count)
{
    uint32_t found = 0;
    *count = 0;
    for (uint32_t i = 0; i < s->section_count; i++) {
        const hk_scan_section *code = &s->sections[i];
        uint32_t end = code->rva + code->bytes;
        if (!code->executable)
            continue;
        for (uint32_t at = code->rva; at < end; at++) {
            at = hk_scan_next_byte(s->bytes, at, end, opcode);
            if (at < end && test(s, code, at, target)) {
                found = at;
                ++*count;
            }
        }
    }
    return found;
}

// -------------------------------------------------------------------- the function around a place

static const uint8_t *entry_around(const hk_scan *s, uint32_t rva)
{
    const uint8_t *pdata = s->bytes + s->pdata_rva;
    uint32_t low = 0, high = s->pdata_bytes / PDATA_BYTES;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const uint8_t *entry = pdata + (size_t)middle * PDATA_BYTES;
        if (rva < hk_get32(entry))
            high = middle;
        else if (rva >= hk_get32(entry + 4))
            low = middle + 1;
        else
            return entry;
    }
    return NULL;
}

// A function can be in several parts; the unwind data of the later ones lead to the first.
static uint32_t function_around(const hk_scan *s, uint32_t rva)
{
    const uint8_t *entry = entry_around(s, rva);
    for (unsigned n = 0; entry && n < CHAIN_MAX; n++) {
        uint32_t unwind = hk_get32(entry + 8);
        if (!hk_scan_section_of(s, unwind, 4))
            return 0;
        const uint8_t *info = s->bytes + unwind;
        if (!(info[0] >> 3 & UNWIND_CHAINED))
            return hk_get32(entry);
        uint32_t codes = (uint32_t)(info[2] + 1) & ~1u; // two bytes each, an even number of them
        uint32_t chained = unwind + 4 + 2 * codes;
        entry = hk_scan_section_of(s, chained, PDATA_BYTES) ? s->bytes + chained : NULL;
    }
    return 0;
}

// ------------------------------------------------------------------------------------- the vtables

static void find_vtables(const hk_scan *s, uint32_t function, unsigned slot, hk_scan_list *out)
{
    uint64_t address = s->base + function;
    out->count = 0;
    for (uint32_t i = 0; i < s->section_count; i++) {
        const hk_scan_section *section = &s->sections[i];
        if (section->executable || section->writable)
            continue;
        uint32_t end = section->rva + section->bytes;
        for (uint32_t at = (section->rva + 7) & ~7u; at + 8 <= end; at += 8)
            if (hk_get64(s->bytes + at) == address && at >= section->rva + 8 * slot &&
                hk_scan_is_vtable(s, at - 8 * slot, slot + 1))
                hk_scan_list_add(out, at - 8 * slot);
    }
}

hk_scan_outcome hk_scan_anchor(const hk_scan *s, const char *literal, unsigned slot,
                               hk_scan_list *out, uint32_t *function)
{
    unsigned times;
    out->count = 0;
    *function = 0;
    uint32_t text = hk_scan_find_text(s, literal, false, &times);
    if (times != 1)
        return times ? HK_SCAN_AMBIGUOUS : HK_SCAN_ABSENT;
    uint32_t place = find_in_code(s, LEA, is_lea_of, text, &times);
    uint32_t around = times == 1 ? function_around(s, place) : 0;
    if (!around)
        return HK_SCAN_AMBIGUOUS;
    find_vtables(s, around, slot, out);
    if (!out->count) {
        // The compiler may have moved the body into a function of its own.
        place = find_in_code(s, CALL, is_call_of, around, &times);
        around = times == 1 ? function_around(s, place) : 0;
        if (!around)
            return HK_SCAN_AMBIGUOUS;
        find_vtables(s, around, slot, out);
    }
    *function = around;
    return out->count ? HK_SCAN_OK : HK_SCAN_AMBIGUOUS;
}
