// SPDX-License-Identifier: MIT
// What ONNX Runtime's own events say, as rows: sessions, runs, errors, its log. A run is what lies
// between EvaluationStart and EvaluationStop of one thread. Before 1.23 these do not name the
// session: then it is the process's only one, or one that stands for all of its sessions.
#include "etl_rows.h"

#include "etl_classes.h"
#include "etl_ort_fields.h"
#include "qnn.h"

#include <string.h>

#define RUNS_MAX     8u // of one thread inside each other
#define THREADS_MAX  65536u
#define UNNAMED      UINT32_MAX // instead of the number of a session that nobody names
#define CALL_EVENTS  3          // timeline/kinds.h: run.call and session.source
#define SOURCE_EVENT 8

typedef struct session_state {
    uint32_t runs, in_flight;
    bool described;
} session_state;

typedef struct open_run {
    int64_t begin; // nanoseconds
    uint32_t session;
    uint32_t in_flight;
    uint32_t status;
    uint32_t losses; // as in etl_import when it began
} open_run;

typedef struct ort_thread {
    int64_t creation_begin; // -1: none under way
    unsigned depth;
    open_run runs[RUNS_MAX];
} ort_thread;

bool co_etl_is_ort(const co_etl_event *e)
{
    return e->family == CO_ETL_EVENT && e->metadata &&
           (memcmp(e->provider, co_etl_guid_ort, 16) == 0 ||
            memcmp(e->provider, co_etl_guid_ort_log, 16) == 0);
}

// -------------------------------------------------------------------------------------- the states

static session_state *state_of(etl_import *m, uint32_t session)
{
    while (m->session_states.len / sizeof(session_state) < session) {
        session_state fresh = {0};
        cm_buf_append(&m->session_states, &fresh, sizeof fresh);
        if (m->session_states.failed)
            return NULL;
    }
    return session ? (session_state *)(void *)m->session_states.data + (session - 1) : NULL;
}

static ort_thread *thread_state(etl_import *m, const co_etl_event *e)
{
    int64_t key = (int64_t)((uint64_t)e->pid << 32 | e->tid);
    size_t place = m->ort_threads.len / sizeof(ort_thread);
    if (!cm_map_find(&m->ort_thread_of, key, &place)) {
        ort_thread fresh = {.creation_begin = -1};
        if (place >= THREADS_MAX)
            return NULL;
        cm_buf_append(&m->ort_threads, &fresh, sizeof fresh);
        if (m->ort_threads.failed || !cm_map_put(&m->ort_thread_of, key, place))
            return NULL;
    }
    return (ort_thread *)(void *)m->ort_threads.data + place;
}

// The session's number in the timeline; 0 when there are too many.
static uint32_t session_of(etl_import *m, const ort_event *o)
{
    int64_t id;
    size_t only;
    if (co_ort_number(o, "sessionId", &id) && id >= 0 && id < UINT32_MAX - 1)
        return co_ids_get(m->sessions, o->process->number, id + 1);
    if (cm_map_find(&m->only_session_of, o->process->number, &only) && only)
        return (uint32_t)only;
    return co_ids_get(m->sessions, o->process->number, UNNAMED);
}

static int64_t intern(etl_import *m, const ort_event *o, const char *name)
{
    return co_etl_intern(m, co_ort_text(co_ort_field(o, name)));
}

static void session_row(etl_import *m, const ort_event *o, uint32_t session, int64_t begin,
                        int64_t status)
{
    session_state *s = state_of(m, session);
    if (!s || s->described)
        return;
    bool has_model = co_ort_text(co_ort_field(o, "modelFileName")).len != 0;
    const int64_t row[] = {[TM_session_session] = session,
                           [TM_session_module] = o->process->module,
                           [TM_session_time] = begin,
                           [TM_session_load] = co_etl_between_ns(begin, o->ns),
                           [TM_session_source] = SOURCE_EVENT,
                           [TM_session_status] = status,
                           [TM_session_model] =
                               intern(m, o, has_model ? "modelFileName" : "modelGraphName"),
                           [TM_session_graph] = intern(m, o, "modelGraphName"),
                           [TM_session_producer] = intern(m, o, "modelProducerName"),
                           [TM_session_providers] = intern(m, o, "executionProviderIds"),
                           [TM_session_message] = intern(m, o, "errorMessage"),
                           [TM_session_thread] = o->event->tid};
    co_etl_row(m, TM_KIND_session, row);
    s->described = true;
    m->stats.sessions += status == 0;
    size_t only = session;
    if (cm_map_find(&m->only_session_of, o->process->number, &only))
        only = 0; // there are several now
    cm_map_put(&m->only_session_of, o->process->number, only);
}

