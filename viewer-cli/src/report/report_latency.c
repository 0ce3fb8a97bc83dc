// SPDX-License-Identifier: MIT
// One reading of all runs: the points of the latency chart, and which runs stand for the others.
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define MOST_WITH_OPS 1000000 // runs of which it is noted that they have operators

static cm_status no_memory(void)
{
    return cm_fail(CM_NO_MEMORY, "There is not enough memory for the report.");
}

int64_t vw_rp_run_key(int64_t session, int64_t run)
{
    return (int64_t)((uint64_t)session << 40 ^ (uint64_t)run);
}

// -------------------------------------------------------------------------------- which sessions

static double time_of(const an_session *n)
{
    return n->latency.mean * (double)n->latency.count;
}

static int most_time_first(const void *a, const void *b)
{
    const an_session *x = *(const an_session *const *)a, *y = *(const an_session *const *)b;
    if (time_of(x) != time_of(y))
        return time_of(x) > time_of(y) ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static int by_creation(const void *a, const void *b)
{
    const an_session *x = *(const an_session *const *)a, *y = *(const an_session *const *)b;
    return (x->id > y->id) - (x->id < y->id);
}

static cm_status add_session(vw_rp_latency *l, const an_session *n, size_t points)
{
    vw_rp_session *s = &l->sessions[l->count];
    s->session = n;
    s->p50_ns = cm_histogram_percentile(&n->latency, 500000);
    s->p99_ns = cm_histogram_percentile(&n->latency, 990000);
    s->decimated = n->runs > points;
    s->point_room = s->decimated ? points : (size_t)n->runs;
    s->points = calloc(s->point_room + 1, sizeof *s->points);
    uint64_t span = n->last_end_ns > n->first_begin_ns
                        ? (uint64_t)n->last_end_ns - (uint64_t)n->first_begin_ns
                        : 0;
    s->stretch_ns = (int64_t)(span / (points / 2)) + 1;
    if (!s->points || !cm_map_put(&l->by_id, n->id, l->count))
        return no_memory();
    l->count++;
    return CM_OK;
}

static cm_status choose_sessions(vw_rp_latency *l, const an_summary *s)
{
    const an_session **order = malloc((s->session_count + 1) * sizeof *order);
    size_t count = 0, kept;
    if (!order)
        return no_memory();
    for (size_t i = 0; i < s->session_count; i++)
        if (!vw_session_failed(&s->sessions[i]))
            order[count++] = &s->sessions[i];
    qsort(order, count, sizeof(const an_session *), most_time_first);
    kept = count < VW_RP_SESSIONS ? count : VW_RP_SESSIONS;
    l->left_out = count - kept;
    qsort(order, kept, sizeof(const an_session *), by_creation);
    size_t points = kept ? VW_RP_POINTS / kept : 0;
    cm_status status = CM_OK;
    for (size_t i = 0; i < kept && status == CM_OK; i++)
        status =
            add_session(l, order[i], points < VW_RP_SESSION_POINTS ? points : VW_RP_SESSION_POINTS);
    free(order);
    return status;
}

// ------------------------------------------------------------------------------ which have
// operators

static cm_status note_ops(void *context, const tm_reader *reader, const tm_block *b)
{
    (void)reader;
    vw_rp_latency *l = context;
    int64_t last = 0;
    for (size_t row = 0; row < b->row_count && l->with_ops.count < MOST_WITH_OPS; row++) {
        int64_t run = b->columns[TM_op_run][row];
        int64_t key = vw_rp_run_key(b->columns[TM_op_session][row], run);
        if (run > 0 && key != last && !cm_map_put(&l->with_ops, key, 1))
            return no_memory();
        last = key;
    }
    return CM_OK;
}

static cm_status find_runs_with_ops(vw_rp_latency *l, const an_summary *s, const an_source *source)
{
    int64_t value;
    an_op_kept kept = an_ops_kept(s->ops, &value);
    if (kept == AN_KEPT_ALL || kept == AN_KEPT_NONE)
        return CM_OK;
    return an_source_read(source, TM_BIT(op), l, note_ops);
}

// ---------------------------------------------------------------------------------------- the runs

static uint64_t distance(int64_t a, uint64_t b)
{
    uint64_t x = a > 0 ? (uint64_t)a : 0;
    return x > b ? x - b : b - x;
}

static void take_nearest(vw_rp_point *best, const vw_rp_point *p, uint64_t wanted)
{
    if (best->run == 0 || distance(p->duration_ns, wanted) < distance(best->duration_ns, wanted))
        *best = *p;
}

static void take_slow(vw_rp_point *slowest, const vw_rp_point *p)
{
    size_t at = 3;
    while (at > 0 && (slowest[at - 1].run == 0 || slowest[at - 1].duration_ns < p->duration_ns))
        at--;
    if (at == 3)
        return;
    memmove(&slowest[at + 1], &slowest[at], (2 - at) * sizeof *slowest);
    slowest[at] = *p;
}

static void take_representative(const vw_rp_latency *l, vw_rp_session *s, const vw_rp_point *p)
{
    size_t found;
    if (s->first.run == 0 || p->begin_ns < s->first.begin_ns)
        s->first = *p;
    take_slow(s->slowest, p);
    if (l->with_ops.count &&
        !cm_map_find(&l->with_ops, vw_rp_run_key(s->session->id, p->run), &found))
        return;
    take_nearest(&s->median, p, s->p50_ns);
    take_nearest(&s->p99, p, s->p99_ns);
}

static void take_point(vw_rp_session *s, const vw_rp_point *p)
{
    if (!s->decimated) {
        if (s->point_count < s->point_room)
            s->points[s->point_count++] = *p;
        return;
    }
    int64_t since = p->begin_ns > s->session->first_begin_ns
                        ? (int64_t)((uint64_t)p->begin_ns - (uint64_t)s->session->first_begin_ns)
                        : 0;
    size_t most = s->point_room / 2 - 1;
    size_t at = (size_t)(since / s->stretch_ns);
    vw_rp_point *pair = &s->points[2 * (at < most ? at : most)];
    if (pair[0].run == 0 || p->duration_ns < pair[0].duration_ns)
        pair[0] = *p;
    if (pair[1].run == 0 || p->duration_ns > pair[1].duration_ns)
        pair[1] = *p;
}

static cm_status take_runs(void *context, const tm_reader *reader, const tm_block *b)
{
    (void)reader;
    vw_rp_latency *l = context;
    for (size_t row = 0; row < b->row_count; row++) {
        size_t at;
        if (!cm_map_find(&l->by_id, b->columns[TM_run_session][row], &at))
            continue;
        vw_rp_session *s = &l->sessions[at];
        int64_t duration = b->columns[TM_run_duration][row];
        vw_rp_point p = {.begin_ns = b->columns[TM_run_begin][row],
                         .duration_ns = duration > 0 ? duration : 0,
                         .run = b->columns[TM_run_run][row],
                         .thread = b->columns[TM_run_thread][row],
                         .in_flight = b->columns[TM_run_in_flight][row],
                         .status = b->columns[TM_run_status][row]};
        if (p.run <= 0)
            continue;
        if (p.status == 0) {
            take_point(s, &p);
            take_representative(l, s, &p);
        } else if (s->failed_count < VW_RP_FAILED) {
            s->failed[s->failed_count++] = p;
        }
    }
    return CM_OK;
}

static int by_begin(const void *a, const void *b)
{
    const vw_rp_point *x = a, *y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->run > y->run) - (x->run < y->run);
}

// Pairs become points: empty stretches and runs that are both least and greatest go.
static void finish(vw_rp_session *s)
{
    size_t kept = 0, count = s->decimated ? s->point_room : s->point_count;
    for (size_t i = 0; i < count; i++) {
        bool twice = s->decimated && i % 2 == 1 && s->points[i].run == s->points[i - 1].run;
        if (s->points[i].run != 0 && !twice)
            s->points[kept++] = s->points[i];
    }
    s->point_count = kept;
    qsort(s->points, kept, sizeof *s->points, by_begin);
}

cm_status vw_rp_latency_read(vw_rp_latency *l, const an_summary *s, const an_source *source)
{
    cm_map_init(&l->by_id);
    cm_map_init(&l->with_ops);
    CM_TRY(choose_sessions(l, s));
    CM_TRY(find_runs_with_ops(l, s, source));
    CM_TRY(an_source_read(source, TM_BIT(run), l, take_runs));
    for (size_t i = 0; i < l->count; i++)
        finish(&l->sessions[i]);
    return CM_OK;
}

void vw_rp_latency_deinit(vw_rp_latency *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->sessions[i].points);
    cm_map_deinit(&l->by_id);
    cm_map_deinit(&l->with_ops);
}
