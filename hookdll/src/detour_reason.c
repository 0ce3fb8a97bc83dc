// SPDX-License-Identifier: MIT
// Names and sentences of the engine's reasons; nothing else.
#include "hookdll/detour.h"

static const struct {
    const char *name;
    const char *text;
} reasons[] = {
#define XX(name, text) {#name, text},
    HK_DETOUR_REASON_MAP(XX)
#undef XX
};

const char *hk_detour_reason_text(hk_detour_reason reason)
{
    return (unsigned)reason < HK_DETOUR_REASON_COUNT ? reasons[reason].text : "unknown reason";
}

const char *hk_detour_reason_name(hk_detour_reason reason)
{
    return (unsigned)reason < HK_DETOUR_REASON_COUNT ? reasons[reason].name : "UNKNOWN";
}
