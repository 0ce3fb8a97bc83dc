// SPDX-License-Identifier: MIT
// Questions to tables of operators, and how their time compares with that of the runs.
#include "analysis_util.h"
#include "ops_internal.h"

#include <math.h>

double an_op_share(const an_op_table *t, const an_op_row *row)
{
    return t->all.self_ns ? (double)row->sums.self_ns / (double)t->all.self_ns : NAN;
}

double an_op_mean_ns(const an_op_row *row)
{
    return row->sums.calls ? (double)row->sums.total_ns / (double)row->sums.calls : NAN;
}

double an_op_percentile_ns(const an_op_row *row, uint32_t millionths)
{
    const cm_histogram *h = row->durations;
    return h && h->count ? (double)cm_histogram_percentile(h, millionths) : NAN;
}

double an_op_variation(const an_op_row *row)
{
    uint64_t calls = row->sums.calls;
    if (calls <= row->means || row->sums.total_ns == 0)
        return NAN;
    return sqrt(row->scatter / (double)(calls - row->means)) / an_op_mean_ns(row);
}

size_t an_ops_most_variable(const an_op_table *nodes, an_variable_op *out, size_t capacity)
{
    size_t count = 0;
    for (size_t i = 0; i < nodes->row_count && i < AN_VARIABLE_ROWS; i++) {
        const an_op_row *row = &nodes->rows[i];
        an_variable_op now = {row, an_op_percentile_ns(row, 500000),
                              an_op_percentile_ns(row, 990000), NAN};
        now.ratio = now.p99_ns / now.p50_ns;
        if (!row->durations || row->durations->count < AN_VARIABLE_CALLS || !(now.p50_ns > 0) ||
            !(an_op_share(nodes, row) >= AN_VARIABLE_SHARE))
            continue;
        size_t at = count < capacity ? count : capacity;
        for (; at > 0 && out[at - 1].ratio < now.ratio; at--)
            if (at < capacity)
                out[at] = out[at - 1];
        if (at < capacity)
            out[at] = now;
        count += count < capacity;
    }
    return count;
}

double an_op_flops(const an_op_row *row)
{
    const an_op_sums *s = &row->sums;
    return s->calls && s->flops_calls == s->calls ? s->flops : NAN;
}

double an_op_gflops_per_s(const an_op_row *row)
{
    return row->sums.total_ns ? an_op_flops(row) / (double)row->sums.total_ns : NAN;
}

// Not known where no operator has allocated anything: nobody recorded it.
static double per_call(const an_op_table *t, const an_op_row *row, uint64_t value)
{
    bool known = t->all.allocations && row->sums.calls;
    return known ? (double)value / (double)row->sums.calls : (double)NAN;
}

double an_op_bytes_per_call(const an_op_table *t, const an_op_row *row)
{
    return per_call(t, row, row->sums.allocated_bytes);
}

double an_op_allocations_per_call(const an_op_table *t, const an_op_row *row)
{
    return per_call(t, row, row->sums.allocations);
}

an_op_time an_op_time_of(const an_op_sums *s)
{
    return s->submitted == 0          ? AN_TIME_EXECUTION
           : s->submitted == s->calls ? AN_TIME_SUBMISSION
                                      : AN_TIME_MIXED;
}

const char *an_op_time_name(an_op_time time)
{
    static const char *const names[] = {"execution", "submission", "mixed"};
    return names[time];
}

// ---------------------------------------------------------------------------- operators and runs

void an_ops_add_choice(an_ops *o, const tm_block *b)
{
    for (size_t row = 0; row < b->row_count; row++) {
        int64_t mode = b->columns[TM_op_choice_mode][row];
        o->kept = mode > 0 && mode <= AN_KEPT_SLOWEST ? (an_op_kept)mode : AN_KEPT_ALL;
        o->kept_value = b->columns[TM_op_choice_value][row];
        int64_t left_out = b->columns[TM_op_choice_left_out][row];
        o->left_out = left_out > 0 ? (uint64_t)left_out : 0;
    }
}

an_op_kept an_ops_kept(const an_ops *o, int64_t *out_value)
{
    *out_value = o->kept_value;
    return o->kept;
}

uint64_t an_ops_left_out(const an_ops *o)
{
    return o->left_out;
}

uint64_t an_ops_runs_of(const an_ops *o, int64_t session)
{
    uint64_t runs = 0;
    for (size_t i = 0; i < o->runs_with_ops.count; i++) {
        const an_run_range *r = &o->runs_with_ops.items[i];
        if (r->session == session)
            runs += (uint64_t)(r->last - r->first) + 1;
    }
    return runs;
}

void an_ops_add_run_time(const an_ops *o, const tm_block *b, const an_op_choice *choice,
                         an_op_runs *sums)
{
    sums->has_session = choice->has_session;
    sums->session = choice->session;
    for (size_t row = 0; b->kind == TM_KIND_run && row < b->row_count; row++) {
        int64_t session = b->columns[TM_run_session][row];
        int64_t duration = b->columns[TM_run_duration][row];
        if (choice->has_session && session != choice->session)
            continue;
        sums->runs++;
        if (!an_run_ranges_find(&o->runs_with_ops, session, b->columns[TM_run_run][row]))
            continue;
        sums->with_ops++;
        sums->with_ops_ns =
            an_add_saturating(sums->with_ops_ns, duration > 0 ? (uint64_t)duration : 0);
    }
}

// Of slow runs there are few: one that was under way at the end, of which there is no row, weighs.
static bool all_have_ended(const an_ops *o, const an_op_runs *runs)
{
    uint64_t with_ops = 0;
    if (o->kept != AN_KEPT_LONGER && o->kept != AN_KEPT_SLOWEST)
        return true;
    for (size_t i = 0; i < o->runs_with_ops.count; i++) {
        const an_run_range *r = &o->runs_with_ops.items[i];
        if (!runs->has_session || r->session == runs->session)
            with_ops += (uint64_t)(r->last - r->first) + 1;
    }
    return with_ops == runs->with_ops;
}

double an_op_run_time_ns(const an_ops *o, const an_op_table *t, const an_op_runs *runs)
{
    bool comparable = o->options.runs && o->runs_with_ops.complete && t->all.ambiguous == 0 &&
                      !o->left_out && all_have_ended(o, runs);
    return comparable && runs->with_ops_ns ? (double)runs->with_ops_ns : NAN;
}
