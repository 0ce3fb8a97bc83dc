// SPDX-License-Identifier: MIT
// Rows of a timeline as slices, values and instants on tracks (see trace.h), in one pass.
#include "trace.h"

#include "analysis/names.h"
#include "put_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define KINDS                                                                                      \
    (TM_BIT(run) | TM_BIT(op) | TM_BIT(phase) | TM_BIT(sample) | TM_BIT(run_memory) |              \
     TM_BIT(memory) | TM_BIT(sched) | TM_BIT(mark) | TM_BIT(log) | TM_BIT(ort_event) |             \
     TM_BIT(lost))
#define LATEST_NS ((int64_t)1 << 60)

#define COLUMN(kind, column) (b->columns[TM_##kind##_##column][row])

// No sum of two times of a slice may overflow, whatever a file says.
static void set_times(vw_ex_slice *s, int64_t begin_ns, int64_t duration_ns)
{
    s->begin_ns = begin_ns < 0 ? 0 : begin_ns > LATEST_NS ? LATEST_NS : begin_ns;
    int64_t longest = LATEST_NS - s->begin_ns;
    s->end_ns = s->begin_ns + (duration_ns < 0 ? 0 : duration_ns > longest ? longest : duration_ns);
}

static bool is_wanted(const vw_ex_trace *t, int64_t session, int64_t time_ns)
{
    const vw_ex_range *r = &t->job->range;
    return vw_ex_in_range(r, time_ns) && (!r->has_session || session == r->session);
}

static cm_status out_of_tracks(const vw_ex_trace *t)
{
    return t->job->output.out.status;
}

// ------------------------------------------------------------------------------- runs, operators

static cm_status add_run(vw_ex_trace *t, const tm_block *b, size_t row)
{
    int64_t session = COLUMN(run, session), thread = COLUMN(run, thread);
    bool on_thread = COLUMN(run, call) != 2 && thread > 0; // RunAsync comes back at once
    uint64_t arrow = ++t->run_count << 8;
    vw_ex_slice s = {.what = VW_EX_SLICE_RUN,
                     .session = session,
                     .run = COLUMN(run, run),
                     .arrow = on_thread ? 0 : arrow,
                     .status = COLUMN(run, status) != 0};
    if (!is_wanted(t, session, COLUMN(run, begin)))
        return CM_OK;
    set_times(&s, COLUMN(run, begin), COLUMN(run, duration));
    vw_ex_slice lane = s;
    vw_ex_track *track = vw_ex_session_lane(t, session, &lane.begin_ns, &lane.end_ns);
    if (!track)
        return out_of_tracks(t);
    lane.track = (uint32_t)track->index;
    CM_TRY(vw_ex_window_add(t, &lane));
    if (!on_thread)
        return CM_OK;
    track = vw_ex_track_get(t, VW_EX_TRACK_THREAD, vw_ex_process_of_session(t, session), thread, 0);
    if (!track)
        return out_of_tracks(t);
    s.arrow = arrow;
    s.track = (uint32_t)track->index;
    return vw_ex_window_add(t, &s);
}

static cm_status add_op(vw_ex_trace *t, const tm_block *b, size_t row)
{
    int64_t session = COLUMN(op, session), flags = COLUMN(op, flags), depth = COLUMN(op, depth);
    vw_ex_slice s = {.what = VW_EX_SLICE_OP,
                     .session = session,
                     .run = flags & 2 ? 0 : COLUMN(op, run),
                     .subject = COLUMN(op, kernel),
                     .status = (flags & 4) != 0,
                     .depth = (uint16_t)(depth < 0      ? 0
                                         : depth > 1000 ? 1000
                                                        : depth)};
    if (!is_wanted(t, session, COLUMN(op, begin)))
        return CM_OK;
    set_times(&s, COLUMN(op, begin), COLUMN(op, duration));
    vw_ex_track *track = vw_ex_track_get(
        t, VW_EX_TRACK_THREAD, vw_ex_process_of_session(t, session), COLUMN(op, thread), 0);
    if (!track)
        return out_of_tracks(t);
    s.track = (uint32_t)track->index;
    return vw_ex_window_add(t, &s);
}

