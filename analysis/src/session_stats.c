// SPDX-License-Identifier: MIT
// Runs into latencies, jitter, batches and shapes. Must never keep anything per run beyond the
// reorder window.
#include "session_stats.h"

#include "analysis_util.h"
#include "loading.h"
#include "losses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void an_session_init(an_session *s, int64_t id, size_t series_most)
{
    memset(s, 0, sizeof *s);
    s->id = id;
    s->source = -1;
    s->first_begin_ns = INT64_MAX;
    s->first.begin_ns = INT64_MAX;
    s->last_end_ns = INT64_MIN;
    s->counted_begin_ns = INT64_MAX;
    s->counted_end_ns = INT64_MIN;
    s->flops = (double)NAN;
    an_loading_init(&s->loading);
    an_series_init(&s->series, series_most);
    an_series_init(&s->run_peaks, series_most);
}

void an_session_deinit(an_session *s)
{
    char *texts[] = {s->model, s->graph, s->producer, s->options, s->providers, s->message};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; i < s->batch_count; i++) {
        cm_histogram_deinit(&s->batches[i].latency);
        cm_histogram_deinit(&s->batches[i].peak_bytes);
    }
    for (size_t i = 0; i < s->shape_count; i++) {
        cm_histogram_deinit(&s->shapes[i].latency);
        cm_histogram_deinit(&s->shapes[i].before_known);
        cm_histogram_deinit(&s->shapes[i].peaks_before_known);
    }
    free(s->batches);
    free(s->shapes);
    free(s->jitter.window);
    cm_histogram_deinit(&s->latency);
    an_memory_destroy(s->memory);
    an_series_deinit(&s->series);
    an_series_deinit(&s->run_peaks);
    if (s->generation)
        an_generation_deinit(s->generation);
    free(s->generation);
    free(s->joined);
}

// ----------------------------------------------------------------------------------------- jitter

// Takes the first `count` runs of the window as they follow each other.
static void settle(an_jitter *j, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t now = j->window[i].latency_ns, last = j->last_latency_ns;
        if (j->has_last) {
            j->sum_ns += (double)(now > last ? now - last : last - now);
            j->differences++;
        }
        j->has_last = true;
        j->last_latency_ns = now;
    }
    j->count -= count;
    if (j->count)
        memmove(j->window, j->window + count, j->count * sizeof *j->window);
}

static cm_status add_to_jitter(an_jitter *j, an_run_time run)
{
    if (j->count == AN_REORDER_WINDOW)
        settle(j, AN_REORDER_WINDOW / 2);
    an_run_time *window = an_grow(j->window, &j->capacity, j->count, sizeof *window);
    if (!window)
        return an_no_memory();
    j->window = window;
    size_t at = j->count++;
    for (; at > 0 && window[at - 1].begin_ns > run.begin_ns; at--)
        window[at] = window[at - 1];
    window[at] = run;
    return CM_OK;
}

// ----------------------------------------------------------------------------- batches and shapes

an_batch *an_session_batch(an_session *s, int64_t size)
{
    for (size_t i = 0; i < s->batch_count; i++)
        if (s->batches[i].size == size)
            return &s->batches[i];
    if (s->batch_count == AN_MAX_BATCHES)
        return NULL;
    an_batch *batches = realloc(s->batches, (s->batch_count + 1) * sizeof *batches);
    if (!batches)
        return NULL;
    s->batches = batches;
    an_batch *batch = &batches[s->batch_count++];
    batch->size = size;
    cm_histogram_init(&batch->latency);
    cm_histogram_init(&batch->peak_bytes);
    return batch;
}

an_shape_use *an_session_shape_use(an_summary *summary, an_session *s, int64_t shape)
{
    for (size_t i = 0; i < s->shape_count; i++) {
        if (s->shapes[i].shape != shape)
            continue;
        if (i > 0) { // the shape that is used now will be used again: near the front next time
            an_shape_use found = s->shapes[i];
            s->shapes[i] = s->shapes[i / 2];
            s->shapes[i / 2] = found;
        }
        return &s->shapes[i / 2];
    }
    if (summary->shape_uses >= AN_MAX_SHAPES)
        return NULL;
    an_shape_use *shapes = an_grow(s->shapes, &s->shape_capacity, s->shape_count, sizeof *shapes);
    if (!shapes)
        return NULL;
    s->shapes = shapes;
    an_shape_use *use = &shapes[s->shape_count++];
    memset(use, 0, sizeof *use);
    use->shape = shape;
    summary->shape_uses++;
    return use;
}

