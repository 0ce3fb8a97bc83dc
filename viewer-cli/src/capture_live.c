// SPDX-License-Identifier: MIT
#include "capture_live.h"

#include "common/os.h"
#include "dashboard/feed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTLE_NS 10000000u // how long rows wait before the live view sees them
#define MARKS     8u

struct vw_live_capture {
    da_server *server;
    double counters_hz; // 0: there are no counters
    da_live *live;
    da_feed *feed;
    uint64_t settled_ns;
    atomic_bool begun, wants_end, unseen;
    atomic_uint number;
    _Atomic double wished_hz; // 0: no other than before
    // What clients asked for; the capture's thread only tries for the lock.
    pthread_mutex_t lock;
    char marks[MARKS][DA_MARK_BYTES + 1];
    size_t mark_count;
};

static cm_status ask_for_mark(vw_live_capture *l, const char *text)
{
    pthread_mutex_lock(&l->lock);
    bool room = l->mark_count < MARKS;
    if (room)
        snprintf(l->marks[l->mark_count++], sizeof *l->marks, "%s", text);
    pthread_mutex_unlock(&l->lock);
    return room ? CM_OK : cm_fail(CM_UNSUPPORTED, "Too many marks at once.");
}

static cm_status ask_for_rate(vw_live_capture *l, double hz)
{
    if (!(l->counters_hz > 0))
        return cm_fail(CM_UNSUPPORTED, "This capture has no counters.");
    atomic_store(&l->wished_hz, hz);
    da_live_counters_hz(l->live, hz);
    return CM_OK;
}

static cm_status control(void *context, const da_control *c)
{
    vw_live_capture *l = context;
    if (atomic_load(&l->wants_end))
        return cm_fail(CM_UNSUPPORTED, "The capture has ended.");
    switch (c->action) {
    case DA_PAUSE:
        da_live_state(l->live, DA_PAUSED, 1);
        return CM_OK;
    case DA_RESUME:
        da_live_state(l->live, DA_RECORDING, 1);
        return CM_OK;
    case DA_MARK:
        return ask_for_mark(l, c->text);
    case DA_RATES:
        return ask_for_rate(l, c->counters_hz);
    case DA_DETACH:
        atomic_store(&l->wants_end, true);
        return CM_OK;
    default:
        return cm_fail(CM_UNSUPPORTED, "That is for recordings that are replayed.");
    }
}

cm_status vw_live_capture_create(da_server *server, double counters_hz, vw_live_capture **out)
{
    vw_live_capture *l = calloc(1, sizeof *l);
    if (!l)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory for the live view.");
    l->server = server;
    l->counters_hz = counters_hz;
    pthread_mutex_init(&l->lock, NULL);
    *out = l;
    return CM_OK;
}

void vw_live_capture_destroy(vw_live_capture *l)
{
    if (!l)
        return;
    da_feed_stop(l->feed);
    da_live_destroy(l->live);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

void vw_live_request_end(vw_live_capture *l)
{
    atomic_store(&l->wants_end, true);
}

uint32_t vw_live_capture_number(vw_live_capture *l)
{
    return atomic_load(&l->number);
}

bool vw_live_capture_unseen(vw_live_capture *l)
{
    return atomic_load(&l->unseen);
}

static cm_status make_figures(vw_live_capture *l, const char *path)
{
    tm_reader *reader = NULL;
    da_about about = {.file = path, .counters_hz = l->counters_hz};
    if (tm_reader_open(path, &reader) == CM_OK)
        about.header = tm_reader_header(reader);
    cm_status status = da_live_create(&about, &l->live);
    tm_reader_close(reader);
    return status == CM_OK ? da_feed_start(l->live, &l->feed) : status;
}

// The capture goes on without the live view where there is no memory for it.
void vw_live_begin(vw_live_capture *l, co_capture *capture, const char *path)
{
    if (!l)
        return;
    if (make_figures(l, path) != CM_OK) {
        atomic_store(&l->unseen, true);
        return;
    }
    co_capture_watch(capture, da_feed_row, l->feed);
    atomic_store(&l->begun, true);
    const da_capture shown = {.live = l->live, .context = l, .control = control};
    if (!l->server)
        return;
    atomic_store(&l->number, da_server_add(l->server, &shown));
    atomic_store(&l->unseen, atomic_load(&l->number) == 0);
}

bool vw_live_capture_shown(vw_live_capture *l, da_capture *out)
{
    if (!atomic_load(&l->begun))
        return false;
    *out = (da_capture){.live = l->live, .context = l, .control = control};
    return true;
}

static void do_marks(vw_live_capture *l, co_capture *capture)
{
    if (pthread_mutex_trylock(&l->lock) != 0)
        return;
    for (size_t i = 0; i < l->mark_count; i++)
        co_capture_mark(capture, l->marks[i]);
    l->mark_count = 0;
    pthread_mutex_unlock(&l->lock);
}

void vw_live_turn(vw_live_capture *l, co_capture *capture, co_counters *counters)
{
    if (!l || !l->feed)
        return;
    uint64_t now = cm_monotonic_ns();
    if (now - l->settled_ns < SETTLE_NS)
        return;
    l->settled_ns = now;
    do_marks(l, capture);
    double hz = atomic_exchange(&l->wished_hz, 0);
    if (hz > 0)
        co_counters_rate(counters, hz);
    co_counters_drain(counters, capture);
    co_capture_settle(capture);
    co_stats stats = co_capture_stats(capture);
    da_feed_progress(l->feed, (int64_t)stats.elapsed_ns, stats.utc_ns, stats.file_bytes);
}

bool vw_live_wants_end(const vw_live_capture *l)
{
    return l && atomic_load(&l->wants_end);
}

void vw_live_end(vw_live_capture *l, co_capture *capture)
{
    if (!l || !l->feed)
        return;
    co_stats stats = co_capture_stats(capture);
    co_capture_watch(capture, NULL, NULL);
    da_feed_progress(l->feed, (int64_t)stats.elapsed_ns, stats.utc_ns, stats.file_bytes);
    da_feed_stop(l->feed);
    l->feed = NULL;
    atomic_store(&l->wants_end, true);
}

void vw_live_tell_end(vw_live_capture *l, const char *failure)
{
    if (!l || !atomic_load(&l->begun))
        return;
    if (failure)
        da_live_failure(l->live, failure);
    da_live_state(l->live, DA_ENDED, 1);
}
