// SPDX-License-Identifier: MIT
#include "window.h"

// The value at place `k` of the ascending order, which then stands there with the lesser ones
// before it (Hoare). Sorting all would cost ten times as much, ten times a second.
static int64_t select_place(int64_t *v, size_t low, size_t high, size_t k)
{
    while (low < high) {
        int64_t pivot = v[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i >= j)
                break;
            int64_t swap = v[i];
            v[i++] = v[j];
            v[j--] = swap;
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return v[k];
}

static int64_t begin_of(const da_live *l, double window_s)
{
    double begin = (double)l->now_ns - window_s * 1e9;
    return begin > 0 ? (int64_t)begin : 0;
}

size_t da_window_durations(const da_live *l, const da_session *s, double window_s, int64_t *out)
{
    int64_t begin = begin_of(l, window_s);
    size_t count = 0;
    for (size_t i = s->recent.count; i > 0; i--) {
        const da_run *r = da_ring_at(&s->recent, i - 1);
        if (r->begin_ns + r->duration_ns < begin)
            break;
        if (r->status == 0)
            out[count++] = r->duration_ns;
    }
    return count;
}

static void find_percentiles(da_window *w, int64_t *v, size_t n)
{
    static const unsigned hundredths[] = {50, 90, 95, 99};
    double *const out[] = {&w->p50_ns, &w->p90_ns, &w->p95_ns, &w->p99_ns};
    size_t low = 0;
    for (size_t i = 0; i < 4; i++) {
        size_t place = (n * hundredths[i] + 99) / 100 - 1; // nearest rank
        *out[i] = (double)select_place(v, low, n - 1, place);
        low = place;
    }
}

// How many runs there were and how they went; returns the seconds that they took.
static double count_runs(da_window *w, const da_live *l, const da_session *s, int64_t begin)
{
    double seconds = (double)(l->now_ns - begin) / 1e9;
    for (size_t i = s->recent.count; i > 0; i--) {
        const da_run *r = da_ring_at(&s->recent, i - 1);
        if (r->begin_ns + r->duration_ns < begin)
            return seconds;
        w->runs++;
        w->failed += r->status != 0;
        w->in_flight_max = r->in_flight > w->in_flight_max ? r->in_flight : w->in_flight_max;
        if (w->runs == DA_RUNS) // older ones are forgotten: the time since the oldest
            seconds = (double)(l->now_ns - r->begin_ns) / 1e9;
    }
    return seconds;
}

static double throughput(const da_window *w, double seconds)
{
    return seconds > 0 ? (double)(w->runs - w->failed) / seconds : 0;
}

double da_window_throughput(const da_live *l, const da_session *s, double window_s)
{
    da_window w = {0};
    double seconds = count_runs(&w, l, s, begin_of(l, window_s));
    return throughput(&w, seconds);
}

da_window da_window_of(const da_live *l, const da_session *s, double window_s)
{
    da_window w = {0};
    int64_t durations[DA_RUNS];
    double sum = 0, seconds = count_runs(&w, l, s, begin_of(l, window_s));
    size_t n = da_window_durations(l, s, window_s, durations);
    w.throughput_per_s = throughput(&w, seconds);
    for (size_t i = 0; i < n; i++) {
        double ns = (double)durations[i];
        w.min_ns = i == 0 || ns < w.min_ns ? ns : w.min_ns;
        w.max_ns = ns > w.max_ns ? ns : w.max_ns;
        sum += ns;
    }
    if (!n)
        return w;
    w.mean_ns = sum / (double)n;
    find_percentiles(&w, durations, n);
    return w;
}
