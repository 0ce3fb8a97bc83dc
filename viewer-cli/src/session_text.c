// SPDX-License-Identifier: MIT
// One session of `ortscope summary` in full: facts, latencies, bars, batches, shapes, failures.
#include "analysis/names.h"
#include "around_view.h"
#include "common/text.h"
#include "op_view.h"
#include "outlier_view.h"
#include "summary_view.h"
#include "table.h"

#include <math.h>
#include <string.h>

#define SHAPE_ROWS   5
#define BATCH_ROWS   10
#define FAILURE_ROWS 3

static void write_title(vw_io *io, const an_session *n)
{
    cm_out *out = &io->out;
    char size[32];
    cm_out_char(out, '\n');
    vw_style_on(io, VW_BOLD);
    cm_out_printf(out, "Session %lld", (long long)n->id);
    vw_style_off(io, VW_BOLD);
    cm_out_text(out, "  ");
    if (n->model[0]) {
        cm_text_clean(out, n->model, io->width - 16);
    } else if (n->model_bytes > 0) {
        cm_format_bytes(size, sizeof size, (uint64_t)n->model_bytes);
        cm_out_printf(out, "model of %s given as bytes", size);
    } else {
        cm_out_text(out, "model not known");
    }
    if (!n->model[0] && n->graph[0]) {
        cm_out_text(out, ", graph ");
        cm_text_clean(out, n->graph, 40);
    }
    cm_out_char(out, '\n');
}

// "DmlExecutionProvider,CPUExecutionProvider" as "on Dml + CPU".
static void write_providers(cm_out *out, const char *providers)
{
    static const char suffix[] = "ExecutionProvider";
    const char *separator = "on ";
    while (*providers) {
        char name[64] = "";
        size_t len = strcspn(providers, ","), used = len < sizeof name ? len : sizeof name - 1;
        memcpy(name, providers, used);
        size_t suffix_len = sizeof suffix - 1;
        if (used > suffix_len && strcmp(name + used - suffix_len, suffix) == 0)
            name[used - suffix_len] = '\0';
        if (used) {
            cm_out_text(out, separator);
            cm_text_clean(out, name, 0);
            separator = " + ";
        }
        providers += len + (providers[len] == ',');
    }
}

static void write_facts(vw_io *io, const an_summary *s, const an_session *n)
{
    cm_out *out = &io->out;
    char text[32];
    const an_module *module = an_summary_module(s, n->module);
    cm_out_text(out, "  ");
    if (n->providers[0]) {
        write_providers(out, n->providers);
        cm_out_text(out, ", ");
    }
    if (s->module_count > 1 && module) {
        cm_out_text(out, "ONNX Runtime ");
        cm_text_clean(out, module->version, 20);
        cm_out_text(out, ", ");
    }
    if (n->source == 7) {
        cm_out_text(out, "existed before the attach, ");
    } else if (an_known(an_session_load_ns(n))) {
        cm_format_ns(text, sizeof text, (double)n->load_ns);
        cm_out_printf(out, "loaded in %s, ", text);
    }
    cm_format_count(text, sizeof text, n->runs);
    cm_out_printf(out, "%s run%s", text, n->runs == 1 ? "" : "s");
    if (n->failed_runs) {
        cm_format_count(text, sizeof text, n->failed_runs);
        cm_out_text(out, ", ");
        vw_style_on(io, VW_BAD);
        cm_out_printf(out, "%s failed", text);
        vw_style_off(io, VW_BAD);
    }
    double throughput = an_session_throughput(n);
    if (an_known(throughput) && n->latency.count > 1) {
        cm_format_number(text, sizeof text, throughput, throughput < 100 ? 2 : 0);
        cm_out_printf(out, ", %s/s", text);
    }
    if (n->in_flight_max > 1)
        cm_out_printf(out, ", up to %lld at once", (long long)n->in_flight_max);
    cm_out_char(out, '\n');
}

static void ns_cell(vw_table *t, double ns)
{
    char text[32] = "-";
    if (an_known(ns))
        cm_format_ns(text, sizeof text, ns);
    vw_table_text(t, text);
}

static void write_latency(vw_io *io, const an_session *n)
{
    static const vw_table_column columns[] = {
        {"min", true, 0}, {"p50", true, 0},   {"p90", true, 0}, {"p95", true, 0},
        {"p99", true, 0}, {"p99.9", true, 0}, {"max", true, 0}, {"mean", true, 0}};
    static const uint32_t percentiles[] = {500000, 900000, 950000, 990000, 999000};
    const cm_histogram *h = &n->latency;
    vw_table t;
    vw_table_begin(&t, io, "  ", columns, sizeof columns / sizeof *columns);
    ns_cell(&t, (double)h->min);
    for (size_t i = 0; i < sizeof percentiles / sizeof *percentiles; i++)
        ns_cell(&t, (double)cm_histogram_percentile(h, percentiles[i]));
    ns_cell(&t, (double)h->max);
    ns_cell(&t, h->mean);
    vw_table_end(&t);
}

static void write_spread(vw_io *io, const an_session *n)
{
    cm_out *out = &io->out;
    char text[32];
    const char *separator = "  ";
    double first = an_session_first_ns(n), median, stddev = an_session_stddev_ns(n);
    if (an_known(first)) {
        cm_format_ns(text, sizeof text, first);
        cm_out_printf(out, "%sfirst run %s", separator, text);
        median = (double)cm_histogram_percentile(&n->latency, 500000);
        if (n->latency.count > 1 && median > 0)
            cm_out_printf(out, " (%.1f x the median)", first / median);
        separator = ", ";
    }
    if (an_known(stddev)) {
        cm_format_ns(text, sizeof text, stddev);
        cm_out_printf(out, "%sstandard deviation %s", separator, text);
        separator = ", ";
    }
    if (an_known(an_session_jitter_ns(n))) {
        cm_format_ns(text, sizeof text, an_session_jitter_ns(n));
        cm_out_printf(out, "%sjitter %s", separator, text);
        separator = ", ";
    }
    if (separator[0] == ',')
        cm_out_char(out, '\n');
}

