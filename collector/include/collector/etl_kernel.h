// SPDX-License-Identifier: MIT
// Events whose layout is not in the recording: the kernel's classic ones in all versions that are
// known, and those of the manifest of Microsoft-Windows-Kernel-Process. Newer versions only append
// fields: what we don't know of them stays unread.
#pragma once

#include "collector/etl.h"

typedef enum co_etl_type {
    CO_ETL_U8,
    CO_ETL_U16,
    CO_ETL_U32,
    CO_ETL_U64,
    CO_ETL_I8,
    CO_ETL_I16,
    CO_ETL_I32,
    CO_ETL_I64,
    CO_ETL_POINTER,   // 4 or 8 bytes, as the record says
    CO_ETL_UTF16,     // up to its NUL
    CO_ETL_ANSI,      // up to its NUL
    CO_ETL_USER_SID,  // a TOKEN_USER: four bytes of 0, or two pointers and a SID
    CO_ETL_SID,       // a SID alone
    CO_ETL_ADDRESSES, // pointers up to the end
} co_etl_type;

typedef struct co_etl_field {
    const char *name;
    co_etl_type type;
    uint8_t since, until; // versions of the event
} co_etl_field;

typedef struct co_etl_layout {
    const char *category, *operation; // "Process", "Start"
    const co_etl_field *fields;
    unsigned field_count;
} co_etl_layout;

typedef struct co_etl_value {
    bool present;         // this version has it, and the record does not end before it
    uint64_t number;      // sign-extended where it has a sign
    const uint8_t *bytes; // of texts, SIDs, addresses; NULL: none
    size_t len;
} co_etl_value;

#define CO_ETL_FIELDS_MAX 24

// NULL if nobody knows the event.
const co_etl_layout *co_etl_layout_of(const co_etl_event *event);

// Fills `values`, one for each field of the layout; returns the bytes behind the last one.
size_t co_etl_decode(const co_etl_layout *layout, const co_etl_event *event,
                     co_etl_value values[CO_ETL_FIELDS_MAX]);
