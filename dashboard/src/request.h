// SPDX-License-Identifier: MIT
// A request as text, and what may be concluded from it: who asks, from where, for what. Pure
// functions over hostile bytes; nothing here touches a socket.
#pragma once

#include "view.h"

#define DA_TOKEN_BYTES 48u  // hexadecimal digits, of those that we make
#define DA_TOKEN_LEAST 32u  // of those that a file has
#define DA_TOKEN_MOST  128u // and of any
#define DA_HOSTS       20u

typedef struct da_request {
    const char *method, *path;                                // path: decoded, without the query
    const char *query;                                        // as it came; NULL: none
    const char *host, *origin, *authorization, *content_type; // headers, NULL: not there
    const char *body;
    size_t body_len;
    const char *peer; // address of the client, for the audit log
} da_request;

typedef struct da_access {
    char control[DA_TOKEN_MOST + 1], read[DA_TOKEN_MOST + 1]; // "": nobody has that right
    // Names by which this server may be asked for, "name:port"; and the scheme of its pages.
    char hosts[DA_HOSTS][270];
    size_t host_count;
    const char *scheme; // "http" or "https"
} da_access;

typedef enum da_right { DA_NOTHING, DA_MAY_READ, DA_MAY_CONTROL } da_right;

// token_file.c: random ones; those of a file, of its text (docs/api.md).
cm_status da_tokens_make(da_access *access);
cm_status da_tokens_read(const char *path, da_access *access);
cm_status da_tokens_parse(const char *text, const char *path, da_access *access);

// In the same time wherever the first difference is.
bool da_token_equal(const char *given, const char *token);

// By the header or the query's "token".
da_right da_right_of(const da_access *access, const da_request *r);

bool da_host_allowed(const da_access *access, const char *host);
// No Origin: no page of a browser asks from elsewhere.
bool da_origin_allowed(const da_access *access, const char *origin);

// The decoded value of a query's first parameter of that name; false if it is not there, too long,
// or broken.
bool da_query_text(const char *query, const char *name, char *out, size_t capacity);

// Everything that the views take. CM_USAGE names the parameter that makes no sense.
cm_status da_query_span(const char *query, da_span *out);
cm_status da_query_number(const char *query, const char *name, double least, double most,
                          bool *out_given, double *out);

// The head of a WebSocket's text frame of that length (RFC 6455, 5.2); returns its own length.
#define DA_FRAME_HEAD 10u
size_t da_frame_head(unsigned char *head, size_t len);
