// SPDX-License-Identifier: MIT
// See thrift.h.
#include "thrift.h"

#include "protobuf.h" // the same varints

#include <string.h>

static void put_zigzag(cm_buf *out, int64_t value)
{
    vw_pb_varint(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static void put_field(vw_thrift *t, int field, unsigned type)
{
    int delta = field - t->last[t->depth];
    t->last[t->depth] = field;
    if (delta > 0 && delta < 16) {
        cm_buf_append_byte(t->out, (uint8_t)((unsigned)delta << 4 | type));
    } else {
        cm_buf_append_byte(t->out, (uint8_t)type);
        put_zigzag(t->out, field);
    }
}

void vw_th_begin(vw_thrift *t, cm_buf *out)
{
    memset(t, 0, sizeof *t);
    t->out = out;
}

void vw_th_begin_element(vw_thrift *t)
{
    t->last[++t->depth] = 0;
}

void vw_th_begin_struct(vw_thrift *t, int field)
{
    put_field(t, field, VW_TH_STRUCT);
    vw_th_begin_element(t);
}

void vw_th_end(vw_thrift *t)
{
    cm_buf_append_byte(t->out, 0);
    if (t->depth > 0)
        t->depth--;
}

void vw_th_i32(vw_thrift *t, int field, int32_t value)
{
    put_field(t, field, VW_TH_I32);
    put_zigzag(t->out, value);
}

void vw_th_i64(vw_thrift *t, int field, int64_t value)
{
    put_field(t, field, VW_TH_I64);
    put_zigzag(t->out, value);
}

void vw_th_binary(vw_thrift *t, int field, const void *bytes, size_t len)
{
    put_field(t, field, VW_TH_BINARY);
    vw_pb_varint(t->out, len);
    cm_buf_append(t->out, bytes, len);
}

void vw_th_text(vw_thrift *t, int field, const char *text)
{
    vw_th_binary(t, field, text, strlen(text));
}

void vw_th_list(vw_thrift *t, int field, unsigned type, size_t count)
{
    put_field(t, field, VW_TH_LIST);
    if (count < 15) {
        cm_buf_append_byte(t->out, (uint8_t)(count << 4 | type));
    } else {
        cm_buf_append_byte(t->out, (uint8_t)(0xf0 | type));
        vw_pb_varint(t->out, count);
    }
}

void vw_th_bare_i32(vw_thrift *t, int32_t value)
{
    put_zigzag(t->out, value);
}

void vw_th_bare_text(vw_thrift *t, const char *text)
{
    size_t len = strlen(text);
    vw_pb_varint(t->out, len);
    cm_buf_append(t->out, text, len);
}
