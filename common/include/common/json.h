// SPDX-License-Identifier: MIT
// A streaming JSON writer: what is written is always one well-formed document, as long as the calls
// nest. Commas, line ends and indentation are its business. Strings may hold any bytes: what is not
// UTF-8 becomes U+FFFD; what could act on a terminal is escaped. Numbers are never NaN or infinite:
// null is written instead.
//
// A container opened with CM_JSON_ONE_LINE is put on a single line with all that it holds, so that
// long arrays of small objects stay readable and can be searched line by line.
#pragma once

#include "common/out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CM_JSON_MAX_DEPTH 16

typedef enum cm_json_layout { CM_JSON_INDENTED, CM_JSON_ONE_LINE } cm_json_layout;

typedef struct cm_json {
    cm_out *out;
    unsigned depth;
    bool has_items[CM_JSON_MAX_DEPTH + 1];
    bool one_line[CM_JSON_MAX_DEPTH + 1];
    bool is_array[CM_JSON_MAX_DEPTH + 1];
    bool after_key;
} cm_json;

// Borrows `out`.
void cm_json_init(cm_json *j, cm_out *out);

// Containers; the key of a member is written before its value with cm_json_key().
void cm_json_begin_object(cm_json *j, cm_json_layout layout);
void cm_json_begin_array(cm_json *j, cm_json_layout layout);
void cm_json_end(cm_json *j); // the innermost; the outermost also ends the line

void cm_json_key(cm_json *j, const char *key);

void cm_json_string(cm_json *j, const char *text); // NULL: null
void cm_json_bytes(cm_json *j, const char *text, size_t len);
void cm_json_int(cm_json *j, int64_t value);
void cm_json_uint(cm_json *j, uint64_t value);
// At most `decimals` digits behind the point, rounded, without trailing zeros.
void cm_json_number(cm_json *j, double value, int decimals);
void cm_json_bool(cm_json *j, bool value);
void cm_json_null(cm_json *j);

// A member of an object: its key and its value.
void cm_json_key_string(cm_json *j, const char *key, const char *text); // NULL: null
void cm_json_key_text(cm_json *j, const char *key, const char *text);   // NULL and "": null
void cm_json_key_int(cm_json *j, const char *key, int64_t value);
void cm_json_key_uint(cm_json *j, const char *key, uint64_t value);
void cm_json_key_number(cm_json *j, const char *key, double value, int decimals);
void cm_json_key_bool(cm_json *j, const char *key, bool value);
