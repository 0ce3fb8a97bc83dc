// SPDX-License-Identifier: MIT
// The operator of each outlier that took longest above its usual time: the mean of its executions
// in other runs. Operators inside others (Loop, If, Scan) are part of those.
//
// Whatever stops a thread for a while makes the operator slow that happens to be under way. Where
// switches tell that the thread had its processor, the operator itself was slow. Where nobody told,
// chance decides: an operator that takes a part p of all operators' time is struck with that
// probability, so that out of n outliers with one slow operator each, k or more have this one with
// the binomial probability. Only what is less likely than 1 %, over all operators, stays.
#include "outlier_internal.h"

#include "analysis_util.h"
#include "ops_internal.h"

#include <math.h>
#include <stdlib.h>

#define CHANCE     0.01
#define ALONE      0.25 // of the slowest one's excess that the others may have together
#define MAX_STRUCK 4096 // different operators

#define ROUNDING_NS    1000000       // begins and durations are rounded apart
#define MAX_EXECUTIONS (1024 * 1024) // of outliers; what is beyond is left out

// Of an outlier.
typedef struct execution {
    uint32_t place, kernel; // in cases, in the kernels of the an_ops
    int64_t duration_ns;
} execution;

typedef struct op_time {
    uint64_t calls, total_ns;
} op_time;

typedef struct span {
    int64_t begin_ns, end_ns;
} span;

typedef struct op_pass {
    an_outlier_finder *f;
    int64_t session, run; // the last one that was looked up
    size_t found;         // its place, SIZE_MAX: no outlier
    execution *executions;
    size_t count, capacity;
    op_time *of_outliers; // by kernel
    span *spans;          // in order, apart from each other
    size_t span_count;
} op_pass;

static size_t look_up(op_pass *p, int64_t session, int64_t run)
{
    size_t at;
    if (p->session == session && p->run == run)
        return p->found;
    p->session = session;
    p->run = run;
    p->found = SIZE_MAX;
    if (run > 0 && cm_map_find(&p->f->case_of, an_outlier_run_key(session, run), &at)) {
        const an_case *c = &p->f->cases[at];
        if (c->outlier && c->run.session == session && c->run.run == run)
            p->found = at;
    }
    return p->found;
}

static cm_status take_ops(void *context, const tm_reader *r, const tm_block *b)
{
    (void)r;
    op_pass *p = context;
    for (size_t i = 0; i < b->row_count; i++) {
        size_t kernel, place = look_up(p, b->columns[TM_op_session][i], b->columns[TM_op_run][i]);
        if (place == SIZE_MAX || (b->columns[TM_op_flags][i] & 3) || p->count == MAX_EXECUTIONS ||
            !cm_map_find(&p->f->summary->ops->kernel_by_id, b->columns[TM_op_kernel][i], &kernel))
            continue;
        int64_t duration = b->columns[TM_op_duration][i];
        duration = duration > 0 ? duration : 0;
        p->of_outliers[kernel].calls++;
        p->of_outliers[kernel].total_ns =
            an_add_saturating(p->of_outliers[kernel].total_ns, (uint64_t)duration);
        if (b->columns[TM_op_depth][i] != 0)
            continue;
        execution *all = an_grow(p->executions, &p->capacity, p->count, sizeof *all);
        if (!all)
            return an_no_memory();
        p->executions = all;
        all[p->count++] = (execution){(uint32_t)place, (uint32_t)kernel, duration};
    }
    return CM_OK;
}

static int by_begin(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

// When outliers were under way: blocks of other times need not be read.
static cm_status find_spans(op_pass *p)
{
    const an_outlier_finder *f = p->f;
    p->spans = malloc((f->outlier_count + 1) * sizeof *p->spans);
    if (!p->spans)
        return an_no_memory();
    for (size_t i = 0; i < f->outlier_count; i++) {
        const an_join_run *run = &f->cases[i].run;
        p->spans[i] = (span){run->begin_ns, an_add_clamped(run->begin_ns, run->duration_ns)};
    }
    qsort(p->spans, f->outlier_count, sizeof *p->spans, by_begin);
    for (size_t i = 0; i < f->outlier_count; i++) {
        span *last = p->span_count ? &p->spans[p->span_count - 1] : NULL;
        if (!last || p->spans[i].begin_ns > last->end_ns)
            p->spans[p->span_count++] = p->spans[i];
        else if (p->spans[i].end_ns > last->end_ns)
            last->end_ns = p->spans[i].end_ns;
    }
    return CM_OK;
}

static bool is_wanted_time(void *context, int64_t first, int64_t last)
{
    const op_pass *p = context;
    size_t low = 0, high = p->span_count;
    while (low < high) { // the first one that begins after `last`
        size_t middle = low + (high - low) / 2;
        if (p->spans[middle].begin_ns <= an_add_clamped(last, ROUNDING_NS))
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && an_add_clamped(p->spans[low - 1].end_ns, ROUNDING_NS) >= first;
}

// The mean of its executions in other runs; NAN: there are none.
static double usual_time(const op_pass *p, size_t kernel)
{
    const an_op_sums *all = &p->f->summary->ops->cells[kernel].sums;
    const op_time *out = &p->of_outliers[kernel];
    if (all->calls <= out->calls || all->total_ns < out->total_ns)
        return (double)NAN;
    return (double)(all->total_ns - out->total_ns) / (double)(all->calls - out->calls);
}

static void find_slowest(op_pass *p)
{
    for (size_t i = 0; i < p->count; i++) {
        const execution *e = &p->executions[i];
        an_case *c = &p->f->cases[e->place];
        double excess = (double)e->duration_ns - usual_time(p, e->kernel);
        if (!an_known(excess))
            continue;
        c->ops_excess_ns = an_known(c->ops_excess_ns) ? c->ops_excess_ns + excess : excess;
        if (!(excess <= c->op_excess_ns)) {
            c->op_excess_ns = excess;
            c->op_kernel = e->kernel;
        }
    }
}

// ------------------------------------------------------------------------------------------ chance

// That k or more of n have what each has with probability p.
static double binomial_tail(double n, double k, double p)
{
    double sum = 0;
    if (!(p > 0 && p < 1))
        return 1;
    for (double i = k; i <= n; i++) {
        double term = exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) + i * log(p) +
                          (n - i) * log(1 - p));
        sum += term;
        if (i > n * p && term < sum * 1e-6)
            break;
    }
    return sum;
}

