// SPDX-License-Identifier: MIT
#include "serve_attach.h"

#include "capture_live.h"
#include "capture_loop.h"
#include "common/json.h"
#include "common/os.h"
#include "output.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_CAPTURES 10u
#define TURN_MS       10u

typedef struct serve_capture {
    inj_target *target;
    vw_capture_options options;
    pthread_t thread;
    atomic_bool over;
    cm_status status;
    char sentence[1024];
} serve_capture;

struct vw_serve_captures {
    da_server *server;
    pthread_mutex_t lock;
    serve_capture *items[MOST_CAPTURES];
    size_t count;
};

// ---------------------------------------------------------------------------------------- listing

static void text_member(cm_json *j, const char *key, const char *text)
{
    cm_json_key(j, key);
    cm_json_string(j, text[0] ? text : NULL);
}

static bool list_process(void *context, const inj_process *p)
{
    cm_json *j = context;
    if (!p->ort_module[0])
        return true;
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key(j, "pid");
    cm_json_uint(j, p->pid);
    text_member(j, "name", p->name);
    text_member(j, "ort_version", p->ort_version);
    text_member(j, "ort_module", p->ort_module);
    cm_json_key(j, "can_attach");
    cm_json_bool(j, p->can_attach == CM_OK && !p->attached);
    text_member(j, "why_not", p->why_not);
    cm_json_key(j, "attached_by_pid");
    if (p->attached)
        cm_json_uint(j, p->collector_pid);
    else
        cm_json_null(j);
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

static cm_status open_capture(vw_serve_captures *all, uint32_t pid, serve_capture *c)
{
    CM_TRY(vw_capture_defaults(&c->options));
    CM_TRY(inj_open(pid, &c->target));
    cm_status status =
        vw_live_capture_create(all->server, c->options.counters.hz, &c->options.live);
    if (status == CM_OK && pthread_create(&c->thread, NULL, capture_thread, c) != 0)
        status = cm_fail(CM_FAILED, "The system did not start another thread.");
    if (status != CM_OK) {
        vw_live_capture_destroy(c->options.live);
        inj_target_close(c->target);
    }
    return status;
}

// Answers when the target is armed, or when it is known that it can't be.
static cm_status await_begin(serve_capture *c, uint32_t *out_capture)
{
    for (;;) {
        *out_capture = vw_live_capture_number(c->options.live);
        if (*out_capture)
            return CM_OK;
        if (atomic_load(&c->over))
            return cm_fail(c->status == CM_OK ? CM_UNSUPPORTED : c->status, "%s", c->sentence);
        cm_sleep_ms(TURN_MS);
    }
}

static cm_status attach(void *context, uint32_t pid, uint32_t *out_capture)
{
    vw_serve_captures *all = context;
    serve_capture *c = calloc(1, sizeof *c);
    if (!c)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory for another capture.");
    pthread_mutex_lock(&all->lock);
    cm_status status = all->count < MOST_CAPTURES && all->server
                           ? open_capture(all, pid, c)
                           : cm_fail(CM_UNSUPPORTED,
                                     "There are %u captures already; start "
                                     "another `ortscope serve`.",
                                     MOST_CAPTURES);
    if (status == CM_OK)
        all->items[all->count++] = c;
    pthread_mutex_unlock(&all->lock);
    if (status != CM_OK) {
        free(c);
        return status;
    }
    return await_begin(c, out_capture);
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
