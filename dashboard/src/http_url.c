// SPDX-License-Identifier: MIT
#include "http_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

static bool is_letter_or_digit(char c)
{
    return c && (strchr(letters, c) || (c >= '0' && c <= '9'));
}

static bool all_of(const char *text, size_t len, const char *others)
{
    for (size_t i = 0; i < len; i++)
        if (!is_letter_or_digit(text[i]) && (!text[i] || !strchr(others, text[i])))
            return false;
    return true;
}

static bool has_scheme(const char *text, const char *scheme)
{
    for (; *scheme; text++, scheme++)
        if (*text != *scheme && *text != *scheme - 'a' + 'A')
            return false;
    return true;
}

static cm_status broken(void)
{
    return cm_fail(CM_USAGE, "--otlp needs an address such as http://127.0.0.1:4318, with a path "
                             "where the receiver's is not /v1/metrics.");
}

static bool take_port(const char *text, size_t len, unsigned *out)
{
    unsigned long port = 0;
    if (len == 0 || len > 5)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        port = port * 10 + (unsigned long)(text[i] - '0');
    }
    *out = (unsigned)port;
    return port >= 1 && port <= 65535;
}

// HOST[:PORT] or [ADDRESS][:PORT]
static bool take_authority(const char *text, size_t len, da_http_url *out)
{
    const char *end = text + len, *host_end, *host = text;
    out->is_ipv6 = len > 0 && text[0] == '[';
    if (out->is_ipv6) {
        host = text + 1;
        host_end = memchr(text, ']', len);
        if (!host_end)
            return false;
        text = host_end + 1;
    } else {
        host_end = memchr(text, ':', len);
        if (!host_end)
            host_end = end;
        text = host_end;
    }
    size_t host_len = (size_t)(host_end - host);
    if (host_len == 0 || host_len >= sizeof out->host ||
        !all_of(host, host_len, out->is_ipv6 ? ":." : "-._"))
        return false;
    memcpy(out->host, host, host_len);
    out->host[host_len] = 0;
    out->port = 80;
    return text == end ||
           (*text == ':' && take_port(text + 1, (size_t)(end - text - 1), &out->port));
}

// Visible ASCII only: nothing that could end the request's line.
static bool take_path(const char *text, const char *default_path, da_http_url *out)
{
    const char *query = *text == '?' ? text : *text == '/' && text[1] == '?' ? text + 1 : NULL;
    const char *path = query || !*text || strcmp(text, "/") == 0 ? default_path : "";
    const char *rest = query ? query : *path ? "" : text;
    for (const char *c = rest; *c; c++)
        if (*c <= ' ' || *c > '~' || *c == '#')
            return false;
    int len = snprintf(out->path, sizeof out->path, "%s%s", path, rest);
    return len > 0 && (size_t)len < sizeof out->path;
}

cm_status da_http_url_parse(const char *text, const char *default_path, da_http_url *out)
{
    da_http_url url = {.port = 80};
    if (has_scheme(text, "https://"))
        return cm_fail(CM_USAGE,
                       "--otlp pushes over http:// only. Let an OpenTelemetry collector on this "
                       "machine take it (http://127.0.0.1:4318) and send it on with TLS: "
                       "docs/fleet.md shows how.");
    if (!has_scheme(text, "http://"))
        return broken();
    text += strlen("http://");
    size_t len = strcspn(text, "/?#");
    if (memchr(text, '@', len))
        return cm_fail(CM_USAGE, "--otlp takes no name and password in the address, where others "
                                 "could see them; use --otlp-header Authorization=... instead.");
    if (!take_authority(text, len, &url) || !take_path(text + len, default_path, &url))
        return broken();
    *out = url;
    return CM_OK;
}

void da_http_url_show(const da_http_url *url, char *out, size_t capacity)
{
    snprintf(out, capacity, "http://%s%s%s:%u%.*s", url->is_ipv6 ? "[" : "", url->host,
             url->is_ipv6 ? "]" : "", url->port, (int)strcspn(url->path, "?"), url->path);
}

static bool is_ours(const char *name, size_t len)
{
    static const char *const ours[] = {"host",       "content-length", "content-type",
                                       "connection", "user-agent",     "transfer-encoding",
                                       "expect",     "upgrade",        "content-encoding"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strlen(ours[i]) == len) {
            size_t same = 0;
            while (same < len && (name[same] | 0x20) == (ours[i][same] | 0x20))
                same++;
            if (same == len)
                return true;
        }
    return false;
}

cm_status da_http_header_check(const char *header)
{
    const char *equals = strchr(header, '=');
    size_t name = equals ? (size_t)(equals - header) : 0;
    if (name == 0 || name > 100 || !all_of(header, name, "!#$%&'*+-.^_`|~"))
        return cm_fail(CM_USAGE, "--otlp-header needs NAME=VALUE, with a name that HTTP knows: "
                                 "letters, digits and dashes.");
    if (is_ours(header, name))
        return cm_fail(CM_USAGE, "--otlp-header can't set %.*s: ortscope does.", (int)name, header);
    for (const char *c = equals + 1; *c; c++)
        if (*c < ' ' || *c > '~')
            return cm_fail(CM_USAGE,
                           "The value of --otlp-header %.*s has characters that HTTP does "
                           "not allow there.",
                           (int)name, header);
    if (strlen(equals + 1) > 4096)
        return cm_fail(CM_USAGE, "The value of --otlp-header %.*s is longer than 4096 characters.",
                       (int)name, header);
    return CM_OK;
}
