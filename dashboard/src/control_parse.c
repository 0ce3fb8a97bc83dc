// SPDX-License-Identifier: MIT
// A JSON object without objects and arrays inside: all that control needs. Everything else is
// refused, so that nothing has to be kept or nested.
#include "common/utf.h"
#include "dashboard/control.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES 4096u

typedef struct cursor {
    const char *at, *end;
} cursor;

static const char *const action_names[DA_ACTION_COUNT] = {
    [DA_PAUSE] = "pause", [DA_RESUME] = "resume", [DA_MARK] = "mark", [DA_DETACH] = "detach",
    [DA_RATES] = "rates", [DA_SPEED] = "speed",   [DA_SEEK] = "seek", [DA_ATTACH] = "attach"};

const char *da_action_name(da_action action)
{
    return action < DA_ACTION_COUNT ? action_names[action] : "?";
}

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        c->at++;
}

static bool take(cursor *c, char wanted)
{
    skip_blanks(c);
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

// \uXXXX of the basic plane; halves of a pair become U+FFFD.
static bool take_unicode(cursor *c, char *out, size_t *len, size_t capacity)
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
    size_t bytes = cm_utf16_to_utf8(&unit, 1, utf8, sizeof utf8);
    if (code == 0 || *len + bytes >= capacity)
        return false;
    memcpy(out + *len, utf8, bytes);
    *len += bytes;
    return true;
}

static bool take_escape(cursor *c, char *out, size_t *len, size_t capacity)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (c->at == c->end)
        return false;
    char letter = *c->at++;
    if (letter == 'u')
        return take_unicode(c, out, len, capacity);
    const char *found = letter ? strchr(from, letter) : NULL;
    if (!found || *len + 1 >= capacity)
        return false;
    out[(*len)++] = to[found - from];
    return true;
}

// False where it is no string or too long for `capacity`.
static bool take_string(cursor *c, char *out, size_t capacity)
{
    size_t len = 0;
    if (!take(c, '"'))
        return false;
    while (c->at < c->end && *c->at != '"') {
        char byte = *c->at++;
        if (byte == '\\') {
            if (!take_escape(c, out, &len, capacity))
                return false;
            continue;
        }
        if ((unsigned char)byte < 0x20 || len + 1 >= capacity)
            return false;
        out[len++] = byte;
    }
    out[len] = 0;
    return c->at < c->end && *c->at++ == '"' && cm_utf8_valid(out, len);
}

// JSON's own numbers: no hexadecimal, no infinity, whatever strtod would take.
static bool take_number(cursor *c, double *out)
{
    char text[40];
    size_t len = 0;
    skip_blanks(c);
    while (c->at < c->end && len + 1 < sizeof text && strchr("+-.0123456789eE", *c->at) && *c->at)
        text[len++] = *c->at++;
    text[len] = 0;
    char *end;
    if (!len || text[0] == '+')
        return false;
    *out = strtod(text, &end);
    return end == text + len && *out - *out == 0;
}

static bool take_word(cursor *c, const char *word)
{
    size_t len = strlen(word);
    skip_blanks(c);
    if ((size_t)(c->end - c->at) < len || memcmp(c->at, word, len) != 0)
        return false;
    c->at += len;
    return true;
}

// Any value that is neither an object nor an array.
static bool skip_value(cursor *c)
{
    char text[MOST_BYTES];
    double number;
    skip_blanks(c);
    if (c->at < c->end && *c->at == '"')
        return take_string(c, text, sizeof text);
    return take_word(c, "true") || take_word(c, "false") || take_word(c, "null") ||
           take_number(c, &number);
}

static cm_status broken(void)
{
    return cm_fail(CM_USAGE, "The body must be a JSON object of texts and numbers, of at most "
                             "4 KiB.");
}

static cm_status take_whole(cursor *c, const char *name, double most, uint32_t *out)
{
    double value;
    if (!take_number(c, &value))
        return broken();
    if (!(value >= 1 && value <= most) || value != floor(value))
        return cm_fail(CM_USAGE, "\"%s\" must be a whole number of at least 1.", name);
    *out = (uint32_t)value;
    return CM_OK;
}

