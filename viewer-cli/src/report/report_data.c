// SPDX-License-Identifier: MIT
// What the page shows beyond the summary, as JSON. Long series are columns of numbers: their keys
// would be most of the bytes.
#include "analysis/names.h"
#include "around_view.h"
#include "common/text.h"
#include "op_view.h"
#include "report.h"

#include <math.h>
#include <string.h>

static void begin_column(cm_json *j, const char *key)
{
    cm_json_key(j, key);
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
}

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

// ------------------------------------------------------------------------------------- latencies

// Up to p99, and all that is slower as one, so that one slow run does not hide the shape.
static void json_histogram(cm_json *j, const cm_histogram *h)
{
    uint64_t p99 = cm_histogram_percentile(h, 990000);
    uint64_t top = p99 > h->min ? p99 : h->max, step = cm_round_step(h->min, top, VW_RP_BINS);
    cm_json_key(j, "histogram");
    if (h->count == 0 || step == 0 || top > UINT64_MAX / 4) {
        cm_json_null(j);
        return;
    }
    uint64_t low = h->min / step * step, at = low;
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_number(j, "low_us", (double)low / 1e3, 3);
    cm_json_key_number(j, "step_us", (double)step / 1e3, 3);
    begin_column(j, "counts");
    for (; at <= top; at += step) // a bucket counts where its middle lies: maybe below the least
        cm_json_uint(j, cm_histogram_count_between(h, at == low ? 0 : at, at + step));
    cm_json_end(j);
    cm_json_key_uint(j, "beyond", cm_histogram_count_between(h, at, UINT64_MAX));
    cm_json_end(j);
}

static void json_points(cm_json *j, const char *key, const vw_rp_point *points, size_t count)
{
    cm_json_key(j, key);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    begin_column(j, "ms");
    for (size_t i = 0; i < count; i++)
        cm_json_number(j, ms(points[i].begin_ns), 3);
    cm_json_end(j);
    begin_column(j, "us");
    for (size_t i = 0; i < count; i++)
        cm_json_number(j, (double)points[i].duration_ns / 1e3, 3);
    cm_json_end(j);
    begin_column(j, "run");
    for (size_t i = 0; i < count; i++)
        cm_json_int(j, points[i].run);
    cm_json_end(j);
    cm_json_end(j);
}

