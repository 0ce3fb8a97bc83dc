// SPDX-License-Identifier: MIT
// One document at a time, made when it is sent: figures are cumulative, so that a push that failed
// loses nothing but a point in time, and nothing has to be kept for later. Which answers are tried
// again, and when: https://opentelemetry.io/docs/specs/otlp/#failures-1
#include "otlp_push.h"

#include "common/os.h"
#include "http_answer.h"
#include "http_url.h"
#include "net.h"
#include "otlp_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS       1000000000ull
#define PUSH_NS         (10 * SECOND_NS) // from connecting to the last byte of the answer
#define END_NS          (2 * SECOND_NS)  // for the last push
#define END_TURNS       250u             // of 10 ms: somewhat longer
#define TURN_MS         50u
#define FIRST_BACKOFF_S 1.0
#define MOST_BACKOFF_S  60.0
#define MOST_RETRY_S    3600

struct da_push {
    da_http_url url;
    char shown[300];
    char *headers; // as they are sent
    double interval_s;
    da_otlp_resource resource;
    pthread_t thread;
    atomic_uint_fast64_t end_ns; // when the last push must be over; 0: not ending yet
    atomic_bool done;
    pthread_mutex_t lock; // of the following; held while `core` is used
    da_core *core;        // NULL: nobody waits for us any more
    // of the thread
    cm_out body;
    double backoff_s;
    uint64_t jitter;
    bool told_failure, told_rejected;
    char answer[DA_HTTP_MOST];
};

typedef struct outcome {
    bool delivered, again; // again: soon, not only when the next push is due
    int64_t retry_after_s; // -1: not told
    uint64_t rejected_points;
    char error[300]; // "" if there is nothing to say
} outcome;

// --------------------------------------------------------------------------------------- one push

static cm_status send_request(da_push *p, da_socket s, da_net_wait wait)
{
    cm_out head;
    cm_out_init_memory(&head);
    const char *body = cm_out_string(&p->body);
    cm_out_printf(&head,
                  "POST %s HTTP/1.1\r\nHost: %s%s%s:%u\r\nUser-Agent: ortscope/" ORTSCOPE_VERSION
                  "\r\nContent-Type: application/json\r\nAccept: application/json\r\n"
                  "Connection: close\r\nContent-Length: %llu\r\n%s\r\n",
                  p->url.path, p->url.is_ipv6 ? "[" : "", p->url.host, p->url.is_ipv6 ? "]" : "",
                  p->url.port, (unsigned long long)p->body.buf.len, p->headers);
    cm_status status = cm_out_failed(&head) ? cm_fail(CM_NO_MEMORY, "not enough memory") : CM_OK;
    if (status == CM_OK)
        status = da_net_send(s, head.buf.data, head.buf.len, wait);
    if (status == CM_OK)
        status = da_net_send(s, body, p->body.buf.len, wait);
    cm_out_deinit(&head);
    return status;
}

static cm_status read_answer(da_push *p, da_socket s, da_net_wait wait, da_http_answer *out)
{
    size_t len = 0, got = 1;
    da_http_state state = DA_HTTP_MORE;
    while (state == DA_HTTP_MORE && got && len < sizeof p->answer) {
        cm_status status = da_net_receive(s, p->answer + len, sizeof p->answer - len, wait, &got);
        if (status != CM_OK)
            got = 0;
        len += got;
        state = da_http_parse(p->answer, len, got == 0 || len == sizeof p->answer, out);
        if (status != CM_OK && state != DA_HTTP_DONE)
            return status;
    }
    return state == DA_HTTP_DONE ? CM_OK : cm_fail(CM_IO, "the answer is no HTTP");
}

