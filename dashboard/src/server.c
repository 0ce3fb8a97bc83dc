// SPDX-License-Identifier: MIT
// The server from its start to its end. Nothing of CivetWeb's own is used but the protocol: no
// files, no directory, no scripts; every request goes through da_handle.
#include "common/os.h"
#include "server_internal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define LAST_TURNS 500u  // of 10 ms, for the last messages and what clients ask for after them
#define STOP_TURNS 2000u // of 10 ms

cm_status da_server_start(const da_server_options *options, da_server **out)
{
    da_server *s = calloc(1, sizeof *s);
    if (!s)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory for the live view.");
    mg_init_library(0);
    da_core_init(&s->core, &options->host, options->hz);
    pthread_mutex_init(&s->streams_lock, NULL);
    pthread_cond_init(&s->streams_changed, NULL);
    da_waiting_init(&s->waiting);
    s->stop_turns = STOP_TURNS;
    cm_status status = options->audit ? da_audit_open(&s->core, options->audit) : CM_OK;
    if (status == CM_OK)
        status = options->token_file ? da_tokens_read(options->token_file, &s->core.access)
                                     : da_tokens_make(&s->core.access);
    if (status == CM_OK && !options->no_page)
        status = da_listen(s, options);
    if (status == CM_OK && s->context && !da_news_begin(s))
        status = cm_fail(CM_FAILED, "The system did not start another thread.");
    if (status == CM_OK && options->otlp.url)
        status = da_push_start(&s->core, &options->otlp, &s->push);
    if (status != CM_OK) {
        da_server_stop(s);
        return status;
    }
    *out = s;
    return CM_OK;
}

// Who comes second frees it: the thread that stops, or who waited for it in vain.
typedef struct stopping {
    struct mg_context *context;
    atomic_bool done, left;
} stopping;

static void *stop_context(void *context)
{
    stopping *s = context;
    mg_stop(s->context);
    if (atomic_exchange(&s->left, true))
        free(s);
    else
        atomic_store(&s->done, true);
    return NULL;
}

// False: CivetWeb's threads did not come to their end. The program that was recorded has ended and
// its exit code is waited for, so we do not wait for ever.
static bool stop_in_time(struct mg_context *context, unsigned turns)
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
    for (unsigned i = 0; i < turns && !atomic_load(&s->done); i++)
        cm_sleep_ms(10);
    if (!atomic_exchange(&s->left, true)) {
        pthread_detach(thread);
        return false;
    }
    pthread_join(thread, NULL);
    free(s);
    return true;
}

// A page that was told the end asks for its tables once more and then goes; who stays connected is
// waited for a little while.
static bool is_wanted(da_server *s)
{
    return da_streams_sending(s) || da_streams_open(s) || atomic_load(&s->answering);
}

bool da_server_stop(da_server *s)
{
    if (!s)
        return true;
    da_push_stop(s->push);
    if (s->context) {
        da_news_end(s);
        for (unsigned i = 0; i < LAST_TURNS && is_wanted(s); i++)
            cm_sleep_ms(10);
        atomic_store(&s->core.given_up, true);
        if (!stop_in_time(s->context, s->stop_turns))
            return false; // what they might still use stays until the process ends
    }
    pthread_mutex_destroy(&s->streams_lock);
    pthread_cond_destroy(&s->streams_changed);
    da_waiting_deinit(&s->waiting);
    da_core_deinit(&s->core);
    da_tls_close(s->gate.tls);
    free(s);
    mg_exit_library();
    return true;
}

uint32_t da_server_add(da_server *s, const da_capture *capture)
{
    return da_core_add(&s->core, capture);
}

bool da_server_remove(da_server *s, uint32_t number)
{
    return da_core_remove(&s->core, number);
}

const char *da_server_address(const da_server *s)
{
    return s->address;
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
