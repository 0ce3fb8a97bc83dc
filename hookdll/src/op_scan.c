// SPDX-License-Identifier: MIT
// What both ways of finding vtables share, and RTTI. See op_scan.h.
#include "op_scan_internal.h"

#include <string.h>

enum {
    DOS_HEADER_BYTES = 64,
    DOS_NEW_HEADER = 0x3c,
    PE_SECTIONS = 6,
    PE_OPTIONAL_BYTES = 20,
    PE_OPTIONAL = 24,
    OPTIONAL_MAGIC = 0x20b,
    OPTIONAL_DIRECTORY_COUNT = 108,
    OPTIONAL_DIRECTORIES = 112,
    DIRECTORY_EXCEPTIONS = 3,
    SECTION_BYTES = 40,
    SECTION_EXECUTABLE = 0x20000000,
    SECTION_READABLE = 0x40000000,
    SECTION_DISCARDABLE = 0x02000000,
};
#define SECTION_WRITABLE 0x80000000u

// ------------------------------------------------------------------------------------------ images

static void note_section(hk_scan *s, const uint8_t *header)
{
    uint32_t bytes = hk_get32(header + 8), rva = hk_get32(header + 12);
    uint32_t flags = hk_get32(header + 36);
    if (!(flags & SECTION_READABLE) || (flags & SECTION_DISCARDABLE) || rva >= s->size ||
        s->section_count == HK_SCAN_SECTIONS_MAX)
        return;
    if (bytes > s->size - rva)
        bytes = (uint32_t)(s->size - rva);
    s->sections[s->section_count++] = (hk_scan_section){.rva = rva,
                                                        .bytes = bytes,
                                                        .executable = flags & SECTION_EXECUTABLE,
                                                        .writable = flags & SECTION_WRITABLE};
}

static void note_pdata(hk_scan *s, const uint8_t *optional, size_t optional_bytes)
{
    const size_t at = OPTIONAL_DIRECTORIES + 8 * DIRECTORY_EXCEPTIONS;
    if (optional_bytes < at + 8 ||
        hk_get32(optional + OPTIONAL_DIRECTORY_COUNT) <= DIRECTORY_EXCEPTIONS)
        return;
    uint32_t rva = hk_get32(optional + at), bytes = hk_get32(optional + at + 4);
    if (rva <= s->size && bytes <= s->size - rva) {
        s->pdata_rva = rva;
        s->pdata_bytes = bytes;
    }
}

bool hk_scan_open(hk_scan *s, const void *memory, size_t size, uint64_t base)
{
    const uint8_t *bytes = memory;
    memset(s, 0, sizeof *s);
    s->bytes = bytes;
    s->base = base;
    s->size = size > UINT32_MAX ? UINT32_MAX : size;
    if (s->size < DOS_HEADER_BYTES || bytes[0] != 'M' || bytes[1] != 'Z')
        return false;
    size_t pe = hk_get32(bytes + DOS_NEW_HEADER);
    if (pe > s->size || s->size - pe < PE_OPTIONAL || hk_get32(bytes + pe) != 0x4550)
        return false;
    size_t optional_bytes = hk_get16(bytes + pe + PE_OPTIONAL_BYTES);
    size_t count = hk_get16(bytes + pe + PE_SECTIONS);
    size_t headers = pe + PE_OPTIONAL + optional_bytes;
    if (headers > s->size || (s->size - headers) / SECTION_BYTES < count ||
        optional_bytes < OPTIONAL_DIRECTORIES ||
        hk_get16(bytes + pe + PE_OPTIONAL) != OPTIONAL_MAGIC)
        return false;
    for (size_t i = 0; i < count; i++)
        note_section(s, bytes + headers + i * SECTION_BYTES);
    note_pdata(s, bytes + pe + PE_OPTIONAL, optional_bytes);
    return s->section_count > 0;
}

const hk_scan_section *hk_scan_section_of(const hk_scan *s, uint32_t rva, size_t bytes)
{
    for (uint32_t i = 0; i < s->section_count; i++) {
        const hk_scan_section *section = &s->sections[i];
        if (rva >= section->rva && rva - section->rva < section->bytes)
            return bytes <= section->bytes - (rva - section->rva) ? section : NULL;
    }
    return NULL;
}

bool hk_scan_in_code(const hk_scan *s, uint64_t address)
{
    uint64_t rva = address - s->base;
    const hk_scan_section *section = rva < s->size ? hk_scan_section_of(s, (uint32_t)rva, 1) : NULL;
    return section && section->executable;
}

bool hk_scan_is_vtable(const hk_scan *s, uint32_t rva, unsigned slots)
{
    if (!hk_scan_section_of(s, rva, (size_t)slots * 8))
        return false;
    for (unsigned i = 0; i < slots; i++)
        if (!hk_scan_in_code(s, hk_get64(s->bytes + rva + 8 * i)))
            return false;
    return true;
}

