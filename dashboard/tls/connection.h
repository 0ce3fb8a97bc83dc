// SPDX-License-Identifier: MIT
// What civetweb_ours.c tells of CivetWeb's connections.
#pragma once

#include <stdbool.h>

struct da_tls_link;
struct mg_connection;

// Borrowed; of Windows' handles the lower 32 bits count.
long long da_connection_socket(const struct mg_connection *c);
// Borrowed; NULL: it is not encrypted.
struct da_tls_link *da_connection_tls(const struct mg_connection *c);
// The header is there: from now on the client has ten seconds for all that follows it. Then what
// reads the body ends.
void da_connection_body_begins(struct mg_connection *c);
bool da_connection_body_is_late(const struct mg_connection *c);
// Whether the header did not fit.
bool da_connection_overflowed(const struct mg_connection *c);
