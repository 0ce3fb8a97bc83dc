// SPDX-License-Identifier: MIT
#include "etw_gpu.h"

#include "etl/etl_bytes.h"
#include "etw_providers.h"

#include <string.h>

enum { PACKET_BEGINS = 178, PACKET_ENDS = 180 };
#define FIRST_ID (3u << 29) // behind those of QNN

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

// Both begin with the context, the kind of packet and the number of its submission.
void co_etw_gpu_event(etw_gpu *g, const co_etl_event *e, uint32_t process)
{
    size_t pointer = e->pointer_size;
    if ((e->id != PACKET_BEGINS && e->id != PACKET_ENDS) || e->data_len < pointer + 8)
        return;
    uint64_t context = pointer == 8 ? etl_u64(e->data) : etl_u32(e->data);
    uint32_t sequence = etl_u32(e->data + pointer + 4);
    uint64_t hash = (context ^ (uint64_t)sequence << 40) * 0x9e3779b97f4a7c15u;
    unsigned slot = (unsigned)(hash >> 40) % ETW_GPU_SLOTS;
    if (e->id == PACKET_BEGINS && process) {
        unsigned i = total_of(g, process);
        if (i == ETW_GPU_PROCESSES)
            return;
        g->totals[i].packets++;
        g->totals[i].changed = true;
        g->queued[slot].context = context;
        g->queued[slot].sequence = sequence;
        g->queued[slot].process = process;
        g->queued[slot].time = e->time;
    } else if (e->id == PACKET_ENDS && g->queued[slot].process &&
               g->queued[slot].context == context && g->queued[slot].sequence == sequence) {
        unsigned i = total_of(g, g->queued[slot].process);
        if (i < ETW_GPU_PROCESSES && e->time > g->queued[slot].time) {
            g->totals[i].qpc += e->time - g->queued[slot].time;
            g->totals[i].changed = true;
        }
        g->queued[slot].process = 0;
    }
}

static void describe(etw_gpu *g, uint32_t id, uint64_t ticks, uint32_t process)
{
    co_counter packets = {.source = "etw",
                          .name = "gpu_packets",
                          .unit = "1",
                          .per_unit = 1,
                          .total = true,
                          .about = CO_ABOUT_PROCESS,
                          .process = process,
                          .number = -1};
    co_counter time = packets;
    time.name = "gpu_packet_time";
    time.unit = "s";
    time.per_unit = 1000000000;
    co_readings_counter(&g->readings, id, ticks, &packets);
    co_readings_counter(&g->readings, id + 1, ticks, &time);
}

void co_etw_gpu_tell(etw_gpu *g, co_capture *c, const co_etl_header *clock)
{
    uint64_t ticks = co_anchor_now().ticks;
    for (unsigned i = 0; i < g->total_count; i++) {
        uint32_t id = FIRST_ID + 2 * i;
        if (!g->totals[i].changed)
            continue;
        g->totals[i].changed = false;
        if (!g->totals[i].told)
            describe(g, id, ticks, g->totals[i].process);
        g->totals[i].told = true;
        co_readings_sample(&g->readings, id, ticks, true, (int64_t)g->totals[i].packets);
        co_readings_sample(&g->readings, id + 1, ticks, true,
                           co_etl_span_ns(clock, g->totals[i].qpc));
    }
    co_capture_readings(c, &g->readings);
}
