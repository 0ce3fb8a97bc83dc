// SPDX-License-Identifier: MIT
#include "sending.h"

#include "connection.h"
#include "net_system.h"
#include "server_internal.h"

#include <stdatomic.h>

// What the system keeps of what a client has not taken. Left alone it keeps ever more, and that it
// takes bytes says nothing about the client. Most answers fit and need nobody to wait; of a stream
// who reads slowly shall get the newest, not all of it.
#define KEPT_ANSWER (256u << 10)
#define KEPT_STREAM (64u << 10)
#define PIECE_BYTES 8192u  // some systems take all of it or nothing
#define LEAST_BYTES 16384u // in so much time of waiting:
#define USUAL_NS    10000000000ull
#define CROWDED_NS  2000000000ull
#define TURN_MS     50u // between two looks at whether that has changed

static da_socket socket_of(const da_sending *s)
{
    return (da_socket)da_connection_socket(s->connection);
}

// How many were taken, 0: none yet. Below 0: the client has gone.
static long write_some(da_sending *s, const char *bytes, size_t len)
{
    da_tls_link *tls = da_connection_tls(s->connection);
    size_t part = len < PIECE_BYTES ? len : PIECE_BYTES;
    if (tls) {
        int n = da_tls_write(tls, bytes, (int)part);
        return n == DA_TLS_AGAIN ? 0 : n;
    }
    long n = da_net_write(socket_of(s), bytes, part);
    return n < 0 && da_net_would_wait() ? 0 : n;
}

// False: it is not worth waiting for, or nobody may wait any longer.
static bool wait_for_client(da_sending *s)
{
    uint64_t begin_ns = cm_monotonic_ns();
    if (!s->waited_ns)
        s->taken = 0; // what fits into the system's buffers says nothing about the client
    da_net_ready(socket_of(s), true, TURN_MS);
    s->waited_ns += cm_monotonic_ns() - begin_ns;
    if (atomic_load(&s->server->core.given_up))
        return false;
    bool crowded = !s->is_stream && atomic_load(&s->server->answering) > DA_CROWD;
    if (s->waited_ns < (crowded ? CROWDED_NS : USUAL_NS))
        return true;
    s->waited_ns = 0;
    return s->taken >= LEAST_BYTES;
}

void da_sending_begin(da_sending *s, da_server *server, struct mg_connection *connection,
                      bool is_stream)
{
    *s = (da_sending){.server = server, .connection = connection, .is_stream = is_stream};
    da_net_keep(socket_of(s), is_stream ? KEPT_STREAM : KEPT_ANSWER);
}

bool da_send(da_sending *s, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len && !s->over) {
        long n = write_some(s, at, len);
        if (n > 0) {
            at += n;
            len -= (size_t)n;
            s->taken += (size_t)n;
        } else if (n < 0 || !wait_for_client(s)) {
            s->over = true;
            da_net_end(socket_of(s)); // so that closing it waits for nothing either
        }
    }
    return !s->over;
}