// -------------------------------------------------------------------------------------- the events

static void creation(etl_import *m, const ort_event *o, ort_thread *t)
{
    int64_t success = 1, code = 0;
    if (co_ort_is(o, "SessionCreationStart")) {
        t->creation_begin = o->ns;
        return;
    }
    bool known_begin = t->creation_begin >= 0;
    int64_t begin = known_begin ? t->creation_begin : o->ns;
    if (co_ort_is(o, "SessionCreation_CaptureState")) {
        session_row(m, o, session_of(m, o), o->ns, 0);
    } else if (co_ort_is(o, "SessionCreation")) {
        session_row(m, o, session_of(m, o), begin, 0);
        t->creation_begin = -1;
    } else if (co_ort_is(o, "SessionCreationEnd")) {
        co_ort_number(o, "isSuccess", &success);
        co_ort_number(o, "errorCode", &code);
        if (!success)
            session_row(m, o, session_of(m, o), begin, code ? code : 1);
        t->creation_begin = -1;
    }
}

// Its end was not told, or can't be told from another one's.
static void drop_run(etl_import *m, ort_thread *t)
{
    t->depth--;
    m->stats.unfinished_runs++;
    session_state *s = t->depth < RUNS_MAX ? state_of(m, t->runs[t->depth].session) : NULL;
    if (s)
        s->in_flight--;
}

// Begin and end of a run have nothing in common but the thread. Where events were lost in between,
// two that don't belong together must not become a run.
static void drop_doubtful(etl_import *m, ort_thread *t)
{
    while (t->depth > 0 && (t->depth > RUNS_MAX || t->runs[t->depth - 1].losses != m->losses))
        drop_run(m, t);
}

static bool is_open(const ort_thread *t, uint32_t session)
{
    unsigned depth = t->depth < RUNS_MAX ? t->depth : RUNS_MAX;
    for (unsigned i = 0; i < depth; i++)
        if (t->runs[i].session == session)
            return true;
    return false;
}

static void run_begins(etl_import *m, const ort_event *o, ort_thread *t)
{
    uint32_t session = session_of(m, o);
    if (t->depth > 0 && m->losses)
        drop_doubtful(m, t);
    // No session runs inside itself: the end of that one was lost.
    while (co_ort_field(o, "sessionId") && is_open(t, session))
        drop_run(m, t);
    session_row(m, o, session, o->ns, 0); // of one that was there before
    session_state *s = state_of(m, session);
    if (s && t->depth < RUNS_MAX)
        t->runs[t->depth] = (open_run){o->ns, session, ++s->in_flight, 0, m->losses};
    t->depth++;
}

static void run_ends(etl_import *m, const ort_event *o, ort_thread *t)
{
    if (t->depth > 0 && m->losses)
        drop_doubtful(m, t);
    uint32_t session = co_ort_field(o, "sessionId") ? session_of(m, o) : 0;
    while (session && t->depth > 0 && t->runs[(t->depth - 1) % RUNS_MAX].session != session)
        drop_run(m, t);
    if (t->depth == 0)
        return; // began before the recording, or its begin was lost
    t->depth--;
    if (t->depth >= RUNS_MAX)
        return;
    const open_run *r = &t->runs[t->depth];
    session_state *s = state_of(m, r->session);
    if (!s)
        return;
    s->in_flight--;
    const int64_t row[] = {[TM_run_session] = r->session,
                           [TM_run_run] = ++s->runs,
                           [TM_run_thread] = o->event->tid,
                           [TM_run_begin] = r->begin,
                           [TM_run_duration] = co_etl_between_ns(r->begin, o->ns),
                           [TM_run_call] = CALL_EVENTS,
                           [TM_run_status] = r->status,
                           [TM_run_in_flight] = r->in_flight,
                           [TM_run_inputs] = 0,
                           [TM_run_outputs] = 0};
    co_etl_row(m, TM_KIND_run, row);
    m->stats.runs++;
    m->stats.failed_runs += r->status != 0;
}

