// SPDX-License-Identifier: MIT
// The counters' part of `ortscope summary` for people.
#include "analysis/devices.h"
#include "common/text.h"
#include "summary_view.h"

#include <string.h>

#define DEVICE_LINES 8 // of each; --json tells all

static void write_process(vw_io *io, const an_summary *s)
{
    double cpu = an_summary_cpu(s), peak = an_summary_peak_memory(s);
    char text[32];
    if (!an_known(cpu) && !an_known(peak))
        return;
    cm_out_text(&io->out, "The process ");
    if (an_known(cpu)) {
        cm_format_number(text, sizeof text, cpu * 100, 1);
        cm_out_printf(&io->out, "used %s %% of a core", text);
    }
    if (an_known(peak)) {
        cm_format_bytes(text, sizeof text, (uint64_t)(peak > 0 ? peak : 0));
        cm_out_printf(&io->out, "%s at most %s of memory", an_known(cpu) ? " and" : "used", text);
    }
    cm_out_char(&io->out, '\n');
}

// Less often than asked is nothing to hide, where it is much less.
static void write_slowed(vw_io *io, const an_counters *c)
{
    const char *separator = "Counters, to keep within --max-overhead: ";
    bool any = false;
    for (size_t i = 0; i < c->source_count; i++) {
        const an_sampling *n = &c->sources[i];
        double pace = an_sampling_pace(n);
        if (!n->slowed || !(pace < 0.5))
            continue;
        double wished = 1e6 / (double)n->asked_us;
        vw_style_on(io, VW_DIM);
        cm_out_text(&io->out, separator);
        cm_text_clean(&io->out, n->source, 20);
        cm_out_printf(&io->out, " %.2g/s of %.4g/s", wished * pace, wished);
        vw_style_off(io, VW_DIM);
        separator = ", ";
        any = true;
    }
    if (any)
        cm_out_char(&io->out, '\n');
}

static void write_throttling(vw_io *io, const an_accelerator *d)
{
    bool any = false;
    for (unsigned bit = 0; d->throttle && bit < AN_THROTTLE_BITS; bit++) {
        const char *name = d->throttle->bits >> bit & 1 ? an_throttle_name(bit) : NULL;
        if (!name)
            continue;
        cm_out_printf(&io->out, "%s%s", any ? ", " : ", throttled by ", name);
        any = true;
    }
}

static void write_source(vw_io *io, const char *source)
{
    cm_out_text(&io->out, " (");
    cm_text_clean(&io->out, source, 32);
    cm_out_text(&io->out, ")\n");
}

static void write_device(vw_io *io, const an_machine *m, const an_accelerator *devices, size_t at)
{
    const an_accelerator *d = &devices[at];
    int64_t number = an_machine_device(m, devices, at);
    const char *model =
        number < 0 ? NULL : an_machine_text(m, d->is_npu ? "npu" : "gpu", number, "name");
    double use = an_counter_mean_or_nan(d->utilization), memory = an_counter_max(d->memory);
    double power = an_counter_mean_or_nan(d->power);
    char text[32];
    cm_out_text(&io->out, d->is_npu ? "NPU " : "GPU ");
    cm_text_clean(&io->out, model ? model : d->name, 48);
    const char *separator = ": ";
    if (an_known(use)) {
        cm_out_printf(&io->out, "%s%.1f %% busy", separator, use);
        separator = ", ";
    }
    if (an_known(memory)) {
        cm_format_bytes(text, sizeof text, (uint64_t)(memory > 0 ? memory : 0));
        cm_out_printf(&io->out, "%sat most %s of memory", separator, text);
        separator = ", ";
    }
    if (an_known(power))
        cm_out_printf(&io->out, "%s%.1f W", separator, power);
    write_throttling(io, d);
    write_source(io, d->source);
}

static void write_meter(vw_io *io, const an_meter *m, const an_summary *s, double grams_per_kwh)
{
    double runs = vw_successful_runs(s);
    char text[32];
    cm_format_number(text, sizeof text, m->joules, 3);
    cm_out_text(&io->out, "Energy by ");
    cm_text_clean(&io->out, m->source, 32);
    cm_out_char(&io->out, ' ');
    cm_text_clean(&io->out, m->name, 48);
    cm_out_printf(&io->out, ": %s J", text);
    if (runs > 0)
        cm_out_printf(&io->out, ", %.4g J a run, %.4g runs a joule", m->joules / runs,
                      runs / m->joules);
    if (an_known(s->flops))
        cm_out_printf(&io->out, ", %.4g GFLOP a joule", s->flops / m->joules / 1e9);
    if (an_known(grams_per_kwh))
        cm_out_printf(&io->out, ", %.4g g of CO2", m->joules / 3.6e6 * grams_per_kwh);
    cm_out_char(&io->out, '\n');
}

