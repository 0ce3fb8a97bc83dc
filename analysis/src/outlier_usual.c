// SPDX-License-Identifier: MIT
// What is usual: medians of sessions and of their inputs after warming up, and which run was the
// first with its inputs.
#include "outlier_internal.h"

#include "analysis/diff.h"
#include "analysis_util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SHAPES 65536 // whose first run is known; AN_MAX_SHAPES of them have a usual time

static cm_status add_session(an_outlier_finder *f, const an_session *n)
{
    an_outlier_session *sessions =
        an_grow(f->sessions, &f->session_capacity, f->session_count, sizeof *sessions);
    if (!sessions)
        return an_no_memory();
    f->sessions = sessions;
    an_outlier_session *s = &sessions[f->session_count];
    memset(s, 0, sizeof *s);
    s->session = n;
    s->from_start = an_known(an_session_first_ns(n));
    s->warmup_end = an_warmup_end(n, (an_warmup){AN_WARMUP_AUTO, 0});
    const double none = (double)NAN;
    s->usual = (an_usual){none, none, none, none, none, none, none, none, none};
    s->usual_ns = none;
    s->last_end_ns = INT64_MIN;
    cm_histogram_init(&s->latency);
    return cm_map_put(&f->session_of, n->id, f->session_count++) ? CM_OK : an_no_memory();
}

cm_status an_outlier_sessions(an_outlier_finder *f)
{
    for (size_t i = 0; i < f->summary->session_count; i++) {
        const an_session *n = &f->summary->sessions[i];
        bool wanted = !f->options.has_session || f->options.session == n->id;
        if (wanted && n->runs > n->failed_runs)
            CM_TRY(add_session(f, n));
    }
    return CM_OK;
}

// NULL with CM_OK: no room.
static cm_status get_shape(an_outlier_finder *f, int64_t id, an_shape_usual **out)
{
    size_t at;
    *out = NULL;
    if (cm_map_find(&f->shape_of, id, &at)) {
        *out = &f->shapes[at];
        return CM_OK;
    }
    if (f->shape_count == MAX_SHAPES)
        return CM_OK;
    an_shape_usual *shapes = an_grow(f->shapes, &f->shape_capacity, f->shape_count, sizeof *shapes);
    if (!shapes)
        return an_no_memory();
    f->shapes = shapes;
    if (!cm_map_put(&f->shape_of, id, f->shape_count))
        return an_no_memory();
    an_shape_usual *shape = &shapes[f->shape_count++];
    *shape = (an_shape_usual){.shape = id, .first_begin_ns = INT64_MAX};
    shape->counted = f->histograms < AN_MAX_SHAPES;
    f->histograms += shape->counted;
    cm_histogram_init(&shape->latency);
    *out = shape;
    return CM_OK;
}

static cm_status learn_run(an_outlier_finder *f, const tm_block *b, size_t i)
{
    size_t place;
    an_shape_usual *shape = NULL;
    int64_t run = b->columns[TM_run_run][i], inputs = b->columns[TM_run_inputs][i];
    int64_t begin = b->columns[TM_run_begin][i], duration = b->columns[TM_run_duration][i];
    if (b->columns[TM_run_status][i] != 0 ||
        !cm_map_find(&f->session_of, b->columns[TM_run_session][i], &place))
        return CM_OK;
    an_outlier_session *s = &f->sessions[place];
    if (inputs > 0)
        CM_TRY(get_shape(f, inputs, &shape));
    if (shape && begin < shape->first_begin_ns) {
        shape->first_begin_ns = begin;
        shape->first_run = run;
    }
    if (run > 0 && run <= s->warmup_end)
        return CM_OK;
    uint64_t latency = duration > 0 ? (uint64_t)duration : 0;
    cm_histogram_add(&s->latency, latency);
    if (shape && shape->counted)
        cm_histogram_add(&shape->latency, latency);
    return CM_OK;
}

static cm_status learn_block(void *context, const tm_reader *r, const tm_block *b)
{
    (void)r;
    for (size_t i = 0; i < b->row_count; i++)
        CM_TRY(learn_run(context, b, i));
    return CM_OK;
}

cm_status an_outlier_learn(an_outlier_finder *f)
{
    CM_TRY(an_source_read(f->source, TM_BIT(run), f, learn_block));
    uint64_t quota = f->session_count ? AN_OUTLIER_USUAL / f->session_count : 0;
    quota = quota > 512 ? 512 : quota < 16 ? 16 : quota;
    for (size_t i = 0; i < f->session_count; i++) {
        an_outlier_session *s = &f->sessions[i];
        s->stride = s->latency.count / quota + 1;
        if (s->latency.count >= AN_OUTLIER_FEWEST)
            s->usual_ns = (double)cm_histogram_percentile(&s->latency, 500000);
    }
    return CM_OK;
}

double an_outlier_usual_of(const an_outlier_finder *f, size_t session, int64_t inputs)
{
    size_t at;
    const an_outlier_session *s = &f->sessions[session];
    const an_generation *g = s->session->generation;
    if (!an_known(s->usual_ns))
        return (double)NAN;
    if (inputs > 0 && cm_map_find(&f->shape_of, inputs, &at) &&
        f->shapes[at].latency.count >= AN_OUTLIER_SHAPE_RUNS)
        return (double)cm_histogram_percentile(&f->shapes[at].latency, 500000);
    // With each token there is more to do: nothing is usual but for runs of the same length.
    return g && g->sequences ? (double)NAN : s->usual_ns;
}

bool an_outlier_is_new_shape(const an_outlier_finder *f, size_t session, int64_t inputs,
                             int64_t run, int64_t begin_ns)
{
    size_t at;
    if (!f->sessions[session].from_start || inputs <= 0 || !cm_map_find(&f->shape_of, inputs, &at))
        return false;
    return f->shapes[at].first_begin_ns == begin_ns && f->shapes[at].first_run == run;
}
