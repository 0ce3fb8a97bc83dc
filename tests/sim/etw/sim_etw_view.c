// SPDX-License-Identifier: MIT
// From a record to what a consumer's callback sees.
#include "sim_etw_consumer.h"

#include <string.h>

#define FLAG_EXTENDED  0x0001u
#define FLAG_64_BIT    0x0040u
#define FLAG_CLASSIC   0x0100u
#define FLAG_PROCESSOR 0x0200u

static const struct {
    uint8_t group;
    GUID class;
} g_classes[] = {
    {0, {0x68fdd900, 0x4a3e, 0x11d1, {0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3}}},
    {1, {0x3d6fa8d4, 0xfe05, 0x11d0, {0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c}}},
    {2, {0x3d6fa8d3, 0xfe05, 0x11d0, {0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c}}},
    {3, {0x3d6fa8d0, 0xfe05, 0x11d0, {0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c}}},
    {4, {0x90cbdc39, 0x4a3e, 0x11d1, {0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3}}},
    {5, {0x3d6fa8d1, 0xfe05, 0x11d0, {0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c}}},
    {15, {0xce1dbfb4, 0x137e, 0x4da6, {0x87, 0xb0, 0x3f, 0x59, 0xaa, 0x10, 0x2c, 0xbc}}},
    {20, {0x2cb15d1d, 0x5fc1, 0x11d2, {0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18}}},
    {24, {0xdef2fe46, 0x7bd6, 0x4b80, {0xbd, 0x94, 0xf5, 0x7f, 0xe2, 0x0d, 0x0c, 0xe3}}},
};

static GUID class_of(uint8_t group, uint8_t opcode)
{
    static const GUID none;
    if (group == 3 && opcode == 10) // an image's load is in the process' group on disk
        group = 20;
    for (size_t i = 0; i < sizeof g_classes / sizeof *g_classes; i++)
        if (g_classes[i].group == group)
            return g_classes[i].class;
    return none;
}

static uint16_t u16_at(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, 2);
    return value;
}

// Bytes that the items take, or SE_FOREVER: they do not fit.
static uint32_t view_items(const uint8_t *at, uint32_t left, se_view *out)
{
    uint32_t offset = 0, count = 0;
    for (bool more = true; more;) {
        if (left - offset < 8 || count == SE_ITEMS)
            return SE_FOREVER;
        const uint8_t *item = at + offset;
        uint32_t bytes = u16_at(item), len = u16_at(item + 6);
        if (bytes < 8 || bytes > left - offset || len > bytes - 8)
            return SE_FOREVER;
        more = u16_at(item + 4) & 1;
        out->items[count] = (EVENT_HEADER_EXTENDED_DATA_ITEM){
            .ExtType = u16_at(item + 2), .DataSize = (USHORT)len, .DataPtr = (uintptr_t)(item + 8)};
        out->items[count++].Linkage = more;
        offset += bytes;
    }
    out->record.ExtendedDataCount = (USHORT)count;
    out->record.ExtendedData = out->items;
    return offset;
}

static uint32_t view_event(const uint8_t *at, uint32_t left, se_view *out)
{
    EVENT_HEADER *h = &out->record.EventHeader;
    uint32_t size = u16_at(at), items = 0;
    if (size < 80 || size > left)
        return 0;
    uint16_t flags = u16_at(at + 4);
    memcpy(&h->ThreadId, at + 8, 8);
    memcpy(&h->TimeStamp, at + 16, 64);
    h->Size = (USHORT)size;
    h->Flags = (USHORT)(flags | FLAG_64_BIT | FLAG_PROCESSOR);
    h->EventProperty = u16_at(at + 6);
    if (flags & FLAG_EXTENDED)
        items = view_items(at + 80, size - 80, out);
    if (items == SE_FOREVER)
        return 0;
    out->record.UserData = (void *)(uintptr_t)(at + 80 + items);
    out->record.UserDataLength = (USHORT)(size - 80 - items);
    return size;
}

static uint32_t view_kernel(const uint8_t *at, uint32_t left, bool bare, se_view *out)
{
    EVENT_HEADER *h = &out->record.EventHeader;
    uint32_t size = u16_at(at + 4), header = bare ? 16 : 32;
    if (size < header || size > left)
        return 0;
    h->Size = (USHORT)size;
    h->Flags = FLAG_CLASSIC | FLAG_64_BIT | FLAG_PROCESSOR;
    h->ThreadId = h->ProcessId = SE_FOREVER;
    if (!bare)
        memcpy(&h->ThreadId, at + 8, 8);
    memcpy(&h->TimeStamp, at + (bare ? 8 : 16), 8);
    h->ProviderId = class_of(at[7], at[6]);
    h->EventDescriptor.Opcode = at[6];
    h->EventDescriptor.Version = at[0];
    out->record.UserData = (void *)(uintptr_t)(at + header);
    out->record.UserDataLength = (USHORT)(size - header);
    return size;
}

uint32_t se_view_record(const uint8_t *at, uint32_t left, se_view *out)
{
    memset(out, 0, sizeof *out);
    uint32_t size = 0;
    if (left >= 16 && at[2] == 0x13 && left >= 80)
        size = view_event(at, left, out);
    else if (left >= 16 && (at[2] == 0x11 || at[2] == 0x02))
        size = view_kernel(at, left, at[2] == 0x11, out);
    out->stamp = out->record.EventHeader.TimeStamp.QuadPart;
    return size;
}
