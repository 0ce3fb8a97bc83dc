// SPDX-License-Identifier: MIT
// Joins all runs of a file, AN_JOIN_MAX_RUNS at a time, and adds them up by session.
#include "analysis/around.h"

#include "analysis/summary.h"
#include "analysis_util.h"

#include <math.h>
#include <stdlib.h>

#define MAX_SESSIONS 65536
#define MAX_KEYS     1024

// What could be told of runs; sampling alone tells nothing.
#define KINDS (TM_BIT(sched) | TM_BIT(fault) | TM_BIT(disk) | TM_BIT(counter))

// Many more keys than a run has slices.
typedef struct tally {
    int64_t key;
    double ns;
} tally;

typedef struct session_sums {
    an_around_session session;
    tally *by, *waits;
    size_t by_count, by_capacity, wait_count, wait_capacity;
    double others_by_ns, others_wait_ns;
} session_sums;

struct an_around {
    const an_source *source;
    session_sums *sums;
    size_t count, capacity;
    cm_map by_session;
    an_join *join; // the portion under way; the last one keeps the names
    bool several;  // portions
};

void an_around_destroy(an_around *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->count; i++) {
        free(m->sums[i].by);
        free(m->sums[i].waits);
    }
    free(m->sums);
    cm_map_deinit(&m->by_session);
    an_join_destroy(m->join);
    free(m);
}

// NULL with CM_OK: no room.
static cm_status get(an_around *m, int64_t session, session_sums **out)
{
    size_t at;
    *out = NULL;
    if (cm_map_find(&m->by_session, session, &at)) {
        *out = &m->sums[at];
        return CM_OK;
    }
    if (m->count == MAX_SESSIONS)
        return CM_OK;
    session_sums *sums = an_grow(m->sums, &m->capacity, m->count, sizeof *sums);
    if (!sums)
        return an_no_memory();
    m->sums = sums;
    if (!cm_map_put(&m->by_session, session, m->count))
        return an_no_memory();
    sums[m->count] = (session_sums){.session.session = session};
    *out = &sums[m->count++];
    return CM_OK;
}

static cm_status add_tally(tally **items, size_t *count, size_t *capacity, double *others,
                           const an_slices *from)
{
    *others += from->others_ns;
    for (size_t i = 0; i < from->count; i++) {
        size_t at = 0;
        while (at < *count && (*items)[at].key != from->of[i].key)
            at++;
        if (at == MAX_KEYS) {
            *others += from->of[i].ns;
            continue;
        }
        if (at == *count) {
            tally *larger = an_grow(*items, capacity, *count, sizeof *larger);
            if (!larger)
                return an_no_memory();
            *items = larger;
            larger[(*count)++] = (tally){.key = from->of[i].key};
        }
        (*items)[at].ns += from->of[i].ns;
    }
    return CM_OK;
}

static void add_mean(an_mean *to, double value)
{
    if (!an_known(value))
        return;
    to->sum += value;
    to->runs++;
}

static cm_status add_joined(session_sums *s, const an_join_run *run, const an_joined *n)
{
    an_around_session *to = &s->session;
    to->runs++;
    add_mean(&to->switches, n->switches);
    add_mean(&to->page_faults, n->page_faults);
    add_mean(&to->hard_faults, n->hard_faults);
    add_mean(&to->disk_transfers, n->disk_transfers);
    add_mean(&to->disk_ns, n->disk_ns);
    add_mean(&to->clock_percent, n->clock_percent);
    add_mean(&to->clock_mhz, n->clock_mhz);
    add_mean(&to->gpu_percent, n->gpu_percent);
    add_mean(&to->npu_percent, n->npu_percent);
    add_mean(&to->process_cpu, n->process_cpu);
    add_mean(&to->gap_ns, n->gap_ns);
    if (to->fault_source == AN_FAULTS_UNKNOWN)
        to->fault_source = n->fault_source;
    if (!an_known(n->on_cpu_ns))
        return CM_OK;
    to->covered++;
    to->time_ns += (double)run->duration_ns;
    to->on_cpu_ns += n->on_cpu_ns;
    to->ready_ns += n->ready_ns;
    to->preempted_ns += n->preempted_ns;
    to->waiting_ns += n->waiting_ns;
    to->unknown_ns += n->unknown_ns;
    CM_TRY(add_tally(&s->by, &s->by_count, &s->by_capacity, &s->others_by_ns, &n->preempted_by));
    return add_tally(&s->waits, &s->wait_count, &s->wait_capacity, &s->others_wait_ns, &n->waits);
}

