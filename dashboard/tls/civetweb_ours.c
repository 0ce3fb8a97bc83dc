// SPDX-License-Identifier: MIT
// CivetWeb, and what we want to know of a connection that it keeps for itself.
#ifdef _WIN32
#include "patient_select.h"
#define select da_patient_select

#define DRAIN_MS 2000u

// While a connection is closed (deps.cmake puts this into CivetWeb): *begin is 0 at first.
static int da_may_go_on(unsigned long long *begin)
{
    unsigned long long now = GetTickCount64();
    if (!*begin)
        *begin = now;
    return now - *begin < DRAIN_MS;
}
#endif
#include "civetweb.c"

#include "connection.h"

long long da_connection_socket(const struct mg_connection *c)
{
    return (long long)c->client.sock;
}

struct da_tls_link *da_connection_tls(const struct mg_connection *c)
{
    return c->ssl;
}

bool da_connection_overflowed(const struct mg_connection *c)
{
    return c->request_len < 0 && c->data_len >= c->buf_size;
}
