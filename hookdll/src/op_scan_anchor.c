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

// An instruction whose last four bytes, at `at`, are the distance to what it refers to.
typedef bool instruction_test(const hk_scan *s, const hk_scan_section *code, uint32_t at);

// `lea r64, [rip + distance]`
static bool is_lea(const hk_scan *s, const hk_scan_section *code, uint32_t at)
{
    const uint8_t *p = s->bytes + at;
    return at - code->rva >= 3 && (p[-3] & 0xf8) == 0x48 && p[-2] == LEA && (p[-1] & 0xc7) == 0x05;
}

static bool is_call(const hk_scan *s, const hk_scan_section *code, uint32_t at)
{
    return at > code->rva && s->bytes[at - 1] == CALL;
}

// The next place from `at` on whose four bytes are the distance from their end to `target`; `end`
// if there is none. Tens of megabytes are searched while a program waits: 16 places at a time.
static uint32_t next_distance(const uint8_t *bytes, uint32_t at, uint32_t end, uint32_t target)
{
    const __m128i places = _mm_setr_epi32(0, 4, 8, 12), one = _mm_set1_epi32(1);
    for (; end - at >= 19; at += 16) {
        __m128i wanted = _mm_sub_epi32(_mm_set1_epi32((int)(target - 4 - at)), places);
        __m128i hits = _mm_setzero_si128();
        for (int i = 0; i < 4; i++, wanted = _mm_sub_epi32(wanted, one)) {
            __m128i found = _mm_loadu_si128((const __m128i *)(const void *)(bytes + at + i));
            hits = _mm_or_si128(hits, _mm_cmpeq_epi32(found, wanted));
        }
        if (_mm_movemask_epi8(hits))
            break;
    }
    while (end - at >= 4 && hk_get32(bytes + at) != target - 4 - at)
        at++;
    return end - at >= 4 ? at : end;
}

// The last such instruction that refers to `target`; *count says how many there are.
static uint32_t find_in_code(const hk_scan *s, instruction_test *test, uint32_t target,
                             unsigned *count)
{
    uint32_t found = 0;
    *count = 0;
    for (uint32_t i = 0; i < s->section_count; i++) {
        const hk_scan_section *code = &s->sections[i];
        uint32_t end = code->rva + code->bytes;
        if (!code->executable)
            continue;
        for (uint32_t at = next_distance(s->bytes, code->rva, end, target); at < end;
             at = next_distance(s->bytes, at + 1, end, target)) {
            if (!test(s, code, at))
                continue;
            found = at;
            ++*count;
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

bool hk_scan_is_mentioned(const hk_scan *s, uint32_t rva)
{
    unsigned times;
    find_in_code(s, is_lea, rva, &times);
    return times != 0;
}

hk_scan_outcome hk_scan_mention(const hk_scan *s, const char *literal, uint32_t *function)
{
    unsigned times;
    uint32_t text = hk_scan_find_text(s, literal, false, &times);
    if (times != 1)
        return times ? HK_SCAN_AMBIGUOUS : HK_SCAN_ABSENT;
    uint32_t place = find_in_code(s, is_lea, text, &times);
    uint32_t around = times == 1 ? function_around(s, place) : 0;
    if (!around)
        return HK_SCAN_AMBIGUOUS;
    *function = around;
    return HK_SCAN_OK;
}

hk_scan_outcome hk_scan_anchor(const hk_scan *s, const char *literal, unsigned slot,
                               hk_scan_list *out, uint32_t *function)
{
    uint32_t around;
    out->count = 0;
    *function = 0;
    hk_scan_outcome mentioned = hk_scan_mention(s, literal, &around);
    if (mentioned != HK_SCAN_OK)
        return mentioned;
    find_vtables(s, around, slot, out);
    if (!out->count) {
        // The compiler may have moved the body into a function of its own.
        unsigned times;
        uint32_t place = find_in_code(s, is_call, around, &times);
        around = times == 1 ? function_around(s, place) : 0;
        if (!around)
            return HK_SCAN_AMBIGUOUS;
        find_vtables(s, around, slot, out);
    }
    *function = around;
    return out->count ? HK_SCAN_OK : HK_SCAN_AMBIGUOUS;
}
