// SPDX-License-Identifier: MIT
// See readings.h. A batch that nobody takes is bounded, and what does not fit is counted.
#include "readings.h"

#include "capture_internal.h"

#include <stdio.h>
#include <string.h>

#define BATCH_BYTES_MAX (64u << 20) // of one array

typedef struct counter_entry {
    uint32_t id;
    uint64_t ticks;
    co_counter what;
} counter_entry;

typedef struct sample_entry {
    uint32_t id;
    bool known;
    uint64_t ticks;
    int64_t value;
} sample_entry;

typedef struct pace_entry {
    uint64_t ticks, interval_ns;
    const char *source;
    co_pace_reason reason;
} pace_entry;

typedef struct remark_entry {
    uint64_t ticks;
    int level;
    char text[CO_REMARK_BYTES];
} remark_entry;

static void append(co_readings *r, cm_buf *array, const void *entry, size_t bytes)
{
    if (array->len >= BATCH_BYTES_MAX || array->failed) {
        r->unstored++;
        return;
    }
    cm_buf_append(array, entry, bytes);
    r->unstored += array->failed;
}

void co_readings_counter(co_readings *r, uint32_t id, uint64_t ticks, const co_counter *what)
{
    counter_entry entry = {.id = id, .ticks = ticks, .what = *what};
    append(r, &r->counters, &entry, sizeof entry);
}

void co_readings_sample(co_readings *r, uint32_t id, uint64_t ticks, bool known, int64_t value)
{
    sample_entry entry = {.id = id, .known = known, .ticks = ticks, .value = known ? value : 0};
    append(r, &r->samples, &entry, sizeof entry);
}

void co_readings_pace(co_readings *r, uint64_t ticks, const char *source, uint64_t interval_ns,
                      co_pace_reason reason)
{
    pace_entry entry = {
        .ticks = ticks, .interval_ns = interval_ns, .source = source, .reason = reason};
    append(r, &r->paces, &entry, sizeof entry);
}

void co_readings_remark(co_readings *r, uint64_t ticks, int level, const char *text)
{
    remark_entry entry = {.ticks = ticks, .level = level};
    snprintf(entry.text, sizeof entry.text, "%s", text);
    append(r, &r->remarks, &entry, sizeof entry);
}

void co_readings_move(co_readings *to, co_readings *from)
{
    cm_buf *const sources[] = {&from->counters, &from->samples, &from->paces, &from->remarks};
    cm_buf *const targets[] = {&to->counters, &to->samples, &to->paces, &to->remarks};
    const size_t sizes[] = {sizeof(counter_entry), sizeof(sample_entry), sizeof(pace_entry),
                            sizeof(remark_entry)};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        size_t lost = sources[i]->len / sizes[i];
        if (targets[i]->len < BATCH_BYTES_MAX && !targets[i]->failed) {
            cm_buf_append(targets[i], sources[i]->data, sources[i]->len);
            lost = targets[i]->failed ? lost : 0;
        }
        to->unstored += lost;
        cm_buf_clear(sources[i]);
    }
    to->unstored += from->unstored;
    from->unstored = 0;
}

// --------------------------------------------------------------------------------------- into rows

static int64_t text_id(co_capture *c, const char *text)
{
    return co_intern(c, text, strlen(text));
}

static void counter_row(co_capture *c, const counter_entry *e)
{
    const int64_t row[] = {[TM_counter_counter] = e->id,
                           [TM_counter_time] = (int64_t)e->ticks,
                           [TM_counter_source] = text_id(c, e->what.source),
                           [TM_counter_name] = text_id(c, e->what.name),
                           [TM_counter_unit] = text_id(c, e->what.unit),
                           [TM_counter_per_unit] = e->what.per_unit,
                           [TM_counter_total] = e->what.total,
                           [TM_counter_about] = e->what.about,
                           [TM_counter_process] = e->what.process,
                           [TM_counter_number] = e->what.number,
                           [TM_counter_subject] = text_id(c, e->what.subject)};
    co_pending_add(&c->pending, TM_KIND_counter, row);
}

static void sample_row(co_capture *c, const sample_entry *e)
{
    const int64_t row[] = {[TM_sample_counter] = e->id,
                           [TM_sample_time] = (int64_t)e->ticks,
                           [TM_sample_value] = e->value,
                           [TM_sample_known] = e->known};
    co_pending_add(&c->pending, TM_KIND_sample, row);
}

static void pace_row(co_capture *c, const pace_entry *e)
{
    const int64_t row[] = {[TM_sampling_time] = (int64_t)e->ticks,
                           [TM_sampling_source] = text_id(c, e->source),
                           [TM_sampling_interval_us] = (int64_t)(e->interval_ns / 1000),
                           [TM_sampling_reason] = e->reason};
    co_pending_add(&c->pending, TM_KIND_sampling, row);
}

static void remark_row(co_capture *c, const remark_entry *e)
{
    const int64_t row[TM_log_COUNT] = {[TM_log_time] = (int64_t)e->ticks,
                                       [TM_log_level] = e->level,
                                       [TM_log_message] = text_id(c, e->text)};
    co_pending_add(&c->pending, TM_KIND_log, row);
}

#define FOR_EACH(type, entry, array)                                                               \
    for (const type *entry = (const void *)(array).data,                                           \
                    *entry##_end = entry ? entry + (array).len / sizeof *entry : NULL;             \
         entry != entry##_end; entry++)

void co_readings_visit(const co_readings *r, const co_readings_visitor *v)
{
    if (v->counter)
        FOR_EACH(counter_entry, counter, r->counters)
    v->counter(v->context, counter->id, &counter->what);
    if (v->sample)
        FOR_EACH(sample_entry, sample, r->samples)
    v->sample(v->context, sample->id, sample->known);
    if (v->remark)
        FOR_EACH(remark_entry, remark, r->remarks)
    v->remark(v->context, remark->level, remark->text);
}

void co_capture_readings(co_capture *c, co_readings *r)
{
    FOR_EACH(counter_entry, counter, r->counters)
    counter_row(c, counter);
    FOR_EACH(sample_entry, sample, r->samples)
    sample_row(c, sample);
    FOR_EACH(pace_entry, pace, r->paces)
    pace_row(c, pace);
    FOR_EACH(remark_entry, remark, r->remarks)
    remark_row(c, remark);
    c->pending.unstored += r->unstored;
    cm_buf *const arrays[] = {&r->counters, &r->samples, &r->paces, &r->remarks};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        cm_buf_clear(arrays[i]);
    r->unstored = 0;
}

void co_readings_deinit(co_readings *r)
{
    cm_buf_deinit(&r->counters);
    cm_buf_deinit(&r->samples);
    cm_buf_deinit(&r->paces);
    cm_buf_deinit(&r->remarks);
}
