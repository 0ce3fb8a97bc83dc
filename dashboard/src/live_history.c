// SPDX-License-Identifier: MIT
// Figures over time in steps of three lengths. Only steps in which something happened are kept, the
// newest of each length; the percentiles of a step are taken when it ends.
#include "live_state.h"

#include <stdlib.h>
#include <string.h>

const int64_t da_tier_ns[DA_TIERS] = {100000000, 1000000000, 10000000000};
const size_t da_tier_steps[DA_TIERS] = {3000, 3600, 8640};

// ------------------------------------------------------------------------------------------ rings

void da_ring_init(da_ring *r, size_t item_bytes, size_t most)
{
    *r = (da_ring){.item_bytes = item_bytes, .most = most};
}

void da_ring_deinit(da_ring *r)
{
    free(r->items);
    da_ring_init(r, r->item_bytes, r->most);
}

void *da_ring_at(const da_ring *r, size_t i)
{
    return (char *)r->items + (r->first + i) % r->capacity * r->item_bytes;
}

void *da_ring_newest(const da_ring *r)
{
    return r->count ? da_ring_at(r, r->count - 1) : NULL;
}

// Only while nothing has gone yet: the oldest stands at place 0.
static bool grow(da_ring *r)
{
    size_t capacity = r->capacity ? r->capacity * 2 : 64;
    capacity = capacity < r->most ? capacity : r->most;
    void *larger = realloc(r->items, capacity * r->item_bytes);
    if (!larger)
        return false;
    r->items = larger;
    r->capacity = capacity;
    return true;
}

void *da_ring_add(da_ring *r)
{
    if (r->count == r->capacity && (r->capacity == r->most || !grow(r))) {
        if (!r->count)
            return NULL;
        r->first = (r->first + 1) % r->capacity;
        r->count--;
    }
    r->count++;
    return memset(da_ring_newest(r), 0, r->item_bytes);
}

// ------------------------------------------------------------------------------------------- runs

void da_tiers_init(da_run_tier *tiers)
{
    for (size_t i = 0; i < DA_TIERS; i++) {
        da_ring_init(&tiers[i].steps, sizeof(da_step), da_tier_steps[i]);
        cm_histogram_init(&tiers[i].latencies);
    }
}

void da_tiers_deinit(da_run_tier *tiers)
{
    for (size_t i = 0; i < DA_TIERS; i++) {
        da_ring_deinit(&tiers[i].steps);
        cm_histogram_deinit(&tiers[i].latencies);
    }
}

static float us(uint64_t ns)
{
    return (float)((double)ns / 1000.0);
}

da_step da_tier_open(const da_run_tier *tier)
{
    const cm_histogram *h = &tier->latencies;
    da_step step = tier->open;
    step.mean_us = (float)(h->mean / 1000.0);
    step.p50_us = us(cm_histogram_percentile(h, 500000));
    step.p95_us = us(cm_histogram_percentile(h, 950000));
    step.p99_us = us(cm_histogram_percentile(h, 990000));
    step.max_us = us(h->max);
    return step;
}

static void finish_step(da_run_tier *tier)
{
    da_step *place = da_ring_add(&tier->steps);
    if (place)
        *place = da_tier_open(tier);
    cm_histogram_deinit(&tier->latencies);
    cm_histogram_init(&tier->latencies);
}

// Runs come nearly in order of their end; what belongs to a step that is over counts to the open
// one.
void da_tiers_run(da_session *s, int64_t end_ns, int64_t duration_ns, bool failed,
                  int64_t in_flight)
{
    for (size_t i = 0; i < DA_TIERS; i++) {
        da_run_tier *tier = &s->tiers[i];
        int64_t index = end_ns / da_tier_ns[i];
        if (tier->open.runs && index > tier->open.index)
            finish_step(tier), tier->open = (da_step){0};
        if (!tier->open.runs)
            tier->open.index = index;
        tier->open.runs++;
        tier->open.failed += failed;
        if (in_flight > (int64_t)tier->open.in_flight_max && in_flight < 1000000)
            tier->open.in_flight_max = (uint32_t)in_flight;
        tier->open.held_bytes = da_arenas_held(s); // a file may tell the end before the run
        tier->open.in_use_bytes = da_arenas_in_use(s);
        if (!failed)
            cm_histogram_add(&tier->latencies, (uint64_t)duration_ns);
    }
}

// --------------------------------------------------------------------------------------- counters

void da_level_tiers_init(da_level_tier *tiers)
{
    for (size_t i = 0; i < DA_TIERS; i++)
        da_ring_init(&tiers[i].steps, sizeof(da_level), da_tier_steps[i]);
}

void da_level_tiers_deinit(da_level_tier *tiers)
{
    for (size_t i = 0; i < DA_TIERS; i++)
        da_ring_deinit(&tiers[i].steps);
}

// A total goes up between two samples, not at the second: its change is spread over the steps since
// the one before, at most as many as the source lets pass, since equal values are not told again.
static uint32_t spread_of(const da_level *before, int64_t index, int64_t interval_ns,
                          int64_t step_ns)
{
    int64_t most = interval_ns > step_ns ? (interval_ns + step_ns - 1) / step_ns : 1;
    int64_t since = before ? index - before->index : 1;
    int64_t spread = since < most ? since : most;
    return spread < (int64_t)UINT32_MAX ? (uint32_t)spread : UINT32_MAX;
}

void da_level_tiers_add(da_level_tier *tiers, int64_t time_ns, int64_t interval_ns, double value,
                        bool known)
{
    for (size_t i = 0; i < DA_TIERS; i++) {
        da_level_tier *tier = &tiers[i];
        int64_t index = time_ns / da_tier_ns[i];
        da_level *step = da_ring_newest(&tier->steps);
        if (!step || index > step->index) {
            uint32_t spread = spread_of(step, index, interval_ns, da_tier_ns[i]);
            step = da_ring_add(&tier->steps);
            if (!step)
                continue;
            step->index = index;
            step->spread = spread;
            tier->sum = 0;
            tier->samples = 0;
        }
        step->known = known;
        if (!known)
            continue;
        tier->sum += value;
        tier->samples++;
        step->last = value;
        step->mean = tier->sum / tier->samples;
    }
}
