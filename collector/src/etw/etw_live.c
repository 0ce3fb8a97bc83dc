// SPDX-License-Identifier: MIT
#include "etw_live.h"

#include "collector/etl_tracelogging.h"
#include "etl/etl_classes.h"
#include "etl/etl_rows.h"
#include "etl/etl_text.h"
#include "etw_gpu.h"
#include "etw_providers.h"
#include "qnn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEOPLE_MAX ((size_t)1 << 20) // processes, and threads

// timeline/kinds.h: lost.cause
enum { LOST_BY_WINDOWS = 5, LOST_LOG_BUFFERS = 7, LOST_RT_BUFFERS = 8, LOST_TOO_SLOW = 9 };

typedef struct live_process {
    etl_life life;
    char name[64];
} live_process;

typedef struct live_watched {
    etl_life life;
    bool module_told;
    char version[32], library[512]; // of ONNX Runtime
} live_watched;

typedef struct live_window {
    int64_t begin, end;
} live_window;

struct etw_live {
    co_capture *c;
    co_etw_listener listener;
    co_etl_header clock;
    etl_import m;
    cm_map process_of; // pid -> place
    cm_buf processes;  // live_process: those that are not followed
    cm_map owner_of;   // tid -> pid
    cm_buf watched;    // live_watched, as c->watched
    etw_losses told;
    uint64_t told_full;
    uint64_t events; // of providers and the kernel, not of the session itself
    uint64_t lost_in_stream;
    cm_buf windows;   // live_window: times in which events were lost, in order
    size_t window_at; // the first that is not over yet
    uint64_t missing; // processes and threads that found no room
    co_etl_import_stats counted;
    etw_gpu gpu;
};

// -------------------------------------------------------------------------------------- who is who

static live_watched *watched_at(etw_live *l, const co_watched *w)
{
    size_t place = (size_t)(w - (const co_watched *)(const void *)l->c->watched.data);
    while (l->watched.len / sizeof(live_watched) <= place) {
        const co_watched *other = (const co_watched *)(const void *)l->c->watched.data +
                                  l->watched.len / sizeof(live_watched);
        live_watched fresh = {
            .life = {.id = other->pid, .number = other->id, .followed = true, .end = INT64_MAX}};
        fresh.life.module = co_ids_get(&l->c->modules, other->id, 1);
        cm_buf_append(&l->watched, &fresh, sizeof fresh);
        if (l->watched.failed)
            return NULL;
    }
    return (live_watched *)(void *)l->watched.data + place;
}

static live_watched *watched_process(etw_live *l, uint32_t pid, int64_t time)
{
    const co_watched *w = co_watched_find(l->c, pid, (uint64_t)time);
    return w ? watched_at(l, w) : NULL;
}

static live_process *bystander(const etw_live *l, uint32_t pid)
{
    size_t place;
    return cm_map_find(&l->process_of, pid, &place)
               ? (live_process *)(void *)l->processes.data + place
               : NULL;
}

static const etl_life *process_of(void *context, uint32_t pid, int64_t time)
{
    etw_live *l = context;
    const live_watched *w = watched_process(l, pid, time);
    const live_process *p = w ? NULL : bystander(l, pid);
    return w ? &w->life : p ? &p->life : NULL;
}

static const etl_life *owner_of(void *context, uint32_t tid, int64_t time)
{
    etw_live *l = context;
    size_t pid = 0; // thread 0 is process 0, idle
    if (tid && !cm_map_find(&l->owner_of, tid, &pid))
        return NULL;
    return process_of(l, (uint32_t)pid, time);
}

