// SPDX-License-Identifier: MIT
#include "../net_system.h"

#include "patient_select.h"

#include <limits.h>
#include <stdio.h>

#include <windows.h>

const char da_net_os[] = "windows";

bool da_net_begin(void)
{
    WSADATA data;
    return WSAStartup(MAKEWORD(2, 2), &data) == 0; // undone by the end of the process
}

da_socket da_net_open(const struct addrinfo *address)
{
    u_long on = 1;
    da_socket s = socket(address->ai_family, SOCK_STREAM, address->ai_protocol);
    if (s != DA_NO_SOCKET && ioctlsocket(s, (long)FIONBIO, &on) != 0) {
        closesocket(s);
        s = DA_NO_SOCKET;
    }
    if (s != DA_NO_SOCKET) // what we start must not hold it open
        SetHandleInformation((HANDLE)s, HANDLE_FLAG_INHERIT, 0);
    return s;
}

void da_net_close(da_socket s)
{
    closesocket(s);
}

void da_net_end(da_socket s)
{
    shutdown(s, SD_BOTH);
}

void da_net_keep(da_socket s, unsigned bytes)
{
    int wanted = (int)bytes;
    setsockopt(s, SOL_SOCKET, SO_SNDBUF, (const char *)&wanted, sizeof wanted);
}

long da_net_write(da_socket s, const void *bytes, size_t len)
{
    return (long)send(s, bytes, len < INT_MAX ? (int)len : INT_MAX, 0);
}

long da_net_read(da_socket s, void *bytes, size_t capacity)
{
    return (long)recv(s, bytes, capacity < INT_MAX ? (int)capacity : INT_MAX, 0);
}

bool da_net_would_wait(void)
{
    return WSAGetLastError() == WSAEWOULDBLOCK;
}

void da_net_reason(char *out, size_t capacity)
{
    switch (WSAGetLastError()) {
    case WSAECONNREFUSED:
        snprintf(out, capacity, "Connection refused");
        break;
    case WSAECONNRESET:
    case WSAECONNABORTED:
        snprintf(out, capacity, "Connection reset by peer");
        break;
    case WSAENETUNREACH:
    case WSAEHOSTUNREACH:
        snprintf(out, capacity, "No way to that host");
        break;
    case WSAETIMEDOUT:
        snprintf(out, capacity, "Connection timed out");
        break;
    default:
        snprintf(out, capacity, "Windows Sockets error %d", WSAGetLastError());
    }
}

// Windows tells of a connection that failed by the third set alone.
bool da_net_ready(da_socket s, bool to_write, uint32_t ms)
{
    fd_set wanted, failed;
    struct timeval time = {(long)(ms / 1000), (long)(ms % 1000) * 1000};
    FD_ZERO(&wanted);
    FD_ZERO(&failed);
    FD_SET(s, &wanted);
    FD_SET(s, &failed);
    return da_patient_select(0, to_write ? NULL : &wanted, to_write ? &wanted : NULL, &failed,
                             &time) > 0;
}

bool da_net_connected(da_socket s)
{
    int error = 0, len = sizeof error;
    if (getsockopt(s, SOL_SOCKET, SO_ERROR, (char *)&error, &len) != 0)
        return false;
    WSASetLastError(error);
    return error == 0;
}

void da_net_host_name(char *out, size_t capacity)
{
    DWORD len = (DWORD)capacity;
    if (!GetComputerNameExA(ComputerNameDnsHostname, out, &len))
        snprintf(out, capacity, "unknown");
}

unsigned da_net_process(void)
{
    return (unsigned)GetCurrentProcessId();
}
