// SPDX-License-Identifier: MIT
// See analysis/helpers.h.
#include "analysis/helpers.h"

#include "analysis/counters.h"
#include "analysis_util.h"
#include "ops_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RUN_THREADS 65536

// Runs of one process.
typedef struct run_process {
    int64_t first_begin_ns, last_end_ns, covered_until_ns;
    uint64_t covered_ns;
} run_process;

// Processor time of a thread, user's or the kernel's.
typedef struct meter {
    int64_t process, thread, per_unit;
    double before_ns, last_ns; // processor time at the first begin, and at the last end
    bool seen, done;
} meter;

typedef struct reading {
    run_process *processes;
    size_t process_count, process_capacity;
    cm_map process_by_id, process_of_module, process_of_session, run_threads, meter_by_id;
    meter *meters;
    size_t meter_count, meter_capacity;
} reading;

static cm_status take_people(void *context, const tm_reader *reader, const tm_block *b)
{
    reading *r = context;
    bool put = true;
    for (size_t row = 0; put && row < b->row_count; row++) {
        if (b->kind == TM_KIND_module && b->columns[TM_module_process][row] > 0)
            put = cm_map_put(&r->process_of_module, b->columns[TM_module_module][row],
                             (size_t)b->columns[TM_module_process][row]);
        size_t process = 0;
        if (b->kind == TM_KIND_session &&
            cm_map_find(&r->process_of_module, b->columns[TM_session_module][row], &process))
            put = cm_map_put(&r->process_of_session, b->columns[TM_session_session][row], process);
        const char *name = b->kind == TM_KIND_counter
                               ? tm_reader_string(reader, b->columns[TM_counter_name][row])
                               : "";
        if ((strcmp(name, "cpu_user") != 0 && strcmp(name, "cpu_kernel") != 0) ||
            b->columns[TM_counter_about][row] != AN_ABOUT_THREAD ||
            b->columns[TM_counter_per_unit][row] <= 0 || r->meter_count == 2 * AN_MAX_HELPERS)
            continue;
        meter *meters = an_grow(r->meters, &r->meter_capacity, r->meter_count, sizeof *meters);
        if (!meters)
            return an_no_memory();
        r->meters = meters;
        meters[r->meter_count] = (meter){.process = b->columns[TM_counter_process][row],
                                         .thread = b->columns[TM_counter_number][row],
                                         .per_unit = b->columns[TM_counter_per_unit][row]};
        put = cm_map_put(&r->meter_by_id, b->columns[TM_counter_counter][row], r->meter_count++);
    }
    return put ? CM_OK : an_no_memory();
}

static cm_status get_process(reading *r, int64_t id, run_process **out)
{
    size_t at;
    if (!cm_map_find(&r->process_by_id, id, &at)) {
        run_process *grown =
            an_grow(r->processes, &r->process_capacity, r->process_count, sizeof *grown);
        if (!grown)
            return an_no_memory();
        r->processes = grown;
        at = r->process_count++;
        grown[at] = (run_process){
            .first_begin_ns = INT64_MAX, .last_end_ns = INT64_MIN, .covered_until_ns = INT64_MIN};
        if (!cm_map_put(&r->process_by_id, id, at))
            return an_no_memory();
    }
    *out = &r->processes[at];
    return CM_OK;
}

// Runs come in about the order of their ends: what overlaps is never counted twice, and what comes
// late may be counted too little. Either way idle time is not exaggerated.
static cm_status take_runs(void *context, const tm_reader *reader, const tm_block *b)
{
    (void)reader;
    reading *r = context;
    for (size_t row = 0; row < b->row_count; row++) {
        int64_t begin = b->columns[TM_run_begin][row], length = b->columns[TM_run_duration][row];
        int64_t end = an_add_clamped(begin, length > 0 ? length : 0);
        size_t id;
        run_process *p = NULL;
        if (r->run_threads.count < MAX_RUN_THREADS &&
            !cm_map_put(&r->run_threads, b->columns[TM_run_thread][row], 0))
            return an_no_memory();
        if (!cm_map_find(&r->process_of_session, b->columns[TM_run_session][row], &id))
            continue;
        CM_TRY(get_process(r, (int64_t)id, &p));
        int64_t from = begin > p->covered_until_ns ? begin : p->covered_until_ns;
        if (end > from)
            p->covered_ns = an_add_saturating(p->covered_ns, (uint64_t)end - (uint64_t)from);
        p->covered_until_ns = end > p->covered_until_ns ? end : p->covered_until_ns;
        p->first_begin_ns = begin < p->first_begin_ns ? begin : p->first_begin_ns;
        p->last_end_ns = end > p->last_end_ns ? end : p->last_end_ns;
    }
    return CM_OK;
}

