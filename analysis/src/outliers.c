// SPDX-License-Identifier: MIT
// Leads the search for outliers (see outliers.h) and picks them: one reading to learn what is
// usual, one to pick, then evidence about those that were picked and about some usual runs.
#include "outlier_internal.h"

#include "analysis_util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t an_outlier_run_key(int64_t session, int64_t run)
{
    return (int64_t)((uint64_t)session << 40 ^ (uint64_t)run);
}

// ----------------------------------------------------------------------------- the slowest of them

// The cases are a heap while they are picked, with the least slow one on top.
static double ratio(const an_case *c)
{
    return (double)c->run.duration_ns / (c->usual_ns > 0 ? c->usual_ns : 1);
}

static bool is_slower(const an_case *a, const an_case *b)
{
    double x = ratio(a), y = ratio(b);
    return x > y || (!(x < y) && a->run.begin_ns < b->run.begin_ns);
}

static void swap_cases(an_case *a, an_case *b)
{
    an_case c = *a;
    *a = *b;
    *b = c;
}

static void sift_up(an_case *cases, size_t at)
{
    for (; at > 0 && is_slower(&cases[(at - 1) / 2], &cases[at]); at = (at - 1) / 2)
        swap_cases(&cases[at], &cases[(at - 1) / 2]);
}

static void sift_down(an_case *cases, size_t count, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (is_slower(&cases[least], &cases[child]))
                least = child;
        if (least == at)
            return;
        swap_cases(&cases[at], &cases[least]);
        at = least;
    }
}

static cm_status add_outlier(an_outlier_finder *f, const an_case *c)
{
    if (f->count == AN_OUTLIERS_MOST) {
        if (is_slower(c, &f->cases[0])) {
            f->cases[0] = *c;
            sift_down(f->cases, f->count, 0);
        }
        return CM_OK;
    }
    an_case *cases = an_grow(f->cases, &f->capacity, f->count, sizeof *cases);
    if (!cases)
        return an_no_memory();
    f->cases = cases;
    cases[f->count] = *c;
    sift_up(cases, f->count++);
    return CM_OK;
}

// ----------------------------------------------------------------------------------------- picking

// Every so many of them.
static cm_status add_usual(an_outlier_finder *f, an_outlier_session *s, const an_case *c)
{
    s->usual_runs++;
    if (s->until_next > 0) {
        s->until_next--;
        return CM_OK;
    }
    s->until_next = s->stride - 1;
    if (f->usual_count == AN_OUTLIER_USUAL)
        return CM_OK;
    an_case *cases = an_grow(f->usual_cases, &f->usual_capacity, f->usual_count, sizeof *cases);
    if (!cases)
        return an_no_memory();
    f->usual_cases = cases;
    cases[f->usual_count++] = *c;
    s->sampled++;
    return CM_OK;
}

static void count_circumstance(an_circumstance *c, const an_case *n)
{
    c->runs++;
    c->slow += (double)n->run.duration_ns > AN_OUTLIER_SLOW * n->usual_ns;
}

static cm_status pick(an_outlier_finder *f, an_case *c)
{
    an_outlier_session *s = &f->sessions[c->session];
    const an_run_time *first = &s->session->first;
    int64_t end = an_add_clamped(c->run.begin_ns, c->run.duration_ns);
    double gap = (double)c->run.begin_ns - (double)s->last_end_ns;
    bool idle = s->last_end_ns != INT64_MIN && gap >= AN_OUTLIER_IDLE_NS && c->run.in_flight <= 1;
    s->last_end_ns = end > s->last_end_ns ? end : s->last_end_ns;
    c->first = s->from_start && c->run.begin_ns == first->begin_ns &&
               (uint64_t)c->run.duration_ns == first->latency_ns;
    bool warmup = c->run.run > 0 && c->run.run <= s->warmup_end;
    if (!an_known(c->usual_ns) || (warmup && !c->first))
        return CM_OK;
    c->new_shape =
        !c->first && an_outlier_is_new_shape(f, c->session, c->inputs, c->run.run, c->run.begin_ns);
    if (idle && !c->first)
        count_circumstance(&s->idle, c);
    if (c->new_shape)
        count_circumstance(&s->new_shape, c);
    c->outlier = (double)c->run.duration_ns > f->options.factor * c->usual_ns;
    if (!c->outlier)
        return c->first ? CM_OK : add_usual(f, s, c);
    s->outliers++;
    return add_outlier(f, c);
}

static cm_status pick_block(void *context, const tm_reader *r, const tm_block *b)
{
    (void)r;
    an_outlier_finder *f = context;
    for (size_t i = 0; i < b->row_count; i++) {
        an_case c = {.run = {.session = b->columns[TM_run_session][i],
                             .run = b->columns[TM_run_run][i],
                             .thread = b->columns[TM_run_thread][i],
                             .begin_ns = b->columns[TM_run_begin][i],
                             .duration_ns = b->columns[TM_run_duration][i],
                             .in_flight = b->columns[TM_run_in_flight][i]},
                     .inputs = b->columns[TM_run_inputs][i],
                     .grown_bytes = (double)NAN,
                     .op_excess_ns = (double)NAN,
                     .ops_excess_ns = (double)NAN};
        if (b->columns[TM_run_status][i] != 0 ||
            !cm_map_find(&f->session_of, c.run.session, &c.session))
            continue;
        c.run.duration_ns = c.run.duration_ns > 0 ? c.run.duration_ns : 0;
        c.usual_ns = an_outlier_usual_of(f, c.session, c.inputs);
        CM_TRY(pick(f, &c));
    }
    return CM_OK;
}