// A process that is not followed gets its number, and its row, when a row is about it.
static uint32_t number_of(void *context, const etl_life *life)
{
    etw_live *l = context;
    live_process *p = life->followed ? NULL : bystander(l, life->id);
    if (!p || p->life.number)
        return life->number;
    p->life.number = ++l->c->last_target_id;
    const int64_t row[] = {
        [TM_bystander_process] = p->life.number,
        [TM_bystander_pid] = p->life.id,
        [TM_bystander_parent] = p->life.owner == CO_ETL_UNKNOWN ? -1 : (int64_t)p->life.owner,
        [TM_bystander_time] = p->life.began ? co_etl_ns(&l->clock, p->life.begin) : 0,
        [TM_bystander_program] = co_intern(l->c, p->name, strlen(p->name))};
    tm_writer_row(l->c->writer, TM_KIND_bystander, row);
    return p->life.number;
}

// ---------------------------------------------------------------------------------- what they tell

static live_process *add_process(etw_live *l, uint32_t pid)
{
    live_process fresh = {.life = {.id = pid, .owner = CO_ETL_UNKNOWN}};
    size_t place = l->processes.len / sizeof fresh;
    if (place >= PEOPLE_MAX) {
        l->missing++;
        return NULL;
    }
    cm_buf_append(&l->processes, &fresh, sizeof fresh);
    if (l->processes.failed || !cm_map_put(&l->process_of, pid, place))
        return NULL;
    return (live_process *)(void *)l->processes.data + place;
}

static void take_process(etw_live *l, const etl_fact *f, int64_t time)
{
    char path[512];
    live_process *p = bystander(l, f->pid);
    if (f->action == ETL_ENDS || f->action == ETL_IS_THERE) {
        if (p)
            p->life.ended = f->action == ETL_ENDS; // what comes late still belongs to it
        return;
    }
    // The kernel and its manifest may both tell of it, the later one knowing no more.
    bool known = p && !p->life.ended && (f->action != ETL_BEGINS || p->life.owner == f->parent);
    if (known && p->name[0])
        return;
    if (!known)
        p = add_process(l, f->pid);
    if (!p)
        return;
    co_etl_text_utf8(f->name, path, sizeof path);
    snprintf(p->name, sizeof p->name, "%.*s", (int)sizeof p->name - 1, co_etl_base_name(path));
    p->life.owner = f->parent;
    p->life.began = f->action == ETL_BEGINS;
    p->life.begin = time;
    const co_watched *parent =
        p->life.began ? co_watched_find(l->c, f->parent, (uint64_t)time) : NULL;
    if (parent && l->listener.child)
        l->listener.child(l->listener.context, parent->id, f->pid);
}

static void take_thread(etw_live *l, const etl_fact *f)
{
    size_t known;
    if (f->action == ETL_ENDS || f->action == ETL_NAMED || f->tid == CO_ETL_UNKNOWN)
        return;
    if (cm_map_find(&l->owner_of, f->tid, &known) && known == f->pid)
        return;
    if (l->owner_of.count >= PEOPLE_MAX || !cm_map_put(&l->owner_of, f->tid, f->pid))
        l->missing++;
}

static void take_image(etw_live *l, const etl_fact *f, int64_t time)
{
    live_watched *w = watched_process(l, f->pid, time);
    char path[sizeof w->library];
    if (!w || w->library[0])
        return;
    co_etl_text_utf8(f->name, path, sizeof path);
    if (co_etl_is_ort_library(path))
        memcpy(w->library, path, sizeof path);
}

static void take_fact(etw_live *l, const co_etl_event *e, const etl_fact *f)
{
    if (f->kind == ETL_FACT_PROCESS)
        take_process(l, f, e->time);
    else if (f->kind == ETL_FACT_THREAD)
        take_thread(l, f);
    else if (f->kind == ETL_FACT_IMAGE)
        take_image(l, f, e->time);
    co_etl_write_fact(&l->m, e, f);
}

// ------------------------------------------------------------------------------------------- ORT's