static void judge(const da_http_answer *a, outcome *o)
{
    da_otlp_answer told = {0};
    if (a->is_json)
        da_otlp_answer_parse(a->body, a->body_len, &told);
    o->delivered = a->status / 100 == 2;
    o->again = a->status == 429 || a->status == 502 || a->status == 503 || a->status == 504;
    o->retry_after_s = a->retry_after_s;
    o->rejected_points = o->delivered ? told.rejected_points : 0;
    const char *colon = told.message[0] ? ": " : "";
    if (!o->delivered)
        snprintf(o->error, sizeof o->error, "it answered %d%s%s%s", a->status,
                 a->status / 100 == 3 ? " (redirects are not followed)" : "", colon, told.message);
    else if (o->rejected_points || told.message[0])
        snprintf(o->error, sizeof o->error, "it rejected %llu points%s%s",
                 (unsigned long long)o->rejected_points, colon, told.message);
}

static outcome push(da_push *p)
{
    outcome o = {.again = true, .retry_after_s = -1};
    const da_net_wait wait = {cm_monotonic_ns() + PUSH_NS, &p->end_ns};
    da_socket s;
    da_http_answer answer;
    cm_status status = da_net_connect(p->url.host, p->url.port, wait, &s);
    if (status == CM_OK) {
        status = send_request(p, s, wait);
        // Who refuses early answers before everything was sent.
        cm_status read = read_answer(p, s, wait, &answer);
        if (read == CM_OK)
            status = CM_OK;
        else if (status == CM_OK)
            status = read;
        da_net_close(s);
    }
    if (status == CM_OK)
        judge(&answer, &o);
    else
        snprintf(o.error, sizeof o.error, "%s", cm_error_text(status));
    return o;
}

// ------------------------------------------------------------------------------------- the thread

// False: nobody waits for us any more.
static bool make_body(da_push *p)
{
    pthread_mutex_lock(&p->lock);
    bool wanted = p->core != NULL;
    cm_out_clear(&p->body);
    if (wanted)
        da_write_otlp(p->core, &p->resource, &p->body);
    pthread_mutex_unlock(&p->lock);
    return wanted && !cm_out_failed(&p->body);
}

static void say(da_push *p, const outcome *o, bool last)
{
    char sentence[700];
    const da_host *host = &p->core->host;
    bool *told = o->delivered ? &p->told_rejected : &p->told_failure;
    if (!o->error[0] || !host->say || (*told && !(last && !o->delivered)))
        return;
    *told = true;
    snprintf(sentence, sizeof sentence, "%s %s: %s%s", last ? "the last push to" : "pushing to",
             p->shown, o->error,
             o->delivered ? ""
             : last       ? ""
                          : "; it will be tried again, without further messages");
    host->say(host->context, sentence);
}

static void note(da_push *p, const outcome *o, bool last)
{
    pthread_mutex_lock(&p->lock);
    if (p->core) {
        pthread_mutex_lock(&p->core->lock);
        da_push_state *state = &p->core->push;
        state->pushes++;
        state->failed += !o->delivered;
        state->rejected_points += o->rejected_points;
        snprintf(state->error, sizeof state->error, "%s", o->error);
        pthread_mutex_unlock(&p->core->lock);
        say(p, o, last);
    }
    pthread_mutex_unlock(&p->lock);
}

// Seconds until the next push.
static double pause_after(da_push *p, const outcome *o)
{
    if (!o->again || o->delivered) {
        p->backoff_s = 0;
        return p->interval_s;
    }
    if (o->retry_after_s >= 0) {
        p->backoff_s = 0;
        return (double)(o->retry_after_s < 1              ? 1
                        : o->retry_after_s < MOST_RETRY_S ? o->retry_after_s
                                                          : MOST_RETRY_S);
    }
    double most = p->interval_s > MOST_BACKOFF_S ? p->interval_s : MOST_BACKOFF_S;
    p->backoff_s = p->backoff_s > 0 ? p->backoff_s * 2 : FIRST_BACKOFF_S;
    if (p->backoff_s > most)
        p->backoff_s = most;
    p->jitter = p->jitter * 6364136223846793005u + 1442695040888963407u;
    return p->backoff_s * (0.75 + 0.5 * (double)(p->jitter >> 40) / (double)(1u << 24));
}

