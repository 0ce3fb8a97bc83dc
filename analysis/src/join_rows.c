// SPDX-License-Identifier: MIT
// Rows that name a thread and a time to the runs that they lie in: faults, disk transfers; and the
// time since the run before.
#include "analysis_util.h"
#include "join_internal.h"

#include <math.h>
#include <stdlib.h>

// ------------------------------------------------------------------------------- faults and disks

typedef struct counts {
    double faults, hard, hard_ns, transfers, disk_ns;
} counts;

typedef struct row_join {
    an_join *j;
    counts *of;            // by run
    bool soft, hard, disk; // the file has such rows
} row_join;

// timeline/kinds.h: fault.fault. 4 only announces what 6 tells; 5 is no fault of paging.
enum { FAULT_GUARD = 3, FAULT_READ = 6 };

// How much of [from, from + duration] lies before `end`.
static double until(int64_t from, int64_t duration, int64_t end)
{
    double most = (double)end - (double)from, took = duration > 0 ? (double)duration : 0;
    return took < most ? took : most;
}

static void count_fault(counts *c, const tm_block *b, size_t i, int64_t end)
{
    int64_t fault = b->columns[TM_fault_fault][i];
    if (fault == FAULT_READ) {
        c->hard++;
        c->hard_ns += until(b->columns[TM_fault_time][i], b->columns[TM_fault_duration][i], end);
    }
    c->faults += fault == FAULT_READ || (fault >= 0 && fault <= FAULT_GUARD);
}

static void count_row(row_join *r, const tm_block *b, size_t i, int64_t thread, int64_t time)
{
    const an_join *j = r->j;
    size_t after = an_join_parts_after(j, thread, time);
    for (size_t n = 1; n <= after && n <= AN_JOIN_MAX_NESTED; n++) {
        const an_join_part *p = &j->parts[after - n];
        if (p->thread != thread)
            return;
        if (!p->own || p->end_ns <= time)
            continue;
        counts *c = &r->of[p->run];
        if (b->kind == TM_KIND_fault) {
            count_fault(c, b, i, p->end_ns);
        } else {
            c->transfers++;
            c->disk_ns += until(time, b->columns[TM_disk_duration][i], p->end_ns);
        }
    }
}

static cm_status take_row(void *context, const tm_reader *reader, const tm_block *b)
{
    (void)reader;
    row_join *r = context;
    an_join *j = r->j;
    for (size_t i = 0; i < b->row_count; i++) {
        bool is_fault = b->kind == TM_KIND_fault;
        int64_t time = b->columns[is_fault ? TM_fault_time : TM_disk_begin][i];
        int64_t thread = b->columns[is_fault ? TM_fault_thread : TM_disk_thread][i];
        j->first_ns = time < j->first_ns ? time : j->first_ns;
        j->last_ns = time > j->last_ns ? time : j->last_ns;
        r->hard = r->hard || (is_fault && b->columns[TM_fault_fault][i] == FAULT_READ);
        r->soft = r->soft || (is_fault && b->columns[TM_fault_fault][i] <= FAULT_GUARD);
        r->disk = r->disk || !is_fault;
        count_row(r, b, i, thread, time);
    }
    return CM_OK;
}

// Nothing is known of faults where none was recorded: that they were watched can't be seen then.
static void tell_counts(const row_join *r, size_t i)
{
    an_joined *n = &r->j->joined[i];
    const counts *c = &r->of[i];
    if (!an_join_is_covered(r->j, &r->j->runs[i]))
        return;
    if (r->soft || r->hard)
        n->fault_source = AN_FAULTS_EVENTS;
    if (r->soft)
        n->page_faults = c->faults;
    if (r->hard) {
        n->hard_faults = c->hard;
        n->hard_fault_ns = c->hard_ns;
    }
    if (r->disk) {
        n->disk_transfers = c->transfers;
        n->disk_ns = c->disk_ns;
    }
}

