// SPDX-License-Identifier: MIT
// Counters over time. A counter's value holds until its next row, and a row is written only where
// the value differs: stretches of time are at least twice as long as the time between two samples,
// so that one without a row means that nothing has changed.
#include "report.h"

#include <string.h>

// What is worth a chart; of the cores, the threads and other processes nothing.
static const struct {
    int64_t about;
    const char *name;
} wanted[] = {
    {AN_ABOUT_PROCESS, "cpu_user"},
    {AN_ABOUT_PROCESS, "cpu_kernel"},
    {AN_ABOUT_PROCESS, "working_set"},
    {AN_ABOUT_PROCESS, "private"},
    {AN_ABOUT_PROCESS, "page_faults"},
    {AN_ABOUT_PROCESS, "hard_faults"},
    {AN_ABOUT_PROCESS, "context_switches"},
    {AN_ABOUT_PROCESS, "threads"},
    {AN_ABOUT_PROCESS, "io_read"},
    {AN_ABOUT_PROCESS, "io_written"},
    {AN_ABOUT_DEVICE, "gpu_utilization"},
    {AN_ABOUT_DEVICE, "npu_utilization"},
    {AN_ABOUT_DEVICE, "memory_used"},
    {AN_ABOUT_DEVICE, "memory_dedicated"},
    {AN_ABOUT_DEVICE, "power"},
    {AN_ABOUT_DEVICE, "temperature"},
    {AN_ABOUT_DEVICE, "clock_sm"},
    {AN_ABOUT_DEVICE, "clock_memory"},
    {AN_ABOUT_MACHINE, "power"},
    {AN_ABOUT_MACHINE, "temperature"},
    {AN_ABOUT_MACHINE, "utility"},
    {AN_ABOUT_MACHINE, "performance"},
    {AN_ABOUT_MACHINE, "frequency"},
    {AN_ABOUT_MACHINE, "memory_available"},
    {AN_ABOUT_MACHINE, "ortscope_cpu"},
};
#define WANTED_COUNT (sizeof wanted / sizeof *wanted)

// How often its source was asked in the mean.
static double interval_ns(const an_counters *c, const char *source)
{
    for (size_t i = 0; i < c->source_count; i++)
        if (strcmp(c->sources[i].source, source) == 0 && c->sources[i].rounds > 0)
            return c->sources[i].ns / c->sources[i].rounds;
    return 20e6;
}

static cm_status add_counter(vw_rp_counters *c, const an_summary *s, const an_counter *counter)
{
    if (c->count == VW_RP_COUNTERS) {
        c->left_out++;
        return CM_OK;
    }
    double end = s->end_ns > 0 ? (double)s->end_ns : 1;
    double count = end / (2 * interval_ns(&s->counters, counter->source));
    vw_rp_counter *item = &c->items[c->count];
    memset(item, 0, sizeof *item);
    item->counter = counter;
    item->bucket_count = count > VW_RP_COUNTER_BUCKETS ? VW_RP_COUNTER_BUCKETS
                         : count >= 1                  ? (size_t)count
                                                       : 1;
    item->stretch_ns = (int64_t)(end / (double)item->bucket_count) + 1;
    if (!cm_map_put(&c->by_id, counter->id, c->count))
        return cm_fail(CM_NO_MEMORY, "There is not enough memory for the counters.");
    c->count++;
    return CM_OK;
}

static cm_status choose_counters(vw_rp_counters *c, const an_summary *s)
{
    const an_process *target = an_summary_target(s);
    for (size_t w = 0; w < WANTED_COUNT; w++) {
        for (size_t i = 0; i < s->counters.count; i++) {
            const an_counter *n = &s->counters.items[i];
            bool other = n->about == AN_ABOUT_PROCESS ? !target || n->process != target->id
                                                      : n->process != 0;
            if (!n->seen || n->per_unit <= 0 || other || n->about != wanted[w].about ||
                strcmp(n->name, wanted[w].name) != 0)
                continue;
            CM_TRY(add_counter(c, s, n));
        }
    }
    return CM_OK;
}

static cm_status take_samples(void *context, const tm_reader *reader, const tm_block *b)
{
    (void)reader;
    vw_rp_counters *c = context;
    for (size_t row = 0; row < b->row_count; row++) {
        size_t found;
        if (!cm_map_find(&c->by_id, b->columns[TM_sample_counter][row], &found))
            continue;
        vw_rp_counter *item = &c->items[found];
        int64_t time = b->columns[TM_sample_time][row], value = b->columns[TM_sample_value][row];
        size_t at = time > 0 ? (size_t)(time / item->stretch_ns) : 0;
        vw_rp_stretch *stretch =
            &item->buckets[at < item->bucket_count ? at : item->bucket_count - 1];
        stretch->gone = b->columns[TM_sample_known][row] == 0;
        if (!stretch->gone) {
            stretch->low = stretch->any && stretch->low < value ? stretch->low : value;
            stretch->high = stretch->any && stretch->high > value ? stretch->high : value;
            stretch->last = value;
            stretch->any = true;
        }
    }
    return CM_OK;
}

cm_status vw_rp_counters_read(vw_rp_counters *c, const an_summary *s, const an_source *source)
{
    cm_map_init(&c->by_id);
    CM_TRY(choose_counters(c, s));
    return an_source_read(source, TM_BIT(sample), c, take_samples);
}

void vw_rp_counters_deinit(vw_rp_counters *c)
{
    cm_map_deinit(&c->by_id);
}
