// SPDX-License-Identifier: MIT
#include "serve_attach.h"

#include "capture_counters.h"
#include "capture_live.h"
#include "capture_loop.h"
#include "common/json.h"
#include "common/os.h"
#include "output.h"
#include "process_view.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RUNNING 10u
#define MOST_KEPT    DA_SERVER_CAPTURES // with those that have ended
#define TURN_MS      10u

typedef struct serve_capture {
    uint32_t pid;
    inj_target *target;
    vw_capture_options options;
    pthread_t thread;
    atomic_bool over;
    cm_status status;
    char sentence[1024], path[1100];
    bool awaited; // somebody waits for its begin
} serve_capture;

struct vw_serve_captures {
    da_server *server;
    pthread_mutex_t lock;            // of what follows
    serve_capture *items[MOST_KEPT]; // oldest first
    size_t count;
};

// ---------------------------------------------------------------------------------------- listing

static bool list_process(void *context, const inj_process *p)
{
    cm_json *j = context;
    if (!p->ort_module[0])
        return true;
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_uint(j, "pid", p->pid);
    cm_json_key_text(j, "name", p->name);
    vw_process_json(j, p);
    cm_json_end(j);
    return true;
}

static cm_status list(void *context, cm_out *out)
{
    cm_json j;
    (void)context;
    cm_json_init(&j, out);
    cm_json_begin_array(&j, CM_JSON_ONE_LINE);
    cm_status status = inj_list(list_process, &j);
    cm_json_end(&j);
    return status;
}

// -------------------------------------------------------------------------------------- attaching

static void *capture_thread(void *context)
{
    serve_capture *c = context;
    vw_capture_result result;
    c->status = vw_capture(c->target, false, &c->options, &result);
    snprintf(c->sentence, sizeof c->sentence, "%s", cm_error_text(c->status));
    if (c->status != CM_OK)
        vw_message("%s", c->sentence);
    atomic_store(&c->over, true);
    return NULL;
}

// Not a file that is there: an earlier capture of the process may still be looked at.
static void choose_path(serve_capture *c)
{
    char first[sizeof c->path - 16];
    cm_file *file = NULL;
    vw_default_path(c->target, first, sizeof first);
    snprintf(c->path, sizeof c->path, "%s", first);
    size_t len = strlen(first) - strlen(".ortl");
    for (unsigned i = 2; i < 10000 && cm_file_open(c->path, &file) != CM_NOT_FOUND; i++) {
        cm_file_close(file);
        file = NULL;
        snprintf(c->path, sizeof c->path, "%.*s-%u.ortl", (int)len, first, i);
    }
    c->options.output = c->path;
}

static cm_status open_capture(vw_serve_captures *all, serve_capture *c)
{
    CM_TRY(vw_capture_defaults(&c->options));
    CM_TRY(inj_open(c->pid, &c->target));
    choose_path(c);
    cm_status status =
        vw_live_capture_create(all->server, vw_counters_hz(&c->options.counters), &c->options.live);
    if (status == CM_OK && pthread_create(&c->thread, NULL, capture_thread, c) != 0)
        status = cm_fail(CM_FAILED, "The system did not start another thread.");
    if (status != CM_OK) {
        vw_live_capture_destroy(c->options.live);
        inj_target_close(c->target);
    }
    return status;
}

// Of one whose thread is about to end, and that nobody is shown any more.
static void forget(vw_serve_captures *all, size_t at)
{
    serve_capture *c = all->items[at];
    pthread_join(c->thread, NULL);
    vw_live_capture_destroy(c->options.live);
    free(c);
    all->count--;
    for (size_t i = at; i < all->count; i++)
        all->items[i] = all->items[i + 1];
}

// A capture that has ended is kept to be looked at as long as there is room.
static cm_status make_room(vw_serve_captures *all)
{
    for (size_t i = 0; i < all->count && all->count == MOST_KEPT; i++) {
        serve_capture *c = all->items[i];
        if (atomic_load(&c->over) && !c->awaited &&
            da_server_remove(all->server, vw_live_capture_number(c->options.live)))
            forget(all, i);
    }
    return all->count < MOST_KEPT
               ? CM_OK
               : cm_fail(CM_UNSUPPORTED, "The captures that have ended are being read by clients; "
                                         "try again.");
}

