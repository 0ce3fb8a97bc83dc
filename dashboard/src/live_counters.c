// SPDX-License-Identifier: MIT
// Counters: their newest values and their values over time.
#include "live_state.h"

#include <math.h>
#include <stdlib.h>

enum { ABOUT_THREAD = 2 };

void da_counter_free(da_counter *c)
{
    if (!c)
        return;
    da_level_tiers_deinit(c->tiers);
    free(c);
}

// Those of threads are many and short-lived: nobody asks for them here.
void da_on_counter(da_live *l, const int64_t *row)
{
    size_t at;
    if (row[TM_counter_about] == ABOUT_THREAD ||
        cm_map_find(&l->counter_by_id, row[TM_counter_counter], &at))
        return;
    da_counter *c = l->counter_count < DA_COUNTERS ? calloc(1, sizeof *c) : NULL;
    if (!c || !cm_map_put(&l->counter_by_id, row[TM_counter_counter], l->counter_count)) {
        free(c);
        l->no_room++;
        return;
    }
    c->id = row[TM_counter_counter];
    c->source = row[TM_counter_source];
    c->name = row[TM_counter_name];
    c->unit = row[TM_counter_unit];
    c->per_unit = row[TM_counter_per_unit] > 0 ? row[TM_counter_per_unit] : 1;
    c->total = row[TM_counter_total] == 1;
    c->about = row[TM_counter_about];
    c->process = row[TM_counter_process];
    c->number = row[TM_counter_number];
    c->subject = row[TM_counter_subject];
    da_level_tiers_init(c->tiers);
    l->counters[l->counter_count++] = c;
}

void da_on_sample(da_live *l, const int64_t *row)
{
    size_t at;
    if (!cm_map_find(&l->counter_by_id, row[TM_sample_counter], &at))
        return;
    da_counter *c = l->counters[at];
    int64_t time = row[TM_sample_time] > 0 ? row[TM_sample_time] : 0;
    c->known = row[TM_sample_known] != 0;
    c->time_ns = time;
    c->seen = c->seen || c->known;
    if (c->known)
        c->value = (double)row[TM_sample_value] / (double)c->per_unit;
    da_level_tiers_add(c->tiers, time, c->value, c->known);
}

void da_on_sampling(da_live *l, const int64_t *row)
{
    size_t i = 0;
    while (i < l->source_count && l->sources[i].source != row[TM_sampling_source])
        i++;
    if (i == DA_SOURCES)
        return;
    if (i == l->source_count)
        l->source_count++;
    l->sources[i] =
        (da_source){row[TM_sampling_source], row[TM_sampling_interval_us], row[TM_sampling_reason]};
}
