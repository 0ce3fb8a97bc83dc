// SPDX-License-Identifier: MIT
// Where the processors' time went, thread by thread (see around_view.h).
#include "around_view.h"
#include "common/text.h"
#include "op_view.h"
#include "table.h"

#include <math.h>

#define TEXT_THREADS 10

static void ns_cell(vw_table *t, double ns)
{
    char text[32] = "-";
    if (an_known(ns))
        cm_format_ns(text, sizeof text, ns);
    vw_table_text(t, text);
}

static void write_thread(vw_table *table, const an_threads *t, const an_thread_times *n,
                         bool with_name)
{
    char text[32];
    if (an_threads_has_switches(t)) {
        ns_cell(table, n->on_cpu_ns);
        ns_cell(table, n->ready_ns);
        ns_cell(table, n->preempted_ns);
        ns_cell(table, n->waiting_ns);
    }
    if (an_threads_has_samples(t)) {
        ns_cell(table, n->sampled_ns);
        cm_format_count(text, sizeof text, n->samples);
        vw_table_text(table, text);
    }
    vw_table_cell(table, "%lld", (long long)n->thread);
    if (with_name)
        vw_table_text(table, n->name);
    vw_table_text(table, n->program);
}

static bool any_name(const an_threads *t)
{
    for (size_t i = 0; i < an_threads_count(t); i++)
        if (an_threads_get(t, i)->name[0])
            return true;
    return false;
}

// Of the followed processes, if any of their threads had time; else of all.
static bool any_followed(const an_threads *t)
{
    for (size_t i = 0; i < an_threads_count(t); i++)
        if (an_threads_get(t, i)->followed)
            return true;
    return false;
}

void vw_threads_text(vw_io *io, const an_summary *s)
{
    const an_threads *t = s->threads;
    vw_table table;
    vw_table_column columns[9];
    size_t count = 0, shown = 0, more = 0;
    if (!t || an_threads_count(t) == 0)
        return;
    if (an_threads_has_switches(t)) {
        columns[count++] = (vw_table_column){"on CPU", true, 0};
        columns[count++] = (vw_table_column){"ready", true, 0};
        columns[count++] = (vw_table_column){"preempted", true, 0};
        columns[count++] = (vw_table_column){"waiting", true, 0};
    }
    if (an_threads_has_samples(t)) {
        columns[count++] = (vw_table_column){"sampled", true, 0};
        columns[count++] = (vw_table_column){"samples", true, 0};
    }
    columns[count++] = (vw_table_column){"thread", true, 0};
    bool with_name = any_name(t);
    if (with_name)
        columns[count++] = (vw_table_column){"name", false, 24};
    columns[count++] = (vw_table_column){"program", false, 32};
    bool only_followed = any_followed(t);
    cm_out_char(&io->out, '\n');
    vw_styled(io, VW_BOLD, "Threads\n");
    vw_table_begin(&table, io, "  ", columns, count);
    if (an_threads_has_switches(t) && an_threads_has_samples(t)) {
        vw_table_may_leave_out(&table, 4, 1);
        vw_table_may_leave_out(&table, 5, 2);
    }
    for (size_t i = 0; i < an_threads_count(t); i++) {
        const an_thread_times *n = an_threads_get(t, i);
        if (only_followed && !n->followed)
            continue;
        if (shown++ < TEXT_THREADS)
            write_thread(&table, t, n, with_name);
        else
            more++;
    }
    vw_table_end(&table);
    if (more)
        cm_out_printf(&io->out, "  and %zu more; `--json` lists them\n", more);
}

static void json_times(cm_json *j, const an_thread_times *n)
{
    cm_json_key_number(j, "on_cpu_us", n->on_cpu_ns / 1e3, 3);
    cm_json_key_number(j, "ready_us", n->ready_ns / 1e3, 3);
    cm_json_key_number(j, "preempted_us", n->preempted_ns / 1e3, 3);
    cm_json_key_number(j, "waiting_us", n->waiting_ns / 1e3, 3);
    cm_json_key_number(j, "unknown_us", n->unknown_ns / 1e3, 3);
    cm_json_key_uint(j, "switches", n->switches);
    cm_json_key_uint(j, "samples", n->samples);
    cm_json_key_number(j, "sampled_us", n->sampled_ns / 1e3, 3);
}

static void json_thread(cm_json *j, const an_thread_times *n)
{
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    cm_json_key_number(j, "thread", (double)n->thread, 0);
    cm_json_key_text(j, "name", n->name);
    cm_json_key_number(j, "pid", n->pid >= 0 ? (double)n->pid : (double)NAN, 0);
    cm_json_key_text(j, "program", n->program);
    json_times(j, n);
    cm_json_end(j);
}

void vw_threads_json(cm_json *j, const an_summary *s, size_t most)
{
    const an_threads *t = s->threads;
    cm_json_key(j, "threads");
    if (!t) {
        cm_json_null(j);
        return;
    }
    size_t count = an_threads_count(t), shown = count < most ? count : most;
    cm_json_begin_object(j, CM_JSON_INDENTED);
    cm_json_key_number(j, "profile_interval_us", an_threads_interval_ns(t) / 1e3, 3);
    cm_json_key(j, "idle");
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    json_times(j, an_threads_idle(t));
    cm_json_end(j);
    cm_json_key(j, "list");
    cm_json_begin_array(j, CM_JSON_INDENTED);
    for (size_t i = 0; i < shown; i++)
        json_thread(j, an_threads_get(t, i));
    cm_json_end(j);
    cm_json_key_uint(j, "more", count - shown);
    cm_json_key_uint(j, "left_out_rows", an_threads_left_out(t));
    cm_json_end(j);
}
