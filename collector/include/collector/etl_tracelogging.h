// SPDX-License-Identifier: MIT
// Events that describe themselves: TraceLogging metadata (the extended items of a record, or what
// a provider hands to EventWriteTransfer) and the values that it describes.
#pragma once

#include "collector/etl.h"

// In-types; the upper bits of the byte in the metadata are not in here.
typedef enum co_tlg_type {
    CO_TLG_NULL,
    CO_TLG_UTF16,
    CO_TLG_ANSI,
    CO_TLG_I8,
    CO_TLG_U8,
    CO_TLG_I16,
    CO_TLG_U16,
    CO_TLG_I32,
    CO_TLG_U32,
    CO_TLG_I64,
    CO_TLG_U64,
    CO_TLG_FLOAT,
    CO_TLG_DOUBLE,
    CO_TLG_BOOL32,
    CO_TLG_BINARY,
    CO_TLG_GUID,
    CO_TLG_POINTER,
    CO_TLG_FILETIME,
    CO_TLG_SYSTEMTIME,
    CO_TLG_SID,
    CO_TLG_HEX32,
    CO_TLG_HEX64,
    CO_TLG_COUNTED_UTF16,
    CO_TLG_COUNTED_ANSI,
    CO_TLG_STRUCT,
    CO_TLG_COUNTED_BINARY,
    CO_TLG_TYPES
} co_tlg_type;

typedef enum co_tlg_count {
    CO_TLG_ONE,
    CO_TLG_FIXED,    // as many as the metadata says
    CO_TLG_VARIABLE, // as many as the data says
    CO_TLG_CUSTOM,   // bytes that only the provider understands
} co_tlg_count;

typedef struct co_tlg_field {
    const char *name; // not terminated
    size_t name_len;
    uint8_t type; // co_tlg_type
    uint8_t out;  // how to show it; of a struct: how many fields belong to it
    co_tlg_count count;
    uint16_t fixed_count;
} co_tlg_field;

#define CO_TLG_FIELDS_MAX 128

typedef struct co_tlg_schema {
    const char *name; // of the event, not terminated
    size_t name_len;
    unsigned field_count;
    co_tlg_field fields[CO_TLG_FIELDS_MAX];
} co_tlg_schema;

typedef enum co_tlg_token_kind {
    CO_TLG_VALUE,
    CO_TLG_BEGIN_ARRAY,
    CO_TLG_END_ARRAY,
    CO_TLG_BEGIN_STRUCT,
    CO_TLG_END_STRUCT,
} co_tlg_token_kind;

typedef struct co_tlg_token {
    co_tlg_token_kind kind;
    const co_tlg_field *field;
    bool element;         // of an array: it has no name of its own
    const uint8_t *bytes; // of a value: without NUL or length
    size_t len;
} co_tlg_token;

typedef void (*co_tlg_token_fn)(void *context, const co_tlg_token *token);

// False if the metadata is damaged. `out` points into it.
bool co_tlg_schema_parse(const uint8_t *metadata, size_t len, co_tlg_schema *out);

// Hands out all values in order. False if the data ends before its fields do or nests too deep;
// what came before has been handed out. *residual: bytes that no field claims.
bool co_tlg_values(const co_tlg_schema *schema, const uint8_t *data, size_t len,
                   unsigned pointer_size, co_tlg_token_fn fn, void *context, size_t *residual);

// A whole number (also bool, hex, pointer, FILETIME), sign-extended where it has one.
bool co_tlg_number(const co_tlg_token *token, int64_t *out);

// The provider's name in a traits blob; false if there is none.
bool co_tlg_provider_name(const uint8_t *traits, size_t len, const char **name, size_t *name_len);
