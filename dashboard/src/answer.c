// SPDX-License-Identifier: MIT
// From CivetWeb's request to the bytes of our answer.
#include "connection.h"
#include "sending.h"
#include "server_internal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define MOST_BODY 4096

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
    case 408:
        return "Request Timeout";
    case 409:
        return "Conflict";
    case 413:
        return "Content Too Large";
    case 431:
        return "Request Header Fields Too Large";
    case 503:
        return "Service Unavailable";
    default:
        return "Error";
    }
}

typedef enum body_end { WITH_LENGTH, CHUNKS, UNTIL_CLOSED } body_end;

static bool send_head(da_sending *to, const da_reply *reply, body_end end, size_t len)
{
    cm_out head;
    cm_out_init_memory(&head);
    cm_out_printf(&head, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n%s", reply->status,
                  reason_of(reply->status), reply->type, security_headers);
    if (reply->status == 401)
        cm_out_text(&head, "WWW-Authenticate: Bearer\r\n");
    if (reply->status == 405)
        cm_out_text(&head, "Allow: GET, POST\r\n");
    if (reply->download[0])
        cm_out_printf(&head, "Content-Disposition: attachment; filename=\"%s\"\r\n",
                      reply->download);
    if (end == WITH_LENGTH)
        cm_out_printf(&head, "Content-Length: %llu\r\n", (unsigned long long)len);
    if (end == CHUNKS)
        cm_out_text(&head, "Transfer-Encoding: chunked\r\n");
    cm_out_text(&head, "\r\n");
    const char *text = cm_out_string(&head);
    bool sent = !cm_out_failed(&head) && da_send(to, text, strlen(text));
    cm_out_deinit(&head);
    return sent;
}

static void send_whole(da_sending *to, const da_reply *reply, const void *body, size_t len)
{
    if (send_head(to, reply, WITH_LENGTH, len))
        da_send(to, body, len);
}

typedef struct download {
    da_sending *to;
    const da_reply *reply;
    bool begun;
    bool chunked; // the client can tell a whole one from one that was cut
} download;

static bool send_chunk(da_sending *to, const void *bytes, size_t len)
{
    char head[24];
    snprintf(head, sizeof head, "%zx\r\n", len);
    return da_send(to, head, strlen(head)) && da_send(to, bytes, len) && da_send(to, "\r\n", 2);
}

static cm_status write_download(void *context, const void *bytes, size_t len)
{
    download *d = context;
    bool sent = d->begun || send_head(d->to, d->reply, d->chunked ? CHUNKS : UNTIL_CLOSED, 0);
    d->begun = true;
    if (sent && len) // an empty chunk would be the end
        sent = d->chunked ? send_chunk(d->to, bytes, len) : da_send(d->to, bytes, len);
    return sent ? CM_OK : cm_fail(CM_END, "The client has gone.");
}

// Instead of the download.
static void send_refusal(da_sending *to, da_reply *reply, int status, const char *sentence)
{
    reply->type = "application/json; charset=utf-8";
    reply->download[0] = 0;
    da_reply_error(reply, status, sentence);
    const char *body = cm_out_string(&reply->body);
    send_whole(to, reply, body, strlen(body));
}

// What fails before the first byte is told as such; later, the connection ends without the mark
// that says that the download is whole.
static void send_stream(da_server *s, da_sending *to, da_reply *reply)
{
    const char *version = mg_get_request_info(to->connection)->http_version;
    download d = {to, reply, .chunked = version && strcmp(version, "1.0") != 0};
    cm_status status =
        s->core.host.export_file(s->core.host.context, &reply->stream, write_download, &d);
    if (d.begun) {
        if (status == CM_OK && d.chunked)
            send_chunk(to, "", 0);
        return;
    }
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", cm_error_text(status));
    send_refusal(to, reply,
                 status == CM_USAGE               ? 400
                 : atomic_load(&s->core.given_up) ? 503
                                                  : 500,
                 sentence);
}

