// SPDX-License-Identifier: MIT
#include "mapped_image.h"

#include "op.h"

#include <windows.h>

enum { PAGE = 4096 };

// An image that we look into. Programs that guard themselves take away the access to parts of it,
// its first page too: nothing is read before the system said that it can be.
typedef struct image {
    const uint8_t *base;
    const IMAGE_NT_HEADERS64 *nt;
    size_t size;
    hk_region known;
} image;

static const IMAGE_NT_HEADERS64 *headers(const uint8_t *base)
{
    const IMAGE_DOS_HEADER *dos = (const void *)base;
    if (dos->e_magic != IMAGE_DOS_SIGNATURE || dos->e_lfanew < 0 || dos->e_lfanew > 4096 - 512)
        return NULL;
    const IMAGE_NT_HEADERS64 *nt = (const void *)(base + dos->e_lfanew);
    if (nt->Signature != IMAGE_NT_SIGNATURE ||
        nt->OptionalHeader.Magic != IMAGE_NT_OPTIONAL_HDR64_MAGIC)
        return NULL;
    return nt;
}

static bool open_image(image *m, const uint8_t *base)
{
    *m = (image){.base = base};
    if (!hk_region_covers(&m->known, (uint64_t)(uintptr_t)base, PAGE) || !(m->nt = headers(base)))
        return false;
    m->size = m->nt->OptionalHeader.SizeOfImage;
    return true;
}

// These bytes of it, NULL if they are not there or can't be read.
static const void *part(image *m, size_t offset, size_t bytes)
{
    bool is_there = offset <= m->size && bytes <= m->size - offset &&
                    hk_region_covers(&m->known, (uint64_t)(uintptr_t)m->base + offset, bytes);
    return is_there ? m->base + offset : NULL;
}

static size_t length(const char *text)
{
    size_t len = 0;
    while (text[len])
        len++;
    return len;
}

static bool is_text(image *m, size_t offset, const char *text, size_t len)
{
    const char *there = part(m, offset, len);
    return there && memcmp(there, text, len) == 0;
}

static IMAGE_DATA_DIRECTORY directory(const image *m, unsigned number)
{
    return m->nt->OptionalHeader.NumberOfRvaAndSizes > number
               ? m->nt->OptionalHeader.DataDirectory[number]
               : (IMAGE_DATA_DIRECTORY){0, 0};
}

size_t hk_image_size(const uint8_t *base)
{
    image m;
    return open_image(&m, base) ? m.size : 0;
}

bool hk_image_scan(hk_scan *s, const uint8_t *base)
{
    bool opened = hk_scan_open(s, base, hk_image_size(base), (uint64_t)(uintptr_t)base);
    for (uint32_t i = 0; opened && i < s->section_count; i++)
        opened =
            hk_is_readable((uint64_t)(uintptr_t)base + s->sections[i].rva, s->sections[i].bytes);
    return opened;
}

void *hk_image_export(const uint8_t *base, const char *name)
{
    image m;
    size_t len = length(name) + 1;
    if (!open_image(&m, base))
        return NULL;
    IMAGE_DATA_DIRECTORY at = directory(&m, IMAGE_DIRECTORY_ENTRY_EXPORT);
    const IMAGE_EXPORT_DIRECTORY *exports =
        at.VirtualAddress ? part(&m, at.VirtualAddress, sizeof *exports) : NULL;
    if (!exports)
        return NULL;
    const uint32_t *names = part(&m, exports->AddressOfNames, (size_t)exports->NumberOfNames * 4);
    const uint16_t *ordinals =
        part(&m, exports->AddressOfNameOrdinals, (size_t)exports->NumberOfNames * 2);
    const uint32_t *functions =
        part(&m, exports->AddressOfFunctions, (size_t)exports->NumberOfFunctions * 4);
    for (uint32_t i = 0; names && ordinals && functions && i < exports->NumberOfNames; i++) {
        if (!is_text(&m, names[i], name, len))
            continue;
        uint32_t rva = ordinals[i] < exports->NumberOfFunctions ? functions[ordinals[i]] : 0;
        bool forwarder = rva - at.VirtualAddress < at.Size;
        return rva && rva < m.size && !forwarder ? (void *)(uintptr_t)(base + rva) : NULL;
    }
    return NULL;
}

// The import descriptor number `i`, NULL behind the last.
static const IMAGE_IMPORT_DESCRIPTOR *import_at(image *m, size_t i)
{
    size_t at = directory(m, IMAGE_DIRECTORY_ENTRY_IMPORT).VirtualAddress;
    const IMAGE_IMPORT_DESCRIPTOR *from = at ? part(m, at + i * sizeof *from, sizeof *from) : NULL;
    return from && from->FirstThunk ? from : NULL;
}

void **hk_image_import(const uint8_t *base, const char *name)
{
    image m;
    const IMAGE_IMPORT_DESCRIPTOR *from;
    size_t len = length(name) + 1;
    for (size_t i = 0; (i || open_image(&m, base)) && (from = import_at(&m, i)) != NULL; i++) {
        size_t names = from->OriginalFirstThunk, slots = from->FirstThunk;
        const uint64_t *entry;
        for (; names && (entry = part(&m, names, 8)) != NULL && *entry; names += 8, slots += 8)
            if (!(*entry >> 63) && is_text(&m, (size_t)*entry + 2, name, len))
                return (void **)(uintptr_t)part(&m, slots, 8);
    }
    return NULL;
}

bool hk_image_imports_from(const uint8_t *base, const char *prefix)
{
    image m;
    const IMAGE_IMPORT_DESCRIPTOR *from;
    size_t len = length(prefix);
    for (size_t i = 0; (i || open_image(&m, base)) && (from = import_at(&m, i)) != NULL; i++) {
        const uint8_t *name = part(&m, from->Name, len);
        size_t n = 0;
        while (name && n < len && (name[n] | 0x20) == (prefix[n] | 0x20))
            n++;
        if (n == len)
            return true;
    }
    return false;
}
