// SPDX-License-Identifier: MIT
// The machine around the runs of a session, and its FLOPs by energy (see around_view.h).
#include "analysis/devices.h"
#include "around_view.h"
#include "common/text.h"
#include "op_view.h"

#include <math.h>

// -------------------------------------------------------------------------------------------- text

// "93", "4.2", "0.1": enough to see what matters.
static void write_share(cm_out *out, const char *separator, const char *what, double share)
{
    double percent = share * 100;
    cm_out_printf(out, percent < 9.95 && percent > 0 ? "%s%s %.1f %%" : "%s%s %.0f %%", separator,
                  what, percent);
}

static void write_states(vw_io *io, const an_around *m, const an_around_session *s)
{
    cm_out *out = &io->out;
    char text[32];
    double unknown = an_around_share(s, s->unknown_ns);
    if (!s->covered)
        return;
    write_share(out, "  threads: ", "on CPU", an_around_share(s, s->on_cpu_ns));
    if (an_known(s->ready_ns))
        write_share(out, ", ", "ready", an_around_share(s, s->ready_ns));
    write_share(out, ", ", "preempted", an_around_share(s, s->preempted_ns));
    const char *by =
        s->preempted_by.count ? an_around_process_name(m, s->preempted_by.of[0].key) : "";
    if (by[0]) {
        cm_out_text(out, " (");
        cm_text_clean(out, by, 32);
        cm_out_text(out, s->preempted_by.count > 1 ? " and others)" : ")");
    }
    write_share(out, ", ", "waiting", an_around_share(s, s->waiting_ns));
    if (s->waits.count)
        cm_out_printf(out, " (%s)", an_wait_reason_name(s->waits.of[0].key));
    if (unknown > 0.0005)
        write_share(out, ", ", "not known", unknown);
    if (s->covered < s->runs) {
        cm_format_count(text, sizeof text, s->covered);
        cm_out_printf(out, "; known of %s of", text);
        cm_format_count(text, sizeof text, s->runs);
        cm_out_printf(out, " %s runs", text);
    }
    cm_out_char(out, '\n');
}

static void write_ns(cm_out *out, const char **separator, const char *what, double ns)
{
    char text[32];
    if (!an_known(ns))
        return;
    cm_format_ns(text, sizeof text, ns);
    cm_out_printf(out, "%s%s %s", *separator, what, text);
    *separator = ", ";
}

static void write_percent(cm_out *out, const char **separator, const char *what, double percent)
{
    if (!an_known(percent))
        return;
    cm_out_printf(out, "%s%s %.0f %%", *separator, what, percent);
    *separator = ", ";
}

static void write_around(vw_io *io, const an_around_session *s)
{
    cm_out *out = &io->out;
    const char *separator = "  around a run: ";
    double mhz = an_mean_of(s->clock_mhz), faults = an_mean_of(s->page_faults);
    double hard = an_mean_of(s->hard_faults), disk = an_mean_of(s->disk_transfers);
    write_percent(out, &separator, "clock", an_mean_of(s->clock_percent));
    if (an_known(mhz))
        cm_out_printf(out, " (%.0f MHz)", mhz);
    write_percent(out, &separator, "GPU", an_mean_of(s->gpu_percent));
    write_percent(out, &separator, "NPU", an_mean_of(s->npu_percent));
    write_percent(out, &separator, "process CPU", an_mean_of(s->process_cpu) * 100);
    if (an_known(faults) || an_known(hard)) {
        cm_out_printf(out, "%s%.3g %spage faults", separator, an_known(faults) ? faults : hard,
                      an_known(faults) ? "" : "hard ");
        if (an_known(faults) && an_known(hard))
            cm_out_printf(out, " (%.3g hard)", hard);
        if (s->fault_source == AN_FAULTS_COUNTERS)
            cm_out_text(out, " of the process");
        separator = ", ";
    }
    if (an_known(disk)) {
        cm_out_printf(out, "%s%.3g disk transfers", separator, disk);
        separator = ", ";
    }
    write_ns(out, &separator, "gap", an_mean_of(s->gap_ns));
    if (separator[0] == ',')
        cm_out_char(out, '\n');
}

void vw_session_machine_text(vw_io *io, const an_summary *s, const an_session *n)
{
    const an_around_session *m = an_around_of(s->around, n->id);
    if (!m)
        return;
    write_states(io, s->around, m);
    write_around(io, m);
}

// -------------------------------------------------------------------------------------------- JSON

