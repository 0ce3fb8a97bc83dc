// SPDX-License-Identifier: MIT
// Operators of a model in two recordings. Both sides are lists in order of name, type and domain,
// which are then gone through together; operators without a name are matched in order of type.
#include "diff_internal.h"

#include "analysis_util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct listed {
    an_op_identity identity;
    an_op_batches batches;
    size_t number; // in the file
} listed;

typedef struct list {
    listed *items;
    size_t count, capacity;
    int64_t runs_each;
    double runs[AN_OP_BATCHES]; // of each group of runs; 0: it does not count
} list;

// ----------------------------------------------------------------------------------- one side

static int by_identity(const listed *x, const listed *y)
{
    int order = strcmp(x->identity.node, y->identity.node);
    order = order ? order : strcmp(x->identity.op_type, y->identity.op_type);
    return order ? order : strcmp(x->identity.domain, y->identity.domain);
}

static int in_order(const void *a, const void *b)
{
    const listed *x = a, *y = b;
    int order = by_identity(x, y);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

// An operator outside others runs once a run, so that the most calls are the number of runs.
static void count_runs(list *l, int64_t warmup_end)
{
    for (size_t i = 0; i < l->count; i++) {
        an_op_batches *b = &l->items[i].batches;
        an_op_batches_widen(b, l->runs_each);
        for (size_t k = 0; k < AN_OP_BATCHES && !b->inside; k++)
            if ((double)b->calls[k] > l->runs[k])
                l->runs[k] = (double)b->calls[k];
    }
    for (size_t k = 0; k < AN_OP_BATCHES && (int64_t)k * l->runs_each < warmup_end; k++)
        l->runs[k] = 0;
}

static cm_status make_list(const an_summary *s, const an_session *n, an_warmup warmup, list *l)
{
    an_op_identity identity;
    const an_op_batches *batches;
    size_t at = 0;
    l->runs_each = 1;
    while ((batches = an_ops_next_batches(s->ops, n->id, &at, &identity)) != NULL) {
        listed *items = an_grow(l->items, &l->capacity, l->count, sizeof *items);
        if (!items)
            return an_no_memory();
        l->items = items;
        items[l->count] = (listed){identity, *batches, l->count};
        l->count++;
        l->runs_each = batches->runs_each > l->runs_each ? batches->runs_each : l->runs_each;
    }
    count_runs(l, an_warmup_end(n, warmup));
    if (l->count)
        qsort(l->items, l->count, sizeof *l->items, in_order);
    return CM_OK;
}

// ------------------------------------------------------------------------------------- both sides

// Adds what `from` took to one side of an operator.
static cm_status add_times(an_diff_op *op, int side, const list *l, const listed *from)
{
    if (!op->values[side]) {
        op->values[side] = calloc(AN_OP_BATCHES, sizeof(double));
        if (!op->values[side])
            return an_no_memory();
    }
    double runs = 0, self_ns = 0, calls = 0;
    size_t count = 0;
    for (size_t k = 0; k < AN_OP_BATCHES; k++) {
        if (!(l->runs[k] > 0))
            continue;
        op->values[side][count++] += from->batches.self_ns[k] / l->runs[k];
        runs += l->runs[k];
        self_ns += from->batches.self_ns[k];
        calls += (double)from->batches.calls[k];
    }
    op->here[side] = true;
    op->value_count[side] = count;
    op->self_ns[side] += runs > 0 ? self_ns / runs : 0;
    op->calls[side] += runs > 0 ? calls / runs : 0;
    return CM_OK;
}

static cm_status add_nodes(an_diff_ops *ops, const list lists[2])
{
    size_t at[2] = {0, 0};
    ops->items = calloc(lists[0].count + lists[1].count + 1, sizeof *ops->items);
    if (!ops->items)
        return an_no_memory();
    while (at[0] < lists[0].count || at[1] < lists[1].count) {
        const listed *old_op = at[0] < lists[0].count ? &lists[0].items[at[0]] : NULL;
        const listed *new_op = at[1] < lists[1].count ? &lists[1].items[at[1]] : NULL;
        int order = !old_op ? 1 : !new_op ? -1 : by_identity(old_op, new_op);
        an_diff_op *op = &ops->items[ops->count++];
        op->identity = order <= 0 ? old_op->identity : new_op->identity;
        if (order <= 0) {
            CM_TRY(add_times(op, 0, &lists[0], old_op));
            at[0]++;
        }
        if (order >= 0) {
            CM_TRY(add_times(op, 1, &lists[1], new_op));
            at[1]++;
        }
    }
    return CM_OK;
}

static an_diff_op *type_of(an_diff_ops *ops, const an_op_identity *identity)
{
    for (size_t i = 0; i < ops->count; i++)
        if (strcmp(ops->items[i].identity.op_type, identity->op_type) == 0 &&
            strcmp(ops->items[i].identity.domain, identity->domain) == 0)
            return &ops->items[i];
    an_diff_op *op = &ops->items[ops->count++];
    op->identity = (an_op_identity){"", identity->op_type, identity->domain, ""};
    return op;
}

static cm_status add_types(an_diff_ops *ops, const list lists[2])
{
    ops->items = calloc(lists[0].count + lists[1].count + 1, sizeof *ops->items);
    if (!ops->items)
        return an_no_memory();
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < lists[side].count; i++) {
            const listed *from = &lists[side].items[i];
            CM_TRY(add_times(type_of(ops, &from->identity), side, &lists[side], from));
        }
    return CM_OK;
}

