// SPDX-License-Identifier: MIT
// `ortscope summary --json` and `--csv`. The JSON keys are a promise to other programs: they are
// exactly those of the documentation, always all there; a fact that nobody recorded is null (or an
// empty list), never a guess.
#include "analysis/names.h"
#include "around_view.h"
#include "common/json.h"
#include "common/text.h"
#include "op_view.h"
#include "outlier_view.h"
#include "summary_view.h"

#include <math.h>
#include <string.h>

// -------------------------------------------------------------------------------------------- JSON

static void json_target(cm_json *j, const an_summary *s)
{
    const an_process *p = an_summary_target(s);
    cm_json_key(j, "target");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_number(j, "pid", p && p->pid >= 0 ? (double)p->pid : (double)NAN, 0);
    cm_json_key_text(j, "program", p ? p->program : NULL);
    bool known = p && p->ended && p->end_reason != 1;
    cm_json_key_number(j, "exit_code", known ? (double)p->exit_code : (double)NAN, 0);
    cm_json_end(j);
}

static void json_runtimes(cm_json *j, const an_summary *s)
{
    cm_json_key(j, "runtime");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < s->module_count; i++) {
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "version", s->modules[i].version);
        cm_json_key_text(j, "module", s->modules[i].path);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void json_providers(cm_json *j, const char *providers)
{
    cm_json_key(j, "providers");
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    while (*providers) {
        size_t len = strcspn(providers, ",");
        if (len)
            cm_json_bytes(j, providers, len);
        providers += len + (providers[len] == ',');
    }
    cm_json_end(j);
}

static const struct {
    const char *key;
    uint32_t millionths;
} percentiles[] = {
    {"p50", 500000}, {"p90", 900000}, {"p95", 950000}, {"p99", 990000}, {"p99_9", 999000}};
#define PERCENTILE_COUNT (sizeof percentiles / sizeof *percentiles)

static double us(double ns)
{
    return ns / 1000.0;
}

// NAN where there are no successful runs.
static double of_runs(const cm_histogram *h, double ns)
{
    return h->count ? us(ns) : (double)NAN;
}

static void json_latency(cm_json *j, const an_session *n)
{
    const cm_histogram *h = &n->latency;
    cm_json_key(j, "latency_us");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_number(j, "min", of_runs(h, (double)h->min), 3);
    cm_json_key_number(j, "mean", of_runs(h, h->mean), 3);
    cm_json_key_number(j, "stddev", us(an_session_stddev_ns(n)), 3);
    for (size_t i = 0; i < PERCENTILE_COUNT; i++) {
        uint64_t value = cm_histogram_percentile(h, percentiles[i].millionths);
        cm_json_key_number(j, percentiles[i].key, of_runs(h, (double)value), 3);
    }
    cm_json_key_number(j, "max", of_runs(h, (double)h->max), 3);
    cm_json_key_number(j, "first", us(an_session_first_ns(n)), 3);
    cm_json_key_number(j, "jitter", us(an_session_jitter_ns(n)), 3);
    cm_json_end(j);
}