static void json_slices(cm_json *j, const char *key, const an_around_session *m, const an_slices *s,
                        const an_around *names)
{
    cm_json_key(j, key);
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    for (size_t i = 0; i < s->count; i++) {
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        if (names)
            cm_json_key_text(j, "program", an_around_process_name(names, s->of[i].key));
        else
            cm_json_key_text(j, "reason", an_wait_reason_name(s->of[i].key));
        cm_json_key_number(j, "share", an_around_share(m, s->of[i].ns), 6);
        cm_json_end(j);
    }
    cm_json_end(j);
}

void vw_session_machine_json(cm_json *j, const an_summary *s, const an_session *n)
{
    static const an_around_session nobody = {0};
    const an_around_session *m = an_around_of(s->around, n->id);
    m = m ? m : &nobody;
    cm_json_key(j, "machine");
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_uint(j, "covered_runs", m->covered);
    cm_json_key_number(j, "on_cpu_share", an_around_share(m, m->on_cpu_ns), 6);
    cm_json_key_number(j, "ready_share", an_around_share(m, m->ready_ns), 6);
    cm_json_key_number(j, "preempted_share", an_around_share(m, m->preempted_ns), 6);
    cm_json_key_number(j, "waiting_share", an_around_share(m, m->waiting_ns), 6);
    cm_json_key_number(j, "unknown_share", an_around_share(m, m->unknown_ns), 6);
    cm_json_key_number(j, "switches_per_run", an_mean_of(m->switches), 3);
    json_slices(j, "preempted_by", m, &m->preempted_by, s->around);
    json_slices(j, "waits", m, &m->waits, NULL);
    cm_json_key_number(j, "page_faults_per_run", an_mean_of(m->page_faults), 3);
    cm_json_key_number(j, "hard_faults_per_run", an_mean_of(m->hard_faults), 3);
    cm_json_key(j, "fault_source");
    cm_json_string(j, an_fault_source_name(m->fault_source));
    cm_json_key_number(j, "disk_transfers_per_run", an_mean_of(m->disk_transfers), 3);
    cm_json_key_number(j, "disk_us_per_run", an_mean_of(m->disk_ns) / 1e3, 3);
    cm_json_key_number(j, "clock_percent", an_mean_of(m->clock_percent), 1);
    cm_json_key_number(j, "clock_mhz", an_mean_of(m->clock_mhz), 0);
    cm_json_key_number(j, "gpu_percent", an_mean_of(m->gpu_percent), 1);
    cm_json_key_number(j, "npu_percent", an_mean_of(m->npu_percent), 1);
    cm_json_key_number(j, "process_cpu_percent", an_mean_of(m->process_cpu) * 100, 1);
    cm_json_key_number(j, "gap_us", an_mean_of(m->gap_ns) / 1e3, 3);
    cm_json_end(j);
}

// ------------------------------------------------------------------------------------------- FLOPs

// "524.3 kFLOP"
static void write_flops(cm_out *out, double flops)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P"};
    size_t unit = 0;
    while (flops >= 1000 && unit < sizeof units / sizeof *units - 1) {
        flops /= 1000;
        unit++;
    }
    cm_out_printf(out, "%.4g %sFLOP", flops, units[unit]);
}

void vw_session_flops_text(vw_io *io, const an_summary *s, const an_session *n)
{
    an_meter meters[4];
    size_t count = an_meters(&s->counters, meters, 4);
    if (!an_known(n->flops))
        return;
    cm_out_text(&io->out, "  ");
    write_flops(&io->out, an_session_flops_per_run(n));
    cm_out_text(&io->out, " a run");
    for (size_t i = 0; i < count; i++) {
        double value = an_session_flop_per_joule(s, n, meters[i].joules);
        if (!an_known(value))
            continue;
        cm_out_text(&io->out, ", ");
        write_flops(&io->out, value);
        cm_out_text(&io->out, " a joule (");
        cm_text_clean(&io->out, meters[i].source, 32);
        cm_out_char(&io->out, ' ');
        cm_text_clean(&io->out, meters[i].name, 32);
        cm_out_char(&io->out, ')');
    }
    cm_out_char(&io->out, '\n');
}

void vw_session_flops_json(cm_json *j, const an_summary *s, const an_session *n)
{
    an_meter meters[AN_MAX_METERS];
    size_t count = an_meters(&s->counters, meters, AN_MAX_METERS);
    cm_json_key_number(j, "flops_per_run", an_session_flops_per_run(n), 0);
    cm_json_key(j, "flop_per_joule");
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    for (size_t i = 0; i < count; i++) {
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key_text(j, "source", meters[i].source);
        cm_json_key_text(j, "meter", meters[i].name);
        cm_json_key_number(j, "value", an_session_flop_per_joule(s, n, meters[i].joules), 0);
        cm_json_end(j);
    }
    cm_json_end(j);
}
