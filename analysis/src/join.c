// SPDX-License-Identifier: MIT
// Leads the join (see join.h): who is who, which threads belong to a run, then one part after the
// other.
#include "analysis_util.h"
#include "join_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

cm_status an_join_create(an_join **out)
{
    an_join *j = calloc(1, sizeof *j);
    if (!j)
        return an_no_memory();
    an_people_init(&j->people);
    j->first_ns = INT64_MAX;
    j->last_ns = INT64_MIN;
    *out = j;
    return CM_OK;
}

void an_join_destroy(an_join *j)
{
    if (!j)
        return;
    cm_map *maps[] = {&j->part_of, &j->run_of, &j->process_of_module, &j->module_of_session};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        cm_map_deinit(maps[i]);
    free(j->runs);
    free(j->joined);
    free(j->states);
    free(j->parts);
    an_people_deinit(&j->people);
    free(j);
}

bool an_join_add(an_join *j, const an_join_run *run)
{
    if (j->count == AN_JOIN_MAX_RUNS)
        return false;
    an_join_run *runs = an_grow(j->runs, &j->capacity, j->count, sizeof *runs);
    if (!runs)
        return false;
    j->runs = runs;
    runs[j->count++] = *run;
    return true;
}

size_t an_join_count(const an_join *j)
{
    return j->count;
}

void an_join_tell_pieces(an_join *j, void *context,
                         void (*piece)(void *context, size_t run, const an_piece *piece))
{
    j->piece_context = context;
    j->piece = piece;
}

void an_join_without_gaps(an_join *j)
{
    j->without_gaps = true;
}

int64_t an_join_end(const an_join_run *run)
{
    return an_add_clamped(run->begin_ns, run->duration_ns > 0 ? run->duration_ns : 0);
}

bool an_join_is_covered(const an_join *j, const an_join_run *run)
{
    return run->begin_ns >= j->first_ns && an_join_end(run) <= j->last_ns;
}

// --------------------------------------------------------------------------------------- who is
// who

// Ids of a file fit into a place, or they are of no use.
static cm_status put_relation(cm_map *map, int64_t from, int64_t to)
{
    if (to <= 0 || map->count >= AN_MAX_PEOPLE)
        return CM_OK;
    return cm_map_put(map, from, (size_t)to) ? CM_OK : an_no_memory();
}

static cm_status take_people(void *context, const tm_reader *r, const tm_block *b)
{
    an_join *j = context;
    CM_TRY(an_people_add(&j->people, r, b));
    for (size_t i = 0; i < b->row_count; i++) {
        if (b->kind == TM_KIND_module)
            CM_TRY(put_relation(&j->process_of_module, b->columns[TM_module_module][i],
                                b->columns[TM_module_process][i]));
        else if (b->kind == TM_KIND_session)
            CM_TRY(put_relation(&j->module_of_session, b->columns[TM_session_session][i],
                                b->columns[TM_session_module][i]));
    }
    return CM_OK;
}

const char *an_join_process_name(const an_join *j, int64_t process)
{
    const an_person *person = an_people_find(&j->people, process);
    return person ? person->name : "";
}

static int64_t process_of(const an_join *j, int64_t session)
{
    size_t module, process;
    if (!cm_map_find(&j->module_of_session, session, &module) ||
        !cm_map_find(&j->process_of_module, (int64_t)module, &process))
        return 0;
    return (int64_t)process;
}

// ---------------------------------------------------------------------------- threads of each run

static int64_t run_key(int64_t session, int64_t run)
{
    return (int64_t)((uint64_t)session << 40 ^ (uint64_t)run);
}

static cm_status add_part(an_join *j, const an_join_part *part)
{
    an_join_part *parts = an_grow(j->parts, &j->part_capacity, j->part_count, sizeof *parts);
    if (!parts)
        return an_no_memory();
    j->parts = parts;
    parts[j->part_count++] = *part;
    return CM_OK;
}

static cm_status take_op(an_join *j, const tm_block *b, size_t i)
{
    int64_t session = b->columns[TM_op_session][i], run = b->columns[TM_op_run][i];
    int64_t thread = b->columns[TM_op_thread][i], begin = b->columns[TM_op_begin][i];
    int64_t duration = b->columns[TM_op_duration][i];
    int64_t end = an_add_clamped(begin, duration > 0 ? duration : 0);
    size_t place, part;
    if (run <= 0 || (b->columns[TM_op_flags][i] & 3) ||
        !cm_map_find(&j->run_of, run_key(session, run), &place) ||
        j->runs[place].thread == thread || j->runs[place].session != session ||
        j->runs[place].run != run)
        return CM_OK;
    int64_t key = (int64_t)((uint64_t)place << 40 ^ (uint64_t)thread);
    if (cm_map_find(&j->part_of, key, &part)) {
        an_join_part *p = &j->parts[part];
        p->begin_ns = begin < p->begin_ns ? begin : p->begin_ns;
        p->end_ns = end > p->end_ns ? end : p->end_ns;
        return CM_OK;
    }
    if (j->part_count >= AN_JOIN_MAX_PARTS - AN_JOIN_MAX_RUNS)
        return CM_OK;
    if (!cm_map_put(&j->part_of, key, j->part_count))
        return an_no_memory();
    return add_part(j, &(an_join_part){place, false, thread, begin, end});
}

