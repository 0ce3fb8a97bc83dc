// SPDX-License-Identifier: MIT
// The numbers of a model in two recordings (definitions in analysis/diff.h).
#include "diff_internal.h"

#include "analysis_util.h"

#include <math.h>
#include <stdlib.h>

// For the greatest of each block: blocks of the shorter recording, and of the longer at most.
#define BLOCKS     24
#define MAX_BLOCKS 1024
#define LONG_BLOCK 10 // the greatest of fewer runs is no maximum

// --------------------------------------------------------------------------------- runs that count

int64_t an_warmup_end(const an_session *session, an_warmup warmup)
{
    const an_series *s = &session->series;
    if (warmup.choice == AN_WARMUP_RUNS)
        return warmup.runs;
    size_t end = an_series_warmup(s);
    int64_t last = 0;
    for (size_t i = 0; i < end; i++)
        last = s->points[i].run > last ? s->points[i].run : last;
    return last;
}

static int by_time(const void *a, const void *b)
{
    const an_point_in_time *x = a, *y = b;
    return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

// The greatest latency after warming up, also of runs that the series did not keep.
static double max_after(const an_session *n, int64_t end)
{
    double most = 0, before = 0;
    for (size_t i = 0; i < n->series.count; i++) {
        const an_point_in_time *p = &n->series.points[i];
        double *of = p->run > end || p->run <= 0 ? &most : &before;
        *of = p->value > *of ? p->value : *of;
    }
    double all = (double)n->latency.max;
    return all > most && all > before ? all : most;
}

cm_status an_diff_gather(an_diff_part *part, an_warmup warmup)
{
    size_t most = 0, count = 0;
    for (size_t i = 0; i < part->session_count; i++)
        most += part->sessions[i]->series.count;
    an_point_in_time *points = malloc((most + 1) * sizeof *points);
    part->latency_ns = malloc((most + 1) * sizeof *part->latency_ns);
    part->begin_ns = malloc((most + 1) * sizeof *part->begin_ns);
    if (!points || !part->latency_ns || !part->begin_ns) {
        free(points);
        return an_no_memory();
    }
    for (size_t i = 0; i < part->session_count; i++) {
        const an_series *s = &part->sessions[i]->series;
        int64_t end = an_warmup_end(part->sessions[i], warmup);
        for (size_t k = 0; k < s->count; k++) {
            if (s->points[k].run > end || s->points[k].run <= 0)
                points[count++] = s->points[k];
            else
                part->warmup_runs++;
        }
        double max_ns = max_after(part->sessions[i], end);
        part->max_ns = max_ns > part->max_ns ? max_ns : part->max_ns;
    }
    qsort(points, count, sizeof *points, by_time);
    for (size_t i = 0; i < count; i++) {
        part->latency_ns[i] = points[i].value;
        part->begin_ns[i] = (double)points[i].time_ns;
    }
    part->latency_count = count;
    free(points);
    return CM_OK;
}

// ------------------------------------------------------------------------------------ the numbers

static an_change change_of(an_interval old_value, an_interval new_value)
{
    return (an_change){old_value, new_value, an_interval_ratio(old_value, new_value),
                       an_interval_difference(old_value, new_value), AN_INCONCLUSIVE};
}

static cm_status measure_quantiles(an_diff_group *g, double error)
{
    static const struct {
        an_metric metric;
        double share;
    } quantiles[] = {{AN_METRIC_P50, 0.5},
                     {AN_METRIC_P90, 0.9},
                     {AN_METRIC_P95, 0.95},
                     {AN_METRIC_P99, 0.99},
                     {AN_METRIC_P99_9, 0.999}};
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        an_interval values[2];
        for (int side = 0; side < 2; side++)
            CM_TRY(an_quantile_interval(g->parts[side].latency_ns, g->parts[side].latency_count,
                                        quantiles[i].share, error, &values[side]));
        g->changes[quantiles[i].metric] = change_of(values[0], values[1]);
    }
    return CM_OK;
}

// The typical run: a factor between the latencies of the two recordings.
static cm_status measure_latency(an_diff_group *g, double error)
{
    double *logs[2] = {NULL, NULL};
    an_interval shift = an_no_interval;
    cm_status status = CM_OK;
    for (int side = 0; side < 2 && status == CM_OK; side++) {
        const an_diff_part *p = &g->parts[side];
        logs[side] = malloc((p->latency_count + 1) * sizeof *logs[side]);
        status = logs[side] ? CM_OK : an_no_memory();
        for (size_t i = 0; i < p->latency_count && status == CM_OK; i++)
            logs[side][i] = log(p->latency_ns[i] > 1 ? p->latency_ns[i] : 1);
    }
    if (status == CM_OK)
        status = an_shift_interval(logs[0], g->parts[0].latency_count, logs[1],
                                   g->parts[1].latency_count, error, &shift);
    free(logs[0]);
    free(logs[1]);
    an_change *c = &g->changes[AN_METRIC_LATENCY];
    *c = g->changes[AN_METRIC_P50];
    c->ratio = (an_interval){exp(shift.value), exp(shift.low), exp(shift.high)};
    c->shift = an_no_interval;
    return status;
}

