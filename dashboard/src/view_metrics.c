// SPDX-License-Identifier: MIT
// All gauges of a capture now: metrics/current and the WebSocket's messages.
#include "view_keys.h"
#include "window.h"

#include <string.h>

#define RECENT_RUNS 128u

// --------------------------------------------------------------------------------------- sessions

static void latency_key(cm_json *j, const char *key, double ns)
{
    da_key_number(j, key, da_us(ns), 3);
}

static void window_latency(cm_json *j, const da_window *w)
{
    cm_json_key(j, "latency_us");
    if (w->runs == w->failed) {
        cm_json_null(j);
        return;
    }
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    latency_key(j, "min", w->min_ns);
    latency_key(j, "mean", w->mean_ns);
    latency_key(j, "p50", w->p50_ns);
    latency_key(j, "p90", w->p90_ns);
    latency_key(j, "p95", w->p95_ns);
    latency_key(j, "p99", w->p99_ns);
    latency_key(j, "max", w->max_ns);
    cm_json_end(j);
}

static void total_latency(cm_json *j, const cm_histogram *h)
{
    cm_json_key(j, "latency_us");
    if (!h->count) {
        cm_json_null(j);
        return;
    }
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    latency_key(j, "min", (double)h->min);
    latency_key(j, "mean", h->mean);
    latency_key(j, "stddev", cm_histogram_stddev(h));
    latency_key(j, "p50", (double)cm_histogram_percentile(h, 500000));
    latency_key(j, "p90", (double)cm_histogram_percentile(h, 900000));
    latency_key(j, "p95", (double)cm_histogram_percentile(h, 950000));
    latency_key(j, "p99", (double)cm_histogram_percentile(h, 990000));
    latency_key(j, "p99_9", (double)cm_histogram_percentile(h, 999000));
    latency_key(j, "max", (double)h->max);
    cm_json_end(j);
}

static const da_run *recent_run(const da_session *s, size_t back)
{
    return da_ring_at(&s->recent, s->recent.count - back);
}

static double utc_ms(const da_live *l, int64_t ns)
{
    return (double)(int64_t)((uint64_t)ns + (uint64_t)l->utc_offset_ns) / 1e6;
}

static void last_run(cm_json *j, const da_live *l, const da_session *s)
{
    cm_json_key(j, "last_run");
    if (!s->recent.count) {
        cm_json_null(j);
        return;
    }
    const da_run *r = recent_run(s, 1);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_int(j, "run", r->run);
    da_key_number(j, "begin_s", da_seconds(r->begin_ns), 9);
    latency_key(j, "duration_us", (double)r->duration_ns);
    da_key_number(j, "end_utc_ms", l->has_utc ? utc_ms(l, r->begin_ns + r->duration_ns) : DA_NONE,
                  3);
    da_key_int(j, "status", r->status);
    da_key_uint(j, "ops", da_run_op_count(s, r->run));
    cm_json_end(j);
}

static void recent_runs(cm_json *j, const da_session *s)
{
    size_t count = s->recent.count < RECENT_RUNS ? s->recent.count : RECENT_RUNS;
    da_key_object(j, "recent_runs");
    da_key_array(j, "run");
    for (size_t i = count; i > 0; i--)
        cm_json_int(j, recent_run(s, i)->run);
    cm_json_end(j);
    da_key_array(j, "begin_s");
    for (size_t i = count; i > 0; i--)
        cm_json_number(j, da_seconds(recent_run(s, i)->begin_ns), 6);
    cm_json_end(j);
    da_key_array(j, "duration_us");
    for (size_t i = count; i > 0; i--)
        cm_json_number(j, da_us((double)recent_run(s, i)->duration_ns), 1);
    cm_json_end(j);
    da_key_array(j, "status");
    for (size_t i = count; i > 0; i--)
        cm_json_int(j, recent_run(s, i)->status);
    cm_json_end(j);
    cm_json_end(j);
}

static void session_memory(cm_json *j, const da_session *s)
{
    int64_t peak = -1;
    for (size_t i = 0; i < s->arena_count; i++)
        peak = s->arenas[i].peak > peak ? s->arenas[i].peak : peak;
    da_key_object(j, "memory");
    da_key_count(j, "held_bytes", da_session_held(s));
    da_key_count(j, "in_use_bytes", da_session_in_use(s));
    da_key_count(j, "peak_bytes", peak);
    da_key_count(j, "run_allocated_bytes", s->run_allocated);
    da_key_count(j, "run_allocations", s->run_allocations);
    da_key_bool(j, "shared", s->shares_arena);
    cm_json_end(j);
}