static void add_to_tables(an_summary *summary, an_session *s, int64_t inputs, uint64_t latency_ns)
{
    const an_shape *shape = an_shapes_find(&summary->shapes, inputs);
    bool known = shape && shape->direction >= 0;
    an_shape_use *use = inputs > 0 ? an_session_shape_use(summary, s, inputs) : NULL;
    if (use)
        cm_histogram_add(&use->latency, latency_ns);
    else
        s->runs_without_shape++;
    if (use && !known) {
        cm_histogram_add(&use->before_known, latency_ns);
        return;
    }
    an_batch *batch = known && shape->batch >= 0 ? an_session_batch(s, shape->batch) : NULL;
    if (batch)
        cm_histogram_add(&batch->latency, latency_ns);
    else
        s->runs_without_batch++;
}

// Only where inputs change something may be growing.
static cm_status add_to_generation(an_summary *summary, an_session *s, int64_t inputs,
                                   an_run_time run)
{
    if (!s->generation && s->last_inputs && inputs != s->last_inputs) {
        s->generation = malloc(sizeof *s->generation);
        if (!s->generation)
            return an_no_memory();
        an_generation_init(s->generation);
        an_generation_add(s->generation, &summary->shapes, s->last_inputs, s->last_run.begin_ns,
                          (int64_t)s->last_run.latency_ns);
    }
    if (s->generation)
        an_generation_add(s->generation, &summary->shapes, inputs, run.begin_ns,
                          (int64_t)run.latency_ns);
    s->last_inputs = inputs;
    s->last_run = run;
    return CM_OK;
}

static bool is_warmup(const an_summary *summary, const an_session *s, int64_t run)
{
    size_t end;
    if (run <= 0)
        return false;
    if (summary->options.warmup_ends && cm_map_find(summary->options.warmup_ends, s->id, &end))
        return (uint64_t)run <= end;
    return run <= summary->options.warmup_runs;
}

static cm_status add_successful(an_summary *summary, an_session *s, const tm_block *b, size_t row,
                                an_run_time run)
{
    int64_t number = b->columns[TM_run_run][row], inputs = b->columns[TM_run_inputs][row];
    an_point_in_time point = {run.begin_ns, number, (double)run.latency_ns};
    if (run.begin_ns < s->first.begin_ns)
        s->first = run;
    CM_TRY(an_series_add(&s->series, point));
    CM_TRY(add_to_generation(summary, s, inputs, run));
    if (is_warmup(summary, s, number)) {
        s->warmup_runs++;
        return CM_OK;
    }
    int64_t end = an_add_clamped(run.begin_ns, (int64_t)run.latency_ns);
    if (run.begin_ns < s->counted_begin_ns)
        s->counted_begin_ns = run.begin_ns;
    if (end > s->counted_end_ns)
        s->counted_end_ns = end;
    cm_histogram_add(&s->latency, run.latency_ns);
    add_to_tables(summary, s, inputs, run.latency_ns);
    CM_TRY(an_session_join(summary, s, number, inputs, -1));
    return add_to_jitter(&s->jitter, run);
}

cm_status an_session_add_run(an_summary *summary, an_session *s, const tm_block *b, size_t row)
{
    int64_t begin = b->columns[TM_run_begin][row];
    int64_t duration = b->columns[TM_run_duration][row];
    int64_t call = b->columns[TM_run_call][row];
    int64_t in_flight = b->columns[TM_run_in_flight][row];
    if (duration < 0)
        duration = 0;
    int64_t end = an_add_clamped(begin, duration);
    if (begin < s->first_begin_ns)
        s->first_begin_ns = begin;
    if (end > s->last_end_ns)
        s->last_end_ns = end;
    if (end > summary->end_ns)
        summary->end_ns = end;
    if (in_flight > s->in_flight_max)
        s->in_flight_max = in_flight;
    if (call >= 0 && call < 3)
        s->calls[call]++;
    s->runs++;
    if (b->columns[TM_run_status][row] != 0) {
        s->failed_runs++;
        return CM_OK;
    }
    return add_successful(summary, s, b, row, (an_run_time){begin, (uint64_t)duration});
}

