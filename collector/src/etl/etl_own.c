// SPDX-License-Identifier: MIT
// What our own hook told event tracing (provider Ortscope), as the rows that a ring's events
// become: the same code makes them (rows.c). Two things are different. Who begins to record late is
// told everything again, so what is known already is passed over. And times are placed by the Clock
// events among them, which pair the processor's ticks with the recording's clock.
#include "etl_rows.h"

#include "capture_internal.h"
#include "collector/etl_tracelogging.h"
#include "etl_bytes.h"
#include "own_decode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Times are counted from here, so that what was before the recording has one too.
#define BASE_NS   ((uint64_t)1 << 62)
#define FAR_NS    (86400ll * 1000000000ll) // how far the clock is drawn out beyond its readings
#define STEADY_NS 1000000                  // over less than this, two readings tell no rate

struct etl_own {
    co_own *decoder;
    co_capture capture; // only its numbers, rows and clock are used
    cm_map told;
    etl_import *import;
    double rate; // nanoseconds a tick; 0: there are no events of ours
};

// Of the hook's events the prefix has the ticks at 8, a Clock event the counter behind it.
void co_etl_moment_of(const co_etl_event *e, etl_moment *out)
{
    *out = (etl_moment){.time = e->time};
    if (e->data_len >= 16)
        out->ticks = etl_u64(e->data + 8);
    if (e->data_len >= 24)
        out->counter = (int64_t)etl_u64(e->data + 16);
}

static int64_t moment_ns(const etl_import *m, const etl_moment *moment)
{
    int64_t time = moment->time, apart = (int64_t)((uint64_t)moment->counter - (uint64_t)time);
    // The counter is what the recording's clock counts, usually; then it is the better reading.
    if (m->header->clock == CO_ETL_QPC && co_etl_has_time(m->header) && moment->counter &&
        apart < m->header->perf_freq && apart > -m->header->perf_freq)
        time = moment->counter;
    return co_etl_ns(m->header, time);
}

static double rate_between(const etl_import *m, const etl_moment *from, const etl_moment *to)
{
    int64_t ns = (int64_t)((uint64_t)moment_ns(m, to) - (uint64_t)moment_ns(m, from));
    return to->ticks > from->ticks && ns >= STEADY_NS
               ? (double)ns / (double)(to->ticks - from->ticks)
               : 0;
}

static co_anchor anchor_at(uint64_t ticks, int64_t ns)
{
    return (co_anchor){.ticks = ticks, .qpc_ns = BASE_NS + (uint64_t)ns};
}

// `ns` before or after a reading, by the rate; less where the ticks would not suffice.
static co_anchor drawn_out(const struct etl_own *o, co_anchor from, int64_t ns)
{
    const uint64_t far = (uint64_t)1 << 62;
    bool back = ns < 0;
    double ticks = (back ? -(double)ns : (double)ns) / o->rate;
    uint64_t step = back ? from.ticks : UINT64_MAX - from.ticks;
    if (step > far)
        step = far;
    if (ticks < (double)step)
        step = (uint64_t)ticks;
    else
        ns = (int64_t)((double)step * (back ? -o->rate : o->rate));
    return (co_anchor){.ticks = back ? from.ticks - step : from.ticks + step,
                       .qpc_ns = from.qpc_ns + (uint64_t)ns};
}

static void start_clock(struct etl_own *o)
{
    const etl_import *m = o->import;
    etl_moment first, last, latest;
    if (!co_etl_people_clock(m->people, &first, &last, &latest))
        return;
    o->rate = rate_between(m, &first, &last);
    if (!(o->rate > 0))
        o->rate = rate_between(m, &first, &latest);
    if (!(o->rate > 0))
        o->rate = m->header->cpu_mhz ? 1000.0 / m->header->cpu_mhz : 1;
    co_anchor begin = anchor_at(first.ticks, moment_ns(m, &first));
    co_clock_start(&o->capture.clock, drawn_out(o, begin, -FAR_NS));
    o->capture.clock.first = anchor_at(0, 0);
    co_clock_add(&o->capture.clock, begin);
}

cm_status co_etl_own_begin(etl_import *m)
{
    size_t processes;
    struct etl_own *o = calloc(1, sizeof *o);
    m->own = o;
    if (!o || !(o->decoder = co_own_create()))
        return cm_fail(CM_NO_MEMORY, "There is not enough memory to import the recording.");
    o->import = m;
    m->sessions = &o->capture.sessions;
    co_etl_people_processes(m->people, &processes);
    o->capture.modules.last = (uint32_t)processes; // those have the numbers of their processes
    start_clock(o);
    return CM_OK;
}

// ------------------------------------------------------------------------------------------- rows

// Rows get their times when the clock reading behind them is known.
static void write_pending(struct etl_own *o)
{
    co_pending *p = &o->capture.pending;
    for (int kind = 0; kind < TM_KIND_COUNT; kind++) {
        const tm_kind_info *info = tm_kind_get((tm_kind)kind);
        for (size_t i = 0; i < p->rows[kind].count; i++) {
            int64_t *row = p->rows[kind].values + i * info->column_count;
            co_row_to_nanoseconds((tm_kind)kind, row, &o->capture.clock);
            for (unsigned c = 0; c < info->column_count; c++)
                if (info->columns[c].type == TM_TIME && row[c] < 0)
                    row[c] = 0; // before the recording
            co_etl_row(o->import, (tm_kind)kind, row);
        }
        p->rows[kind].count = 0;
    }
}

