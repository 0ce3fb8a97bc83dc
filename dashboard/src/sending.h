// SPDX-License-Identifier: MIT
// Bytes on their way to a client. It may read slowly, but keeps one of the server's threads
// meanwhile: who takes next to nothing is not waited for, and hardly at all while many others are
// being answered.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct da_sending {
    struct da_server *server;
    struct mg_connection *connection;
    bool is_stream;     // its thread is its own, however many others are being answered
    uint64_t waited_ns; // for the client,
    size_t taken;       // which took so many bytes meanwhile
    bool over;          // the client has gone, was too slow, or the server ends
} da_sending;

void da_sending_begin(da_sending *s, struct da_server *server, struct mg_connection *connection,
                      bool is_stream);
// All of it, or false: it is over.
bool da_send(da_sending *s, const void *bytes, size_t len);