cm_status an_session_add_run_memory(an_summary *summary, an_session *s, const tm_block *b,
                                    size_t row)
{
    int64_t run = b->columns[TM_run_memory_run][row];
    int64_t peak = b->columns[TM_run_memory_peak_bytes][row];
    if (run <= 0 || peak < 0)
        return CM_OK;
    CM_TRY(an_session_join(summary, s, run, 0, peak));
    an_point_in_time point = {b->columns[TM_run_memory_time][row], run, (double)peak};
    return an_series_add(&s->run_peaks, point);
}

// ---------------------------------------------------------------------------------------- the end

static int by_size(const void *a, const void *b)
{
    const an_batch *x = a, *y = b;
    return (x->size > y->size) - (x->size < y->size);
}

static int by_use(const void *a, const void *b)
{
    const an_shape_use *x = a, *y = b;
    if (x->latency.count != y->latency.count)
        return x->latency.count < y->latency.count ? 1 : -1;
    return (x->shape > y->shape) - (x->shape < y->shape);
}

// What came before the shape's own row goes to its batch size.
static void settle_shape(const an_summary *summary, an_session *s, const an_shape_use *use)
{
    if (use->before_known.count == 0 && use->peaks_before_known.count == 0)
        return;
    const an_shape *shape = an_shapes_find(&summary->shapes, use->shape);
    an_batch *batch = shape && shape->batch >= 0 ? an_session_batch(s, shape->batch) : NULL;
    if (batch) {
        cm_histogram_merge(&batch->latency, &use->before_known);
        cm_histogram_merge(&batch->peak_bytes, &use->peaks_before_known);
    } else {
        s->runs_without_batch += use->before_known.count;
    }
}

// Of runs that overlapped only a part has a run, and the most of a part is nobody's peak.
static void forget_peaks(an_session *s)
{
    for (size_t i = 0; i < s->batch_count; i++) {
        cm_histogram_deinit(&s->batches[i].peak_bytes);
        cm_histogram_init(&s->batches[i].peak_bytes);
    }
    an_series_deinit(&s->run_peaks);
}

cm_status an_session_finish(const an_summary *summary, an_session *s)
{
    settle(&s->jitter, s->jitter.count);
    an_series_finish(&s->series);
    an_series_finish(&s->run_peaks);
    if (s->generation)
        an_generation_finish(s->generation, &summary->shapes);
    for (size_t i = 0; i < s->shape_count; i++)
        settle_shape(summary, s, &s->shapes[i]);
    if (s->batch_count)
        qsort(s->batches, s->batch_count, sizeof *s->batches, by_size);
    if (s->shape_count)
        qsort(s->shapes, s->shape_count, sizeof *s->shapes, by_use);
    if (!s->memory)
        return CM_OK;
    if (an_memory_overlapped(s->memory))
        forget_peaks(s);
    return an_memory_finish(s->memory, s->runs, an_losses_of(summary, s));
}

// -------------------------------------------------------------------------------------- questions

static double counted_seconds(const an_session *s)
{
    return ((double)s->counted_end_ns - (double)s->counted_begin_ns) / 1e9;
}

double an_session_throughput(const an_session *s)
{
    bool all = s->warmup_runs == 0; // then failed runs belong to the time as well
    double seconds =
        all ? ((double)s->last_end_ns - (double)s->first_begin_ns) / 1e9 : counted_seconds(s);
    return s->latency.count && seconds > 0 ? (double)s->latency.count / seconds : NAN;
}

double an_session_concurrency(const an_session *s)
{
    double seconds = counted_seconds(s);
    return s->latency.count && seconds > 0
               ? s->latency.mean * (double)s->latency.count / 1e9 / seconds
               : NAN;
}

double an_session_jitter_ns(const an_session *s)
{
    return s->jitter.differences ? s->jitter.sum_ns / (double)s->jitter.differences : NAN;
}

double an_session_stddev_ns(const an_session *s)
{
    return s->latency.count > 1 ? cm_histogram_stddev(&s->latency) : NAN;
}

// Not of a session from before the attach, be it that we found it or that ORT's own events told of
// it later.
static bool seen_from_the_start(const an_session *s)
{
    return s->declared && s->source != 7 && !(s->source == 8 && s->load_ns == 0);
}

double an_session_first_ns(const an_session *s)
{
    return s->first.begin_ns != INT64_MAX && seen_from_the_start(s) ? (double)s->first.latency_ns
                                                                    : NAN;
}

double an_session_load_ns(const an_session *s)
{
    return seen_from_the_start(s) ? (double)s->load_ns : NAN;
}
