// SPDX-License-Identifier: MIT
// The pieces of all threads' time to the runs that they lie in. Each thread with runs has the
// begins and ends of its runs as points in order of time; a piece walks over them once, and counts
// for the runs that are open: the cost does not depend on how many runs there are.
#include "analysis_util.h"
#include "join_internal.h"
#include "sched_states.h"

#include <stdlib.h>
#include <string.h>

typedef struct point {
    int64_t thread, time;
    size_t part;
    bool is_end;
} point;

typedef struct lane {
    size_t next, end; // points
    size_t open[AN_JOIN_MAX_NESTED];
    size_t open_count;
} lane;

typedef struct follower {
    an_join *j;
    point *points;
    size_t point_count;
    lane *lanes;
    size_t lane_count, lane_capacity;
    cm_map lane_of; // thread -> place
    an_sched_states states;
} follower;

// ------------------------------------------------------------------------------------------ points

static int by_time(const void *a, const void *b)
{
    const point *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->is_end != y->is_end)
        return x->is_end ? -1 : 1;
    return (x->part > y->part) - (x->part < y->part);
}

static cm_status make_points(follower *f)
{
    const an_join *j = f->j;
    f->points = malloc((2 * j->part_count + 1) * sizeof *f->points);
    if (!f->points)
        return an_no_memory();
    for (size_t i = 0; i < j->part_count; i++) {
        const an_join_part *p = &j->parts[i];
        if (p->end_ns <= p->begin_ns)
            continue; // no time in it
        f->points[f->point_count++] = (point){p->thread, p->begin_ns, i, false};
        f->points[f->point_count++] = (point){p->thread, p->end_ns, i, true};
    }
    if (f->point_count)
        qsort(f->points, f->point_count, sizeof *f->points, by_time);
    for (size_t i = 0; i < f->point_count; i++) {
        bool same = i > 0 && f->points[i].thread == f->points[i - 1].thread;
        if (!same) {
            lane *lanes = an_grow(f->lanes, &f->lane_capacity, f->lane_count, sizeof *lanes);
            if (!lanes || !cm_map_put(&f->lane_of, f->points[i].thread, f->lane_count)) {
                f->lanes = lanes ? lanes : f->lanes;
                return an_no_memory();
            }
            f->lanes = lanes;
            lanes[f->lane_count++] = (lane){.next = i};
        }
        f->lanes[f->lane_count - 1].end = i + 1;
    }
    return CM_OK;
}

// ------------------------------------------------------------------------------------------ pieces

static void count_own(an_join *j, size_t run, const an_piece *p)
{
    an_joined *n = &j->joined[run];
    double ns = (double)p->end_ns - (double)p->begin_ns;
    j->states[run].known_ns += ns;
    if (p->doing == AN_DOING_RUN) {
        n->on_cpu_ns += ns;
        an_slices_add(&j->states[run].cpus, p->detail, ns);
    } else if (p->doing == AN_DOING_READY) {
        n->ready_ns += ns;
    } else if (p->doing == AN_DOING_PREEMPTED) {
        n->preempted_ns += ns;
        an_slices_add(&n->preempted_by, p->detail, ns);
    } else if (p->doing == AN_DOING_WAIT) {
        n->waiting_ns += ns;
        an_slices_add(&n->waits, p->detail, ns);
    }
}

static void count_other(an_joined *n, const an_piece *p)
{
    double ns = (double)p->end_ns - (double)p->begin_ns;
    if (p->doing == AN_DOING_RUN)
        n->other_on_cpu_ns += ns;
    else if (p->doing == AN_DOING_READY)
        n->other_ready_ns += ns;
    else if (p->doing == AN_DOING_PREEMPTED)
        n->other_preempted_ns += ns;
    else if (p->doing == AN_DOING_WAIT)
        n->other_waiting_ns += ns;
}

