// SPDX-License-Identifier: MIT
// Slices in order, and nested exactly (see trace.h). Must never give a writer two slices of one
// track of which neither encloses the other.
#include "trace.h"

#include <stdlib.h>
#include <string.h>

// Times of one thread are rounded, and corrected as the clock is: by so much a slice may begin
// before the one that encloses it.
#define ROUNDING_NS 20000
#define NEIGHBOURS  64

static int by_begin(const void *a, const void *b)
{
    const vw_ex_slice *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    bool x_op = x->what == VW_EX_SLICE_OP, y_op = y->what == VW_EX_SLICE_OP;
    if (x_op != y_op)
        return x_op ? 1 : -1;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return (x->subject > y->subject) - (x->subject < y->subject);
}

void vw_ex_window_sort(vw_ex_slice *slices, size_t count)
{
    size_t ordered = 1; // mostly they are
    while (ordered < count && by_begin(&slices[ordered - 1], &slices[ordered]) <= 0)
        ordered++;
    if (ordered < count)
        qsort(slices, count, sizeof *slices, by_begin);
}

static int64_t middle(const vw_ex_slice *s)
{
    return s->begin_ns + (s->end_ns - s->begin_ns) / 2;
}

// Of two slices that overlap the one that should enclose the other: runs enclose operators, and
// those enclose deeper ones.
static int rank(const vw_ex_slice *s)
{
    return s->what == VW_EX_SLICE_OP ? s->depth + 1 : 0;
}

static bool belongs_into(const vw_ex_slice *early, const vw_ex_slice *late)
{
    int64_t shift = late->begin_ns - early->begin_ns, length = early->end_ns - early->begin_ns;
    return shift > 0 && shift <= length / 8 && late->end_ns >= early->end_ns &&
           (rank(late) < rank(early) || late->end_ns - late->begin_ns > length);
}

// What begins a little before the slice that encloses it begins with that one instead.
static bool pull_in(vw_ex_slice *slices, size_t count)
{
    bool changed = false;
    for (size_t i = 0; i < count; i++) {
        vw_ex_slice *early = &slices[i];
        for (size_t j = i + 1; j < count && j <= i + NEIGHBOURS; j++) {
            const vw_ex_slice *late = &slices[j];
            if (late->begin_ns - early->begin_ns > ROUNDING_NS || late->begin_ns >= early->end_ns)
                break;
            if (belongs_into(early, late)) {
                early->begin_ns = late->begin_ns;
                changed = true;
            }
        }
    }
    return changed;
}

// `later` begins inside `open` and ends behind it: one of them is cut.
static void cut(vw_ex_slice *open, vw_ex_slice *later)
{
    if (middle(later) <= open->end_ns)
        later->end_ns = open->end_ns; // inside, but for a little
    else
        open->end_ns = later->begin_ns; // one after the other
}

void vw_ex_nest(vw_ex_slice *slices, size_t count, uint32_t *stack)
{
    size_t depth = 0;
    if (pull_in(slices, count))
        vw_ex_window_sort(slices, count);
    for (size_t i = 0; i < count; i++) {
        vw_ex_slice *s = &slices[i];
        while (depth > 0) {
            vw_ex_slice *open = &slices[stack[depth - 1]];
            if (s->begin_ns < open->end_ns && s->end_ns > open->end_ns)
                cut(open, s);
            if (s->begin_ns < open->end_ns)
                break;
            depth--;
        }
        stack[depth++] = (uint32_t)i;
    }
}

// ---------------------------------------------------------------------------------------- arrows

static int64_t run_key(const vw_ex_slice *s)
{
    return (int64_t)((uint64_t)s->session * 0x9E3779B97F4A7C15u + (uint64_t)s->run);
}

static cm_status find_runs(const vw_ex_trace *t, cm_map *runs)
{
    for (size_t i = 0; i < t->waiting; i++)
        if (t->window[i].what == VW_EX_SLICE_RUN && t->window[i].arrow &&
            !cm_map_put(runs, run_key(&t->window[i]), i))
            return cm_fail(CM_NO_MEMORY, "There is not enough memory to export.");
    return CM_OK;
}