static cm_status take_range(cursor *c, const char *name, double least, double most, double *out)
{
    double value;
    if (!take_number(c, &value))
        return broken();
    if (!(value >= least && value <= most))
        return cm_fail(CM_USAGE, "\"%s\" must be between %g and %g.", name, least, most);
    *out = value;
    return CM_OK;
}

static cm_status take_action(cursor *c, da_control *out, bool *has_action)
{
    char name[40];
    if (!take_string(c, name, sizeof name))
        return broken();
    for (int i = 0; i < DA_ACTION_COUNT; i++) {
        if (strcmp(name, action_names[i]) == 0) {
            out->action = (da_action)i;
            *has_action = true;
            return CM_OK;
        }
    }
    return cm_fail(CM_USAGE, "There is no such action; there are pause, resume, mark, detach, "
                             "rates, speed, seek, attach.");
}

static cm_status take_text(cursor *c, da_control *out)
{
    if (!take_string(c, out->text, sizeof out->text))
        return cm_fail(CM_USAGE, "\"text\" must be a text of at most %u bytes.", DA_MARK_BYTES);
    return CM_OK;
}

static cm_status take_member(cursor *c, da_control *out, bool *has_action)
{
    char key[64];
    if (!take_string(c, key, sizeof key) || !take(c, ':'))
        return broken();
    if (strcmp(key, "action") == 0)
        return take_action(c, out, has_action);
    if (strcmp(key, "text") == 0)
        return take_text(c, out);
    if (strcmp(key, "capture") == 0)
        return take_whole(c, key, 1e6, &out->capture);
    if (strcmp(key, "pid") == 0)
        return take_whole(c, key, 4294967295.0, &out->pid);
    if (strcmp(key, "hz") == 0)
        return take_range(c, key, 1, 60, &out->hz);
    if (strcmp(key, "counters_hz") == 0)
        return take_range(c, key, 1, 1000, &out->counters_hz);
    if (strcmp(key, "speed") == 0)
        return take_range(c, key, 0, 1000, &out->speed);
    if (strcmp(key, "to_s") == 0)
        return take_range(c, key, 0, 1e9, &out->to_s);
    if (strcmp(key, "window_s") == 0)
        return take_range(c, key, 0.1, 60, &out->window_s);
    return skip_value(c) ? CM_OK : broken();
}

static cm_status check(const da_control *c)
{
    if (c->action == DA_MARK && !c->text[0])
        return cm_fail(CM_USAGE, "A mark needs a \"text\".");
    if (c->action == DA_RATES && !da_known(c->hz) && !da_known(c->counters_hz))
        return cm_fail(CM_USAGE, "Rates need \"hz\" or \"counters_hz\".");
    if (c->action == DA_SPEED && (!da_known(c->speed) || (c->speed > 0 && c->speed < 0.1)))
        return cm_fail(CM_USAGE, "\"speed\" must be 0, or between 0.1 and 1000.");
    if (c->action == DA_SEEK && !da_known(c->to_s))
        return cm_fail(CM_USAGE, "Seeking needs \"to_s\".");
    if (c->action == DA_ATTACH && !c->pid)
        return cm_fail(CM_USAGE, "Attaching needs a \"pid\".");
    return CM_OK;
}

cm_status da_control_parse(const char *text, size_t len, bool needs_action, da_control *out)
{
    cursor c = {text, text + len};
    bool has_action = false;
    const double none = (double)NAN;
    *out = (da_control){
        .hz = none, .counters_hz = none, .speed = none, .to_s = none, .window_s = none};
    if (len > MOST_BYTES || !take(&c, '{'))
        return broken();
    if (!take(&c, '}')) {
        do
            CM_TRY(take_member(&c, out, &has_action));
        while (take(&c, ','));
        if (!take(&c, '}'))
            return broken();
    }
    skip_blanks(&c);
    if (c.at != c.end)
        return broken();
    if (!needs_action)
        return CM_OK;
    return has_action ? check(out) : cm_fail(CM_USAGE, "The object needs an \"action\".");
}
