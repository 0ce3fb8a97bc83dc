// SPDX-License-Identifier: MIT
#include "request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------------------- query

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool decode(const char *in, size_t len, char *out, size_t capacity)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        int byte = (unsigned char)in[i];
        if (byte == '+') {
            byte = ' ';
        } else if (byte == '%') {
            int high = i + 2 < len ? hex_digit(in[i + 1]) : -1;
            int low = i + 2 < len ? hex_digit(in[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            byte = high * 16 + low;
            i += 2;
        }
        if (byte == 0 || n + 1 >= capacity)
            return false;
        out[n++] = (char)byte;
    }
    out[n] = 0;
    return true;
}

bool da_query_text(const char *query, const char *name, char *out, size_t capacity)
{
    size_t name_len = strlen(name);
    while (query && *query) {
        const char *end = strchr(query, '&');
        size_t len = end ? (size_t)(end - query) : strlen(query);
        if (len > name_len && query[name_len] == '=' && memcmp(query, name, name_len) == 0)
            return decode(query + name_len + 1, len - name_len - 1, out, capacity);
        query = end ? end + 1 : NULL;
    }
    return false;
}

static bool has(const char *query, const char *name)
{
    size_t name_len = strlen(name);
    while (query && *query) {
        const char *end = strchr(query, '&');
        if (strncmp(query, name, name_len) == 0 && query[name_len] == '=')
            return true;
        query = end ? end + 1 : NULL;
    }
    return false;
}

cm_status da_query_number(const char *query, const char *name, double least, double most,
                          bool *out_given, double *out)
{
    char text[40], *end;
    if (!has(query, name))
        return CM_OK;
    double value = 0;
    bool is_number = da_query_text(query, name, text, sizeof text) && text[0] &&
                     strspn(text, "+-.0123456789eE") == strlen(text);
    if (is_number) {
        value = strtod(text, &end);
        is_number = *end == 0 && value - value == 0;
    }
    if (!is_number || value < least || value > most)
        return cm_fail(CM_USAGE, "\"%s\" must be a number between %g and %g.", name, least, most);
    if (out_given)
        *out_given = true;
    *out = value;
    return CM_OK;
}

static cm_status whole(const char *query, const char *name, double least, double most,
                       bool *out_given, int64_t *out)
{
    bool given = false;
    double value = 0;
    CM_TRY(da_query_number(query, name, least, most, &given, &value));
    if (!given)
        return CM_OK;
    if (value != floor(value))
        return cm_fail(CM_USAGE, "\"%s\" must be a whole number.", name);
    if (out_given)
        *out_given = true;
    *out = (int64_t)value;
    return CM_OK;
}

cm_status da_query_span(const char *query, da_span *out)
{
    int64_t bins = 40, limit = 50;
    char by[8] = "type";
    *out = (da_span){0};
    CM_TRY(whole(query, "session", 1, 4e15, &out->has_session, &out->session));
    CM_TRY(whole(query, "run", 1, 4e15, &out->has_run, &out->run));
    CM_TRY(whole(query, "bins", 4, 400, NULL, &bins));
    CM_TRY(whole(query, "limit", 1, 10000, NULL, &limit));
    CM_TRY(da_query_number(query, "from", -1e9, 1e9, &out->has_from, &out->from_s));
    CM_TRY(da_query_number(query, "to", -1e9, 1e9, &out->has_to, &out->to_s));
    CM_TRY(da_query_number(query, "step", 0, 1e6, &out->has_step, &out->step_s));
    CM_TRY(da_query_number(query, "window", 0.1, 60, &out->has_window, &out->window_s));
    if (has(query, "by") && (!da_query_text(query, "by", by, sizeof by) ||
                             (strcmp(by, "type") != 0 && strcmp(by, "node") != 0)))
        return cm_fail(CM_USAGE, "\"by\" must be type or node.");
    out->bins = (unsigned)bins;
    out->limit = (unsigned)limit;
    out->by_node = strcmp(by, "node") == 0;
    return CM_OK;
}

// ------------------------------------------------------------------------------------------ tokens

bool da_token_equal(const char *given, const char *token)
{
    size_t given_len = strlen(given), len = strlen(token);
    unsigned different = given_len != len || len == 0;
    for (size_t i = 0; i < len; i++)
        different |= (unsigned)(unsigned char)token[i] ^
                     (unsigned)(unsigned char)(given_len ? given[i % given_len] : 0);
    return different == 0;
}

static da_right right_of_token(const da_access *access, const char *given)
{
    // Both are always compared.
    bool control = da_token_equal(given, access->control);
    bool read = da_token_equal(given, access->read);
    return control ? DA_MAY_CONTROL : read ? DA_MAY_READ : DA_NOTHING;
}

da_right da_right_of(const da_access *access, const da_request *r)
{
    char token[DA_TOKEN_MOST + 2];
    if (r->authorization) {
        const char *given = r->authorization;
        if (strncmp(given, "Bearer ", 7) != 0 || strlen(given) > 7 + DA_TOKEN_MOST)
            return DA_NOTHING;
        return right_of_token(access, given + 7);
    }
    if (!da_query_text(r->query, "token", token, sizeof token))
        return DA_NOTHING;
    return right_of_token(access, token);
}

// --------------------------------------------------------------------------------- host and origin

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool equal_names(const char *a, const char *b)
{
    while (*a && lower(*a) == lower(*b))
        a++, b++;
    return *a == 0 && *b == 0;
}

bool da_host_allowed(const da_access *access, const char *host)
{
    for (size_t i = 0; host && i < access->host_count; i++)
        if (equal_names(host, access->hosts[i]))
            return true;
    return false;
}

bool da_origin_allowed(const da_access *access, const char *origin)
{
    if (!origin)
        return true;
    size_t len = strlen(access->scheme);
    return strncmp(origin, access->scheme, len) == 0 && strncmp(origin + len, "://", 3) == 0 &&
           da_host_allowed(access, origin + len + 3);
}

// ------------------------------------------------------------------------------------------ frames

size_t da_frame_head(unsigned char *head, size_t len)
{
    enum { WHOLE_TEXT = 0x81, TWO_BYTES = 126, EIGHT_BYTES };
    size_t bytes = len < TWO_BYTES ? 0 : len < 65536 ? 2 : 8;
    head[0] = WHOLE_TEXT;
    head[1] = (unsigned char)(bytes == 0 ? len : bytes == 2 ? TWO_BYTES : EIGHT_BYTES);
    for (size_t i = 0; i < bytes; i++)
        head[2 + i] = (unsigned char)((uint64_t)len >> 8 * (bytes - 1 - i));
    return 2 + bytes;
}