static void memory_cells(vw_table *t, const an_batch *b)
{
    double peak = an_batch_peak_bytes(b), samples = an_batch_samples_per_mb(b);
    vw_table_text(t, an_known(peak) ? vw_byte_text(peak).text : "-");
    if (an_known(samples))
        vw_table_cell(t, "%.3g", samples);
    else
        vw_table_text(t, "-");
}

static void write_batches(vw_io *io, const an_session *n)
{
    static const vw_table_column columns[] = {{"batch", true, 0},  {"runs", true, 0},
                                              {"p50", true, 0},    {"per sample", true, 0},
                                              {"memory", true, 0}, {"samples/MB", true, 0}};
    bool memory = false;
    if (n->batch_count < 2)
        return; // one size only: the shape says it
    for (size_t i = 0; i < n->batch_count; i++)
        memory = memory || n->batches[i].peak_bytes.count;
    vw_table t;
    char text[32];
    cm_out_char(&io->out, '\n');
    vw_table_begin(&t, io, "  ", columns, memory ? 6 : 4);
    for (size_t i = 0; i < n->batch_count && i < BATCH_ROWS; i++) {
        const an_batch *b = &n->batches[i];
        double p50 = (double)cm_histogram_percentile(&b->latency, 500000);
        vw_table_cell(&t, "%lld", (long long)b->size);
        cm_format_count(text, sizeof text, b->latency.count);
        vw_table_text(&t, text);
        ns_cell(&t, p50);
        ns_cell(&t, b->size > 0 ? p50 / (double)b->size : (double)NAN);
        if (memory)
            memory_cells(&t, b);
    }
    vw_table_end(&t);
    if (n->batch_count > BATCH_ROWS)
        cm_out_printf(&io->out, "  and %zu more batch sizes\n", n->batch_count - BATCH_ROWS);
}

static void write_shapes(vw_io *io, const an_summary *s, const an_session *n)
{
    static const vw_table_column columns[] = {
        {"runs", true, 0}, {"p50", true, 0}, {"inputs", false, 200}};
    if (n->shape_count == 0)
        return;
    vw_table t;
    cm_out inputs;
    char text[32];
    cm_out_init_memory(&inputs);
    cm_out_char(&io->out, '\n');
    vw_table_begin(&t, io, "  ", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < n->shape_count && i < SHAPE_ROWS; i++) {
        const an_shape_use *use = &n->shapes[i];
        const an_shape *shape = an_shapes_find(&s->shapes, use->shape);
        cm_out_clear(&inputs);
        if (shape)
            an_shape_text(&inputs, shape);
        else
            cm_out_text(&inputs, "not recorded");
        cm_format_count(text, sizeof text, use->latency.count);
        vw_table_text(&t, text);
        ns_cell(&t, (double)cm_histogram_percentile(&use->latency, 500000));
        vw_table_text(&t, cm_out_string(&inputs));
    }
    vw_table_end(&t);
    cm_out_deinit(&inputs);
    if (n->shape_count > SHAPE_ROWS)
        cm_out_printf(&io->out, "  and %zu more input shapes\n", n->shape_count - SHAPE_ROWS);
}

static void write_failures(vw_io *io, const an_summary *s, const an_session *n)
{
    char count[32], error[48];
    size_t shown = 0;
    uint64_t told = 0;
    for (size_t i = 0; i < s->message_count; i++) {
        const an_message *m = &s->messages[i];
        if (!m->of_runs || m->session != n->id)
            continue;
        if (shown++ >= FAILURE_ROWS)
            continue;
        told += m->count;
        cm_out_text(&io->out, shown == 1 ? "\n  " : "  ");
        cm_format_count(count, sizeof count, m->count);
        vw_style_on(io, VW_BAD);
        cm_out_printf(&io->out, "%s failed", count);
        vw_style_off(io, VW_BAD);
        an_ort_error_text(error, sizeof error, m->code);
        cm_out_printf(&io->out, " with %s, first in run %lld:\n    ", error,
                      (long long)m->first_run);
        cm_text_clean(&io->out, m->text, 300);
        cm_out_char(&io->out, '\n');
    }
    if (n->failed_runs > told) {
        cm_format_count(count, sizeof count, n->failed_runs - told);
        cm_out_printf(&io->out, "%s  %s%s failed; `ortscope runs --failed` lists them\n",
                      told ? "" : "\n", count, told ? " more" : "");
    }
}

void vw_session_text(vw_io *io, const an_summary *s, const an_session *n)
{
    write_title(io, n);
    write_facts(io, s, n);
    vw_session_loading_text(io, s, n);
    vw_session_memory_text(io, n);
    vw_session_machine_text(io, s, n);
    vw_session_flops_text(io, s, n);
    if (n->latency.count) {
        cm_out_char(&io->out, '\n');
        write_latency(io, n);
        write_spread(io, n);
        vw_session_course_text(io, n);
        vw_session_outliers_text(io, s, n);
        vw_latency_bars(io, &n->latency);
        vw_session_spark_text(io, n);
    }
    vw_session_ops_text(io, s, n);
    write_batches(io, n);
    write_shapes(io, s, n);
    write_failures(io, s, n);
}
