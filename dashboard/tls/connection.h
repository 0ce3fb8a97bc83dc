// SPDX-License-Identifier: MIT
// What civetweb_ours.c tells of CivetWeb's connections.
#pragma once

#include <stdbool.h>

struct mg_connection;

// Borrowed; of Windows' handles the lower 32 bits count.
long long da_connection_socket(const struct mg_connection *c);
// Whether the header did not fit.
bool da_connection_overflowed(const struct mg_connection *c);
