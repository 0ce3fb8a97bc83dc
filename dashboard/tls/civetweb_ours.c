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

// What a client may still take for its body (deps.cmake puts this into CivetWeb).
struct mg_connection;
static double da_body_seconds_left(const struct mg_connection *c);

#include "civetweb.c"

#include "connection.h"

#define BODY_SECONDS 10.0

static double da_body_seconds_left(const struct mg_connection *c)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return BODY_SECONDS - mg_difftimespec(&now, &c->req_time);
}

// CivetWeb has no use for that time any more once the header is there.
void da_connection_body_begins(struct mg_connection *c)
{
    clock_gettime(CLOCK_MONOTONIC, &c->req_time);
}

bool da_connection_body_is_late(const struct mg_connection *c)
{
    return da_body_seconds_left(c) <= 0;
}

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