static void json_batches(cm_json *j, const an_session *n)
{
    cm_json_key(j, "batch");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < n->batch_count; i++) {
        const an_batch *b = &n->batches[i];
        double p50_us = us((double)cm_histogram_percentile(&b->latency, 500000));
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key(j, "size");
        cm_json_int(j, b->size);
        cm_json_key(j, "runs");
        cm_json_uint(j, b->latency.count);
        cm_json_key_number(j, "p50_us", p50_us, 3);
        cm_json_key_number(j, "per_sample_us", b->size > 0 ? p50_us / (double)b->size : (double)NAN,
                           3);
        cm_json_key_number(j, "peak_bytes", an_batch_peak_bytes(b), 0);
        cm_json_key_number(j, "bytes_per_sample", an_batch_bytes_per_sample(b), 0);
        cm_json_key_number(j, "samples_per_mb", an_batch_samples_per_mb(b), 3);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void json_devices(cm_json *j, const an_summary *s, const an_session *n)
{
    cm_json_key(j, "provider_devices");
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    for (size_t i = 0; i < s->device_count; i++) {
        const an_device *d = &s->devices[i];
        if (d->session != n->id)
            continue;
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "provider", d->provider);
        cm_json_key_text(j, "type", d->type);
        cm_json_key_text(j, "vendor", d->vendor);
        cm_json_key_number(j, "nodes", d->nodes >= 0 ? (double)d->nodes : (double)NAN, 0);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void json_session(cm_json *j, const an_summary *s, const an_session *n,
                         const vw_summary_limits *limits)
{
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key(j, "id");
    cm_json_int(j, n->id);
    cm_json_key_text(j, "model", n->model);
    json_providers(j, n->providers);
    cm_json_key_number(j, "load_ms", an_session_load_ns(n) / 1e6, 6);
    cm_json_key(j, "runs");
    cm_json_uint(j, n->runs);
    cm_json_key(j, "failed_runs");
    cm_json_uint(j, n->failed_runs);
    cm_json_key_number(j, "throughput_per_s", an_session_throughput(n), 3);
    json_latency(j, n);
    json_devices(j, s, n);
    vw_session_loading_json(j, n);
    vw_session_ops_json(j, s, n, limits->ops);
    vw_session_memory_json(j, n);
    vw_session_machine_json(j, s, n);
    vw_session_flops_json(j, s, n);
    json_batches(j, n);
    vw_session_course_json(j, s, n);
    vw_session_outliers_json(j, s, n, limits->outliers);
    cm_json_end(j);
}

static void json_messages(cm_json *j, const an_summary *s)
{
    cm_json_key(j, "messages");
    cm_json_begin_array(j, s->message_count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; i < s->message_count; i++) {
        const an_message *m = &s->messages[i];
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "level", an_level_name(m->level));
        cm_json_key_text(j, "source", m->from_event ? "event" : "log");
        cm_json_key_number(j, "session", m->session ? (double)m->session : (double)NAN, 0);
        cm_json_key_number(j, "first_run", m->of_runs ? (double)m->first_run : (double)NAN, 0);
        cm_json_key(j, "count");
        cm_json_uint(j, m->count);
        cm_json_key_text(j, "text", m->text);
        cm_json_end(j);
    }
    cm_json_end(j);
}

// ORT did create it, and the limits allow it.
static bool is_shown(const an_session *n, const vw_summary_limits *limits)
{
    size_t found;
    return !vw_session_failed(n) &&
           (!limits->sessions || cm_map_find(limits->sessions, n->id, &found));
}

void vw_summary_json(vw_io *io, const an_summary *s, double grams_per_kwh)
{
    vw_summary_json_within(
        io, s, grams_per_kwh,
        &(vw_summary_limits){NULL, VW_SUMMARY_OPS, VW_SUMMARY_OUTLIERS, VW_SUMMARY_THREADS});
}

void vw_summary_json_within(vw_io *io, const an_summary *s, double grams_per_kwh,
                            const vw_summary_limits *limits)
{
    cm_json json, *j = &json;
    cm_json_init(j, &io->out);
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key(j, "schema_version");
    cm_json_int(j, 1);
    cm_json_key_text(j, "ortscope_version", ORTSCOPE_VERSION);
    json_target(j, s);
    json_runtimes(j, s);
    vw_machine_json(j, &s->machine);
    cm_json_key_number(j, "duration_s", (double)s->end_ns / 1e9, 9);
    cm_json_key(j, "lost_events");
    cm_json_uint(j, s->lost_total);
    int64_t overhead = an_summary_overhead_ns(s);
    cm_json_key(j, "overhead");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_number(j, "per_run_ns", overhead >= 0 ? (double)overhead : (double)NAN, 0);
    cm_json_key_number(j, "share", an_summary_overhead_share(s), 9);
    cm_json_end(j);
    cm_json_key(j, "sessions");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < s->session_count; i++)
        if (is_shown(&s->sessions[i], limits))
            json_session(j, s, &s->sessions[i], limits);
    cm_json_end(j);
    vw_shared_arenas_json(j, s);
    vw_counters_json(j, s, grams_per_kwh);
    vw_threads_json(j, s, limits->threads);
    json_messages(j, s);
    cm_json_key(j, "ort_events");
    cm_json_uint(j, s->ort_events);
    cm_json_end(j);
}

// --------------------------------------------------------------------------------------------- CSV

static void csv_number(cm_out *out, double value, int decimals)
{
    char text[360] = "";
    if (an_known(value))
        cm_format_number(text, sizeof text, value, decimals);
    cm_csv_text(out, text, false);
}

static void csv_session(cm_out *out, const an_session *n)
{
    const cm_histogram *h = &n->latency;
    cm_out_printf(out, "%lld", (long long)n->id);
    cm_csv_text(out, n->model, false);
    cm_csv_text(out, n->providers, false);
    csv_number(out, an_session_load_ns(n) / 1e6, 6);
    cm_out_printf(out, ",%llu,%llu", (unsigned long long)n->runs,
                  (unsigned long long)n->failed_runs);
    csv_number(out, an_session_throughput(n), 3);
    csv_number(out, of_runs(h, (double)h->min), 3);
    csv_number(out, of_runs(h, h->mean), 3);
    csv_number(out, us(an_session_stddev_ns(n)), 3);
    for (size_t i = 0; i < PERCENTILE_COUNT; i++) {
        uint64_t value = cm_histogram_percentile(h, percentiles[i].millionths);
        csv_number(out, of_runs(h, (double)value), 3);
    }
    csv_number(out, of_runs(h, (double)h->max), 3);
    csv_number(out, us(an_session_first_ns(n)), 3);
    csv_number(out, us(an_session_jitter_ns(n)), 3);
    cm_out_char(out, '\n');
}

void vw_summary_csv(vw_io *io, const an_summary *s)
{
    cm_out_text(&io->out, "session,model,providers,load_ms,runs,failed_runs,throughput_per_s,"
                          "min_us,mean_us,stddev_us,p50_us,p90_us,p95_us,p99_us,p99_9_us,max_us,"
                          "first_us,jitter_us\n");
    for (size_t i = 0; i < s->session_count; i++)
        if (!vw_session_failed(&s->sessions[i]))
            csv_session(&io->out, &s->sessions[i]);
}
