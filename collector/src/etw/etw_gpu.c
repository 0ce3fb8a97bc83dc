// SPDX-License-Identifier: MIT
#include "etw_gpu.h"

#include "etl/etl_bytes.h"
#include "etw_providers.h"

#include <string.h>

enum { ENGINE_BEGINS = 175, ENGINE_ENDS = 177, PACKET_BEGINS = 178, PACKET_ENDS = 180 };
#define FIRST_ID (3u << 29) // behind those of QNN
#define COUNTERS 3u         // of a process

bool co_etw_is_gpu(const co_etl_event *e)
{
    return e->family == CO_ETL_EVENT && memcmp(e->provider, co_etw_guid_dxgkrnl, 16) == 0;
}

static unsigned total_of(etw_gpu *g, uint32_t process)
{
    unsigned i = 0;
    while (i < g->total_count && g->totals[i].process != process)
        i++;
    if (i == g->total_count && i < ETW_GPU_PROCESSES)
        g->totals[g->total_count++].process = process;
    return i;
}

static unsigned hash(uint64_t context, uint32_t sequence)
{
    return (unsigned)((context ^ (uint64_t)sequence << 40) * 0x9e3779b97f4a7c15u >> 40);
}

static void put(etw_gpu_packet *slots, etw_gpu_packet packet)
{
    slots[hash(packet.context, packet.sequence) % ETW_GPU_SLOTS] = packet;
}

// False if its begin is not known.
static bool take_out(etw_gpu_packet *slots, uint64_t context, uint32_t sequence,
                     etw_gpu_packet *out)
{
    etw_gpu_packet *p = &slots[hash(context, sequence) % ETW_GPU_SLOTS];
    if (!p->process || p->context != context || p->sequence != sequence)
        return false;
    *out = *p;
    p->process = 0;
    return true;
}

static void packet_begins(etw_gpu *g, uint64_t context, uint32_t sequence, uint32_t process,
                          int64_t time)
{
    unsigned place = hash(context, 0) % ETW_GPU_CONTEXTS, i = process ? total_of(g, process) : 0;
    if (g->contexts[place].context != context)
        g->contexts[place].ended = 0;
    g->contexts[place].context = context;
    g->contexts[place].process = process;
    if (!process || i == ETW_GPU_PROCESSES)
        return;
    g->totals[i].packets++;
    g->totals[i].changed = true;
    put(g->queued, (etw_gpu_packet){context, sequence, process, time});
}

static void packet_ends(etw_gpu *g, uint64_t context, uint32_t sequence, int64_t time)
{
    etw_gpu_packet p;
    if (!take_out(g->queued, context, sequence, &p) || time <= p.time)
        return;
    unsigned i = total_of(g, p.process);
    if (i == ETW_GPU_PROCESSES)
        return;
    g->totals[i].queued += time - p.time;
    g->totals[i].changed = true;
}

// Number 0: nothing that an engine works at.
static void engine_begins(etw_gpu *g, uint64_t context, uint32_t sequence, int64_t time)
{
    unsigned place = hash(context, 0) % ETW_GPU_CONTEXTS;
    if (sequence && g->contexts[place].context == context && g->contexts[place].process)
        put(g->running, (etw_gpu_packet){context, sequence, g->contexts[place].process, time});
}

static void engine_ends(etw_gpu *g, uint64_t context, uint32_t sequence, int64_t time)
{
    etw_gpu_packet p;
    unsigned place = hash(context, 0) % ETW_GPU_CONTEXTS;
    if (!take_out(g->running, context, sequence, &p))
        return;
    unsigned i = total_of(g, p.process);
    bool known = g->contexts[place].context == context;
    int64_t begin = known && g->contexts[place].ended > p.time ? g->contexts[place].ended : p.time;
    if (known)
        g->contexts[place].ended = time;
    if (i == ETW_GPU_PROCESSES || time <= begin)
        return;
    g->totals[i].busy += time - begin;
    g->totals[i].changed = true;
}

// All begin with the context. Of the process's packets the number of the submission stands behind
// the kind of packet; of the engine's behind a second context (of the begin), the kind, and a
// number of 8 bytes that the driver gave.
void co_etw_gpu_event(etw_gpu *g, const co_etl_event *e, uint32_t process)
{
    size_t pointer = e->pointer_size;
    bool engine = e->id == ENGINE_BEGINS || e->id == ENGINE_ENDS;
    size_t at = !engine ? pointer + 4 : e->id == ENGINE_ENDS ? pointer + 12 : 2 * pointer + 12;
    if (e->data_len < at + 4 || (engine && e->version == 0))
        return;
    uint64_t context = pointer == 8 ? etl_u64(e->data) : etl_u32(e->data);
    uint32_t sequence = etl_u32(e->data + at);
    if (e->id == PACKET_BEGINS)
        packet_begins(g, context, sequence, process, e->time);
    else if (e->id == PACKET_ENDS)
        packet_ends(g, context, sequence, e->time);
    else if (e->id == ENGINE_BEGINS)
        engine_begins(g, context, sequence, e->time);
    else if (e->id == ENGINE_ENDS)
        engine_ends(g, context, sequence, e->time);
}

static void describe(etw_gpu *g, uint32_t id, uint64_t ticks, uint32_t process)
{
    static const struct {
        const char *name, *unit;
        int64_t per_unit;
    } counters[COUNTERS] = {{"gpu_packets", "1", 1},
                            {"gpu_packet_time", "s", 1000000000},
                            {"gpu_engine_time", "s", 1000000000}};
    for (uint32_t i = 0; i < COUNTERS; i++) {
        co_counter what = {.source = "etw",
                           .name = counters[i].name,
                           .unit = counters[i].unit,
                           .per_unit = counters[i].per_unit,
                           .total = true,
                           .about = CO_ABOUT_PROCESS,
                           .process = process,
                           .number = -1};
        co_readings_counter(&g->readings, id + i, ticks, &what);
    }
}

void co_etw_gpu_tell(etw_gpu *g, co_capture *c, const co_etl_header *clock)
{
    uint64_t ticks = co_anchor_now().ticks;
    for (unsigned i = 0; i < g->total_count; i++) {
        uint32_t id = FIRST_ID + COUNTERS * i;
        if (!g->totals[i].changed)
            continue;
        g->totals[i].changed = false;
        if (!g->totals[i].told)
            describe(g, id, ticks, g->totals[i].process);
        g->totals[i].told = true;
        co_readings_sample(&g->readings, id, ticks, true, (int64_t)g->totals[i].packets);
        co_readings_sample(&g->readings, id + 1, ticks, true,
                           co_etl_span_ns(clock, g->totals[i].queued));
        co_readings_sample(&g->readings, id + 2, ticks, true,
                           co_etl_span_ns(clock, g->totals[i].busy));
    }
    co_capture_readings(c, &g->readings);
}
