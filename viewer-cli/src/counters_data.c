// SPDX-License-Identifier: MIT
// The counters' part of `ortscope summary --json`: process, devices, energy.
#include "analysis/devices.h"
#include "common/json.h"
#include "summary_view.h"

#include <math.h>

// Null where the device does not tell.
static void json_throttling(cm_json *j, const an_counter *throttle)
{
    cm_json_key(j, "throttled_by");
    if (!throttle) {
        cm_json_null(j);
        return;
    }
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    for (unsigned bit = 0; bit < AN_THROTTLE_BITS; bit++)
        if ((throttle->bits >> bit & 1) && an_throttle_name(bit))
            cm_json_string(j, an_throttle_name(bit));
    cm_json_end(j);
}

static void json_zones(cm_json *j, const an_counters *c)
{
    an_zone zones[AN_MAX_ZONES];
    size_t count = an_zones(c, zones, AN_MAX_ZONES);
    cm_json_key(j, "heat");
    cm_json_begin_array(j, count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; i < count; i++) {
        const an_zone *z = &zones[i];
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_string(j, "source", z->source);
        cm_json_key_string(j, "zone", z->name);
        cm_json_key_number(j, "temperature_max_c", an_counter_max(z->temperature), 2);
        cm_json_key_number(j, "passive_limit_min_percent", an_counter_min(z->limit), 2);
        cm_json_key_number(j, "throttle_reasons",
                           z->throttle ? (double)z->throttle->bits : (double)NAN, 0);
        cm_json_end(j);
    }
    cm_json_end(j);
}

// A device that is measured, with what the machine tells of it.
static void json_device(cm_json *j, const an_machine *m, const an_accelerator *devices, size_t at)
{
    const an_accelerator *d = &devices[at];
    int64_t number = an_machine_device(m, devices, at);
    const char *about = d->is_npu ? "npu" : "gpu";
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_string(j, "source", d->source);
    cm_json_key_string(j, "kind", d->is_npu ? "npu" : "gpu");
    cm_json_key_string(j, "name", d->name);
    cm_json_key_string(j, "model", number < 0 ? NULL : an_machine_text(m, about, number, "name"));
    cm_json_key_string(j, "driver",
                       number < 0 ? NULL : an_machine_text(m, about, number, "driver"));
    cm_json_key_number(j, "utilization_percent", an_counter_mean_or_nan(d->utilization), 2);
    cm_json_key_number(j, "utilization_max_percent", an_counter_max(d->utilization), 2);
    cm_json_key_number(j, "memory_peak_bytes", an_counter_max(d->memory), 0);
    cm_json_key_number(j, "memory_total_bytes", an_counter_max(d->memory_total), 0);
    cm_json_key_number(j, "power_w", an_counter_mean_or_nan(d->power), 3);
    cm_json_key_number(j, "power_max_w", an_counter_max(d->power), 3);
    cm_json_key_number(j, "temperature_max_c", an_counter_max(d->temperature), 1);
    json_throttling(j, d->throttle);
    cm_json_end(j);
}

// Runs and joules of one meter: all that it saw, by all runs that ended well.
static void json_meter(cm_json *j, const an_meter *m, const an_summary *s, double grams_per_kwh)
{
    double runs = vw_successful_runs(s);
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_string(j, "source", m->source);
    cm_json_key_string(j, "meter", m->name);
    cm_json_key(j, "integrated_from_power");
    cm_json_bool(j, m->integrated);
    cm_json_key_number(j, "seconds", m->seconds, 3);
    cm_json_key_number(j, "joules", m->joules, 6);
    cm_json_key_number(j, "joules_per_run", runs > 0 ? m->joules / runs : (double)NAN, 9);
    cm_json_key_number(j, "runs_per_joule", runs > 0 ? runs / m->joules : (double)NAN, 6);
    cm_json_key_number(j, "flop_per_joule", s->flops / m->joules, 0);
    cm_json_key_number(j, "co2_g", m->joules / 3.6e6 * grams_per_kwh, 9);
    cm_json_end(j);
}

// Totals count from the first packet on, so that the last value is all of it.
static void json_gpu_use(cm_json *j, const an_counters *c)
{
    static an_gpu_use uses[AN_MAX_GPU_USES];
    size_t count = an_gpu_uses(c, uses, AN_MAX_GPU_USES);
    cm_json_key(j, "gpu_use");
    cm_json_begin_array(j, count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; i < count; i++) {
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key(j, "process");
        cm_json_int(j, uses[i].process);
        cm_json_key_number(j, "packets", an_counter_max(uses[i].packets), 0);
        cm_json_key_number(j, "queued_s", an_counter_max(uses[i].queued), 9);
        cm_json_key_number(j, "engine_s", an_counter_max(uses[i].engine), 9);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void json_measurement(cm_json *j, const an_counter *n)
{
    double sum = n->per_unit > 0 ? n->sum / (double)n->per_unit : (double)NAN;
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_string(j, "source", n->source);
    cm_json_key(j, "process");
    cm_json_int(j, n->process);
    cm_json_key_string(j, "what", n->subject);
    cm_json_key_string(j, "unit", n->unit);
    cm_json_key(j, "count");
    cm_json_uint(j, n->samples);
    cm_json_key_number(j, "sum", sum, 9);
    cm_json_key_number(j, "mean", sum / (double)n->samples, 9);
    cm_json_key_number(j, "min", an_counter_min(n), 9);
    cm_json_key_number(j, "max", an_counter_max(n), 9);
    cm_json_end(j);
}

static void json_measurements(cm_json *j, const an_counters *c)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++)
        count += an_is_measurement(&c->items[i]);
    cm_json_key(j, "npu_measurements");
    cm_json_begin_array(j, count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; i < c->count; i++)
        if (an_is_measurement(&c->items[i]))
            json_measurement(j, &c->items[i]);
    cm_json_end(j);
}

double vw_successful_runs(const an_summary *s)
{
    double runs = 0;
    for (size_t i = 0; i < s->session_count; i++)
        runs += (double)s->sessions[i].latency.count;
    return runs;
}

void vw_counters_json(cm_json *j, const an_summary *s, double grams_per_kwh)
{
    an_accelerator devices[AN_MAX_DEVICES];
    an_meter meters[AN_MAX_METERS];
    size_t device_count = an_accelerators(&s->counters, devices, AN_MAX_DEVICES);
    size_t meter_count = an_meters(&s->counters, meters, AN_MAX_METERS);
    cm_json_key(j, "process");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_number(j, "cpu_percent", an_summary_cpu(s) * 100, 2);
    cm_json_key_number(j, "peak_rss_bytes", an_summary_peak_memory(s), 0);
    cm_json_end(j);
    cm_json_key(j, "devices");
    cm_json_begin_array(j, device_count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; i < device_count; i++)
        json_device(j, &s->machine, devices, i);
    cm_json_end(j);
    cm_json_key(j, "energy");
    cm_json_begin_array(j, meter_count ? CM_JSON_INDENTED : CM_JSON_ONE_LINE);
    for (size_t i = 0; i < meter_count; i++)
        json_meter(j, &meters[i], s, grams_per_kwh);
    cm_json_end(j);
    json_zones(j, &s->counters);
    json_gpu_use(j, &s->counters);
    json_measurements(j, &s->counters);
}
