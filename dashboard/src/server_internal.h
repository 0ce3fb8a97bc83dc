// SPDX-License-Identifier: MIT
// What server.c, listen.c, answer.c, sending.c, stream.c and news.c share.
#pragma once

#include "civetweb.h"
#include "handle.h"
#include "otlp_push.h"
#include "tls.h"
#include "waiting.h"

#define DA_STREAMS 16u // clients of the WebSocket
#define DA_ANSWERS 16u // threads for them, beside those of streams and of connections that wait
#define DA_CROWD   12u // answers: when there are more, slow clients are in the way
#define DA_EXPORTS 8u  // of the answers; they can be long, and the others shall have a thread

// A message as it goes over the wire, made once for all clients with the same wishes.
typedef struct da_message {
    unsigned holders;
    size_t len;
    char frame[];
} da_message;

// A client of the WebSocket. All but the first three under the server's streams_lock.
typedef struct da_stream {
    struct da_server *server;
    struct mg_connection *connection;
    pthread_t thread;
    pthread_cond_t changed;    // next, last, gone
    bool control, gone, last;  // last: no message follows `next`
    double hz, window_s;       // hz 0: the server's own
    da_message *next;          // NULL: none waits
    uint64_t writing_since_ns; // 0: nothing is being written
    uint64_t sent_ns, version; // of the newest message
} da_stream;

struct da_server {
    da_tls_gate gate; // first: CivetWeb's TLS looks for it there
    da_core core;
    da_push *push; // NULL: figures are not pushed
    struct mg_context *context;
    unsigned port;
    char address[300], url[512], read_url[512];
    pthread_mutex_t streams_lock;
    unsigned stream_count;          // connections
    unsigned sending;               // streams whose threads have not sent their last message
    bool ending;                    // every client gets a last message
    atomic_uint answering;          // requests
    atomic_uint exporting;          // of these
    da_waiting waiting;             // connections without a request yet
    unsigned stop_turns;            // of 10 ms, for CivetWeb's threads to end
    da_stream *streams[DA_STREAMS]; // NULL where there is none
    pthread_cond_t streams_changed; // the first one came, or the end
    pthread_t news;                 // the thread that makes messages
    bool has_news;
};

// news.c: makes messages when they are due and gives them to the streams.
bool da_news_begin(da_server *s);
// Every stream is given its last message; returns when that is done. Idle without da_news_begin.
void da_news_end(da_server *s);
// Under streams_lock.
void da_message_release(da_message *m);

// Once the server is ending: whether a stream has not got its last message, and whether a client is
// still connected, which may want to ask for the rest.
bool da_streams_sending(da_server *s);
bool da_streams_open(da_server *s);

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