// ---------------------------------------------------------------------------------------- judging

cm_status an_diff_op_change(const an_diff_op *op, double margin, double error, an_change *out)
{
    an_change c = {an_only_value(op->here[0] ? op->self_ns[0] : (double)NAN),
                   an_only_value(op->here[1] ? op->self_ns[1] : (double)NAN), an_no_interval,
                   an_no_interval, AN_INCONCLUSIVE};
    c.shift = an_interval_difference(c.old_value, c.new_value);
    c.ratio = an_interval_ratio(c.old_value, c.new_value);
    if (op->here[0] && op->here[1]) {
        an_interval shift;
        CM_TRY(an_shift_interval(op->values[0], op->value_count[0], op->values[1],
                                 op->value_count[1], error, &shift));
        for (int side = 0; side < 2; side++) {
            an_interval *value = side ? &c.new_value : &c.old_value;
            *value = an_mean_interval(op->values[side], op->value_count[side], error);
            value->value = op->self_ns[side];
        }
        if (an_interval_bounded(shift)) {
            c.shift = shift;
            // Of the middle of the old groups, which the shift is about, not of their mean.
            an_interval middle;
            CM_TRY(an_quantile_interval(op->values[0], op->value_count[0], 0.5, error, &middle));
            if (middle.value > 0)
                c.ratio =
                    (an_interval){1 + shift.value / middle.value, 1 + shift.low / middle.value,
                                  1 + shift.high / middle.value};
        }
        c.verdict = an_judge_ratio(c.ratio, margin, false);
    }
    *out = c;
    return CM_OK;
}

static double difference(const an_diff_op *op)
{
    return fabs(op->self_ns[1] - op->self_ns[0]);
}

static int greatest_first(const void *a, const void *b)
{
    const an_diff_op *x = a, *y = b;
    double p = difference(x), q = difference(y);
    if (p > q || p < q)
        return p > q ? -1 : 1;
    int order = strcmp(x->identity.node, y->identity.node);
    order = order ? order : strcmp(x->identity.op_type, y->identity.op_type);
    return order ? order : strcmp(x->identity.domain, y->identity.domain);
}

static cm_status judge(an_diff_ops *ops, double margin, double error)
{
    size_t compared = 0;
    for (size_t i = 0; i < ops->count; i++)
        compared += ops->items[i].here[0] && ops->items[i].here[1];
    for (size_t i = 0; i < ops->count; i++)
        CM_TRY(an_diff_op_change(&ops->items[i], margin, error / (double)(compared ? compared : 1),
                                 &ops->items[i].change));
    if (ops->count)
        qsort(ops->items, ops->count, sizeof *ops->items, greatest_first);
    return CM_OK;
}

static cm_status compare_lists(const an_diff *d, an_diff_group *g, const list lists[2],
                               double error)
{
    if (lists[0].count == 0 || lists[1].count == 0)
        return CM_OK; // not recorded on one side: nothing to compare
    CM_TRY(add_nodes(&g->nodes, lists));
    CM_TRY(add_types(&g->types, lists));
    CM_TRY(judge(&g->nodes, d->margin, error));
    return judge(&g->types, d->margin, error);
}

cm_status an_diff_compare_ops(const an_diff *d, an_diff_group *g, double error)
{
    list lists[2] = {{0}, {0}};
    cm_status status = CM_OK;
    for (int side = 0; side < 2 && status == CM_OK; side++)
        status = make_list(d->sides[side], g->parts[side].sessions[0], d->warmup, &lists[side]);
    if (status == CM_OK)
        status = compare_lists(d, g, lists, error);
    free(lists[0].items);
    free(lists[1].items);
    return status;
}

void an_diff_ops_deinit(an_diff_ops *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        free(ops->items[i].values[0]);
        free(ops->items[i].values[1]);
    }
    free(ops->items);
}
