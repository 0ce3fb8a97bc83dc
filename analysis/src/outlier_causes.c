// SPDX-License-Identifier: MIT
// Weighs the evidence about one outlier (definitions in outliers.h): first what was measured, then
// circumstances for what is left. Must never name a cause that the file has no evidence for.
#include "outlier_internal.h"

#include "analysis_util.h"
#include "ops_internal.h"

#include <math.h>
#include <stdlib.h>

#define FAULT_NS       5000.0  // a page fault that reads nothing costs no more
#define HARD_FAULT_NS  20e6    // nor one that does, where only their number is known
#define GROWTH_NS      1000000 // asking the system for memory, besides its pages
#define PAGE_BYTES     4096.0
#define ALL_BUSY       0.9  // of the cores' time
#define LOWER_CLOCK    0.9  // of the usual one
#define LIMIT          95.0 // percent: no limit any more
#define WINDOW_IN_RUNS 2    // counters tell of runs that fill half of the time between samples
#define LONG_RUN_NS    300e6
#define CAUSES         24 // before the small ones are dropped

typedef struct weighing {
    const an_outlier_finder *f;
    const an_case *c;
    const an_outlier_session *s;
    const an_joined *n;
    an_outliers *out;
    double extra_ns, left_ns;
    an_cause causes[CAUSES];
    size_t count;
} weighing;

// What is more than usual; 0 where it is not known.
static double more(double value, double usual)
{
    double above = value - (an_known(usual) ? usual : 0);
    return an_known(above) && above > 0 ? above : 0;
}

// Takes `ns` from what is left; what it took.
static double take(weighing *w, an_cause_kind kind, double ns, an_cause cause)
{
    ns = ns < w->left_ns ? ns : w->left_ns;
    if (!(ns > 0) || w->count == CAUSES)
        return 0;
    w->left_ns -= ns;
    cause.kind = kind;
    cause.share = ns / w->extra_ns;
    w->causes[w->count++] = cause;
    return ns;
}

static const an_cause measured = {.measured = true, .who = "", .amount = (double)NAN};

static cm_status name_it(weighing *w, const char *text, const char **out)
{
    return an_outlier_text(w->out, text, out);
}

// --------------------------------------------------------------------------------------- measured

static cm_status weigh_preemption(weighing *w)
{
    const an_slices *by = &w->n->preempted_by;
    double all = more(w->n->preempted_ns, w->s->usual.preempted_ns);
    for (size_t i = 0; all > 0 && i < by->count; i++) {
        an_cause cause = measured;
        cause.detail = by->of[i].key;
        CM_TRY(name_it(w, an_join_process_name(w->f->join, by->of[i].key), &cause.who));
        take(w, AN_CAUSE_PREEMPTED, by->of[i].ns * all / w->n->preempted_ns, cause);
    }
    return CM_OK;
}

// The thread's switches tell how it spent its time.
static cm_status weigh_switches(weighing *w)
{
    const an_joined *n = w->n;
    const an_usual *u = &w->s->usual;
    an_cause cause = measured;
    CM_TRY(weigh_preemption(w));
    take(w, AN_CAUSE_WAITING_FOR_CORE, more(n->ready_ns, u->ready_ns), cause);
    cause.amount = n->hard_faults;
    double faults = take(w, AN_CAUSE_PAGE_FAULTS, more(n->hard_fault_ns, u->hard_fault_ns), cause);
    cause.amount = (double)NAN;
    double disk = take(w, AN_CAUSE_DISK, more(n->disk_ns, u->disk_ns) - faults, cause);
    cause.detail = n->waits.count ? n->waits.of[0].key : -1;
    if (n->waits.count)
        CM_TRY(name_it(w, an_wait_reason_name(cause.detail), &cause.who));
    take(w, AN_CAUSE_WAITING, more(n->waiting_ns, u->waiting_ns) - faults - disk, cause);
    return CM_OK;
}

