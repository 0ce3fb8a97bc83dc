// SPDX-License-Identifier: MIT
// Where the server listens, by which names it may be asked for, and whether that is safe: an
// address that other machines reach needs TLS. Everything is checked before anybody can connect.
#include "connection.h"
#include "server_internal.h"

#include <stdio.h>
#include <string.h>

#define PORTS_TRIED 64u
#define MOST_NAME   253u

// An address to listen on, as text: "127.0.0.1", "[::1]".
typedef struct place {
    char text[56];
    bool is_v6, is_loopback, is_every;
} place;

static bool read_v4(const char *text, place *out)
{
    unsigned parts[4];
    int end = 0;
    if (strspn(text, "0123456789.") != strlen(text) || strlen(text) > 15 ||
        sscanf(text, "%3u.%3u.%3u.%3u%n", &parts[0], &parts[1], &parts[2], &parts[3], &end) != 4 ||
        text[end])
        return false;
    for (int i = 0; i < 4; i++)
        if (parts[i] > 255)
            return false;
    snprintf(out->text, sizeof out->text, "%u.%u.%u.%u", parts[0], parts[1], parts[2], parts[3]);
    out->is_loopback = parts[0] == 127;
    out->is_every = strcmp(out->text, "0.0.0.0") == 0;
    return true;
}

// With or without brackets. Only its plain form counts as loopback; CivetWeb parses the rest.
static bool read_v6(const char *text, place *out)
{
    size_t len = strlen(text);
    if (*text == '[' && len > 2 && text[len - 1] == ']')
        text++, len -= 2;
    const char *colon = memchr(text, ':', len);
    if (len < 2 || len > 45 || strspn(text, "0123456789abcdefABCDEF:.") < len || !colon ||
        !memchr(colon + 1, ':', len - (size_t)(colon + 1 - text))) // one alone is before a port
        return false;
    snprintf(out->text, sizeof out->text, "[%.*s]", (int)len, text);
    out->is_v6 = true;
    out->is_loopback = strcmp(out->text, "[::1]") == 0;
    out->is_every = strcmp(out->text, "[::]") == 0;
    return true;
}

static cm_status read_place(const char *listen, place *out)
{
    *out = (place){0};
    if (!listen || strcmp(listen, "localhost") == 0)
        listen = "127.0.0.1";
    if (read_v4(listen, out) || read_v6(listen, out))
        return CM_OK;
    return cm_fail(CM_USAGE,
                   "--listen takes an address of this machine (192.168.1.5, [fe80::1]), 0.0.0.0 or "
                   "[::] for all of them, not \"%s\"; names go to --host.",
                   listen);
}

// "name", "name:port" or either with an IPv6 address in brackets.
static bool is_name(const char *name)
{
    size_t len = strlen(name), host = strcspn(name, ":");
    if (*name == '[') {
        host = strcspn(name, "]") + 1;
        if (host > len || host < 4 || strspn(name + 1, "0123456789abcdefABCDEF:.") != host - 2)
            return false;
    } else if (!host || strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                     "0123456789.-_") != host) {
        return false;
    }
    size_t digits = len > host ? len - host - 1 : 0;
    return len <= MOST_NAME && (len == host || (name[host] == ':' && digits >= 1 && digits <= 5 &&
                                                strspn(name + host + 1, "0123456789") == digits));
}

static cm_status check(const da_server_options *o, const place *at)
{
    if (!o->tls_cert != !o->tls_key)
        return cm_fail(CM_USAGE, "--tls-cert and --tls-key go together: TLS needs the certificate "
                                 "and its private key.");
    if (!at->is_loopback && !o->tls_cert)
        return cm_fail(CM_USAGE,
                       "--listen %s lets other machines in, and on the way to them others could "
                       "read along: add --tls-cert FILE and --tls-key FILE, or leave --listen out "
                       "and reach this machine by ssh -L %u:127.0.0.1:%u.",
                       at->text, o->port ? o->port : DA_PORT, o->port ? o->port : DA_PORT);
    if (at->is_every && !o->name_count)
        return cm_fail(CM_USAGE,
                       "--listen %s needs --host NAME, the name or address by which clients ask "
                       "for this machine: requests for other names are refused, since web pages "
                       "could send them.",
                       at->text);
    for (size_t i = 0; i < o->name_count; i++)
        if (!is_name(o->names[i]))
            return cm_fail(CM_USAGE,
                           "--host takes a name or an address (profiler.example, 192.168.1.5, "
                           "[fe80::1]), with :PORT where clients use another port, not \"%.100s\".",
                           o->names[i]);
    return CM_OK;
}