static void take_version(void *context, const co_tlg_token *t)
{
    live_watched *w = context;
    if (t->kind == CO_TLG_VALUE && t->field->name_len == 14 &&
        memcmp(t->field->name, "runtimeVersion", 14) == 0 && t->field->type == CO_TLG_ANSI)
        co_etl_text_utf8((etl_text){t->bytes, t->len, false}, w->version, sizeof w->version);
}

static bool is_named(const co_tlg_schema *schema, const char *name)
{
    return schema->name_len == strlen(name) && memcmp(schema->name, name, schema->name_len) == 0;
}

// The module's row comes as late as it may: the event that tells ORT's version need not be the
// first.
static void tell_module(etw_live *l, live_watched *w, const co_tlg_schema *schema, int64_t time)
{
    if (w->module_told || (!w->version[0] && is_named(schema, "SessionCreationStart")))
        return;
    w->module_told = true;
    const int64_t row[] = {[TM_module_module] = w->life.module,
                           [TM_module_process] = w->life.number,
                           [TM_module_time] = co_etl_ns(&l->clock, time),
                           [TM_module_path] = co_intern(l->c, w->library, strlen(w->library)),
                           [TM_module_version] = co_intern(l->c, w->version, strlen(w->version)),
                           [TM_module_build] = 0,
                           [TM_module_hooked] = 0,
                           [TM_module_refused] = 0};
    tm_writer_row(l->c->writer, TM_KIND_module, row);
}

static void take_ort(etw_live *l, const co_etl_event *e)
{
    co_tlg_schema schema;
    size_t residual;
    const co_watched *target = co_watched_find(l->c, e->pid, (uint64_t)e->time);
    live_watched *w = target ? watched_at(l, target) : NULL;
    if (!w || !co_tlg_schema_parse(e->metadata, e->metadata_len, &schema))
        return;
    if (target->hooked) {
        if (!target->tells_qnn && is_named(&schema, CO_QNN_EVENT))
            co_etl_write_ort(&l->m, e);
        return;
    }
    if (!w->version[0])
        co_tlg_values(&schema, e->data, e->data_len, e->pointer_size, take_version, w, &residual);
    tell_module(l, w, &schema, e->time);
    co_etl_write_ort(&l->m, e);
}

static void take_qnn(void *context, const etl_life *process, int64_t time, const char *fields,
                     size_t len)
{
    etw_live *l = context;
    int64_t ns = co_etl_ns(&l->clock, time);
    uint64_t qpc_ns = l->c->clock.first.qpc_ns + (uint64_t)(ns > 0 ? ns : 0);
    co_qnn_event(l->c, process->number, co_clock_ticks(&l->c->clock, qpc_ns), fields, len);
}

// --------------------------------------------------------------------------------------- the whole

etw_live *co_etw_live_create(co_capture *c, int64_t qpc_hz, const co_etw_listener *listener)
{
    etw_live *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->c = c;
    if (listener)
        l->listener = *listener;
    l->clock = (co_etl_header){.clock = CO_ETL_QPC,
                               .perf_freq = qpc_hz,
                               .pointer_size = 8,
                               .first_time = (int64_t)c->clock.first.qpc};
    l->m.header = &l->clock;
    l->m.who = (etl_who){l, process_of, owner_of, number_of};
    l->m.writer = c->writer;
    l->m.sessions = &c->sessions;
    l->m.only_followed = true;
    l->m.qnn = take_qnn;
    l->m.qnn_context = l;
    co_etl_import_init(&l->m);
    return l;
}

static void count(etw_live *l)
{
    const co_etl_import_stats *now = &l->m.stats;
    l->c->stats.runs += now->runs - l->counted.runs;
    l->c->stats.failed_runs += now->failed_runs - l->counted.failed_runs;
    l->c->stats.sessions += now->sessions - l->counted.sessions;
    l->counted = *now;
}

void co_etw_live_gap(etw_live *l)
{
    l->m.losses++;
}

