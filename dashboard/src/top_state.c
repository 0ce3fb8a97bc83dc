// SPDX-License-Identifier: MIT
#include "dashboard/top.h"

#include "analysis/ops.h"
#include "op_rows.h"
#include "view_keys.h"
#include "window.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define IDLE_NS 1e9

static void copy_text(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}

static void take_process(const da_live *l, const da_process *p, da_top *out)
{
    static const char *const names[] = {"working_set", "threads"};
    if (out->process_count == DA_TOP_PROCESSES) {
        out->more_processes++;
        return;
    }
    da_top_process *t = &out->processes[out->process_count++];
    double now[2];
    for (size_t k = 0; k < 2; k++)
        now[k] = da_counter_now(da_counter_find(l, names[k], DA_PROCESS, p->id, -1));
    *t = (da_top_process){.pid = p->pid,
                          .state = da_process_state(p),
                          .exit_code = p->ended && p->reason != 1 ? (double)p->exit_code : DA_NONE,
                          .cpu_percent =
                              p->ended ? DA_NONE : da_cpu_percent(l, DA_PROCESS, p->id, -1),
                          .working_set_bytes = now[0],
                          .threads = now[1]};
    copy_text(t->program, sizeof t->program, da_file_name(da_text(l, p->program)));
}

static void take_processes(const da_live *l, bool ended, da_top *out)
{
    for (size_t i = l->process_count; i-- > 0;)
        if (l->processes[i].ended == ended)
            take_process(l, &l->processes[i], out);
}

// Told when the newest run began; runs are told when they end, so that the next one is given twice
// its time before nothing runs.
static int64_t in_flight_now(const da_live *l, const da_session *s)
{
    const da_run *r = da_ring_newest(&s->recent);
    if (!r || l->state == DA_ENDED || s->ended_ns >= 0)
        return 0;
    double duration_ns = (double)r->duration_ns, end_ns = (double)r->begin_ns + duration_ns;
    bool idle = (double)l->now_ns > end_ns + fmax(IDLE_NS, 2 * duration_ns);
    return idle ? 0 : s->in_flight;
}

static void take_session(const da_live *l, const da_session *s, double window_s, da_top *out)
{
    static_assert(DA_TOP_SESSIONS >= DA_SESSIONS, "there is a place for each");
    da_top_session *t = &out->sessions[out->session_count++];
    da_window w = da_window_of(l, s, window_s);
    int64_t held = da_session_held(s);
    bool any = w.runs > w.failed;
    *t = (da_top_session){.id = s->id,
                          .ended = s->ended_ns >= 0,
                          .runs = s->runs,
                          .failed = s->failed,
                          .in_flight = in_flight_now(l, s),
                          .throughput_per_s = w.throughput_per_s,
                          .p50_us = any ? da_us(w.p50_ns) : DA_NONE,
                          .p95_us = any ? da_us(w.p95_ns) : DA_NONE,
                          .p99_us = any ? da_us(w.p99_ns) : DA_NONE,
                          .max_us = any ? da_us(w.max_ns) : DA_NONE,
                          .arena_bytes = held >= 0 ? (double)held : DA_NONE};
    copy_text(t->model, sizeof t->model, da_file_name(da_text(l, s->facts[TM_session_model])));
}

static void take_sessions(const da_live *l, bool ended, double window_s, da_top *out)
{
    for (size_t i = l->session_count; i-- > 0;) {
        const da_session *s = l->sessions[i];
        bool was_made = s->facts[TM_session_status] == 0;
        if (was_made && (s->ended_ns >= 0) == ended)
            take_session(l, s, window_s, out);
    }
}

static void copy_type(da_top_op *out, const da_live *l, const da_kernel *k)
{
    const char *type = da_text(l, k->op_type), *class_name = da_text(l, k->kernel_class);
    an_op_type_text by_class;
    copy_text(out->name, sizeof out->name,
              an_op_type_shown(type ? type : "", class_name ? class_name : "", &by_class));
}

static void take_ops(const da_live *l, const da_top_choice *choice, da_top *out)
{
    da_op_rows rows;
    da_span span = {.has_session = choice->session != 0,
                    .session = choice->session,
                    .by_node = choice->by_node};
    if (!da_op_rows_gather(l, &span, &rows))
        return; // no memory: none
    out->more_ops = rows.count > DA_TOP_OPS ? rows.count - DA_TOP_OPS : 0;
    for (size_t i = 0; i < rows.count - out->more_ops; i++) {
        const da_op_row *r = &rows.items[i];
        const da_kernel *k = r->first;
        da_top_op *t = &out->ops[out->op_count++];
        *t = (da_top_op){.calls = r->calls,
                         .self_us = da_us((double)r->self_ns),
                         .mean_us = da_us((double)r->total_ns) / (double)r->calls,
                         .share = rows.self_ns ? (double)r->self_ns / (double)rows.self_ns : 0,
                         .submits = k->submits}; // of all: they have the same provider
        if (choice->by_node) {
            copy_text(t->name, sizeof t->name, da_text(l, k->node));
        } else {
            copy_type(t, l, k);
            copy_text(t->domain, sizeof t->domain, da_text(l, k->domain));
        }
        copy_text(t->provider, sizeof t->provider, da_text(l, k->provider));
    }
    da_op_rows_free(&rows);
}

static double machine_percent(const da_live *l)
{
    double sum = 0;
    unsigned known = 0;
    for (size_t i = 0; i < l->counter_count; i++) {
        const da_counter *c = l->counters[i];
        const char *name = da_text(l, c->name);
        if (c->about != DA_CORE || !c->seen || !name || strcmp(name, "cpu_user") != 0)
            continue;
        double percent = da_cpu_percent(l, DA_CORE, -1, c->number);
        sum += da_known(percent) ? percent : 0;
        known += da_known(percent) ? 1u : 0u;
    }
    return known ? sum / known : DA_NONE;
}

void da_top_take(da_live *l, const da_top_choice *choice, da_top *out)
{
    da_lock(l);
    *out = (da_top){.replay = l->replay,
                    .state = l->state,
                    .time_s = da_seconds(l->now_ns),
                    .duration_s = l->replay ? l->duration_s : DA_NONE,
                    .speed = l->speed,
                    .window_s = choice->window_s,
                    .machine_percent = machine_percent(l),
                    .overhead_us = l->overhead_ns >= 0 ? da_us((double)l->overhead_ns) : DA_NONE,
                    .lost_events = l->lost};
    for (int ended = 0; ended < 2; ended++) {
        take_processes(l, ended, out);
        take_sessions(l, ended, choice->window_s, out);
    }
    take_ops(l, choice, out);
    da_unlock(l);
}
