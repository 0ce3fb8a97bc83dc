// SPDX-License-Identifier: MIT
// Lack of processors, where only counters tell: samples are too far apart to say anything about one
// short run, so it is told for each second. Runs need a processor as long as they take; what their
// process had less than that, in a second in which all cores were busy, its runs have waited. Usual
// runs may wait, too: as much as processor time is missing over the whole recording. What is above
// that explains its part of the time that the runs of the second took above the usual, the same for
// each.
// Sessions on other devices than processors wait for those: nothing is told of them.
#include "outlier_internal.h"

#include "analysis/counters.h"
#include "analysis_util.h"

#include <stdlib.h>
#include <string.h>

#define SECOND        1000000000
#define MAX_SECONDS   200000
#define MAX_LONG      1000 // seconds: whatever takes longer is left out
#define MAX_PROCESSES 16
#define MAX_COUNTERS  4096
#define MOST_APART    (2 * (int64_t)SECOND) // samples whose difference is spread over the time between
#define TICKS         32e6                  // ns, as in join_counters.c
#define ALL_BUSY      0.9

// By second.
typedef struct needs {
    int64_t process;
    double *needed_ns, *extra_ns, *used_ns;
    double usual; // part of the needed time that it usually has
} needs;

typedef struct counted {
    double *into; // by second
    int64_t per_unit, last, last_time;
    bool has_last;
} counted;

typedef struct starving {
    an_outlier_finder *f;
    needs of[MAX_PROCESSES];
    size_t count, seconds;
    double *busy_ns, cores;
    counted *counters;
    size_t counter_count, counter_capacity;
    cm_map counter_of;
} starving;

static needs *of_process(starving *s, int64_t process)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->of[i].process == process)
            return &s->of[i];
    return NULL;
}

static bool on_processors(const an_session *n)
{
    return !n->providers[0] || strcmp(n->providers, "CPUExecutionProvider") == 0;
}

static int64_t process_of(const an_summary *s, const an_session *n)
{
    const an_module *module = an_summary_module(s, n->module);
    return module ? module->process : 0;
}

static cm_status make_room(starving *s)
{
    const an_summary *summary = s->f->summary;
    int64_t seconds = summary->end_ns / SECOND + 1;
    s->seconds = seconds > 0 && seconds < MAX_SECONDS ? (size_t)seconds : MAX_SECONDS;
    s->busy_ns = calloc(s->seconds, sizeof *s->busy_ns);
    if (!s->busy_ns)
        return an_no_memory();
    for (size_t i = 0; i < s->f->session_count; i++) {
        const an_session *n = s->f->sessions[i].session;
        int64_t process = process_of(summary, n);
        if (!process || !on_processors(n) || of_process(s, process) || s->count == MAX_PROCESSES)
            continue;
        needs *of = &s->of[s->count++];
        of->process = process;
        of->needed_ns = calloc(3 * s->seconds, sizeof *of->needed_ns);
        if (!of->needed_ns)
            return an_no_memory();
        of->extra_ns = of->needed_ns + s->seconds;
        of->used_ns = of->extra_ns + s->seconds;
    }
    return CM_OK;
}

// `amount`, evenly over [from, to).
static void spread(const starving *s, double *into, int64_t from, int64_t to, double amount)
{
    int64_t first = from / SECOND, last = to / SECOND;
    if (from < 0 || to <= from || first >= (int64_t)s->seconds || last - first > MAX_LONG)
        return;
    for (int64_t i = first; i <= last && i < (int64_t)s->seconds; i++) {
        int64_t begin = i * SECOND > from ? i * SECOND : from;
        int64_t end = (i + 1) * SECOND < to ? (i + 1) * SECOND : to;
        into[i] += amount * (double)(end - begin) / (double)(to - from);
    }
}

// ------------------------------------------------------------------------------------------
// reading

static cm_status take_counter(starving *s, const char *name, const tm_block *b, size_t i)
{
    int64_t about = b->columns[TM_counter_about][i];
    bool user = strcmp(name, "cpu_user") == 0, kernel = strcmp(name, "cpu_kernel") == 0;
    bool core = about == AN_ABOUT_CORE;
    needs *of = about == AN_ABOUT_PROCESS ? of_process(s, b->columns[TM_counter_process][i]) : NULL;
    if ((!user && !kernel) || (!core && !of) || s->counter_count == MAX_COUNTERS)
        return CM_OK;
    counted *all = an_grow(s->counters, &s->counter_capacity, s->counter_count, sizeof *all);
    if (!all)
        return an_no_memory();
    s->counters = all;
    s->cores += core && user;
    all[s->counter_count] = (counted){.into = core ? s->busy_ns : of->used_ns,
                                      .per_unit = b->columns[TM_counter_per_unit][i]};
    return cm_map_put(&s->counter_of, b->columns[TM_counter_counter][i], s->counter_count++)
               ? CM_OK
               : an_no_memory();
}

