// SPDX-License-Identifier: MIT
// The parts of a summary that need more readings of the file: the machine around the runs, threads,
// and how many FLOPs a session took where energy was measured.
#include "summary_join.h"
#include "analysis/around.h"
#include "analysis/devices.h"
#include "analysis/flops.h"
#include "analysis/outliers.h"
#include "analysis/summary.h"
#include "analysis/threads.h"

#include <math.h>
#include <string.h>

static cm_status take_block(void *context, const tm_reader *reader, const tm_block *block)
{
    return an_ops_add(context, reader, block);
}

// What is counted by definition (flops.h); NAN if that is not known of all executions, or operators
// of some runs are missing.
static cm_status count_flops(const an_ops *ops, const an_session *n, double *out)
{
    an_op_choice choice = {.by = AN_BY_NODE, .has_session = true, .session = n->id};
    an_op_table *table = NULL;
    double flops = 0;
    bool known = an_ops_runs_of(ops, n->id) == n->runs;
    CM_TRY(an_ops_table(ops, &choice, &table));
    for (size_t i = 0; i < table->row_count; i++) {
        const an_op_row *row = &table->rows[i];
        double of_row = an_op_flops(row);
        if (an_known(of_row))
            flops += of_row;
        else if (an_flops_has_formula(row->op_type))
            known = false;
    }
    an_op_table_destroy(table);
    *out = known ? flops : (double)NAN;
    return CM_OK;
}

static cm_status read_flops(an_summary *s, const an_source *source)
{
    an_ops *ops = NULL;
    an_meter meter;
    if (!an_ops_any(s->ops) || an_ops_untold(s->ops) || an_meters(&s->counters, &meter, 1) == 0)
        return CM_OK;
    CM_TRY(an_ops_create(&(an_op_options){.runs = true, .flops = true}, &ops));
    cm_status status = an_source_read(source,
                                      TM_BIT(kernel) | TM_BIT(kernel_shape) | TM_BIT(shape) |
                                          TM_BIT(tensor) | TM_BIT(run) | TM_BIT(session),
                                      ops, take_block);
    if (status == CM_OK)
        status = an_source_read(source, TM_BIT(op) | TM_BIT(op_choice), ops, take_block);
    if (status == CM_OK)
        status = an_ops_finish(ops);
    double all = 0;
    for (size_t i = 0; status == CM_OK && i < s->session_count; i++) {
        double flops = (double)NAN;
        an_session *n = &s->sessions[i];
        if (n->runs == 0)
            continue;
        status = count_flops(ops, n, &flops);
        n->flops = flops > 0 ? flops : (double)NAN;
        all += flops; // one that is not known makes all of it so
    }
    s->flops = all > 0 ? all : (double)NAN;
    an_ops_destroy(ops);
    return status;
}

cm_status an_summary_join(an_summary *s, const an_source *source)
{
    CM_TRY(an_around_read(source, &s->around));
    CM_TRY(an_threads_read(source, &s->threads));
    const an_outlier_options outliers = {.factor = s->options.outlier_factor};
    CM_TRY(an_outliers_find(source, s, &outliers, &s->outliers));
    return read_flops(s, source);
}

void an_summary_forget_join(an_summary *s)
{
    an_around_destroy(s->around);
    an_threads_destroy(s->threads);
    an_outliers_destroy(s->outliers);
}

double an_session_flops_per_run(const an_session *n)
{
    return n->runs ? n->flops / (double)n->runs : (double)NAN;
}

double an_session_flop_per_joule(const an_summary *s, const an_session *n, double joules)
{
    for (size_t i = 0; i < s->session_count; i++)
        if (&s->sessions[i] != n && s->sessions[i].runs)
            return (double)NAN;
    return joules > 0 ? n->flops / joules : (double)NAN;
}
