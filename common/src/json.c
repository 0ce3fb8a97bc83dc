// SPDX-License-Identifier: MIT
// See json.h. Must never let a byte of a foreign string change the structure of the document.
#include "common/json.h"

#include "common/text.h"
#include "common/utf.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void cm_json_init(cm_json *j, cm_out *out)
{
    memset(j, 0, sizeof *j);
    j->out = out;
}

static void new_line(cm_json *j)
{
    cm_out_char(j->out, '\n');
    cm_out_repeat(j->out, "  ", j->depth);
}

// What stands between the last item and the next one.
static void before_item(cm_json *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (j->depth == 0)
        return;
    if (j->has_items[j->depth])
        cm_out_char(j->out, ',');
    if (!j->one_line[j->depth])
        new_line(j);
    else if (j->has_items[j->depth])
        cm_out_char(j->out, ' ');
    j->has_items[j->depth] = true;
}

static void begin(cm_json *j, cm_json_layout layout, bool is_array)
{
    assert(j->depth < CM_JSON_MAX_DEPTH);
    before_item(j);
    cm_out_char(j->out, is_array ? '[' : '{');
    bool one_line = layout == CM_JSON_ONE_LINE || j->one_line[j->depth];
    j->depth++;
    j->has_items[j->depth] = false;
    j->one_line[j->depth] = one_line;
    j->is_array[j->depth] = is_array;
}

void cm_json_begin_object(cm_json *j, cm_json_layout layout)
{
    begin(j, layout, false);
}

void cm_json_begin_array(cm_json *j, cm_json_layout layout)
{
    begin(j, layout, true);
}

void cm_json_end(cm_json *j)
{
    assert(j->depth > 0);
    bool is_array = j->is_array[j->depth];
    bool own_line = j->has_items[j->depth] && !j->one_line[j->depth];
    j->depth--;
    if (own_line)
        new_line(j);
    cm_out_char(j->out, is_array ? ']' : '}');
    if (j->depth == 0)
        cm_out_char(j->out, '\n');
}

static void write_escape(cm_out *out, uint32_t c)
{
    static const char short_names[] = "\b\f\n\r\t\"\\";
    static const char letters[] = "bfnrt\"\\";
    const char *found = c && c < 0x80 ? strchr(short_names, (int)c) : NULL;
    if (found) {
        cm_out_char(out, '\\');
        cm_out_char(out, letters[found - short_names]);
    } else {
        cm_out_printf(out, "\\u%04x", (unsigned)c);
    }
}

static void write_quoted(cm_out *out, const char *text, size_t len)
{
    cm_out_char(out, '"');
    size_t plain = 0; // start of the bytes that can be copied as they are
    for (size_t pos = 0; pos < len;) {
        bool valid;
        if (text[pos] >= ' ' && text[pos] < 0x7f && text[pos] != '"' && text[pos] != '\\') {
            pos++; // nearly all of nearly every string
            continue;
        }
        size_t start = pos;
        uint32_t c = cm_utf8_take(text, len, &pos, &valid);
        if (valid && c != '"' && c != '\\' && !cm_text_is_control(c))
            continue;
        cm_out_bytes(out, text + plain, start - plain);
        if (valid)
            write_escape(out, c);
        else
            cm_out_text(out, "\xef\xbf\xbd");
        plain = pos;
    }
    cm_out_bytes(out, text + plain, len - plain);
    cm_out_char(out, '"');
}

void cm_json_key(cm_json *j, const char *key)
{
    assert(j->depth > 0 && !j->is_array[j->depth] && !j->after_key);
    before_item(j);
    write_quoted(j->out, key, strlen(key));
    cm_out_text(j->out, ": ");
    j->after_key = true;
}

void cm_json_bytes(cm_json *j, const char *text, size_t len)
{
    before_item(j);
    write_quoted(j->out, text, len);
}

void cm_json_string(cm_json *j, const char *text)
{
    if (text)
        cm_json_bytes(j, text, strlen(text));
    else
        cm_json_null(j);
}

// By hand: documents are mostly numbers, and this is several times as fast as printf.
static void write_digits(cm_out *out, uint64_t value, bool negative)
{
    char digits[24], *at = digits + sizeof digits;
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    if (negative)
        *--at = '-';
    cm_out_bytes(out, at, (size_t)(digits + sizeof digits - at));
}

void cm_json_int(cm_json *j, int64_t value)
{
    before_item(j);
    write_digits(j->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

void cm_json_uint(cm_json *j, uint64_t value)
{
    before_item(j);
    write_digits(j->out, value, false);
}

void cm_json_number(cm_json *j, double value, int decimals)
{
    if (!__builtin_isfinite(value)) { // the macro of mingw warns about doubles
        cm_json_null(j);
        return;
    }
    before_item(j);
    char digits[360];
    cm_format_number(digits, sizeof digits, value, decimals);
    cm_out_text(j->out, digits);
}

void cm_json_bool(cm_json *j, bool value)
{
    before_item(j);
    cm_out_text(j->out, value ? "true" : "false");
}

void cm_json_null(cm_json *j)
{
    before_item(j);
    cm_out_text(j->out, "null");
}

void cm_json_key_string(cm_json *j, const char *key, const char *text)
{
    cm_json_key(j, key);
    cm_json_string(j, text);
}

void cm_json_key_text(cm_json *j, const char *key, const char *text)
{
    cm_json_key(j, key);
    cm_json_string(j, text && text[0] ? text : NULL);
}

void cm_json_key_int(cm_json *j, const char *key, int64_t value)
{
    cm_json_key(j, key);
    cm_json_int(j, value);
}

void cm_json_key_uint(cm_json *j, const char *key, uint64_t value)
{
    cm_json_key(j, key);
    cm_json_uint(j, value);
}

void cm_json_key_number(cm_json *j, const char *key, double value, int decimals)
{
    cm_json_key(j, key);
    cm_json_number(j, value, decimals);
}

void cm_json_key_bool(cm_json *j, const char *key, bool value)
{
    cm_json_key(j, key);
    cm_json_bool(j, value);
}
