// SPDX-License-Identifier: MIT
// The PE format, as far as pe_image.h needs it. Offsets are those of the PE/COFF specification;
// structures are read field by field, so alignment and byte order of the host do not matter.
#include "pe_image.h"

#include <string.h>

enum {
    DOS_NEW_HEADER_OFFSET = 0x3c,
    DOS_HEADER_BYTES = 0x40,
    COFF_BYTES = 24, // signature included
    OPTIONAL_MAGIC_PE32 = 0x10b,
    OPTIONAL_MAGIC_PE32_PLUS = 0x20b,
    OPTIONAL_SUBSYSTEM = 68, // the same place in both forms
    PE32_DIRECTORIES = 96,
    PE32_PLUS_DIRECTORIES = 112,
    DIRECTORY_EXPORT = 0,
    DIRECTORY_CLI = 14,
    SECTION_BYTES = 40,
    SECTIONS_MAX = 96, // the loader's own limit
    EXPORT_DIRECTORY_BYTES = 40,
    EXPORTS_MAX = 65536,
    EXPORT_NAME_MAX = 128,
};

#define CHARACTERISTIC_EXECUTABLE 0x0002u
#define CHARACTERISTIC_DLL        0x2000u
#define SUBSYSTEM_WINDOWS_GUI     2u
#define SUBSYSTEM_WINDOWS_CONSOLE 3u
#define CLI_IL_ONLY               0x00001u
#define CLI_32BIT_REQUIRED        0x00002u
#define CLI_32BIT_PREFERRED       0x20000u

static uint16_t get_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | (uint16_t)(p[1] << 8));
}

static uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t)get_u16(p) | ((uint32_t)get_u16(p + 2) << 16);
}

// ---------------------------------------------------------------------------------- files on disk

// Where in the file the bytes at `rva` lie, or 0.
static uint64_t file_offset_of(const uint8_t *sections, size_t count, uint32_t rva)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *section = sections + i * SECTION_BYTES;
        uint32_t start = get_u32(section + 12);
        uint32_t raw_bytes = get_u32(section + 16);
        uint32_t raw_offset = get_u32(section + 20);
        if (rva >= start && rva - start < raw_bytes)
            return (uint64_t)raw_offset + (rva - start);
    }
    return 0;
}

// The .NET header's place in the file, or 0 if the image is not a .NET one.
static uint64_t find_cli_header(const uint8_t *bytes, size_t len, size_t optional,
                                size_t optional_bytes, size_t section_count)
{
    if (optional_bytes < PE32_DIRECTORIES + (DIRECTORY_CLI + 1) * 8)
        return 0;
    if (get_u32(bytes + optional + PE32_DIRECTORIES - 4) <= DIRECTORY_CLI)
        return 0;
    const uint8_t *entry = bytes + optional + PE32_DIRECTORIES + DIRECTORY_CLI * 8;
    uint32_t rva = get_u32(entry);
    if (rva == 0 || get_u32(entry + 4) < INJ_CLI_HEADER_BYTES)
        return 0;
    size_t table = optional + optional_bytes;
    if (section_count > SECTIONS_MAX || len - table < section_count * SECTION_BYTES)
        return 0;
    return file_offset_of(bytes + table, section_count, rva);
}

static inj_image_kind kind_of_machine(uint16_t machine)
{
    switch (machine) {
    case INJ_MACHINE_X64:
        return INJ_IMAGE_X64;
    case INJ_MACHINE_X86:
        return INJ_IMAGE_X86;
    case INJ_MACHINE_ARM64:
        return INJ_IMAGE_ARM64;
    default:
        return INJ_IMAGE_OTHER_MACHINE;
    }
}

inj_image inj_image_classify(const uint8_t *bytes, size_t len)
{
    inj_image image = {.kind = INJ_IMAGE_NOT_PE};
    if (len < 2 || bytes[0] != 'M' || bytes[1] != 'Z')
        return image;
    image.kind = INJ_IMAGE_DOS;
    if (len < DOS_HEADER_BYTES)
        return image;
    size_t pe = get_u32(bytes + DOS_NEW_HEADER_OFFSET);
    if (pe > len || len - pe < COFF_BYTES || memcmp(bytes + pe, "PE\0\0", 4) != 0)
        return image;

    image.kind = INJ_IMAGE_DAMAGED;
    image.machine = get_u16(bytes + pe + 4);
    size_t section_count = get_u16(bytes + pe + 6);
    size_t optional = pe + COFF_BYTES;
    size_t optional_bytes = get_u16(bytes + pe + 20);
    uint16_t characteristics = get_u16(bytes + pe + 22);
    if (len - optional < optional_bytes || optional_bytes < OPTIONAL_SUBSYSTEM + 2)
        return image;
    uint16_t magic = get_u16(bytes + optional);
    bool is_wide = magic == OPTIONAL_MAGIC_PE32_PLUS;
    if (!is_wide && magic != OPTIONAL_MAGIC_PE32)
        return image;
    inj_image_kind kind = kind_of_machine(image.machine);
    // The two places that tell the width have to agree, or the loader refuses the file.
    if ((kind == INJ_IMAGE_X86 && is_wide) || (kind == INJ_IMAGE_X64 && !is_wide) ||
        (kind == INJ_IMAGE_ARM64 && !is_wide) || !(characteristics & CHARACTERISTIC_EXECUTABLE))
        return image;

    uint16_t subsystem = get_u16(bytes + optional + OPTIONAL_SUBSYSTEM);
    if (characteristics & CHARACTERISTIC_DLL)
        kind = INJ_IMAGE_LIBRARY;
    else if (subsystem != SUBSYSTEM_WINDOWS_GUI && subsystem != SUBSYSTEM_WINDOWS_CONSOLE)
        kind = INJ_IMAGE_NOT_PROGRAM;
    else if (kind == INJ_IMAGE_X86)
        image.cli_offset = find_cli_header(bytes, len, optional, optional_bytes, section_count);
    image.kind = kind;
    return image;
}

