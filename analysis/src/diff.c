// SPDX-License-Identifier: MIT
// See analysis/diff.h.
#include "analysis/diff.h"

#include "analysis/devices.h"
#include "analysis_util.h"
#include "diff_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const an_summary_options an_diff_summary_options = {.series = AN_DIFF_SERIES, .op_batches = true};

const char *an_change_verdict_name(an_change_verdict verdict)
{
    static const char *const names[] = {"inconclusive", "same", "better", "worse"};
    return names[verdict];
}

static const struct {
    const char *name;
    an_unit unit;
} metrics[] = {
    [AN_METRIC_LATENCY] = {"latency", AN_UNIT_NS},
    [AN_METRIC_P50] = {"p50", AN_UNIT_NS},
    [AN_METRIC_P90] = {"p90", AN_UNIT_NS},
    [AN_METRIC_P95] = {"p95", AN_UNIT_NS},
    [AN_METRIC_P99] = {"p99", AN_UNIT_NS},
    [AN_METRIC_P99_9] = {"p99.9", AN_UNIT_NS},
    [AN_METRIC_MEAN] = {"mean", AN_UNIT_NS},
    [AN_METRIC_MAX] = {"max", AN_UNIT_NS},
    [AN_METRIC_THROUGHPUT] = {"throughput", AN_UNIT_PER_S},
    [AN_METRIC_LOAD] = {"load", AN_UNIT_NS},
    [AN_METRIC_MEMORY_PEAK] = {"memory_peak", AN_UNIT_BYTES},
    [AN_METRIC_MEMORY_GROWTH] = {"memory_growth", AN_UNIT_BYTES},
    [AN_METRIC_JOULES] = {"joules", AN_UNIT_JOULES},
    [AN_METRIC_OP] = {"op", AN_UNIT_NS},
};

const char *an_metric_name(an_metric metric)
{
    return metrics[metric].name;
}

an_unit an_metric_unit(an_metric metric)
{
    return metrics[metric].unit;
}

bool an_metric_higher_is_better(an_metric metric)
{
    return metric == AN_METRIC_THROUGHPUT;
}

an_change_verdict an_judge_ratio(an_interval ratio, double margin, bool higher_is_better)
{
    if (!an_known(ratio.value))
        return AN_INCONCLUSIVE;
    bool large = fabs(ratio.value - 1) >= margin / 4;
    if (large && ratio.low > 1)
        return higher_is_better ? AN_BETTER : AN_WORSE;
    if (large && ratio.high < 1)
        return higher_is_better ? AN_WORSE : AN_BETTER;
    return ratio.low >= 1 - margin && ratio.high <= 1 + margin ? AN_SAME : AN_INCONCLUSIVE;
}

// ------------------------------------------------------------------------------ of the recordings

// Of one number on each side.
static an_change single_change(double old_value, double new_value)
{
    an_change c = {an_only_value(old_value), an_only_value(new_value), an_no_interval,
                   an_no_interval, AN_INCONCLUSIVE};
    c.ratio = an_interval_ratio(c.old_value, c.new_value);
    c.shift = an_interval_difference(c.old_value, c.new_value);
    return c;
}

static cm_status compare_meters(an_diff *d)
{
    an_meter meters[2][AN_MAX_METERS];
    size_t counts[2];
    double runs[2] = {0, 0};
    for (int side = 0; side < 2; side++) {
        counts[side] = an_meters(&d->sides[side]->counters, meters[side], AN_MAX_METERS);
        for (size_t i = 0; i < d->sides[side]->session_count; i++)
            runs[side] += (double)d->sides[side]->sessions[i].latency.count;
    }
    d->meters = calloc(counts[0] + 1, sizeof *d->meters);
    if (!d->meters)
        return an_no_memory();
    for (size_t i = 0; i < counts[0]; i++) {
        for (size_t k = 0; k < counts[1]; k++) {
            const an_meter *a = &meters[0][i], *b = &meters[1][k];
            if (strcmp(a->source, b->source) != 0 || strcmp(a->name, b->name) != 0 ||
                !(runs[0] > 0) || !(runs[1] > 0))
                continue;
            an_change c = single_change(a->joules / runs[0], b->joules / runs[1]);
            d->meters[d->meter_count++] = (an_diff_meter){a->source, a->name, c};
            break;
        }
    }
    return CM_OK;
}

// ------------------------------------------------------------------------------------------- whole

static cm_status compare_groups(an_diff *d)
{
    bool any[4] = {false};
    double error = d->error / (double)(d->matched_count ? d->matched_count : 1);
    for (size_t i = 0; i < d->group_count; i++) {
        an_diff_group *g = &d->groups[i];
        CM_TRY(an_diff_gather(&g->parts[0], d->warmup));
        CM_TRY(an_diff_gather(&g->parts[1], d->warmup));
        if (i >= d->matched_count)
            continue;
        CM_TRY(an_diff_measure(g, d->margin, error));
        CM_TRY(an_diff_compare_ops(d, g, error));
        g->verdict = g->changes[AN_METRIC_LATENCY].verdict;
        any[g->verdict] = true;
    }
    d->verdict = any[AN_WORSE]          ? AN_WORSE
                 : any[AN_INCONCLUSIVE] ? AN_INCONCLUSIVE
                 : any[AN_BETTER]       ? AN_BETTER
                 : any[AN_SAME]         ? AN_SAME
                                        : AN_INCONCLUSIVE;
    return CM_OK;
}

cm_status an_diff_make(const an_summary *old_side, const tm_header *old_header,
                       const an_summary *new_side, const tm_header *new_header,
                       const an_diff_options *options, an_diff **out)
{
    an_diff *d = calloc(1, sizeof *d);
    if (!d)
        return an_no_memory();
    d->sides[0] = old_side;
    d->sides[1] = new_side;
    d->margin = options->margin;
    d->warmup = options->warmup;
    d->error = AN_DIFF_ERROR;
    d->process_memory =
        single_change(an_summary_peak_memory(old_side), an_summary_peak_memory(new_side));
    cm_status status = an_diff_match(d);
    if (status == CM_OK)
        status = compare_groups(d);
    if (status == CM_OK)
        status = an_diff_find_notes(d, old_header, new_header);
    if (status == CM_OK)
        status = compare_meters(d);
    if (status == CM_OK)
        *out = d;
    else
        an_diff_destroy(d);
    return status;
}

void an_diff_destroy(an_diff *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->group_count; i++) {
        an_diff_group *g = &d->groups[i];
        for (int side = 0; side < 2; side++) {
            free(g->parts[side].sessions);
            free(g->parts[side].latency_ns);
            free(g->parts[side].begin_ns);
        }
        an_diff_ops_deinit(&g->nodes);
        an_diff_ops_deinit(&g->types);
        free(g->name);
    }
    for (size_t i = 0; i < d->note_count; i++) {
        free(d->notes[i].what);
        free(d->notes[i].texts[0]);
        free(d->notes[i].texts[1]);
    }
    free(d->groups);
    free(d->notes);
    free(d->meters);
    free(d);
}
