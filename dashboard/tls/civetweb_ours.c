// SPDX-License-Identifier: MIT
// CivetWeb, and what we want to know of a connection that it keeps for itself.
#ifdef _WIN32
#include "patient_select.h"
#define select da_patient_select
#endif
#include "civetweb.c"

#include "connection.h"

long long da_connection_socket(const struct mg_connection *c)
{
    return (long long)c->client.sock;
}

bool da_connection_overflowed(const struct mg_connection *c)
{
    return c->request_len < 0 && c->data_len >= c->buf_size;
}
