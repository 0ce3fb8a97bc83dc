// SPDX-License-Identifier: MIT
// See text.h. Must never pass a control character of foreign text on to a terminal.
#include "common/text.h"

#include "common/utf.h"

#include <string.h>

typedef struct code_range {
    uint32_t first, last;
} code_range;

static bool in_ranges(uint32_t code, const code_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

// The blocks that matter in file and tensor names; not the whole of Unicode's tables.
size_t cm_code_width(uint32_t code)
{
    static const code_range zero[] = {
        {0x300, 0x36f}, {0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
    static const code_range wide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},  {0x3041, 0xa4cf},
                                      {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe6f},
                                      {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
                                      {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
    if (code < 0x300)
        return 1;
    if (in_ranges(code, zero, sizeof zero / sizeof *zero))
        return 0;
    return in_ranges(code, wide, sizeof wide / sizeof *wide) ? 2 : 1;
}

bool cm_text_is_control(uint32_t code)
{
    static const code_range ranges[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x200e, 0x200f},
                                        {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfeff, 0xfeff}};
    return in_ranges(code, ranges, sizeof ranges / sizeof *ranges);
}

// One character as it is to be shown
typedef struct shown {
    const char *bytes;
    size_t len, width;
} shown;

static shown show_next(const char *text, size_t len, size_t *pos)
{
    bool valid;
    size_t start = *pos;
    uint32_t code = cm_utf8_take(text, len, pos, &valid);
    if (code == '\n' || code == '\t' || code == '\r')
        return (shown){" ", 1, 1};
    if (!valid || cm_text_is_control(code))
        return (shown){"?", 1, 1};
    return (shown){text + start, *pos - start, cm_code_width(code)};
}

size_t cm_text_width(const char *text)
{
    size_t width = 0, len = strlen(text);
    for (size_t pos = 0; pos < len;)
        width += show_next(text, len, &pos).width;
    return width;
}

// Shows the characters whose columns lie in [from, to).
static void clean_columns(cm_out *out, const char *text, size_t from, size_t to)
{
    size_t column = 0, len = strlen(text);
    for (size_t pos = 0; pos < len;) {
        shown c = show_next(text, len, &pos);
        if (column >= from && column + c.width <= to)
            cm_out_bytes(out, c.bytes, c.len);
        column += c.width;
    }
}

void cm_text_clean(cm_out *out, const char *text, size_t max_width)
{
    size_t width = cm_text_width(text);
    if (max_width == 0 || width <= max_width) {
        clean_columns(out, text, 0, SIZE_MAX);
    } else if (max_width < 8) {
        clean_columns(out, text, 0, max_width);
    } else {
        size_t head = (max_width - 3) / 3, tail = max_width - 3 - head;
        clean_columns(out, text, 0, head);
        cm_out_text(out, "...");
        clean_columns(out, text, width - tail, SIZE_MAX);
    }
}

void cm_csv_text(cm_out *out, const char *text, bool first)
{
    if (!first)
        cm_out_char(out, ',');
    if (!strpbrk(text, ",\"\r\n")) {
        cm_out_text(out, text);
        return;
    }
    cm_out_char(out, '"');
    for (const char *p = text; *p; p++) {
        if (*p == '"')
            cm_out_char(out, '"');
        cm_out_char(out, *p);
    }
    cm_out_char(out, '"');
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t cm_edit_distance(const char *a, const char *b)
{
    enum { MAX = 63 };
    size_t rows[3][MAX + 1]; // the row before the last one, the last one, this one
    size_t a_len = smaller(strlen(a), MAX), b_len = smaller(strlen(b), MAX);
    for (size_t j = 0; j <= b_len; j++)
        rows[1][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        rows[2][0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t replace = rows[1][j - 1] + (a[i - 1] != b[j - 1]);
            size_t best = smaller(replace, smaller(rows[1][j], rows[2][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = smaller(best, rows[0][j - 2] + 1);
            rows[2][j] = best;
        }
        memcpy(rows[0], rows[1], sizeof rows[0]);
        memcpy(rows[1], rows[2], sizeof rows[1]);
    }
    return rows[1][b_len];
}
