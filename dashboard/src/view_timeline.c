// SPDX-License-Identifier: MIT
// The operators of a run or of a span: from memory where it has all of them, else from the file.
#include "timeline_data.h"

#include <stdlib.h>
#include <string.h>

static int64_t to_ns(const da_live *l, double s)
{
    double at = s < 0 ? da_seconds(l->now_ns) + s : s;
    return at <= 0 ? 0 : at > 9e9 ? INT64_MAX : (int64_t)(at * 1e9);
}

// ----------------------------------------------------------------------------------- what is meant

// The newest run of the session whose operators have come, however many runs have none (--ops
// sample, slow); NULL if none has.
static const da_run *newest_with_ops(const da_session *s)
{
    for (size_t i = s->recent.count; i > 0; i--) {
        const da_run *r = da_ring_at(&s->recent, i - 1);
        if (da_run_op_count(s, r->run))
            return r;
    }
    return s->with_ops.run ? &s->with_ops : NULL;
}

static const da_run *newest_of(const da_session *s, bool with_ops)
{
    return with_ops ? newest_with_ops(s) : da_ring_newest(&s->recent);
}

static bool choose_newest(const da_live *l, da_wanted *w, bool with_ops)
{
    const da_run *newest = NULL;
    int64_t found = w->session;
    for (size_t i = 0; i < l->session_count; i++) {
        const da_session *s = l->sessions[i];
        const da_run *r = w->has_session && s->id != w->session ? NULL : newest_of(s, with_ops);
        if (!r ||
            (newest && r->begin_ns + r->duration_ns <= newest->begin_ns + newest->duration_ns))
            continue;
        newest = r;
        w->run = r->run;
        found = s->id;
    }
    w->session = found;
    w->has_session = w->has_session || newest;
    return newest;
}

// A number of a run alone means that of the session that ran last.
static void choose_session(const da_live *l, da_wanted *w)
{
    int64_t newest = -1;
    for (size_t i = 0; i < l->session_count; i++) {
        if (l->sessions[i]->last_end_ns <= newest)
            continue;
        newest = l->sessions[i]->last_end_ns;
        w->session = l->sessions[i]->id;
        w->has_session = true;
    }
}

static cm_status choose(const da_live *l, const da_span *q, da_wanted *out)
{
    *out =
        (da_wanted){.has_session = q->has_session, .session = q->session, .given_up = q->given_up};
    if (q->has_session && !da_session_find(l, q->session))
        return cm_fail(CM_NOT_FOUND, "There is no session %lld.", (long long)q->session);
    if (!q->has_run && (q->has_from || q->has_to)) {
        out->from_ns = q->has_from ? to_ns(l, q->from_s) : 0;
        out->to_ns = q->has_to ? to_ns(l, q->to_s) : INT64_MAX;
        return CM_OK;
    }
    out->one_run = true;
    out->run = q->run;
    if (!q->has_run && !choose_newest(l, out, true) && !choose_newest(l, out, false))
        return cm_fail(CM_NOT_FOUND, "There was no run yet.");
    if (q->has_run && !q->has_session)
        choose_session(l, out);
    return CM_OK;
}

// -------------------------------------------------------------------------------------- in memory

// False where operators of the run are no longer in memory.
static bool take_run(da_timeline *t, const da_session *s, const da_run *r, const da_wanted *w)
{
    if (!da_timeline_wants(w, s->id, r->run, r->begin_ns, r->duration_ns))
        return true;
    const da_timeline_run run = {s->id,          r->run,    r->thread,   r->begin_ns,
                                 r->duration_ns, r->status, r->in_flight};
    da_timeline_add_run(t, &run);
    return r->run > s->ops_gone;
}

static bool take_runs(da_timeline *t, const da_session *s, const da_wanted *w)
{
    bool whole = !s->with_ops.run || take_run(t, s, &s->with_ops, w);
    for (size_t i = 0; i < s->recent.count && whole; i++)
        whole = take_run(t, s, da_ring_at(&s->recent, i), w);
    return whole;
}

