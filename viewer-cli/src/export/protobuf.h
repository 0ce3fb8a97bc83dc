// SPDX-License-Identifier: MIT
// Protocol Buffers on the wire: fields behind each other in a buffer, a message as bytes in another
// one. Only what an export needs.
#pragma once

#include "common/buf.h"

void vw_pb_varint(cm_buf *b, uint64_t value);
void vw_pb_uint(cm_buf *b, unsigned field, uint64_t value);
void vw_pb_int(cm_buf *b, unsigned field, int64_t value); // int32, int64: no zigzag
void vw_pb_fixed64(cm_buf *b, unsigned field, uint64_t value);
void vw_pb_double(cm_buf *b, unsigned field, double value);
void vw_pb_bytes(cm_buf *b, unsigned field, const void *bytes, size_t len);
void vw_pb_text(cm_buf *b, unsigned field, const char *text);
void vw_pb_message(cm_buf *b, unsigned field, const cm_buf *message);