static void count(follower *f, const lane *l, const an_piece *piece, int64_t from, int64_t to)
{
    an_piece p = *piece;
    p.begin_ns = from;
    p.end_ns = to;
    if (to <= from || p.doing == AN_DOING_UNKNOWN)
        return;
    for (size_t i = 0; i < l->open_count; i++) {
        const an_join_part *part = &f->j->parts[l->open[i]];
        if (!part->own) {
            count_other(&f->j->joined[part->run], &p);
            continue;
        }
        count_own(f->j, part->run, &p);
        if (f->j->piece)
            f->j->piece(f->j->piece_context, part->run, &p);
    }
}

static void pass(lane *l, const point *p)
{
    size_t i = 0;
    if (!p->is_end) {
        if (l->open_count < AN_JOIN_MAX_NESTED)
            l->open[l->open_count++] = p->part;
        return;
    }
    while (i < l->open_count && l->open[i] != p->part)
        i++;
    if (i < l->open_count)
        l->open[i] = l->open[--l->open_count];
}

// The piece after which its thread lost or left the processor belongs to the runs open at its end.
static void count_switch(follower *f, const lane *l, const an_piece *piece)
{
    for (size_t i = 0; piece->doing == AN_DOING_RUN && i < l->open_count; i++) {
        const an_join_part *part = &f->j->parts[l->open[i]];
        if (part->own)
            f->j->joined[part->run].switches++;
    }
}

static void on_piece(void *context, size_t place, const an_piece *piece)
{
    follower *f = context;
    size_t at;
    if (!cm_map_find(&f->lane_of, f->states.threads[place].thread, &at))
        return;
    lane *l = &f->lanes[at];
    int64_t from = piece->begin_ns;
    while (l->next < l->end && f->points[l->next].time <= piece->end_ns) {
        const point *p = &f->points[l->next];
        int64_t to = p->time > from ? p->time : from;
        if (p->time == piece->end_ns && !p->is_end)
            break; // belongs to the next piece
        count(f, l, piece, from, to);
        pass(l, p);
        from = to;
        l->next++;
    }
    count(f, l, piece, from, piece->end_ns);
    count_switch(f, l, piece);
}

// ------------------------------------------------------------------------------------------
// reading

static cm_status take_starts(void *context, const tm_reader *r, const tm_block *b)
{
    (void)r;
    follower *f = context;
    for (size_t i = 0; i < b->row_count; i++)
        if (b->columns[TM_thread_action][i] == 0)
            CM_TRY(an_sched_states_started(&f->states, b->columns[TM_thread_thread][i],
                                           b->columns[TM_thread_process][i],
                                           b->columns[TM_thread_time][i]));
    return CM_OK;
}

static cm_status read_all(follower *f, an_sched_stream *stream)
{
    an_sched_row row;
    cm_status status;
    while ((status = an_sched_stream_next(stream, &row)) == CM_OK) {
        f->j->has_ready = f->j->has_ready || row.is_ready;
        CM_TRY(an_sched_states_add(&f->states, &row));
    }
    an_sched_states_finish(&f->states);
    return status == CM_END ? CM_OK : status;
}

cm_status an_join_sched(an_join *j, const an_source *source)
{
    follower f = {.j = j};
    an_sched_stream stream = {0};
    cm_map_init(&f.lane_of);
    cm_status status = an_sched_states_init(&f.states);
    f.states.context = &f;
    f.states.piece = on_piece;
    if (status == CM_OK)
        status = make_points(&f);
    if (status == CM_OK)
        status = an_source_read(source, TM_BIT(thread), &f, take_starts);
    if (status == CM_OK)
        status = an_sched_stream_open(&stream, source);
    if (status == CM_OK)
        status = read_all(&f, &stream);
    if (status == CM_OK && f.states.first_ns <= f.states.last_ns) {
        j->first_ns = f.states.first_ns;
        j->last_ns = f.states.last_ns;
    }
    for (size_t i = 0; status == CM_OK && i < j->part_count; i++)
        j->joined[j->parts[i].run].other_threads += !j->parts[i].own;
    an_sched_stream_close(&stream);
    an_sched_states_deinit(&f.states);
    cm_map_deinit(&f.lane_of);
    free(f.points);
    free(f.lanes);
    return status;
}