cm_status an_join_rows(an_join *j, const an_source *source)
{
    row_join r = {.j = j, .of = calloc(j->count + 1, sizeof *r.of)};
    if (!r.of)
        return an_no_memory();
    cm_status status = an_source_read(source, TM_BIT(fault) | TM_BIT(disk), &r, take_row);
    for (size_t i = 0; status == CM_OK && i < j->count; i++)
        tell_counts(&r, i);
    free(r.of);
    return status;
}

// -------------------------------------------------------------------------------------------- gaps

typedef struct gap {
    int64_t key, begin_ns, last_end_ns; // the last end before begin_ns, INT64_MIN: none
    size_t run;
} gap;

typedef struct gaps {
    const an_join *j;
    gap *of[2]; // by session, by thread; each in order of key and begin
} gaps;

static int by_key_and_begin(const void *a, const void *b)
{
    const gap *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->run > y->run) - (x->run < y->run);
}

// A run that ends at `end` matters to the first one that begins then or later.
static void note_end(const gaps *g, gap *of, int64_t key, int64_t end, int64_t session, int64_t run)
{
    size_t low = 0, high = g->j->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (of[middle].key < key || (of[middle].key == key && of[middle].begin_ns < end))
            low = middle + 1;
        else
            high = middle;
    }
    if (low < g->j->count) {
        const an_join_run *found = &g->j->runs[of[low].run];
        low += found->session == session && found->run == run; // not itself
    }
    if (low < g->j->count && of[low].key == key && of[low].last_end_ns < end)
        of[low].last_end_ns = end;
}

static cm_status take_run(void *context, const tm_reader *reader, const tm_block *b)
{
    (void)reader;
    gaps *g = context;
    for (size_t i = 0; i < b->row_count; i++) {
        int64_t session = b->columns[TM_run_session][i], run = b->columns[TM_run_run][i];
        int64_t duration = b->columns[TM_run_duration][i];
        int64_t end = an_add_clamped(b->columns[TM_run_begin][i], duration > 0 ? duration : 0);
        note_end(g, g->of[0], session, end, session, run);
        note_end(g, g->of[1], b->columns[TM_run_thread][i], end, session, run);
    }
    return CM_OK;
}

static void tell_gaps(an_join *j, gap *of, bool by_session)
{
    for (size_t i = 0; i < j->count; i++) {
        gap *g = &of[i];
        if (i > 0 && of[i - 1].key == g->key && of[i - 1].last_end_ns > g->last_end_ns)
            g->last_end_ns = of[i - 1].last_end_ns;
        double ns = g->last_end_ns == INT64_MIN ? (double)NAN
                                                : (double)g->begin_ns - (double)g->last_end_ns;
        if (!by_session)
            j->joined[g->run].thread_gap_ns = ns;
        else
            j->joined[g->run].gap_ns = j->runs[g->run].in_flight > 1 ? 0 : ns;
    }
}

cm_status an_join_gaps(an_join *j, const an_source *source)
{
    gaps g = {.j = j};
    cm_status status = CM_OK;
    for (int k = 0; k < 2; k++) {
        g.of[k] = malloc((j->count + 1) * sizeof *g.of[k]);
        for (size_t i = 0; g.of[k] && i < j->count; i++)
            g.of[k][i] = (gap){.key = k ? j->runs[i].thread : j->runs[i].session,
                               .begin_ns = j->runs[i].begin_ns,
                               .last_end_ns = INT64_MIN,
                               .run = i};
        if (!g.of[k])
            status = an_no_memory();
        else if (j->count)
            qsort(g.of[k], j->count, sizeof *g.of[k], by_key_and_begin);
    }
    if (status == CM_OK && j->count)
        status = an_source_read(source, TM_BIT(run), &g, take_run);
    for (int k = 0; k < 2; k++) {
        if (status == CM_OK)
            tell_gaps(j, g.of[k], k == 0);
        free(g.of[k]);
    }
    return status;
}
