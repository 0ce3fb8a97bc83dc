// SPDX-License-Identifier: MIT
// Small text helpers for everything that people read: widths, strings made safe for
// a terminal, numbers with units, CSV fields, distance between words. Nothing here allocates but
// what writes into a cm_out.
#pragma once

#include "common/out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Code points that do something instead of showing something: control characters, line separators,
// changes of the writing direction.
bool cm_text_is_control(uint32_t code);

// Columns that a character or a text takes on a terminal: 0 for combining marks, 2 for wide East
// Asian ones.
size_t cm_code_width(uint32_t code);
size_t cm_text_width(const char *text);

// Writes foreign text for a person: control characters (terminal escapes among them), direction
// overrides and broken UTF-8 are replaced by '?', line ends and tabs by a space. `max_width`
// columns at most, 0 = all; what is longer loses its middle to "..." (paths keep their end).
void cm_text_clean(cm_out *out, const char *text, size_t max_width);

// At most `decimals` digits behind the point, rounded, no trailing zeros, never "-0".
void cm_format_number(char *out, size_t size, double value, int decimals);
// "1.234 ms": four significant digits and the unit that fits: ns, us, ms, s, min, h.
void cm_format_ns(char *out, size_t size, double ns);
// "12,345,678"
void cm_format_count(char *out, size_t size, uint64_t value);
// "1.5 MB" (1000-based)
void cm_format_bytes(char *out, size_t size, uint64_t bytes);
// "2026-01-02T03:04:05.678901234Z"
void cm_format_utc(char *out, size_t size, uint64_t utc_ns);

// One CSV field (RFC 4180): quoted only where needed. `first` says whether a comma goes before it.
void cm_csv_text(cm_out *out, const char *text, bool first);

// Edits (insert, delete, replace, swap of neighbours) between two words of at most 63 bytes.
size_t cm_edit_distance(const char *a, const char *b);
