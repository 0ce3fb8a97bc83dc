// SPDX-License-Identifier: MIT
// The tables behind kinds.h, and how each column type is stored.
#include "format.h"

#include "common/crc32.h"

#define COLUMN(column, type) {#column, TM_##type},
#define K(kind)              static const tm_column columns_##kind[] = {TM_COLUMNS_##kind(COLUMN)};
TM_KINDS(K)
#undef K

static const tm_kind_info kinds[] = {
#define K(kind) {#kind, sizeof columns_##kind / sizeof *columns_##kind, columns_##kind},
    TM_KINDS(K)
#undef K
};

#define K(kind)                                                                                    \
    _Static_assert(sizeof columns_##kind / sizeof *columns_##kind <= TM_MAX_COLUMNS,               \
                   "more columns than a tm_block has");
TM_KINDS(K)
#undef K
_Static_assert(TM_KIND_COUNT < 64, "tm_reader_only has 64 bits");

const tm_kind_info *tm_kind_get(tm_kind kind)
{
    return (unsigned)kind < TM_KIND_COUNT ? &kinds[kind] : NULL;
}

// Times, ids and numbers mostly go on from the row before (a run's number by one, its begin by
// some milliseconds), so that the difference is shorter. Durations and strings jump about, hashes
// and clock readings are long anyway.
static const struct {
    const char *name;
    bool delta;
} types[] = {
    [TM_TIME] = {"time", true}, [TM_DUR] = {"dur", false}, [TM_INT] = {"int", true},
    [TM_ID] = {"id", true},     [TM_STR] = {"str", false}, [TM_U64] = {"u64", false},
};
_Static_assert(sizeof types / sizeof *types == TM_TYPE_COUNT, "TM_TYPE_COUNT counts tm_type");

const char *tm_type_name(tm_type type)
{
    return types[type].name;
}

bool tm_type_is_delta(tm_type type)
{
    return types[type].delta;
}

uint32_t tm_block_crc(const char *kind, size_t kind_len, uint64_t rows, uint64_t first,
                      const void *columns, size_t column_bytes)
{
    uint8_t numbers[16];
    for (unsigned i = 0; i < 8; i++) {
        numbers[i] = (uint8_t)(rows >> 8 * i);
        numbers[8 + i] = (uint8_t)(first >> 8 * i);
    }
    uint32_t crc = cm_crc32(0, kind, kind_len);
    crc = cm_crc32(crc, numbers, sizeof numbers);
    return cm_crc32(crc, columns, column_bytes);
}
