// SPDX-License-Identifier: MIT
// Clients of the WebSocket. Each has a thread that writes what news.c gives it: a client that does
// not read holds up its own thread only.
#include "common/os.h"
#include "connection.h"
#include "net_system.h"
#include "sending.h"
#include "server_internal.h"

#include <stdlib.h>
#include <string.h>

#define MOST_MESSAGE 1024u

bool da_streams_sending(da_server *s)
{
    pthread_mutex_lock(&s->streams_lock);
    bool sending = s->sending > 0;
    pthread_mutex_unlock(&s->streams_lock);
    return sending;
}

bool da_streams_open(da_server *s)
{
    pthread_mutex_lock(&s->streams_lock);
    bool open = s->stream_count > 0;
    pthread_mutex_unlock(&s->streams_lock);
    return open;
}

// In one piece: head and text apart would be two packets.
static bool write_message(da_sending *to, const da_message *m)
{
    mg_lock_connection(to->connection);
    bool whole = da_send(to, m->frame, m->len);
    mg_unlock_connection(to->connection);
    return whole;
}

static void *stream_thread(void *context)
{
    da_stream *s = context;
    da_sending to;
    bool good = true;
    da_sending_begin(&to, s->server, s->connection, true);
    pthread_mutex_lock(&s->server->streams_lock);
    while (good) {
        while (!s->next && !s->gone && !s->last)
            pthread_cond_wait(&s->changed, &s->server->streams_lock);
        da_message *m = s->next;
        if (s->gone || !m)
            break;
        s->next = NULL;
        s->writing_since_ns = cm_monotonic_ns();
        pthread_mutex_unlock(&s->server->streams_lock);
        good = write_message(&to, m);
        pthread_mutex_lock(&s->server->streams_lock);
        s->writing_since_ns = 0;
        da_message_release(m);
    }
    if (!good)
        mg_disable_connection_keep_alive(s->connection); // who does not read loses its place
    s->gone = true;                                      // no message is made for who can't be told
    s->server->sending--;
    pthread_mutex_unlock(&s->server->streams_lock);
    return NULL;
}

// -------------------------------------------------------------------------------- coming and going

// Under streams_lock.
static bool take_place(da_server *server, da_stream *s)
{
    for (size_t i = 0; i < DA_STREAMS && !server->ending; i++) {
        if (server->streams[i])
            continue;
        server->streams[i] = s;
        server->sending++;
        pthread_cond_signal(&server->streams_changed);
        return true;
    }
    return false;
}

static void leave_place(da_server *server, const da_stream *s)
{
    for (size_t i = 0; i < DA_STREAMS; i++)
        if (server->streams[i] == s)
            server->streams[i] = NULL;
}

static void free_stream(da_stream *s)
{
    pthread_cond_destroy(&s->changed);
    free(s);
}

static bool begin(da_stream *s)
{
    pthread_mutex_lock(&s->server->streams_lock);
    bool begun = take_place(s->server, s);
    if (begun && pthread_create(&s->thread, NULL, stream_thread, s) != 0) {
        leave_place(s->server, s);
        s->server->sending--;
        begun = false;
    }
    pthread_mutex_unlock(&s->server->streams_lock);
    return begun;
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

// NULL: there is no room, memory or thread for it.
static da_stream *begin_stream(da_server *server, struct mg_connection *c, const da_request *r)
{
    bool given = false;
    da_stream *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    *s = (da_stream){.server = server, .connection = c, .window_s = 5};
    s->control = da_right_of(&server->core.access, r) == DA_MAY_CONTROL;
    da_query_number(r->query, "hz", 1, 60, &given, &s->hz);
    da_query_number(r->query, "window", 0.1, 60, &given, &s->window_s);
    pthread_cond_init(&s->changed, NULL);
    if (begin(s))
        return s;
    free_stream(s);
    return NULL;
}

void da_stream_ready(struct mg_connection *c, void *cbdata)
{
    da_server *server = cbdata;
    da_request r = da_request_of(c);
    pthread_mutex_lock(&server->streams_lock);
    server->stream_count++; // until da_stream_close, which follows whatever happens
    bool over = server->stream_count > DA_STREAMS; // others came at the same moment
    pthread_mutex_unlock(&server->streams_lock);
    da_stream *s = over ? NULL : begin_stream(server, c, &r);
    if (s) {
        mg_set_user_connection_data(c, s);
        return;
    }
    mg_websocket_write(c, MG_WEBSOCKET_OPCODE_CONNECTION_CLOSE, NULL, 0);
    mg_disable_connection_keep_alive(c); // nothing would ever come: it shall not wait for it
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
    pthread_mutex_lock(&s->server->streams_lock);
    s->hz = !da_known(wanted.hz) ? s->hz : wanted.hz;
    s->window_s = !da_known(wanted.window_s) ? s->window_s : wanted.window_s;
    pthread_mutex_unlock(&s->server->streams_lock);
    return 1;
}

void da_stream_close(const struct mg_connection *c, void *cbdata)
{
    da_server *server = cbdata;
    da_stream *s = mg_get_user_connection_data(c);
    pthread_mutex_lock(&server->streams_lock);
    server->stream_count--;
    if (s) {
        s->gone = true;
        leave_place(server, s);
        pthread_cond_signal(&s->changed);
        if (s->writing_since_ns) // to who does not read: its thread shall not wait for that
            da_net_end((da_socket)da_connection_socket(c));
    }
    pthread_mutex_unlock(&server->streams_lock);
    if (!s)
        return;
    pthread_join(s->thread, NULL);
    pthread_mutex_lock(&server->streams_lock);
    da_message_release(s->next);
    pthread_mutex_unlock(&server->streams_lock);
    free_stream(s);
}
