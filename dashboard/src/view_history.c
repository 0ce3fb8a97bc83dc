// SPDX-License-Identifier: MIT
// Figures over time, in columns that all have the same length.
#include "view_keys.h"
#include "window.h"

#include <stdio.h>
#include <string.h>

#define MOST_POINTS    3000
#define WANTED_POINTS  1000
#define DEFAULT_SPAN_S 60.0

typedef struct grid {
    size_t tier;
    int64_t first, count; // steps
    double step_s;
} grid;

static double moment(const da_live *l, bool given, double s, double otherwise)
{
    double now = da_seconds(l->now_ns);
    double at = !given ? otherwise : s < 0 ? now + s : s;
    return at < 0 ? 0 : at > now ? now : at;
}

static grid choose(const da_live *l, const da_span *q)
{
    double now = da_seconds(l->now_ns);
    double to = moment(l, q->has_to, q->to_s, now);
    double from = moment(l, q->has_from, q->from_s, to - DEFAULT_SPAN_S);
    grid g = {0};
    from = from < to ? from : to;
    for (size_t i = 1; i < DA_TIERS; i++) {
        double points = (to - from) / da_seconds(da_tier_ns[i - 1]);
        if (q->has_step ? da_seconds(da_tier_ns[i]) <= q->step_s : points > WANTED_POINTS)
            g.tier = i;
    }
    g.step_s = da_seconds(da_tier_ns[g.tier]);
    g.first = (int64_t)(from / g.step_s);
    g.count = (int64_t)(to / g.step_s) - g.first + 1;
    if (g.count > MOST_POINTS) {
        g.first += g.count - MOST_POINTS;
        g.count = MOST_POINTS;
    }
    return g;
}

// ------------------------------------------------------------------------------------------- runs

typedef enum column {
    RUNS,
    FAILED,
    RATE,
    MEAN,
    P50,
    P95,
    P99,
    MAX,
    IN_FLIGHT,
    HELD,
    IN_USE
} column;

static void cell(cm_json *j, column c, const da_step *s, double step_s)
{
    switch (c) {
    case RUNS:
        cm_json_uint(j, s->runs);
        break;
    case FAILED:
        cm_json_uint(j, s->failed);
        break;
    case RATE:
        cm_json_number(j, (s->runs - s->failed) / step_s, 2);
        break;
    case IN_FLIGHT:
        cm_json_uint(j, s->in_flight_max);
        break;
    case HELD:
    case IN_USE: {
        int64_t bytes = c == HELD ? s->held_bytes : s->in_use_bytes;
        cm_json_number(j, s->runs && bytes >= 0 ? (double)bytes : DA_NONE, 0);
        break;
    }
    default: {
        const float values[] = {[MEAN] = s->mean_us,
                                [P50] = s->p50_us,
                                [P95] = s->p95_us,
                                [P99] = s->p99_us,
                                [MAX] = s->max_us};
        cm_json_number(j, s->runs > s->failed ? (double)values[c] : DA_NONE, 2);
    }
    }
}

// Steps are sparse: what lies between them had no runs.
static void run_column(cm_json *j, const da_run_tier *tier, const da_step *open, const grid *g,
                       column c)
{
    static const da_step none = {.held_bytes = -1, .in_use_bytes = -1};
    size_t at = 0;
    for (int64_t i = 0; i < g->count; i++) {
        int64_t index = g->first + i;
        const da_step *step = NULL;
        while (at < tier->steps.count &&
               ((const da_step *)da_ring_at(&tier->steps, at))->index < index)
            at++;
        if (at < tier->steps.count)
            step = da_ring_at(&tier->steps, at);
        if (!step || step->index != index)
            step = open->runs && open->index == index ? open : &none;
        cell(j, c, step, g->step_s);
    }
}

static void session(cm_json *j, const da_session *s, const grid *g)
{
    static const char *const names[] = {
        [RUNS] = "runs",       [FAILED] = "failed_runs", [RATE] = "throughput_per_s",
        [MEAN] = "mean_us",    [P50] = "p50_us",         [P95] = "p95_us",
        [P99] = "p99_us",      [MAX] = "max_us",         [IN_FLIGHT] = "in_flight_max",
        [HELD] = "held_bytes", [IN_USE] = "in_use_bytes"};
    const da_run_tier *tier = &s->tiers[g->tier];
    da_step open = da_tier_open(tier);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_int(j, "session", s->id);
    for (column c = RUNS; c <= IN_USE; c++) {
        da_key_array(j, names[c]);
        run_column(j, tier, &open, g, c);
        cm_json_end(j);
    }
    cm_json_end(j);
}

// --------------------------------------------------------------------------------------- counters

// What a counter is called as a rate or as it is.
static void counter_names(const char *name, const char *unit, bool total, char *out_name,
                          char *out_unit, size_t size)
{
    if (!total) {
        snprintf(out_name, size, "%s", name);
        snprintf(out_unit, size, "%s", unit);
    } else if (strcmp(unit, "s") == 0) {
        bool both = strcmp(name, "cpu_user") == 0;
        snprintf(out_name, size, "%s%s", both ? "cpu" : name, "_percent");
        snprintf(out_unit, size, "%%");
    } else {
        snprintf(out_name, size, "%s", name);
        snprintf(out_unit, size, "%s", strcmp(unit, "J") == 0 ? "W" : unit);
        if (strcmp(unit, "J") != 0)
            snprintf(out_unit, size, "%s/s", unit);
    }
}

