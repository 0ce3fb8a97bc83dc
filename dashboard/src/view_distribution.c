// SPDX-License-Identifier: MIT
// Latencies of a session, counted in bins of equal width.
#include "view_keys.h"
#include "window.h"

#include <string.h>

#define MOST_BINS 400u

typedef struct bins {
    unsigned count;
    uint64_t runs, from_ns, width_ns, max_ns;
    uint64_t counts[MOST_BINS];
} bins;

// From the least to the 99th percentile, so that a single run does not squeeze all others into one.
static void lay_out(bins *b, uint64_t min_ns, uint64_t p99_ns)
{
    b->from_ns = min_ns;
    b->width_ns = (p99_ns > min_ns ? p99_ns - min_ns : 0) / b->count + 1;
}

static void count_all(bins *b, const cm_histogram *h)
{
    b->runs = h->count;
    b->max_ns = h->max;
    lay_out(b, h->min, cm_histogram_percentile(h, 990000));
    for (unsigned i = 0; i < b->count; i++) {
        uint64_t low = b->from_ns + i * b->width_ns;
        uint64_t high = i + 1 < b->count ? low + b->width_ns : UINT64_MAX;
        b->counts[i] = cm_histogram_count_between(h, i ? low : 0, high);
    }
}

static void count_window(bins *b, const da_live *l, const da_session *s, double window_s)
{
    int64_t durations[DA_RUNS];
    da_window w = da_window_of(l, s, window_s);
    size_t n = da_window_durations(l, s, window_s, durations);
    b->runs = n;
    b->max_ns = (uint64_t)w.max_ns;
    lay_out(b, (uint64_t)w.min_ns, (uint64_t)w.p99_ns);
    for (size_t i = 0; i < n; i++) {
        uint64_t bin = ((uint64_t)durations[i] - b->from_ns) / b->width_ns;
        b->counts[bin < b->count ? bin : b->count - 1]++;
    }
}

static void write_bins(cm_json *j, const bins *b)
{
    unsigned count = b->runs ? b->count : 0;
    da_key_array(j, "from_us");
    for (unsigned i = 0; i < count; i++)
        cm_json_number(j, da_us((double)(b->from_ns + i * b->width_ns)), 3);
    cm_json_end(j);
    da_key_array(j, "to_us");
    for (unsigned i = 0; i < count; i++) {
        uint64_t to = b->from_ns + (i + 1) * b->width_ns;
        cm_json_number(j, da_us((double)(i + 1 == count && b->max_ns > to ? b->max_ns : to)), 3);
    }
    cm_json_end(j);
    da_key_array(j, "count");
    for (unsigned i = 0; i < count; i++)
        cm_json_uint(j, b->counts[i]);
    cm_json_end(j);
}

// The one that ran last, where none is asked for.
static const da_session *choose(const da_live *l, const da_span *q)
{
    const da_session *newest = NULL;
    if (q->has_session)
        return da_session_find(l, q->session);
    for (size_t i = 0; i < l->session_count; i++)
        if (!newest || l->sessions[i]->last_end_ns > newest->last_end_ns)
            newest = l->sessions[i];
    return newest;
}

cm_status da_view_distribution(cm_json *j, da_live *l, uint32_t capture, const da_span *q)
{
    bins b = {.count = q->bins < 4 ? 4 : q->bins < MOST_BINS ? q->bins : MOST_BINS};
    da_lock(l);
    const da_session *s = choose(l, q);
    if (!s) {
        da_unlock(l);
        return cm_fail(CM_NOT_FOUND, "There is no such session.");
    }
    if (q->has_window)
        count_window(&b, l, s, q->window_s);
    else
        count_all(&b, &s->latencies);
    da_begin_document(j, capture);
    da_key_int(j, "session", s->id);
    da_key_number(j, "window_s", q->has_window ? q->window_s : DA_NONE, 3);
    da_key_uint(j, "runs", b.runs);
    write_bins(j, &b);
    cm_json_end(j);
    da_unlock(l);
    return CM_OK;
}