// Returns the throughput of the window.
static double session(cm_json *j, const da_live *l, const da_session *s, double window_s)
{
    da_window w = da_window_of(l, s, window_s);
    double seconds = da_seconds(s->last_end_ns - s->first_begin_ns);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_int(j, "session", s->id);
    da_key_id(j, "process", da_session_process(l, s));
    da_key_text(j, "model", da_file_name(da_text(l, s->facts[TM_session_model])));
    da_key_bool(j, "ended", s->ended_ns >= 0);
    da_key_uint(j, "runs", s->runs);
    da_key_uint(j, "failed_runs", s->failed);
    da_key_int(j, "in_flight", s->in_flight);
    da_key_object(j, "window");
    da_key_uint(j, "runs", w.runs);
    da_key_uint(j, "failed_runs", w.failed);
    da_key_number(j, "throughput_per_s", w.throughput_per_s, 2);
    da_key_int(j, "in_flight_max", w.in_flight_max);
    window_latency(j, &w);
    cm_json_end(j);
    da_key_object(j, "total");
    da_key_number(
        j, "throughput_per_s",
        s->latencies.count && seconds > 0 ? (double)s->latencies.count / seconds : DA_NONE, 2);
    total_latency(j, &s->latencies);
    cm_json_end(j);
    last_run(j, l, s);
    recent_runs(j, s);
    session_memory(j, s);
    cm_json_end(j);
    return w.throughput_per_s;
}

// -------------------------------------------------------------------------- processes and machine

static void processes(cm_json *j, da_live *l)
{
    da_key_array(j, "processes");
    for (size_t i = 0; i < l->process_count; i++) {
        const da_process *p = &l->processes[i];
        double cpu = p->ended ? DA_NONE : da_cpu_percent(l, DA_PROCESS, p->id, -1);
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        da_key_int(j, "process", p->id);
        da_key_int(j, "pid", p->pid);
        da_key_text(j, "program", da_file_name(da_text(l, p->program)));
        da_key_text(j, "how", da_how_name(p->how));
        da_key_text(j, "state", da_process_state(p));
        da_key_number(j, "exit_code", p->ended && p->reason != 1 ? (double)p->exit_code : DA_NONE,
                      0);
        da_key_number(j, "cpu_percent", cpu, 1);
        const char *const names[] = {"working_set", "private", "threads"};
        const char *const keys[] = {"working_set_bytes", "private_bytes", "threads"};
        for (size_t k = 0; k < 3; k++)
            da_key_number(j, keys[k],
                          da_counter_now(da_counter_find(l, names[k], DA_PROCESS, p->id, -1)), 0);
        cm_json_end(j);
    }
    cm_json_end(j);
}

static void devices(cm_json *j, const da_live *l, const char *key, const char *utilization)
{
    da_key_array(j, key);
    for (size_t i = 0; i < l->counter_count; i++) {
        const da_counter *c = l->counters[i];
        const char *name = da_text(l, c->name);
        if (c->about != DA_DEVICE || !c->seen || !name || strcmp(name, utilization) != 0)
            continue;
        const da_counter *memory = da_counter_beside(l, c, "memory_used");
        if (!memory)
            memory = da_counter_beside(l, c, "memory_dedicated");
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        da_key_count(j, "device", c->number);
        da_key_text(j, "name", da_text(l, c->subject));
        da_key_number(j, "utilization_percent", da_counter_now(c), 1);
        da_key_number(j, "memory_bytes", da_counter_now(memory), 0);
        da_key_number(j, "power_w", da_counter_now(da_counter_beside(l, c, "power")), 2);
        da_key_number(j, "temperature_c", da_counter_now(da_counter_beside(l, c, "temperature")),
                      1);
        cm_json_end(j);
    }
    cm_json_end(j);
}

// Adds up to *sum what is known.
static void cores(cm_json *j, const da_live *l, double *sum, unsigned *known)
{
    da_key_array(j, "cores");
    for (size_t i = 0; i < l->counter_count; i++) {
        const da_counter *c = l->counters[i];
        const char *name = da_text(l, c->name);
        if (c->about != DA_CORE || !c->seen || !name || strcmp(name, "cpu_user") != 0)
            continue;
        double percent = da_cpu_percent(l, DA_CORE, -1, c->number);
        cm_json_begin_object(j, CM_JSON_ONE_LINE);
        da_key_int(j, "core", c->number);
        da_key_number(j, "cpu_percent", percent, 1);
        cm_json_end(j);
        if (da_known(percent)) {
            *sum += percent;
            ++*known;
        }
    }
    cm_json_end(j);
}