// As clients write it: they leave out the port that the scheme has anyway.
static void add_host(da_access *a, const char *name, unsigned port)
{
    bool has_port = *name == '[' ? strstr(name, "]:") != NULL : strchr(name, ':') != NULL;
    const char *usual = strcmp(a->scheme, "https") == 0 ? ":443" : ":80";
    char *host = a->hosts[a->host_count];
    if (a->host_count >= DA_HOSTS)
        return;
    a->host_count++;
    if (has_port)
        snprintf(host, sizeof *a->hosts, "%s", name);
    else
        snprintf(host, sizeof *a->hosts, "%s:%u", name, port);
    size_t len = strlen(host), usual_len = strlen(usual);
    if (strcmp(host + len - usual_len, usual) == 0)
        host[len - usual_len] = 0;
}

// The first is the one that is announced.
static void name_hosts(da_access *a, const da_server_options *o, const place *at, unsigned port)
{
    static const char *const own[] = {"127.0.0.1", "localhost", "[::1]"};
    a->host_count = 0;
    for (size_t i = 0; i < o->name_count; i++)
        add_host(a, o->names[i], port);
    if (!at->is_every)
        add_host(a, at->text, port);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        add_host(a, own[i], port);
}

static int on_message(const struct mg_connection *c, const char *message)
{
    (void)c;
    (void)message;
    return 1; // nothing is printed
}

static void comes(const da_tls_gate *gate, int socket)
{
    da_waiting_begin(&((da_server *)(size_t)gate)->waiting, socket);
}

static int on_connection(const struct mg_connection *c, void **data)
{
    (void)data;
    da_server *s = mg_get_user_data(mg_get_context(c));
    da_waiting_begin(&s->waiting, da_connection_socket(c));
    return 0;
}

static void on_close(const struct mg_connection *c)
{
    da_server *s = mg_get_user_data(mg_get_context(c));
    da_waiting_end(&s->waiting, da_connection_socket(c));
}

static struct mg_context *listen_on(da_server *s, const place *at, unsigned port)
{
    char ports[80], threads[8];
    const struct mg_callbacks callbacks = {.init_connection = on_connection,
                                           .begin_request = da_on_request,
                                           .http_error = da_on_error,
                                           .connection_close = on_close,
                                           .log_message = on_message};
    // "+" is every address of both kinds.
    snprintf(ports, sizeof ports, "%s%s%u%s", at->is_every && at->is_v6 ? "+" : at->text,
             at->is_every && at->is_v6 ? "" : ":", port, s->gate.tls ? "s" : "");
    snprintf(threads, sizeof threads, "%u", DA_STREAMS + DA_WAITING + DA_ANSWERS);
    const char *options[] = {"listening_ports",
                             ports,
                             "num_threads",
                             threads,
                             "request_timeout_ms",
                             "10000",
                             "websocket_timeout_ms", // between pings, and looks at what has ended
                             "10000",
                             "enable_websocket_ping_pong",
                             "yes",
                             "max_request_size",
                             "8192",
                             "tcp_nodelay",
                             "1",
                             "enable_keep_alive",
                             "no",
                             "connection_queue",
                             "64",
                             "decode_url",
                             "no",
                             "enable_directory_listing",
                             "no",
                             NULL};
    return mg_start(&callbacks, s, options);
}

static bool is_ending(const da_tls_gate *gate)
{
    return atomic_load(&((da_server *)(size_t)gate)->core.given_up);
}

cm_status da_listen(da_server *s, const da_server_options *o)
{
    unsigned first = o->port ? o->port : DA_PORT, tried = o->port ? 1 : PORTS_TRIED;
    da_access *a = &s->core.access;
    place at;
    CM_TRY(read_place(o->listen, &at));
    CM_TRY(check(o, &at));
    if (o->tls_cert)
        CM_TRY(da_tls_open(o->tls_cert, o->tls_key, &s->gate.tls));
    s->gate.is_ending = is_ending;
    s->gate.comes = comes;
    a->scheme = s->gate.tls ? "https" : "http";
    for (unsigned i = 0; i < tried && !s->context; i++) {
        s->port = first + i;
        name_hosts(a, o, &at, s->port);
        s->context = listen_on(s, &at, s->port);
    }
    if (!s->context && o->listen)
        return cm_fail(CM_FAILED,
                       "Nobody can listen on %s, port %u: this machine does not have that address, "
                       "or another program listens there. Name another one with --listen or "
                       "--port.",
                       at.text, first);
    if (!s->context)
        return cm_fail(CM_FAILED,
                       "Nobody can listen on port %u: another program does. Name another one with "
                       "--port.",
                       first);
    mg_set_websocket_handler(s->context, "/ws/metrics$", da_stream_connect, da_stream_ready,
                             da_stream_data, da_stream_close, s);
    snprintf(s->address, sizeof s->address, "%s://%s/", a->scheme, a->hosts[0]);
    snprintf(s->url, sizeof s->url, "%s?token=%s", s->address, *a->control ? a->control : a->read);
    snprintf(s->read_url, sizeof s->read_url, "%s?token=%s", s->address, a->read);
    return CM_OK;
}
