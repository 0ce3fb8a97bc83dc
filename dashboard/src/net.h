// SPDX-License-Identifier: MIT
// A connection of our own to a server, for one request: nothing waits for longer than it is told.
// Only the search for a name's address can't be cut short: the system's own function does it.
#pragma once

#include "common/status.h"
#include "net_system.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// When to give up, by cm_monotonic_ns: at `until_ns`, or earlier once *end_ns is set.
typedef struct da_net_wait {
    uint64_t until_ns;
    const atomic_uint_fast64_t *end_ns; // 0: not set
} da_net_wait;

// The sentence of a failure says what happened, without the host's name.
cm_status da_net_connect(const char *host, unsigned port, da_net_wait wait, da_socket *out);
cm_status da_net_send(da_socket s, const void *bytes, size_t len, da_net_wait wait);
// *out_len 0: the other end has closed it.
cm_status da_net_receive(da_socket s, void *bytes, size_t capacity, da_net_wait wait,
                         size_t *out_len);
