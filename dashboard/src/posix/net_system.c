// SPDX-License-Identifier: MIT
#include "../net_system.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char da_net_os[] = "linux";

bool da_net_begin(void)
{
    return true;
}

da_socket da_net_open(const struct addrinfo *address)
{
    return socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                  address->ai_protocol);
}

void da_net_close(da_socket s)
{
    close(s);
}

void da_net_end(da_socket s)
{
    shutdown(s, SHUT_RDWR);
}

void da_net_keep(da_socket s, unsigned bytes)
{
    int half = (int)(bytes / 2); // Linux doubles it
    setsockopt(s, SOL_SOCKET, SO_SNDBUF, &half, sizeof half);
}

long da_net_write(da_socket s, const void *bytes, size_t len)
{
    return (long)send(s, bytes, len, MSG_NOSIGNAL);
}

long da_net_read(da_socket s, void *bytes, size_t capacity)
{
    return (long)recv(s, bytes, capacity, 0);
}

bool da_net_would_wait(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINPROGRESS || errno == EINTR;
}

void da_net_reason(char *out, size_t capacity)
{
    snprintf(out, capacity, "%s", strerror(errno));
}

bool da_net_ready(da_socket s, bool to_write, uint32_t ms)
{
    struct pollfd p = {.fd = s, .events = to_write ? POLLOUT : POLLIN};
    return poll(&p, 1, (int)ms) > 0;
}

bool da_net_connected(da_socket s)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        return false;
    errno = error;
    return error == 0;
}

void da_net_host_name(char *out, size_t capacity)
{
    if (gethostname(out, capacity) != 0)
        snprintf(out, capacity, "unknown");
    out[capacity - 1] = 0;
}

unsigned da_net_process(void)
{
    return (unsigned)getpid();
}
