// SPDX-License-Identifier: MIT
// What the runs of each batch size take of memory, and questions to them (see analysis/summary.h).
//
// What a run was given and what it allocated come in rows of different kinds, in either order but
// in the same flush or in neighbouring ones: all runs of a flush, then the memory of all of them.
// The last runs of a session wait for their other half in a ring that grows with the flushes. Must
// never keep more than MOST_JOINED of a session and MOST_IN_ALL of a file.
#include "analysis_util.h"
#include "session_stats.h"

#include <math.h>
#include <stdlib.h>

#define FIRST_JOINED 256 // powers of two
#define MOST_JOINED  16384
#define MOST_IN_ALL  (256 * 1024)

struct an_joined_run {
    int64_t run, inputs, peak; // 0, 0 and -1: not known yet
};

static struct an_joined_run *slot_of(const an_session *s, int64_t run)
{
    return &s->joined[(size_t)run % s->joined_capacity];
}

// Makes the ring twice as large if that is allowed.
static cm_status widen(an_summary *summary, an_session *s)
{
    size_t old_capacity = s->joined_capacity;
    size_t capacity = old_capacity ? old_capacity * 2 : FIRST_JOINED;
    struct an_joined_run *old = s->joined;
    if (capacity > MOST_JOINED || (old && summary->joined_runs + capacity > MOST_IN_ALL))
        return CM_OK;
    s->joined = calloc(capacity, sizeof *s->joined);
    if (!s->joined) {
        s->joined = old;
        return an_no_memory();
    }
    s->joined_capacity = capacity;
    summary->joined_runs += capacity - old_capacity;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].run > 0)
            *slot_of(s, old[i].run) = old[i];
    free(old);
    return CM_OK;
}

static void add_peak(an_summary *summary, an_session *s, int64_t inputs, uint64_t peak)
{
    const an_shape *shape = an_shapes_find(&summary->shapes, inputs);
    if (shape && shape->direction >= 0) {
        an_batch *batch = shape->batch >= 0 ? an_session_batch(s, shape->batch) : NULL;
        if (batch)
            cm_histogram_add(&batch->peak_bytes, peak);
        return;
    }
    an_shape_use *use = an_session_shape_use(summary, s, inputs);
    if (use)
        cm_histogram_add(&use->peaks_before_known, peak);
}

cm_status an_session_join(an_summary *summary, an_session *s, int64_t run, int64_t inputs,
                          int64_t peak)
{
    if (run <= 0)
        return CM_OK;
    if (!s->joined)
        CM_TRY(widen(summary, s));
    struct an_joined_run *j = slot_of(s, run);
    if (j->run > 0 && j->run != run && (j->inputs <= 0) != (j->peak < 0)) {
        CM_TRY(widen(summary, s)); // its other half may still come
        j = slot_of(s, run);
    }
    if (j->run != run)
        *j = (struct an_joined_run){run, 0, -1};
    j->inputs = inputs > 0 ? inputs : j->inputs;
    j->peak = peak >= 0 ? peak : j->peak;
    if (j->inputs > 0 && j->peak >= 0) {
        add_peak(summary, s, j->inputs, (uint64_t)j->peak);
        *j = (struct an_joined_run){0, 0, -1};
    }
    return CM_OK;
}

// --------------------------------------------------------------------------------------- questions

double an_batch_peak_bytes(const an_batch *b)
{
    return b->peak_bytes.count ? (double)cm_histogram_percentile(&b->peak_bytes, 500000)
                               : (double)NAN;
}

double an_batch_bytes_per_sample(const an_batch *b)
{
    return b->size > 0 ? an_batch_peak_bytes(b) / (double)b->size : (double)NAN;
}

double an_batch_samples_per_mb(const an_batch *b)
{
    double bytes = an_batch_bytes_per_sample(b);
    return bytes > 0 ? 1e6 / bytes : (double)NAN;
}