static double machine_now(const da_live *l, const char *name)
{
    return da_counter_now(da_counter_find(l, name, DA_MACHINE, -1, -1));
}

static bool is_recorded(const da_live *l)
{
    return !l->replay && l->state != DA_ENDED;
}

static bool was_made(const da_session *s)
{
    return s->facts[TM_session_status] == 0;
}

double da_view_recorded_per_s(da_live *l, double window_s)
{
    double sum = 0;
    da_lock(l);
    for (size_t i = 0; i < l->session_count && is_recorded(l); i++)
        sum += was_made(l->sessions[i]) ? da_window_throughput(l, l->sessions[i], window_s) : 0;
    da_unlock(l);
    return sum;
}

// What the machine's power goes to: all that is recorded on it. A recording may be of another one.
static double machine_runs(const da_live *l, double own_per_s, double recorded_per_s)
{
    if (l->replay)
        return own_per_s;
    return is_recorded(l) && recorded_per_s > 0 ? recorded_per_s : own_per_s + recorded_per_s;
}

static void machine(cm_json *j, const da_live *l, double runs_per_s)
{
    double sum = 0;
    unsigned known = 0;
    const da_counter *energy = da_counter_find(l, "energy", DA_MACHINE, -1, -1);
    double watts = machine_now(l, "power");
    if (!da_known(watts))
        watts = da_counter_rate(l, energy);
    da_key_object(j, "system");
    cores(j, l, &sum, &known);
    da_key_number(j, "cpu_percent", known ? sum / known : DA_NONE, 1);
    da_key_number(j, "memory_available_bytes", machine_now(l, "memory_available"), 0);
    da_key_number(j, "memory_committed_bytes", machine_now(l, "memory_committed"), 0);
    devices(j, l, "gpus", "gpu_utilization");
    devices(j, l, "npus", "npu_utilization");
    da_key_number(j, "power_w", watts, 2);
    da_key_number(j, "energy_j", da_counter_now(energy), 3);
    da_key_number(j, "temperature_c", machine_now(l, "temperature"), 1);
    da_key_number(j, "throughput_per_s", runs_per_s, 2);
    da_key_number(j, "energy_per_inference_j", runs_per_s > 0 ? watts / runs_per_s : DA_NONE, 6);
    cm_json_end(j);
}

// -------------------------------------------------------------------------------------- the whole

void da_view_metrics(cm_json *j, da_live *l, uint32_t capture, const da_look *look)
{
    double runs_per_s = 0;
    da_lock(l);
    cm_json_begin_object(j, CM_JSON_ONE_LINE);
    da_key_uint(j, "capture", capture);
    da_key_text(j, "mode", l->replay ? "replay" : "live");
    da_key_text(j, "state", da_state_name(l->state));
    da_key_text(j, "failure", l->failure);
    da_key_number(j, "time_s", da_seconds(l->now_ns), 6);
    da_key_number(j, "duration_s", l->replay ? l->duration_s : DA_NONE, 6);
    da_key_number(j, "speed", l->replay ? l->speed : DA_NONE, 3);
    da_key_text(j, "file", l->file);
    da_key_uint(j, "file_bytes", l->file_bytes);
    da_key_uint(j, "lost_events", l->lost);
    da_key_uint(j, "dropped_rows", l->dropped + l->no_room);
    da_key_number(j, "overhead_per_run_us",
                  l->overhead_ns >= 0 ? da_us((double)l->overhead_ns) : DA_NONE, 3);
    da_key_object(j, "rates");
    da_key_number(j, "hz", look->hz, 2);
    da_key_number(j, "counters_hz", l->counters_hz > 0 ? l->counters_hz : DA_NONE, 2);
    cm_json_end(j);
    processes(j, l);
    da_key_array(j, "sessions");
    for (size_t i = 0; i < l->session_count; i++)
        if (was_made(l->sessions[i]))
            runs_per_s += session(j, l, l->sessions[i], look->window_s);
    cm_json_end(j);
    machine(j, l, machine_runs(l, runs_per_s, look->machine_runs_per_s));
    cm_json_end(j);
    da_unlock(l);
}