static int64_t told_key(uint32_t process, const co_own_event *e, int64_t id, int64_t part)
{
    uint64_t key = (uint64_t)process << 32 | (uint32_t)id;
    key = (key ^ key >> 31) * 0x9e3779b97f4a7c15u;
    key ^= (uint64_t)part << 8 | (uint64_t)e->event;
    return (int64_t)((key ^ key >> 29) * 0xbf58476d1ce4e5b9u);
}

// Whether the event says who somebody is and has been told before.
static bool is_known(struct etl_own *o, uint32_t process, const co_own_event *e)
{
    static const struct {
        bool checked;
        uint8_t id, part; // fields
    } rules[TL_EVENT_COUNT] = {
#define RULE(event, id, part) [TL_EVENT_##event] = {true, TL_##event##_##id, TL_##event##_##part}
        RULE(Module, module, module),
        RULE(Session, session, session),
        RULE(Phase, session, phase),
        RULE(ShapeSet, set, set),
        RULE(Tensor, set, index),
        RULE(Kernel, kernel, kernel),
        RULE(KernelShapes, kernel, run_inputs),
        RULE(Allocator, allocator, allocator),
        RULE(KernelNames, kernel, kernel),
#undef RULE
    };
    size_t before;
    if (!rules[e->event].checked)
        return false;
    int64_t key = told_key(process, e, e->values[rules[e->event].id].number,
                           e->values[rules[e->event].part].number);
    return cm_map_find(&o->told, key, &before) || !cm_map_put(&o->told, key, 0);
}

static void take(void *context, const co_own_event *e)
{
    struct etl_own *o = context;
    etl_import *m = o->import;
    const etl_life *process = co_etl_people_process(m->people, e->pid, m->event_time);
    target_state target = {.id = process ? process->number : 0};
    tl_record record = {.ticks = e->ticks, .thread = e->thread};
    if (is_known(o, target.id, e))
        return;
    if (!co_rows_from_event(&o->capture, &target, &record, e->event, e->values))
        o->capture.unnumbered++;
    if (e->event == TL_EVENT_Clock) {
        etl_moment moment = {e->ticks, m->event_time, e->values[TL_Clock_qpc].number};
        co_clock_add(&o->capture.clock, anchor_at(e->ticks, moment_ns(m, &moment)));
        write_pending(o);
    }
}

void co_etl_write_own(etl_import *m, const co_etl_event *e)
{
    struct etl_own *o = m->own;
    m->event_time = e->time;
    o->capture.writer = m->writer;
    co_own_decode(o->decoder, e, take, o);
}

void co_etl_own_end(etl_import *m)
{
    struct etl_own *o = m->own;
    co_clock *clock = &o->capture.clock;
    if (o->rate > 0) {
        co_anchor last = clock->recent[(clock->count - 1) % CO_ANCHORS];
        co_clock_add(clock, drawn_out(o, last, FAR_NS));
    }
    write_pending(o);
    m->stats.sessions += o->capture.stats.sessions;
    m->stats.runs += o->capture.stats.runs;
    m->stats.unread += co_own_undecodable(o->decoder);
    m->stats.no_room += o->capture.unnumbered + o->capture.textless + o->capture.pending.unstored;
}

uint64_t co_etl_own_lost(const etl_import *m, uint32_t pid)
{
    return co_own_lost(m->own->decoder, pid);
}

void co_etl_own_free(etl_import *m)
{
    struct etl_own *o = m->own;
    if (!o)
        return;
    co_own_destroy(o->decoder);
    co_pending_deinit(&o->capture.pending);
    co_ids_deinit(&o->capture.modules);
    co_ids_deinit(&o->capture.sessions);
    co_ids_deinit(&o->capture.shapes);
    co_ids_deinit(&o->capture.kernels);
    co_ids_deinit(&o->capture.allocators);
    co_readings_deinit(&o->capture.qnn);
    cm_map_deinit(&o->capture.qnn_lanes);
    cm_map_deinit(&o->told);
    free(o);
    m->own = NULL;
}

// ------------------------------------------------------------------------------------------ marks

static void put_value(void *context, const co_tlg_token *t)
{
    cm_out *out = context;
    int64_t number;
    if (t->kind != CO_TLG_VALUE ||
        (t->field->name_len == 8 && !memcmp(t->field->name, "sequence", 8)) ||
        (t->field->name_len == 6 && !memcmp(t->field->name, "thread", 6)) ||
        (t->field->name_len == 5 && !memcmp(t->field->name, "ticks", 5)))
        return;
    cm_out_printf(out, " %.*s=", (int)t->field->name_len, t->field->name);
    if (co_tlg_number(t, &number))
        cm_out_printf(out, "%" PRId64, number);
    else if (t->field->type == CO_TLG_COUNTED_ANSI)
        cm_out_printf(out, "%.*s", (int)t->len, (const char *)t->bytes);
}

void co_etl_write_mark(etl_import *m, const co_etl_event *e)
{
    co_tlg_schema schema;
    size_t residual;
    if (!co_tlg_schema_parse(e->metadata, e->metadata_len, &schema))
        return;
    cm_out_clear(&m->text);
    cm_out_printf(&m->text, "ortscope: %.*s", (int)schema.name_len, schema.name);
    co_tlg_values(&schema, e->data, e->data_len, e->pointer_size, put_value, &m->text, &residual);
    const char *text = cm_out_string(&m->text);
    const int64_t row[] = {[TM_mark_time] = co_etl_ns(m->header, e->time),
                           [TM_mark_text] = tm_writer_string(m->writer, text, strlen(text))};
    co_etl_row(m, TM_KIND_mark, row);
}
