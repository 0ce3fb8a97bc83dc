// SPDX-License-Identifier: MIT
// Counters: their newest values and their values over time.
#include "live_state.h"

#include <math.h>
#include <stdlib.h>

enum { ABOUT_PROCESS = 1, ABOUT_THREAD = 2 };

#define LONGEST_INTERVAL_US 3600000000 // whatever a file claims

void da_counter_free(da_counter *c)
{
    if (!c)
        return;
    da_level_tiers_deinit(c->tiers);
    free(c);
}

// Those of processes that have ended go. The map is made anew: it forgets nothing.
static bool make_room(da_live *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->counter_count; i++) {
        da_counter *c = l->counters[i];
        if (c->about == ABOUT_PROCESS && da_process_is_over(l, c->process))
            da_counter_free(c);
        else
            l->counters[kept++] = c;
    }
    if (kept == l->counter_count)
        return false;
    l->counter_count = 0;
    cm_map_deinit(&l->counter_by_id);
    for (size_t i = 0; i < kept; i++)
        if (cm_map_put(&l->counter_by_id, l->counters[i]->id, l->counter_count))
            l->counters[l->counter_count++] = l->counters[i];
        else
            da_counter_free(l->counters[i]);
    return true;
}

// Those of threads are many and short-lived: nobody asks for them here.
void da_on_counter(da_live *l, const int64_t *row)
{
    size_t at;
    if (row[TM_counter_about] == ABOUT_THREAD ||
        cm_map_find(&l->counter_by_id, row[TM_counter_counter], &at))
        return;
    bool room = l->counter_count < DA_COUNTERS || make_room(l);
    da_counter *c = room ? calloc(1, sizeof *c) : NULL;
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

// 0: not known.
static int64_t interval_ns(const da_live *l, const da_counter *c)
{
    int64_t us = 0;
    for (size_t i = 0; i < l->source_count; i++)
        if (l->sources[i].source == c->source)
            us = l->sources[i].interval_us;
    return us <= 0 ? 0 : (us < LONGEST_INTERVAL_US ? us : LONGEST_INTERVAL_US) * 1000;
}

int64_t da_interval_steps(const da_live *l, const da_counter *c, size_t tier)
{
    int64_t interval = interval_ns(l, c), step = da_tier_ns[tier];
    return interval > step ? (interval + step - 1) / step : 1;
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
    da_level_tiers_add(c->tiers, time, interval_ns(l, c), c->value, c->known);
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
