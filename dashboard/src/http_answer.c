// SPDX-License-Identifier: MIT
#include "http_answer.h"

#include <string.h>

typedef struct text {
    const char *at;
    size_t len;
} text;

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_word(text t, const char *word)
{
    size_t i = 0;
    while (i < t.len && word[i] && small(t.at[i]) == word[i])
        i++;
    return i == t.len && !word[i];
}

static bool begins_with(text t, const char *word)
{
    size_t len = strlen(word);
    return t.len >= len && is_word((text){t.at, len}, word);
}

static text trimmed(text t)
{
    while (t.len && (t.at[0] == ' ' || t.at[0] == '\t'))
        t.at++, t.len--;
    while (t.len && (t.at[t.len - 1] == ' ' || t.at[t.len - 1] == '\t'))
        t.len--;
    return t;
}

// A whole number of at most 15 digits; false: it is none.
static bool number_of(text t, int64_t *out)
{
    int64_t value = 0;
    if (t.len == 0 || t.len > 15)
        return false;
    for (size_t i = 0; i < t.len; i++) {
        if (t.at[i] < '0' || t.at[i] > '9')
            return false;
        value = value * 10 + (t.at[i] - '0');
    }
    *out = value;
    return true;
}

// ------------------------------------------------------------------------------------------ chunks

static int hex_value(char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : small(c) >= 'a' && small(c) <= 'f' ? small(c) - 'a' + 10
                                                : -1;
}

// Joins what is there if `join`. Returns true where the last chunk has come or something is no
// chunk; *out_len: what is joined.
static bool walk_chunks(char *bytes, size_t len, bool join, size_t *out_len)
{
    size_t at = 0, joined = 0;
    bool over = false;
    while (!over) {
        uint64_t size = 0;
        size_t digits = 0;
        while (at < len && digits < 8 && hex_value(bytes[at]) >= 0) {
            size = size * 16 + (uint64_t)hex_value(bytes[at++]);
            digits++;
        }
        if (at == len)
            break;
        over = digits == 0 || (bytes[at] != ';' && bytes[at] != '\r' && bytes[at] != ' ');
        char *line = over ? NULL : memchr(bytes + at, '\n', len - at);
        if (!line)
            break;
        at = (size_t)(line - bytes) + 1;
        over = size == 0;
        size_t part = size < len - at ? (size_t)size : len - at;
        if (join)
            memmove(bytes + joined, bytes + at, part);
        joined += part;
        at += part;
        if (part < size || len - at < 2)
            break;
        at += 2; // its line end
    }
    *out_len = joined;
    return over;
}

// -------------------------------------------------------------------------------------------- head

typedef struct head {
    int64_t length; // -1: not told
    bool chunked;
} head;

// "HTTP/1.1 200 OK"
static bool status_of(text line, int *out)
{
    int64_t status;
    if (!begins_with(line, "http/1.") || line.len < 12 || line.at[8] != ' ' ||
        !number_of((text){line.at + 9, 3}, &status) || (line.len > 12 && line.at[12] != ' ') ||
        status < 100)
        return false;
    *out = (int)status;
    return true;
}

static void take_header(text line, head *h, da_http_answer *out)
{
    const char *colon = memchr(line.at, ':', line.len);
    if (!colon)
        return;
    text name = {line.at, (size_t)(colon - line.at)};
    text value = trimmed((text){colon + 1, line.len - name.len - 1});
    if (is_word(name, "content-length") && !number_of(value, &h->length))
        h->length = -1;
    if (is_word(name, "transfer-encoding"))
        h->chunked = is_word(value, "chunked");
    if (is_word(name, "retry-after") && !number_of(value, &out->retry_after_s))
        out->retry_after_s = -1;
    if (is_word(name, "content-type"))
        out->is_json = begins_with(value, "application/json");
}

// Lines end in LF, with or without CR. *out_len: of the head with its empty line; 0: not there yet.
static bool parse_head(const char *bytes, size_t len, size_t *out_len, head *h, da_http_answer *out)
{
    bool first = true;
    size_t at = 0;
    *out_len = 0;
    *h = (head){.length = -1};
    *out = (da_http_answer){.retry_after_s = -1};
    while (at < len) {
        const char *end = memchr(bytes + at, '\n', len - at);
        if (!end)
            return !first || len < 1024;
        text line = {bytes + at, (size_t)(end - bytes) - at};
        at += line.len + 1;
        if (line.len && line.at[line.len - 1] == '\r')
            line.len--;
        if (!first && line.len == 0) {
            *out_len = at;
            return true;
        }
        if (first && !status_of(line, &out->status))
            return false;
        if (!first)
            take_header(line, h, out);
        first = false;
    }
    return true;
}

da_http_state da_http_parse(char *bytes, size_t len, bool closed, da_http_answer *out)
{
    size_t head_len;
    head h;
    do {
        if (!parse_head(bytes, len, &head_len, &h, out))
            return DA_HTTP_BROKEN;
        if (!head_len)
            return closed ? DA_HTTP_BROKEN : DA_HTTP_MORE;
        bytes += head_len;
        len -= head_len;
    } while (out->status < 200); // others than the last word
    bool none = out->status == 204 || out->status == 304;
    bool over = closed || none;
    out->body_len = none ? 0 : len;
    if (h.chunked && !none) {
        size_t joined;
        over = walk_chunks(bytes, len, false, &joined) || over;
        if (over)
            walk_chunks(bytes, len, true, &out->body_len);
    } else if (h.length >= 0 && (uint64_t)h.length <= len && !none) {
        out->body_len = (size_t)h.length;
        over = true;
    }
    out->body = bytes;
    return over ? DA_HTTP_DONE : DA_HTTP_MORE;
}