// Processor time against the time that passed; events of faults and disks may be there all the
// same.
static void weigh_counters(weighing *w)
{
    const an_joined *n = w->n;
    const an_usual *u = &w->s->usual;
    an_cause cause = measured;
    cause.amount = n->hard_faults;
    double off = an_known(n->off_cpu_ns) ? n->off_cpu_ns : 0;
    bool by_events = n->fault_source == AN_FAULTS_EVENTS;
    if (by_events)
        off -= take(w, AN_CAUSE_PAGE_FAULTS, more(n->hard_fault_ns, u->hard_fault_ns), cause);
    double faults = w->count ? w->causes[0].share * w->extra_ns : 0;
    cause.amount = (double)NAN;
    off -= take(w, AN_CAUSE_DISK, more(n->disk_ns, u->disk_ns) - faults, cause);
    bool crowded = an_known(n->cores_busy) && n->cores_busy >= ALL_BUSY;
    if (crowded || w->c->starved > 0) {
        // Of long runs the samples around them tell, of others those of the whole second.
        bool is_long = an_known(n->off_cpu_ns) && (double)w->c->run.duration_ns >= LONG_RUN_NS;
        double starved = is_long ? 0 : w->c->starved * w->left_ns;
        take(w, AN_CAUSE_WAITING_FOR_CORE, crowded && off > starved ? off : starved, cause);
        return;
    }
    if (!by_events && an_known(n->hard_faults)) {
        double most = more(n->hard_faults, u->hard_faults) * HARD_FAULT_NS;
        cause.amount = n->hard_faults;
        off -= take(w, AN_CAUSE_PAGE_FAULTS, most < off ? most : off, cause);
        cause.amount = (double)NAN;
    }
    cause.detail = -1;
    if (an_known(n->cores_busy))
        take(w, AN_CAUSE_WAITING, off, cause);
}

static bool was_idle(const weighing *w)
{
    return an_known(w->n->gap_ns) && w->n->gap_ns >= AN_OUTLIER_IDLE_NS;
}

// A clock that is slow after a pause is the pause's doing, unless the system itself limits it.
static void weigh_clock(weighing *w)
{
    const an_joined *n = w->n;
    const an_usual *u = &w->s->usual;
    double clock = n->clock_percent / u->clock_percent;
    bool limited =
        an_known(n->limit_percent) && n->limit_percent < LIMIT && !(u->limit_percent < LIMIT);
    if (!an_known(clock) && limited)
        clock = n->limit_percent / 100;
    if (!an_known(clock) || !(clock < LOWER_CLOCK) || (was_idle(w) && !limited))
        return;
    double duration = (double)w->c->run.duration_ns, stopped = w->extra_ns - w->left_ns;
    double on_cpu = an_known(n->on_cpu_ns) ? n->on_cpu_ns : duration - stopped;
    an_cause cause = measured;
    cause.amount = clock * 100;
    take(w, AN_CAUSE_THROTTLED, on_cpu * (1 - clock), cause);
}

static cm_status weigh_operator(weighing *w)
{
    an_cause cause = measured;
    if (!an_known(w->c->op_excess_ns) || w->c->op_excess_ns < w->left_ns / 2)
        return CM_OK;
    const an_kernel *k = &w->f->summary->ops->kernels[w->c->op_kernel];
    cause.detail = k->id;
    cause.amount = w->c->op_excess_ns;
    CM_TRY(name_it(w, k->node[0] ? k->node : k->op_type, &cause.who));
    take(w, AN_CAUSE_SLOW_OPERATOR, w->c->op_excess_ns, cause);
    return CM_OK;
}

// ----------------------------------------------------------------------------------- circumstances

typedef struct circumstance {
    an_cause_kind kind;
    double most_ns; // that it can have cost
    int64_t detail;
    double amount;
} circumstance;

// What is left, in equal parts, but to none more than it can have cost.
static void share_out(weighing *w, circumstance *all, size_t count)
{
    for (size_t i = 1; i < count; i++) // the least ones first; there are four at most
        for (size_t k = i; k > 0 && all[k].most_ns < all[k - 1].most_ns; k--) {
            circumstance c = all[k];
            all[k] = all[k - 1];
            all[k - 1] = c;
        }
    for (size_t i = 0; i < count; i++) {
        double part = w->left_ns / (double)(count - i);
        const an_cause cause = {.who = "", .detail = all[i].detail, .amount = all[i].amount};
        take(w, all[i].kind, all[i].most_ns < part ? all[i].most_ns : part, cause);
    }
}

static bool is_mostly_slow(an_circumstance c)
{
    return c.runs > 0 && c.slow * 2 >= c.runs;
}

// As much or more memory was taken in more slow runs than others.
static bool growth_is_mostly_slow(const an_outlier_session *s, double bytes)
{
    double runs[2] = {0, 0};
    for (int size = an_growth_size(bytes); size < AN_GROWTH_SIZES; size++)
        for (int slow = 0; slow < 2; slow++)
            runs[slow] += s->growths[slow][size];
    return runs[1] >= runs[0];
}

static double soft_faults(const weighing *w)
{
    const an_joined *n = w->n;
    double soft = n->page_faults - (an_known(n->hard_faults) ? n->hard_faults : 0);
    bool own = n->fault_source == AN_FAULTS_EVENTS ||
               n->fault_window_ns <= WINDOW_IN_RUNS * (double)w->c->run.duration_ns;
    return own ? more(soft, w->s->usual.page_faults) : 0;
}