static int by_session_and_begin(const void *a, const void *b)
{
    const an_case *x = a, *y = b;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    if (x->run.begin_ns != y->run.begin_ns)
        return x->run.begin_ns < y->run.begin_ns ? -1 : 1;
    return (x->run.run > y->run.run) - (x->run.run < y->run.run);
}

// The usual ones behind the outliers, if there are any.
static cm_status order_cases(an_outlier_finder *f)
{
    f->outlier_count = f->count;
    if (f->count == 0)
        return CM_OK;
    qsort(f->cases, f->count, sizeof *f->cases, by_session_and_begin);
    if (f->usual_count)
        qsort(f->usual_cases, f->usual_count, sizeof *f->usual_cases, by_session_and_begin);
    an_case *cases = realloc(f->cases, (f->count + f->usual_count) * sizeof *cases);
    if (!cases)
        return an_no_memory();
    f->cases = cases;
    if (f->usual_count)
        memcpy(cases + f->count, f->usual_cases, f->usual_count * sizeof *cases);
    f->count += f->usual_count;
    for (size_t i = f->count; i-- > 0;) // of two with the same numbers the outlier, and the first
        if (!cm_map_put(&f->case_of, an_outlier_run_key(cases[i].run.session, cases[i].run.run), i))
            return an_no_memory();
    return CM_OK;
}

// ------------------------------------------------------------------------------------------ result

static cm_status make_result(const an_outlier_finder *f, an_outliers *o)
{
    o->factor = f->options.factor;
    o->items = calloc(f->outlier_count + 1, sizeof *o->items);
    o->sessions = calloc(f->session_count + 1, sizeof *o->sessions);
    if (!o->items || !o->sessions)
        return an_no_memory();
    for (size_t i = 0; i < f->session_count; i++) {
        const an_outlier_session *s = &f->sessions[i];
        o->sessions[o->session_count++] = (an_session_outliers){.session = s->session->id,
                                                                .runs = s->latency.count,
                                                                .usual_ns = s->usual_ns,
                                                                .outliers = s->outliers};
    }
    for (size_t i = 0; i < f->outlier_count; i++) {
        an_session_outliers *s = &o->sessions[f->cases[i].session];
        if (s->explained++ == 0)
            s->first = i;
        CM_TRY(an_outlier_explain(f, i, o, &o->items[i]));
        o->count++;
    }
    return an_outlier_group_all(o);
}

static void deinit(an_outlier_finder *f)
{
    for (size_t i = 0; i < f->session_count; i++)
        cm_histogram_deinit(&f->sessions[i].latency);
    for (size_t i = 0; i < f->shape_count; i++)
        cm_histogram_deinit(&f->shapes[i].latency);
    free(f->sessions);
    free(f->shapes);
    free(f->cases);
    free(f->usual_cases);
    cm_map_deinit(&f->session_of);
    cm_map_deinit(&f->shape_of);
    cm_map_deinit(&f->case_of);
    an_join_destroy(f->join);
}

static cm_status find(an_outlier_finder *f, an_outliers *o)
{
    CM_TRY(an_outlier_sessions(f));
    CM_TRY(an_outlier_learn(f));
    CM_TRY(an_source_read(f->source, TM_BIT(run), f, pick_block));
    CM_TRY(order_cases(f));
    CM_TRY(an_outlier_gather(f));
    return make_result(f, o);
}

cm_status an_outliers_find(const an_source *source, const an_summary *summary,
                           const an_outlier_options *options, an_outliers **out)
{
    an_outlier_finder f = {.source = source, .summary = summary};
    if (options)
        f.options = *options;
    if (!(f.options.factor > 0))
        f.options.factor = AN_OUTLIER_FACTOR;
    cm_map_init(&f.session_of);
    cm_map_init(&f.shape_of);
    cm_map_init(&f.case_of);
    an_outliers *o = calloc(1, sizeof *o);
    cm_status status = o ? find(&f, o) : an_no_memory();
    deinit(&f);
    if (status == CM_OK)
        *out = o;
    else
        an_outliers_destroy(o);
    return status;
}

void an_outliers_destroy(an_outliers *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->session_count; i++)
        free(o->sessions[i].groups);
    for (size_t i = 0; i < o->text_count; i++)
        free(o->texts[i]);
    free(o->texts);
    free(o->sessions);
    free(o->items);
    free(o);
}

const an_session_outliers *an_outliers_of(const an_outliers *o, int64_t session)
{
    for (size_t i = 0; o && i < o->session_count; i++)
        if (o->sessions[i].session == session)
            return &o->sessions[i];
    return NULL;
}

const an_outlier *an_outliers_get(const an_outliers *o, int64_t session, int64_t run)
{
    const an_session_outliers *s = an_outliers_of(o, session);
    for (size_t i = 0; s && i < s->explained; i++)
        if (o->items[s->first + i].run == run)
            return &o->items[s->first + i];
    return NULL;
}
