// SPDX-License-Identifier: MIT
// Prometheus' text format, version 0.0.4:
// https://prometheus.io/docs/instrumenting/exposition_formats/ All series of a metric stand
// together, behind its help and type; units are seconds and bytes.
#include "handle.h"
#include "view_keys.h"

#include <stdio.h>
#include <string.h>

typedef struct writer {
    cm_out *out;
    da_core *core;
} writer;

static void label(cm_out *out, const char *name, const char *text, bool first)
{
    cm_out_printf(out, "%s%s=\"", first ? "" : ",", name);
    for (const char *c = text ? text : ""; *c; c++) {
        if (*c == '\\' || *c == '"')
            cm_out_char(out, '\\');
        if (*c == '\n')
            cm_out_text(out, "\\n");
        else
            cm_out_char(out, *c);
    }
    cm_out_char(out, '"');
}

static void number_label(cm_out *out, const char *name, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    label(out, name, text, false);
}

static void session_labels(cm_out *out, const da_live *l, uint32_t capture, const da_session *s)
{
    char text[16];
    snprintf(text, sizeof text, "%u", capture);
    label(out, "capture", text, true);
    number_label(out, "session", s->id);
    label(out, "model", da_file_name(da_text(l, s->facts[TM_session_model])), false);
}

static void head(cm_out *out, const char *name, const char *type, const char *help)
{
    cm_out_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

// ---------------------------------------------------------------------------------------- sessions

typedef enum figure { RUNS, FAILED, IN_FLIGHT, HELD, IN_USE } figure;

static double figure_of(const da_session *s, figure f)
{
    int64_t bytes = f == HELD ? da_session_held(s) : f == IN_USE ? da_session_in_use(s) : 0;
    switch (f) {
    case RUNS:
        return (double)s->runs;
    case FAILED:
        return (double)s->failed;
    case IN_FLIGHT:
        return (double)s->in_flight;
    default:
        return bytes >= 0 ? (double)bytes : DA_NONE;
    }
}

static void session_figures(const writer *w, figure f, const char *name, const char *type,
                            const char *help)
{
    uint32_t number = 0;
    head(w->out, name, type, help);
    for (da_live *l; (l = da_core_next(w->core, &number).live);) {
        da_lock(l);
        for (size_t k = 0; k < l->session_count; k++) {
            double value = figure_of(l->sessions[k], f);
            if (!da_known(value))
                continue;
            cm_out_printf(w->out, "%s{", name);
            session_labels(w->out, l, number, l->sessions[k]);
            cm_out_printf(w->out, "} %.0f\n", value);
        }
        da_unlock(l);
    }
}

// 1, 2, 5 in each power of ten from 10 us to 100 s.
static const double bounds_s[] = {0.00001, 0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002,
                                  0.005,   0.01,    0.02,    0.05,   0.1,    0.2,    0.5,   1,
                                  2,       5,       10,      20,     50,     100};

static void one_histogram(cm_out *out, const da_live *l, uint32_t capture, const da_session *s,
                          const char *name)
{
    uint64_t sum = 0, from = 0;
    for (size_t i = 0; i < sizeof bounds_s / sizeof *bounds_s; i++) {
        uint64_t to = (uint64_t)(bounds_s[i] * 1e9 + 0.5) + 1; // the bound itself belongs to it
        sum += cm_histogram_count_between(&s->latencies, from, to);
        from = to;
        cm_out_printf(out, "%s_bucket{", name);
        session_labels(out, l, capture, s);
        cm_out_printf(out, ",le=\"%g\"} %llu\n", bounds_s[i], (unsigned long long)sum);
    }
    cm_out_printf(out, "%s_bucket{", name);
    session_labels(out, l, capture, s);
    cm_out_printf(out, ",le=\"+Inf\"} %llu\n%s_sum{", (unsigned long long)s->latencies.count, name);
    session_labels(out, l, capture, s);
    cm_out_printf(out, "} %.9f\n%s_count{", (double)s->latencies.sum / 1e9, name);
    session_labels(out, l, capture, s);
    cm_out_printf(out, "} %llu\n", (unsigned long long)s->latencies.count);
}

static void histograms(const writer *w)
{
    static const char name[] = "ortscope_run_duration_seconds";
    uint32_t number = 0;
    head(w->out, name, "histogram", "How long runs of the session took that did not fail.");
    for (da_live *l; (l = da_core_next(w->core, &number).live);) {
        da_lock(l);
        for (size_t k = 0; k < l->session_count; k++)
            one_histogram(w->out, l, number, l->sessions[k], name);
        da_unlock(l);
    }
}

// --------------------------------------------------------------------------- captures and
// processes

typedef enum of_capture { LOST, DROPPED, RECORDING } of_capture;

static void capture_figures(const writer *w, of_capture f, const char *name, const char *type,
                            const char *help)
{
    uint32_t number = 0;
    head(w->out, name, type, help);
    for (da_live *l; (l = da_core_next(w->core, &number).live);) {
        da_lock(l);
        double value = f == LOST      ? (double)l->lost
                       : f == DROPPED ? (double)(l->dropped + l->no_room)
                                      : l->state != DA_ENDED;
        da_unlock(l);
        cm_out_printf(w->out, "%s{capture=\"%u\"} %.0f\n", name, number, value);
    }
}

static void process_figures(const writer *w, const char *counter, const char *name,
                            const char *type, const char *help)
{
    uint32_t number = 0;
    head(w->out, name, type, help);
    for (da_live *l; (l = da_core_next(w->core, &number).live);) {
        da_lock(l);
        for (size_t k = 0; k < l->process_count; k++) {
            const da_process *p = &l->processes[k];
            double value = da_counter_now(da_counter_find(l, counter, DA_PROCESS, p->id, -1));
            if (strcmp(counter, "cpu_user") == 0)
                value += da_counter_now(da_counter_find(l, "cpu_kernel", DA_PROCESS, p->id, -1));
            if (p->ended || !da_known(value))
                continue;
            cm_out_printf(w->out, "%s{capture=\"%u\",pid=\"%lld\"", name, number,
                          (long long)p->pid);
            label(w->out, "program", da_file_name(da_text(l, p->program)), false);
            cm_out_printf(w->out, "} %.6f\n", value);
        }
        da_unlock(l);
    }
}

void da_write_prometheus(da_core *core, cm_out *out)
{
    const writer w = {out, core};
    session_figures(&w, RUNS, "ortscope_runs_total", "counter", "Runs of the session.");
    session_figures(&w, FAILED, "ortscope_failed_runs_total", "counter",
                    "Runs that ended with an error.");
    session_figures(&w, IN_FLIGHT, "ortscope_runs_in_flight", "gauge",
                    "Runs under way when the newest one began, itself included.");
    session_figures(&w, HELD, "ortscope_arena_held_bytes", "gauge",
                    "What the session's arenas hold.");
    session_figures(&w, IN_USE, "ortscope_arena_in_use_bytes", "gauge", "What of it is in use.");
    histograms(&w);
    process_figures(&w, "cpu_user", "ortscope_process_cpu_seconds_total", "counter",
                    "Processor time of the process.");
    process_figures(&w, "working_set", "ortscope_process_working_set_bytes", "gauge",
                    "Memory of the process in RAM.");
    capture_figures(&w, LOST, "ortscope_lost_events_total", "counter",
                    "Events that are missing in the recording.");
    capture_figures(&w, DROPPED, "ortscope_dropped_rows_total", "counter",
                    "Rows that are missing in the live figures only.");
    capture_figures(&w, RECORDING, "ortscope_recording", "gauge", "1 while the capture goes on.");
}
