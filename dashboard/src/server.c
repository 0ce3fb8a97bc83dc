// SPDX-License-Identifier: MIT
// CivetWeb and our answers. Nothing of CivetWeb's own is used but the protocol: no files, no
// directory, no scripts; every request goes through da_handle.
#include "common/os.h"
#include "server_internal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BODY   4096
#define PORTS_TRIED 64u
#define LAST_TURNS  200u  // of 10 ms, for the last messages
#define STOP_TURNS  2000u // of 10 ms

static const char security_headers[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src "
    "'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "
    "'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n"
    "Connection: close\r\n";

// ----------------------------------------------------------------------------------------- answers

static const char *reason_of(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 409:
        return "Conflict";
    case 413:
        return "Content Too Large";
    case 503:
        return "Service Unavailable";
    default:
        return "Error";
    }
}

typedef enum body_end { WITH_LENGTH, CHUNKS, UNTIL_CLOSED } body_end;

static void send_head(struct mg_connection *c, const da_reply *reply, body_end end, size_t len)
{
    mg_printf(c, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n%s", reply->status,
              reason_of(reply->status), reply->type, security_headers);
    if (reply->status == 401)
        mg_printf(c, "WWW-Authenticate: Bearer\r\n");
    if (reply->status == 405)
        mg_printf(c, "Allow: GET, POST\r\n");
    if (reply->download[0])
        mg_printf(c, "Content-Disposition: attachment; filename=\"%s\"\r\n", reply->download);
    if (end == WITH_LENGTH)
        mg_printf(c, "Content-Length: %llu\r\n", (unsigned long long)len);
    if (end == CHUNKS)
        mg_printf(c, "Transfer-Encoding: chunked\r\n");
    mg_printf(c, "\r\n");
}

typedef struct download {
    struct mg_connection *connection;
    const da_reply *reply;
    bool begun;
    bool chunked; // the client can tell a whole one from one that was cut
} download;

static cm_status write_download(void *context, const void *bytes, size_t len)
{
    download *d = context;
    if (!d->begun)
        send_head(d->connection, d->reply, d->chunked ? CHUNKS : UNTIL_CLOSED, 0);
    d->begun = true;
    while (len) {
        size_t part = len < (1u << 20) ? len : 1u << 20;
        if (d->chunked ? mg_send_chunk(d->connection, bytes, (unsigned)part) < 0
                       : mg_write(d->connection, bytes, part) != (int)part)
            return cm_fail(CM_END, "The client has gone.");
        bytes = (const char *)bytes + part;
        len -= part;
    }
    return CM_OK;
}

// What fails before the first byte is told as such; later, the connection ends without the mark
// that says that the download is whole.
static void send_stream(da_server *s, struct mg_connection *c, da_reply *reply)
{
    const char *version = mg_get_request_info(c)->http_version;
    download d = {c, reply, .chunked = version && strcmp(version, "1.0") != 0};
    cm_status status =
        s->core.host.export_file(s->core.host.context, &reply->stream, write_download, &d);
    if (d.begun) {
        if (status == CM_OK && d.chunked)
            mg_send_chunk(c, "", 0);
        return;
    }
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", cm_error_text(status));
    reply->type = "application/json; charset=utf-8";
    reply->download[0] = 0;
    da_reply_error(reply,
                   status == CM_USAGE               ? 400
                   : atomic_load(&s->core.given_up) ? 503
                                                    : 500,
                   sentence);
    const char *body = cm_out_string(&reply->body);
    send_head(c, reply, WITH_LENGTH, strlen(body));
    mg_write(c, body, strlen(body));
}

static void send_reply(da_server *s, struct mg_connection *c, da_reply *reply)
{
    if (reply->is_stream && reply->status == 200) {
        send_stream(s, c, reply);
        return;
    }
    const void *body = reply->file ? (const void *)reply->file : cm_out_string(&reply->body);
    size_t len = reply->file ? reply->file_len : strlen(body);
    send_head(c, reply, WITH_LENGTH, len);
    mg_write(c, body, len);
}

da_request da_request_of(const struct mg_connection *c)
{
    const struct mg_request_info *info = mg_get_request_info(c);
    return (da_request){.method = info->request_method ? info->request_method : "",
                        .path = info->local_uri ? info->local_uri : "",
                        .query = info->query_string,
                        .host = mg_get_header(c, "Host"),
                        .origin = mg_get_header(c, "Origin"),
                        .authorization = mg_get_header(c, "Authorization"),
                        .content_type = mg_get_header(c, "Content-Type"),
                        .peer = info->remote_addr};
}

