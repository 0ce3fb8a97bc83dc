// SPDX-License-Identifier: MIT
// A run as a table row, a JSON object or a CSV line (see run_list.h).
#include "analysis/names.h"
#include "analysis/summary.h"
#include "around_view.h"
#include "bar.h"
#include "common/text.h"
#include "next_command.h"
#include "run_list.h"

#include <stdlib.h>
#include <string.h>

#define BAR_COLUMNS 8
#define LEAST_TEXT  18 // "25.0 % chrome.exe"

void vw_run_printer_begin(vw_run_printer *p, vw_io *io, const vw_run_facts *facts,
                          vw_run_format format, bool with_messages)
{
    memset(p, 0, sizeof *p);
    p->io = io;
    p->facts = facts;
    p->format = format;
    cm_out_init_memory(&p->text);
    p->with_messages = with_messages;
    if (format == VW_RUNS_JSON) {
        cm_json_init(&p->json, &io->out);
        cm_json_begin_object(&p->json, CM_JSON_INDENTED);
        cm_json_key(&p->json, "schema_version");
        cm_json_int(&p->json, 1);
        cm_json_key(&p->json, "runs");
        cm_json_begin_array(&p->json, CM_JSON_INDENTED);
    } else if (format == VW_RUNS_CSV) {
        cm_out_text(&io->out, "begin_s,session,run,thread,latency_us,call,status,batch,in_flight,"
                              "inputs,outputs,message");
        cm_out_text(&io->out, vw_run_machine_csv_titles);
        cm_out_char(&io->out, '\n');
    }
}

// `rank` as for vw_table_may_leave_out.
static void add_column(vw_run_printer *p, bool wanted, const char *title, bool right,
                       size_t max_width, int rank)
{
    if (!wanted || p->column_count == VW_TABLE_MAX_COLUMNS)
        return;
    p->ranks[p->column_count] = rank;
    p->columns[p->column_count++] = (vw_table_column){title, right, max_width};
}

// Only those that have something to show, so that the lines stay short.
static void start_table(vw_run_printer *p)
{
    add_column(p, true, "begin", true, 0, 0);
    add_column(p, true, "session", true, 0, 4);
    add_column(p, true, "run", true, 0, 0);
    add_column(p, true, "thread", true, 0, 8);
    add_column(p, true, "latency", true, 0, 0);
    size_t bar = p->column_count;
    add_column(p, true, "", false, 0, 10);
    add_column(p, p->gaps, "gap", true, 0, 5);
    add_column(p, p->states, "on CPU", true, 0, 2);
    add_column(p, p->ready, "ready", true, 0, 6);
    add_column(p, p->states, "preempted by", false, 24, 1);
    add_column(p, p->faults, "faults", true, 0, 3);
    add_column(p, true, "status", false, 0, 0);
    add_column(p, true, "batch", true, 0, 7);
    add_column(p, true, "in flight", true, 0, 9);
    add_column(p, true, "inputs", false, 60, p->with_messages ? 11 : 0);
    add_column(p, p->with_messages, "message", false, 300, 0);
    vw_fit_lines(p->io);
    vw_table_begin(&p->table, p->io, "", p->columns, p->column_count);
    for (size_t i = 0; i < p->column_count; i++)
        vw_table_may_leave_out(&p->table, i, p->ranks[i]);
    for (size_t i = 0; i < p->column_count; i++)
        if (p->columns[i].max_width)
            vw_table_may_shrink(&p->table, i, LEAST_TEXT);
    vw_table_style(&p->table, bar, VW_MARK);
    if (p->with_messages)
        vw_table_may_shrink(&p->table, p->column_count - 1, 30);
    p->started = true;
}

static const char *shape_cell(vw_run_printer *p, int64_t id)
{
    const an_shape *shape = an_shapes_find(&p->facts->shapes, id);
    cm_out_clear(&p->text);
    if (shape)
        an_shape_text(&p->text, shape);
    return cm_out_string(&p->text);
}

static int64_t batch_of(const vw_run_printer *p, const vw_run *run)
{
    const an_shape *shape = an_shapes_find(&p->facts->shapes, run->inputs);
    return shape ? shape->batch : -1;
}

// Valid until the next call.
static const char *status_text(vw_run_printer *p, int64_t status)
{
    an_ort_error_text(p->status, sizeof p->status, status);
    return status == 0 ? "ok" : p->status;
}

