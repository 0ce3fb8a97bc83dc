// SPDX-License-Identifier: MIT
// Decides the exact bytes: see docs/timeline-format.md. Writes no value that a plain MessagePack
// library could not read back, and no text that is not valid UTF-8.
#include "encode.h"

#include "common/crc32.h"
#include "common/utf.h"

#include <msgpack/pack.h>
#include <string.h>

static int append_bytes(void *data, const char *bytes, size_t len)
{
    cm_buf_append(data, bytes, len);
    return 0; // the buffer's error is sticky
}

static msgpack_packer packer_into(cm_buf *out)
{
    msgpack_packer pk;
    msgpack_packer_init(&pk, out, append_bytes);
    return pk;
}

static void pack_text(msgpack_packer *pk, const char *text)
{
    size_t len = strlen(text);
    msgpack_pack_str(pk, len);
    msgpack_pack_str_body(pk, text, len);
}

// For text from elsewhere: cut and repaired.
static void pack_foreign_text(msgpack_packer *pk, const char *text)
{
    char repaired[1024];
    cm_utf8_repair(text ? text : "", CM_UTF_NUL, repaired, sizeof repaired);
    pack_text(pk, repaired);
}

// Always five bytes, whatever the value: places behind it must not depend on it.
static void append_crc(cm_buf *out, uint32_t crc)
{
    uint8_t bytes[5] = {0xce, (uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8),
                        (uint8_t)crc};
    cm_buf_append(out, bytes, sizeof bytes);
}

static void pack_kinds(msgpack_packer *pk)
{
    msgpack_pack_map(pk, TM_KIND_COUNT);
    for (tm_kind kind = 0; kind < TM_KIND_COUNT; kind++) {
        const tm_kind_info *info = tm_kind_get(kind);
        pack_text(pk, info->name);
        msgpack_pack_array(pk, info->column_count);
        for (unsigned i = 0; i < info->column_count; i++) {
            msgpack_pack_array(pk, 2);
            pack_text(pk, info->columns[i].name);
            pack_text(pk, tm_type_name(info->columns[i].type));
        }
    }
}

void tm_encode_header(cm_buf *out, const tm_header *header)
{
    size_t begin = out->len;
    msgpack_packer pk = packer_into(out);
    msgpack_pack_map(&pk, 10);
    pack_text(&pk, "magic");
    pack_text(&pk, TM_MAGIC);
    pack_text(&pk, "version");
    msgpack_pack_int(&pk, TM_VERSION);
    pack_text(&pk, "ortscope");
    pack_foreign_text(&pk, header->ortscope_version);
    pack_text(&pk, "start_utc_ns");
    msgpack_pack_uint64(&pk, header->start_utc_ns);
    pack_text(&pk, "os");
    pack_foreign_text(&pk, header->os);
    pack_text(&pk, "cpu");
    pack_foreign_text(&pk, header->cpu);
    pack_text(&pk, "cpu_count");
    msgpack_pack_int(&pk, header->cpu_count);
    pack_text(&pk, "types");
    msgpack_pack_map(&pk, TM_TYPE_COUNT);
    for (unsigned type = 0; type < TM_TYPE_COUNT; type++) {
        pack_text(&pk, tm_type_name((tm_type)type));
        pack_text(&pk, tm_type_is_delta((tm_type)type) ? TM_ENCODING_DELTA : TM_ENCODING_PLAIN);
    }
    pack_text(&pk, "kinds");
    pack_kinds(&pk);
    uint32_t crc = out->failed ? 0 : cm_crc32(0, out->data + begin, out->len - begin);
    pack_text(&pk, "crc");
    append_crc(out, crc);
}

// The head of a block whose columns are in `columns`, then these.
static void append_block(cm_buf *out, const char *kind, unsigned column_count, size_t rows,
                         size_t first, const cm_buf *columns)
{
    msgpack_packer pk = packer_into(out);
    if (columns->failed)
        out->failed = true;
    msgpack_pack_array(&pk, 2 + (size_t)column_count);
    pack_text(&pk, kind);
    msgpack_pack_map(&pk, first ? 4 : 3);
    pack_text(&pk, "rows");
    msgpack_pack_uint64(&pk, rows);
    pack_text(&pk, "bytes");
    msgpack_pack_uint64(&pk, columns->len);
    if (first) {
        pack_text(&pk, "first");
        msgpack_pack_uint64(&pk, first);
    }
    pack_text(&pk, "crc");
    append_crc(out, tm_block_crc(kind, strlen(kind), rows, first, columns->data, columns->len));
    cm_buf_append(out, columns->data, columns->len);
}

typedef enum column_form { FORM_PLAIN, FORM_DELTA, FORM_UNSIGNED } column_form;

// Values of a column, `stride` apart in memory.
typedef struct column {
    const int64_t *values;
    size_t stride, row_count;
    column_form form;
} column;

static uint64_t value_at(const column *c, size_t row)
{
    return (uint64_t)c->values[row * c->stride];
}

// The first row after `row` that has another value.
static size_t stretch_end(const column *c, size_t row)
{
    size_t end = row + 1;
    while (end < c->row_count && value_at(c, end) == value_at(c, row))
        end++;
    return end;
}

