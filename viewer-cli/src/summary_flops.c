// SPDX-License-Identifier: MIT
// The FLOPs of a whole recording, to compare energy with. They need the shapes before the
// operators, so the file is read twice more; only where somebody measured energy.
#include "analysis/devices.h"
#include "analysis/flops.h"
#include "summary_view.h"
#include "timeline_input.h"

#include <math.h>

static cm_status add_kinds(const char *path, uint64_t kinds, an_ops *ops)
{
    tm_reader *reader = NULL;
    tm_block block;
    CM_TRY(vw_open_timeline(path, &reader));
    tm_reader_only(reader, kinds);
    cm_status status;
    while ((status = tm_reader_next(reader, &block)) == CM_OK)
        if ((status = an_ops_add(ops, reader, &block)) != CM_OK)
            break;
    tm_reader_close(reader);
    return status == CM_END ? CM_OK : status;
}

static double sum(const an_ops *ops)
{
    const an_op_choice choice = {.by = AN_BY_TYPE};
    an_op_table *table = NULL;
    double flops = 0;
    if (an_ops_table(ops, &choice, &table) != CM_OK)
        return (double)NAN;
    for (size_t i = 0; i < table->row_count; i++)
        if (an_flops_has_formula(table->rows[i].op_type))
            flops += an_op_flops(&table->rows[i]); // one that is not known makes all of it so
    an_op_table_destroy(table);
    return flops > 0 ? flops : (double)NAN;
}

double vw_summary_flops(const char *path, const an_summary *s)
{
    an_meter meter;
    int64_t unused;
    an_ops *ops = NULL;
    double flops = (double)NAN;
    if (an_meters(&s->counters, &meter, 1) == 0 || !an_ops_any(s->ops) ||
        an_ops_kept(s->ops, &unused) != AN_KEPT_ALL)
        return flops;
    if (an_ops_create(&(an_op_options){.flops = true}, &ops) == CM_OK &&
        add_kinds(path,
                  TM_BIT(kernel) | TM_BIT(kernel_shape) | TM_BIT(shape) | TM_BIT(tensor) |
                      TM_BIT(run) | TM_BIT(session) | TM_BIT(op_choice),
                  ops) == CM_OK &&
        add_kinds(path, TM_BIT(op), ops) == CM_OK && an_ops_finish(ops) == CM_OK)
        flops = sum(ops);
    an_ops_destroy(ops);
    return flops;
}
