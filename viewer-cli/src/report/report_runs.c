// SPDX-License-Identifier: MIT
// The chosen runs in full, all of them in one reading of the operators and one of everything else.
#include "report.h"

#include <stdlib.h>
#include <string.h>

static cm_status no_memory(void)
{
    return cm_fail(CM_NO_MEMORY, "There is not enough memory for the runs of the report.");
}

static void *grow(void *items, size_t *room, size_t count, size_t item_size)
{
    if (count < *room)
        return items;
    size_t wanted = *room ? *room * 2 : 64;
    void *grown = realloc(items, wanted * item_size);
    if (grown)
        *room = wanted;
    return grown;
}

// ------------------------------------------------------------------------------------ which runs

static cm_status choose(vw_rp_runs *r, int64_t session, const vw_rp_point *p, unsigned why)
{
    size_t at;
    if (p->run == 0)
        return CM_OK;
    int64_t key = vw_rp_run_key(session, p->run);
    if (cm_map_find(&r->by_run, key, &at)) {
        r->runs[at].why |= why;
        return CM_OK;
    }
    if (r->count == VW_RP_RUNS)
        return CM_OK;
    if (!cm_map_put(&r->by_run, key, r->count))
        return no_memory();
    r->runs[r->count++] = (vw_rp_run){.session = session, .of = *p, .why = why};
    return CM_OK;
}

static cm_status choose_outliers(vw_rp_runs *r, const an_summary *s, int64_t session)
{
    const an_outlier *worst[VW_RP_OUTLIER_RUNS];
    size_t count = vw_rp_worst_outliers(s, session, worst, VW_RP_OUTLIER_RUNS);
    for (size_t i = 0; i < count; i++) {
        const an_outlier *o = worst[i];
        const vw_rp_point p = {.begin_ns = o->begin_ns,
                               .duration_ns = o->duration_ns,
                               .run = o->run,
                               .thread = o->thread};
        CM_TRY(choose(r, session, &p, VW_RP_OUTLIER));
    }
    return CM_OK;
}

// What matters most first: with many sessions there is not room for all of each.
static cm_status choose_runs(vw_rp_runs *r, const vw_rp_latency *l, const an_summary *s)
{
    for (size_t i = 0; i < l->count; i++)
        CM_TRY(choose(r, l->sessions[i].session->id, &l->sessions[i].median, VW_RP_MEDIAN));
    for (size_t i = 0; i < l->count; i++)
        CM_TRY(choose(r, l->sessions[i].session->id, &l->sessions[i].slowest[0], VW_RP_SLOWEST));
    for (size_t i = 0; i < l->count; i++) {
        CM_TRY(choose(r, l->sessions[i].session->id, &l->sessions[i].first, VW_RP_FIRST));
        CM_TRY(choose(r, l->sessions[i].session->id, &l->sessions[i].p99, VW_RP_P99));
    }
    for (size_t i = 0; i < l->count; i++)
        CM_TRY(choose_outliers(r, s, l->sessions[i].session->id));
    for (size_t n = 1; n < 3; n++)
        for (size_t i = 0; i < l->count; i++)
            CM_TRY(
                choose(r, l->sessions[i].session->id, &l->sessions[i].slowest[n], VW_RP_SLOWEST));
    return CM_OK;
}

// ------------------------------------------------------------------------------- their operators

static cm_status kernel_place(vw_rp_runs *r, int64_t id, size_t *out)
{
    if (cm_map_find(&r->kernel_by_id, id, out))
        return CM_OK;
    vw_rp_kernel *kernels = grow(r->kernels, &r->kernel_room, r->kernel_count, sizeof *kernels);
    if (!kernels)
        return no_memory();
    r->kernels = kernels;
    if (!cm_map_put(&r->kernel_by_id, id, r->kernel_count))
        return no_memory();
    kernels[r->kernel_count] = (vw_rp_kernel){.id = id};
    *out = r->kernel_count++;
    return CM_OK;
}

static cm_status take_op(vw_rp_runs *r, vw_rp_run *run, const tm_block *b, size_t row)
{
    run->op_total++;
    if (run->op_count == VW_RP_READ_OPS)
        return CM_OK;
    vw_rp_op *ops = grow(run->ops, &run->op_room, run->op_count, sizeof *ops);
    if (!ops)
        return no_memory();
    run->ops = ops;
    size_t kernel;
    CM_TRY(kernel_place(r, b->columns[TM_op_kernel][row], &kernel));
    int64_t duration = b->columns[TM_op_duration][row], depth = b->columns[TM_op_depth][row];
    ops[run->op_count++] = (vw_rp_op){.kernel = kernel,
                                      .thread = b->columns[TM_op_thread][row],
                                      .begin_ns = b->columns[TM_op_begin][row],
                                      .duration_ns = duration > 0 ? duration : 0,
                                      .depth = depth < 0    ? 0
                                               : depth > 63 ? 63
                                                            : depth,
                                      .failed = (b->columns[TM_op_flags][row] & 4) != 0};
    return CM_OK;
}

