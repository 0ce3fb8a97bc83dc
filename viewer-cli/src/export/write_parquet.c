// SPDX-License-Identifier: MIT
// A table as a Parquet file: row groups of 65536 rows, each column of a group in one page, texts in
// dictionaries; all that a reader needs to find them stands in the footer. Whole numbers have their
// least and greatest value there, so that readers skip groups. Written from the format's own
// description (parquet.thrift); nothing is ever sought back to, so that it goes to a pipe too.
#include "parquet_column.h"
#include "table_writer.h"
#include "thrift.h"

#include <stdlib.h>
#include <string.h>

enum { BOOLEAN = 0, INT64 = 2, DOUBLE = 5, BYTE_ARRAY = 6 };
enum { CODEC_NONE = 0, CODEC_GZIP = 2 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum { REQUIRED = 0, OPTIONAL = 1, CONVERTED_UTF8 = 0 };
#define MAX_GROUP_BYTES ((size_t)32 * 1024 * 1024) // texts may be long

typedef struct parquet {
    vw_ex_table_writer base;
    bool gzip;
    vw_pq_column columns[VW_EX_MAX_COLUMNS];
    size_t column_count;
    uint64_t position;  // in the file
    cm_buf groups;      // their descriptions, as they will stand in the footer
    size_t group_count; // a group is written when it is full
    uint64_t row_count; // in whole groups
    char version[64];
    cm_buf page, packed, head;
} parquet;

// What the footer says about a column of a group.
typedef struct chunk {
    uint64_t dictionary_at, data_at, bytes, unpacked_bytes;
    bool has_dictionary;
} chunk;

static void fail(parquet *p, cm_status status)
{
    if (p->base.out->status == CM_OK)
        p->base.out->status = status;
}

static void put(parquet *p, const void *bytes, size_t len)
{
    cm_out_bytes(p->base.out, bytes, len);
    p->position += len;
}

static void begin(vw_ex_table_writer *w, const tm_header *header)
{
    parquet *p = (parquet *)w;
    size_t len = strlen(header->ortscope_version);
    len = len < sizeof p->version ? len : sizeof p->version - 1;
    memcpy(p->version, header->ortscope_version, len);
    p->version[len] = 0;
    p->position = 0;
    p->group_count = 0;
    p->row_count = 0;
    cm_buf_clear(&p->groups);
    put(p, "PAR1", 4);
}

static void begin_table(vw_ex_table_writer *w, const vw_ex_table *table)
{
    parquet *p = (parquet *)w;
    w->table = table;
    if (p->column_count)
        return; // the next part
    p->column_count = table->column_count;
    for (size_t i = 0; i < p->column_count; i++) {
        cm_status status = vw_pq_column_init(&p->columns[i], &table->columns[i]);
        if (status != CM_OK)
            fail(p, status);
    }
}

// ----------------------------------------------------------------------------------------- pages

static void put_page_head(parquet *p, int type, size_t value_count, int encoding, size_t len,
                          size_t packed_len)
{
    vw_thrift t;
    cm_buf_clear(&p->head);
    vw_th_begin(&t, &p->head);
    vw_th_i32(&t, 1, type);
    vw_th_i32(&t, 2, (int32_t)len);
    vw_th_i32(&t, 3, (int32_t)packed_len);
    vw_th_begin_struct(&t, type == PAGE_DATA ? 5 : 7);
    vw_th_i32(&t, 1, (int32_t)value_count);
    vw_th_i32(&t, 2, encoding);
    if (type == PAGE_DATA) {
        vw_th_i32(&t, 3, VW_PQ_RLE); // of definition levels
        vw_th_i32(&t, 4, VW_PQ_RLE); // of repetition levels, of which there are none
    }
    vw_th_end(&t);
    vw_th_end(&t);
    put(p, p->head.data, p->head.len);
}

// Writes p->page and counts it.
static void put_page(parquet *p, int type, size_t value_count, int encoding, chunk *c)
{
    const cm_buf *bytes = &p->page;
    uint64_t before = p->position;
    cm_status status = cm_buf_status(&p->page);
    if (p->gzip && status == CM_OK) {
        cm_buf_clear(&p->packed);
        status = vw_gzip_block(p->page.data, p->page.len, &p->packed);
        bytes = &p->packed;
    }
    if (status != CM_OK) {
        fail(p, status);
        return;
    }
    put_page_head(p, type, value_count, encoding, p->page.len, bytes->len);
    c->unpacked_bytes += p->position - before + p->page.len;
    put(p, bytes->data, bytes->len);
    c->bytes += p->position - before;
}

static chunk put_column(parquet *p, const vw_pq_column *column)
{
    chunk c = {.has_dictionary = vw_pq_has_dictionary(column)};
    if (c.has_dictionary) {
        c.dictionary_at = p->position;
        cm_buf_clear(&p->page);
        vw_pq_dictionary_page(column, &p->page);
        put_page(p, PAGE_DICTIONARY, column->text_count, VW_PQ_PLAIN, &c);
    }
    c.data_at = p->position;
    cm_buf_clear(&p->page);
    vw_pq_data_page(column, &p->page);
    put_page(p, PAGE_DATA, column->row_count, c.has_dictionary ? VW_PQ_RLE_DICTIONARY : VW_PQ_PLAIN,
             &c);
    return c;
}

// ---------------------------------------------------------------------------------------- footer

static int physical_type(vw_ex_type type)
{
    return type == VW_EX_TEXT   ? BYTE_ARRAY
           : type == VW_EX_REAL ? DOUBLE
           : type == VW_EX_BOOL ? BOOLEAN
                                : INT64;
}

static void put_statistics(vw_thrift *t, const vw_pq_column *column)
{
    uint8_t bounds[2][8];
    for (unsigned k = 0; k < 8; k++) {
        bounds[0][k] = (uint8_t)((uint64_t)column->max >> 8 * k);
        bounds[1][k] = (uint8_t)((uint64_t)column->min >> 8 * k);
    }
    vw_th_begin_struct(t, 12);
    vw_th_i64(t, 3, (int64_t)(column->row_count - column->value_count)); // null_count
    if (column->type == VW_EX_INT && column->value_count) {
        vw_th_binary(t, 5, bounds[0], 8);
        vw_th_binary(t, 6, bounds[1], 8);
    }
    vw_th_end(t);
}

static void describe_chunk(parquet *p, vw_thrift *t, size_t i, const chunk *c)
{
    const vw_pq_column *column = &p->columns[i];
    vw_th_begin_element(t);
    vw_th_i64(t, 2, (int64_t)(c->has_dictionary ? c->dictionary_at : c->data_at));
    vw_th_begin_struct(t, 3);
    vw_th_i32(t, 1, physical_type(column->type));
    vw_th_list(t, 2, VW_TH_I32, c->has_dictionary ? 3 : 2);
    vw_th_bare_i32(t, VW_PQ_PLAIN);
    vw_th_bare_i32(t, VW_PQ_RLE);
    if (c->has_dictionary)
        vw_th_bare_i32(t, VW_PQ_RLE_DICTIONARY);
    vw_th_list(t, 3, VW_TH_BINARY, 1);
    vw_th_bare_text(t, p->base.table->columns[i].name);
    vw_th_i32(t, 4, p->gzip ? CODEC_GZIP : CODEC_NONE);
    vw_th_i64(t, 5, (int64_t)column->row_count);
    vw_th_i64(t, 6, (int64_t)c->unpacked_bytes);
    vw_th_i64(t, 7, (int64_t)c->bytes);
    vw_th_i64(t, 9, (int64_t)c->data_at);
    if (c->has_dictionary)
        vw_th_i64(t, 11, (int64_t)c->dictionary_at);
    put_statistics(t, column);
    vw_th_end(t);
    vw_th_end(t);
}

static void put_group(parquet *p)
{
    chunk chunks[VW_EX_MAX_COLUMNS];
    size_t rows = p->columns[0].row_count;
    uint64_t bytes = 0;
    vw_thrift t;
    if (rows == 0 || cm_out_failed(p->base.out))
        return;
    for (size_t i = 0; i < p->column_count; i++) {
        chunks[i] = put_column(p, &p->columns[i]);
        bytes += chunks[i].unpacked_bytes;
    }
    vw_th_begin(&t, &p->groups);
    vw_th_list(&t, 1, VW_TH_STRUCT, p->column_count);
    for (size_t i = 0; i < p->column_count; i++)
        describe_chunk(p, &t, i, &chunks[i]);
    vw_th_i64(&t, 2, (int64_t)bytes);
    vw_th_i64(&t, 3, (int64_t)rows);
    vw_th_end(&t);
    p->group_count++;
    p->row_count += rows;
    for (size_t i = 0; i < p->column_count; i++)
        vw_pq_column_clear(&p->columns[i]);
}

static size_t pending_bytes(const vw_ex_table_writer *w)
{
    const parquet *p = (const parquet *)w;
    size_t bytes = p->groups.len;
    for (size_t i = 0; i < p->column_count; i++)
        bytes += vw_pq_column_bytes(&p->columns[i]);
    return bytes;
}

static void row(vw_ex_table_writer *w, const vw_ex_cell *cells)
{
    parquet *p = (parquet *)w;
    if (cm_out_failed(w->out))
        return;
    for (size_t i = 0; i < p->column_count; i++) {
        cm_status status = vw_pq_column_add(&p->columns[i], &cells[i]);
        if (status != CM_OK)
            fail(p, status);
    }
    size_t rows = p->columns[0].row_count;
    if (rows == VW_PQ_ROWS || (rows % 256 == 0 && pending_bytes(w) > MAX_GROUP_BYTES))
        put_group(p);
}

static void put_schema(parquet *p, vw_thrift *t)
{
    const vw_ex_table *table = p->base.table;
    vw_th_list(t, 2, VW_TH_STRUCT, p->column_count + 1);
    vw_th_begin_element(t);
    vw_th_text(t, 4, table->name);
    vw_th_i32(t, 5, (int32_t)p->column_count);
    vw_th_end(t);
    for (size_t i = 0; i < p->column_count; i++) {
        const vw_ex_column *c = &table->columns[i];
        vw_th_begin_element(t);
        vw_th_i32(t, 1, physical_type(c->type));
        vw_th_i32(t, 3, c->optional ? OPTIONAL : REQUIRED);
        vw_th_text(t, 4, c->name);
        if (c->type == VW_EX_TEXT) {
            vw_th_i32(t, 6, CONVERTED_UTF8);
            vw_th_begin_struct(t, 10); // the same in today's terms: LogicalType.STRING
            vw_th_begin_struct(t, 1);
            vw_th_end(t);
            vw_th_end(t);
        }
        vw_th_end(t);
    }
}

static void end_table(vw_ex_table_writer *w)
{
    put_group((parquet *)w);
}

static void end(vw_ex_table_writer *w)
{
    parquet *p = (parquet *)w;
    vw_thrift t;
    char creator[96] = "ortscope version ";
    memcpy(creator + strlen(creator), p->version, strlen(p->version) + 1);
    cm_buf_clear(&p->head);
    vw_th_begin(&t, &p->head);
    vw_th_i32(&t, 1, 1); // the format's version
    put_schema(p, &t);
    vw_th_i64(&t, 3, (int64_t)p->row_count);
    vw_th_list(&t, 4, VW_TH_STRUCT, p->group_count);
    cm_buf_append(&p->head, p->groups.data, p->groups.len);
    vw_th_text(&t, 6, creator);
    vw_th_end(&t);
    cm_status status = cm_buf_status(&p->groups);
    if (status == CM_OK)
        status = cm_buf_status(&p->head);
    if (status != CM_OK)
        fail(p, status);
    size_t len = p->head.len;
    for (unsigned shift = 0; shift < 32; shift += 8)
        cm_buf_append_byte(&p->head, (uint8_t)(len >> shift));
    put(p, p->head.data, p->head.len);
    put(p, "PAR1", 4);
}

static void destroy(vw_ex_table_writer *w)
{
    parquet *p = (parquet *)w;
    for (size_t i = 0; i < p->column_count; i++)
        vw_pq_column_deinit(&p->columns[i]);
    cm_buf_deinit(&p->groups);
    cm_buf_deinit(&p->page);
    cm_buf_deinit(&p->packed);
    cm_buf_deinit(&p->head);
    free(p);
}

cm_status vw_ex_parquet_create(cm_out *out, bool gzip, vw_ex_table_writer **result)
{
    parquet *p = calloc(1, sizeof *p);
    if (!p)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to export.");
    p->gzip = gzip;
    p->base = (vw_ex_table_writer){.begin = begin,
                                   .begin_table = begin_table,
                                   .row = row,
                                   .end_table = end_table,
                                   .end = end,
                                   .pending_bytes = pending_bytes,
                                   .destroy = destroy,
                                   .out = out};
    *result = &p->base;
    return CM_OK;
}