static void percent_cell(vw_table *t, double ns, int64_t of_ns)
{
    double percent = of_ns > 0 ? ns / (double)of_ns * 100 : 0;
    if (!an_known(ns))
        vw_table_text(t, "-");
    else
        vw_table_cell(t, "%.1f %%", percent);
}

// "3.1 % chrome.exe"
static void preempted_cell(vw_run_printer *p, const vw_run *run, const an_joined *n)
{
    const an_slices *by = &n->preempted_by;
    if (!an_known(n->preempted_ns) || n->preempted_ns <= 0) {
        vw_table_text(&p->table, an_known(n->preempted_ns) ? "" : "-");
        return;
    }
    vw_table_cell(&p->table, "%.1f %% %s", n->preempted_ns / (double)run->duration_ns * 100,
                  by->count ? an_join_process_name(p->join, by->of[0].key) : "");
}

static void machine_cells(vw_run_printer *p, const vw_run *run, const an_joined *n)
{
    char gap[32] = "-";
    if (an_known(n->gap_ns))
        cm_format_ns(gap, sizeof gap, n->gap_ns);
    if (p->gaps)
        vw_table_text(&p->table, gap);
    if (p->states)
        percent_cell(&p->table, n->on_cpu_ns, run->duration_ns);
    if (p->ready)
        percent_cell(&p->table, n->ready_ns, run->duration_ns);
    if (p->states)
        preempted_cell(p, run, n);
    double faults = an_known(n->page_faults) ? n->page_faults : n->hard_faults;
    if (p->faults && an_known(faults))
        vw_table_cell(&p->table, "%.0f", faults);
    else if (p->faults)
        vw_table_text(&p->table, "-");
}

static void add_text(vw_run_printer *p, const vw_run *run, const an_joined *n)
{
    vw_table *t = &p->table;
    char latency[32];
    int64_t batch = batch_of(p, run);
    const char *message = vw_run_message(p->facts, run);
    cm_format_ns(latency, sizeof latency, (double)run->duration_ns);
    vw_table_cell(t, "%.6f s", (double)run->begin_ns / 1e9);
    vw_table_cell(t, "%lld", (long long)run->session);
    vw_table_cell(t, "%lld", (long long)run->run);
    vw_table_cell(t, "%lld", (long long)run->thread);
    vw_table_text(t, latency);
    cm_out_clear(&p->text);
    vw_draw_share(&p->text, p->io->unicode,
                  p->most_ns > 0 ? (double)run->duration_ns / p->most_ns : 0, BAR_COLUMNS);
    vw_table_text(t, cm_out_string(&p->text));
    machine_cells(p, run, n);
    vw_table_next_style(t, run->status ? VW_BAD : VW_PLAIN);
    vw_table_text(t, status_text(p, run->status));
    if (batch >= 0)
        vw_table_cell(t, "%lld", (long long)batch);
    else
        vw_table_text(t, "-");
    vw_table_cell(t, "%lld", (long long)run->in_flight);
    vw_table_text(t, shape_cell(p, run->inputs));
    if (p->with_messages)
        vw_table_text(t, message ? message : "");
}

static void json_dims(cm_json *j, const char *dims)
{
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    while (*dims) {
        char *end;
        long long value = strtoll(dims, &end, 10);
        if (end == dims)
            break;
        cm_json_int(j, value);
        dims = end + (*end == ',');
    }
    cm_json_end(j);
}

