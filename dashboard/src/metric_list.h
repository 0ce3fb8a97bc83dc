// SPDX-License-Identifier: MIT
// The figures that other programs collect, once for every format: which metrics there are, and
// their points. Prometheus' text (prometheus.c) and OTLP (otlp_json.c) write what this tells, so
// that they can't differ.
#pragma once

#include "handle.h"
#include "live_state.h"

#define DA_LABELS     7u
#define DA_LABEL_LEN  255u                   // longer texts are cut
#define DA_LABEL_ROOM (3 * DA_LABEL_LEN + 1) // what is not UTF-8 becomes U+FFFD

typedef enum da_metric_type {
    DA_METRIC_COUNTER,
    DA_METRIC_GAUGE,
    DA_METRIC_HISTOGRAM
} da_metric_type;

// Name and unit are OpenTelemetry's: "run_duration" in "s". Prometheus' name has prefix, unit and
// _total around it, by the rules that OpenTelemetry's collector goes by:
// ortscope_run_duration_seconds.
typedef struct da_metric {
    const char *name;
    const char *unit; // UCUM; in braces: only a word for what is counted; "": none
    da_metric_type type;
    int decimals; // 0: whole numbers
    const char *help;
} da_metric;

typedef struct da_label {
    const char *name;
    char text[DA_LABEL_ROOM]; // UTF-8
} da_label;

typedef struct da_point {
    da_label labels[DA_LABELS];
    size_t label_count;
    uint64_t since_utc_ns; // that a counter counts from; 0: not known
    double value;
    // Of a histogram; `value` is the sum of what was counted.
    const uint64_t *buckets; // DA_DURATION_BOUNDS + 1, each for itself
    uint64_t count;
} da_point;

typedef struct da_metric_writer {
    void *context;
    void (*begin)(void *context, const da_metric *m); // a metric that has points
    void (*point)(void *context, const da_metric *m, const da_point *p);
    void (*end)(void *context, const da_metric *m);
} da_metric_writer;

// No two points of a metric have the same labels, whatever a file claims.
void da_metrics_tell(da_core *core, const da_metric_writer *w);

// "ortscope_process_cpu_seconds_total"
void da_metric_prometheus_name(const da_metric *m, char *out, size_t capacity);
