// SPDX-License-Identifier: MIT
// Evidence about the runs that are looked at: what the machine did (join.h), what arenas took,
// which other sessions ran; and what usual runs have of it all.
#include "outlier_internal.h"

#include "analysis_util.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MOST_AT_ONCE 256 // runs that one run of another session may lie in

// -------------------------------------------------------------------------------- arena growth

int an_growth_size(double bytes)
{
    int size = bytes >= 1 ? ilogb(bytes) : 0;
    return size < AN_GROWTH_SIZES ? size : AN_GROWTH_SIZES - 1;
}

static void take_growth(an_outlier_finder *f, const tm_block *b, size_t i)
{
    size_t place, at;
    int64_t session = b->columns[TM_run_memory_session][i];
    int64_t run = b->columns[TM_run_memory_run][i];
    double bytes = (double)b->columns[TM_run_memory_grown_bytes][i];
    if (run <= 0 || !cm_map_find(&f->session_of, session, &place))
        return;
    an_outlier_session *s = &f->sessions[place];
    an_case *c =
        cm_map_find(&f->case_of, an_outlier_run_key(session, run), &at) ? &f->cases[at] : NULL;
    if (c && (c->run.session != session || c->run.run != run))
        c = NULL;
    if (c)
        c->grown_bytes = bytes;
    if (bytes > 0 && (run > s->warmup_end || (c && c->outlier)))
        s->growths[c && c->outlier][an_growth_size(bytes)]++;
}

static cm_status take_growths(void *context, const tm_reader *r, const tm_block *b)
{
    (void)r;
    for (size_t i = 0; i < b->row_count; i++)
        take_growth(context, b, i);
    return CM_OK;
}

// ------------------------------------------------------------------------------- other sessions

typedef struct overlaps {
    an_outlier_finder *f;
    size_t *order;    // cases by begin
    int64_t *max_end; // of all cases up to this one
} overlaps;

typedef struct begin_of {
    int64_t begin_ns;
    size_t place;
} begin_of;

static int by_begin(const void *a, const void *b)
{
    const begin_of *x = a, *y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static int64_t end_of(const an_case *c)
{
    return an_add_clamped(c->run.begin_ns, c->run.duration_ns);
}

static cm_status order_by_begin(overlaps *o)
{
    const an_outlier_finder *f = o->f;
    begin_of *begins = malloc((f->count + 1) * sizeof *begins);
    if (!begins)
        return an_no_memory();
    for (size_t i = 0; i < f->count; i++)
        begins[i] = (begin_of){f->cases[i].run.begin_ns, i};
    if (f->count)
        qsort(begins, f->count, sizeof *begins, by_begin);
    for (size_t i = 0; i < f->count; i++) {
        int64_t end = end_of(&f->cases[begins[i].place]);
        o->order[i] = begins[i].place;
        o->max_end[i] = i > 0 && o->max_end[i - 1] > end ? o->max_end[i - 1] : end;
    }
    free(begins);
    return CM_OK;
}

static void take_other(const overlaps *o, int64_t session, int64_t begin, int64_t end)
{
    const an_outlier_finder *f = o->f;
    size_t low = 0, high = f->count;
    while (low < high) { // the first case that begins at `end` or later
        size_t middle = low + (high - low) / 2;
        if (f->cases[o->order[middle]].run.begin_ns < end)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t n = 0; low > 0 && n < MOST_AT_ONCE && o->max_end[low - 1] > begin; low--, n++) {
        an_case *c = &f->cases[o->order[low - 1]];
        int64_t from = c->run.begin_ns > begin ? c->run.begin_ns : begin;
        int64_t to = end_of(c) < end ? end_of(c) : end;
        if (c->run.session != session && to > from)
            an_slices_add(&c->others, session, (double)to - (double)from);
    }
}

static cm_status take_others(void *context, const tm_reader *r, const tm_block *b)
{
    (void)r;
    for (size_t i = 0; i < b->row_count; i++) {
        int64_t begin = b->columns[TM_run_begin][i], duration = b->columns[TM_run_duration][i];
        if (duration > 0)
            take_other(context, b->columns[TM_run_session][i], begin,
                       an_add_clamped(begin, duration));
    }
    return CM_OK;
}

static bool has_other(const an_case *c)
{
    double ns = c->others.others_ns;
    for (size_t i = 0; i < c->others.count; i++)
        ns += c->others.of[i].ns;
    return ns >= AN_OTHER_LEAST * (double)c->run.duration_ns && ns > 0;
}

// Of usual runs only some were looked at: each stands for others.
static void count_others(an_outlier_finder *f)
{
    for (size_t i = 0; i < f->count; i++) {
        an_case *c = &f->cases[i];
        an_outlier_session *s = &f->sessions[c->session];
        an_slices_sort(&c->others);
        if (!has_other(c))
            continue;
        double each = c->outlier ? 1 : (double)s->usual_runs / (double)s->sampled;
        bool slow = (double)c->run.duration_ns > AN_OUTLIER_SLOW * c->usual_ns;
        s->other_session.runs += each;
        s->other_session.slow += slow ? each : 0;
    }
}

static cm_status find_others(an_outlier_finder *f)
{
    size_t sessions = 0;
    for (size_t i = 0; i < f->summary->session_count; i++)
        sessions += f->summary->sessions[i].runs > 0;
    if (sessions < 2)
        return CM_OK;
    overlaps o = {.f = f,
                  .order = malloc((f->count + 1) * sizeof *o.order),
                  .max_end = malloc((f->count + 1) * sizeof *o.max_end)};
    cm_status status = o.order && o.max_end ? order_by_begin(&o) : an_no_memory();
    if (status == CM_OK)
        status = an_source_read(f->source, TM_BIT(run), &o, take_others);
    if (status == CM_OK)
        count_others(f);
    free(o.order);
    free(o.max_end);
    return status;
}

// ------------------------------------------------------------------------------------- what is
// usual

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, size_t count)
{
    if (count == 0)
        return (double)NAN;
    qsort(values, count, sizeof *values, ascending);
    return values[(count - 1) / 2];
}