// 0: it is not worth it. Numbers of a stretch take about six bytes, those of a row one at least.
static size_t count_stretches(const column *c)
{
    size_t count = 0;
    for (size_t row = 0; row < c->row_count; row = stretch_end(c, row))
        if (++count > 1 && count * 6 > c->row_count)
            return 0;
    return count;
}

static void pack_value(msgpack_packer *pk, column_form form, uint64_t value, uint64_t *previous)
{
    if (form == FORM_UNSIGNED)
        msgpack_pack_uint64(pk, value);
    else // differences wrap around, so that any two int64 have one
        msgpack_pack_int64(pk, (int64_t)(value - *previous));
    if (form == FORM_DELTA)
        *previous = value;
}

// How long each stretch is, then what its rows have.
static void pack_stretches(msgpack_packer *pk, const column *c, size_t count)
{
    uint64_t previous = 0;
    msgpack_pack_array(pk, 2);
    msgpack_pack_array(pk, count);
    for (size_t row = 0; row < c->row_count; row = stretch_end(c, row))
        msgpack_pack_uint64(pk, stretch_end(c, row) - row);
    msgpack_pack_array(pk, count);
    for (size_t row = 0; row < c->row_count; row = stretch_end(c, row))
        pack_value(pk, c->form, value_at(c, row), &previous);
}

static void pack_column(msgpack_packer *pk, const int64_t *values, size_t stride, size_t row_count,
                        column_form form)
{
    const column c = {values, stride, row_count, form};
    uint64_t previous = 0;
    size_t stretches = count_stretches(&c);
    if (stretches == 1) { // a single number stands for all rows
        pack_value(pk, form, value_at(&c, 0), &previous);
    } else if (stretches) {
        pack_stretches(pk, &c, stretches);
    } else {
        msgpack_pack_array(pk, row_count);
        for (size_t row = 0; row < row_count; row++)
            pack_value(pk, form, value_at(&c, row), &previous);
    }
}

void tm_encode_rows(cm_buf *out, cm_buf *scratch, tm_kind kind, const int64_t *rows,
                    size_t row_count)
{
    const tm_kind_info *info = tm_kind_get(kind);
    cm_buf_clear(scratch);
    msgpack_packer pk = packer_into(scratch);
    for (unsigned i = 0; i < info->column_count; i++) {
        tm_type type = info->columns[i].type;
        column_form form = type == TM_U64           ? FORM_UNSIGNED
                           : tm_type_is_delta(type) ? FORM_DELTA
                                                    : FORM_PLAIN;
        pack_column(&pk, rows + i, info->column_count, row_count, form);
    }
    append_block(out, info->name, info->column_count, row_count, 0, scratch);
}

void tm_encode_strings(cm_buf *out, cm_buf *scratch, const tm_intern *strings, size_t first,
                       size_t count)
{
    cm_buf_clear(scratch);
    msgpack_packer pk = packer_into(scratch);
    msgpack_pack_array(&pk, count);
    for (size_t i = first; i < first + count; i++) {
        const tm_intern_ref *ref = tm_intern_get(strings, i);
        msgpack_pack_str(&pk, ref->len);
        msgpack_pack_str_body(&pk, strings->text.data + ref->offset, ref->len);
    }
    append_block(out, TM_KIND_NAME_string, 1, count, first + 1, scratch);
}

void tm_encode_index(cm_buf *out, cm_buf *scratch, const tm_index_entry *entries, size_t count)
{
    cm_buf_clear(scratch);
    msgpack_packer pk = packer_into(scratch);
    msgpack_pack_array(&pk, count);
    for (size_t i = 0; i < count; i++)
        pack_text(&pk, entries[i].kind == TM_INDEX_STRING
                           ? TM_KIND_NAME_string
                           : tm_kind_get((tm_kind)entries[i].kind)->name);
    cm_buf numbers = CM_BUF_INIT;
    int64_t *columns = cm_buf_extend(&numbers, count * 4 * sizeof *columns);
    if (!columns) {
        cm_buf_deinit(&numbers);
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        columns[i] = (int64_t)entries[i].offset;
        columns[count + i] = entries[i].rows;
        columns[2 * count + i] = entries[i].first_time;
        columns[3 * count + i] = entries[i].last_time;
    }
    pack_column(&pk, columns, 1, count, FORM_DELTA);
    pack_column(&pk, columns + count, 1, count, FORM_PLAIN);
    pack_column(&pk, columns + 2 * count, 1, count, FORM_DELTA);
    pack_column(&pk, columns + 3 * count, 1, count, FORM_DELTA);
    cm_buf_deinit(&numbers);
    append_block(out, TM_KIND_NAME_index, 5, count, 0, scratch);
}

void tm_encode_end(cm_buf *out, uint64_t index_offset)
{
    msgpack_packer pk = packer_into(out);
    msgpack_pack_array(&pk, 2);
    pack_text(&pk, TM_KIND_NAME_end);
    msgpack_pack_map(&pk, 1);
    pack_text(&pk, "index");
    cm_buf_append_byte(out, 0xcf); // always the long form, for the fixed length
    for (int shift = 56; shift >= 0; shift -= 8)
        cm_buf_append_byte(out, (uint8_t)(index_offset >> shift));
}
