// SPDX-License-Identifier: MIT
// See parquet_column.h.
#include "parquet_column.h"

#include "protobuf.h" // the same varints

#include <stdlib.h>
#include <string.h>

static cm_status no_memory(void)
{
    return cm_fail(CM_NO_MEMORY, "There is not enough memory to export.");
}

cm_status vw_pq_column_init(vw_pq_column *c, const vw_ex_column *like)
{
    memset(c, 0, sizeof *c);
    c->type = like->type;
    c->optional = like->optional;
    c->known = malloc(VW_PQ_ROWS);
    c->values = malloc(VW_PQ_ROWS * sizeof *c->values);
    c->starts = malloc((VW_PQ_ROWS + 1) * sizeof *c->starts);
    return c->known && c->values && c->starts ? CM_OK : no_memory();
}

void vw_pq_column_deinit(vw_pq_column *c)
{
    free(c->known);
    free(c->values);
    free(c->starts);
    cm_buf_deinit(&c->texts);
    cm_map_deinit(&c->by_hash);
    memset(c, 0, sizeof *c);
}

void vw_pq_column_clear(vw_pq_column *c)
{
    c->row_count = c->value_count = c->text_count = 0;
    cm_buf_clear(&c->texts);
    cm_map_deinit(&c->by_hash);
}

// ------------------------------------------------------------------------------------- gathering

static int64_t hash_text(const char *text, size_t len)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (uint8_t)text[i]) * 1099511628211u;
    return (int64_t)hash;
}

static size_t text_len(const vw_pq_column *c, size_t place)
{
    return c->starts[place + 1] - c->starts[place];
}

static cm_status find_text(vw_pq_column *c, const char *text, int64_t *out_place)
{
    size_t len = strlen(text), place;
    int64_t key = hash_text(text, len);
    for (; cm_map_find(&c->by_hash, key, &place); key = (int64_t)((uint64_t)key + 1)) {
        if (text_len(c, place) == len && memcmp(c->texts.data + c->starts[place], text, len) == 0) {
            *out_place = (int64_t)place;
            return CM_OK;
        }
    }
    if (!cm_map_put(&c->by_hash, key, c->text_count))
        return no_memory();
    c->starts[c->text_count] = (uint32_t)c->texts.len;
    cm_buf_append(&c->texts, text, len);
    c->starts[c->text_count + 1] = (uint32_t)c->texts.len;
    *out_place = (int64_t)c->text_count++;
    return cm_buf_status(&c->texts);
}

static void add_value(vw_pq_column *c, int64_t value)
{
    if (c->value_count == 0)
        c->min = c->max = value;
    c->min = value < c->min ? value : c->min;
    c->max = value > c->max ? value : c->max;
    c->values[c->value_count++] = value;
}

cm_status vw_pq_column_add(vw_pq_column *c, const vw_ex_cell *cell)
{
    // A column without unknown cells that gets one all the same: an empty one, rather than a shift.
    static const vw_ex_cell empty_text = {.known = true, .text = ""}, zero = {.known = true};
    bool known = cell->known || !c->optional;
    int64_t value = 0;
    if (!cell->known)
        cell = c->type == VW_EX_TEXT ? &empty_text : &zero;
    c->known[c->row_count++] = known;
    if (!known)
        return CM_OK;
    if (c->type == VW_EX_TEXT)
        CM_TRY(find_text(c, cell->text, &value));
    else if (c->type == VW_EX_REAL)
        memcpy(&value, &cell->real, sizeof value);
    else
        value = cell->integer;
    add_value(c, value);
    return CM_OK;
}

size_t vw_pq_column_bytes(const vw_pq_column *c)
{
    size_t levels = c->optional ? c->row_count / 8 : 0;
    if (c->type == VW_EX_BOOL)
        return levels + c->value_count / 8;
    if (c->type == VW_EX_TEXT)
        return levels + c->texts.len + 4 * c->text_count + c->value_count;
    return levels + 8 * c->value_count;
}

// ----------------------------------------------------------------------------------------- pages

static void put_bits(const int64_t *values, size_t count, unsigned bits, cm_buf *out)
{
    uint64_t pending = 0;
    unsigned have = 0;
    size_t padded = (count + 7) / 8 * 8;
    for (size_t i = 0; i < padded; i++) {
        pending |= (i < count ? (uint64_t)values[i] : 0) << have;
        have += bits;
        for (; have >= 8; have -= 8, pending >>= 8)
            cm_buf_append_byte(out, (uint8_t)pending);
    }
}

void vw_pq_pack(const int64_t *values, size_t count, unsigned bits, cm_buf *out)
{
    bool same = true;
    for (size_t i = 1; i < count && same; i++)
        same = values[i] == values[0];
    if (count == 0)
        return;
    if (same) {
        vw_pb_varint(out, (uint64_t)count << 1);
        for (unsigned shift = 0; shift < bits; shift += 8)
            cm_buf_append_byte(out, (uint8_t)(values[0] >> shift));
        return;
    }
    vw_pb_varint(out, (uint64_t)((count + 7) / 8) << 1 | 1);
    put_bits(values, count, bits, out);
}

static void put_u32(cm_buf *out, size_t value)
{
    for (unsigned shift = 0; shift < 32; shift += 8)
        cm_buf_append_byte(out, (uint8_t)(value >> shift));
}

// Which rows have a value: a length, then the mixture of runs and bits.
static void put_levels(const vw_pq_column *c, cm_buf *out)
{
    cm_buf levels = CM_BUF_INIT;
    int64_t *numbers = malloc((c->row_count + 1) * sizeof *numbers);
    if (!numbers) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < c->row_count; i++)
        numbers[i] = c->known[i];
    vw_pq_pack(numbers, c->row_count, 1, &levels);
    free(numbers);
    put_u32(out, levels.len);
    cm_buf_append(out, levels.data, levels.len);
    cm_buf_deinit(&levels);
}

static void put_text(const vw_pq_column *c, size_t place, cm_buf *out)
{
    put_u32(out, text_len(c, place));
    cm_buf_append(out, c->texts.data + c->starts[place], text_len(c, place));
}

// Texts that hardly ever come again (addresses, messages) would only be told twice.
bool vw_pq_has_dictionary(const vw_pq_column *c)
{
    return c->type == VW_EX_TEXT && c->text_count > 0 &&
           (c->text_count <= 16 || c->text_count <= c->value_count / 2);
}

void vw_pq_dictionary_page(const vw_pq_column *c, cm_buf *out)
{
    for (size_t i = 0; i < c->text_count; i++)
        put_text(c, i, out);
}

void vw_pq_data_page(const vw_pq_column *c, cm_buf *out)
{
    if (c->optional)
        put_levels(c, out);
    if (vw_pq_has_dictionary(c)) {
        unsigned bits = 1;
        while ((uint64_t)(c->text_count - 1) >> bits)
            bits++;
        cm_buf_append_byte(out, (uint8_t)bits);
        vw_pq_pack(c->values, c->value_count, bits, out);
    } else if (c->type == VW_EX_TEXT) {
        for (size_t i = 0; i < c->value_count; i++)
            put_text(c, (size_t)c->values[i], out);
    } else if (c->type == VW_EX_BOOL) {
        put_bits(c->values, c->value_count, 1, out);
    } else {
        for (size_t i = 0; i < c->value_count; i++) {
            uint8_t bytes[8];
            for (unsigned k = 0; k < 8; k++)
                bytes[k] = (uint8_t)((uint64_t)c->values[i] >> 8 * k);
            cm_buf_append(out, bytes, sizeof bytes);
        }
    }
}
