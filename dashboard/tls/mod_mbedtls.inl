// SPDX-License-Identifier: MIT
// CivetWeb includes a file of this name for its TLS; cmake/deps.cmake makes it find this one. Its
// own would take certificate and key from one file, share a random generator and a connection
// between threads without a lock, spin while a client says nothing in its handshake, and wait for
// that client for ever. Here all of that is tls.c's; CivetWeb keeps the requests.
#include "tls.h"

// It prints to stderr what ends a connection. Clients that go are nobody's error.
#define fprintf(stream, ...) ((stream) == stderr ? 0 : fprintf(stream, __VA_ARGS__))

#define MBEDTLS_ERR_SSL_WANT_READ         DA_TLS_AGAIN
#define MBEDTLS_ERR_SSL_WANT_WRITE        DA_TLS_AGAIN
#define MBEDTLS_ERR_SSL_ASYNC_IN_PROGRESS DA_TLS_AGAIN
#define mbedtls_ssl_get_bytes_avail(link) ((int)da_tls_waiting(link))

typedef struct da_tls_link SSL;
typedef struct SSL_CTX {
    char unused; // the certificate is the gate's
} SSL_CTX;

static int mbed_sslctx_init(SSL_CTX *context, const char *certificate)
{
    (void)context;
    (void)certificate;
    return 0;
}

static void mbed_sslctx_uninit(SSL_CTX *context)
{
    (void)context;
}

// The user's data of every server of ours begins with its gate.
static int mbed_ssl_accept(SSL **link, SSL_CTX *context, int *sock, struct mg_context *server)
{
    (void)context;
    *link = da_tls_accept((const da_tls_gate *)mg_get_user_data(server), *sock);
    return *link ? 0 : -1;
}

static int mbed_ssl_read(SSL *link, unsigned char *bytes, int len)
{
    return da_tls_read(link, bytes, len);
}

static int mbed_ssl_write(SSL *link, const unsigned char *bytes, int len)
{
    return da_tls_write(link, bytes, len);
}

static void mbed_ssl_close(SSL *link)
{
    da_tls_end(link);
}
