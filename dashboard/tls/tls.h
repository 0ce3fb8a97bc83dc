// SPDX-License-Identifier: MIT
// TLS for the live view's server: the certificate with its key, and connections over sockets that
// do not block. Mbed TLS is seen by tls.c and tls_files.c alone.
//
// Threads: handshakes of one da_tls take turns, so that what they share in Mbed TLS (the private
// key, tables made on first use) needs no locks of its own and strangers keep one core busy at
// most. A link may be read by one thread while another one writes.
#pragma once

#include "common/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct da_tls da_tls;
typedef struct da_tls_link da_tls_link;

// Reads both files (PEM) and checks that they belong together.
cm_status da_tls_open(const char *certificate, const char *key, da_tls **out);
// After the last link has ended. NULL is allowed.
void da_tls_close(da_tls *tls);

// What a server's connections come through.
typedef struct da_tls_gate da_tls_gate;
struct da_tls_gate {
    da_tls *tls; // NULL: none
    // Whether the server is ending: no handshake is waited for then. Any thread.
    bool (*is_ending)(const da_tls_gate *gate);
    // A connection whose handshake begins. Any thread.
    void (*comes)(const da_tls_gate *gate, int socket);
};

#define DA_TLS_AGAIN (-1) // nothing now: wait for the socket
#define DA_TLS_OVER  (-2)

// Waits for the handshake, at most ten seconds; NULL where there is none to be had. The socket
// stays the caller's.
da_tls_link *da_tls_accept(const da_tls_gate *gate, int socket);
// Bytes, or one of the above.
int da_tls_read(da_tls_link *link, void *bytes, int len);
int da_tls_write(da_tls_link *link, const void *bytes, int len);
// Bytes that da_tls_read has without the socket.
size_t da_tls_waiting(da_tls_link *link);
// Says goodbye, and frees it.
void da_tls_end(da_tls_link *link);
