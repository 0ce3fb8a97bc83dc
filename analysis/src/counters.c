// SPDX-License-Identifier: MIT
// See counters.h. All numbers come from a file: differences are taken in doubles, which can't
// overflow.
#include "analysis/counters.h"

#include "analysis_util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void an_counters_init(an_counters *c)
{
    *c = (an_counters){0};
    cm_map_init(&c->by_id);
}

void an_counters_deinit(an_counters *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->items[i].source);
        free(c->items[i].name);
        free(c->items[i].unit);
        free(c->items[i].subject);
    }
    for (size_t i = 0; i < c->source_count; i++)
        free(c->sources[i].source);
    cm_map_deinit(&c->by_id);
    free(c->items);
}

static cm_status add_counter(an_counters *c, const tm_reader *r, const tm_block *b, size_t row)
{
    int64_t id = b->columns[TM_counter_counter][row];
    size_t at;
    if (c->count == AN_MAX_COUNTERS || cm_map_find(&c->by_id, id, &at))
        return CM_OK;
    an_counter *items = an_grow(c->items, &c->capacity, c->count, sizeof *items);
    if (!items)
        return an_no_memory();
    c->items = items;
    an_counter *n = &items[c->count];
    *n = (an_counter){.id = id,
                      .per_unit = b->columns[TM_counter_per_unit][row],
                      .about = b->columns[TM_counter_about][row],
                      .process = b->columns[TM_counter_process][row],
                      .number = b->columns[TM_counter_number][row],
                      .total = b->columns[TM_counter_total][row] != 0};
    c->count++;
    if (!cm_map_put(&c->by_id, id, c->count - 1))
        return an_no_memory();
    CM_TRY(an_copy_string(&n->source, r, b->columns[TM_counter_source][row]));
    CM_TRY(an_copy_string(&n->name, r, b->columns[TM_counter_name][row]));
    CM_TRY(an_copy_string(&n->unit, r, b->columns[TM_counter_unit][row]));
    return an_copy_string(&n->subject, r, b->columns[TM_counter_subject][row]);
}

// The time for which the last value held.
static void hold_until(an_counter *n, int64_t time)
{
    double held = (double)time - (double)n->last_ns;
    if (!n->known || held <= 0)
        return;
    n->area += (double)n->last * held;
    n->known_ns += held;
}

static void add_sample(an_counters *c, const tm_block *b, size_t row)
{
    size_t at;
    if (!cm_map_find(&c->by_id, b->columns[TM_sample_counter][row], &at))
        return;
    an_counter *n = &c->items[at];
    int64_t time = b->columns[TM_sample_time][row], value = b->columns[TM_sample_value][row];
    hold_until(n, time);
    n->known = b->columns[TM_sample_known][row] != 0;
    if (!n->known)
        return;
    if (!n->seen) {
        n->seen = true;
        n->first_ns = time;
        n->first = n->min = n->max = value;
    }
    n->last_ns = time;
    n->bits |= (uint64_t)value;
    n->samples++;
    n->sum += (double)value;
    n->last = value;
    n->min = value < n->min ? value : n->min;
    n->max = value > n->max ? value : n->max;
}

// The pace of a source from its last row to `time`.
static void hold_pace(an_sampling *s, int64_t time)
{
    double ns = (double)time - (double)s->since_ns;
    if (s->interval_us <= 0 || ns <= 0)
        return;
    s->rounds += ns / ((double)s->interval_us * 1000);
    s->ns += ns;
}

static cm_status add_sampling(an_counters *c, const tm_reader *r, const tm_block *b, size_t row)
{
    const char *source = tm_reader_string(r, b->columns[TM_sampling_source][row]);
    int64_t interval_us = b->columns[TM_sampling_interval_us][row];
    int64_t reason = b->columns[TM_sampling_reason][row];
    size_t i = 0;
    while (i < c->source_count && strcmp(c->sources[i].source, source) != 0)
        i++;
    if (i == AN_MAX_SOURCES)
        return CM_OK;
    if (i == c->source_count) {
        c->sources[i] = (an_sampling){.asked_us = interval_us};
        CM_TRY(an_copy_string(&c->sources[i].source, r, b->columns[TM_sampling_source][row]));
        c->source_count++;
    }
    int64_t time = b->columns[TM_sampling_time][row];
    hold_pace(&c->sources[i], time);
    if (reason == 4) { // another rate is wanted: it is measured by that one from now on
        c->sources[i].asked_us = interval_us;
        c->sources[i].rounds = c->sources[i].ns = 0;
    }
    c->sources[i].interval_us = interval_us;
    c->sources[i].since_ns = time;
    c->sources[i].slowed += reason == 1;
    return CM_OK;
}

cm_status an_counters_add(an_counters *c, const tm_reader *reader, const tm_block *b)
{
    for (size_t row = 0; row < b->row_count; row++) {
        if (b->kind == TM_KIND_counter)
            CM_TRY(add_counter(c, reader, b, row));
        else if (b->kind == TM_KIND_sample)
            add_sample(c, b, row);
        else if (b->kind == TM_KIND_sampling)
            CM_TRY(add_sampling(c, reader, b, row));
        else
            return CM_OK;
    }
    return CM_OK;
}

void an_counters_finish(an_counters *c, int64_t end_ns)
{
    for (size_t i = 0; i < c->count; i++)
        hold_until(&c->items[i], end_ns);
    for (size_t i = 0; i < c->source_count; i++)
        hold_pace(&c->sources[i], end_ns);
}

const an_counter *an_counters_find(const an_counters *c, const char *name, int64_t about,
                                   int64_t process)
{
    for (size_t i = 0; i < c->count; i++) {
        const an_counter *n = &c->items[i];
        if (n->seen && n->about == about && n->process == process && strcmp(n->name, name) == 0)
            return n;
    }
    return NULL;
}

double an_sampling_pace(const an_sampling *s)
{
    if (s->ns <= 0 || s->asked_us <= 0)
        return (double)NAN;
    return s->rounds * (double)s->asked_us * 1000 / s->ns;
}

double an_counter_value(const an_counter *c, int64_t raw)
{
    return c->per_unit > 0 ? (double)raw / (double)c->per_unit : (double)NAN;
}

double an_counter_mean(const an_counter *c)
{
    if (c->known_ns <= 0 || c->per_unit <= 0)
        return (double)NAN;
    return c->area / c->known_ns / (double)c->per_unit;
}
