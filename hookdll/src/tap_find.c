// SPDX-License-Identifier: MIT
// Where a module keeps the state of its TraceLogging provider: a block in writable data whose
// second word is the address of the provider's description, which begins with its size and name.
#include "tap_find.h"

#include "op_scan_internal.h"

#include <string.h>

enum { BLOCK_DESCRIPTION = 8, BLOCK_BYTES = 56 };

static uint32_t find_block(const hk_scan *s, uint64_t description, unsigned *count)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < s->section_count; i++) {
        const hk_scan_section *section = &s->sections[i];
        if (!section->writable)
            continue;
        uint32_t end = section->rva + section->bytes;
        for (uint32_t at = (section->rva + 7) & ~7u; at + 8 <= end; at += 8) {
            if (hk_get64(s->bytes + at) != description || at < section->rva + BLOCK_DESCRIPTION ||
                !hk_scan_section_of(s, at - BLOCK_DESCRIPTION, BLOCK_BYTES))
                continue;
            found = at - BLOCK_DESCRIPTION;
            ++*count;
        }
    }
    return found;
}

static bool is_description(const hk_scan *s, const hk_scan_section *section, uint32_t name,
                           size_t len)
{
    if (name < section->rva + 2)
        return false;
    uint32_t size = hk_get16(s->bytes + name - 2);
    return size >= len + 2 && hk_scan_section_of(s, name - 2, size);
}

unsigned hk_tap_find(const hk_scan *s, const char *name, uint32_t *block, uint32_t *description)
{
    unsigned count = 0;
    size_t len = 1;
    while (name[len - 1])
        len++;
    for (uint32_t i = 0; i < s->section_count; i++) {
        const hk_scan_section *section = &s->sections[i];
        uint32_t end = section->rva + section->bytes;
        if (section->executable || section->writable || section->bytes < len)
            continue;
        for (uint32_t at = section->rva; at + len <= end; at++) {
            at = hk_scan_next_byte(s->bytes, at, end, (uint8_t)name[0]);
            if (at + len > end || memcmp(s->bytes + at, name, len) != 0 ||
                !is_description(s, section, at, len))
                continue;
            unsigned before = count;
            uint32_t found = find_block(s, s->base + at - 2, &count);
            if (count > before) {
                *block = found;
                *description = at - 2;
            }
        }
    }
    return count;
}
