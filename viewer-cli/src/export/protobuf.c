// SPDX-License-Identifier: MIT
// See protobuf.h.
#include "protobuf.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2 };

void vw_pb_varint(cm_buf *b, uint64_t value)
{
    uint8_t bytes[10];
    size_t len = 0;
    do {
        bytes[len] = (uint8_t)(value & 0x7f);
        value >>= 7;
        if (value)
            bytes[len] |= 0x80;
        len++;
    } while (value);
    cm_buf_append(b, bytes, len);
}

void vw_pb_uint(cm_buf *b, unsigned field, uint64_t value)
{
    vw_pb_varint(b, field << 3 | WIRE_VARINT);
    vw_pb_varint(b, value);
}

void vw_pb_int(cm_buf *b, unsigned field, int64_t value)
{
    vw_pb_uint(b, field, (uint64_t)value);
}

void vw_pb_fixed64(cm_buf *b, unsigned field, uint64_t value)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    vw_pb_varint(b, field << 3 | WIRE_64);
    cm_buf_append(b, bytes, sizeof bytes);
}

void vw_pb_double(cm_buf *b, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    vw_pb_fixed64(b, field, bits);
}

void vw_pb_bytes(cm_buf *b, unsigned field, const void *bytes, size_t len)
{
    vw_pb_varint(b, field << 3 | WIRE_BYTES);
    vw_pb_varint(b, len);
    cm_buf_append(b, bytes, len);
}

void vw_pb_text(cm_buf *b, unsigned field, const char *text)
{
    vw_pb_bytes(b, field, text, strlen(text));
}

void vw_pb_message(cm_buf *b, unsigned field, const cm_buf *message)
{
    vw_pb_bytes(b, field, message->data, message->len);
}