static void json_memory(cm_json *j, const vw_rp_memory *m, size_t session)
{
    static const char *const keys[] = {"ms", "held", "low", "high"};
    const vw_rp_level *levels = m->levels[session];
    cm_json_key(j, "memory");
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    for (int k = 0; k < 4; k++) {
        begin_column(j, keys[k]);
        for (size_t i = 0; i < VW_RP_MEMORY_POINTS; i++) {
            if (!levels[i].any)
                continue;
            if (k == 0)
                cm_json_number(j, ms(m->stretch_ns) * ((double)i + 0.5), 3);
            else
                cm_json_int(j, k == 1   ? levels[i].held_bytes
                               : k == 2 ? levels[i].low_bytes
                                        : levels[i].high_bytes);
        }
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void json_session(cm_json *j, const vw_rp_report *r, size_t at)
{
    const vw_rp_session *s = &r->latency.sessions[at];
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key(j, "id");
    cm_json_int(j, s->session->id);
    json_histogram(j, &s->session->latency);
    cm_json_key(j, "decimated");
    cm_json_bool(j, s->decimated);
    json_points(j, "points", s->points, s->point_count);
    json_points(j, "failed", s->failed, s->failed_count);
    vw_rp_outliers_json(j, r->summary, s->session->id,
                        VW_RP_OUTLIERS / r->latency.count / r->shrink);
    json_memory(j, &r->memory, at);
    cm_json_end(j);
}

// ------------------------------------------------------------------------------------------- runs

static void json_why(cm_json *j, unsigned why)
{
    static const char *const words[] = {"first", "median", "p99", "slowest", "outlier"};
    begin_column(j, "why");
    for (unsigned bit = 0; bit < 5; bit++)
        if (why >> bit & 1)
            cm_json_string(j, words[bit]);
    cm_json_end(j);
}

static int64_t op_cell(const vw_rp_run *run, const vw_rp_op *op, int column)
{
    switch (column) {
    case 0:
        return (int64_t)op->kernel;
    case 1:
        return op->thread;
    case 2:
        return (int64_t)((uint64_t)op->begin_ns - (uint64_t)run->of.begin_ns);
    case 3:
        return op->duration_ns;
    case 4:
        return op->depth;
    default:
        return op->failed;
    }
}

static void json_ops(cm_json *j, const vw_rp_run *run)
{
    static const char *const keys[] = {"kernel", "thread", "begin_ns", "ns", "depth", "failed"};
    cm_json_key_uint(j, "op_total", run->op_total);
    cm_json_key(j, "ops");
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    for (int k = 0; k < 6; k++) {
        begin_column(j, keys[k]);
        for (size_t i = 0; i < run->op_count; i++)
            cm_json_int(j, op_cell(run, &run->ops[i], k));
        cm_json_end(j);
    }
    cm_json_end(j);
}

// [state, begin, end, by whom or why]
static void json_states(cm_json *j, const vw_rp_runs *runs, size_t at)
{
    begin_column(j, "states");
    for (size_t i = 0; i < runs->piece_count; i++) {
        const an_piece *p = &runs->pieces[i].piece;
        if (runs->pieces[i].run != at)
            continue;
        int64_t begin = runs->runs[at].of.begin_ns;
        cm_json_begin_array(j, CM_JSON_ONE_LINE);
        cm_json_string(j, an_doing_name(p->doing));
        cm_json_int(j, p->begin_ns - begin);
        cm_json_int(j, p->end_ns - begin);
        if (p->doing == AN_DOING_PREEMPTED)
            cm_json_string(j, an_join_process_name(runs->join, p->detail));
        else if (p->doing == AN_DOING_WAIT)
            cm_json_string(j, an_wait_reason_name(p->detail));
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void json_run(cm_json *j, const vw_rp_runs *runs, size_t at)
{
    const vw_rp_run *run = &runs->runs[at];
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key(j, "session");
    cm_json_int(j, run->session);
    cm_json_key(j, "run");
    cm_json_int(j, run->of.run);
    json_why(j, run->why);
    cm_json_key_number(j, "begin_ms", ms(run->of.begin_ns), 3);
    cm_json_key_number(j, "us", (double)run->of.duration_ns / 1e3, 3);
    cm_json_key(j, "thread");
    cm_json_int(j, run->of.thread);
    cm_json_key(j, "in_flight");
    cm_json_int(j, run->of.in_flight);
    vw_run_machine_json(j, runs->join, an_join_get(runs->join, at));
    json_states(j, runs, at);
    json_ops(j, run);
    cm_json_end(j);
}

static void json_kernels(cm_json *j, const vw_rp_runs *runs)
{
    cm_json_key(j, "kernels");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < runs->kernel_count; i++) {
        const vw_rp_kernel *k = &runs->kernels[i];
        if (!k->used) {
            cm_json_int(j, 0);
            continue;
        }
        cm_json_begin_array(j, CM_JSON_ONE_LINE);
        cm_json_string(j, tm_reader_string(runs->reader, k->node));
        an_op_type_text by_class;
        cm_json_string(j, an_op_type_shown(tm_reader_string(runs->reader, k->op_type),
                                           tm_reader_string(runs->reader, k->kernel_class),
                                           &by_class));
        cm_json_string(j, tm_reader_string(runs->reader, k->domain));
        cm_json_string(j, tm_reader_string(runs->reader, k->provider));
        cm_json_end(j);
    }
    cm_json_end(j);
}

// --------------------------------------------------------------------------------------- counters

// A level's least or greatest in each stretch; where nothing was written it is what it was.
static void json_level(cm_json *j, const vw_rp_counter *c, const char *key, bool greatest)
{
    double held = (double)NAN;
    begin_column(j, key);
    for (size_t i = 0; i < c->bucket_count; i++) {
        const vw_rp_stretch *s = &c->buckets[i];
        double value = held;
        if (s->any) {
            value = an_counter_value(c->counter, greatest ? s->high : s->low);
            held = an_counter_value(c->counter, s->last);
        }
        if (s->gone)
            held = (double)NAN;
        cm_json_number(j, value, 3);
    }
    cm_json_end(j);
}

// What a running total grew by, a second.
static void json_rate(cm_json *j, const vw_rp_counter *c)
{
    bool known = false;
    int64_t before = 0;
    begin_column(j, "high");
    for (size_t i = 0; i < c->bucket_count; i++) {
        const vw_rp_stretch *s = &c->buckets[i];
        double rate = known ? 0 : (double)NAN;
        if (s->any && (known || s->low != s->last)) {
            double grown = (double)s->last - (double)(known ? before : s->low);
            rate = grown >= 0 ? grown / (double)c->counter->per_unit / ((double)c->stretch_ns / 1e9)
                              : (double)NAN;
        }
        if (s->any)
            before = s->last;
        known = (known || s->any) && !s->gone;
        cm_json_number(j, rate, 6);
    }
    cm_json_end(j);
}

static void json_counter(cm_json *j, const vw_rp_counter *c)
{
    static const char *const about[] = {"machine", "process", "thread", "core", "device"};
    const an_counter *n = c->counter;
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_text(j, "source", n->source);
    cm_json_key_text(j, "name", n->name);
    cm_json_key_text(j, "subject", n->subject);
    cm_json_key_text(j, "about", n->about >= 0 && n->about < 5 ? about[n->about] : NULL);
    cm_json_key_text(j, "unit", n->unit);
    cm_json_key(j, "number");
    cm_json_int(j, n->number);
    cm_json_key(j, "total");
    cm_json_bool(j, n->total);
    cm_json_key_number(j, "stretch_ms", ms(c->stretch_ns), 6);
    cm_json_key_number(j, "mean", n->total ? (double)NAN : an_counter_mean(n), 3);
    cm_json_key_number(j, "max", n->total ? (double)NAN : an_counter_value(n, n->max), 3);
    cm_json_key_number(
        j, "grown",
        n->total ? an_counter_value(n, n->last) - an_counter_value(n, n->first) : (double)NAN, 6);
    if (n->total) {
        json_rate(j, c);
    } else {
        json_level(j, c, "low", false);
        json_level(j, c, "high", true);
    }
    cm_json_end(j);
}

// ------------------------------------------------------------------------------------ the
// recording

static void json_recording(cm_json *j, const vw_rp_report *r)
{
    const an_summary *s = r->summary;
    char utc[40];
    const char *name = r->path;
    for (const char *at = r->path; *at; at++)
        if (*at == '/' || *at == '\\')
            name = at + 1;
    cm_format_utc(utc, sizeof utc, r->header->start_utc_ns);
    cm_json_key_text(j, "file", name);
    cm_json_key_text(j, "start_utc", r->header->start_utc_ns ? utc : NULL);
    cm_json_key_text(j, "os", r->header->os);
    cm_json_key_text(j, "cpu", r->header->cpu);
    cm_json_key(j, "cpu_count");
    cm_json_int(j, r->header->cpu_count);
    cm_json_key_text(j, "recorded_by", r->header->ortscope_version);
    cm_json_key_text(j, "damage", s->damage);
    cm_json_key(j, "lost");
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    for (int cause = 0; cause < AN_LOST_CAUSES; cause++) {
        if (!s->lost[cause])
            continue;
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "cause", an_lost_cause_name(cause));
        cm_json_key_uint(j, "events", s->lost[cause]);
        cm_json_end(j);
    }
    cm_json_end(j);
    cm_json_key_uint(j, "sessions_left_out", r->latency.left_out);
    cm_json_key_uint(j, "counters_left_out", r->counters.left_out);
    cm_json_key_uint(j, "states_left_out", r->runs.pieces_left_out);
}

void vw_rp_report_json(cm_out *out, const vw_rp_report *r)
{
    cm_json json, *j = &json;
    cm_json_init(j, out);
    cm_json_begin_object(j, CM_JSON_INDENTED);
    json_recording(j, r);
    cm_json_key(j, "sessions");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < r->latency.count; i++)
        json_session(j, r, i);
    cm_json_end(j);
    cm_json_key(j, "runs");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < r->runs.count; i++)
        json_run(j, &r->runs, i);
    cm_json_end(j);
    json_kernels(j, &r->runs);
    cm_json_key(j, "counters");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < r->counters.count; i++)
        json_counter(j, &r->counters.items[i]);
    cm_json_end(j);
    cm_json_end(j);
}