typedef struct usual_fact {
    size_t of_joined, of_usual; // offsets
} usual_fact;

#define FACT(joined, usual)                                                                        \
    {                                                                                              \
        offsetof(an_joined, joined), offsetof(an_usual, usual)                                     \
    }

static double at(const void *of, size_t offset)
{
    double value;
    memcpy(&value, (const char *)of + offset, sizeof value);
    return value;
}

// Cases [from, to) are the usual runs of one session.
static void learn_session(an_outlier_finder *f, size_t from, size_t to, double *values)
{
    static const usual_fact facts[] = {FACT(preempted_ns, preempted_ns),
                                       FACT(ready_ns, ready_ns),
                                       FACT(waiting_ns, waiting_ns),
                                       FACT(hard_fault_ns, hard_fault_ns),
                                       FACT(disk_ns, disk_ns),
                                       FACT(page_faults, page_faults),
                                       FACT(hard_faults, hard_faults),
                                       FACT(clock_percent, clock_percent),
                                       FACT(limit_percent, limit_percent)};
    an_usual *usual = &f->sessions[f->cases[from].session].usual;
    for (size_t n = 0; n < sizeof facts / sizeof *facts; n++) {
        size_t count = 0;
        for (size_t i = from; i < to; i++) {
            double value = at(an_join_get(f->join, i), facts[n].of_joined);
            if (an_known(value))
                values[count++] = value;
        }
        double median = median_of(values, count);
        memcpy((char *)usual + facts[n].of_usual, &median, sizeof median);
    }
}

static cm_status learn_usual(an_outlier_finder *f)
{
    double *values = malloc((f->usual_count + 1) * sizeof *values);
    if (!values)
        return an_no_memory();
    for (size_t from = f->outlier_count, to; from < f->count; from = to) {
        for (to = from; to < f->count && f->cases[to].session == f->cases[from].session;)
            to++;
        learn_session(f, from, to, values);
    }
    free(values);
    return CM_OK;
}

static cm_status join_cases(an_outlier_finder *f)
{
    CM_TRY(an_join_create(&f->join));
    for (size_t i = 0; i < f->count; i++)
        if (!an_join_add(f->join, &f->cases[i].run))
            return an_no_memory();
    CM_TRY(an_join_read(f->join, f->source));
    return learn_usual(f);
}

cm_status an_outlier_gather(an_outlier_finder *f)
{
    if (f->outlier_count == 0)
        return CM_OK;
    CM_TRY(join_cases(f));
    CM_TRY(an_source_read(f->source, TM_BIT(run_memory), f, take_growths));
    CM_TRY(find_others(f));
    CM_TRY(an_outlier_find_starved(f));
    return an_outlier_find_operators(f);
}
