// SPDX-License-Identifier: MIT
#include "mapped_image.h"

#include <stdbool.h>

#include <windows.h>

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

size_t hk_image_size(const uint8_t *base)
{
    const IMAGE_NT_HEADERS64 *nt = headers(base);
    return nt ? nt->OptionalHeader.SizeOfImage : 0;
}

static bool in_image(size_t image, size_t offset, size_t bytes)
{
    return offset <= image && bytes <= image - offset;
}

static bool same(const char *a, const char *b, size_t limit)
{
    for (size_t i = 0; i < limit; i++) {
        if (a[i] != b[i])
            return false;
        if (!a[i])
            return true;
    }
    return false;
}

void *hk_image_export(const uint8_t *base, const char *name)
{
    const IMAGE_NT_HEADERS64 *nt = headers(base);
    if (!nt || nt->OptionalHeader.NumberOfRvaAndSizes <= IMAGE_DIRECTORY_ENTRY_EXPORT)
        return NULL;
    size_t image = nt->OptionalHeader.SizeOfImage;
    IMAGE_DATA_DIRECTORY at = nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT];
    if (!at.VirtualAddress || !in_image(image, at.VirtualAddress, sizeof(IMAGE_EXPORT_DIRECTORY)))
        return NULL;
    const IMAGE_EXPORT_DIRECTORY *exports = (const void *)(base + at.VirtualAddress);
    if (!in_image(image, exports->AddressOfNames, (size_t)exports->NumberOfNames * 4) ||
        !in_image(image, exports->AddressOfNameOrdinals, (size_t)exports->NumberOfNames * 2) ||
        !in_image(image, exports->AddressOfFunctions, (size_t)exports->NumberOfFunctions * 4))
        return NULL;
    const uint32_t *names = (const void *)(base + exports->AddressOfNames);
    const uint16_t *ordinals = (const void *)(base + exports->AddressOfNameOrdinals);
    const uint32_t *functions = (const void *)(base + exports->AddressOfFunctions);
    for (uint32_t i = 0; i < exports->NumberOfNames; i++) {
        if (names[i] >= image || !same((const char *)base + names[i], name, image - names[i]))
            continue;
        uint32_t rva = ordinals[i] < exports->NumberOfFunctions ? functions[ordinals[i]] : 0;
        bool forwarder = rva - at.VirtualAddress < at.Size;
        return rva && rva < image && !forwarder ? (void *)(base + rva) : NULL;
    }
    return NULL;
}
