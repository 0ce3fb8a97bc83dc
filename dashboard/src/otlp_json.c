// SPDX-License-Identifier: MIT
// ExportMetricsServiceRequest as JSON:
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding Names in lowerCamelCase, 64-bit
// numbers as texts, enumerations as numbers.
#include "otlp_json.h"

#include "common/os.h"
#include "metric_list.h"
#include "view_keys.h"

#include <stdio.h>

#define CUMULATIVE 2

typedef struct writer {
    cm_json *j;
    uint64_t now_utc_ns;
} writer;

static void key_int64(cm_json *j, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    da_key_text(j, key, text);
}

static void attribute(cm_json *j, const char *key, const char *text)
{
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_text(j, "key", key);
    da_key_object(j, "value");
    da_key_text(j, "stringValue", text);
    cm_json_end(j);
    cm_json_end(j);
}

static void begin(void *context, const da_metric *m)
{
    static const char *const kinds[] = {[DA_METRIC_COUNTER] = "sum",
                                        [DA_METRIC_GAUGE] = "gauge",
                                        [DA_METRIC_HISTOGRAM] = "histogram"};
    cm_json *j = ((writer *)context)->j;
    char name[80];
    snprintf(name, sizeof name, "ortscope.%s", m->name);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_text(j, "name", name);
    da_key_text(j, "description", m->help);
    if (m->unit[0])
        da_key_text(j, "unit", m->unit);
    da_key_object(j, kinds[m->type]);
    if (m->type != DA_METRIC_GAUGE)
        da_key_int(j, "aggregationTemporality", CUMULATIVE);
    if (m->type == DA_METRIC_COUNTER)
        da_key_bool(j, "isMonotonic", true);
    da_key_array(j, "dataPoints");
}

static void histogram(cm_json *j, const da_metric *m, const da_point *p)
{
    char count[24];
    key_int64(j, "count", p->count);
    da_key_number(j, "sum", p->value, m->decimals);
    da_key_array(j, "bucketCounts");
    for (size_t i = 0; i <= DA_DURATION_BOUNDS; i++) {
        snprintf(count, sizeof count, "%llu", (unsigned long long)p->buckets[i]);
        cm_json_string(j, count);
    }
    cm_json_end(j);
    da_key_array(j, "explicitBounds");
    for (size_t i = 0; i < DA_DURATION_BOUNDS; i++)
        cm_json_number(j, da_seconds(da_duration_bounds_ns[i]), 9);
    cm_json_end(j);
}

static void point(void *context, const da_metric *m, const da_point *p)
{
    const writer *w = context;
    cm_json *j = w->j;
    char whole[40];
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_array(j, "attributes");
    for (size_t i = 0; i < p->label_count; i++)
        attribute(j, p->labels[i].name, p->labels[i].text);
    cm_json_end(j);
    if (m->type != DA_METRIC_GAUGE && p->since_utc_ns)
        key_int64(j, "startTimeUnixNano", p->since_utc_ns);
    key_int64(j, "timeUnixNano", w->now_utc_ns);
    if (m->type == DA_METRIC_HISTOGRAM) {
        histogram(j, m, p);
    } else if (m->decimals == 0 && p->value > -9e18 && p->value < 9e18) {
        snprintf(whole, sizeof whole, "%.0f", p->value);
        da_key_text(j, "asInt", whole);
    } else {
        da_key_number(j, "asDouble", p->value, m->decimals);
    }
    cm_json_end(j);
}

static void end(void *context, const da_metric *m)
{
    cm_json *j = ((writer *)context)->j;
    (void)m;
    cm_json_end(j);
    cm_json_end(j);
    cm_json_end(j);
}

static void resource(cm_json *j, const da_otlp_resource *r)
{
    char pid[24], instance[300];
    snprintf(pid, sizeof pid, "%u", r->pid);
    snprintf(instance, sizeof instance, "%s:%u", r->host, r->pid);
    da_key_object(j, "resource");
    da_key_array(j, "attributes");
    attribute(j, "service.name", "ortscope");
    attribute(j, "service.version", ORTSCOPE_VERSION);
    attribute(j, "service.instance.id", instance);
    attribute(j, "host.name", r->host);
    attribute(j, "os.type", r->os);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_text(j, "key", "process.pid");
    da_key_object(j, "value");
    da_key_text(j, "intValue", pid);
    cm_json_end(j);
    cm_json_end(j);
    cm_json_end(j);
    cm_json_end(j);
}

void da_write_otlp(da_core *core, const da_otlp_resource *r, cm_out *out)
{
    cm_json json, *j = &json;
    writer w = {j, cm_utc_ns()};
    cm_json_init(j, out);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_array(j, "resourceMetrics");
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    resource(j, r);
    da_key_array(j, "scopeMetrics");
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_object(j, "scope");
    da_key_text(j, "name", "ortscope");
    da_key_text(j, "version", ORTSCOPE_VERSION);
    cm_json_end(j);
    da_key_array(j, "metrics");
    da_metrics_tell(core, &(da_metric_writer){&w, begin, point, end});
    for (int i = 0; i < 6; i++)
        cm_json_end(j);
}
