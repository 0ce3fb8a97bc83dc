// SPDX-License-Identifier: MIT
// Encoding the variable part of payloads, decoding whole ones, and the schema in its three outside
// forms (TraceLogging metadata, the channel's schema area, documentation).
#pragma once

#include "tracelogging/schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// -------------------------------------------------------------- encoding (freestanding, hook side)

// Appends to a payload buffer; what does not fit is cut (strings at a UTF-8 boundary), never
// overrun. Where not even a count fits, nothing is written: the payload then ends at a field's
// boundary and the decoder reads the rest as empty.
typedef struct tl_encoder {
    uint8_t *at;
    uint8_t *end;
} tl_encoder;

void tl_put_string(tl_encoder *e, const char *text, size_t len);
void tl_put_i64s(tl_encoder *e, const int64_t *values, size_t count);

// The table as a channel's schema area holds it; returns the bytes used (0: does not fit):
//
//     u32 TL_SCHEMA_MAGIC | u16 number of events | events
//     event: u16 wire id | u8 level | u64 keyword | TraceLogging event metadata blob
#define TL_SCHEMA_MAGIC 0x31736c74u // "tls1"

size_t tl_schema_serialize(uint8_t *out, size_t capacity);

// The TraceLogging event metadata blob (u16 size, tag 0, name, fields); returns its size
// (0: does not fit, or no such event).
size_t tl_event_metadata(tl_event event, uint8_t *out, size_t capacity);

// ----------------------------------------------------------------------- decoding (collector side)

#define TL_FIELDS_MAX 24

typedef struct tl_field_value {
    int64_t number;       // fixed types; unsigned ones by bit pattern
    const char *text;     // STR: not NUL-terminated, points into the payload
    uint32_t count;       // STR: bytes; I64S: elements
    const uint8_t *array; // I64S: little-endian, unaligned; read with tl_array_get
} tl_field_value;

int64_t tl_array_get(const tl_field_value *value, uint32_t index);

// Field numbers for tl_decode's output: TL_Run_session, ...
#define TL_ENUM_FIELD_Module(n, t, x)       TL_Module_##n,
#define TL_ENUM_FIELD_ModuleEnd(n, t, x)    TL_ModuleEnd_##n,
#define TL_ENUM_FIELD_Env(n, t, x)          TL_Env_##n,
#define TL_ENUM_FIELD_Session(n, t, x)      TL_Session_##n,
#define TL_ENUM_FIELD_SessionEnd(n, t, x)   TL_SessionEnd_##n,
#define TL_ENUM_FIELD_ShapeSet(n, t, x)     TL_ShapeSet_##n,
#define TL_ENUM_FIELD_Tensor(n, t, x)       TL_Tensor_##n,
#define TL_ENUM_FIELD_Run(n, t, x)          TL_Run_##n,
#define TL_ENUM_FIELD_Log(n, t, x)          TL_Log_##n,
#define TL_ENUM_FIELD_Overhead(n, t, x)     TL_Overhead_##n,
#define TL_ENUM_FIELD_Kernel(n, t, x)       TL_Kernel_##n,
#define TL_ENUM_FIELD_KernelShapes(n, t, x) TL_KernelShapes_##n,
#define TL_ENUM_FIELD_KernelEnd(n, t, x)    TL_KernelEnd_##n,
#define TL_ENUM_FIELD_Op(n, t, x)           TL_Op_##n,
#define TL_ENUM_FIELD_Allocator(n, t, x)    TL_Allocator_##n,
#define TL_ENUM_FIELD_Alloc(n, t, x)        TL_Alloc_##n,
#define TL_ENUM_FIELD_Memory(n, t, x)       TL_Memory_##n,
#define TL_ENUM_FIELD_RunMemory(n, t, x)    TL_RunMemory_##n,
#define TL_ENUM_FIELD_OrtEvent(n, t, x)     TL_OrtEvent_##n,
#define TL_ENUM_FIELD_Phase(n, t, x)        TL_Phase_##n,
#define TL_ENUM_FIELD_KernelMemory(n, t, x) TL_KernelMemory_##n,
#define TL_ENUM_FIELD_Clock(n, t, x)        TL_Clock_##n,
#define TL_ENUM_FIELD_KernelNames(n, t, x)  TL_KernelNames_##n,
#define XX(event, level, keyword, text)                                                            \
    enum { TL_FIELDS_##event(TL_ENUM_FIELD_##event, TL_ENUM_FIELD_##event) TL_##event##_FIELDS };
TL_EVENT_MAP(XX)
#undef XX

// A decoder for the schema that a channel carries, which may be of another version: events and
// fields are matched by name, ones that we do not know are skipped, ones it lacks read as zero.
typedef struct tl_decoder tl_decoder;

// NULL if the serialized schema makes no sense. `schema` NULL: our own.
tl_decoder *tl_decoder_create(const uint8_t *schema, size_t bytes);
void tl_decoder_destroy(tl_decoder *d);

// Our event id and values for a record of wire id `event`; TL_EVENT_PAD if the event is not known
// to us. False if the payload does not fit the schema; variable fields missing at its end are fine
// and read as empty. Values point into `payload`; text is never NULL.
bool tl_decode(const tl_decoder *d, uint16_t event, const uint8_t *payload, size_t bytes,
               tl_event *out_event, tl_field_value values[TL_FIELDS_MAX]);

// ------------------------------------------------------------------------------------ descriptions

typedef struct tl_field_info {
    const char *name;
    const char *text;
    const char *type; // "U32"
    uint8_t in_type, out_type, fixed_bytes;
} tl_field_info;

typedef struct tl_event_info {
    const char *name;
    const char *text;
    uint8_t level;
    uint64_t keyword;
    uint32_t field_count;
    const tl_field_info *fields;
} tl_event_info;

const tl_event_info *tl_event_get(tl_event event); // NULL for PAD and unknown
