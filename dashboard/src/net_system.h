// SPDX-License-Identifier: MIT
// What sockets have different names for: src/win32/net_system.c and src/posix/net_system.c.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#include <winsock2.h>
#include <ws2tcpip.h>
typedef SOCKET da_socket;
#define DA_NO_SOCKET INVALID_SOCKET
#else
#include <netdb.h>
#include <sys/socket.h>
typedef int da_socket;
#define DA_NO_SOCKET (-1)
#endif

// Once before anything else; false: there are no sockets.
bool da_net_begin(void);
// Without waiting; DA_NO_SOCKET: the system has none.
da_socket da_net_open(const struct addrinfo *address);
void da_net_close(da_socket s);
// Ends the connection both ways; the socket stays. Whoever waits for it is woken.
void da_net_end(da_socket s);
// How much the system may keep of what the other side has not taken; about.
void da_net_keep(da_socket s, unsigned bytes);
// How many bytes, below 0 where it failed; without waiting. A connection that has gone is a failure
// and no signal.
long da_net_write(da_socket s, const void *bytes, size_t len);
long da_net_read(da_socket s, void *bytes, size_t capacity);
// Whether what just failed only needs time.
bool da_net_would_wait(void);
// The system's word for what just failed.
void da_net_reason(char *out, size_t capacity);
// Waits until it can be read or written, or has failed, at most so long. False: not yet.
bool da_net_ready(da_socket s, bool to_write, uint32_t ms);
// Of a connection that was begun: whether it stands; else da_net_reason knows why.
bool da_net_connected(da_socket s);

// This machine's name and this process' number.
void da_net_host_name(char *out, size_t capacity);
unsigned da_net_process(void);
extern const char da_net_os[]; // as OpenTelemetry names it