typedef struct struck {
    size_t kernel;
    double times;
} struck;

static bool is_alone(const an_case *c)
{
    return an_known(c->op_excess_ns) && c->op_excess_ns > 0 &&
           c->ops_excess_ns - c->op_excess_ns <= ALONE * c->op_excess_ns;
}

static bool had_processor(const an_outlier_finder *f, size_t at)
{
    const an_joined *n = an_join_get(f->join, at);
    return an_known(n->on_cpu_ns) && n->unknown_ns <= AN_OUTLIER_LEAST * (n->on_cpu_ns + 1);
}

// The operators of a session that could have been struck, and their time together.
static void sum_up(const op_pass *p, int64_t session, double *count, double *total_ns)
{
    const an_ops *ops = p->f->summary->ops;
    *count = *total_ns = 0;
    for (size_t i = 0; i < ops->kernel_count; i++) {
        const an_op_sums *all = &ops->cells[i].sums;
        if (ops->kernels[i].session != session || all->calls == 0)
            continue;
        ++*count;
        *total_ns += (double)all->total_ns - (double)p->of_outliers[i].total_ns;
    }
}

static bool beats_chance(const op_pass *p, double outliers, double kernels, double total_ns,
                         const struck *k)
{
    double part = ((double)p->f->summary->ops->cells[k->kernel].sums.total_ns -
                   (double)p->of_outliers[k->kernel].total_ns) /
                  total_ns;
    return k->times >= 2 && an_known(part) &&
           binomial_tail(outliers, k->times, part) * kernels < CHANCE;
}

// Cases [from, to) are the outliers of one session.
static void judge_session(const op_pass *p, size_t from, size_t to, struck *all)
{
    an_outlier_finder *f = p->f;
    const an_outlier_session *s = &f->sessions[f->cases[from].session];
    double outliers = 0, kernels, total_ns;
    size_t count = 0;
    sum_up(p, s->session->id, &kernels, &total_ns);
    for (size_t i = from; i < to; i++) {
        size_t k = 0;
        if (!is_alone(&f->cases[i]) || had_processor(f, i))
            continue;
        outliers++;
        while (k < count && all[k].kernel != f->cases[i].op_kernel)
            k++;
        if (k == count && count < MAX_STRUCK)
            all[count++] = (struck){.kernel = f->cases[i].op_kernel};
        if (k < count)
            all[k].times++;
    }
    for (size_t k = 0; k < count; k++)
        if (!beats_chance(p, outliers, kernels, total_ns, &all[k]))
            all[k].times = 0;
    for (size_t i = from; i < to; i++) {
        size_t k = 0;
        bool known = is_alone(&f->cases[i]) && had_processor(f, i);
        while (!known && k < count && all[k].kernel != f->cases[i].op_kernel)
            k++;
        if (!is_alone(&f->cases[i]) || (!known && (k == count || all[k].times <= 0)))
            f->cases[i].op_excess_ns = (double)NAN;
    }
}

static cm_status judge(const op_pass *p)
{
    const an_outlier_finder *f = p->f;
    struck *all = malloc(MAX_STRUCK * sizeof *all);
    if (!all)
        return an_no_memory();
    for (size_t from = 0, to; from < f->outlier_count; from = to) {
        for (to = from; to < f->outlier_count && f->cases[to].session == f->cases[from].session;)
            to++;
        judge_session(p, from, to, all);
    }
    free(all);
    return CM_OK;
}

cm_status an_outlier_find_operators(an_outlier_finder *f)
{
    int64_t value;
    const an_ops *ops = f->summary->ops;
    an_op_kept kept = an_ops_kept(ops, &value);
    // Of slow runs alone nothing is usual.
    if (!an_ops_any(ops) || ops->options.threads || (kept != AN_KEPT_ALL && kept != AN_KEPT_EVERY))
        return CM_OK;
    op_pass pass = {.f = f,
                    .session = INT64_MIN,
                    .found = SIZE_MAX,
                    .of_outliers = calloc(ops->kernel_count + 1, sizeof *pass.of_outliers)};
    cm_status status = pass.of_outliers ? find_spans(&pass) : an_no_memory();
    if (status == CM_OK)
        status = an_source_read_times(f->source, TM_BIT(op), &pass, is_wanted_time, take_ops);
    if (status == CM_OK) {
        find_slowest(&pass);
        status = judge(&pass);
    }
    free(pass.executions);
    free(pass.spans);
    free(pass.of_outliers);
    return status;
}
