// SPDX-License-Identifier: MIT
// The metrics' points, from the figures. Labels are bounded by the limits of
// live_state.h: captures, their sessions, processes, cores, devices and providers; never runs,
// nodes or threads.
#include "metric_list.h"

#include "common/utf.h"
#include "metric_table.h"
#include "view_keys.h"

#include <stdio.h>
#include <string.h>

// ------------------------------------------------------------------------------------------ points

typedef struct teller {
    da_core *core;
    const da_metric_writer *w;
    const da_metric_entry *e;
    bool begun;
    cm_map seen; // hashes of the labels of the metric's points
    // of the capture that is told
    da_live *l;
    uint32_t capture;
    da_point point;
} teller;

static void add_text(da_point *p, const char *name, const char *text)
{
    da_label *label = &p->labels[p->label_count];
    if (!text || !*text || p->label_count == DA_LABELS)
        return;
    size_t len = strlen(text);
    if (len > DA_LABEL_LEN)
        for (len = DA_LABEL_LEN; len && ((uint8_t)text[len] & 0xC0) == 0x80;)
            len--; // not through a character
    cm_utf8_repair(text, len, label->text, sizeof label->text);
    label->name = name;
    p->label_count++;
}

static void add_number(da_point *p, const char *name, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    add_text(p, name, text);
}

// A new point with the labels that all of a capture have.
static da_point *new_point(teller *t)
{
    t->point.label_count = 0;
    t->point.since_utc_ns = t->l ? t->l->since_utc_ns : t->core->since_utc_ns;
    if (t->l)
        add_number(&t->point, "capture", t->capture);
    return &t->point;
}

static uint64_t hash_of(const da_point *p)
{
    uint64_t hash = 14695981039346656037u; // FNV-1a
    for (size_t i = 0; i < p->label_count; i++)
        for (const char *part = p->labels[i].name; part;
             part = part == p->labels[i].name ? p->labels[i].text : NULL)
            for (const char *c = part;; c++) {
                hash = (hash ^ (uint8_t)*c) * 1099511628211u;
                if (!*c)
                    break;
            }
    return hash;
}

static void tell(teller *t, double value)
{
    size_t other;
    t->point.value = value;
    int64_t hash = (int64_t)(hash_of(&t->point) >> 1) + 1; // ids of a map are above 0
    if (!da_known(value) || value - value != 0 || cm_map_find(&t->seen, hash, &other) ||
        !cm_map_put(&t->seen, hash, 1))
        return;
    if (!t->begun)
        t->w->begin(t->w->context, &t->e->metric);
    t->begun = true;
    t->w->point(t->w->context, &t->e->metric, &t->point);
}

static void add_process(teller *t, const da_process *p)
{
    if (!p)
        return;
    add_number(&t->point, "pid", p->pid);
    add_text(&t->point, "program", da_file_name(da_text(t->l, p->program)));
}

// ---------------------------------------------------------------------------------------- sessions

static void add_session(teller *t, const da_session *s)
{
    add_number(&t->point, "session", s->id);
    add_text(&t->point, "model", da_file_name(da_text(t->l, s->facts[TM_session_model])));
    add_process(t, da_process_find(t->l, da_session_process(t->l, s)));
}

static double known_bytes(int64_t bytes)
{
    return bytes >= 0 ? (double)bytes : DA_NONE;
}

static double of_session(teller *t, const da_session *s)
{
    int64_t load = s->facts[TM_session_load];
    switch (t->e->figure) {
    case RUNS:
        return (double)s->runs;
    case FAILED_RUNS:
        return (double)s->failed;
    case IN_FLIGHT:
        return (double)s->in_flight;
    case LOAD_TIME:
        return load > 0 ? da_seconds(load) : DA_NONE; // not seen
    case HELD:
        return known_bytes(da_session_held(s));
    case IN_USE:
        return known_bytes(da_session_in_use(s));
    default:
        t->point.buckets = s->duration_buckets;
        t->point.count = s->latencies.count;
        return (double)s->latencies.sum / 1e9;
    }
}

static void tell_sessions(teller *t)
{
    for (size_t i = 0; i < t->l->session_count; i++) {
        const da_session *s = t->l->sessions[i];
        if (s->facts[TM_session_status] != 0)
            continue; // it was never made
        new_point(t);
        add_session(t, s);
        tell(t, of_session(t, s));
    }
}

// --------------------------------------------------------------------------------------- providers

#define SHARES 256u

typedef struct share {
    const da_session *session;
    int64_t provider;
    double value;
} share;

static double of_kernel(da_figure f, const da_kernel *k)
{
    return f == OP_CALLS      ? (double)k->calls
           : f == OP_FAILURES ? (double)k->failed
                              : (double)k->self_ns / 1e9;
}

static void tell_providers(teller *t)
{
    share shares[SHARES];
    size_t count = 0, at = 0;
    for (size_t i = 0; i < t->l->kernel_count; i++) {
        const da_kernel *k = &t->l->kernels[i];
        if (at >= count || shares[at].session->id != k->session ||
            shares[at].provider != k->provider)
            for (at = 0; at < count; at++)
                if (shares[at].session->id == k->session && shares[at].provider == k->provider)
                    break;
        const da_session *s = at == count ? da_session_find(t->l, k->session) : NULL;
        if (at == count && s && count < SHARES)
            shares[count++] = (share){s, k->provider, 0};
        if (at < count)
            shares[at].value += of_kernel(t->e->figure, k);
    }
    for (size_t i = 0; i < count; i++) {
        const char *provider = da_text(t->l, shares[i].provider);
        new_point(t);
        add_session(t, shares[i].session);
        add_text(&t->point, "provider", provider ? provider : "unknown");
        tell(t, shares[i].value);
    }
}