static cm_status take_counters(void *context, const tm_reader *r, const tm_block *b)
{
    for (size_t i = 0; i < b->row_count; i++)
        CM_TRY(take_counter(context, tm_reader_string(r, b->columns[TM_counter_name][i]), b, i));
    return CM_OK;
}

static void take_sample(const starving *s, const tm_block *b, size_t i)
{
    size_t at;
    int64_t time = b->columns[TM_sample_time][i], value = b->columns[TM_sample_value][i];
    if (!cm_map_find(&s->counter_of, b->columns[TM_sample_counter][i], &at) ||
        !b->columns[TM_sample_known][i])
        return;
    counted *c = &s->counters[at];
    if (c->has_last && time > c->last_time && value > c->last && c->per_unit > 0) {
        double ns = ((double)value - (double)c->last) / (double)c->per_unit * 1e9;
        int64_t earliest = an_add_clamped(time, -MOST_APART);
        spread(s, c->into, c->last_time > earliest ? c->last_time : earliest, time, ns);
    }
    c->has_last = true;
    c->last = value;
    c->last_time = time;
}

static cm_status take_samples(void *context, const tm_reader *r, const tm_block *b)
{
    (void)r;
    for (size_t i = 0; i < b->row_count; i++)
        take_sample(context, b, i);
    return CM_OK;
}

static void take_run(starving *s, const tm_block *b, size_t i)
{
    size_t place;
    int64_t begin = b->columns[TM_run_begin][i], duration = b->columns[TM_run_duration][i];
    if (!cm_map_find(&s->f->session_of, b->columns[TM_run_session][i], &place) || duration <= 0)
        return;
    const an_session *n = s->f->sessions[place].session;
    const needs *of = on_processors(n) ? of_process(s, process_of(s->f->summary, n)) : NULL;
    if (!of)
        return;
    int64_t end = an_add_clamped(begin, duration);
    double extra =
        (double)duration - an_outlier_usual_of(s->f, place, b->columns[TM_run_inputs][i]);
    spread(s, of->needed_ns, begin, end, (double)duration);
    if (an_known(extra) && extra > 0)
        spread(s, of->extra_ns, begin, end, extra);
}

static cm_status take_runs(void *context, const tm_reader *r, const tm_block *b)
{
    (void)r;
    for (size_t i = 0; i < b->row_count; i++)
        take_run(context, b, i);
    return CM_OK;
}

// ------------------------------------------------------------------------------------------ result

static void judge(const starving *s, an_case *c)
{
    const an_session *n = s->f->sessions[c->session].session;
    const needs *of = NULL;
    double missing = -TICKS, extra = 0, busy = 0, seconds = 0;
    int64_t end = an_add_clamped(c->run.begin_ns, c->run.duration_ns);
    for (size_t i = 0; i < s->count && on_processors(n); i++)
        if (s->of[i].process == process_of(s->f->summary, n))
            of = &s->of[i];
    for (int64_t i = c->run.begin_ns / SECOND; of && i >= 0 && i <= end / SECOND; i++) {
        if (i >= (int64_t)s->seconds || seconds > MAX_LONG)
            return;
        double usual_ns = of->needed_ns[i] - of->extra_ns[i];
        missing += of->needed_ns[i] - of->used_ns[i];
        missing -= usual_ns > 0 ? usual_ns * (1 - of->usual) : 0;
        extra += of->extra_ns[i];
        busy += s->busy_ns[i];
        seconds++;
    }
    if (missing > 0 && extra > 0 && busy >= ALL_BUSY * seconds * s->cores * SECOND)
        c->starved = missing < extra ? missing / extra : 1;
}

// Seconds with few runs tell nothing: whatever the process did then was something else.
static void learn_usual(const starving *s, needs *of)
{
    double needed = 0, used = 0;
    for (size_t i = 0; i < s->seconds; i++) {
        if (of->needed_ns[i] < SECOND / 10.0)
            continue;
        needed += of->needed_ns[i];
        used += of->used_ns[i];
    }
    of->usual = used < needed ? used / needed : 1;
}

static cm_status read_all(starving *s)
{
    const an_source *source = s->f->source;
    CM_TRY(make_room(s));
    CM_TRY(an_source_read(source, TM_BIT(counter), s, take_counters));
    if (s->cores < 1)
        return CM_OK;
    CM_TRY(an_source_read(source, TM_BIT(sample), s, take_samples));
    CM_TRY(an_source_read(source, TM_BIT(run), s, take_runs));
    for (size_t i = 0; i < s->count; i++)
        learn_usual(s, &s->of[i]);
    for (size_t i = 0; i < s->f->outlier_count; i++)
        judge(s, &s->f->cases[i]);
    return CM_OK;
}

cm_status an_outlier_find_starved(an_outlier_finder *f)
{
    starving s = {.f = f};
    if (!an_source_has(f->source, TM_BIT(sample)))
        return CM_OK;
    cm_map_init(&s.counter_of);
    cm_status status = read_all(&s);
    for (size_t i = 0; i < s.count; i++)
        free(s.of[i].needed_ns);
    free(s.busy_ns);
    free(s.counters);
    cm_map_deinit(&s.counter_of);
    return status;
}