static void json_shape(vw_run_printer *p, const char *key, int64_t id)
{
    cm_json *j = &p->json;
    const an_shape *shape = an_shapes_find(&p->facts->shapes, id);
    cm_json_key(j, key);
    if (!shape) {
        cm_json_null(j);
        return;
    }
    cm_json_begin_array(j, CM_JSON_ONE_LINE);
    for (size_t i = 0; i < shape->tensor_count; i++) {
        const an_tensor *t = &shape->tensors[i];
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        cm_json_key(j, "name");
        cm_json_string(j, t->name);
        cm_json_key(j, "kind");
        cm_json_string(j, an_onnx_type_name(t->onnx_type));
        cm_json_key(j, "type");
        cm_json_string(j, an_element_type_name(t->element_type));
        cm_json_key(j, "dims");
        json_dims(j, t->dims);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void add_json(vw_run_printer *p, const vw_run *run, const an_joined *n)
{
    cm_json *j = &p->json;
    int64_t batch = batch_of(p, run);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key(j, "begin_s");
    cm_json_number(j, (double)run->begin_ns / 1e9, 9);
    cm_json_key_int(j, "session", run->session);
    cm_json_key_int(j, "run", run->run);
    cm_json_key_int(j, "thread", run->thread);
    cm_json_key(j, "latency_us");
    cm_json_number(j, (double)run->duration_ns / 1e3, 3);
    cm_json_key(j, "call");
    cm_json_string(j, an_call_name(run->call));
    cm_json_key_int(j, "status", run->status);
    cm_json_key(j, "error");
    cm_json_string(j, run->status ? status_text(p, run->status) : NULL);
    cm_json_key(j, "message");
    cm_json_string(j, vw_run_message(p->facts, run));
    cm_json_key(j, "batch");
    if (batch >= 0)
        cm_json_int(j, batch);
    else
        cm_json_null(j);
    cm_json_key_int(j, "in_flight", run->in_flight);
    json_shape(p, "inputs", run->inputs);
    json_shape(p, "outputs", run->outputs);
    vw_run_machine_json(j, p->join, n);
    cm_json_end(j);
}

static void add_csv(vw_run_printer *p, const vw_run *run, const an_joined *n)
{
    cm_out *out = &p->io->out;
    const char *message = vw_run_message(p->facts, run);
    int64_t batch = batch_of(p, run);
    cm_out_printf(out, "%.9f,%lld,%lld,%lld,%.3f,%s,%s,", (double)run->begin_ns / 1e9,
                  (long long)run->session, (long long)run->run, (long long)run->thread,
                  (double)run->duration_ns / 1e3, an_call_name(run->call),
                  status_text(p, run->status));
    if (batch >= 0)
        cm_out_printf(out, "%lld", (long long)batch);
    cm_out_printf(out, ",%lld", (long long)run->in_flight);
    cm_csv_text(out, shape_cell(p, run->inputs), false);
    cm_csv_text(out, shape_cell(p, run->outputs), false);
    cm_csv_text(out, message ? message : "", false);
    vw_run_machine_csv(out, p->join, n);
    cm_out_char(out, '\n');
}

static void look_at(vw_run_printer *p, const an_joined *n)
{
    p->states = p->states || an_known(n->on_cpu_ns);
    p->ready = p->ready || an_known(n->ready_ns);
    p->faults = p->faults || an_known(n->page_faults) || an_known(n->hard_faults);
    p->gaps = p->gaps || an_known(n->gap_ns);
}

static void keep_slowest(vw_run_printer *p, const vw_run *run)
{
    if (p->printed++ == 0 || run->duration_ns > p->slowest.duration_ns)
        p->slowest = *run;
}

void vw_run_printer_portion(vw_run_printer *p, const vw_run *runs, size_t count,
                            const an_join *join)
{
    p->join = join;
    if (p->format == VW_RUNS_TEXT && !p->started) {
        for (size_t i = 0; i < count; i++) {
            double ns = (double)runs[i].duration_ns;
            p->most_ns = ns > p->most_ns ? ns : p->most_ns;
            look_at(p, an_join_get(join, i));
        }
        start_table(p);
    }
    for (size_t i = 0; i < count && !cm_out_failed(&p->io->out); i++) {
        const an_joined *n = an_join_get(join, i);
        keep_slowest(p, &runs[i]);
        if (p->format == VW_RUNS_TEXT)
            add_text(p, &runs[i], n);
        else if (p->format == VW_RUNS_JSON)
            add_json(p, &runs[i], n);
        else
            add_csv(p, &runs[i], n);
    }
}

void vw_run_printer_end(vw_run_printer *p, const char *path, uint64_t more)
{
    if (p->format == VW_RUNS_JSON) {
        cm_json_end(&p->json);
        cm_json_key(&p->json, "more");
        cm_json_uint(&p->json, more);
        cm_json_end(&p->json);
    }
    if (p->started)
        vw_table_end(&p->table);
    if (p->format == VW_RUNS_TEXT && more) {
        char count[32];
        cm_format_count(count, sizeof count, more);
        cm_out_printf(&p->io->out, "%s more run%s; `--limit 0` shows all\n", count,
                      more == 1 ? "" : "s");
    }
    if (p->format == VW_RUNS_TEXT && p->printed && p->with_messages)
        vw_next_command(p->io, "whole messages", "runs", path, "--failed --csv");
    else if (p->format == VW_RUNS_TEXT && p->printed)
        vw_next_command(p->io, p->printed == 1 ? "this run" : "the slowest of these", "timeline",
                        path, "--session %lld --run %lld", (long long)p->slowest.session,
                        (long long)p->slowest.run);
    cm_out_deinit(&p->text);
}
