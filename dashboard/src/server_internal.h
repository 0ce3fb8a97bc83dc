// SPDX-License-Identifier: MIT
// What server.c, listen.c, answer.c and stream.c share.
#pragma once

#include "civetweb.h"
#include "handle.h"
#include "otlp_push.h"
#include "tls.h"

#define DA_STREAMS 16u // clients of the WebSocket

typedef struct da_stream da_stream;

struct da_server {
    da_tls_gate gate; // first: CivetWeb's TLS looks for it there
    da_core core;
    da_push *push; // NULL: figures are not pushed
    struct mg_context *context;
    unsigned port;
    char address[300], url[512], read_url[512];
    pthread_mutex_t streams_lock;
    unsigned stream_count;
    unsigned sending;      // streams whose threads have not sent their last message
    bool ending;           // every client gets a last message
    atomic_uint answering; // requests
    // The newest message: clients with the same wishes are due at the same moments and share it.
    pthread_mutex_t message_lock;
    cm_out message;
    uint64_t message_ns;
    double message_window_s, message_hz;
    bool message_control;
};

// Streams that have not come to their end, once the server is ending.
unsigned da_streams_sending(da_server *s);

// stream.c: the WebSocket's handlers; cbdata is the da_server.
int da_stream_connect(const struct mg_connection *c, void *cbdata);
void da_stream_ready(struct mg_connection *c, void *cbdata);
int da_stream_data(struct mg_connection *c, int bits, char *data, size_t len, void *cbdata);
void da_stream_close(const struct mg_connection *c, void *cbdata);

// The request's line and headers; borrowed from the connection.
da_request da_request_of(const struct mg_connection *c);

// answer.c: for CivetWeb. da_on_request returns 0 where a WebSocket begins.
int da_on_request(struct mg_connection *c);
int da_on_error(struct mg_connection *c, int status, const char *message);

// listen.c: checks where and how it shall listen, then does, and makes the addresses.
cm_status da_listen(da_server *s, const da_server_options *o);
