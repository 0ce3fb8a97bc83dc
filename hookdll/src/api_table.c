// SPDX-License-Identifier: MIT
// api_map.h as a table that modules.c walks when it intercepts a runtime.
#include "hook.h"

#define XX(name, ...) extern void *const hk_entries_##name[HK_MODULES_MAX];
HK_API_CORE(XX)
HK_API_OPTION(XX)
#undef XX

#define PLACE_API(place)     HK_TABLE_API, place, NULL
#define PLACE_EDITOR(place)  HK_TABLE_EDITOR, place, NULL
#define PLACE_EXPORT(place)  HK_TABLE_EXPORT, -1, place
#define PLACE_LITERAL(place) HK_TABLE_LITERAL, -1, place

const hk_api_row hk_api_rows[HK_API_COUNT] = {
#define XX(name, table, place, since)                                                              \
    {#name, PLACE_##table(place), since, hk_entries_##name, HK_READ_NONE, NULL, NULL},
    HK_API_CORE(XX)
#undef XX
#define XX(name, table, place, since, reading, key, value)                                         \
    {#name, PLACE_##table(place), since, hk_entries_##name, HK_READ_##reading, key, value},
        HK_API_OPTION(XX)
#undef XX
};