static void weigh_memory(weighing *w)
{
    circumstance all[4];
    size_t count = 0;
    const an_case *c = w->c;
    if (c->first)
        all[count++] = (circumstance){AN_CAUSE_FIRST_RUN, INFINITY, 0, (double)NAN};
    if (c->new_shape && is_mostly_slow(w->s->new_shape))
        all[count++] = (circumstance){AN_CAUSE_NEW_SHAPE, INFINITY, 0, (double)NAN};
    if (c->grown_bytes > 0 && (c->first || growth_is_mostly_slow(w->s, c->grown_bytes)))
        all[count++] =
            (circumstance){AN_CAUSE_ARENA_GROWTH,
                           GROWTH_NS + c->grown_bytes / PAGE_BYTES * FAULT_NS, 0, c->grown_bytes};
    if (soft_faults(w) > 0)
        all[count++] =
            (circumstance){AN_CAUSE_PAGE_FAULTS, soft_faults(w) * FAULT_NS, 0, w->n->page_faults};
    share_out(w, all, count);
}

static void weigh_surroundings(weighing *w)
{
    circumstance all[2];
    size_t count = 0;
    const an_slices *others = &w->c->others;
    double other_ns = others->others_ns;
    for (size_t i = 0; i < others->count; i++)
        other_ns += others->of[i].ns;
    if (was_idle(w) && is_mostly_slow(w->s->idle))
        all[count++] = (circumstance){AN_CAUSE_IDLE_BEFORE, INFINITY, 0, w->n->gap_ns};
    if (other_ns >= AN_OTHER_LEAST * (double)w->c->run.duration_ns && others->count &&
        is_mostly_slow(w->s->other_session))
        all[count++] =
            (circumstance){AN_CAUSE_OTHER_SESSION, other_ns, others->of[0].key, (double)NAN};
    share_out(w, all, count);
}

// ------------------------------------------------------------------------------------------ result

static int greatest_first(const void *a, const void *b)
{
    const an_cause *x = a, *y = b;
    if (x->share < y->share || x->share > y->share)
        return x->share > y->share ? -1 : 1;
    return ((int)x->kind > (int)y->kind) - ((int)x->kind < (int)y->kind);
}

// Page faults may have been weighed twice: those that read, and the others.
static void join_same(weighing *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->count; i++) {
        size_t k = 0;
        while (k < kept && (w->causes[k].kind != w->causes[i].kind ||
                            w->causes[k].detail != w->causes[i].detail))
            k++;
        if (k == kept) {
            w->causes[kept++] = w->causes[i];
            continue;
        }
        w->causes[k].share += w->causes[i].share;
        w->causes[k].measured = w->causes[k].measured && w->causes[i].measured;
        w->causes[k].amount = w->causes[i].amount;
    }
    w->count = kept;
}

static void keep_causes(weighing *w, an_outlier *to)
{
    double explained = 0;
    join_same(w);
    if (w->count)
        qsort(w->causes, w->count, sizeof *w->causes, greatest_first);
    for (size_t i = 0; i < w->count && to->cause_count < AN_CAUSES_MOST; i++) {
        if (w->causes[i].share < AN_OUTLIER_LEAST)
            break;
        to->causes[to->cause_count++] = w->causes[i];
        explained += w->causes[i].share;
    }
    to->unexplained = explained < 1 ? 1 - explained : 0;
}

cm_status an_outlier_explain(const an_outlier_finder *f, size_t place, an_outliers *out,
                             an_outlier *to)
{
    const an_case *c = &f->cases[place];
    double extra = (double)c->run.duration_ns - c->usual_ns;
    weighing w = {.f = f,
                  .c = c,
                  .s = &f->sessions[c->session],
                  .n = an_join_get(f->join, place),
                  .out = out,
                  .extra_ns = extra > 0 ? extra : 1,
                  .left_ns = extra > 0 ? extra : 1};
    *to = (an_outlier){.session = c->run.session,
                       .run = c->run.run,
                       .thread = c->run.thread,
                       .begin_ns = c->run.begin_ns,
                       .duration_ns = c->run.duration_ns,
                       .inputs = c->inputs,
                       .usual_ns = c->usual_ns};
    if (an_known(w.n->on_cpu_ns))
        CM_TRY(weigh_switches(&w));
    else
        weigh_counters(&w);
    weigh_clock(&w);
    weigh_memory(&w);
    // Where nobody tells that the operator had its processor, what was around it counts for more.
    if (!an_known(w.n->on_cpu_ns))
        weigh_surroundings(&w);
    CM_TRY(weigh_operator(&w));
    if (an_known(w.n->on_cpu_ns))
        weigh_surroundings(&w);
    keep_causes(&w, to);
    return CM_OK;
}