// An arrow from a run to the first of its operators on each other thread, and to the first one
// after the thread did something else.
static void lead_arrow(vw_ex_trace *t, const cm_map *runs, vw_ex_slice *op)
{
    size_t place;
    vw_ex_track *track = t->tracks[op->track];
    if (op->what != VW_EX_SLICE_OP || op->depth > 0 || op->run < 1)
        return;
    if (track->arrow_session == op->session && track->arrow_run == op->run)
        return;
    track->arrow_session = op->session;
    track->arrow_run = op->run;
    if (!cm_map_find(runs, run_key(op), &place))
        return;
    vw_ex_slice *run = &t->window[place];
    if (run->session != op->session || run->run != op->run || run->track == op->track ||
        run->arrow_count == 255)
        return;
    op->arrow = run->arrow + run->arrow_count++;
}

// ---------------------------------------------------------------------------------------- putting
// out

// What was put out already can't be enclosed any more, but by what belongs to the same run.
static void keep_behind(vw_ex_track *track, vw_ex_slice *s)
{
    bool same = track->run_session == s->session && track->run_number == s->run;
    int64_t floor = same ? track->run_floor_ns : track->done_ns;
    if (s->begin_ns < floor)
        s->begin_ns = floor;
    if (s->end_ns < s->begin_ns)
        s->end_ns = s->begin_ns;
}

static void note_done(vw_ex_track *track, const vw_ex_slice *s)
{
    if (track->run_session != s->session || track->run_number != s->run) {
        track->run_session = s->session;
        track->run_number = s->run;
        track->run_floor_ns = track->done_ns;
    }
    if (s->end_ns > track->done_ns)
        track->done_ns = s->end_ns;
}

static cm_status put_track(vw_ex_trace *t, vw_ex_slice *slices, size_t count)
{
    vw_ex_track *track = t->tracks[slices->track];
    int64_t open_until = INT64_MIN;
    for (size_t i = 0; i < count; i++)
        keep_behind(track, &slices[i]);
    vw_ex_window_sort(slices, count);
    vw_ex_nest(slices, count, t->stack);
    for (size_t i = 0; i < count; i++) {
        if (slices[i].begin_ns >= open_until) {
            if (i)
                t->writer->end_track(t->writer, track);
            CM_TRY(vw_ex_trace_split(t));
        }
        vw_ex_declare(t, track);
        t->writer->slice(t->writer, track, &slices[i]);
        if (slices[i].end_ns > open_until)
            open_until = slices[i].end_ns;
        note_done(track, &slices[i]);
        t->job->rows++;
    }
    t->writer->end_track(t->writer, track);
    return CM_OK;
}

static int by_end(const void *a, const void *b)
{
    const vw_ex_slice *x = a, *y = b;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return by_begin(a, b); // so that every system's sort gives the same
}

// Puts out the first `count` slices that wait, in the order of their ends.
static cm_status put_out(vw_ex_trace *t, size_t count)
{
    cm_map runs;
    cm_map_init(&runs);
    qsort(t->window, t->waiting, sizeof *t->window, by_end);
    // Arrows are drawn by places, so before the slices are put into another order.
    cm_status status = find_runs(t, &runs);
    if (status == CM_OK) {
        for (size_t i = 0; i < count; i++)
            lead_arrow(t, &runs, &t->window[i]);
        vw_ex_window_sort(t->window, count);
    }
    cm_map_deinit(&runs);
    for (size_t i = 0, next; i < count && status == CM_OK; i = next) {
        for (next = i + 1; next < count && t->window[next].track == t->window[i].track; next++)
            ;
        status = put_track(t, t->window + i, next - i);
    }
    t->waiting -= count;
    memmove(t->window, t->window + count, t->waiting * sizeof *t->window);
    return status;
}

cm_status vw_ex_window_add(vw_ex_trace *t, const vw_ex_slice *slice)
{
    if (t->waiting == VW_EX_WINDOW)
        CM_TRY(put_out(t, VW_EX_WINDOW / 2));
    t->window[t->waiting++] = *slice;
    return CM_OK;
}

cm_status vw_ex_window_end(vw_ex_trace *t)
{
    return t->waiting ? put_out(t, t->waiting) : CM_OK;
}

cm_status vw_ex_trace_split(vw_ex_trace *t)
{
    if (!vw_ex_output_is_full(&t->job->output))
        return CM_OK;
    t->writer->end(t->writer);
    CM_TRY(vw_ex_output_close(&t->job->output));
    CM_TRY(vw_ex_output_open(&t->job->output));
    t->writer->begin(t->writer);
    return CM_OK;
}
