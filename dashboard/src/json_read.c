// SPDX-License-Identifier: MIT
#include "json_read.h"

#include "common/utf.h"

#include <stdlib.h>
#include <string.h>

void da_json_blanks(da_json_cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        c->at++;
}

bool da_json_take(da_json_cursor *c, char wanted)
{
    da_json_blanks(c);
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

typedef struct room {
    char *out;
    size_t len, capacity;
    bool full;
} room;

static void put(room *r, const char *bytes, size_t len)
{
    r->full = r->full || r->len + len >= r->capacity;
    if (r->full)
        return;
    memcpy(r->out + r->len, bytes, len);
    r->len += len;
}

// \uXXXX of the basic plane; halves of a pair become U+FFFD.
static bool take_unicode(da_json_cursor *c, room *r)
{
    unsigned code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = c->at < c->end ? hex_digit(*c->at++) : -1;
        if (digit < 0)
            return false;
        code = code * 16 + (unsigned)digit;
    }
    uint16_t unit = (uint16_t)code;
    char utf8[8];
    put(r, utf8, cm_utf16_to_utf8(&unit, 1, utf8, sizeof utf8));
    return code != 0;
}

static bool take_escape(da_json_cursor *c, room *r)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (c->at == c->end)
        return false;
    char letter = *c->at++;
    if (letter == 'u')
        return take_unicode(c, r);
    const char *found = letter ? strchr(from, letter) : NULL;
    if (found)
        put(r, &to[found - from], 1);
    return found != NULL;
}

static bool take_string(da_json_cursor *c, room *r)
{
    if (!da_json_take(c, '"'))
        return false;
    const char *begin = c->at;
    while (c->at < c->end && *c->at != '"') {
        const char *byte = c->at++;
        if ((unsigned char)*byte < 0x20 || (*byte == '\\' && !take_escape(c, r)))
            return false;
        if (*byte == '\\')
            continue;
        while (c->at < c->end && ((unsigned char)*c->at & 0xC0) == 0x80)
            c->at++; // a character as a whole
        put(r, byte, (size_t)(c->at - byte));
    }
    if (r->capacity)
        r->out[r->len] = 0;
    return c->at < c->end && *c->at == '"' && cm_utf8_valid(begin, (size_t)(c->at++ - begin));
}

bool da_json_string(da_json_cursor *c, char *out, size_t capacity)
{
    room r = {out, 0, capacity, false};
    return take_string(c, &r) && !r.full;
}

bool da_json_string_cut(da_json_cursor *c, char *out, size_t capacity)
{
    room r = {out, 0, capacity, false};
    return take_string(c, &r);
}

// JSON's own numbers: no hexadecimal, no infinity, whatever strtod would take.
bool da_json_number(da_json_cursor *c, double *out)
{
    char text[40];
    size_t len = 0;
    da_json_blanks(c);
    while (c->at < c->end && len + 1 < sizeof text && strchr("+-.0123456789eE", *c->at) && *c->at)
        text[len++] = *c->at++;
    text[len] = 0;
    char *end;
    if (!len || text[0] == '+')
        return false;
    *out = strtod(text, &end);
    return end == text + len && *out - *out == 0;
}

static bool take_word(da_json_cursor *c, const char *word)
{
    size_t len = strlen(word);
    da_json_blanks(c);
    if ((size_t)(c->end - c->at) < len || memcmp(c->at, word, len) != 0)
        return false;
    c->at += len;
    return true;
}

bool da_json_skip_plain(da_json_cursor *c)
{
    room none = {NULL, 0, 0, false};
    double number;
    da_json_blanks(c);
    if (c->at < c->end && *c->at == '"')
        return take_string(c, &none);
    return take_word(c, "true") || take_word(c, "false") || take_word(c, "null") ||
           da_json_number(c, &number);
}

// Whether a container begins here: its closing character, 0 where none does.
static char opened(da_json_cursor *c)
{
    return da_json_take(c, '{') ? '}' : da_json_take(c, '[') ? ']' : 0;
}

// A member's name and colon, where members have names.
static bool take_name(da_json_cursor *c, char closing)
{
    room none = {NULL, 0, 0, false};
    return closing != '}' || (take_string(c, &none) && da_json_take(c, ':'));
}

bool da_json_skip(da_json_cursor *c)
{
    char closings[32];
    size_t depth = 0;
    do {
        char closing = opened(c);
        if (closing && depth == sizeof closings)
            return false;
        if (closing && !da_json_take(c, closing)) {
            closings[depth++] = closing;
            if (!take_name(c, closing))
                return false;
            continue; // its first value
        }
        if (!closing && !da_json_skip_plain(c))
            return false;
        while (depth && !da_json_take(c, ','))
            if (!da_json_take(c, closings[--depth]))
                return false;
        if (depth && !take_name(c, closings[depth - 1]))
            return false;
    } while (depth);
    return true;
}
