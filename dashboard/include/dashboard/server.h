// SPDX-License-Identifier: MIT
// The HTTP and WebSocket server of the live view. docs/api.md is what it promises.
//
// Without TLS it listens on loopback addresses only: others could read along.
// Captures may be added while it runs; each stays until the server has stopped or it is taken away.
#pragma once

#include "dashboard/control.h"
#include "dashboard/live.h"
#include "dashboard/otlp.h"

#include <stdatomic.h>

typedef struct da_server da_server;

// One capture as clients see it.
typedef struct da_capture {
    da_live *live; // borrowed until the server has stopped or da_server_remove was true
    void *context;
    // NULL: nothing can be done to it. CM_UNSUPPORTED: not to this one. Called on any thread.
    cm_status (*control)(void *context, const da_control *control);
} da_capture;

typedef struct da_export {
    const char *file, *format, *table; // table: NULL none
    bool has_session, has_from, has_to;
    int64_t session;
    double from_s, to_s;
    const atomic_bool *given_up; // becomes true when nobody waits any longer
} da_export;

// What the program around the server does for it. All may be NULL; any thread calls them.
typedef struct da_host {
    void *context;
    cm_status (*export_file)(void *context, const da_export *what, cm_write_fn write, void *to);
    // The array "processes" (docs/api.md).
    cm_status (*list_processes)(void *context, cm_out *out);
    cm_status (*attach)(void *context, uint32_t pid, uint32_t *out_capture);
    // Something that the user should know.
    void (*say)(void *context, const char *sentence);
} da_host;

typedef struct da_server_options {
    unsigned port;                  // 0: 9797 or the next free one
    double hz;                      // of the WebSocket, 0: 10
    const char *audit;              // NULL: no log of control actions
    const char *listen;             // an address; NULL: 127.0.0.1
    const char *tls_cert, *tls_key; // PEM files, both or none
    const char *token_file;         // NULL: random tokens
    const char *const *names;       // further ones by which clients ask for it
    size_t name_count;
    da_host host;
    da_otlp_options otlp;
    bool no_page; // nobody can ask: figures are only pushed
} da_server_options;

#define DA_PORT 9797u

cm_status da_server_start(const da_server_options *options, da_server **out);
// Ends all connections: those that wait for an answer or may still ask get five seconds. False:
// some answer did not end. Then the captures and what the host's functions use must stay as they
// are until the process ends.
bool da_server_stop(da_server *s);

#define DA_SERVER_CAPTURES 16u // at most at a time

// Numbers count from 1 and are not used again; 0 when there is no room.
uint32_t da_server_add(da_server *s, const da_capture *capture);
// False while an answer is made of it: try again, or take another one.
bool da_server_remove(da_server *s, uint32_t number);

// Borrowed. Without a token; with the one that may do most; with the one that may only read (as far
// as there are such).
const char *da_server_address(const da_server *s);
const char *da_server_url(const da_server *s);
const char *da_server_read_url(const da_server *s);
unsigned da_server_port(const da_server *s);
