// SPDX-License-Identifier: MIT
// The timeline reader on any bytes: it must not crash, hang, leak or use much memory, and must say
// so when a file is not complete. The first byte chooses which kinds are asked for.
//
// Checksums would stop a fuzzer at the door, so the input's blocks get right ones first: what is
// tried is what a hostile writer could send, not what a broken disk could.
#include "common/crc32.h"
#include "reader_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Finds "crc" followed by a 32-bit number inside one object and returns the place of the number.
static uint8_t *find_crc(uint8_t *at, const uint8_t *end)
{
    static const uint8_t mark[] = {0xa3, 'c', 'r', 'c', 0xce};
    for (; (size_t)(end - at) >= sizeof mark + 4; at++)
        if (memcmp(at, mark, sizeof mark) == 0)
            return at + sizeof mark;
    return NULL;
}

static void put_big_endian(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void repair_block(uint8_t *begin, const uint8_t *end)
{
    mp_input in = {begin, end};
    mp_token array, kind, map, key;
    uint64_t rows = 0, first = 0;
    if (mp_expect(&in, MP_ARRAY, &array) != MP_OK || mp_expect(&in, MP_STR, &kind) != MP_OK ||
        mp_expect(&in, MP_MAP, &map) != MP_OK)
        return;
    for (uint64_t i = 0; i < map.value; i++) {
        if (mp_expect(&in, MP_STR, &key) != MP_OK)
            return;
        mp_input value = in;
        if (mp_skip(&in) != MP_OK)
            return;
        if (mp_text_is(&key, "rows"))
            mp_unsigned(&value, &rows);
        if (mp_text_is(&key, "first"))
            mp_unsigned(&value, &first);
    }
    uint8_t *crc = find_crc(begin, in.at);
    if (crc)
        put_big_endian(crc, tm_block_crc((const char *)kind.data, (size_t)kind.value, rows, first,
                                         in.at, (size_t)(end - in.at)));
}

static void repair(uint8_t *data, size_t size)
{
    mp_input in = {data, data + size};
    for (bool header = true; in.at < in.end; header = false) {
        uint8_t *begin = data + (in.at - data);
        if (mp_skip(&in) != MP_OK)
            return;
        if (!header) {
            repair_block(begin, in.at);
            continue;
        }
        uint8_t *crc = in.at - data >= 9 ? find_crc(data + (in.at - data) - 9, in.at) : NULL;
        if (crc)
            put_big_endian(crc, cm_crc32(0, data, (size_t)(crc - 5 - data)));
    }
}

static void read_all(tm_reader *r)
{
    tm_block block;
    cm_status status;
    int64_t sum = 0;
    while ((status = tm_reader_next(r, &block)) == CM_OK) {
        const tm_kind_info *info = tm_kind_get(block.kind);
        if (!info || block.row_count == 0 || block.row_count > TM_ROWS_MAX)
            abort();
        for (unsigned i = 0; i < info->column_count; i++) {
            sum ^= block.columns[i][0] ^ block.columns[i][block.row_count - 1];
            if (info->columns[i].type == TM_STR)
                sum ^= (int64_t)strlen(tm_reader_string(r, block.columns[i][0]));
        }
    }
    if (status != CM_END && status != CM_NO_MEMORY)
        abort();
    volatile int64_t used = sum; // so that the reads above are not left out
    (void)used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t *copy = malloc(size);
    memcpy(copy, data + 1, size - 1);
    if (data[0] & 1)
        repair(copy, size - 1);
    tm_reader *r;
    if (tm_reader_open_memory(copy, size - 1, &r) == CM_OK) {
        if (data[0] & 2)
            tm_reader_only(r, 1u << TM_KIND_run | 1u << (data[0] >> 4));
        read_all(r);
        if (data[0] & 4) {
            tm_reader_only(r, 1u << TM_KIND_mark); // in the middle, and at the end
            read_all(r);
        }
        tm_reader_close(r);
    }
    free(copy);
    return 0;
}