void hk_scan_list_add(hk_scan_list *list, uint32_t rva)
{
    if (list->count < list->capacity)
        list->rvas[list->count] = rva;
    list->count++;
}

// Where the bytes of `text`, NUL included, stand in sections that are (not) writable; *count says
// how often.
uint32_t hk_scan_find_text(const hk_scan *s, const char *text, bool writable, unsigned *count)
{
    size_t len = 1;
    uint32_t found = 0;
    while (text[len - 1])
        len++;
    *count = 0;
    for (uint32_t i = 0; i < s->section_count; i++) {
        const hk_scan_section *section = &s->sections[i];
        if (section->executable || section->writable != writable || section->bytes < len)
            continue;
        for (uint32_t at = 0; at + len <= section->bytes; at++) {
            at = hk_scan_next_byte(s->bytes + section->rva, at, section->bytes, (uint8_t)text[0]);
            if (at + len > section->bytes || memcmp(s->bytes + section->rva + at, text, len) != 0)
                continue;
            found = section->rva + at;
            ++*count;
        }
    }
    return found;
}

// -------------------------------------------------------------------------------------------- RTTI

enum {
    TYPE_NAME = 16, // TypeDescriptor: vtable, spare, name
    LOCATOR_BYTES = 24,
    HIERARCHY_BYTES = 16,
    BASE_BYTES = 24,
    BASES_MAX = 256,
};

// CompleteObjectLocator: signature, offset, cdOffset, type, hierarchy, self
static const uint8_t *locator_at(const hk_scan *s, uint64_t address)
{
    uint64_t rva = address - s->base;
    if (rva >= s->size || (rva & 3) || !hk_scan_section_of(s, (uint32_t)rva, LOCATOR_BYTES))
        return NULL;
    const uint8_t *locator = s->bytes + rva;
    bool fits = hk_get32(locator) == 1 && hk_get32(locator + 20) == rva;
    return fits ? locator : NULL;
}

// True if the class of `locator` has the base `type` exactly where this vtable's part begins.
static bool has_base(const hk_scan *s, const uint8_t *locator, uint32_t type)
{
    uint32_t hierarchy = hk_get32(locator + 16), offset = hk_get32(locator + 4);
    if (!hk_scan_section_of(s, hierarchy, HIERARCHY_BYTES))
        return false;
    uint32_t count = hk_get32(s->bytes + hierarchy + 8);
    uint32_t array = hk_get32(s->bytes + hierarchy + 12);
    if (count > BASES_MAX || !hk_scan_section_of(s, array, (size_t)count * 4))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t base = hk_get32(s->bytes + array + 4 * i);
        if (!hk_scan_section_of(s, base, BASE_BYTES))
            return false;
        const uint8_t *b = s->bytes + base; // type, contained, mdisp, pdisp, vdisp, attributes
        bool direct = hk_get32(b + 12) == UINT32_MAX; // not a virtual base
        if (hk_get32(b) == type && direct && hk_get32(b + 8) == offset)
            return true;
    }
    return false;
}

hk_scan_outcome hk_scan_rtti(const hk_scan *s, const char *class_name, unsigned slots,
                             hk_scan_list *out)
{
    unsigned times;
    uint32_t name = hk_scan_find_text(s, class_name, true, &times);
    out->count = 0;
    if (times != 1 || name < TYPE_NAME)
        return times ? HK_SCAN_AMBIGUOUS : HK_SCAN_ABSENT;
    for (uint32_t i = 0; i < s->section_count; i++) {
        const hk_scan_section *section = &s->sections[i];
        if (section->executable || section->writable)
            continue;
        uint32_t end = section->rva + section->bytes;
        for (uint32_t at = (section->rva + 7) & ~7u; at + 8 <= end; at += 8) {
            const uint8_t *locator = locator_at(s, hk_get64(s->bytes + at));
            if (locator && has_base(s, locator, name - TYPE_NAME) &&
                hk_scan_is_vtable(s, at + 8, slots))
                hk_scan_list_add(out, at + 8);
        }
    }
    return HK_SCAN_OK;
}

const char *hk_scan_class_name(const hk_scan *s, uint32_t vtable_rva)
{
    if (vtable_rva < 8 || !hk_scan_section_of(s, vtable_rva - 8, 8))
        return NULL;
    const uint8_t *locator = locator_at(s, hk_get64(s->bytes + vtable_rva - 8));
    uint32_t type = locator ? hk_get32(locator + 12) : 0;
    const hk_scan_section *section = hk_scan_section_of(s, type, TYPE_NAME + 4);
    if (!section)
        return NULL;
    const char *name = (const char *)s->bytes + type + TYPE_NAME;
    size_t room = section->bytes - (type - section->rva) - TYPE_NAME;
    for (size_t i = 0; i < room && i < 1024; i++)
        if (!name[i])
            return name[0] == '.' && name[1] == '?' ? name : NULL;
    return NULL;
}