// ---------------------------------------------------------------------------------------- counters

static void add_subject(teller *t, const da_counter *c)
{
    if (c->about == DA_CORE)
        add_number(&t->point, "core", c->number);
    if (c->about == DA_MACHINE)
        add_text(&t->point, "meter", da_text(t->l, c->subject));
    if (c->about != DA_DEVICE)
        return;
    add_number(&t->point, "device", c->number);
    add_text(&t->point, "name", da_text(t->l, c->subject));
    add_text(&t->point, "source", da_text(t->l, c->source));
}

static void tell_counters(teller *t)
{
    const da_metric_entry *e = t->e;
    for (size_t i = 0; i < t->l->counter_count; i++) {
        const da_counter *c = t->l->counters[i];
        const char *name = da_text(t->l, c->name);
        const da_process *p = c->about == DA_PROCESS ? da_process_find(t->l, c->process) : NULL;
        if (c->about != e->about || !name || strcmp(name, e->counter) != 0 ||
            (e->about == DA_PROCESS && (!p || p->ended)))
            continue;
        double value = da_counter_now(c) / e->per;
        double more =
            e->also ? da_counter_now(da_counter_find(t->l, e->also, c->about,
                                                     c->process > 0 ? c->process : -1, c->number))
                    : DA_NONE;
        new_point(t)->since_utc_ns = 0;
        add_process(t, p);
        add_subject(t, c);
        tell(t, da_known(more) ? value + more : value);
    }
}

// ---------------------------------------------------------------------------------------- captures

static double of_capture(const da_live *l, da_figure f)
{
    switch (f) {
    case RECORDING:
        return l->state != DA_ENDED;
    case LOST:
        return (double)l->lost;
    case DROPPED:
        return (double)(l->dropped + l->no_room);
    case FILE_BYTES:
        return l->file_bytes ? (double)l->file_bytes : DA_NONE;
    default:
        return l->overhead_ns >= 0 ? da_seconds(l->overhead_ns) : DA_NONE;
    }
}

static void tell_runtimes(teller *t)
{
    for (size_t i = 0; i < t->l->module_count; i++) {
        const da_module *m = &t->l->modules[i];
        new_point(t);
        add_process(t, da_process_find(t->l, m->process));
        add_text(&t->point, "version", da_text(t->l, m->version));
        tell(t, 1);
    }
}

static void tell_capture(teller *t)
{
    switch (t->e->figure) {
    case RECORDING:
    case LOST:
    case DROPPED:
    case FILE_BYTES:
    case OVERHEAD:
        new_point(t);
        tell(t, of_capture(t->l, t->e->figure));
        break;
    case RUNTIME:
        tell_runtimes(t);
        break;
    case OP_CALLS:
    case OP_FAILURES:
    case OP_TIME:
        tell_providers(t);
        break;
    case COUNTER:
        tell_counters(t);
        break;
    default:
        tell_sessions(t);
    }
}

// ------------------------------------------------------------------------------------ the program

static void tell_program(teller *t)
{
    da_figure f = t->e->figure;
    pthread_mutex_lock(&t->core->lock);
    da_push_state push = t->core->push;
    pthread_mutex_unlock(&t->core->lock);
    new_point(t);
    if (f == BUILD) {
        add_text(&t->point, "version", ORTSCOPE_VERSION);
        tell(t, 1);
    } else if (push.on) {
        tell(t, (double)(f == PUSHES          ? push.pushes
                         : f == FAILED_PUSHES ? push.failed
                                              : push.rejected_points));
    }
}

static void tell_metric(teller *t)
{
    t->begun = false;
    t->l = NULL;
    cm_map_init(&t->seen);
    if (t->e->figure <= REJECTED_POINTS) {
        tell_program(t);
    } else {
        t->capture = 0;
        while ((t->l = da_core_next(t->core, &t->capture).live)) {
            da_lock(t->l);
            tell_capture(t);
            da_unlock(t->l);
        }
    }
    cm_map_deinit(&t->seen);
    if (t->begun)
        t->w->end(t->w->context, &t->e->metric);
}

void da_metrics_tell(da_core *core, const da_metric_writer *w)
{
    teller t = {.core = core, .w = w};
    for (size_t i = 0; i < da_metric_entry_count; i++) {
        t.e = &da_metric_entries[i];
        tell_metric(&t);
    }
}

void da_metric_prometheus_name(const da_metric *m, char *out, size_t capacity)
{
    static const struct {
        const char *unit, *word;
    } units[] = {{"s", "_seconds"}, {"By", "_bytes"},    {"W", "_watts"},
                 {"J", "_joules"},  {"Cel", "_celsius"}, {"1", "_ratio"}};
    const char *word = "";
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(m->unit, units[i].unit) == 0)
            word = units[i].word;
    snprintf(out, capacity, "ortscope_%s%s%s", m->name, word,
             m->type == DA_METRIC_COUNTER ? "_total" : "");
}