// ---------------------------------------------------------------------------------------- portions

typedef struct portion {
    an_around *m;
    an_join_run *runs;
    size_t count;
} portion;

static cm_status join_portion(portion *p)
{
    an_around *m = p->m;
    an_join_destroy(m->join);
    m->join = NULL;
    CM_TRY(an_join_create(&m->join));
    for (size_t i = 0; i < p->count; i++)
        if (!an_join_add(m->join, &p->runs[i]))
            return an_no_memory();
    if (m->several)
        an_join_without_gaps(m->join);
    CM_TRY(an_join_read(m->join, m->source));
    for (size_t i = 0; i < p->count; i++) {
        session_sums *s;
        CM_TRY(get(m, p->runs[i].session, &s));
        if (s)
            CM_TRY(add_joined(s, &p->runs[i], an_join_get(m->join, i)));
    }
    p->count = 0;
    return CM_OK;
}

static cm_status take_runs(void *context, const tm_reader *r, const tm_block *b)
{
    (void)r;
    portion *p = context;
    for (size_t i = 0; i < b->row_count; i++) {
        if (p->count == AN_JOIN_MAX_RUNS) {
            p->m->several = true;
            CM_TRY(join_portion(p));
        }
        p->runs[p->count++] = (an_join_run){.session = b->columns[TM_run_session][i],
                                            .run = b->columns[TM_run_run][i],
                                            .thread = b->columns[TM_run_thread][i],
                                            .begin_ns = b->columns[TM_run_begin][i],
                                            .duration_ns = b->columns[TM_run_duration][i],
                                            .in_flight = b->columns[TM_run_in_flight][i]};
    }
    return CM_OK;
}

static int largest_first(const void *a, const void *b)
{
    const tally *x = a, *y = b;
    if (x->ns < y->ns || x->ns > y->ns)
        return x->ns > y->ns ? -1 : 1;
    return (x->key > y->key) - (x->key < y->key);
}

static void keep_largest(an_slices *to, tally *items, size_t count, double others)
{
    if (count)
        qsort(items, count, sizeof *items, largest_first);
    to->others_ns = others;
    for (size_t i = 0; i < count; i++)
        an_slices_add(to, items[i].key, items[i].ns);
}

static cm_status join_all(an_around *m)
{
    portion p = {.m = m, .runs = malloc(AN_JOIN_MAX_RUNS * sizeof *p.runs)};
    if (!p.runs)
        return an_no_memory();
    cm_status status = an_source_read(m->source, TM_BIT(run), &p, take_runs);
    if (status == CM_OK && p.count)
        status = join_portion(&p);
    free(p.runs);
    for (size_t i = 0; i < m->count; i++) {
        session_sums *s = &m->sums[i];
        keep_largest(&s->session.preempted_by, s->by, s->by_count, s->others_by_ns);
        keep_largest(&s->session.waits, s->waits, s->wait_count, s->others_wait_ns);
        if (m->several)
            s->session.gap_ns = (an_mean){0};
    }
    return status;
}

cm_status an_around_read(const an_source *source, an_around **out)
{
    *out = NULL;
    if (!an_source_has(source, KINDS))
        return CM_OK;
    an_around *m = calloc(1, sizeof *m);
    if (!m)
        return an_no_memory();
    m->source = source;
    cm_map_init(&m->by_session);
    cm_status status = join_all(m);
    if (status == CM_OK)
        *out = m;
    else
        an_around_destroy(m);
    return status;
}

// --------------------------------------------------------------------------------------- questions

const an_around_session *an_around_of(const an_around *m, int64_t session)
{
    size_t at;
    return m && cm_map_find(&m->by_session, session, &at) ? &m->sums[at].session : NULL;
}

const char *an_around_process_name(const an_around *m, int64_t process)
{
    return m->join ? an_join_process_name(m->join, process) : "";
}

double an_mean_of(an_mean mean)
{
    return mean.runs ? mean.sum / (double)mean.runs : (double)NAN;
}

double an_around_share(const an_around_session *s, double of_ns)
{
    return s->time_ns > 0 ? of_ns / s->time_ns : (double)NAN;
}
