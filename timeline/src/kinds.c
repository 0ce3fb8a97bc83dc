// SPDX-License-Identifier: MIT
#include "timeline/timeline.h"

#define COLUMN(column, type) {#column, TM_##type},
#define K(kind)              static const tm_column columns_##kind[] = {TM_COLUMNS_##kind(COLUMN)};
TM_KINDS(K)
#undef K

static const tm_kind_info kinds[] = {
#define K(kind) {#kind, sizeof columns_##kind / sizeof *columns_##kind, columns_##kind},
    TM_KINDS(K)
#undef K
};

const tm_kind_info *tm_kind_get(tm_kind kind)
{
    return (unsigned)kind < TM_KIND_COUNT ? &kinds[kind] : NULL;
}