// ------------------------------------------------------------------------------- greatest of
// blocks

typedef struct values {
    const double *items;
    size_t count;
} values;

static double greatest(const double *items, size_t count)
{
    double most = items[0];
    for (size_t i = 1; i < count; i++)
        most = items[i] > most ? items[i] : most;
    return most;
}

static size_t greatest_of_blocks(values v, size_t each, double *out)
{
    size_t blocks = each ? v.count / each : 0;
    blocks = blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS;
    for (size_t i = 0; i < blocks; i++)
        out[i] = greatest(v.items + i * each, each);
    return blocks;
}

// How the greatest values of equally long blocks differ, as a ratio or a difference.
static cm_status compare_blocks(values a, values b, bool as_ratio, double error, an_interval *out)
{
    double blocks[2][MAX_BLOCKS];
    size_t fewest = a.count < b.count ? a.count : b.count;
    size_t each = fewest / BLOCKS;
    size_t counts[2] = {greatest_of_blocks(a, each, blocks[0]),
                        greatest_of_blocks(b, each, blocks[1])};
    for (int side = 0; side < 2 && as_ratio; side++)
        for (size_t i = 0; i < counts[side]; i++)
            blocks[side][i] = log(blocks[side][i] > 1 ? blocks[side][i] : 1);
    CM_TRY(an_shift_interval(blocks[0], counts[0], blocks[1], counts[1], error, out));
    if (as_ratio)
        *out = (an_interval){exp(out->value), exp(out->low), exp(out->high)};
    return CM_OK;
}

static cm_status measure_max(an_diff_group *g, double error)
{
    an_change *c = &g->changes[AN_METRIC_MAX];
    values v[2];
    an_interval most[2];
    for (int side = 0; side < 2; side++) {
        const an_diff_part *p = &g->parts[side];
        v[side] = (values){p->latency_ns, p->latency_count};
        most[side] = an_only_value(p->latency_count ? p->max_ns : (double)NAN);
    }
    *c = change_of(most[0], most[1]);
    an_interval ratio;
    CM_TRY(compare_blocks(v[0], v[1], true, error, &ratio));
    if (v[0].count >= BLOCKS * LONG_BLOCK && v[1].count >= BLOCKS * LONG_BLOCK &&
        an_interval_bounded(ratio))
        c->ratio = ratio;
    return CM_OK;
}

// ------------------------------------------------------------------------ throughput, load, memory

// Runs a second, by the mean time from one begin to the next.
static cm_status throughput_of(const an_diff_part *p, double error, an_interval *out)
{
    *out = an_no_interval;
    if (p->latency_count < 2)
        return CM_OK;
    size_t count = p->latency_count - 1;
    double *gaps = malloc(count * sizeof *gaps), kept = (double)p->latency_count, all = 0;
    if (!gaps)
        return an_no_memory();
    for (size_t i = 0; i < p->session_count; i++)
        all += (double)p->sessions[i]->series.total;
    double share = kept / (all > (double)p->warmup_runs ? all - (double)p->warmup_runs : kept);
    for (size_t i = 0; i < count; i++) // where not all runs were kept, a gap is of several
        gaps[i] = (p->begin_ns[i + 1] - p->begin_ns[i]) / 1e9 * share;
    an_interval gap = an_mean_interval(gaps, count, error);
    free(gaps);
    if (gap.value > 0)
        *out = (an_interval){1 / gap.value, gap.high > 0 ? 1 / gap.high : -(double)INFINITY,
                             gap.low > 0 ? 1 / gap.low : (double)INFINITY};
    return CM_OK;
}

static cm_status measure_load(an_diff_group *g, double error)
{
    double *loads[2] = {NULL, NULL}, middle[2] = {NAN, NAN};
    size_t counts[2] = {0, 0};
    cm_status status = CM_OK;
    for (int side = 0; side < 2 && status == CM_OK; side++) {
        const an_diff_part *p = &g->parts[side];
        loads[side] = malloc((p->session_count + 1) * sizeof *loads[side]);
        status = loads[side] ? CM_OK : an_no_memory();
        for (size_t i = 0; i < p->session_count && status == CM_OK; i++) {
            double load_ns = an_session_load_ns(p->sessions[i]);
            if (an_known(load_ns))
                loads[side][counts[side]++] = load_ns;
        }
        an_interval half = an_no_interval;
        if (status == CM_OK)
            status = an_quantile_interval(loads[side], counts[side], 0.5, error, &half);
        middle[side] = half.value;
    }
    an_change *c = &g->changes[AN_METRIC_LOAD];
    *c = change_of(an_only_value(middle[0]), an_only_value(middle[1]));
    if (status == CM_OK && counts[0] && counts[1]) {
        status = an_shift_interval(loads[0], counts[0], loads[1], counts[1], error, &c->shift);
        if (status == CM_OK && middle[0] > 0 && an_interval_bounded(c->shift))
            c->ratio = (an_interval){1 + c->shift.value / middle[0], 1 + c->shift.low / middle[0],
                                     1 + c->shift.high / middle[0]};
    }
    free(loads[0]);
    free(loads[1]);
    return status;
}

