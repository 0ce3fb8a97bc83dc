// SPDX-License-Identifier: MIT
// What ONNX Runtime's own events say, as rows: sessions, runs, errors, its log. A run is what lies
// between EvaluationStart and EvaluationStop of one thread. Before 1.23 these do not name the
// session: then it is the process's only one, or one that stands for all of its sessions.
#include "etl_rows.h"

#include "collector/etl_tracelogging.h"
#include "common/secret.h"
#include "etl_classes.h"
#include "etl_text.h"
#include "qnn.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RUNS_MAX     8u // of one thread inside each other
#define THREADS_MAX  65536u
#define FIELDS_MAX   64u
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

typedef struct ort_event {
    const co_etl_event *event;
    const etl_life *process;
    int64_t ns;
    bool hooked; // our hook was there and has told of sessions and runs
    co_tlg_schema schema;
    co_tlg_token fields[FIELDS_MAX];
    unsigned field_count, depth;
} ort_event;

bool co_etl_is_ort(const co_etl_event *e)
{
    return e->family == CO_ETL_EVENT && e->metadata &&
           (memcmp(e->provider, co_etl_guid_ort, 16) == 0 ||
            memcmp(e->provider, co_etl_guid_ort_log, 16) == 0);
}

// -------------------------------------------------------------------------------------- the fields

static void take_field(void *context, const co_tlg_token *t)
{
    ort_event *o = context;
    if (t->kind != CO_TLG_VALUE)
        o->depth += t->kind == CO_TLG_BEGIN_ARRAY || t->kind == CO_TLG_BEGIN_STRUCT ? 1u : -1u;
    else if (o->depth == 0 && o->field_count < FIELDS_MAX)
        o->fields[o->field_count++] = *t;
}

static bool is_named(const char *name, size_t len, const char *literal)
{
    return len == strlen(literal) && memcmp(name, literal, len) == 0;
}

static bool is_event(const ort_event *o, const char *name)
{
    return is_named(o->schema.name, o->schema.name_len, name);
}

static const co_tlg_token *field(const ort_event *o, const char *name)
{
    for (unsigned i = 0; i < o->field_count; i++)
        if (is_named(o->fields[i].field->name, o->fields[i].field->name_len, name))
            return &o->fields[i];
    return NULL;
}

static bool number(const ort_event *o, const char *name, int64_t *out)
{
    const co_tlg_token *t = field(o, name);
    return t && co_tlg_number(t, out);
}

static etl_text text_of(const co_tlg_token *t)
{
    unsigned type = t ? t->field->type : CO_TLG_NULL;
    bool wide = type == CO_TLG_UTF16 || type == CO_TLG_COUNTED_UTF16;
    bool narrow = type == CO_TLG_ANSI || type == CO_TLG_COUNTED_ANSI;
    return wide || narrow ? (etl_text){t->bytes, t->len, wide} : (etl_text){0};
}

static int64_t intern(etl_import *m, const ort_event *o, const char *name)
{
    return co_etl_intern(m, text_of(field(o, name)));
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
    if (number(o, "sessionId", &id) && id >= 0 && id < UINT32_MAX - 1)
        return co_ids_get(m->sessions, o->process->number, id + 1);
    if (cm_map_find(&m->only_session_of, o->process->number, &only) && only)
        return (uint32_t)only;
    return co_ids_get(m->sessions, o->process->number, UNNAMED);
}

