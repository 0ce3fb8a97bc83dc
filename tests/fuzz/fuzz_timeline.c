// SPDX-License-Identifier: MIT
// The timeline reader on any bytes: it must not crash, hang, leak or use much memory, and must say
// so when a file is not complete. The first byte chooses which kinds are asked for.
//
// Checksums would stop a fuzzer at the door, so the input's blocks get right ones (and lengths)
// first: what is tried is what a hostile writer could send, not what a broken disk could.
#include "common/crc32.h"
#include "reader_internal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The first place of `mark` in a piece of the input, NULL if it is not there with `room` behind it.
static uint8_t *find(uint8_t *at, const uint8_t *end, const char *mark, size_t room)
{
    size_t len = strlen(mark);
    for (; (size_t)(end - at) >= len + room; at++)
        if (memcmp(at, mark, len) == 0)
            return at + len;
    return NULL;
}

#define CRC_MARK                                                                                   \
    "\xa3"                                                                                         \
    "crc"                                                                                          \
    "\xce"
#define BYTES_MARK                                                                                 \
    "\xa5"                                                                                         \
    "bytes"

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
    size_t columns = (size_t)(end - in.at);
    uint8_t *bytes = find(begin, in.at, BYTES_MARK, 3);
    if (bytes && bytes[0] < 0x80 && columns < 0x80) {
        bytes[0] = (uint8_t)columns;
    } else if (bytes && bytes[0] == 0xcd && columns < 0x10000) {
        bytes[1] = (uint8_t)(columns >> 8);
        bytes[2] = (uint8_t)columns;
    }
    uint8_t *crc = find(begin, in.at, CRC_MARK, 4);
    if (crc)
        put_big_endian(crc, tm_block_crc((const char *)kind.data, (size_t)kind.value, rows, first,
                                         in.at, columns));
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
        uint8_t *crc =
            in.at - data >= 9 ? find(data + (in.at - data) - 9, in.at, CRC_MARK, 4) : NULL;
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
            tm_reader_only(r, TM_BIT(run) | 1u << (data[0] >> 4));
        read_all(r);
        if (data[0] & 4) {
            tm_reader_only(r, TM_BIT(mark)); // in the middle, and at the end
            read_all(r);
        }
        tm_reader_close(r);
    }
    free(copy);
    return 0;
}
