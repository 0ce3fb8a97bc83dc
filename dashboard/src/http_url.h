// SPDX-License-Identifier: MIT
// The address of an OTLP receiver, and headers for it: pure functions over what a user typed.
#pragma once

#include "common/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct da_http_url {
    char host[256]; // a name or address; of IPv6 without brackets
    bool is_ipv6;
    unsigned port;
    char path[1024]; // with its query, begins with a slash
} da_http_url;

// http://HOST[:PORT][/PATH][?QUERY]; without a path it is `default_path`. CM_USAGE says what is
// wrong, and never repeats a user's name or password.
cm_status da_http_url_parse(const char *text, const char *default_path, da_http_url *out);

// To be shown: without the query, which may hold a secret.
void da_http_url_show(const da_http_url *url, char *out, size_t capacity);

// "NAME=VALUE", of characters that a header may have, and none of those that we send ourselves.
// CM_USAGE does not repeat the value.
cm_status da_http_header_check(const char *header);