static cm_status take_ops(void *context, const tm_reader *reader, const tm_block *b)
{
    (void)reader;
    vw_rp_runs *r = context;
    int64_t last_session = 0, last_run = 0;
    bool wanted = false;
    size_t at = 0;
    for (size_t row = 0; row < b->row_count; row++) {
        int64_t session = b->columns[TM_op_session][row], run = b->columns[TM_op_run][row];
        if (run <= 0)
            continue;
        if (session != last_session || run != last_run) {
            last_session = session;
            last_run = run;
            wanted = cm_map_find(&r->by_run, vw_rp_run_key(session, run), &at);
        }
        if (wanted)
            CM_TRY(take_op(r, &r->runs[at], b, row));
    }
    return CM_OK;
}

static cm_status read_kernels(vw_rp_runs *r, const an_source *source)
{
    tm_block b;
    cm_status status;
    CM_TRY(source->open(source->context, &r->reader));
    tm_reader_only(r->reader, TM_BIT(kernel));
    while ((status = tm_reader_next(r->reader, &b)) == CM_OK) {
        for (size_t row = 0; row < b.row_count; row++) {
            size_t at;
            if (!cm_map_find(&r->kernel_by_id, b.columns[TM_kernel_kernel][row], &at))
                continue;
            vw_rp_kernel *k = &r->kernels[at];
            k->node = b.columns[TM_kernel_node][row];
            k->op_type = b.columns[TM_kernel_op_type][row];
            k->kernel_class = b.columns[TM_kernel_kernel_class][row];
            k->domain = b.columns[TM_kernel_domain][row];
            k->provider = b.columns[TM_kernel_provider][row];
        }
    }
    return status == CM_END ? CM_OK : status;
}

static int longest_first(const void *a, const void *b)
{
    const vw_rp_op *x = a, *y = b;
    if (x->duration_ns != y->duration_ns)
        return x->duration_ns > y->duration_ns ? -1 : 1;
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static int by_thread_and_begin(const void *a, const void *b)
{
    const vw_rp_op *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->depth > y->depth) - (x->depth < y->depth);
}

void vw_rp_runs_keep(vw_rp_runs *r, size_t ops)
{
    size_t most = r->count ? ops / r->count : 0;
    for (size_t i = 0; i < r->kernel_count; i++)
        r->kernels[i].used = false;
    for (size_t i = 0; i < r->count; i++) {
        vw_rp_run *run = &r->runs[i];
        if (run->op_count > most) {
            qsort(run->ops, run->op_count, sizeof *run->ops, longest_first);
            run->op_count = most;
        }
        if (run->op_count)
            qsort(run->ops, run->op_count, sizeof *run->ops, by_thread_and_begin);
        for (size_t k = 0; k < run->op_count; k++)
            r->kernels[run->ops[k].kernel].used = true;
    }
}

// ---------------------------------------------------------------------------- the machine around
// them

static void take_piece(void *context, size_t run, const an_piece *piece)
{
    vw_rp_runs *r = context;
    if (r->piece_count == VW_RP_PIECES)
        r->pieces_left_out++;
    else
        r->pieces[r->piece_count++] = (vw_rp_piece){run, *piece};
}

static cm_status join_machine(vw_rp_runs *r, const an_source *source)
{
    CM_TRY(an_join_create(&r->join));
    for (size_t i = 0; i < r->count; i++) {
        const vw_rp_point *p = &r->runs[i].of;
        const an_join_run run = {r->runs[i].session, p->run,         p->thread,
                                 p->begin_ns,        p->duration_ns, p->in_flight};
        if (!an_join_add(r->join, &run))
            return no_memory();
    }
    an_join_tell_pieces(r->join, r, take_piece);
    return an_join_read(r->join, source);
}

cm_status vw_rp_runs_read(vw_rp_runs *r, const vw_rp_latency *l, const an_summary *s,
                          const an_source *source)
{
    cm_map_init(&r->by_run);
    cm_map_init(&r->kernel_by_id);
    CM_TRY(choose_runs(r, l, s));
    CM_TRY(an_source_read(source, TM_BIT(op), r, take_ops));
    CM_TRY(read_kernels(r, source));
    return join_machine(r, source);
}

void vw_rp_runs_deinit(vw_rp_runs *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->runs[i].ops);
    free(r->kernels);
    cm_map_deinit(&r->by_run);
    cm_map_deinit(&r->kernel_by_id);
    tm_reader_close(r->reader);
    an_join_destroy(r->join);
}
