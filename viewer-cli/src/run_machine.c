// SPDX-License-Identifier: MIT
// The machine around one run, as JSON and CSV (see around_view.h).
#include "around_view.h"
#include "common/text.h"
#include "op_view.h"

#include <math.h>

static void json_slices(cm_json *j, const char *key, const an_slices *s, const an_join *join)
{
    cm_json_key(j, key);
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    for (size_t i = 0; i < s->count; i++) {
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        if (join)
            cm_json_key_text(j, "program", an_join_process_name(join, s->of[i].key));
        else
            cm_json_key_text(j, "reason", an_wait_reason_name(s->of[i].key));
        cm_json_key_number(j, "us", s->of[i].ns / 1e3, 3);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void json_others(cm_json *j, const an_joined *n)
{
    cm_json_key(j, "other_threads");
    if (!n->other_threads) {
        cm_json_null(j);
        return;
    }
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_uint(j, "threads", n->other_threads);
    cm_json_key_number(j, "on_cpu_us", n->other_on_cpu_ns / 1e3, 3);
    cm_json_key_number(j, "ready_us", n->other_ready_ns / 1e3, 3);
    cm_json_key_number(j, "preempted_us", n->other_preempted_ns / 1e3, 3);
    cm_json_key_number(j, "waiting_us", n->other_waiting_ns / 1e3, 3);
    cm_json_end(j);
}

void vw_run_machine_json(cm_json *j, const an_join *join, const an_joined *n)
{
    cm_json_key(j, "machine");
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_number(j, "on_cpu_us", n->on_cpu_ns / 1e3, 3);
    cm_json_key_number(j, "ready_us", n->ready_ns / 1e3, 3);
    cm_json_key_number(j, "preempted_us", n->preempted_ns / 1e3, 3);
    cm_json_key_number(j, "waiting_us", n->waiting_ns / 1e3, 3);
    cm_json_key_number(j, "unknown_us", n->unknown_ns / 1e3, 3);
    cm_json_key_number(j, "switches", n->switches, 0);
    json_slices(j, "preempted_by", &n->preempted_by, join);
    json_slices(j, "waits", &n->waits, NULL);
    json_others(j, n);
    cm_json_key_number(j, "page_faults", n->page_faults, 0);
    cm_json_key_number(j, "hard_faults", n->hard_faults, 0);
    cm_json_key_number(j, "hard_fault_us", n->hard_fault_ns / 1e3, 3);
    cm_json_key(j, "fault_source");
    cm_json_string(j, an_fault_source_name(n->fault_source));
    cm_json_key_number(j, "disk_transfers", n->disk_transfers, 0);
    cm_json_key_number(j, "disk_us", n->disk_ns / 1e3, 3);
    cm_json_key_number(j, "clock_percent", n->clock_percent, 1);
    cm_json_key_number(j, "clock_mhz", n->clock_mhz, 0);
    cm_json_key_number(j, "gpu_percent", n->gpu_percent, 1);
    cm_json_key_number(j, "npu_percent", n->npu_percent, 1);
    cm_json_key_number(j, "process_cpu_percent", n->process_cpu * 100, 1);
    cm_json_key_number(j, "gap_us", n->gap_ns / 1e3, 3);
    cm_json_key_number(j, "thread_gap_us", n->thread_gap_ns / 1e3, 3);
    cm_json_end(j);
}

const char vw_run_machine_csv_titles[] =
    ",on_cpu_us,ready_us,preempted_us,waiting_us,unknown_us,switches,preempted_by,waits_for,"
    "page_faults,hard_faults,hard_fault_us,fault_source,disk_transfers,disk_us,clock_percent,"
    "clock_mhz,gpu_percent,npu_percent,process_cpu_percent,gap_us,thread_gap_us";

static void csv_number(cm_out *out, double value, int decimals)
{
    char text[360] = "";
    if (an_known(value))
        cm_format_number(text, sizeof text, value, decimals);
    cm_csv_text(out, text, false);
}

void vw_run_machine_csv(cm_out *out, const an_join *join, const an_joined *n)
{
    const char *source = an_fault_source_name(n->fault_source);
    csv_number(out, n->on_cpu_ns / 1e3, 3);
    csv_number(out, n->ready_ns / 1e3, 3);
    csv_number(out, n->preempted_ns / 1e3, 3);
    csv_number(out, n->waiting_ns / 1e3, 3);
    csv_number(out, n->unknown_ns / 1e3, 3);
    csv_number(out, n->switches, 0);
    const an_slices *by = &n->preempted_by, *waits = &n->waits;
    cm_csv_text(out, by->count ? an_join_process_name(join, by->of[0].key) : "", false);
    cm_csv_text(out, waits->count ? an_wait_reason_name(waits->of[0].key) : "", false);
    csv_number(out, n->page_faults, 0);
    csv_number(out, n->hard_faults, 0);
    csv_number(out, n->hard_fault_ns / 1e3, 3);
    cm_csv_text(out, source ? source : "", false);
    csv_number(out, n->disk_transfers, 0);
    csv_number(out, n->disk_ns / 1e3, 3);
    csv_number(out, n->clock_percent, 1);
    csv_number(out, n->clock_mhz, 0);
    csv_number(out, n->gpu_percent, 1);
    csv_number(out, n->npu_percent, 1);
    csv_number(out, n->process_cpu * 100, 1);
    csv_number(out, n->gap_ns / 1e3, 3);
    csv_number(out, n->thread_gap_ns / 1e3, 3);
}