static void deinit(da_push *p)
{
    cm_out_deinit(&p->body);
    pthread_mutex_destroy(&p->lock);
    free(p->headers);
    free(p);
}

static void *push_thread(void *context)
{
    da_push *p = context;
    for (bool last = false; !last;) {
        last = atomic_load(&p->end_ns) != 0;
        if (!make_body(p))
            break;
        outcome o = push(p);
        note(p, &o, last);
        uint64_t next = cm_monotonic_ns() + (uint64_t)(pause_after(p, &o) * 1e9);
        while (!last && !atomic_load(&p->end_ns) && cm_monotonic_ns() < next)
            cm_sleep_ms(TURN_MS);
    }
    pthread_mutex_lock(&p->lock);
    bool abandoned = p->core == NULL;
    atomic_store(&p->done, true);
    pthread_mutex_unlock(&p->lock);
    if (abandoned)
        deinit(p);
    return NULL;
}

// ----------------------------------------------------------------------------------- begin and end

static cm_status take_headers(da_push *p, const da_otlp_options *o)
{
    cm_out out;
    cm_out_init_memory(&out);
    cm_status status = CM_OK;
    for (size_t i = 0; i < o->header_count && status == CM_OK; i++) {
        const char *header = o->headers[i], *equals = strchr(header, '=');
        status = da_http_header_check(header);
        if (status == CM_OK)
            cm_out_printf(&out, "%.*s: %s\r\n", (int)(equals - header), header, equals + 1);
    }
    if (status == CM_OK)
        p->headers = strdup(cm_out_string(&out));
    if (status == CM_OK && (!p->headers || cm_out_failed(&out)))
        status = cm_fail(CM_NO_MEMORY, "There is not enough memory for the headers.");
    cm_out_deinit(&out);
    return status;
}

static cm_status prepare(da_push *p, const da_otlp_options *o)
{
    CM_TRY(da_http_url_parse(o->url, "/v1/metrics", &p->url));
    CM_TRY(take_headers(p, o));
    da_http_url_show(&p->url, p->shown, sizeof p->shown);
    p->interval_s = o->interval_s > 0 ? o->interval_s : DA_OTLP_INTERVAL_S;
    p->jitter = cm_utc_ns();
    if (!da_net_begin())
        return cm_fail(CM_FAILED, "The system has no sockets.");
    p->resource = (da_otlp_resource){.os = da_net_os, .pid = da_net_process()};
    da_net_host_name(p->resource.host, sizeof p->resource.host);
    return CM_OK;
}

cm_status da_push_start(da_core *core, const da_otlp_options *options, da_push **out)
{
    da_push *p = calloc(1, sizeof *p);
    if (!p)
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to push figures.");
    pthread_mutex_init(&p->lock, NULL);
    cm_out_init_memory(&p->body);
    p->core = core;
    cm_status status = prepare(p, options);
    if (status == CM_OK) {
        pthread_mutex_lock(&core->lock);
        core->push = (da_push_state){.on = true};
        snprintf(core->push.url, sizeof core->push.url, "%s", p->shown);
        pthread_mutex_unlock(&core->lock);
        if (pthread_create(&p->thread, NULL, push_thread, p) != 0)
            status = cm_fail(CM_FAILED, "The system did not start another thread.");
    }
    if (status != CM_OK)
        deinit(p);
    else
        *out = p;
    return status;
}

void da_push_stop(da_push *p)
{
    if (!p)
        return;
    atomic_store(&p->end_ns, cm_monotonic_ns() + END_NS);
    for (unsigned i = 0; i < END_TURNS && !atomic_load(&p->done); i++)
        cm_sleep_ms(10);
    pthread_mutex_lock(&p->lock);
    bool done = atomic_load(&p->done);
    pthread_t thread = p->thread;
    if (!done)
        p->core = NULL; // it frees itself once the system lets go of it
    pthread_mutex_unlock(&p->lock);
    if (!done) {
        pthread_detach(thread);
        return;
    }
    pthread_join(thread, NULL);
    deinit(p);
}
