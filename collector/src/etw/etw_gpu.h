// SPDX-License-Identifier: MIT
// What the graphics kernel (DxgKrnl) tells, for each followed process: how many packets it queued,
// how long those that came out again had been in there, and how long an engine had them. A context
// is a queue of its own to one engine, which takes its packets one after the other: one that was
// handed over while another ran has begun when that ended. Which engine it was is not told: the
// events that would say so have no layout that we are sure of.
#pragma once

#include "capture_internal.h"
#include "collector/etl.h"

#define ETW_GPU_SLOTS     4096u
#define ETW_GPU_CONTEXTS  1024u
#define ETW_GPU_PROCESSES 256u

// A packet on its way; one that finds its slot taken takes it over.
typedef struct etw_gpu_packet {
    uint64_t context;
    uint32_t sequence, process; // process 0: free
    int64_t time;
} etw_gpu_packet;

typedef struct etw_gpu {
    etw_gpu_packet queued[ETW_GPU_SLOTS];  // by the process
    etw_gpu_packet running[ETW_GPU_SLOTS]; // handed to an engine
    struct {
        uint64_t context;
        uint32_t process; // the last that queued a packet there
        int64_t ended;    // the last packet of it
    } contexts[ETW_GPU_CONTEXTS];
    struct {
        uint32_t process;
        bool told, changed;
        uint64_t packets;
        int64_t queued, busy; // of the session's clock
    } totals[ETW_GPU_PROCESSES];
    unsigned total_count;
    co_readings readings;
} etw_gpu;

bool co_etw_is_gpu(const co_etl_event *e);
// `process`: the followed one in which it was written, 0: none.
void co_etw_gpu_event(etw_gpu *g, const co_etl_event *e, uint32_t process);
// Samples of what has changed.
void co_etw_gpu_tell(etw_gpu *g, co_capture *c, const co_etl_header *clock);
