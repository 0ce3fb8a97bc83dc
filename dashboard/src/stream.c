// SPDX-License-Identifier: MIT
// Clients of the WebSocket. Each has a thread that makes the newest message and sends it when it is
// due and there is something new; a client that does not read holds up its own thread only, and
// gets fewer messages. Nothing is ever queued.
#include "common/os.h"
#include "server_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MESSAGE  1024u
#define LONGEST_QUIET 1000000000ull // a message at least once a second: the client knows we live
#define NAP_MS        20u
#define SHARED_NS     8000000u // how old a message may be that another client had

struct da_stream {
    da_server *server;
    struct mg_connection *connection;
    pthread_t thread;
    pthread_mutex_t lock; // of what follows
    bool stop, failed, control;
    double hz, window_s; // hz 0: the server's own
};

static double interval_ns(const da_stream *s, double hz)
{
    pthread_mutex_lock(&s->server->core.lock);
    double rate = hz > 0 ? hz : s->server->core.hz;
    pthread_mutex_unlock(&s->server->core.lock);
    return 1e9 / rate;
}

static bool is_ending(da_server *server)
{
    pthread_mutex_lock(&server->streams_lock);
    bool ending = server->ending;
    pthread_mutex_unlock(&server->streams_lock);
    return ending;
}

unsigned da_streams_sending(da_server *s)
{
    pthread_mutex_lock(&s->streams_lock);
    unsigned sending = s->sending;
    pthread_mutex_unlock(&s->streams_lock);
    return sending;
}

// Sleeps until the moment, or until the client or the server ends; false: the client has gone.
static bool sleep_until(da_stream *s, uint64_t moment)
{
    for (;;) {
        pthread_mutex_lock(&s->lock);
        bool stop = s->stop;
        pthread_mutex_unlock(&s->lock);
        uint64_t now = cm_monotonic_ns();
        if (stop)
            return false;
        if (now >= moment || is_ending(s->server))
            return true;
        uint64_t ms = (moment - now + 999999) / 1000000;
        cm_sleep_ms(ms < NAP_MS ? (uint32_t)ms : NAP_MS);
    }
}

static void copy_message(da_stream *s, cm_out *out, double window_s, double hz, bool last)
{
    da_server *server = s->server;
    uint64_t now = cm_monotonic_ns();
    pthread_mutex_lock(&server->message_lock);
    bool same = server->message_window_s == window_s && server->message_hz == hz &&
                server->message_control == s->control;
    if (last || !same || now - server->message_ns > SHARED_NS || !server->message_ns) {
        cm_out_clear(&server->message);
        da_write_metrics(&server->core, &server->message, window_s, hz, s->control);
        server->message_ns = now;
        server->message_window_s = window_s;
        server->message_hz = hz;
        server->message_control = s->control;
    }
    if (cm_out_failed(&server->message)) {
        server->message_ns = 0;
        out->status = CM_NO_MEMORY;
    } else {
        cm_out_text(out, cm_out_string(&server->message));
    }
    pthread_mutex_unlock(&server->message_lock);
}

static bool send_message(da_stream *s, cm_out *out, double window_s, double hz, bool last)
{
    cm_out_clear(out);
    copy_message(s, out, window_s, hz, last);
    const char *text = cm_out_string(out);
    if (cm_out_failed(out))
        return true; // no memory now: the next one may go
    return mg_websocket_write(s->connection, MG_WEBSOCKET_OPCODE_TEXT, text, strlen(text)) > 0;
}

static void *stream_thread(void *context)
{
    da_stream *s = context;
    uint64_t sent_ns = 0, version = UINT64_MAX;
    cm_out out;
    cm_out_init_memory(&out);
    for (;;) {
        pthread_mutex_lock(&s->lock);
        double hz = s->hz, window_s = s->window_s;
        pthread_mutex_unlock(&s->lock);
        double interval = interval_ns(s, hz);
        uint64_t step = (uint64_t)interval; // all clients of a rate at the same moments
        if (!sleep_until(s, sent_ns ? (sent_ns / step + 1) * step : 0))
            break;
        bool last = is_ending(s->server);
        uint64_t now = da_core_version(&s->server->core);
        if (!last && now == version && cm_monotonic_ns() - sent_ns < LONGEST_QUIET) {
            if (!sleep_until(s, cm_monotonic_ns() + 10000000))
                break;
            continue;
        }
        version = now;
        sent_ns = cm_monotonic_ns();
        if (!send_message(s, &out, window_s, 1e9 / interval, last) || last)
            break;
    }
    cm_out_deinit(&out);
    pthread_mutex_lock(&s->server->streams_lock);
    s->server->sending--;
    pthread_mutex_unlock(&s->server->streams_lock);
    return NULL;
}

// ---------------------------------------------------------------------------------------- handlers

// The token was checked before we come here. Not 0: refused.
int da_stream_connect(const struct mg_connection *c, void *cbdata)
{
    da_server *server = cbdata;
    (void)c;
    pthread_mutex_lock(&server->streams_lock);
    bool room = server->stream_count < DA_STREAMS && !server->ending;
    pthread_mutex_unlock(&server->streams_lock);
    return room ? 0 : 1;
}

void da_stream_ready(struct mg_connection *c, void *cbdata)
{
    da_server *server = cbdata;
    da_request r = da_request_of(c);
    bool given = false;
    pthread_mutex_lock(&server->streams_lock);
    server->stream_count++; // until da_stream_close, which follows whatever happens
    bool over = server->stream_count > DA_STREAMS; // others came at the same moment
    pthread_mutex_unlock(&server->streams_lock);
    if (over) {
        mg_websocket_write(c, MG_WEBSOCKET_OPCODE_CONNECTION_CLOSE, NULL, 0);
        return;
    }
    da_stream *s = calloc(1, sizeof *s);
    if (!s)
        return;
    *s = (da_stream){.server = server, .connection = c, .window_s = 5};
    s->control = da_right_of(&server->core.access, &r) == DA_MAY_CONTROL;
    da_query_number(r.query, "hz", 1, 60, &given, &s->hz);
    da_query_number(r.query, "window", 0.1, 60, &given, &s->window_s);
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_lock(&server->streams_lock);
    bool begun = pthread_create(&s->thread, NULL, stream_thread, s) == 0;
    server->sending += begun;
    pthread_mutex_unlock(&server->streams_lock);
    if (!begun) {
        pthread_mutex_destroy(&s->lock);
        free(s);
        return;
    }
    mg_set_user_connection_data(c, s);
}

// Returns 0 to end the connection.
int da_stream_data(struct mg_connection *c, int bits, char *data, size_t len, void *cbdata)
{
    da_stream *s = mg_get_user_connection_data(c);
    da_control wanted;
    (void)cbdata;
    bool whole_text = (bits & 0x8f) == (0x80 | MG_WEBSOCKET_OPCODE_TEXT) && !(bits & 0x70);
    if (!s || !whole_text || len > MOST_MESSAGE ||
        da_control_parse(data, len, false, &wanted) != CM_OK)
        return 0;
    pthread_mutex_lock(&s->lock);
    s->hz = !da_known(wanted.hz) ? s->hz : wanted.hz;
    s->window_s = !da_known(wanted.window_s) ? s->window_s : wanted.window_s;
    pthread_mutex_unlock(&s->lock);
    return 1;
}

void da_stream_close(const struct mg_connection *c, void *cbdata)
{
    da_server *server = cbdata;
    da_stream *s = mg_get_user_connection_data(c);
    pthread_mutex_lock(&server->streams_lock);
    server->stream_count--;
    pthread_mutex_unlock(&server->streams_lock);
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
