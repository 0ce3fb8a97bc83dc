// SPDX-License-Identifier: MIT
// One block at a place in the file. A block is used only when its checksum and every count fit;
// nothing of a damaged block is handed out.
#include "reader_internal.h"

#include "common/utf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tm_step tm_reader_stop(tm_reader *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->damage, sizeof r->damage, fmt, args);
    va_end(args);
    return TM_STEP_STOP;
}

static tm_step stop_cut(tm_reader *r, uint64_t offset)
{
    r->unfinished = true;
    return tm_reader_stop(r,
                          "The file ends in the middle of a block at byte %llu: it is still being "
                          "written, or was cut off. Everything before it was read.",
                          (unsigned long long)offset);
}

static tm_step stop_damaged(tm_reader *r, uint64_t offset, const char *what)
{
    return tm_reader_stop(r,
                          "The block at byte %llu is damaged (%s); everything before it was read.",
                          (unsigned long long)offset, what);
}

static void name_special(tm_reader *r, tm_head *head)
{
    head->special = TM_SPECIAL_UNKNOWN;
    if (strcmp(head->name, TM_KIND_NAME_string) == 0)
        head->special = TM_SPECIAL_STRING;
    else if (strcmp(head->name, TM_KIND_NAME_index) == 0)
        head->special = TM_SPECIAL_INDEX;
    else if (strcmp(head->name, TM_KIND_NAME_end) == 0)
        head->special = TM_SPECIAL_END;
    for (tm_kind kind = 0; kind < TM_KIND_COUNT; kind++)
        if (strcmp(head->name, tm_kind_get(kind)->name) == 0 && r->kinds[kind].known) {
            head->special = TM_SPECIAL_NONE;
            head->kind = kind;
        }
}

static mp_result read_meta(mp_input *in, tm_head *head)
{
    enum { HAS_ROWS = 1, HAS_BYTES = 2, HAS_CRC = 4, HAS_INDEX = 8 };
    mp_token map, key;
    unsigned seen = 0;
    mp_result result = mp_expect(in, MP_MAP, &map);
    for (uint64_t i = 0; result == MP_OK && i < map.value; i++) {
        uint64_t crc;
        if ((result = mp_expect(in, MP_STR, &key)) != MP_OK)
            break;
        if (mp_text_is(&key, "rows")) {
            result = mp_unsigned(in, &head->rows);
            seen |= HAS_ROWS;
        } else if (mp_text_is(&key, "bytes")) {
            result = mp_unsigned(in, &head->bytes);
            seen |= HAS_BYTES;
        } else if (mp_text_is(&key, "first")) {
            result = mp_unsigned(in, &head->first);
        } else if (mp_text_is(&key, "crc")) {
            result = mp_unsigned(in, &crc);
            if (result == MP_OK && crc > UINT32_MAX)
                return MP_BAD;
            if (result == MP_OK)
                head->crc = (uint32_t)crc;
            seen |= HAS_CRC;
        } else if (mp_text_is(&key, "index")) {
            result = mp_unsigned(in, &head->index_link);
            seen |= HAS_INDEX;
        } else {
            result = mp_skip(in);
        }
    }
    if (result != MP_OK)
        return result;
    unsigned needed = head->special == TM_SPECIAL_END ? HAS_INDEX : HAS_ROWS | HAS_BYTES | HAS_CRC;
    return (seen & needed) == needed ? MP_OK : MP_BAD;
}

static mp_result read_head(tm_reader *r, mp_input *in, tm_head *head)
{
    mp_token array, name;
    mp_result result = mp_expect(in, MP_ARRAY, &array);
    if (result != MP_OK)
        return result;
    if (array.value < 2 || array.value > 2 + TM_FILE_COLUMNS_MAX)
        return MP_BAD;
    if ((result = mp_expect(in, MP_STR, &name)) != MP_OK)
        return result;
    // A NUL inside would make two different names equal below.
    if (name.value >= sizeof head->name || memchr(name.data, 0, (size_t)name.value))
        return MP_BAD;
    memcpy(head->name, name.data, (size_t)name.value);
    head->name_len = (size_t)name.value;
    head->column_count = (unsigned)array.value - 2;
    name_special(r, head);
    if (head->special == TM_SPECIAL_END && head->column_count != 0)
        return MP_BAD;
    return read_meta(in, head);
}

tm_step tm_reader_head(tm_reader *r, uint64_t offset, tm_head *out, cm_status *out_status)
{
    uint64_t size;
    const uint8_t *data;
    size_t len;
    *out = (tm_head){.offset = offset};
    if ((*out_status = tm_source_size(&r->source, &size)) != CM_OK ||
        (*out_status = tm_source_fetch(&r->source, offset, TM_HEAD_BYTES_MAX, &data, &len)) !=
            CM_OK)
        return TM_STEP_ERROR;
    if (len == 0)
        return TM_STEP_EOF;
    mp_input in = {data, data + len};
    mp_result result = read_head(r, &in, out);
    if (result == MP_CUT && len < TM_HEAD_BYTES_MAX)
        return stop_cut(r, offset);
    if (result != MP_OK)
        return stop_damaged(r, offset, "its beginning makes no sense");
    uint64_t rows_max = out->special == TM_SPECIAL_INDEX ? TM_INDEX_ROWS_MAX : TM_ROWS_MAX;
    if (out->rows > rows_max || out->bytes > TM_BLOCK_BYTES_MAX)
        return stop_damaged(r, offset, "it claims to be larger than a block may be");
    out->data = offset + (uint64_t)(in.at - data);
    out->end = out->data + out->bytes;
    // The source may have grown since its size was asked, never shrunk: what is fetched is there.
    if (out->end > size && out->bytes > 0)
        return stop_cut(r, offset);
    return TM_STEP_OK;
}

