// SPDX-License-Identifier: MIT
// One run into what analysis/flow.h tells: its executions are put in order thread by thread, those
// inside others are told apart, and what is left is swept over by time.
#include "analysis/fusion.h"
#include "analysis_util.h"
#include "flow_internal.h"

#include <stdlib.h>
#include <string.h>

static int by_thread_and_begin(const void *a, const void *b)
{
    const an_flow_item *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static int by_end(const void *a, const void *b)
{
    const an_flow_item *x = a, *y = b;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

// Rows of a run on one thread without nesting come in order.
static void put_in_order(an_flow_item *items, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (by_thread_and_begin(&items[i - 1], &items[i]) > 0) {
            qsort(items, count, sizeof *items, by_thread_and_begin);
            return;
        }
}

static uint64_t length(int64_t begin_ns, int64_t end_ns)
{
    return end_ns > begin_ns ? (uint64_t)end_ns - (uint64_t)begin_ns : 0;
}

static void add_to(uint64_t *sum, uint64_t ns)
{
    *sum = an_add_saturating(*sum, ns);
}

static bool is_inside(const an_flow_item *item, const an_flow_item *outer)
{
    return item->thread == outer->thread && item->depth > outer->depth &&
           item->begin_ns < outer->end_ns;
}

// ------------------------------------------------------------------- one thread after the other

static void add_transition(an_flow_session *s, const char *from, const char *to, uint64_t gap_ns)
{
    size_t at = 0;
    while (at < s->transition_count &&
           (strcmp(s->transitions[at].from, from) != 0 || strcmp(s->transitions[at].to, to) != 0))
        at++;
    s->changes++;
    add_to(&s->change_gap_ns, gap_ns);
    if (at == s->transition_count) {
        an_transition *grown =
            at < AN_FLOW_TRANSITIONS
                ? an_grow(s->transitions, &s->transition_capacity, at, sizeof *grown)
                : NULL;
        if (!grown)
            return;
        s->transitions = grown;
        grown[at] = (an_transition){.from = from, .to = to};
        s->transition_count++;
    }
    s->transitions[at].count++;
    add_to(&s->transitions[at].gap_ns, gap_ns);
}

static void note_before(an_flow_kernel *kernel, const an_flow_item *before)
{
    uint32_t now = before ? before->kernel + 1 : AN_MIXED;
    kernel->before = kernel->before == 0 || kernel->before == now ? now : AN_MIXED;
}

static void take_leaf(an_flow *f, an_flow_session *s, const an_flow_item *before,
                      const an_flow_item *item)
{
    an_flow_kernel *kernel = &f->kernels[item->kernel];
    uint64_t ns = length(item->begin_ns, item->end_ns);
    kernel->leaf_count++;
    add_to(&kernel->leaf_ns, ns);
    note_before(kernel, before);
    if (kernel->kind == AN_KIND_COPY_TO_HOST) {
        s->copies_to_host++;
        add_to(&s->to_host_ns, ns);
    } else if (kernel->kind == AN_KIND_COPY_FROM_HOST) {
        s->copies_from_host++;
        add_to(&s->from_host_ns, ns);
    }
    if (!before)
        return;
    const char *from = f->ops->kernels[before->kernel].provider;
    const char *to = f->ops->kernels[item->kernel].provider;
    if (from != to && from[0] && to[0] && strcmp(from, to) != 0)
        add_transition(s, from, to, length(before->end_ns, item->begin_ns));
}

static void take_leaves(an_flow *f, an_flow_session *s, const an_flow_item *items, size_t count)
{
    const an_flow_item *before = NULL;
    for (size_t i = 0; i < count; i++) {
        if (before && before->thread != items[i].thread)
            before = NULL;
        if (i + 1 < count && is_inside(&items[i + 1], &items[i]))
            continue; // it contains others
        take_leaf(f, s, before, &items[i]);
        before = &items[i];
    }
}

// ------------------------------------------------------------------------------ all threads by
// time

// What is inside nothing else, within the run, and never two at once on a thread.
static size_t find_outer(const an_flow_run *run, an_flow_item *out)
{
    size_t count = 0;
    const an_flow_item *outer = NULL;
    for (size_t i = 0; i < run->count; i++) {
        an_flow_item item = run->items[i];
        if (outer && is_inside(&item, outer))
            continue;
        bool same_thread = outer && outer->thread == item.thread;
        int64_t from = same_thread ? out[count - 1].end_ns : run->begin_ns;
        outer = &run->items[i];
        item.begin_ns = item.begin_ns < from ? from : item.begin_ns;
        item.begin_ns = item.begin_ns > run->end_ns ? run->end_ns : item.begin_ns;
        item.end_ns = item.end_ns > run->end_ns ? run->end_ns : item.end_ns;
        item.end_ns = item.end_ns < item.begin_ns ? item.begin_ns : item.end_ns;
        out[count++] = item;
    }
    return count;
}

static cm_status add_to_pool(an_flow_session *s, int64_t thread, uint64_t busy_ns)
{
    size_t at = 0;
    while (at < s->pool_count && s->pool[at].thread != thread)
        at++;
    if (at == AN_FLOW_THREADS)
        return CM_OK;
    if (at == s->pool_count) {
        an_pool_thread *pool = an_grow(s->pool, &s->pool_capacity, at, sizeof *pool);
        if (!pool)
            return an_no_memory();
        s->pool = pool;
        pool[at] = (an_pool_thread){.thread = thread};
        s->pool_count++;
    }
    s->pool[at].runs++;
    add_to(&s->pool[at].busy_ns, busy_ns);
    add_to(&s->pool_busy_ns, busy_ns);
    return CM_OK;
}

static int64_t thread_id(const an_flow *f, uint32_t thread)
{
    return thread < f->ops->nesting.thread_count ? f->ops->nesting.threads[thread].thread : -1;
}

// The busy time of each thread; the outer executions are in order of threads.
static cm_status take_threads(const an_flow *f, an_flow_session *s, const an_flow_run *run,
                              size_t count)
{
    uint64_t busy = 0;
    for (size_t i = 0; i < count; i++) {
        add_to(&busy, length(f->outer[i].begin_ns, f->outer[i].end_ns));
        if (i + 1 < count && f->outer[i + 1].thread == f->outer[i].thread)
            continue;
        int64_t thread = thread_id(f, f->outer[i].thread);
        add_to(&s->busy_ns, busy);
        if (thread != run->thread)
            CM_TRY(add_to_pool(s, thread, busy));
        busy = 0;
    }
    return CM_OK;
}

// How long none, one, several of them were under way. They are in order of their ends.
static void sweep(an_flow *f, an_flow_session *s, const an_flow_run *run, size_t count,
                  bool several)
{
    size_t begun = 0, ended = 0;
    int64_t now = run->begin_ns;
    for (size_t i = 0; i < count; i++)
        f->begins[i] = f->outer[i].begin_ns;
    if (several)
        qsort(f->begins, count, sizeof *f->begins, ascending);
    while (ended < count) {
        bool ends = begun == count || f->outer[ended].end_ns <= f->begins[begun];
        int64_t next = ends ? f->outer[ended].end_ns : f->begins[begun];
        size_t threads = begun - (ended < begun ? ended : begun);
        add_to(threads == 0   ? &s->none_ns
               : threads == 1 ? &s->one_ns
                              : &s->several_ns,
               length(now, next));
        s->most = length(now, next) && threads > s->most ? threads : s->most;
        now = next > now ? next : now;
        // What takes no time ends before it begins here: both count, in whatever order.
        ended += ends;
        begun += !ends;
    }
    add_to(&s->none_ns, length(now, run->end_ns));
}

// From the last end back. They are in order of their ends.
static void follow_path(an_flow *f, an_flow_session *s, size_t count)
{
    size_t at = count;
    int64_t before_ns = INT64_MAX;
    while (at > 0) {
        const an_flow_item *item = &f->outer[--at];
        if (item->end_ns > before_ns)
            continue;
        an_flow_kernel *kernel = &f->kernels[item->kernel];
        uint64_t ns = length(item->begin_ns, item->end_ns);
        add_to(&s->path_ns, ns);
        s->path_count++;
        add_to(&kernel->path_ns, ns);
        kernel->path_count++;
        before_ns = item->begin_ns;
    }
}

static cm_status make_room(an_flow *f, size_t count)
{
    if (count <= f->outer_capacity)
        return CM_OK;
    an_flow_item *outer = realloc(f->outer, count * sizeof *outer);
    if (!outer)
        return an_no_memory();
    f->outer = outer;
    int64_t *begins = realloc(f->begins, count * sizeof *begins);
    if (!begins)
        return an_no_memory();
    f->begins = begins;
    f->outer_capacity = count;
    return CM_OK;
}

cm_status an_flow_take(an_flow *f, an_flow_gather *gather, an_flow_run *run)
{
    an_flow_session *s = &gather->result;
    CM_TRY(make_room(f, run->count));
    put_in_order(run->items, run->count);
    take_leaves(f, s, run->items, run->count);
    size_t count = find_outer(run, f->outer);
    CM_TRY(take_threads(f, s, run, count));
    bool several = count && f->outer[0].thread != f->outer[count - 1].thread;
    if (several)
        qsort(f->outer, count, sizeof *f->outer, by_end);
    sweep(f, s, run, count, several);
    follow_path(f, s, count);
    int64_t from =
        gather->covered_until_ns > run->begin_ns ? gather->covered_until_ns : run->begin_ns;
    s->runs++;
    add_to(&s->run_ns, length(run->begin_ns, run->end_ns));
    add_to(&s->covered_ns, length(from, run->end_ns));
    if (run->end_ns > gather->covered_until_ns)
        gather->covered_until_ns = run->end_ns;
    return CM_OK;
}