static cm_status add_phase(vw_ex_trace *t, const tm_block *b, size_t row)
{
    int64_t session = COLUMN(phase, session);
    vw_ex_slice s = {
        .what = VW_EX_SLICE_PHASE, .session = session, .subject = COLUMN(phase, phase)};
    const vw_ex_session *of = vw_ex_find_session(&t->job->facts, session);
    if (!of || of->load_ns <= 0 || !is_wanted(t, session, of->begin_ns))
        return CM_OK; // there is nothing that it is a part of
    set_times(&s, COLUMN(phase, begin), COLUMN(phase, duration));
    vw_ex_slice load = {0};
    set_times(&load, of->begin_ns, of->load_ns);
    if (s.begin_ns < load.begin_ns || s.end_ns > load.end_ns) {
        s.begin_ns = s.begin_ns < load.begin_ns ? load.begin_ns
                     : s.begin_ns > load.end_ns ? load.end_ns
                                                : s.begin_ns;
        s.end_ns = s.end_ns < s.begin_ns    ? s.begin_ns
                   : s.end_ns > load.end_ns ? load.end_ns
                                            : s.end_ns;
    }
    vw_ex_track *track =
        vw_ex_track_get(t, VW_EX_TRACK_SESSION, vw_ex_process_of_session(t, session), session, 0);
    if (!track)
        return out_of_tracks(t);
    s.track = (uint32_t)track->index;
    return vw_ex_window_add(t, &s);
}

// Sessions are known from the facts, so that their loading takes the first lane before any run.
static cm_status add_loading(vw_ex_trace *t)
{
    const vw_ex_session *sessions = t->job->facts.sessions.items;
    for (size_t i = 0; i < t->job->facts.sessions.count; i++) {
        const vw_ex_session *of = &sessions[i];
        vw_ex_slice s = {.what = VW_EX_SLICE_LOAD, .session = of->id, .status = of->status != 0};
        if (of->load_ns <= 0 || !is_wanted(t, of->id, of->begin_ns))
            continue;
        set_times(&s, of->begin_ns, of->load_ns);
        vw_ex_slice lane = s;
        vw_ex_track *track = vw_ex_session_lane(t, of->id, &lane.begin_ns, &lane.end_ns);
        if (!track)
            return out_of_tracks(t);
        lane.track = (uint32_t)track->index;
        CM_TRY(vw_ex_window_add(t, &lane));
        if (of->thread <= 0)
            continue;
        track = vw_ex_track_get(t, VW_EX_TRACK_THREAD, vw_ex_process_of_session(t, of->id),
                                of->thread, 0);
        if (!track)
            return out_of_tracks(t);
        s.track = (uint32_t)track->index;
        CM_TRY(vw_ex_window_add(t, &s));
    }
    return CM_OK;
}

// ------------------------------------------------------------------------------- values over time

static cm_status put_value(vw_ex_trace *t, vw_ex_track *track, int64_t time_ns, double value)
{
    if (!track)
        return out_of_tracks(t);
    CM_TRY(vw_ex_trace_split(t));
    vw_ex_declare(t, track);
    t->writer->value(t->writer, track, time_ns < 0 ? 0 : time_ns, value);
    t->job->rows++;
    return CM_OK;
}

// A counter that counts up is shown as its rate: from each value to the next.
static cm_status add_sample(vw_ex_trace *t, const tm_block *b, size_t row)
{
    int64_t time_ns = COLUMN(sample, time);
    const vw_ex_counter *c = vw_ex_find_counter(&t->job->facts, COLUMN(sample, counter));
    if (!c || !c->per_unit || !vw_ex_in_range(&t->job->range, time_ns))
        return CM_OK;
    double value = (double)COLUMN(sample, value) / (double)c->per_unit;
    int64_t process = vw_ex_find_process(&t->job->facts, c->process) ? c->process : 0;
    vw_ex_track *track = vw_ex_track_get(t, VW_EX_TRACK_COUNTER, process, c->id, 0);
    if (!track)
        return out_of_tracks(t);
    if (!c->total)
        return COLUMN(sample, known) ? put_value(t, track, time_ns, value) : CM_OK;
    double rate = NAN;
    if (track->has_last && COLUMN(sample, known) && time_ns > track->last_ns)
        rate = (value - track->last_value) / ((double)(time_ns - track->last_ns) / 1e9);
    int64_t since_ns = track->last_ns;
    track->has_last = COLUMN(sample, known);
    track->last_ns = time_ns;
    track->last_value = value;
    return vw_is_finite(rate) ? put_value(t, track, since_ns, rate) : CM_OK;
}