tm_step tm_reader_columns(tm_reader *r, const tm_head *head, mp_input *out, cm_status *out_status)
{
    const uint8_t *data;
    size_t len;
    *out_status = tm_source_fetch(&r->source, head->data, (size_t)head->bytes, &data, &len);
    if (*out_status != CM_OK)
        return TM_STEP_ERROR;
    if (len < head->bytes)
        return stop_cut(r, head->offset);
    if (tm_block_crc(head->name, head->name_len, head->rows, head->first, data, len) != head->crc)
        return stop_damaged(r, head->offset, "its checksum does not fit");
    *out = (mp_input){data, data + len};
    return TM_STEP_OK;
}

tm_step tm_reader_take_rows(tm_reader *r, const tm_head *head, tm_block *out, cm_status *out_status)
{
    const tm_file_kind *kind = &r->kinds[head->kind];
    const tm_kind_info *info = tm_kind_get(head->kind);
    mp_input in;
    tm_step step = tm_reader_columns(r, head, &in, out_status);
    if (step != TM_STEP_OK)
        return step;
    if (head->rows == 0 || head->column_count != kind->column_count)
        return stop_damaged(r, head->offset, "its columns are not those of the header");
    size_t rows = (size_t)head->rows;
    cm_buf_clear(&r->values);
    int64_t *values = cm_buf_extend(&r->values, info->column_count * rows * sizeof *values);
    if (!values) {
        *out_status = cm_buf_status(&r->values);
        return TM_STEP_ERROR;
    }
    bool given[TM_MAX_COLUMNS] = {false};
    for (unsigned i = 0; i < kind->column_count; i++) {
        int8_t ours = kind->columns[i].ours;
        bool fits = ours < 0 ? mp_skip(&in) == MP_OK
                             : tm_take_column(&in, rows, kind->columns[i].delta,
                                              values + (size_t)ours * rows);
        if (!fits)
            return stop_damaged(r, head->offset, "a column does not have the block's rows");
        if (ours >= 0)
            given[ours] = true;
    }
    if (in.at != in.end)
        return stop_damaged(r, head->offset, "bytes are left over behind its columns");
    *out = (tm_block){.kind = head->kind, .row_count = rows};
    for (unsigned i = 0; i < info->column_count; i++) {
        out->columns[i] = values + i * rows;
        if (!given[i])
            memset(values + i * rows, 0, rows * sizeof *values);
    }
    return TM_STEP_OK;
}

tm_step tm_reader_pass_over(tm_reader *r, const tm_head *head, cm_status *out_status)
{
    mp_input in;
    tm_step step = tm_reader_columns(r, head, &in, out_status);
    if (step != TM_STEP_OK)
        return step;
    for (unsigned i = 0; i < head->column_count; i++)
        if (mp_skip(&in) != MP_OK)
            return stop_damaged(r, head->offset, "it has fewer columns than it claims");
    if (in.at != in.end)
        return stop_damaged(r, head->offset, "bytes are left over behind its columns");
    return TM_STEP_OK;
}

// Adds the strings of a checked block; `bytes` is what their text needs with NULs.
static bool store_strings(tm_reader *r, mp_input in, size_t count, size_t bytes)
{
    tm_string_chunk *chunk = malloc(sizeof *chunk + bytes);
    if (!chunk)
        return false;
    const char **places = cm_buf_extend(&r->strings, count * sizeof *places);
    if (!places) {
        free(chunk);
        return false;
    }
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        mp_token token = {0};
        mp_next(&in, &token); // went well before
        places[i] = chunk->text + used;
        used += cm_utf8_repair((const char *)token.data, (size_t)token.value, chunk->text + used,
                               bytes - used) +
                1;
    }
    chunk->next = r->chunks;
    r->chunks = chunk;
    r->string_bytes += bytes;
    return true;
}

tm_step tm_reader_take_strings(tm_reader *r, const tm_head *head, cm_status *out_status)
{
    size_t known = r->strings.len / sizeof(const char *), bytes = 0;
    mp_input in;
    mp_token token;
    tm_step step = tm_reader_columns(r, head, &in, out_status);
    if (step != TM_STEP_OK)
        return step;
    if (head->first != known + 1)
        return stop_damaged(r, head->offset, "strings before it are missing");
    if (head->column_count != 1 || mp_expect(&in, MP_ARRAY, &token) != MP_OK ||
        token.value != head->rows)
        return stop_damaged(r, head->offset, "it does not hold the strings that it claims");
    mp_input strings = in;
    for (uint64_t i = 0; i < head->rows; i++) {
        if (mp_expect(&in, MP_STR, &token) != MP_OK)
            return stop_damaged(r, head->offset, "it does not hold the strings that it claims");
        bytes += cm_utf8_repair((const char *)token.data, (size_t)token.value, NULL, 0) + 1;
    }
    if (in.at != in.end)
        return stop_damaged(r, head->offset, "bytes are left over behind its strings");
    if (bytes > TM_STRINGS_BYTES_MAX - r->string_bytes || head->rows > TM_STRINGS_MAX - known)
        return stop_damaged(r, head->offset, "the file has more text than a timeline may have");
    if (!store_strings(r, strings, (size_t)head->rows, bytes)) {
        *out_status = cm_fail(CM_NO_MEMORY, "There is not enough memory for the timeline's text.");
        return TM_STEP_ERROR;
    }
    return TM_STEP_OK;
}
