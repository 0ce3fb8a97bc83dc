// SPDX-License-Identifier: MIT
// Gathers the executions of each run until the run is complete (see analysis/flow.h). A run's row
// and its operators come from different threads' rings and so from different blocks: runs stay open
// as long as there is room, and those that began first are taken first. Must never keep more than
// AN_FLOW_WINDOW executions, whatever a file says.
#include "analysis/flow.h"

#include "analysis/fusion.h"
#include "analysis_util.h"
#include "flow_internal.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DOUBTS 1024
#define LOOK_BACK  8 // spans of doubt that an execution may extend
#define NOT_OPEN   SIZE_MAX

enum { FLAG_LOADING = 1 }; // of op rows

cm_status an_flow_create(const an_ops *ops, const an_flow_choice *choice, an_flow **out)
{
    an_flow *f = calloc(1, sizeof *f);
    if (!f)
        return an_no_memory();
    f->ops = ops;
    if (choice)
        f->choice = *choice;
    f->kernels = calloc(ops->kernel_count + 1, sizeof *f->kernels);
    if (!f->kernels) {
        an_flow_destroy(f);
        return an_no_memory();
    }
    for (size_t i = 0; i < ops->kernel_count; i++)
        f->kernels[i].kind =
            (uint8_t)an_op_kind_of(ops->kernels[i].op_type, ops->kernels[i].domain);
    *out = f;
    return CM_OK;
}

void an_flow_destroy(an_flow *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->run_count; i++)
        free(f->runs[i].items);
    for (size_t i = 0; i < f->session_count; i++) {
        free(f->sessions[i].result.pool);
        free(f->sessions[i].result.transitions);
        free(f->sessions[i].doubts);
    }
    free(f->kernels);
    free(f->sessions);
    free(f->runs);
    free(f->outer);
    free(f->begins);
    cm_map_deinit(&f->session_by_id);
    cm_map_deinit(&f->run_by_hash);
    free(f);
}

// ------------------------------------------------------------------------------------- find or add

// *out is NULL when there is no room for another one.
static cm_status get_session(an_flow *f, int64_t id, an_flow_gather **out)
{
    size_t at;
    *out = NULL;
    if (!cm_map_find(&f->session_by_id, id, &at)) {
        if (f->session_count == AN_FLOW_SESSIONS)
            return CM_OK;
        an_flow_gather *sessions =
            an_grow(f->sessions, &f->session_capacity, f->session_count, sizeof *sessions);
        if (!sessions)
            return an_no_memory();
        f->sessions = sessions;
        at = f->session_count++;
        sessions[at] = (an_flow_gather){.result = {.session = id}, .covered_until_ns = INT64_MIN};
        if (!cm_map_put(&f->session_by_id, id, at))
            return an_no_memory();
    }
    *out = &f->sessions[at];
    return CM_OK;
}

static bool is_run(const an_flow_run *r, int64_t session, int64_t run)
{
    return r->session == session && r->run == run;
}

// Where the map has the run, or would have it; *at is NOT_OPEN then.
static int64_t find_run(const an_flow *f, int64_t session, int64_t run, size_t *at)
{
    uint64_t hash = ((uint64_t)session * 0x9e3779b97f4a7c15u ^ (uint64_t)run) * 0x100000001b3u;
    while (cm_map_find(&f->run_by_hash, (int64_t)hash, at)) {
        if (is_run(&f->runs[*at], session, run))
            return (int64_t)hash;
        hash++;
    }
    *at = NOT_OPEN;
    return (int64_t)hash;
}

static cm_status open_run(an_flow *f, int64_t session, int64_t run, an_flow_run **out)
{
    size_t at = f->last_run;
    if (at >= f->run_count || !is_run(&f->runs[at], session, run)) {
        int64_t hash = find_run(f, session, run, &at);
        if (at == NOT_OPEN) {
            an_flow_run *runs = an_grow(f->runs, &f->run_capacity, f->run_count, sizeof *runs);
            if (!runs)
                return an_no_memory();
            f->runs = runs;
            at = f->run_count++;
            runs[at] = (an_flow_run){.session = session, .run = run, .begin_ns = INT64_MAX};
            if (!cm_map_put(&f->run_by_hash, hash, at))
                return an_no_memory();
        }
    }
    f->last_run = at;
    *out = &f->runs[at];
    return CM_OK;
}

// ------------------------------------------------------------------------- executions without a
// run

