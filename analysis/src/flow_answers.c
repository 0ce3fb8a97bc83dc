// SPDX-License-Identifier: MIT
// What the sessions of a flow have come to, and questions to it (see analysis/flow.h).
#include "analysis_util.h"
#include "flow_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int most_frequent(const void *a, const void *b)
{
    const an_transition *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    int order = strcmp(x->from, y->from);
    return order ? order : strcmp(x->to, y->to);
}

static int busiest(const void *a, const void *b)
{
    const an_pool_thread *x = a, *y = b;
    if (x->busy_ns != y->busy_ns)
        return x->busy_ns < y->busy_ns ? 1 : -1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

static int by_session(const void *a, const void *b)
{
    const an_flow_gather *x = a, *y = b;
    return (x->result.session > y->result.session) - (x->result.session < y->result.session);
}

// Keeps the heaviest operators of the paths of all runs.
static void add_to_path(an_flow_session *s, const an_kernel *k, const an_flow_kernel *of)
{
    an_path_op now = {k->node, k->op_type, k->domain, k->provider, of->path_ns, of->path_count};
    size_t at = s->path_kept;
    while (at > 0 && s->path[at - 1].path_ns < now.path_ns)
        at--;
    if (at == AN_FLOW_PATH)
        return;
    size_t stay = s->path_kept < AN_FLOW_PATH ? s->path_kept : AN_FLOW_PATH - 1;
    memmove(&s->path[at + 1], &s->path[at], (stay - at) * sizeof now);
    s->path[at] = now;
    s->path_kept = stay + 1;
}

cm_status an_flow_settle(an_flow *f)
{
    if (f->session_count)
        qsort(f->sessions, f->session_count, sizeof *f->sessions, by_session);
    cm_map_deinit(&f->session_by_id);
    cm_map_init(&f->session_by_id);
    for (size_t i = 0; i < f->session_count; i++) {
        an_flow_session *s = &f->sessions[i].result;
        if (s->transition_count)
            qsort(s->transitions, s->transition_count, sizeof *s->transitions, most_frequent);
        if (s->pool_count)
            qsort(s->pool, s->pool_count, sizeof *s->pool, busiest);
        if (!cm_map_put(&f->session_by_id, s->session, i))
            return an_no_memory();
    }
    for (size_t i = 0; i < f->ops->kernel_count; i++) {
        size_t at;
        if (f->kernels[i].path_count &&
            cm_map_find(&f->session_by_id, f->ops->kernels[i].session, &at))
            add_to_path(&f->sessions[at].result, &f->ops->kernels[i], &f->kernels[i]);
    }
    an_flow_find_pairs(f);
    return CM_OK;
}

// --------------------------------------------------------------------------------------- questions

size_t an_flow_count(const an_flow *f)
{
    return f->session_count;
}

const an_flow_session *an_flow_get(const an_flow *f, size_t at)
{
    return &f->sessions[at].result;
}

uint64_t an_flow_lost(const an_flow *f)
{
    return f->lost;
}

static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : (double)NAN;
}

double an_flow_parallel_share(const an_flow_session *s)
{
    return share_of(s->several_ns, s->run_ns);
}

double an_flow_path_share(const an_flow_session *s)
{
    return share_of(s->path_ns, s->run_ns);
}

double an_flow_pool_idle_ns(const an_flow_session *s)
{
    double idle = (double)s->covered_ns * (double)s->pool_count - (double)s->pool_busy_ns;
    return s->pool_count == 0 ? (double)NAN : idle > 0 ? idle : 0;
}

double an_flow_pool_idle_share(const an_flow_session *s)
{
    double all = (double)s->covered_ns * (double)s->pool_count;
    return all > 0 ? an_flow_pool_idle_ns(s) / all : (double)NAN;
}

uint64_t an_flow_copy_ns(const an_flow_session *s)
{
    return an_add_saturating(s->to_host_ns, s->from_host_ns);
}

const char *an_flow_basis(void)
{
    return "order of execution";
}