static void send_reply(da_server *s, struct mg_connection *c, da_reply *reply)
{
    da_sending to;
    da_sending_begin(&to, s, c, false);
    if (reply->is_stream && reply->status == 200) {
        if (atomic_fetch_add(&s->exporting, 1) < DA_EXPORTS)
            send_stream(s, &to, reply);
        else
            send_refusal(&to, reply, 503, "Too many exports at once: try again when one is done.");
        atomic_fetch_sub(&s->exporting, 1);
        return;
    }
    const void *body = reply->file ? (const void *)reply->file : cm_out_string(&reply->body);
    send_whole(&to, reply, body, reply->file ? reply->file_len : strlen(body));
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

static bool refuse_body(da_server *s, const da_request *r, da_reply *reply, int status,
                        const char *sentence)
{
    da_reply_error(reply, status, sentence);
    da_audit_refused(&s->core, r, status);
    return false;
}

// Only of who may control: a body can be sent slowly and keeps a thread meanwhile, so da_handle
// refuses the others without it. False: it was refused.
static bool read_body(da_server *s, struct mg_connection *c, da_request *r, char *body,
                      da_reply *reply)
{
    const struct mg_request_info *info = mg_get_request_info(c);
    size_t len = 0;
    int n = 1;
    da_right right;
    if (strcmp(r->method, "POST") != 0 || strcmp(r->path, "/api/v1/control") != 0)
        return true;
    if (da_check(&s->core, r, reply, &right) != 0) {
        da_audit_refused(&s->core, r, reply->status);
        return false;
    }
    if (right != DA_MAY_CONTROL)
        return true;
    while (info->content_length <= MOST_BODY && len <= MOST_BODY && n > 0) {
        n = mg_read(c, body + len, MOST_BODY + 1 - len);
        len += n > 0 ? (size_t)n : 0;
    }
    if (info->content_length > MOST_BODY || len > MOST_BODY)
        return refuse_body(s, r, reply, 413, "The body may have 4 KiB.");
    if (n < 0 || (long long)len < info->content_length) { // half a wish might be another one
        bool late = da_connection_body_is_late(c);
        return refuse_body(s, r, reply, late ? 408 : 400,
                           late ? "The body took longer than ten seconds."
                                : "The body is not whole.");
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

// Whether the WebSocket may begin; else the reply says why not.
static bool check_stream(da_server *s, const struct mg_connection *c, const da_request *r,
                         da_reply *reply)
{
    da_right right;
    bool given;
    double number;
    if (da_check(&s->core, r, reply, &right) != 0)
        return false;
    if (da_query_number(r->query, "hz", 1, 60, &given, &number) != CM_OK ||
        da_query_number(r->query, "window", 0.1, 60, &given, &number) != CM_OK) {
        da_reply_error(reply, 400, "\"hz\" is 1 to 60, \"window\" 0.1 to 60.");
        return false;
    }
    if (!mg_get_header(c, "Sec-WebSocket-Key")) { // CivetWeb would wait for an old draft's body
        da_reply_error(reply, 400, "A WebSocket needs Sec-WebSocket-Key (RFC 6455).");
        return false;
    }
    pthread_mutex_lock(&s->streams_lock);
    bool room = s->stream_count < DA_STREAMS && !s->ending;
    pthread_mutex_unlock(&s->streams_lock);
    if (!room)
        da_reply_error(reply, 503, "Too many clients.");
    return room;
}

// 0: CivetWeb goes on, with the WebSocket. 1: answered.
int da_on_request(struct mg_connection *c)
{
    da_server *s = mg_get_user_data(mg_get_context(c));
    da_request r = da_request_of(c);
    da_reply reply;
    char body[MOST_BODY + 1];
    bool is_stream = is_stream_request(&r, c);
    da_waiting_end(&s->waiting, da_connection_socket(c));
    da_connection_body_begins(c);
    atomic_fetch_add(&s->answering, 1);
    da_reply_init(&reply);
    bool begins = is_stream && check_stream(s, c, &r, &reply);
    if (!is_stream && read_body(s, c, &r, body, &reply))
        da_handle(&s->core, &r, &reply);
    if (!begins) {
        mg_disable_connection_keep_alive(c); // else a body that nobody wants is awaited
        send_reply(s, c, &reply);
    }
    da_reply_deinit(&reply);
    atomic_fetch_sub(&s->answering, 1);
    return begins ? 0 : 1;
}

// What CivetWeb itself refuses: broken requests, headers that are too long.
int da_on_error(struct mg_connection *c, int status, const char *message)
{
    da_reply reply;
    (void)message;
    da_reply_init(&reply);
    if (status == 413 || da_connection_overflowed(c))
        status = 431;
    da_reply_error(&reply, status, "The request is broken or too long.");
    send_reply(mg_get_user_data(mg_get_context(c)), c, &reply);
    da_reply_deinit(&reply);
    return 0;
}