static cm_status take_samples(void *context, const tm_reader *reader, const tm_block *b)
{
    (void)reader;
    reading *r = context;
    for (size_t row = 0; row < b->row_count; row++) {
        size_t at, place;
        if (b->columns[TM_sample_known][row] == 0 ||
            !cm_map_find(&r->meter_by_id, b->columns[TM_sample_counter][row], &at) ||
            !cm_map_find(&r->process_by_id, r->meters[at].process, &place))
            continue;
        meter *m = &r->meters[at];
        const run_process *p = &r->processes[place];
        int64_t time = b->columns[TM_sample_time][row];
        double ns = (double)b->columns[TM_sample_value][row] / (double)m->per_unit * 1e9;
        double late = (double)time - (double)p->first_begin_ns;
        if (late <= 0 || !m->seen) { // what it can have used since the first begin at most
            m->before_ns = late > 0 ? ns - late : ns;
            m->before_ns = m->before_ns < 0 ? 0 : m->before_ns;
        }
        if (!m->done)
            m->last_ns = ns;
        m->done = m->done || time >= p->last_end_ns;
        m->seen = true;
    }
    return CM_OK;
}

// ------------------------------------------------------------------------------------------
// results

static an_helper *find_helper(an_helpers *h, int64_t process, int64_t thread)
{
    for (size_t i = h->count; i > 0; i--) // both counters of a thread come one after the other
        if (h->items[i - 1].process == process && h->items[i - 1].thread == thread)
            return &h->items[i - 1];
    return NULL;
}

static cm_status add_meter(an_helpers *h, const reading *r, const meter *m)
{
    size_t at;
    double used = m->last_ns - m->before_ns;
    if (!m->seen || !cm_map_find(&r->process_by_id, m->process, &at))
        return CM_OK;
    an_helper *helper = find_helper(h, m->process, m->thread);
    if (!helper) {
        an_helper *items = an_grow(h->items, &h->capacity, h->count, sizeof *items);
        if (!items)
            return an_no_memory();
        h->items = items;
        helper = &items[h->count++];
        *helper = (an_helper){.process = m->process,
                              .thread = m->thread,
                              .runs_ns = (double)r->processes[at].covered_ns};
    }
    helper->cpu_ns += used > 0 ? used : 0;
    return CM_OK;
}

static int busiest_first(const void *a, const void *b)
{
    const an_helper *x = a, *y = b;
    if (x->cpu_ns < y->cpu_ns || x->cpu_ns > y->cpu_ns)
        return x->cpu_ns < y->cpu_ns ? 1 : -1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

static cm_status choose(an_helpers *h, const reading *r, const an_ops *ops)
{
    size_t kept = 0, at;
    h->known = false;
    for (size_t i = 0; i < r->meter_count; i++) {
        h->known = h->known || r->meters[i].seen;
        if (!cm_map_find(&r->run_threads, r->meters[i].thread, &at) &&
            !cm_map_find(&ops->nesting.thread_by_id, r->meters[i].thread, &at))
            CM_TRY(add_meter(h, r, &r->meters[i]));
    }
    for (size_t i = 0; i < h->count; i++) {
        an_helper *helper = &h->items[i];
        double idle = helper->runs_ns - helper->cpu_ns;
        helper->idle_ns = idle > 0 ? idle : 0;
        if (helper->runs_ns > 0 && helper->cpu_ns >= AN_HELPER_SHARE * helper->runs_ns)
            h->items[kept++] = *helper;
    }
    h->count = kept;
    if (kept)
        qsort(h->items, kept, sizeof *h->items, busiest_first);
    return CM_OK;
}

static cm_status read_all(const an_source *source, const an_ops *ops, reading *r, an_helpers *out)
{
    CM_TRY(an_source_read(source, TM_BIT(module), r, take_people));
    CM_TRY(an_source_read(source, TM_BIT(session) | TM_BIT(counter), r, take_people));
    if (r->meter_count == 0)
        return CM_OK;
    CM_TRY(an_source_read(source, TM_BIT(run), r, take_runs));
    CM_TRY(an_source_read(source, TM_BIT(sample), r, take_samples));
    return choose(out, r, ops);
}

cm_status an_helpers_read(const an_source *source, const an_ops *ops, an_helpers *out)
{
    reading r = {0};
    *out = (an_helpers){0};
    cm_status status = read_all(source, ops, &r, out);
    free(r.processes);
    free(r.meters);
    cm_map_deinit(&r.process_by_id);
    cm_map_deinit(&r.process_of_module);
    cm_map_deinit(&r.process_of_session);
    cm_map_deinit(&r.run_threads);
    cm_map_deinit(&r.meter_by_id);
    if (status != CM_OK)
        an_helpers_deinit(out);
    return status;
}

void an_helpers_deinit(an_helpers *h)
{
    free(h->items);
    *h = (an_helpers){0};
}

double an_helpers_idle_ns(const an_helpers *h)
{
    double idle = h->count ? 0 : (double)NAN;
    for (size_t i = 0; i < h->count; i++)
        idle += h->items[i].idle_ns;
    return idle;
}

double an_helpers_idle_share(const an_helpers *h)
{
    double runs = 0;
    for (size_t i = 0; i < h->count; i++)
        runs += h->items[i].runs_ns;
    return runs > 0 ? an_helpers_idle_ns(h) / runs : (double)NAN;
}