static cm_status add_memory(vw_ex_trace *t, const tm_block *b, size_t row)
{
    int64_t session, time_ns;
    if (b->kind == TM_KIND_run_memory) {
        session = COLUMN(run_memory, session);
        time_ns = COLUMN(run_memory, time);
        if (!is_wanted(t, session, time_ns) || COLUMN(run_memory, live_bytes) < 0)
            return CM_OK;
        return put_value(
            t,
            vw_ex_track_get(t, VW_EX_TRACK_LIVE, vw_ex_process_of_session(t, session), session, 0),
            time_ns, (double)COLUMN(run_memory, live_bytes));
    }
    session = COLUMN(memory, session);
    time_ns = COLUMN(memory, time);
    if (!is_wanted(t, session, time_ns))
        return CM_OK;
    int64_t process = vw_ex_process_of_session(t, session), arena = COLUMN(memory, allocator);
    CM_TRY(put_value(t, vw_ex_track_get(t, VW_EX_TRACK_ARENA_USED, process, arena, 0), time_ns,
                     (double)COLUMN(memory, in_use_bytes)));
    return put_value(t, vw_ex_track_get(t, VW_EX_TRACK_ARENA_HELD, process, arena, 0), time_ns,
                     (double)COLUMN(memory, held_bytes));
}

// ------------------------------------------------------------------------------------- processors

static cm_status end_turn(vw_ex_trace *t, int64_t cpu, int64_t until_ns)
{
    const vw_ex_cpu *c = &t->cpus[cpu];
    vw_ex_slice s = {.what = VW_EX_SLICE_SCHED, .subject = c->thread, .session = c->process};
    if (!c->busy || until_ns <= c->since_ns || !vw_ex_in_range(&t->job->range, c->since_ns))
        return CM_OK;
    set_times(&s, c->since_ns, until_ns - c->since_ns);
    vw_ex_track *track = vw_ex_track_get(t, VW_EX_TRACK_CPU, 0, cpu, 0);
    if (!track)
        return out_of_tracks(t);
    CM_TRY(vw_ex_trace_split(t));
    vw_ex_declare(t, track);
    s.track = (uint32_t)track->index;
    t->writer->slice(t->writer, track, &s);
    t->writer->end_track(t->writer, track);
    t->job->rows++;
    return CM_OK;
}

static cm_status add_switch(vw_ex_trace *t, const tm_block *b, size_t row)
{
    int64_t cpu = COLUMN(sched, cpu), time_ns = COLUMN(sched, time);
    if (cpu < 0 || cpu >= VW_EX_MAX_CPUS || time_ns < 0 || time_ns > LATEST_NS)
        return CM_OK;
    vw_ex_cpu *c = &t->cpus[cpu];
    if (c->busy && time_ns < c->since_ns)
        return CM_OK; // told too late to be placed
    CM_TRY(end_turn(t, cpu, time_ns));
    *c = (vw_ex_cpu){COLUMN(sched, new_thread) != 0, time_ns, COLUMN(sched, new_thread),
                     COLUMN(sched, new_process)};
    if (time_ns > t->last_switch_ns)
        t->last_switch_ns = time_ns;
    return CM_OK;
}

// --------------------------------------------------------------------------------------- instants

static cm_status put_instant(vw_ex_trace *t, int64_t process, int64_t time_ns, const char *name,
                             const char *text)
{
    vw_ex_track *track = vw_ex_track_get(t, VW_EX_TRACK_PROCESS, process, 0, 0);
    if (!track)
        return out_of_tracks(t);
    CM_TRY(vw_ex_trace_split(t));
    vw_ex_declare(t, track);
    t->writer->instant(t->writer, track, time_ns < 0 ? 0 : time_ns, name, text);
    t->job->rows++;
    return CM_OK;
}