// Only of zones that held the machine back; --json tells all.
static void write_zone(vw_io *io, const an_zone *z)
{
    double limit = an_counter_min(z->limit), degrees = an_counter_max(z->temperature);
    bool throttled = z->throttle && z->throttle->bits;
    if (!throttled && !(limit < 100))
        return;
    vw_styled(io, VW_WARN, "Throttled");
    cm_out_text(&io->out, " by thermal zone ");
    cm_text_clean(&io->out, z->name, 48);
    if (limit < 100)
        cm_out_printf(&io->out, " to %.0f %%", limit);
    if (an_known(degrees))
        cm_out_printf(&io->out, ", at most %.1f degC", degrees);
    write_source(io, z->source);
}

static void write_gpu_use(vw_io *io, const an_summary *s)
{
    static an_gpu_use uses[DEVICE_LINES];
    size_t count = an_gpu_uses(&s->counters, uses, DEVICE_LINES);
    for (size_t i = 0; i < count; i++) {
        double queued = an_counter_max(uses[i].queued), engine = an_counter_max(uses[i].engine);
        char text[32];
        cm_out_printf(&io->out, "GPU packets of process %lld: %.0f", (long long)uses[i].process,
                      an_counter_max(uses[i].packets));
        if (engine > 0) {
            cm_format_ns(text, sizeof text, engine * 1e9);
            cm_out_printf(&io->out, ", engines worked %s at them", text);
        }
        if (queued > 0) {
            cm_format_ns(text, sizeof text, queued * 1e9);
            cm_out_printf(&io->out, ", %s from queueing to the end, in all", text);
        }
        cm_out_text(&io->out, " (etw)\n");
    }
}

// A value in the measurement's own unit.
static void write_value(vw_io *io, const an_counter *n, double value)
{
    char text[32];
    uint64_t whole = value > 0 && value < 1e18 ? (uint64_t)(value + 0.5) : 0;
    if (strcmp(n->unit, "s") == 0 && value >= 0 && value < 1e9)
        cm_format_ns(text, sizeof text, value * 1e9);
    else if (strcmp(n->unit, "B") == 0)
        cm_format_bytes(text, sizeof text, whole);
    else if (value >= 0)
        cm_format_count(text, sizeof text, whole);
    else
        cm_format_number(text, sizeof text, value, 0);
    cm_out_text(&io->out, text);
    if (strcmp(n->unit, "cycles") == 0)
        cm_out_text(&io->out, " cycles");
}

static void write_measurements(vw_io *io, const an_counters *c)
{
    size_t shown = 0, more = 0;
    for (size_t i = 0; i < c->count; i++) {
        const an_counter *n = &c->items[i];
        if (!an_is_measurement(n) || n->per_unit <= 0)
            continue;
        if (shown == DEVICE_LINES) {
            more++;
            continue;
        }
        shown++;
        cm_out_text(&io->out, "NPU ");
        cm_text_clean(&io->out, n->subject, 48);
        cm_out_text(&io->out, ": ");
        write_value(io, n, n->sum / (double)n->samples / (double)n->per_unit);
        if (n->samples > 1) {
            char times[32];
            cm_format_count(times, sizeof times, n->samples);
            cm_out_printf(&io->out, " in the mean of %s, at most ", times);
            write_value(io, n, an_counter_max(n));
        }
        cm_out_printf(&io->out, " (%s)\n", n->source);
    }
    if (more)
        cm_out_printf(&io->out, "and %zu more measurements; --json has them all\n", more);
}

void vw_counters_text(vw_io *io, const an_summary *s, double grams_per_kwh)
{
    an_accelerator devices[DEVICE_LINES];
    an_meter meters[DEVICE_LINES];
    size_t device_count = an_accelerators(&s->counters, devices, DEVICE_LINES);
    size_t meter_count = an_meters(&s->counters, meters, DEVICE_LINES);
    an_zone zones[DEVICE_LINES];
    size_t zone_count = an_zones(&s->counters, zones, DEVICE_LINES);
    write_process(io, s);
    for (size_t i = 0; i < device_count; i++)
        write_device(io, &s->machine, devices, i);
    write_gpu_use(io, s);
    write_measurements(io, &s->counters);
    for (size_t i = 0; i < meter_count; i++)
        write_meter(io, &meters[i], s, grams_per_kwh);
    for (size_t i = 0; i < zone_count; i++)
        write_zone(io, &zones[i]);
    write_slowed(io, &s->counters);
}
