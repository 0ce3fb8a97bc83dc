// SPDX-License-Identifier: MIT
// Thrift's compact protocol, as Parquet's pages and footers are written in: structs whose fields
// come in ascending order.
#pragma once

#include "common/buf.h"

#define VW_TH_DEPTH 8

typedef struct vw_thrift {
    cm_buf *out;
    unsigned depth;
    int last[VW_TH_DEPTH]; // number of the field before, in each open struct
} vw_thrift;

enum { VW_TH_I32 = 5, VW_TH_I64 = 6, VW_TH_BINARY = 8, VW_TH_LIST = 9, VW_TH_STRUCT = 12 };

// A struct that stands alone, or as an element of a list.
void vw_th_begin(vw_thrift *t, cm_buf *out);
void vw_th_end(vw_thrift *t);
void vw_th_begin_struct(vw_thrift *t, int field); // ended by vw_th_end
void vw_th_begin_element(vw_thrift *t);           // likewise

void vw_th_i32(vw_thrift *t, int field, int32_t value);
void vw_th_i64(vw_thrift *t, int field, int64_t value);
void vw_th_binary(vw_thrift *t, int field, const void *bytes, size_t len);
void vw_th_text(vw_thrift *t, int field, const char *text);
// The head of a list; its elements follow bare.
void vw_th_list(vw_thrift *t, int field, unsigned type, size_t count);
void vw_th_bare_i32(vw_thrift *t, int32_t value);
void vw_th_bare_text(vw_thrift *t, const char *text);