static cm_status check_attach(vw_serve_captures *all, uint32_t pid)
{
    size_t running = 0;
    if (!all->server)
        return cm_fail(CM_UNSUPPORTED, "ortscope is ending.");
    for (size_t i = 0; i < all->count; i++) {
        const serve_capture *c = all->items[i];
        if (atomic_load(&c->over))
            continue;
        running++;
        if (c->pid == pid)
            return cm_fail(CM_UNSUPPORTED, "Process %u is being recorded here already.", pid);
    }
    if (running >= MOST_RUNNING)
        return cm_fail(CM_UNSUPPORTED,
                       "%u processes are being recorded already: detach from one, or start another "
                       "`ortscope serve`.",
                       MOST_RUNNING);
    return make_room(all);
}

// Answers when the target is armed, or when it is known that it can't be.
static cm_status await_begin(serve_capture *c, uint32_t *out_capture)
{
    for (;;) {
        *out_capture = vw_live_capture_number(c->options.live);
        if (*out_capture)
            return CM_OK;
        if (vw_live_capture_unseen(c->options.live)) // of use to nobody
            vw_live_request_end(c->options.live);
        if (atomic_load(&c->over))
            return cm_fail(c->status == CM_OK ? CM_UNSUPPORTED : c->status, "%s",
                           c->status == CM_OK ? "There is no room in the live view." : c->sentence);
        cm_sleep_ms(TURN_MS);
    }
}

static cm_status begin_capture(vw_serve_captures *all, uint32_t pid, serve_capture **out)
{
    CM_TRY(check_attach(all, pid));
    serve_capture *c = calloc(1, sizeof *c);
    if (!c)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory for another capture.");
    c->pid = pid;
    c->awaited = true;
    cm_status status = open_capture(all, c);
    if (status != CM_OK) {
        free(c);
        return status;
    }
    all->items[all->count++] = *out = c;
    return CM_OK;
}

// One that was never shown is not kept.
static void begun(vw_serve_captures *all, serve_capture *c, bool shown)
{
    size_t at = 0;
    pthread_mutex_lock(&all->lock);
    c->awaited = false;
    while (at < all->count && all->items[at] != c)
        at++;
    if (!shown && all->server) // else the end waits for it
        forget(all, at);
    pthread_mutex_unlock(&all->lock);
}

static cm_status attach(void *context, uint32_t pid, uint32_t *out_capture)
{
    vw_serve_captures *all = context;
    serve_capture *c = NULL;
    pthread_mutex_lock(&all->lock);
    cm_status status = begin_capture(all, pid, &c);
    pthread_mutex_unlock(&all->lock);
    CM_TRY(status);
    status = await_begin(c, out_capture);
    begun(all, c, status == CM_OK);
    return status;
}

// ------------------------------------------------------------------------------------ begin and
// end

cm_status vw_serve_captures_create(vw_serve_captures **out, da_host *host)
{
    vw_serve_captures *c = calloc(1, sizeof *c);
    if (!c)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory for the live view.");
    pthread_mutex_init(&c->lock, NULL);
    host->context = c;
    host->list_processes = list;
    host->attach = attach;
    *out = c;
    return CM_OK;
}

void vw_serve_captures_show_on(vw_serve_captures *c, da_server *server)
{
    pthread_mutex_lock(&c->lock);
    c->server = server;
    pthread_mutex_unlock(&c->lock);
}

void vw_serve_captures_end(vw_serve_captures *c)
{
    pthread_mutex_lock(&c->lock);
    c->server = NULL; // no more
    for (size_t i = 0; i < c->count; i++)
        vw_live_request_end(c->items[i]->options.live);
    for (size_t i = 0; i < c->count; i++)
        pthread_join(c->items[i]->thread, NULL);
    pthread_mutex_unlock(&c->lock);
}

void vw_serve_captures_destroy(vw_serve_captures *c)
{
    for (size_t i = 0; i < c->count; i++) {
        vw_live_capture_destroy(c->items[i]->options.live);
        free(c->items[i]);
    }
    pthread_mutex_destroy(&c->lock);
    free(c);
}