static cm_status take_ops(void *context, const tm_reader *r, const tm_block *b)
{
    (void)r;
    for (size_t i = 0; i < b->row_count; i++)
        CM_TRY(take_op(context, b, i));
    return CM_OK;
}

static int by_thread_and_begin(const void *a, const void *b)
{
    const an_join_part *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns); // the outer one first
}

size_t an_join_parts_after(const an_join *j, int64_t thread, int64_t time)
{
    size_t low = 0, high = j->part_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const an_join_part *p = &j->parts[middle];
        if (p->thread < thread || (p->thread == thread && p->begin_ns <= time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static cm_status prepare_parts(an_join *j, const an_source *source)
{
    for (size_t i = 0; i < j->count; i++)
        if (!cm_map_put(&j->run_of, run_key(j->runs[i].session, j->runs[i].run), i))
            return an_no_memory();
    if (an_source_has(source, TM_BIT(sched)))
        CM_TRY(an_source_read(source, TM_BIT(op), j, take_ops));
    for (size_t i = 0; i < j->count; i++)
        CM_TRY(add_part(j, &(an_join_part){i, true, j->runs[i].thread, j->runs[i].begin_ns,
                                           an_join_end(&j->runs[i])}));
    if (j->part_count)
        qsort(j->parts, j->part_count, sizeof *j->parts, by_thread_and_begin);
    return CM_OK;
}

// ---------------------------------------------------------------------------------------- all of
// it

static cm_status prepare_runs(an_join *j)
{
    j->joined = calloc(j->count + 1, sizeof *j->joined);
    j->states = calloc(j->count + 1, sizeof *j->states);
    if (!j->joined || !j->states)
        return an_no_memory();
    for (size_t i = 0; i < j->count; i++) {
        an_joined *n = &j->joined[i];
        double *unknown[] = {
            &n->page_faults,    &n->hard_faults,   &n->hard_fault_ns, &n->disk_ns,
            &n->disk_transfers, &n->clock_percent, &n->clock_mhz,     &n->gpu_percent,
            &n->npu_percent,    &n->process_cpu,   &n->gap_ns,        &n->thread_gap_ns,
            &n->off_cpu_ns,     &n->cores_busy,    &n->limit_percent, &n->fault_window_ns};
        for (size_t u = 0; u < sizeof unknown / sizeof *unknown; u++)
            *unknown[u] = (double)NAN;
        j->states[i].process = process_of(j, j->runs[i].session);
        j->states[i].cpu = -1;
    }
    return CM_OK;
}

static void finish_run(an_join *j, size_t i)
{
    an_joined *n = &j->joined[i];
    an_join_state *s = &j->states[i];
    an_slices_sort(&n->preempted_by);
    an_slices_sort(&n->waits);
    an_slices_sort(&s->cpus);
    if (s->cpus.count)
        s->cpu = s->cpus.of[0].key;
    double duration = (double)j->runs[i].duration_ns;
    n->unknown_ns = duration > s->known_ns ? duration - s->known_ns : 0;
    if (s->known_ns <= 0)
        n->on_cpu_ns = n->ready_ns = n->preempted_ns = n->waiting_ns = n->unknown_ns = n->switches =
            (double)NAN;
    if (n->other_on_cpu_ns + n->other_ready_ns + n->other_preempted_ns + n->other_waiting_ns <= 0)
        n->other_on_cpu_ns = n->other_ready_ns = n->other_preempted_ns = n->other_waiting_ns =
            (double)NAN;
    if (!j->has_ready)
        n->ready_ns = n->other_ready_ns = (double)NAN;
}

cm_status an_join_read(an_join *j, const an_source *source)
{
    CM_TRY(an_source_read(source,
                          TM_BIT(process) | TM_BIT(bystander) | TM_BIT(module) | TM_BIT(session), j,
                          take_people));
    CM_TRY(prepare_runs(j));
    CM_TRY(prepare_parts(j, source));
    CM_TRY(an_join_sched(j, source));
    CM_TRY(an_join_rows(j, source));
    for (size_t i = 0; i < j->count; i++)
        finish_run(j, i);
    if (!j->without_gaps)
        CM_TRY(an_join_gaps(j, source));
    return an_join_counters(j, source);
}

const an_joined *an_join_get(const an_join *j, size_t run)
{
    return &j->joined[run];
}