// Only of who may send one: a body can be sent as slowly as one likes. False: it was refused.
static bool read_body(da_server *s, struct mg_connection *c, da_request *r, char *body,
                      da_reply *reply)
{
    const struct mg_request_info *info = mg_get_request_info(c);
    size_t len = 0;
    da_right right;
    if (strcmp(r->method, "POST") != 0 || strcmp(r->path, "/api/v1/control") != 0)
        return true;
    if (da_check(&s->core, r, reply, &right) != 0)
        return false;
    if (info->content_length > MOST_BODY) {
        da_reply_error(reply, 413, "The body may have 4 KiB.");
        return false;
    }
    while (len <= MOST_BODY) {
        int n = mg_read(c, body + len, MOST_BODY + 1 - len);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    if (len > MOST_BODY) {
        da_reply_error(reply, 413, "The body may have 4 KiB.");
        return false;
    }
    r->body = body;
    r->body_len = len;
    return true;
}

static bool is_stream_request(const da_request *r, const struct mg_connection *c)
{
    const char *upgrade = mg_get_header(c, "Upgrade");
    return strcmp(r->path, "/ws/metrics") == 0 && upgrade &&
           mg_strcasecmp(upgrade, "websocket") == 0;
}

// 0: CivetWeb goes on, with the WebSocket. 1: answered.
static int on_request(struct mg_connection *c)
{
    da_server *s = mg_get_user_data(mg_get_context(c));
    da_request r = da_request_of(c);
    da_reply reply;
    da_right right;
    char body[MOST_BODY + 1];
    bool is_stream = is_stream_request(&r, c);
    atomic_fetch_add(&s->answering, 1);
    da_reply_init(&reply);
    if (is_stream && da_check(&s->core, &r, &reply, &right) == 0) {
        pthread_mutex_lock(&s->streams_lock);
        bool room = s->stream_count < DA_STREAMS && !s->ending;
        pthread_mutex_unlock(&s->streams_lock);
        if (room) {
            da_reply_deinit(&reply);
            atomic_fetch_sub(&s->answering, 1);
            return 0;
        }
        da_reply_error(&reply, 503, "Too many clients.");
    } else if (!is_stream && read_body(s, c, &r, body, &reply)) {
        da_handle(&s->core, &r, &reply);
    }
    mg_disable_connection_keep_alive(c); // else the rest of a body that nobody wants is awaited
    send_reply(s, c, &reply);
    da_reply_deinit(&reply);
    atomic_fetch_sub(&s->answering, 1);
    return 1;
}

// What CivetWeb itself refuses: broken requests, headers that are too long.
static int on_error(struct mg_connection *c, int status, const char *message)
{
    da_reply reply;
    (void)message;
    da_reply_init(&reply);
    da_reply_error(&reply, status == 413 ? 431 : status, "The request is broken or too long.");
    const char *body = cm_out_string(&reply.body);
    send_head(c, &reply, WITH_LENGTH, strlen(body));
    mg_write(c, body, strlen(body));
    da_reply_deinit(&reply);
    return 0;
}

static int on_message(const struct mg_connection *c, const char *message)
{
    (void)c;
    (void)message;
    return 1; // nothing is printed
}

// ------------------------------------------------------------------------------------ begin and
// end

static bool make_token(char *out)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[DA_TOKEN_BYTES / 2];
    if (!da_random(bytes, sizeof bytes))
        return false;
    for (size_t i = 0; i < sizeof bytes; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[DA_TOKEN_BYTES] = 0;
    return true;
}

static struct mg_context *listen_on(da_server *s, unsigned port)
{
    char ports[40];
    const struct mg_callbacks callbacks = {.begin_request = on_request,
                                           .http_error = on_error,
                                           .log_message = on_message,
                                           .log_access = on_message};
    snprintf(ports, sizeof ports, "127.0.0.1:%u", port);
    const char *options[] = {"listening_ports",
                             ports,
                             "num_threads",
                             "40",
                             "request_timeout_ms",
                             "10000",
                             "websocket_timeout_ms",
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

static void name_hosts(da_access *a, unsigned port)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    a->scheme = "http";
    a->host_count = sizeof names / sizeof *names;
    for (size_t i = 0; i < a->host_count; i++)
        if (port == 80) // which clients leave out
            snprintf(a->hosts[i], sizeof a->hosts[i], "%s", names[i]);
        else
            snprintf(a->hosts[i], sizeof a->hosts[i], "%s:%u", names[i], port);
}

static cm_status start(da_server *s, const da_server_options *o)
{
    unsigned first = o->port ? o->port : DA_PORT, tried = o->port ? 1 : PORTS_TRIED;
    for (unsigned i = 0; i < tried && !s->context; i++) {
        s->port = first + i;
        name_hosts(&s->core.access, s->port);
        s->context = listen_on(s, s->port);
    }
    if (!s->context)
        return cm_fail(CM_FAILED,
                       "Nobody can listen on port %u: another program does. Name another one with "
                       "--port.",
                       first);
    mg_set_websocket_handler(s->context, "/ws/metrics$", da_stream_connect, da_stream_ready,
                             da_stream_data, da_stream_close, s);
    const char *host = s->core.access.hosts[0];
    snprintf(s->url, sizeof s->url, "http://%s/?token=%s", host, s->core.access.control);
    snprintf(s->read_url, sizeof s->read_url, "http://%s/?token=%s", host, s->core.access.read);
    return CM_OK;
}

cm_status da_server_start(const da_server_options *options, da_server **out)
{
    da_server *s = calloc(1, sizeof *s);
    if (!s)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory for the live view.");
    mg_init_library(0);
    da_core_init(&s->core, &options->host, options->hz);
    pthread_mutex_init(&s->streams_lock, NULL);
    pthread_mutex_init(&s->message_lock, NULL);
    cm_out_init_memory(&s->message);
    cm_status status = options->audit ? da_audit_open(&s->core, options->audit) : CM_OK;
    if (status == CM_OK && !(make_token(s->core.access.control) && make_token(s->core.access.read)))
        status = cm_fail(CM_FAILED, "The system gives no random numbers.");
    if (status == CM_OK && !options->no_page)
        status = start(s, options);
    if (status == CM_OK && options->otlp.url)
        status = da_push_start(&s->core, &options->otlp, &s->push);
    if (status != CM_OK) {
        da_server_stop(s);
        return status;
    }
    *out = s;
    return CM_OK;
}

typedef struct stopping {
    struct mg_context *context;
    atomic_bool done;
} stopping;

static void *stop_context(void *context)
{
    stopping *s = context;
    mg_stop(s->context);
    atomic_store(&s->done, true);
    return NULL;
}

// False: CivetWeb's threads did not come to their end. The program that was recorded has ended and
// its exit code is waited for, so we do not wait for ever.
static bool stop_in_time(struct mg_context *context)
{
    pthread_t thread;
    stopping *s = calloc(1, sizeof *s);
    if (s)
        s->context = context;
    if (!s || pthread_create(&thread, NULL, stop_context, s) != 0) {
        free(s);
        mg_stop(context);
        return true;
    }
    for (unsigned i = 0; i < STOP_TURNS && !atomic_load(&s->done); i++)
        cm_sleep_ms(10);
    if (!atomic_load(&s->done)) {
        pthread_detach(thread);
        return false;
    }
    pthread_join(thread, NULL);
    free(s);
    return true;
}

void da_server_stop(da_server *s)
{
    if (!s)
        return;
    da_push_stop(s->push);
    if (s->context) {
        pthread_mutex_lock(&s->streams_lock);
        s->ending = true;
        pthread_mutex_unlock(&s->streams_lock);
        for (unsigned i = 0;
             i < LAST_TURNS && (da_streams_sending(s) || atomic_load(&s->answering)); i++)
            cm_sleep_ms(10);
        atomic_store(&s->core.given_up, true);
        if (!stop_in_time(s->context))
            return; // what they might still use stays until the process ends
    }
    pthread_mutex_destroy(&s->streams_lock);
    pthread_mutex_destroy(&s->message_lock);
    cm_out_deinit(&s->message);
    da_core_deinit(&s->core);
    free(s);
    mg_exit_library();
}

uint32_t da_server_add(da_server *s, const da_capture *capture)
{
    return da_core_add(&s->core, capture);
}

bool da_server_remove(da_server *s, uint32_t number)
{
    return da_core_remove(&s->core, number);
}

const char *da_server_url(const da_server *s)
{
    return s->url;
}

const char *da_server_read_url(const da_server *s)
{
    return s->read_url;
}

unsigned da_server_port(const da_server *s)
{
    return s->port;
}
