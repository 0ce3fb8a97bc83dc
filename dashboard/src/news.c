// SPDX-License-Identifier: MIT
// The thread that makes the WebSocket's messages. At each tick of a rate it makes one message for
// all clients with the same wishes that are idle, and gives it to them; their own threads write it
// (stream.c). A client that is still being written to is passed over: it gets fewer messages, and
// nothing is ever queued. Nothing here waits for a client.
#include "common/os.h"
#include "server_internal.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_QUIET 1000000000ull // a message at least once a second: the client knows we live
#define LONGEST_NAP   20000000ull   // how late new clients and wishes may be noticed
#define ASK_AGAIN     10000000ull   // while a message is due and there is nothing to tell

typedef struct wishes {
    double hz, window_s;
    bool control;
} wishes;

void da_message_release(da_message *m)
{
    if (m && --m->holders == 0)
        free(m);
}

// --------------------------------------------------------------------------------------- messages

// NULL: there is no memory now; the next one may go.
static da_message *make(da_server *server, cm_out *out, const wishes *w, bool last)
{
    unsigned char head[DA_FRAME_HEAD];
    const da_telling t = {w->window_s, w->hz, w->control, last};
    cm_out_clear(out);
    da_write_metrics(&server->core, out, &t);
    const char *text = cm_out_string(out);
    if (cm_out_failed(out))
        return NULL;
    size_t len = strlen(text), head_len = da_frame_head(head, len);
    da_message *m = malloc(sizeof *m + head_len + len);
    if (!m)
        return NULL;
    m->holders = 1;
    m->len = head_len + len;
    memcpy(m->frame, head, head_len);
    memcpy(m->frame + head_len, text, len);
    return m;
}

// ---------------------------------------------------------------------------------------- streams

static wishes wishes_of(const da_stream *s, double server_hz)
{
    return (wishes){s->hz > 0 ? s->hz : server_hz, s->window_s, s->control};
}

static bool same_wishes(const wishes *a, const wishes *b)
{
    return a->hz == b->hz && a->window_s == b->window_s && a->control == b->control;
}

// 0: now; else how long until it is worth looking again. All clients of a rate at the same moments.
static uint64_t wait_of(const da_stream *s, double server_hz, uint64_t version, uint64_t now)
{
    if (s->next || s->writing_since_ns)
        return LONGEST_NAP;
    uint64_t step = (uint64_t)(1e9 / wishes_of(s, server_hz).hz);
    uint64_t due = s->sent_ns ? (s->sent_ns / step + 1) * step : 0;
    if (now < due)
        return due - now < LONGEST_NAP ? due - now : LONGEST_NAP;
    bool quiet = s->sent_ns && s->version == version && now - s->sent_ns < LONGEST_QUIET;
    return quiet ? ASK_AGAIN : 0;
}

static void give(da_stream *s, da_message *m)
{
    da_message_release(s->next);
    s->next = m;
    if (m)
        m->holders++;
    pthread_cond_signal(&s->changed);
}

// Finds what is due first. True: *out_wishes is to be made now; false: *out_ns to wait, 0 = until
// something changes.
static bool find_due(da_server *server, double hz, uint64_t version, wishes *out_wishes,
                     uint64_t *out_ns)
{
    uint64_t now = cm_monotonic_ns();
    *out_ns = 0;
    for (size_t i = 0; i < DA_STREAMS; i++) {
        const da_stream *s = server->streams[i];
        if (!s || s->gone)
            continue;
        uint64_t wait = wait_of(s, hz, version, now);
        if (wait == 0) {
            *out_wishes = wishes_of(s, hz);
            return true;
        }
        *out_ns = *out_ns == 0 || wait < *out_ns ? wait : *out_ns;
    }
    return false;
}

static void give_to_due(da_server *server, const wishes *made, double hz, uint64_t version,
                        da_message *m)
{
    uint64_t now = cm_monotonic_ns();
    for (size_t i = 0; i < DA_STREAMS; i++) {
        da_stream *s = server->streams[i];
        if (!s || s->gone || wait_of(s, hz, version, now) != 0)
            continue;
        wishes w = wishes_of(s, hz);
        if (!same_wishes(&w, made))
            continue;
        s->sent_ns = now;
        s->version = version;
        give(s, m);
    }
}

static void give_last(da_server *server, cm_out *out, double hz)
{
    for (size_t i = 0; i < DA_STREAMS; i++) {
        if (!server->streams[i] || server->streams[i]->last)
            continue;
        wishes w = wishes_of(server->streams[i], hz);
        da_message *m = make(server, out, &w, true);
        for (size_t k = i; k < DA_STREAMS; k++) {
            da_stream *s = server->streams[k];
            wishes theirs = s ? wishes_of(s, hz) : w;
            if (!s || s->last || !same_wishes(&theirs, &w))
                continue;
            s->last = true;
            give(s, m);
        }
        da_message_release(m);
    }
}

// -------------------------------------------------------------------------------------- the thread

static double rate_of(da_core *core)
{
    pthread_mutex_lock(&core->lock);
    double hz = core->hz;
    pthread_mutex_unlock(&core->lock);
    return hz;
}

// What is due now is made outside of the lock: figures that are busy hold up nobody's handshake.
static void turn(da_server *server, cm_out *out)
{
    double hz = rate_of(&server->core);
    uint64_t version = da_core_version(&server->core), ns;
    wishes w;
    pthread_mutex_lock(&server->streams_lock);
    bool due = find_due(server, hz, version, &w, &ns);
    if (!due && ns == 0 && !server->ending)
        pthread_cond_wait(&server->streams_changed, &server->streams_lock);
    pthread_mutex_unlock(&server->streams_lock);
    if (!due) {
        if (ns)
            cm_sleep_ms((uint32_t)((ns + 999999) / 1000000));
        return;
    }
    da_message *m = make(server, out, &w, false);
    pthread_mutex_lock(&server->streams_lock);
    give_to_due(server, &w, hz, version, m);
    da_message_release(m);
    pthread_mutex_unlock(&server->streams_lock);
}

static void *news_thread(void *context)
{
    da_server *server = context;
    cm_out out;
    bool ending = false;
    cm_out_init_memory(&out);
    while (!ending) {
        turn(server, &out);
        pthread_mutex_lock(&server->streams_lock);
        ending = server->ending;
        pthread_mutex_unlock(&server->streams_lock);
    }
    double hz = rate_of(&server->core);
    pthread_mutex_lock(&server->streams_lock);
    give_last(server, &out, hz);
    pthread_mutex_unlock(&server->streams_lock);
    cm_out_deinit(&out);
    return NULL;
}

bool da_news_begin(da_server *s)
{
    s->has_news = pthread_create(&s->news, NULL, news_thread, s) == 0;
    if (s->has_news)
        cm_fine_timer(true);
    return s->has_news;
}

void da_news_end(da_server *s)
{
    pthread_mutex_lock(&s->streams_lock);
    s->ending = true;
    pthread_cond_signal(&s->streams_changed);
    pthread_mutex_unlock(&s->streams_lock);
    if (s->has_news) {
        pthread_join(s->news, NULL);
        cm_fine_timer(false);
    }
    s->has_news = false;
}
