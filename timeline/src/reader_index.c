// SPDX-License-Identifier: MIT
// The index is a convenience that is never trusted: it is used only when the end mark, its
// checksum and its order fit, and each block that it leads to is checked against it. Whoever finds
// a difference drops it and reads block by block.
#include "reader_internal.h"

#include <stdlib.h>

// Where the end mark says that the index is; 0: no index.
static uint64_t find_index(tm_reader *r)
{
    uint64_t size;
    tm_head end;
    cm_status status;
    if (tm_source_size(&r->source, &size) != CM_OK || size < r->begin + TM_END_BYTES ||
        tm_reader_head(r, size - TM_END_BYTES, &end, &status) != TM_STEP_OK ||
        end.special != TM_SPECIAL_END || end.end != size)
        return 0;
    return end.index_link >= r->begin && end.index_link < size - TM_END_BYTES ? end.index_link : 0;
}

static int32_t entry_kind(const tm_reader *r, const mp_token *name)
{
    if (mp_text_is(name, TM_KIND_NAME_string))
        return TM_INDEX_STRING;
    for (tm_kind kind = 0; kind < TM_KIND_COUNT; kind++)
        if (r->kinds[kind].known && mp_text_is(name, tm_kind_get(kind)->name))
            return (int32_t)kind;
    return TM_INDEX_UNKNOWN;
}

static bool read_entries(tm_reader *r, const tm_head *head, mp_input *in, tm_index_entry *entries,
                         int64_t *numbers)
{
    size_t count = (size_t)head->rows;
    mp_token token;
    if (mp_expect(in, MP_ARRAY, &token) != MP_OK || token.value != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (mp_expect(in, MP_STR, &token) != MP_OK)
            return false;
        entries[i].kind = entry_kind(r, &token);
    }
    if (!tm_take_column(in, count, true, numbers))
        return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = (uint64_t)numbers[i];
        if (i == 0 ? offset != r->begin : offset <= entries[i - 1].offset)
            return false;
        if (offset >= head->offset)
            return false;
        entries[i].offset = offset;
    }
    if (!tm_take_column(in, count, false, numbers))
        return false;
    for (size_t i = 0; i < count; i++) {
        if ((uint64_t)numbers[i] > TM_ROWS_MAX)
            return false;
        entries[i].rows = (uint32_t)numbers[i];
    }
    return true;
}

// The two columns of times; without them all blocks are of any time.
static void read_times(mp_input *in, tm_index_entry *entries, size_t count, int64_t *numbers)
{
    bool good = tm_take_column(in, count, true, numbers);
    for (size_t i = 0; i < count; i++)
        entries[i].first_time = good ? numbers[i] : 0;
    good = good && tm_take_column(in, count, true, numbers);
    for (size_t i = 0; i < count; i++)
        entries[i].last_time = good ? numbers[i] : -1;
}

void tm_reader_load_index(tm_reader *r)
{
    tm_head head;
    mp_input in;
    cm_status status;
    uint64_t offset = find_index(r);
    tm_index_entry *entries = NULL;
    int64_t *numbers = NULL;
    if (offset == 0 || tm_reader_head(r, offset, &head, &status) != TM_STEP_OK ||
        head.special != TM_SPECIAL_INDEX || head.column_count < 3 ||
        tm_reader_columns(r, &head, &in, &status) != TM_STEP_OK ||
        head.rows > head.bytes) // a kind takes a byte at least: bounds what is allocated
        return;
    size_t count = head.rows ? (size_t)head.rows : 1;
    entries = calloc(count, sizeof *entries);
    numbers = calloc(count, sizeof *numbers);
    if (entries && numbers && read_entries(r, &head, &in, entries, numbers)) {
        read_times(&in, entries, (size_t)head.rows, numbers);
        r->index = entries;
        r->index_count = (size_t)head.rows;
        r->index_next = 0;
        r->index_offset = offset;
    } else {
        free(entries);
    }
    free(numbers);
}