// The most that a session of the model had in use at once.
static double peak_of(const an_diff_part *p)
{
    double most = NAN;
    for (size_t i = 0; i < p->session_count; i++) {
        an_memory_facts f;
        if (!p->sessions[i]->memory)
            continue;
        an_memory_get(p->sessions[i]->memory, &f);
        double peak = an_known(f.peak_bytes) ? f.peak_bytes : f.run_peak_bytes;
        if (an_known(peak) && !(most >= peak))
            most = peak;
    }
    return most;
}

// The interval's centre is what was seen; how far it reaches is what the runs' own peaks tell.
static cm_status measure_peak(an_diff_group *g, double error)
{
    an_change *c = &g->changes[AN_METRIC_MEMORY_PEAK];
    double old_peak = peak_of(&g->parts[0]), new_peak = peak_of(&g->parts[1]);
    *c = change_of(an_only_value(old_peak), an_only_value(new_peak));
    const an_series *s[2] = {&g->parts[0].sessions[0]->run_peaks,
                             &g->parts[1].sessions[0]->run_peaks};
    double *peaks = malloc((s[0]->count + s[1]->count + 1) * sizeof *peaks);
    if (!peaks)
        return an_no_memory();
    an_series_values(s[0], peaks);
    an_series_values(s[1], peaks + s[0]->count);
    an_interval shift;
    cm_status status =
        compare_blocks((values){peaks, s[0]->count}, (values){peaks + s[0]->count, s[1]->count},
                       false, error, &shift);
    free(peaks);
    if (status != CM_OK || !an_interval_bounded(shift) || !an_known(c->shift.value))
        return status;
    c->shift.low = c->shift.value + shift.low - shift.value;
    c->shift.high = c->shift.value + shift.high - shift.value;
    if (old_peak > 0)
        c->ratio = (an_interval){new_peak / old_peak, 1 + c->shift.low / old_peak,
                                 1 + c->shift.high / old_peak};
    return CM_OK;
}

static void measure_growth(an_diff_group *g)
{
    an_change *c = &g->changes[AN_METRIC_MEMORY_GROWTH];
    an_interval growth[2] = {an_no_interval, an_no_interval};
    for (int side = 0; side < 2; side++) {
        an_memory_facts f;
        const an_session *n = g->parts[side].sessions[0];
        if (!n->memory)
            continue;
        an_memory_get(n->memory, &f);
        growth[side] = (an_interval){f.growth.bytes_per_run, f.growth.low, f.growth.high};
    }
    *c = change_of(growth[0], growth[1]);
    c->ratio = an_no_interval; // of numbers around 0
    if (c->shift.low > 0)
        c->verdict = AN_WORSE;
    else if (c->shift.high < 0)
        c->verdict = AN_BETTER;
    else if (c->shift.low >= -1 && c->shift.high <= 1)
        c->verdict = AN_SAME; // to a byte a run
}

cm_status an_diff_measure(an_diff_group *g, double margin, double error)
{
    an_interval per_s[2];
    CM_TRY(measure_quantiles(g, error));
    CM_TRY(measure_latency(g, error));
    CM_TRY(measure_max(g, error));
    for (int side = 0; side < 2; side++)
        CM_TRY(throughput_of(&g->parts[side], error, &per_s[side]));
    g->changes[AN_METRIC_THROUGHPUT] = change_of(per_s[0], per_s[1]);
    g->changes[AN_METRIC_MEAN] =
        change_of(an_mean_interval(g->parts[0].latency_ns, g->parts[0].latency_count, error),
                  an_mean_interval(g->parts[1].latency_ns, g->parts[1].latency_count, error));
    CM_TRY(measure_load(g, error));
    CM_TRY(measure_peak(g, error));
    measure_growth(g);
    for (an_metric m = 0; m < AN_METRIC_COUNT; m++)
        if (m != AN_METRIC_MEMORY_GROWTH)
            g->changes[m].verdict =
                an_judge_ratio(g->changes[m].ratio, margin, an_metric_higher_is_better(m));
    return CM_OK;
}