static int by_begin(const void *a, const void *b)
{
    const an_doubt *x = a, *y = b;
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static void join_doubt(an_doubt *into, const an_doubt *other)
{
    into->begin_ns = other->begin_ns < into->begin_ns ? other->begin_ns : into->begin_ns;
    into->end_ns = other->end_ns > into->end_ns ? other->end_ns : into->end_ns;
}

// Half as many: what lies between two neighbours becomes doubtful too.
static void halve_doubts(an_flow_gather *s)
{
    qsort(s->doubts, s->doubt_count, sizeof *s->doubts, by_begin);
    size_t kept = 0;
    for (size_t i = 0; i + 1 < s->doubt_count; i += 2) {
        s->doubts[kept] = s->doubts[i];
        join_doubt(&s->doubts[kept++], &s->doubts[i + 1]);
    }
    s->doubt_count = kept;
}

static cm_status add_doubt(an_flow_gather *s, int64_t begin_ns, int64_t end_ns)
{
    an_doubt now = {begin_ns, end_ns};
    for (size_t back = 1; back <= LOOK_BACK && back <= s->doubt_count; back++) {
        an_doubt *d = &s->doubts[s->doubt_count - back];
        if (begin_ns <= d->end_ns && end_ns >= d->begin_ns) {
            join_doubt(d, &now);
            return CM_OK;
        }
    }
    if (s->doubt_count == MAX_DOUBTS)
        halve_doubts(s);
    an_doubt *doubts = an_grow(s->doubts, &s->doubt_capacity, s->doubt_count, sizeof *doubts);
    if (!doubts)
        return an_no_memory();
    s->doubts = doubts;
    doubts[s->doubt_count++] = now;
    return CM_OK;
}

static bool is_doubtful(const an_flow_gather *s, const an_flow_run *run)
{
    for (size_t i = 0; i < s->doubt_count; i++)
        if (s->doubts[i].begin_ns < run->end_ns && s->doubts[i].end_ns > run->begin_ns)
            return true;
    return false;
}

// ------------------------------------------------------------------------------------ complete
// runs

static void give_up(an_flow *f, an_flow_run *run)
{
    f->item_count -= run->count;
    free(run->items);
    run->items = NULL;
    run->count = run->capacity = 0;
}

static cm_status close_run(an_flow *f, an_flow_run *run)
{
    an_flow_gather *s;
    cm_status status = get_session(f, run->session, &s);
    bool whole = run->has_row && !run->failed && !run->dropped;
    if (status == CM_OK && s) {
        if (run->has_row && run->count == 0 && !run->dropped && !is_doubtful(s, run))
            s->result.without_ops++;
        else if (!whole || is_doubtful(s, run))
            s->result.left_out++;
        else
            status = an_flow_take(f, s, run);
    }
    give_up(f, run);
    return status;
}

// Those with a row first, in order of their begins.
static int first_to_close(const void *a, const void *b)
{
    const an_flow_run *x = a, *y = b;
    if (x->has_row != y->has_row)
        return x->has_row ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    return (x->run > y->run) - (x->run < y->run);
}

static cm_status find_again(an_flow *f)
{
    cm_map_deinit(&f->run_by_hash);
    cm_map_init(&f->run_by_hash);
    for (size_t i = 0; i < f->run_count; i++) {
        size_t at;
        int64_t hash = find_run(f, f->runs[i].session, f->runs[i].run, &at);
        if (!cm_map_put(&f->run_by_hash, hash, i))
            return an_no_memory();
    }
    return CM_OK;
}

// Closes runs until there are no more than so many, with so many executions. Runs that have no row
// yet are still under way: of those only the executions are given up, unless there are too many. So
// is what belongs to a run that does not fit by itself.
static cm_status close_runs(an_flow *f, size_t runs, size_t items)
{
    size_t closed = 0;
    if (items && f->last_run < f->run_count && f->runs[f->last_run].count > items) {
        f->runs[f->last_run].dropped = true; // too long, and not at its end yet
        give_up(f, &f->runs[f->last_run]);
    }
    if (f->run_count)
        qsort(f->runs, f->run_count, sizeof *f->runs, first_to_close);
    for (; closed < f->run_count; closed++) {
        bool full = f->run_count - closed > runs || f->item_count > items;
        if (!full || (!f->runs[closed].has_row && f->run_count - closed <= runs))
            break;
        cm_status status = close_run(f, &f->runs[closed]);
        if (status != CM_OK)
            return status;
    }
    f->run_count -= closed;
    if (f->run_count && closed)
        memmove(f->runs, f->runs + closed, f->run_count * sizeof *f->runs);
    for (size_t i = 0; i < f->run_count && f->item_count > items; i++) {
        give_up(f, &f->runs[i]);
        f->runs[i].dropped = true;
    }
    f->last_run = 0;
    return find_again(f);
}

// -------------------------------------------------------------------------------------------- rows

static bool is_chosen(const an_flow *f, int64_t session, int64_t run)
{
    return (!f->choice.has_session || session == f->choice.session) &&
           (!f->choice.has_run || run == f->choice.run || run <= 0);
}

static cm_status add_run(an_flow *f, const tm_block *b, size_t row)
{
    int64_t session = b->columns[TM_run_session][row], run = b->columns[TM_run_run][row];
    int64_t duration = b->columns[TM_run_duration][row];
    an_flow_run *r;
    if (!is_chosen(f, session, run) || run <= 0)
        return CM_OK;
    if (f->run_count >= AN_FLOW_RUNS)
        CM_TRY(close_runs(f, AN_FLOW_RUNS / 2, AN_FLOW_WINDOW));
    CM_TRY(open_run(f, session, run, &r));
    r->has_row = true;
    r->begin_ns = b->columns[TM_run_begin][row];
    r->end_ns = an_add_clamped(r->begin_ns, duration > 0 ? duration : 0);
    r->thread = b->columns[TM_run_thread][row];
    r->failed = b->columns[TM_run_status][row] != 0;
    return CM_OK;
}

static cm_status add_item(an_flow *f, an_flow_run *r, an_flow_item item)
{
    if (r->dropped)
        return CM_OK;
    an_flow_item *items = an_grow(r->items, &r->capacity, r->count, sizeof *items);
    if (!items)
        return an_no_memory();
    r->items = items;
    items[r->count++] = item;
    if (!r->has_row && item.begin_ns < r->begin_ns)
        r->begin_ns = item.begin_ns;
    f->item_count++;
    return CM_OK;
}

static cm_status add_op(an_flow *f, const tm_block *b, size_t row)
{
    int64_t session = b->columns[TM_op_session][row], run = b->columns[TM_op_run][row];
    int64_t begin = b->columns[TM_op_begin][row], duration = b->columns[TM_op_duration][row];
    int64_t end = an_add_clamped(begin, duration > 0 ? duration : 0);
    int64_t depth = b->columns[TM_op_depth][row];
    size_t kernel = 0, thread = AN_NEST_THREADS;
    an_flow_run *r;
    if ((b->columns[TM_op_flags][row] & FLAG_LOADING) || !is_chosen(f, session, run))
        return CM_OK;
    if (run <= 0) {
        an_flow_gather *s;
        CM_TRY(get_session(f, session, &s));
        return s ? add_doubt(s, begin, end) : CM_OK;
    }
    if (f->item_count >= AN_FLOW_WINDOW || f->run_count >= AN_FLOW_RUNS)
        CM_TRY(close_runs(f, AN_FLOW_RUNS / 2, AN_FLOW_WINDOW / 2));
    CM_TRY(open_run(f, session, run, &r));
    if (!an_ops_find_kernel(f->ops, b->columns[TM_op_kernel][row], &f->next_kernel, &kernel)) {
        r->dropped = true; // one that there was no room for
        return CM_OK;
    }
    (void)cm_map_find(&f->ops->nesting.thread_by_id, b->columns[TM_op_thread][row], &thread);
    return add_item(f, r,
                    (an_flow_item){.begin_ns = begin,
                                   .end_ns = end,
                                   .kernel = (uint32_t)kernel,
                                   .thread = (uint32_t)thread,
                                   .depth = depth < 0                ? 0
                                            : depth > AN_NEST_DEPTHS ? AN_NEST_DEPTHS
                                                                     : (int32_t)depth});
}

cm_status an_flow_add(an_flow *f, const tm_block *b)
{
    for (size_t row = 0; row < b->row_count; row++) {
        if (b->kind == TM_KIND_run)
            CM_TRY(add_run(f, b, row));
        else if (b->kind == TM_KIND_op)
            CM_TRY(add_op(f, b, row));
        else if (b->kind == TM_KIND_lost && b->columns[TM_lost_events][row] > 0)
            f->lost = an_add_saturating(f->lost, (uint64_t)b->columns[TM_lost_events][row]);
    }
    return CM_OK;
}

cm_status an_flow_finish(an_flow *f)
{
    CM_TRY(close_runs(f, 0, 0));
    return an_flow_settle(f);
}
