// SPDX-License-Identifier: MIT
// Reading JSON that others sent, value by value, without keeping any of it. False always means that
// it is no JSON, or not what was asked for.
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct da_json_cursor {
    const char *at, *end;
} da_json_cursor;

void da_json_blanks(da_json_cursor *c);
bool da_json_take(da_json_cursor *c, char wanted); // past blanks
// Past blanks and valid UTF-8; false where it is too long for `capacity`.
bool da_json_string(da_json_cursor *c, char *out, size_t capacity);
// The same, but what is too long is cut. *c ends behind the whole string.
bool da_json_string_cut(da_json_cursor *c, char *out, size_t capacity);
bool da_json_number(da_json_cursor *c, double *out);
// A text, a number, true, false or null, of any length.
bool da_json_skip_plain(da_json_cursor *c);
// Any value; objects and arrays nest 32 deep at most.
bool da_json_skip(da_json_cursor *c);