void inj_image_apply_cli(inj_image *image, const uint8_t *bytes, size_t len)
{
    if (image->kind != INJ_IMAGE_X86 || len < INJ_CLI_HEADER_BYTES)
        return;
    uint32_t flags = get_u32(bytes + 16);
    bool is_pure = flags & CLI_IL_ONLY;
    bool wants_32bit = flags & (CLI_32BIT_REQUIRED | CLI_32BIT_PREFERRED);
    if (get_u32(bytes) >= INJ_CLI_HEADER_BYTES && is_pure && !wants_32bit)
        image->kind = INJ_IMAGE_ANYCPU;
}

// ----------------------------------------------------------------------------------- loaded images

typedef struct export_table {
    uint32_t start, bytes; // of the directory: an export that points into it is a forwarder
    uint32_t function_count, name_count;
    uint32_t functions, names, ordinals; // RVAs
} export_table;

static bool read_export_table(inj_read_image_fn *read, void *context, export_table *out)
{
    uint8_t dos[DOS_HEADER_BYTES];
    if (!read(context, 0, dos, sizeof dos) || dos[0] != 'M' || dos[1] != 'Z')
        return false;
    uint32_t pe = get_u32(dos + DOS_NEW_HEADER_OFFSET);
    uint8_t head[COFF_BYTES + PE32_PLUS_DIRECTORIES + 8];
    if (pe > INJ_IMAGE_HEAD_BYTES || !read(context, pe, head, sizeof head) ||
        memcmp(head, "PE\0\0", 4) != 0)
        return false;
    const uint8_t *optional = head + COFF_BYTES;
    if (get_u16(optional) != OPTIONAL_MAGIC_PE32_PLUS ||
        get_u32(optional + PE32_PLUS_DIRECTORIES - 4) <= DIRECTORY_EXPORT)
        return false;
    out->start = get_u32(optional + PE32_PLUS_DIRECTORIES);
    out->bytes = get_u32(optional + PE32_PLUS_DIRECTORIES + 4);

    uint8_t directory[EXPORT_DIRECTORY_BYTES];
    if (out->start == 0 || !read(context, out->start, directory, sizeof directory))
        return false;
    out->function_count = get_u32(directory + 20);
    out->name_count = get_u32(directory + 24);
    out->functions = get_u32(directory + 28);
    out->names = get_u32(directory + 32);
    out->ordinals = get_u32(directory + 36);
    return out->function_count <= EXPORTS_MAX && out->name_count <= EXPORTS_MAX;
}

// RVAs wrap around where a hostile table wants them to; the reader refuses what is not there.
static uint32_t element(uint32_t table, uint32_t index, uint32_t size)
{
    return table + index * size;
}

// The sign of strcmp(name, string at `rva`).
static bool compare_name(inj_read_image_fn *read, void *context, uint32_t rva, const char *name,
                         int *out_order)
{
    char there[EXPORT_NAME_MAX];
    size_t name_bytes = strlen(name) + 1;
    // The last name of a table may end right before an unreadable page: then byte by byte.
    bool whole = read(context, rva, there, name_bytes);
    *out_order = 0;
    for (size_t i = 0; i < name_bytes && *out_order == 0; i++) {
        if (!whole && !read(context, rva + (uint32_t)i, &there[i], 1))
            return false;
        if (there[i] != name[i])
            *out_order = (unsigned char)name[i] < (unsigned char)there[i] ? -1 : 1;
    }
    return true;
}

bool inj_image_find_export(inj_read_image_fn *read, void *context, const char *name,
                           uint32_t *out_rva)
{
    export_table table;
    if (strlen(name) >= EXPORT_NAME_MAX || !read_export_table(read, context, &table))
        return false;
    // Names are sorted: the loader searches the same way.
    uint32_t low = 0, high = table.name_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint8_t raw[4];
        int order;
        if (!read(context, element(table.names, middle, 4), raw, 4) ||
            !compare_name(read, context, get_u32(raw), name, &order))
            return false;
        if (order < 0) {
            high = middle;
        } else if (order > 0) {
            low = middle + 1;
        } else {
            if (!read(context, element(table.ordinals, middle, 2), raw, 2))
                return false;
            uint32_t index = get_u16(raw);
            if (index >= table.function_count ||
                !read(context, element(table.functions, index, 4), raw, 4))
                return false;
            uint32_t rva = get_u32(raw);
            if (rva == 0 || (rva >= table.start && rva - table.start < table.bytes))
                return false;
            *out_rva = rva;
            return true;
        }
    }
    return false;
}
