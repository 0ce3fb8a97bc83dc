// SPDX-License-Identifier: MIT
#include "net.h"

#include "common/os.h"

#include <stdio.h>
#include <string.h>

#define TURN_MS 50u // between two looks at whether the end has come

// False: it takes too long.
static bool await(da_socket s, bool to_write, da_net_wait wait)
{
    for (;;) {
        uint64_t now = cm_monotonic_ns(), end = atomic_load(wait.end_ns);
        uint64_t until = end && end < wait.until_ns ? end : wait.until_ns;
        if (da_net_ready(s, to_write, now < until ? TURN_MS : 0))
            return true;
        if (now >= until)
            return false;
    }
}

static cm_status failed(const char *what)
{
    char reason[120];
    da_net_reason(reason, sizeof reason);
    return cm_fail(CM_IO, "%s: %s", what, reason);
}

static cm_status too_slow(const char *what)
{
    return cm_fail(CM_IO, "%s took too long", what);
}

static cm_status connect_to(const struct addrinfo *address, da_net_wait wait, da_socket *out)
{
    da_socket s = da_net_open(address);
    if (s == DA_NO_SOCKET)
        return failed("no socket");
    cm_status status = CM_OK;
    if (connect(s, address->ai_addr, (socklen_t)address->ai_addrlen) != 0) {
        if (!da_net_would_wait())
            status = failed("no connection");
        else if (!await(s, true, wait))
            status = too_slow("connecting");
        else if (!da_net_connected(s))
            status = failed("no connection");
    }
    if (status != CM_OK)
        da_net_close(s);
    else
        *out = s;
    return status;
}

cm_status da_net_connect(const char *host, unsigned port, da_net_wait wait, da_socket *out)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    if (getaddrinfo(host, service, &hints, &found) != 0)
        return cm_fail(CM_IO, "no such host");
    cm_status status = cm_fail(CM_IO, "no such host");
    for (const struct addrinfo *a = found; a && status != CM_OK; a = a->ai_next)
        status = connect_to(a, wait, out);
    freeaddrinfo(found);
    return status;
}

cm_status da_net_send(da_socket s, const void *bytes, size_t len, da_net_wait wait)
{
    const char *at = bytes;
    while (len) {
        size_t part = len < 65536 ? len : 65536;
        long sent = da_net_write(s, at, part);
        if (sent > 0) {
            at += sent;
            len -= (size_t)sent;
        } else if (!da_net_would_wait()) {
            return failed("sending");
        }
        if (len && !await(s, true, wait))
            return too_slow("sending");
    }
    return CM_OK;
}

cm_status da_net_receive(da_socket s, void *bytes, size_t capacity, da_net_wait wait,
                         size_t *out_len)
{
    for (;;) {
        if (!await(s, false, wait))
            return too_slow("the answer");
        long got = da_net_read(s, bytes, capacity);
        if (got >= 0) {
            *out_len = (size_t)got;
            return CM_OK;
        }
        if (!da_net_would_wait())
            return failed("the answer");
    }
}