static void take_ops(da_timeline *t, const da_live *l, const da_session *s)
{
    for (size_t i = 0; i < s->ops.count; i++) {
        const da_op *op = da_ring_at(&s->ops, i);
        const da_timeline_op taken = {.thread = op->thread,
                                      .begin_ns = op->begin_ns,
                                      .duration_ns = op->duration_ns,
                                      .depth = op->depth,
                                      .failed = (op->flags & 4) != 0};
        da_timeline_add_op(t, s->id, op->run, l->kernels[op->kernel].id, &taken);
    }
}

static void take_tensors(da_timeline *t, const da_live *l, const da_kernel *k)
{
    const da_tensor *tensors = (const da_tensor *)(const void *)l->tensors.data;
    for (uint32_t at = k->last_tensor; at; at = tensors[at - 1].before) {
        const da_timeline_tensor tensor = {.index = tensors[at - 1].index,
                                           .name = tensors[at - 1].name,
                                           .made = tensors[at - 1].made};
        da_timeline_add_tensor(t, k->id, &tensor);
    }
}

static void take_kernels(da_timeline *t, const da_live *l)
{
    const da_timeline_kernel *kernels = (const da_timeline_kernel *)(const void *)t->kernels.data;
    for (size_t i = 0; i < t->kernels.len / sizeof *kernels; i++) {
        size_t at;
        if (!cm_map_find(&l->kernel_by_id, kernels[i].id, &at))
            continue;
        const da_kernel *k = &l->kernels[at];
        const da_timeline_kernel kernel = {.id = k->id,
                                           .node = k->node,
                                           .op_type = k->op_type,
                                           .kernel_class = k->kernel_class,
                                           .domain = k->domain,
                                           .provider = k->provider,
                                           .submits = k->submits};
        da_timeline_set_kernel(t, &kernel);
        take_tensors(t, l, k);
        t->tensors_missing = t->tensors_missing || k->tensors_missing;
    }
}

// Whether memory reaches back to the begin of a span.
static bool reaches_back(const da_session *s, const da_wanted *w)
{
    const da_run *oldest = s->recent.count ? da_ring_at(&s->recent, 0) : NULL;
    return s->recent.count == s->runs || (oldest && oldest->begin_ns <= w->from_ns);
}

static bool from_memory(da_timeline *t, const da_live *l, const da_wanted *w)
{
    for (size_t i = 0; i < l->session_count; i++) {
        if (w->has_session && l->sessions[i]->id != w->session)
            continue;
        if ((!w->one_run && !reaches_back(l->sessions[i], w)) || !take_runs(t, l->sessions[i], w))
            return false;
        take_ops(t, l, l->sessions[i]);
    }
    take_kernels(t, l);
    return !w->one_run || da_timeline_run_count(t);
}

static const char *text_in_memory(const void *context, int64_t id)
{
    return da_text(context, id);
}

static const char *text_in_file(const void *context, int64_t id)
{
    return tm_reader_string(context, id);
}

static cm_status read_file(cm_json *j, const char *path, uint32_t capture, const da_wanted *w)
{
    da_timeline t;
    tm_reader *reader = NULL;
    da_timeline_init(&t, "file");
    cm_status status = path ? da_timeline_from_file(&t, path, w, &reader)
                            : cm_fail(CM_NOT_FOUND, "There is no such run.");
    if (status == CM_OK)
        da_timeline_write(j, &t, capture, text_in_file, reader);
    tm_reader_close(reader);
    da_timeline_deinit(&t);
    return status;
}

cm_status da_view_timeline(cm_json *j, da_live *l, uint32_t capture, const da_span *q)
{
    da_timeline t;
    da_wanted w;
    char *path = NULL;
    bool in_memory = false;
    da_timeline_init(&t, "memory");
    da_lock(l);
    cm_status status = choose(l, q, &w);
    if (status == CM_OK)
        in_memory = from_memory(&t, l, &w);
    if (in_memory)
        da_timeline_write(j, &t, capture, text_in_memory, l);
    else if (status == CM_OK && l->file)
        path = strdup(l->file);
    da_unlock(l);
    da_timeline_deinit(&t);
    // The file is read without the lock: it may be long.
    if (status == CM_OK && !in_memory)
        status = read_file(j, path, capture, &w);
    free(path);
    return status;
}