static double rate_at(const da_counter *c, const grid *g, int64_t index)
{
    if (!c)
        return 0;
    double now = da_level_at(c, g->tier, index, true);
    double before = da_level_at(c, g->tier, index - 1, true);
    return (now - before) / g->step_s;
}

// Both are of one source, and only what changed was told.
static int64_t rate_until(const da_live *l, const da_counter *c, const da_counter *kernel,
                          const grid *g)
{
    int64_t until = da_counter_until(l, c, g->tier);
    int64_t other = kernel ? da_counter_until(l, kernel, g->tier) : until;
    return other > until ? other : until;
}

static void counter(cm_json *j, const da_live *l, const da_counter *c, const grid *g)
{
    char shown_name[120], shown_unit[120];
    const char *name = da_text(l, c->name), *unit = da_text(l, c->unit);
    const da_counter *kernel = NULL;
    if (!name || !c->seen || strcmp(name, "cpu_kernel") == 0)
        return; // it is part of cpu_percent
    unit = unit ? unit : "";
    bool seconds = c->total && strcmp(unit, "s") == 0;
    if (strcmp(name, "cpu_user") == 0)
        kernel = da_counter_find(l, "cpu_kernel", c->about, c->process, c->number);
    counter_names(name, unit, c->total, shown_name, shown_unit, sizeof shown_name);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_int(j, "counter", c->id);
    da_key_text(j, "name", shown_name);
    da_key_text(j, "unit", shown_unit);
    da_key_text(j, "about", da_about_name(c->about));
    da_key_id(j, "process", c->process);
    da_key_count(j, "number", c->number);
    da_key_text(j, "subject", da_text(l, c->subject));
    da_key_array(j, "values");
    int64_t until = c->total ? rate_until(l, c, kernel, g) : INT64_MAX;
    for (int64_t i = 0; i < g->count; i++) {
        int64_t index = g->first + i;
        double value = index > until ? DA_NONE
                       : c->total    ? rate_at(c, g, index) + rate_at(kernel, g, index)
                                     : da_level_at(c, g->tier, index, false);
        cm_json_number(j, seconds ? value * 100 : value, 3);
    }
    cm_json_end(j);
    cm_json_end(j);
}

// -------------------------------------------------------------------------------- marks, the whole

static void marks(cm_json *j, const da_live *l, const grid *g)
{
    double from = (double)g->first * g->step_s, to = from + (double)g->count * g->step_s;
    da_key_array(j, "marks");
    for (size_t i = 0; i < l->marks.count; i++) {
        const da_mark *m = da_ring_at(&l->marks, i);
        const char *text = da_text(l, m->text);
        if (da_seconds(m->time_ns) < from || da_seconds(m->time_ns) >= to)
            continue;
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        da_key_number(j, "time_s", da_seconds(m->time_ns), 6);
        da_key_text(j, "text", text ? text : "");
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void outliers(cm_json *j, const da_live *l, const da_span *q, const grid *g)
{
    double from = (double)g->first * g->step_s, to = from + (double)g->count * g->step_s;
    da_key_array(j, "outliers");
    for (size_t i = 0; i < l->outliers.count; i++) {
        const da_outlier *o = da_ring_at(&l->outliers, i);
        double end = da_seconds(o->begin_ns + o->duration_ns); // runs count where they end
        if (end < from || end >= to || (q->has_session && o->session != q->session))
            continue;
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        da_key_int(j, "session", o->session);
        da_key_int(j, "run", o->run);
        da_key_number(j, "begin_s", da_seconds(o->begin_ns), 6);
        da_key_number(j, "duration_us", da_us((double)o->duration_ns), 3);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void write_history(cm_json *j, const da_live *l, uint32_t capture, const da_span *q)
{
    grid g = choose(l, q);
    da_begin_document(j, capture);
    da_key_number(j, "step_s", g.step_s, 3);
    da_key_number(j, "from_s", (double)g.first * g.step_s, 3);
    da_key_number(j, "to_s", (double)(g.first + g.count) * g.step_s, 3);
    da_key_number(j, "now_s", da_seconds(l->now_ns), 6);
    da_key_array(j, "time_s");
    for (int64_t i = 0; i < g.count; i++)
        cm_json_number(j, (double)(g.first + i) * g.step_s, 3);
    cm_json_end(j);
    da_key_array(j, "sessions");
    for (size_t i = 0; i < l->session_count; i++)
        if (!q->has_session || l->sessions[i]->id == q->session)
            session(j, l->sessions[i], &g);
    cm_json_end(j);
    da_key_array(j, "counters");
    for (size_t i = 0; i < l->counter_count; i++)
        counter(j, l, l->counters[i], &g);
    cm_json_end(j);
    marks(j, l, &g);
    outliers(j, l, q, &g);
    cm_json_end(j);
}

static cm_status no_session(int64_t id)
{
    return cm_fail(CM_NOT_FOUND, "There is no session %lld.", (long long)id);
}

cm_status da_view_history(cm_json *j, da_live *l, uint32_t capture, const da_span *q)
{
    da_lock(l);
    bool found = !q->has_session || da_session_find(l, q->session);
    if (found)
        write_history(j, l, capture, q);
    da_unlock(l);
    return found ? CM_OK : no_session(q->session);
}