static void log_row(etl_import *m, const ort_event *o, int64_t level, const char *message,
                    const ort_thread *t)
{
    int64_t code = 0, session = 0, run = 0;
    co_ort_number(o, "errorCode", &code);
    if (t->depth > 0 && t->depth <= RUNS_MAX) {
        const session_state *s = state_of(m, t->runs[t->depth - 1].session);
        session = t->runs[t->depth - 1].session;
        run = s ? s->runs + 1 : 0;
    }
    const int64_t row[] = {[TM_log_process] = o->process->number,
                           [TM_log_time] = o->ns,
                           [TM_log_level] = level,
                           [TM_log_session] = session,
                           [TM_log_run] = run,
                           [TM_log_code] = code,
                           [TM_log_message] = intern(m, o, message)};
    co_etl_row(m, TM_KIND_log, row);
}

static void event_row(etl_import *m, const ort_event *o)
{
    int64_t ort_session = 0;
    bool named = co_ort_number(o, "sessionId", &ort_session);
    cm_out_clear(&m->text);
    co_ort_put_fields(o, &m->text);
    const char *fields = cm_out_string(&m->text);
    size_t len = strlen(fields);
    const int64_t row[] = {
        [TM_ort_event_module] = o->hooked ? 0 : o->process->module,
        [TM_ort_event_time] = o->ns,
        [TM_ort_event_session] = named && !o->hooked ? (int64_t)session_of(m, o) : 0,
        [TM_ort_event_ort_session] = ort_session,
        [TM_ort_event_thread] = o->event->tid,
        [TM_ort_event_level] = o->event->level,
        [TM_ort_event_name] = tm_writer_string(m->writer, o->schema.name, o->schema.name_len),
        [TM_ort_event_fields] = tm_writer_string(m->writer, fields, len ? len - 1 : 0)};
    co_etl_row(m, TM_KIND_ort_event, row);
    if (m->qnn && co_ort_is(o, CO_QNN_EVENT))
        m->qnn(m->qnn_context, o->process, o->event->time, fields, len);
}

static void take_hooked(etl_import *m, const ort_event *o, ort_thread *t)
{
    if (co_ort_is(o, "ONNXRuntimeLogEvent"))
        log_row(m, o, o->event->level, "message", t);
    else if (!co_ort_is(o, "EvaluationStart") && !co_ort_is(o, "EvaluationStop") &&
             !co_etl_people_tells_ort(m->people, o->event->pid))
        event_row(m, o);
}

static void take_event(etl_import *m, const ort_event *o, ort_thread *t)
{
    int64_t code = 0;
    if (o->hooked) {
        take_hooked(m, o, t);
    } else if (co_ort_is(o, "EvaluationStart")) {
        run_begins(m, o, t);
    } else if (co_ort_is(o, "EvaluationStop")) {
        run_ends(m, o, t);
    } else if (co_ort_is(o, "ONNXRuntimeLogEvent")) {
        log_row(m, o, o->event->level, "message", t);
    } else {
        bool error = co_ort_is(o, "RuntimeError") || co_ort_is(o, "RuntimeInferenceError");
        if (error)
            log_row(m, o, 2, "errorMessage", t);
        if (error && t->depth > 0 && t->depth <= RUNS_MAX)
            t->runs[t->depth - 1].status =
                co_ort_number(o, "errorCode", &code) && code > 0 ? (uint32_t)code : 1;
        creation(m, o, t);
        event_row(m, o);
    }
}

void co_etl_write_ort(etl_import *m, const co_etl_event *e)
{
    static const etl_life nobody = {.id = CO_ETL_UNKNOWN};
    ort_event o = {.event = e,
                   .process = m->who.process(m->who.context, e->pid, e->time),
                   .ns = co_etl_ns(m->header, e->time)};
    ort_thread *t = thread_state(m, e);
    o.hooked = m->people && co_etl_people_hooked(m->people, e->pid);
    if (!o.process)
        o.process = &nobody;
    if (t && co_ort_read(&o))
        take_event(m, &o, t);
}

void co_etl_ort_end(etl_import *m)
{
    const ort_thread *threads = (const ort_thread *)(const void *)m->ort_threads.data;
    for (size_t i = 0; i < m->ort_threads.len / sizeof *threads; i++)
        m->stats.unfinished_runs += threads[i].depth;
}
