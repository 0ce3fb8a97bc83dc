// SPDX-License-Identifier: MIT
// Prometheus' text format, version 0.0.4:
// https://prometheus.io/docs/instrumenting/exposition_formats/ All series of a metric stand
// together, behind its help and type.
#include "metric_list.h"

#include <stdio.h>

static void put_labels(cm_out *out, const da_point *p, const char *le)
{
    cm_out_char(out, '{');
    for (size_t i = 0; i < p->label_count; i++) {
        cm_out_printf(out, "%s%s=\"", i ? "," : "", p->labels[i].name);
        for (const char *c = p->labels[i].text; *c; c++) {
            if (*c == '\\' || *c == '"')
                cm_out_char(out, '\\');
            if (*c == '\n')
                cm_out_text(out, "\\n");
            else
                cm_out_char(out, *c);
        }
        cm_out_char(out, '"');
    }
    if (le)
        cm_out_printf(out, "%sle=\"%s\"", p->label_count ? "," : "", le);
    cm_out_text(out, "} ");
}

static void put_histogram(cm_out *out, const char *name, const da_point *p, int decimals)
{
    uint64_t sum = 0;
    char bound[32];
    for (size_t i = 0; i <= DA_DURATION_BOUNDS; i++) {
        sum += p->buckets[i];
        snprintf(bound, sizeof bound, "%g",
                 i < DA_DURATION_BOUNDS ? (double)da_duration_bounds_ns[i] / 1e9 : 0);
        cm_out_printf(out, "%s_bucket", name);
        put_labels(out, p, i < DA_DURATION_BOUNDS ? bound : "+Inf");
        cm_out_printf(out, "%llu\n", (unsigned long long)sum);
    }
    cm_out_printf(out, "%s_sum", name);
    put_labels(out, p, NULL);
    cm_out_printf(out, "%.*f\n%s_count", decimals, p->value, name);
    put_labels(out, p, NULL);
    cm_out_printf(out, "%llu\n", (unsigned long long)p->count);
}

static void begin(void *context, const da_metric *m)
{
    static const char *const types[] = {[DA_METRIC_COUNTER] = "counter",
                                        [DA_METRIC_GAUGE] = "gauge",
                                        [DA_METRIC_HISTOGRAM] = "histogram"};
    char name[80];
    da_metric_prometheus_name(m, name, sizeof name);
    cm_out_printf(context, "# HELP %s %s\n# TYPE %s %s\n", name, m->help, name, types[m->type]);
}

static void point(void *context, const da_metric *m, const da_point *p)
{
    char name[80];
    da_metric_prometheus_name(m, name, sizeof name);
    if (m->type == DA_METRIC_HISTOGRAM) {
        put_histogram(context, name, p, m->decimals);
        return;
    }
    cm_out_text(context, name);
    put_labels(context, p, NULL);
    cm_out_printf(context, "%.*f\n", m->decimals, p->value);
}

static void end(void *context, const da_metric *m)
{
    (void)context;
    (void)m;
}

void da_write_prometheus(da_core *core, cm_out *out)
{
    da_metrics_tell(core, &(da_metric_writer){out, begin, point, end});
}