static cm_status add_instant(vw_ex_trace *t, const tm_reader *reader, const tm_block *b, size_t row)
{
    char name[64], text[64];
    const vw_ex_range *r = &t->job->range;
    int64_t process = t->first_process;
    switch (b->kind) {
    case TM_KIND_mark:
        if (!vw_ex_in_range(r, COLUMN(mark, time)))
            return CM_OK;
        return put_instant(t, process, COLUMN(mark, time),
                           tm_reader_string(reader, COLUMN(mark, text)), "");
    case TM_KIND_log:
        if (!is_wanted(t, COLUMN(log, session), COLUMN(log, time)))
            return CM_OK;
        snprintf(name, sizeof name, "log: %s", an_level_name(COLUMN(log, level)));
        if (vw_ex_find_process(&t->job->facts, COLUMN(log, process)))
            process = COLUMN(log, process);
        return put_instant(t, process, COLUMN(log, time), name,
                           tm_reader_string(reader, COLUMN(log, message)));
    case TM_KIND_ort_event:
        if (!is_wanted(t, COLUMN(ort_event, session), COLUMN(ort_event, time)))
            return CM_OK;
        return put_instant(t, vw_ex_process_of_session(t, COLUMN(ort_event, session)),
                           COLUMN(ort_event, time),
                           tm_reader_string(reader, COLUMN(ort_event, name)),
                           tm_reader_string(reader, COLUMN(ort_event, fields)));
    default:
        if (!vw_ex_in_range(r, COLUMN(lost, time)))
            return CM_OK;
        snprintf(text, sizeof text, "%lld events: %s", (long long)COLUMN(lost, events),
                 an_lost_cause_name(COLUMN(lost, cause)));
        return put_instant(t, process, COLUMN(lost, time), "events lost", text);
    }
}

// ---------------------------------------------------------------------------------------- the pass

static cm_status add_row(vw_ex_trace *t, const tm_reader *reader, const tm_block *b, size_t row)
{
    switch (b->kind) {
    case TM_KIND_run:
        return add_run(t, b, row);
    case TM_KIND_op:
        return add_op(t, b, row);
    case TM_KIND_phase:
        return add_phase(t, b, row);
    case TM_KIND_sample:
        return add_sample(t, b, row);
    case TM_KIND_run_memory:
    case TM_KIND_memory:
        return add_memory(t, b, row);
    case TM_KIND_sched:
        return add_switch(t, b, row);
    default:
        return add_instant(t, reader, b, row);
    }
}

static cm_status read_all(vw_ex_trace *t)
{
    tm_reader *reader;
    tm_block block;
    CM_TRY(add_loading(t));
    CM_TRY(vw_ex_open_pass(t->job, KINDS, &reader));
    cm_status status;
    while ((status = vw_ex_next(t->job, reader, &block)) == CM_OK) {
        for (size_t row = 0; row < block.row_count && status == CM_OK; row++)
            status = add_row(t, reader, &block, row);
        if (status != CM_OK)
            break;
    }
    tm_reader_close(reader);
    if (status != CM_END)
        return status;
    for (int64_t cpu = 0; cpu < VW_EX_MAX_CPUS; cpu++)
        CM_TRY(end_turn(t, cpu, t->last_switch_ns));
    return vw_ex_window_end(t);
}

static void choose_first_process(vw_ex_trace *t)
{
    const vw_ex_process *p = t->job->facts.processes.items;
    for (size_t i = 0; i < t->job->facts.processes.count && !t->first_process; i++)
        if (p[i].followed)
            t->first_process = p[i].id;
}

static void destroy(vw_ex_trace *t)
{
    for (size_t i = 0; i < t->track_count; i++) {
        free(t->tracks[i]->name);
        free(t->tracks[i]);
    }
    free(t->tracks);
    cm_map_deinit(&t->track_by_key);
    cm_map_deinit(&t->counter_by_name);
    free(t->window);
    free(t->stack);
    if (t->writer)
        t->writer->destroy(t->writer);
    free(t);
}

cm_status vw_ex_run_trace(vw_ex_job *job)
{
    cm_out *out = &job->output.out;
    vw_ex_trace *t = calloc(1, sizeof *t);
    cm_status status = cm_fail(CM_NO_MEMORY, "There is not enough memory to export.");
    if (!t)
        return status;
    t->job = job;
    t->window = malloc(VW_EX_WINDOW * sizeof *t->window);
    t->stack = malloc(VW_EX_WINDOW * sizeof *t->stack);
    if (t->window && t->stack)
        status = job->format == VW_EX_CHROME ? vw_ex_chrome_create(out, &job->facts, &t->writer)
                                             : vw_ex_perfetto_create(out, &job->facts, &t->writer);
    if (status == CM_OK)
        status = vw_ex_output_open(&job->output);
    if (status == CM_OK) {
        choose_first_process(t);
        t->writer->begin(t->writer);
        status = read_all(t);
    }
    if (status == CM_OK) {
        t->writer->end(t->writer);
        status = vw_ex_output_close(&job->output);
    }
    destroy(t);
    return status;
}