void co_etw_live_loss_between(etw_live *l, int64_t begin, int64_t end)
{
    size_t count = l->windows.len / sizeof(live_window);
    live_window *w = (live_window *)(void *)l->windows.data, fresh = {begin, end};
    if (count > l->window_at && w[count - 1].end >= begin)
        w[count - 1].end = end;
    else
        cm_buf_append(&l->windows, &fresh, sizeof fresh);
}

// While events are being lost, no two of those that came make a run; nor do the last before that
// and the first behind it.
static void note_windows(etw_live *l, int64_t time)
{
    const live_window *w = (const live_window *)(const void *)l->windows.data;
    size_t count = l->windows.len / sizeof *w;
    while (l->window_at < count && time >= w[l->window_at].begin) {
        l->m.losses++;
        if (time <= w[l->window_at].end)
            return;
        l->window_at++;
    }
}

void co_etw_live_event(etw_live *l, const co_etl_event *e)
{
    etl_fact fact;
    note_windows(l, e->time);
    if (e->family == CO_ETL_CLASSIC && memcmp(e->provider, co_etw_guid_lost, 16) == 0) {
        l->lost_in_stream++;
        l->m.losses++;
        return;
    }
    uint8_t group;
    bool header = e->family == CO_ETL_CLASSIC && co_etl_group_of(e->provider, &group) &&
                  group == ETL_GROUP_HEADER;
    l->events += !header;
    if (co_etw_is_gpu(e)) {
        const co_watched *w = co_watched_find(l->c, e->pid, (uint64_t)e->time);
        co_etw_gpu_event(&l->gpu, e, w ? w->id : 0);
    } else if (co_etl_is_ort(e)) {
        take_ort(l, e);
        count(l);
    } else if (co_etl_fact(e, &fact)) {
        take_fact(l, e, &fact);
    }
}

static void tell_more(etw_live *l, int cause, uint64_t now, uint64_t *told)
{
    if (now > *told && co_tell_loss(l->c, 0, cause, now - *told))
        *told = now;
}

void co_etw_live_losses(etw_live *l, const etw_losses *now, uint64_t queue_full)
{
    tell_more(l, LOST_BY_WINDOWS, now->events, &l->told.events);
    tell_more(l, LOST_LOG_BUFFERS, now->log_buffers, &l->told.log_buffers);
    tell_more(l, LOST_RT_BUFFERS, now->real_time_buffers, &l->told.real_time_buffers);
    tell_more(l, LOST_TOO_SLOW, queue_full, &l->told_full);
    co_etw_gpu_tell(&l->gpu, l->c, &l->clock);
}

void co_etw_live_end(etw_live *l, bool whole)
{
    char text[160];
    co_etl_ort_end(&l->m);
    snprintf(text, sizeof text, "Event tracing handed over %llu events.",
             (unsigned long long)l->events);
    co_capture_log(l->c, 0, 5, text);
    if (!whole)
        co_capture_log(
            l->c, 0, 3,
            "Event tracing did not come to an end in time; its last events are missing.");
    snprintf(text, sizeof text,
             "Event tracing told %llu times that it had lost something; the losses count it.",
             (unsigned long long)l->lost_in_stream);
    if (l->lost_in_stream)
        co_capture_log(l->c, 0, 3, text);
    if (l->m.stats.unfinished_runs) {
        snprintf(text, sizeof text,
                 "Event tracing told of %llu runs that began, but not for certain of their end.",
                 (unsigned long long)l->m.stats.unfinished_runs);
        co_capture_log(l->c, 0, 4, text);
    }
    l->c->unnumbered += l->missing;
}

void co_etw_live_destroy(etw_live *l)
{
    if (!l)
        return;
    co_etl_import_deinit(&l->m);
    cm_map_deinit(&l->process_of);
    cm_map_deinit(&l->owner_of);
    cm_buf_deinit(&l->processes);
    cm_buf_deinit(&l->watched);
    cm_buf_deinit(&l->windows);
    co_readings_deinit(&l->gpu.readings);
    free(l);
}
