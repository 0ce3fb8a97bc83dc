// SPDX-License-Identifier: MIT
#include "tracelogging/codec.h"

#include <stddef.h>

#define TYPE_INFO_U8    "U8", 4, 0, 1
#define TYPE_INFO_U16   "U16", 6, 0, 2
#define TYPE_INFO_U32   "U32", 8, 0, 4
#define TYPE_INFO_I64   "I64", 9, 0, 8
#define TYPE_INFO_U64   "U64", 10, 0, 8
#define TYPE_INFO_HEX64 "HEX64", 21, 0, 8
#define TYPE_INFO_STR   "STR", 23, 35, 0
#define TYPE_INFO_I64S  "I64S", 9 | 64, 0, 0

#define FIELD(name, type, text) {#name, text, TYPE_INFO_##type},
#define XX(event, level, keyword, text)                                                            \
    static const tl_field_info fields_##event[] = {TL_FIELDS_##event(FIELD, FIELD)};
TL_EVENT_MAP(XX)
#undef XX

static const tl_event_info events[] = {
#define XX(event, level, keyword, text)                                                            \
    {#event, text, level, keyword, sizeof fields_##event / sizeof *fields_##event, fields_##event},
    TL_EVENT_MAP(XX)
#undef XX
};

const tl_event_info *tl_event_get(tl_event event)
{
    unsigned index = (unsigned)event - 1;
    return index < sizeof events / sizeof *events ? &events[index] : NULL;
}