static void session_row(etl_import *m, const ort_event *o, uint32_t session, int64_t begin,
                        int64_t status)
{
    session_state *s = state_of(m, session);
    if (!s || s->described)
        return;
    bool has_model = text_of(field(o, "modelFileName")).len != 0;
    const int64_t row[] = {[TM_session_session] = session,
                           [TM_session_module] = o->process->module,
                           [TM_session_time] = begin,
                           [TM_session_load] = o->ns - begin,
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
    if (is_event(o, "SessionCreationStart")) {
        t->creation_begin = o->ns;
        return;
    }
    bool known_begin = t->creation_begin >= 0;
    int64_t begin = known_begin ? t->creation_begin : o->ns;
    if (is_event(o, "SessionCreation_CaptureState")) {
        session_row(m, o, session_of(m, o), o->ns, 0);
    } else if (is_event(o, "SessionCreation")) {
        session_row(m, o, session_of(m, o), begin, 0);
        t->creation_begin = -1;
    } else if (is_event(o, "SessionCreationEnd")) {
        number(o, "isSuccess", &success);
        number(o, "errorCode", &code);
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
    while (field(o, "sessionId") && is_open(t, session))
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
    uint32_t session = field(o, "sessionId") ? session_of(m, o) : 0;
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
                           [TM_run_duration] = o->ns - r->begin,
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
    number(o, "errorCode", &code);
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

static bool is_left_out(const co_tlg_field *f)
{
    return (f->name_len > 6 && memcmp(f->name, "PartA_", 6) == 0) ||
           (f->name_len > 11 && memcmp(f->name, "UTCReplace_", 11) == 0) ||
           is_named(f->name, f->name_len, "schemaVersion") ||
           is_named(f->name, f->name_len, "modelMetaData");
}

// Options come as pairs of fields, or all in one text.
static bool is_secret(const ort_event *o, const co_tlg_token *t, const char *value, size_t len)
{
    const co_tlg_token *key = field(o, "Key");
    if (key && is_named(t->field->name, t->field->name_len, "Value"))
        return cm_names_secret((const char *)key->bytes, key->len);
    return cm_names_secret(t->field->name, t->field->name_len) ||
           (is_named(t->field->name, t->field->name_len, "providerOptions") &&
            cm_names_secret(value, len));
}

static void put_field(etl_import *m, const ort_event *o, const co_tlg_token *t)
{
    char value[2048];
    int64_t n;
    etl_text text = text_of(t);
    if (is_left_out(t->field))
        return;
    if (text.bytes)
        co_etl_text_utf8(text, value, sizeof value);
    else if (co_tlg_number(t, &n))
        snprintf(value, sizeof value, "%" PRId64, n);
    else
        return;
    if (is_secret(o, t, value, strlen(value)))
        snprintf(value, sizeof value, CM_HIDDEN);
    for (char *c = value; *c; c++)
        *c = *c == '\n' ? ' ' : *c; // a line is a field
    cm_out_printf(&m->text, "%.*s=%s\n", (int)t->field->name_len, t->field->name, value);
}

static void event_row(etl_import *m, const ort_event *o)
{
    int64_t ort_session = 0;
    bool named = number(o, "sessionId", &ort_session);
    cm_out_clear(&m->text);
    for (unsigned i = 0; i < o->field_count; i++)
        put_field(m, o, &o->fields[i]);
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
    if (m->qnn && is_event(o, CO_QNN_EVENT))
        m->qnn(m->qnn_context, o->process, o->event->time, fields, len);
}

static void take_hooked(etl_import *m, const ort_event *o, ort_thread *t)
{
    if (is_event(o, "ONNXRuntimeLogEvent"))
        log_row(m, o, o->event->level, "message", t);
    else if (!is_event(o, "EvaluationStart") && !is_event(o, "EvaluationStop") &&
             !co_etl_people_tells_ort(m->people, o->event->pid))
        event_row(m, o);
}

static void take_event(etl_import *m, const ort_event *o, ort_thread *t)
{
    int64_t code = 0;
    if (o->hooked) {
        take_hooked(m, o, t);
    } else if (is_event(o, "EvaluationStart")) {
        run_begins(m, o, t);
    } else if (is_event(o, "EvaluationStop")) {
        run_ends(m, o, t);
    } else if (is_event(o, "ONNXRuntimeLogEvent")) {
        log_row(m, o, o->event->level, "message", t);
    } else {
        bool error = is_event(o, "RuntimeError") || is_event(o, "RuntimeInferenceError");
        if (error)
            log_row(m, o, 2, "errorMessage", t);
        if (error && t->depth > 0 && t->depth <= RUNS_MAX)
            t->runs[t->depth - 1].status =
                number(o, "errorCode", &code) && code > 0 ? (uint32_t)code : 1;
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
    size_t residual;
    ort_thread *t = thread_state(m, e);
    o.hooked = m->people && co_etl_people_hooked(m->people, e->pid);
    if (!o.process)
        o.process = &nobody;
    if (!t || !co_tlg_schema_parse(e->metadata, e->metadata_len, &o.schema))
        return;
    co_tlg_values(&o.schema, e->data, e->data_len, e->pointer_size, take_field, &o, &residual);
    take_event(m, &o, t);
}

void co_etl_ort_end(etl_import *m)
{
    const ort_thread *threads = (const ort_thread *)(const void *)m->ort_threads.data;
    for (size_t i = 0; i < m->ort_threads.len / sizeof *threads; i++)
        m->stats.unfinished_runs += threads[i].depth;
}
