// SPDX-License-Identifier: MIT
#include "metadata.h"

#include <stddef.h>

#define FIELD(name, type, text) {#name, text, TL_TYPE_##type},
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
